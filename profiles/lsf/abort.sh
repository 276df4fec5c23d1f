# abort.sh PROFILE ID: kills a job, an array or a task. Exit status 1: it has ended; else that of
# bkill.
template=ABORT
main() { # PROFILE ID
  states=$(gpe_states "$id") || exit
  printf '%s\n' "$states" | grep -qvxE 'DONE|EXIT' || fail "has already ended: $states"
  run_quietly bkill "$id"
  # not before: only what the batch system has taken is a removal
  gpe_note_removal "$id"
}
