id='<JOB_ID/'/'\\''>'
gpe_jobs="${HOME:?}/.gpe/jobs"/'<PROFILE_NAME/'/'\\''>'
<SH_BJOBS>
<SH_BHIST>
<SH_JOB_DIR>
<SH_RECORD>
<SH_SHOW>
<SH_TELL>
