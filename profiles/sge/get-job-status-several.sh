ids='<JOB_IDS/'/'\\''>'
gpe_jobs="${HOME:?}/.gpe/jobs"/'<PROFILE_NAME/'/'\\''>'
<SH_QSTAT>
<SH_JOB_DIR>
<SH_QACCT>
<SH_RECORD>
<SH_EXPLAIN>
all=$(gpe_qstat) || exit 2
gpe_qstat() { printf '%s\n' "$all"; }
for id in $ids; do (
<SH_TELL>
) 2> /dev/null || :; done
