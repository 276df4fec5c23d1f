# hold.sh PROFILE ID: holds a waiting job, suspends a running one. Exit status 1: Grid Engine
# refuses.
template=HOLD
main() { # PROFILE ID
  state=$(gpe_state "$id") || exit
  alive=$(printf '%s\n' "$state" | grep -v d)
  [ -z "$state" ] || [ -n "$alive" ] || fail 'is being deleted'
  case $alive in '' | *q*)
    run_quietly qhold -h u "$id"
    state=$(gpe_state "$id") || exit
    ! held || exit 0
    # it began in between; the hold would wait for it until it is queued again
    case $state in *q*) ;; *) qrls -h u "$id" > /dev/null 2>&1 ;; esac
    ;;
  esac
  words=$(qmod -sj "$id" 2>&1)
  state=$(gpe_state "$id") || exit
  ! held || exit 0
  printf '%s\n' "${words:-HOLD: job $id is in state $state}" >&2
  exit 1
}
held() { # the tasks of an array may have several states
  [ -n "$state" ] || return
  for one in $state; do
    case $one in *h*q* | *[dsST]*) ;; *) return 1 ;; esac
  done
}
