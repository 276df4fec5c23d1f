# resume.sh PROFILE ID QSTAT: releases a job or an array, continues a suspended one. Exit status 1:
# it is neither; else that of qrls or qsig. QSTAT is the program qstat.sh.
template=RESUME
main() { # PROFILE ID QSTAT
  qstat=$3
  gpe_state "$id" || exit
  case $state:$id in
  H:*\[[0-9]*) fail 'is a task: PBS releases whole arrays only' ;;
  [QWT]:*\[[0-9]*) exit 0 ;;
  esac
  case $state in
  Q | W | H | T) run_quietly qrls -h u "$id" ;;
  S) run_quietly qsig -s resume "$id" ;;
  R | B) ;;
  *) fail "is in state $state" ;;
  esac
  # qrls says yes where it released nothing
  gpe_state "$id" || exit
  [ "$state" = H ] || exit 0
  who=
  case $holds in *o*) who=', by an operator' ;; esac
  case $holds in *s*) who="$who, by PBS itself or its manager" ;; esac
  fail "is still held$who (Hold_Types $holds)"
}
