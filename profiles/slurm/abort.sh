# abort.sh PROFILE[@CLUSTER] ID: cancels a job. Exit status 1: it has ended, or Slurm refuses.
main() { # PROFILE[@CLUSTER] ID
  set_up_slurm "$1"
  id=$2
  gpe_jobs=${HOME:?}/.gpe/jobs/$1
  state=$(gpe_state "$id") || exit
  case $state in
  *PENDING* | *CONFIGURING* | *RE[QS]* | *SPECIAL_EXIT*) ;;
  *RUNNING* | *SUSPENDED* | *STOPPED* | *SIGNALING* | *STAGE_OUT*) ;;
  *)
    printf 'ABORT: job %s has already ended: %s\n' "$id" "$state" >&2
    exit 1
    ;;
  esac
  scancel "$id" || exit
  # not before: only what the batch system has taken is a removal
  gpe_note_removal "$id"
}
