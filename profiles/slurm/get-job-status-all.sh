<CLUSTER/(?s)^(.+)\z/export SLURM_CLUSTERS='$1'; ><SH_SQUEUE>
jobs=$(gpe_squeue -u "$(id -u)")
rc=$?
if [ "$rc" -eq 0 ]; then
  printf '%s\n' "$jobs" | gpe_show '' && exit
  [ -n "$jobs" ] || exit 0
  rc=1 # it answers, but not about jobs
fi
[ -z "$jobs" ] || printf '%s\n' "$jobs" >&2
exit "$rc"
