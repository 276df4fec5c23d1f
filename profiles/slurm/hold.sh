# hold.sh PROFILE[@CLUSTER] ID: holds a waiting job. Exit status 1: it does not wait, or Slurm
# refuses.
main() { # PROFILE[@CLUSTER] ID
  set_up_slurm "$1"
  id=$2
  state=$(gpe_state "$id") || exit
  case $state in *PENDING*)
    run_scontrol hold
    state=$(gpe_state "$id") || exit
    case $state in *PENDING*) exit 0 ;; esac
    # it began in between; the hold would wait for it until it is queued again
    scontrol release "$id"
    ;;
  esac
  printf 'HOLD: job %s is %s: only waiting jobs can be held\n' "$id" "$state" >&2
  exit 1
}
