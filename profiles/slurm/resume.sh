# resume.sh PROFILE[@CLUSTER] ID: releases a held job, continues a suspended one. Exit status 1: Slurm refuses.
id=$2
state=$(gpe_state "$id") || exit
gpe_do() { # ACTION: for an array, Slurm fails if a task has ended
  words=$(scontrol "$1" "$id" 2>&1) || case $words in *'already finished'*) ;; *)
    printf '%s\n' "$words" >&2
    exit 1
    ;;
  esac
}
case $state in
*PENDING* | *REQUEUE_HOLD* | *SPECIAL_EXIT* | *RESV_DEL_HOLD*) gpe_do release ;;
*SUSPENDED*) gpe_do resume ;;
*RUNNING* | *CONFIGURING*) ;;
*)
  printf 'RESUME: job %s is %s\n' "$id" "$state" >&2
  exit 1
  ;;
esac
