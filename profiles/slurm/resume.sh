# resume.sh PROFILE[@CLUSTER] ID: releases a held job, continues a suspended one. Exit status 1:
# Slurm refuses.
main() { # PROFILE[@CLUSTER] ID
  use_cluster "$1"
  id=$2
  state=$(gpe_state "$id") || exit
  case $state in
  *PENDING* | *REQUEUE_HOLD* | *SPECIAL_EXIT* | *RESV_DEL_HOLD*) run_scontrol release ;;
  *SUSPENDED*) run_scontrol resume ;;
  *RUNNING* | *CONFIGURING*) ;;
  *)
    printf 'RESUME: job %s is %s\n' "$id" "$state" >&2
    exit 1
    ;;
  esac
}
