id='<JOB_ID/'/'\\''>'
gpe_jobs="${HOME:?}/.gpe/jobs"/'<PROFILE_NAME/'/'\\''>'
<SH_QSTAT>
<SH_JOB_DIR>
<SH_QACCT>
<SH_RECORD>
<SH_EXPLAIN>
<SH_TELL>
