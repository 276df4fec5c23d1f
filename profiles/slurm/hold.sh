# hold.sh PROFILE[@CLUSTER] ID: holds a waiting job. Exit status 1: it does not wait, or Slurm
# refuses.
template=HOLD
main() { # PROFILE[@CLUSTER] ID
  set_up_slurm "$1"
  state=$(gpe_state "$id") || exit
  case $state in *PENDING*)
    run_scontrol hold
    state=$(gpe_state "$id") || exit
    case $state in *PENDING*) exit 0 ;; esac
    # it began in between; the hold would wait for it until it is queued again
    scontrol release "$id"
    ;;
  esac
  fail "is $state: only waiting jobs can be held"
}
