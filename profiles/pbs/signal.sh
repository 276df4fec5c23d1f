# signal.sh QSTAT PROFILE ID SIGNAL: sends a signal to all processes of a job. Exit status 1: it
# does not run; else that of qsig. QSTAT is the program qstat.sh.
main() { # QSTAT PROFILE ID SIGNAL
  qstat=$1 id=$3 signal=$4
  gpe_state "$id" || exit
  # of an array, the tasks that run
  ids=$(gpe_qstat "$id" | awk -F'|' '$3 == "R" { print $1 }')
  if [ -z "$ids" ]; then
    printf 'SIGNAL: job %s is in state %s: only running jobs can get signals\n' "$id" "$state" >&2
    exit 1
  fi
  set -f
  # shellcheck disable=SC2086
  run_quietly qsig -s "$signal" $ids
}
