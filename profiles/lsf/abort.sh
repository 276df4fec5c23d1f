id='<JOB_ID/'/'\\''>'
<SH_BJOBS>
states=$(gpe_states "$id") || exit
case $(printf '%s\n' "$states" | grep -vxE 'DONE|EXIT') in '') printf 'ABORT: job %s has already ended: %s\n' "$id" "$states" >&2; exit 1 ;; esac
words=$(bkill "$id" 2>&1) || { rc=$?; printf '%s\n' "${words:-bkill failed: $rc}" >&2; exit "$rc"; }
# not before: only what the batch system has taken is a removal
gpe_jobs="${HOME:?}/.gpe/jobs"/'<PROFILE_NAME/'/'\\''>'
<SH_JOB_DIR>
gpe_note_removal "$id"
