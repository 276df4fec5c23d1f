<CLUSTER/(?s)^(.+)\z/export SLURM_CLUSTERS='$1'; >id='<JOB_ID/'/'\\''>'
<SH_STATE>
state=$(gpe_state "$id") || exit
case $state in
*PENDING* | *CONFIGURING* | *RE[QS]* | *SPECIAL_EXIT* | *RUNNING* | *SUSPENDED* | *STOPPED* | *SIGNALING* | *STAGE_OUT*) ;;
*) printf 'ABORT: job %s has already ended: %s\n' "$id" "$state" >&2; exit 1 ;;
esac
scancel "$id" || exit
# not before: only what the batch system has taken is a removal
gpe_jobs="${HOME:?}/.gpe/jobs"/'<PROFILE_NAME/'/'\\''>'<CLUSTER/(?s)^(.+)\z/@$1>
<SH_JOB_DIR>
gpe_note_removal "$id"
