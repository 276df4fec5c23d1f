# signal.sh QSTAT PROFILE ID SIGNAL: sends a signal to all processes of a job. Exit status 1: it does not run; else that of qsig.
# QSTAT is the program qstat.sh.
id=$3
signal=$4
gpe_state "$id" || exit
# of an array, the tasks that run
ids=$(gpe_qstat "$id" | awk -F'|' '$3 == "R" { print $1 }')
[ -n "$ids" ] || {
  printf 'SIGNAL: job %s is in state %s: only running jobs can get signals\n' "$id" "$state" >&2
  exit 1
}
set -f
# shellcheck disable=SC2086
words=$(qsig -s "$signal" $ids 2>&1) && exit
rc=$?
printf '%s\n' "${words:-qsig failed: $rc}" >&2
exit "$rc"
