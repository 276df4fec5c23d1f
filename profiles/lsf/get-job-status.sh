# get-job-status.sh PROFILE [IDS]: prints the states of jobs; without IDS, those of all jobs and
# tasks of this user that LSF still shows, with one call of bjobs. Exit status 1: the only job is
# not known; 2: LSF does not answer.
main() { # PROFILE [IDS]
  gpe_jobs=${HOME:?}/.gpe/jobs/$1
  set -f # a task is 12[3]
  # shellcheck disable=SC2086
  set -- ${2-}
  case $# in
  0)
    jobs=$(gpe_bjobs) || exit 2
    gpe_explain "$(printf '%s\n' "$jobs" | gpe_format_states)"
    ;;
  1) gpe_print_states "$1" ;;
  *) print_several "$@" ;;
  esac
}
print_several() { # ID...: with one call of bjobs
  all=$(gpe_bjobs "$@" 2>&1)
  rc=$?
  if [ "$rc" -ne 0 ] && ! is_not_found "$all"; then
    printf '%s\n' "$all" >&2
    exit 2
  fi
  [ "$rc" -eq 0 ] || all=''
  gpe_bjobs() { # ID: the same of one job
    printf '%s\n' "$all" | awk -F'|' -v id="$1" '
$1 == id || $1 "[" $2 "]" == id { print; found = 1 }
END { exit !found }' && return
    printf 'Job <%s> is not found\n' "$1" >&2
    return 1
  }
  for id in "$@"; do gpe_print_states "$id" 2> /dev/null || :; done
}
