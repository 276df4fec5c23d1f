# signal.sh PROFILE ID QSTAT SIGNAL: sends a signal to all processes of a job. Exit status 1: it
# does not run; else that of qsig. QSTAT is the program qstat.sh.
template=SIGNAL
main() { # PROFILE ID QSTAT SIGNAL
  qstat=$3
  gpe_state "$id" || exit
  # of an array, the tasks that run
  ids=$(gpe_qstat "$id" | awk -F'|' '$3 == "R" { print $1 }')
  [ -n "$ids" ] || fail "is in state $state: only running jobs can get signals"
  set -f
  # shellcheck disable=SC2086
  run_quietly qsig -s "$4" $ids
}
