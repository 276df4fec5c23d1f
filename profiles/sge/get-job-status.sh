# get-job-status.sh PROFILE [IDS]: prints the states of jobs; without IDS, those of all jobs of this
# user that have not ended, with one call of qstat. Exit status 1: the only job is not known; 2:
# qstat fails.
main() { # PROFILE [IDS]
  gpe_jobs=${HOME:?}/.gpe/jobs/$1
  # shellcheck disable=SC2086
  set -- ${2-}
  all=$(gpe_qstat) || exit 2
  case $# in
  0) [ -z "$all" ] || printf '%s\n' "$all" ;;
  1) gpe_print_states "$1" ;;
  *) for id in "$@"; do gpe_print_states "$id" 2> /dev/null || :; done ;;
  esac
}
