# abort.sh PROFILE ID: kills a job, an array or a task. Exit status 1: it has ended; else that of bkill.
id=$2
gpe_jobs=${HOME:?}/.gpe/jobs/$1
states=$(gpe_states "$id") || exit
case $(printf '%s\n' "$states" | grep -vxE 'DONE|EXIT') in '')
  printf 'ABORT: job %s has already ended: %s\n' "$id" "$states" >&2
  exit 1
  ;;
esac
words=$(bkill "$id" 2>&1) || {
  rc=$?
  printf '%s\n' "${words:-bkill failed: $rc}" >&2
  exit "$rc"
}
# not before: only what the batch system has taken is a removal
gpe_note_removal "$id"
