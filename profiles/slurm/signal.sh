# signal.sh PROFILE[@CLUSTER] ID SIGNAL: sends a signal to all processes of a job. Exit status 1: it
# does not run.
template=SIGNAL
main() { # PROFILE[@CLUSTER] ID SIGNAL
  set_up_slurm "$1"
  signal=$3
  state=$(gpe_state "$id") || exit
  case $state in *RUNNING*) ;; *) fail "is $state: only running jobs can get signals" ;; esac
  ids=$(squeue -h -r -t RUNNING -o %i -j "$id") || exit
  ids=$(printf '%s\n' "$ids" | grep '^[0-9]') # for a cluster of several, squeue names it before
  case $ids in
  '') fail 'does not run any more' ;;
  *_*) signal_tasks ;;
  *) exec scancel --full --signal="$signal" "$id" ;;
  esac
}
# For a whole array, scancel would signal the other tasks as they begin. And where a task waits,
# Slurm sends the signal to the others, but answers that they change their state; then scancel sends
# it again, every five seconds. It asks for ten at a time.
signal_tasks() {
  printf '%s\n' "$ids" | xargs -n 10 sh -c '
timeout 4 scancel --full --signal="$0" "$@"
rc=$?
[ "$rc" -eq 124 ] || exit "$rc"' "$signal"
}
