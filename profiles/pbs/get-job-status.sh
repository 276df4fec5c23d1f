# get-job-status.sh QSTAT PROFILE [IDS]: prints the states of jobs; without IDS, those of this
# user's jobs that have not ended. QSTAT is the program qstat.sh. Exit status 1: none of the jobs is
# known; 2: PBS does not answer.
main() { # QSTAT PROFILE [IDS]
  qstat=$1
  gpe_jobs=${HOME:?}/.gpe/jobs/$2
  if [ "$#" -gt 2 ]; then
    set -f # a task is 12[3]
    # shellcheck disable=SC2086
    gpe_print_states $3
    return
  fi
  jobs=$(gpe_qstat 2>&1)
  case $? in
  0)
    gpe_update_dependencies "$jobs"
    printf '%s\n' "$jobs" | gpe_format_states '' || :
    ;;
  35 | 153) ;; # all have ended meanwhile
  *)
    printf '%s\n' "$jobs" >&2
    exit 2
    ;;
  esac
}
