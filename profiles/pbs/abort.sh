id='<JOB_ID/'/'\\''>'
<SH_QSTAT>
<SH_STATE>
gpe_state "$id" || exit
case $state in F | C | X | E) printf 'ABORT: job %s has already ended (state %s)\n' "$id" "$state" >&2; exit 1 ;; esac
words=$(qdel "$id" 2>&1) || { rc=$?; printf '%s\n' "${words:-qdel failed: $rc}" >&2; exit "$rc"; }
# not before: only what PBS has taken is a removal
gpe_jobs="${HOME:?}/.gpe/jobs"/'<PROFILE_NAME/'/'\\''>'
<SH_JOB_DIR>
gpe_note_removal "$id"
