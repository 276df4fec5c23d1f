# abort.sh PROFILE[@CLUSTER] ID: cancels a job. Exit status 1: it has ended, or Slurm refuses.
template=ABORT
main() { # PROFILE[@CLUSTER] ID
  set_up_slurm "$1"
  state=$(gpe_state "$id") || exit
  case $state in
  *PENDING* | *CONFIGURING* | *RE[QS]* | *SPECIAL_EXIT*) ;;
  *RUNNING* | *SUSPENDED* | *STOPPED* | *SIGNALING* | *STAGE_OUT*) ;;
  *) fail "has already ended: $state" ;;
  esac
  scancel "$id" || exit
  # not before: only what the batch system has taken is a removal
  gpe_note_removal "$id"
}
