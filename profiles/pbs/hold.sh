# hold.sh PROFILE ID QSTAT: holds a waiting job, or an array. Exit status 1: it does not wait; else
# that of qhold. QSTAT is the program qstat.sh.
template=HOLD
main() { # PROFILE ID QSTAT
  qstat=$3
  gpe_state "$id" || exit
  case $id in *\[[0-9]*) fail 'is a task: PBS holds whole arrays only' ;; esac
  case $state in
  Q | W | H | T | B) # B: an array, whose tasks that run are not held
    run_quietly qhold -h u "$id"
    gpe_state "$id" || exit
    case $state in [QWHT]) exit 0 ;; esac
    # it began in between; the hold would wait for it until it is queued again
    qrls -h u "$id"
    ;;
  esac
  fail "is in state $state: only waiting jobs can be held"
}
