# signal.sh PROFILE ID SIGNAL: sends a signal to all processes of a job. Exit status 1: it does not
# run; else that of bkill.
template=SIGNAL
main() { # PROFILE ID SIGNAL
  jobs=$(gpe_bjobs "$id") || exit
  # of an array, the tasks that run: KILL would end the others, too
  ids=$(printf '%s\n' "$jobs" | awk -F'|' '$3 == "RUN" { print $1 ($2 > 0 ? "[" $2 "]" : "") }')
  [ -n "$ids" ] || fail "is $(gpe_states "$id"): only running jobs can get signals"
  set -f
  # shellcheck disable=SC2086
  run_quietly bkill -s "$3" $ids
}
