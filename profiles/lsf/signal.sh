# signal.sh PROFILE ID SIGNAL: sends a signal to all processes of a job. Exit status 1: it does not run; else that of bkill.
id=$2
signal=$3
jobs=$(gpe_bjobs "$id") || exit
# of an array, the tasks that run: KILL would end the others, too
ids=$(printf '%s\n' "$jobs" | awk -F'|' '$3 == "RUN" { print $1 ($2 > 0 ? "[" $2 "]" : "") }')
[ -n "$ids" ] || {
  printf 'SIGNAL: job %s is %s: only running jobs can get signals\n' "$id" "$(gpe_states "$id")" >&2
  exit 1
}
set -f
# shellcheck disable=SC2086
words=$(bkill -s "$signal" $ids 2>&1) && exit
rc=$?
printf '%s\n' "${words:-bkill failed: $rc}" >&2
exit "$rc"
