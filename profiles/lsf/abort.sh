# abort.sh PROFILE ID: kills a job, an array or a task. Exit status 1: it has ended; else that of
# bkill.
main() { # PROFILE ID
  gpe_jobs=${HOME:?}/.gpe/jobs/$1
  id=$2
  states=$(gpe_states "$id") || exit
  if ! printf '%s\n' "$states" | grep -qvxE 'DONE|EXIT'; then
    printf 'ABORT: job %s has already ended: %s\n' "$id" "$states" >&2
    exit 1
  fi
  run_quietly bkill "$id"
  # not before: only what the batch system has taken is a removal
  gpe_note_removal "$id"
}
