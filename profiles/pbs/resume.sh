# resume.sh QSTAT PROFILE ID: releases a job or an array, continues a suspended one. Exit status 1: it is neither; else that of qrls or qsig.
# QSTAT is the program qstat.sh.
id=$3
gpe_state "$id" || exit
case $state:$id in
H:*\[[0-9]*)
  printf 'RESUME: job %s is a task: PBS releases whole arrays only\n' "$id" >&2
  exit 1
  ;;
[QWT]:*\[[0-9]*) exit 0 ;;
esac
case $state in
Q | W | H | T) words=$(qrls -h u "$id" 2>&1) || {
  rc=$?
  printf '%s\n' "${words:-qrls failed: $rc}" >&2
  exit "$rc"
} ;;
S) words=$(qsig -s resume "$id" 2>&1) || {
  rc=$?
  printf '%s\n' "${words:-qsig failed: $rc}" >&2
  exit "$rc"
} ;;
R | B) ;;
*)
  printf 'RESUME: job %s is in state %s\n' "$id" "$state" >&2
  exit 1
  ;;
esac
# qrls says yes where it released nothing
gpe_state "$id" || exit
[ "$state" = H ] || exit 0
who=
case $holds in *o*) who=', by an operator' ;; esac
case $holds in *s*) who="$who, by PBS itself or its manager" ;; esac
printf 'RESUME: job %s is still held%s (Hold_Types %s)\n' "$id" "$who" "$holds" >&2
exit 1
