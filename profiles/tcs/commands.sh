gpe_submit() { pjsub "$1" 2>&1; } # SCRIPT
gpe_read_id() { sed -n 's/.* Job \([1-9][0-9]*\) submitted.*/\1/p'; }
gpe_list() {
  gpe_text=$(pjstat --data --choose jid,st) || return
  gpe_check_list '^,"?[0-9]' pjstat || return
  gpe_format_states
}
gpe_list_ended() { # ID...: that it does not know an id is an answer, though it is an error
  gpe_text=$(pjstat -H -s --data --choose jid,st,ec,pc,sn "$@" 2>&1) || case $gpe_text in
  H,* | *exist* | *'not found'*) ;;
  *)
    printf '%s\n' "$gpe_text" >&2
    return 1
    ;;
  esac
  gpe_format_states
}
gpe_format_states() { # lines as ,12,EXT,0,0,-; a PJM code tells why TCS itself ended a job
  printf '%s\n' "$gpe_text" | tr -d '" ' | awk -F , '
$1 == "" && $2 ~ /^[0-9]+$/ {
  state = $3
  if (state ~ /^(EXT|CCL)$/ && $5 ~ /^(6|11|12|13|16|18|20|23)$/) state = "PJM_" $5
  else if (state == "EXT" && $6 ~ /^[1-9]/) state = state " signal=" $6
  else if ($5 ~ /^[1-9]/) state = state " reason=PJM code " $5
  else if (state == "EXT" && $4 ~ /^[0-9]/) state = "EXT/exit exit=" $4
  print $2, state
}'
}
gpe_has_ended() { case $1 in EXT | RJT | CCL) ;; *) gpe_is_limit "$1" ;; esac }
gpe_is_removal() { [ "$1" = CCL ]; }
gpe_is_limit() { case $1 in PJM_*) ;; *) return 1 ;; esac }
gpe_own_id() { printf '%s\n' "$PJM_JOBID"; }
gpe_cancel() { pjdel "$1"; }
gpe_hold() { pjhold "$1"; }
gpe_resume() { pjrls "$1"; }
# shellcheck disable=SC2034  # job.sh has it
gpe_submit_directory=PJM_O_WORKDIR
