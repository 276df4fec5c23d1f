id='<JOB_ID/'/'\\''>'
<SH_QSTAT>
state=$(gpe_state "$id") || exit
words=$(qdel "$id" 2>&1) || { rc=$?; printf '%s\n' "${words:-qdel failed: $rc}" >&2; exit "$rc"; }
[ -n "$state" ] || exit 0
# not before: only what the batch system has taken is a removal
gpe_jobs="${HOME:?}/.gpe/jobs"/'<PROFILE_NAME/'/'\\''>'
<SH_JOB_DIR>
gpe_note_removal "$id"
