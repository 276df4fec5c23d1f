# resume.sh PROFILE[@CLUSTER] ID: releases a held job, continues a suspended one. Exit status 1:
# Slurm refuses.
template=RESUME
main() { # PROFILE[@CLUSTER] ID
  set_up_slurm "$1"
  state=$(gpe_state "$id") || exit
  resumed=
  case $state in *RUNNING* | *CONFIGURING*) resumed=y ;; esac
  case $state in *PENDING* | *REQUEUE_HOLD* | *SPECIAL_EXIT* | *RESV_DEL_HOLD*)
    run_scontrol release
    resumed=y
    ;;
  esac
  # tasks of an array may be held, and others suspended
  case $state in *SUSPENDED*)
    run_scontrol resume
    resumed=y
    ;;
  esac
  [ -n "$resumed" ] || fail "is $state"
}
