# hold.sh PROFILE[@CLUSTER] ID: holds a waiting job. Exit status 1: it does not wait, or Slurm refuses.
id=$2
state=$(gpe_state "$id") || exit
case $state in *PENDING*)
  words=$(scontrol hold "$id" 2>&1) || case $words in
  *'already finished'*) ;; # some tasks of an array
  *)
    printf '%s\n' "$words" >&2
    exit 1
    ;;
  esac
  state=$(gpe_state "$id") || exit
  case $state in *PENDING*) exit 0 ;; esac
  # it began in between; the hold would wait for it until it is queued again
  scontrol release "$id"
  ;;
esac
printf 'HOLD: job %s is %s: only waiting jobs can be held\n' "$id" "$state" >&2
exit 1
