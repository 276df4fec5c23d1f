# resume.sh PROFILE ID: releases a held job, continues a suspended one, clears an error. Exit status 1: it is still held.
id=$2
state=$(gpe_state "$id") || exit
words=
# qmod's exit code tells nothing
case $state in *E*) words=$(qmod -cj "$id" 2>&1) ;; esac
case $state in *s*) words=$(qmod -usj "$id" 2>&1) ;; esac
case $state in '' | *h*)
  words=$(qrls -h u "$id" 2>&1) || {
    rc=$?
    printf '%s\n' "${words:-qrls failed: $rc}" >&2
    exit "$rc"
  }
  ;;
esac
state=$(gpe_state "$id") || exit
case $state in
*s* | *E*)
  printf '%s\n' "${words:-RESUME: job $id is in state $state}" >&2
  exit 1
  ;;
*h*)
  printf 'RESUME: job %s is still in state %s: an operator, the system or another job holds it\n' "$id" "$state" >&2
  exit 1
  ;;
*[ST]*)
  printf 'RESUME: job %s is in state %s: its queue or the load suspends it\n' "$id" "$state" >&2
  exit 1
  ;;
esac
