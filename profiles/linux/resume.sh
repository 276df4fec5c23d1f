id='<JOB_ID/'/'\\''>'
<SH_PROCESSES>
pids=$(gpe_processes "$id")
[ -n "$pids" ] || { printf 'RESUME: job %s has no processes on this machine: it has ended, or never ran here\n' "$id" >&2; exit 1; }
# shellcheck disable=SC2086
gpe_signal CONT $pids
