ids='<JOB_IDS/'/'\\''>'
gpe_jobs="${HOME:?}/.gpe/jobs"/'<PROFILE_NAME/'/'\\''>'
<SH_QSTAT>
<SH_JOB_DIR>
<SH_RECORD>
<SH_EXPLAIN>
<SH_SHOW>
<SH_RELEASE>
<SH_TELL>
set -f
# shellcheck disable=SC2086
gpe_tell $ids
