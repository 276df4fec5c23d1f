# get-job-status.sh PROFILE [IDS]: prints the states of jobs; without IDS, those of all jobs and
# tasks of this user that LSF still shows, with one call of bjobs. Exit status 1: the only job is
# not known; 2: LSF does not answer.
main() { # PROFILE [IDS]
  gpe_jobs=${HOME:?}/.gpe/jobs/$1
  set -f # a task is 12[3]
  # shellcheck disable=SC2086
  set -- ${2-}
  error=
  if ! jobs=$(gpe_bjobs "$@" 2>&1); then
    error=$jobs
    if [ "$#" -eq 0 ] || ! is_not_found "$error"; then
      printf '%s\n' "$error" >&2
      exit 2
    fi
  fi
  if [ "$#" -eq 0 ]; then
    explain_states "$(printf '%s\n' "$jobs" | gpe_format_states)"
    exit
  fi
  # shellcheck disable=SC2046
  ask_history $(for id in "$@"; do ! (needs_history) || printf '%s\n' "$id"; done)
  states=$(for id in "$@"; do print_states; done)
  if [ -n "$states" ]; then
    printf '%s\n' "$states"
  elif [ "$#" -eq 1 ]; then
    printf '%s\n' "${error:-Job <$1> is not found}" >&2
    exit 1
  fi
}
