# abort.sh QSTAT PROFILE ID: deletes a job, an array or a task. Exit status 1: it has ended; else that of qdel.
# QSTAT is the program qstat.sh.
id=$3
gpe_jobs=${HOME:?}/.gpe/jobs/$2
gpe_state "$id" || exit
case $state in F | C | X | E)
  printf 'ABORT: job %s has already ended (state %s)\n' "$id" "$state" >&2
  exit 1
  ;;
esac
words=$(qdel "$id" 2>&1) || {
  rc=$?
  printf '%s\n' "${words:-qdel failed: $rc}" >&2
  exit "$rc"
}
# not before: only what PBS has taken is a removal
gpe_note_removal "$id"
