# get-job-status.sh PROFILE [IDS]: prints the states of jobs; without IDS, those of all jobs of this
# user that have not ended, with one call of qstat. Exit status 1: the only job is not known; 2:
# qstat or the accounting fails.
main() { # PROFILE [IDS]
  gpe_jobs=${HOME:?}/.gpe/jobs/$1
  # shellcheck disable=SC2086
  set -- ${2-}
  all=$(gpe_qstat) || exit 2
  case $# in
  0) [ -z "$all" ] || printf '%s\n' "$all" ;;
  1) gpe_print_states "$1" ;;
  *)
    accounts='' records=''
    # shellcheck disable=SC2046
    set -- "$*" $(for one in "$@"; do ! (read_job "$one" && needs_accounts) || echo "$one"; done)
    ids=$1
    shift
    [ "$#" -eq 0 ] || ask_for_several "$@" || exit
    for one in $ids; do gpe_print_states "$one" "$accounts" 2> /dev/null || :; done
    ;;
  esac
}
ask_for_several() { # ID...: sets accounts; 2: the accounting does not answer
  accounts=$(gpe_qacct "$@" 2>&1) && return
  [ "$?" -ne 2 ] || {
    printf '%s\n' "$accounts" >&2
    return 2
  }
  accounts=
}
