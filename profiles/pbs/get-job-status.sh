# get-job-status.sh QSTAT PROFILE [IDS]: prints the states of jobs; without IDS, those of this
# user's jobs that have not ended. QSTAT is the program qstat.sh. Exit status 1: none of the jobs is
# known; 2: PBS does not answer.
main() { # QSTAT PROFILE [IDS]
  qstat=$1
  gpe_jobs=${HOME:?}/.gpe/jobs/$2
  set -f # a task is 12[3]
  # shellcheck disable=SC2086
  set -- ${3-}
  only='' error=''
  jobs=$(gpe_qstat "$@" 2>&1)
  case $? in
  0) ;;
  35 | 153) error=$jobs jobs= ;; # all have ended meanwhile, or are forgotten
  *)                             # a server that does not answer has not forgotten the job
    printf '%s\n' "$jobs" >&2
    exit 2
    ;;
  esac
  gpe_update_dependencies "$jobs"
  [ "$#" -ne 1 ] || only=$1
  told=$(printf '%s\n' "$jobs" | gpe_format_states "$only")
  told=$(gpe_explain "$told" 'F/91|F/removed|C/removed')
  left=$(for id in $(print_forgotten "$@"); do print_left "$id"; done)
  if [ -n "$told$left" ]; then
    printf '%s\n' "$told" "$left" | grep .
  elif [ "$#" -gt 0 ]; then
    printf '%s\n' "${error:-qstat printed nothing about job $*}" >&2
    exit 1
  fi
}
