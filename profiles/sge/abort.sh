# abort.sh PROFILE ID: deletes a job. Exit status 1: it has ended; else that of qdel.
id=$2
gpe_jobs=${HOME:?}/.gpe/jobs/$1
state=$(gpe_state "$id") || exit
words=$(qdel "$id" 2>&1) || {
  rc=$?
  printf '%s\n' "${words:-qdel failed: $rc}" >&2
  exit "$rc"
}
[ -n "$state" ] || exit 0
# not before: only what the batch system has taken is a removal
gpe_note_removal "$id"
