# resume.sh PROFILE[@CLUSTER] ID: releases a held job, continues a suspended one. Exit status 1:
# Slurm refuses.
main() { # PROFILE[@CLUSTER] ID
  use_cluster "$1"
  id=$2
  state=$(gpe_state "$id") || exit
  # tasks of an array may be held, and others suspended
  case $state in
  *PENDING* | *REQUEUE_HOLD* | *SPECIAL_EXIT* | *RESV_DEL_HOLD*) run_scontrol release ;;
  esac
  case $state in
  *SUSPENDED*) run_scontrol resume ;;
  *PENDING* | *REQUEUE_HOLD* | *SPECIAL_EXIT* | *RESV_DEL_HOLD*) ;;
  *RUNNING* | *CONFIGURING*) ;;
  *)
    printf 'RESUME: job %s is %s\n' "$id" "$state" >&2
    exit 1
    ;;
  esac
}
