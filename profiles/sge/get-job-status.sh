# get-job-status.sh PROFILE [IDS]: prints the states of jobs; without IDS, those of all jobs of this
# user that have not ended, with one call of qstat. Exit status 1: the only job is not known; 2:
# qstat fails.
main() { # PROFILE [IDS]
  gpe_jobs=${HOME:?}/.gpe/jobs/$1 ids=${2-} away=''
  all=$(gpe_qstat) || exit 2
  # shellcheck disable=SC2046
  ask_accounting $(for one in $ids; do ! (read_job "$one" && needs_accounts) || echo "$one"; done)
  case $ids in
  '') [ -z "$all" ] || printf '%s\n' "$all" ;;
  *' '*) for one in $ids; do gpe_print_states "$one" 2> /dev/null || :; done ;;
  *) gpe_print_states "$ids" ;;
  esac
}
# ID...: sets accounts to their lines. Without an answer, nobody knows how a job ended that left no
# record: away is told of it.
ask_accounting() {
  accounts='' message=''
  [ "$#" -gt 0 ] || return 0
  accounts=$(gpe_qacct "$@" 2>&1) && return
  [ "$?" -ne 2 ] || away=' away reason=the accounting does not answer, which knows its end'
  message=$accounts accounts=
}
