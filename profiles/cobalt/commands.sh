gpe_submit() { # SCRIPT: with its directives, as it is Cobalt's program no longer
  # shellcheck disable=SC2046
  qsub --mode script $(sed -n '2,/^[^#]/s/^#COBALT //p' "$1") \
    /bin/sh -c "$(gpe_print_starter "$PWD/$1")" 2>&1
}
gpe_read_id() { sed -n 's/^\([1-9][0-9]*\)\( .*\)*$/\1/p'; } # a site may add words
gpe_qstat() { qstat --header "JobID:$1" -u "$(id -un)"; }
gpe_list() {
  gpe_text=$(gpe_qstat State) || return
  gpe_check_list '^ *[0-9]+ +[a-z]' qstat || return
  printf '%s\n' "$gpe_text" | awk '$2 != "done" { print $1, $2 }'
}
# ID...: Cobalt forgets a job as it ends. Its log, in the working directory of the job, has the end.
gpe_list_ended() {
  for gpe_ended in "$@"; do
    # shellcheck disable=SC2154  # gpe_job_dir sets gpe_dir
    gpe_job_dir "$gpe_ended" && [ -e "$gpe_dir/.gpe/cobalt.log" ] || continue
    awk -v id="$gpe_ended" '
/Info: maximum execution time exceeded/ { state = "time" }
/Info: task completed normally with an exit code of [0-9]+/ && state == "" {
  sub(/.* exit code of /, "")
  state = "ended/exit exit=" $0 + 0
}
END { if (state != "") print id, state }' "$gpe_dir/.gpe/cobalt.log"
  done
}
gpe_has_ended() { [ "$1" = ended ] || gpe_is_limit "$1"; }
gpe_is_limit() { [ "$1" = time ]; }
gpe_find() {
  gpe_text=$(gpe_qstat Args) || return
  printf '%s\n' "$gpe_text" | GPE_ARGS="-c $(gpe_print_starter "$PWD/.gpe/script")" awk '
{ id = $1; sub(/^ *[^ ]+ +/, ""); sub(/ +$/, "") }
$0 == ENVIRON["GPE_ARGS"] { print id; exit }'
}
gpe_own_id() { printf '%s\n' "$COBALT_JOBID"; }
gpe_cancel() { qdel "$1"; }
gpe_hold() { # of a job that runs, qhold notes the hold for later
  gpe_require 'queued|.*_hold|dep_fail' "$1" && qhold "$1"
}
gpe_resume() { gpe_require '.*' "$1" && qrls "$1"; }
