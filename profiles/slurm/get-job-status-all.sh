<CLUSTER/(?s)^(.+)\z/export SLURM_CLUSTERS='$1'; >gpe_jobs="${HOME:-}/.gpe/jobs"/'<PROFILE_NAME/'/'\\''>'<CLUSTER/(?s)^(.+)\z/@$1>
<SH_SQUEUE>
<SH_JOB_DIR>
<SH_RECORD>
<SH_EXPLAIN>
jobs=$(gpe_squeue -u "$(id -u)")
rc=$?
if [ "$rc" -eq 0 ]; then
  shown=$(printf '%s\n' "$jobs" | gpe_show '') && { gpe_explain "$shown"; exit; }
  [ -n "$jobs" ] || exit 0
  rc=1 # it answers, but not about jobs
fi
[ -z "$jobs" ] || printf '%s\n' "$jobs" >&2
exit "$rc"
