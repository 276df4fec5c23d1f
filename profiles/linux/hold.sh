id='<JOB_ID/'/'\\''>'
<SH_PROCESSES>
# twice: a process may have started another one just before it was stopped
for pass in 1 2; do
  pids=$(gpe_processes "$id")
  [ -n "$pids" ] || { printf 'HOLD: job %s has no processes on this machine: it has ended, or never ran here\n' "$id" >&2; exit 1; }
  # shellcheck disable=SC2086
  gpe_signal STOP $pids
done
: "$pass"
