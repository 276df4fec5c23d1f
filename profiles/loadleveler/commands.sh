# SCRIPT: LoadLeveler reads directives everywhere in a file, even in values; that file has only the
# script's first ones
gpe_submit() {
  {
    printf '#!/bin/sh\n#@ shell = /bin/sh\n#@ notification = never\n'
    printf '#@ output = /dev/null\n#@ error = /dev/null\n'
    sed -n '2,/^[^#]/{ /^#@/p; }' "$1"
    grep -q '^#@ *\(total_tasks\|tasks_per_node\) *=' "$1" || echo '#@ tasks_per_node = 1'
    printf '#@ queue\nexec %s\n' "$(gpe_print_starter "./$1")"
  } > .gpe/loadleveler && llsubmit .gpe/loadleveler 2>&1
}
gpe_read_id() { sed -n 's/.* job "\([^"]*\)" has been submitted.*/\1/p'; }
gpe_list() { # lines as node1.12.0!R: the last number is that of the step, of which there is one
  gpe_text=$(llq -r %id %st -u "$(id -un)") || return
  gpe_check_list '^[^ !]*\.[0-9]+![A-Z]|^0 job step' llq || return
  printf '%s\n' "$gpe_text" | sed -n 's/^\([^ !]*\)\.[0-9]*!\([A-Z]*\).*/\1 \2/p'
}
gpe_has_ended() { case $1 in C | CA | RM | NR | SX | TX) ;; *) return 1 ;; esac }
gpe_is_removal() { [ "$1" = CA ]; }
gpe_is_limit() { [ "$1" = NR ]; }
gpe_find() {
  gpe_text=$(llq -l -u "$(id -un)") || return
  printf '%s\n' "$gpe_text" | GPE_DIRECTORY=$(pwd -P) awk '
/^ *Job Step Id: / { sub(/^ *Job Step Id: /, ""); sub(/\.[0-9]+$/, ""); id = $0 }
/^ *Initial Working Dir: / && substr($0, index($0, ": ") + 2) == ENVIRON["GPE_DIRECTORY"] {
  print id; exit
}'
}
gpe_own_id() { printf '%s\n' "${LOADL_STEP_ID%.*}"; }
gpe_cancel() { llcancel "$1"; }
gpe_hold() { gpe_require 'I|D|NQ' "$1" && llhold "$1"; }
gpe_is_held() { case $1 in H | HS | S) ;; *) return 1 ;; esac }
gpe_resume() { gpe_require '.*' "$1" && llhold -r "$1"; }
