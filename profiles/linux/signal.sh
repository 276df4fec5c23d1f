id='<JOB_ID/'/'\\''>' signal='<SIGNAL/'/'\\''>'
gpe_jobs="${HOME:?}/.gpe/jobs"/'<PROFILE_NAME/'/'\\''>'
<SH_JOB_DIR>
<SH_PROCESSES>
gpe_leader "$id" || { printf 'SIGNAL: job %s does not run on this machine\n' "$id" >&2; exit 1; }
# nor to what watches over its wall time
watch=none
! gpe_job_dir "$id" || [ ! -e "$gpe_dir/.gpe_watch" ] || read -r watch < "$gpe_dir/.gpe_watch"
for pid in $(gpe_processes "$id" y); do
  gpe_stat "$pid" || continue
  case $pid:$gpe_parent in "${id%%-*}":* | "$watch":* | *:"$watch") ;; *) kill "-$signal" "$pid" 2> /dev/null || : ;; esac
done
