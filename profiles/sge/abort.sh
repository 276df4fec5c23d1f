# abort.sh PROFILE ID: deletes a job. Exit status 1: it has ended; else that of qdel.
template=ABORT
main() { # PROFILE ID
  state=$(gpe_state "$id") || exit
  run_quietly qdel "$id"
  # not before: only what the batch system has taken is a removal
  [ -z "$state" ] || gpe_note_removal "$id"
}
