id='<JOB_ID/'/'\\''>'
gpe_jobs="${HOME:?}/.gpe/jobs"/'<PROFILE_NAME/'/'\\''>'
<SH_QSTAT>
<SH_JOB_DIR>
<SH_RECORD>
<SH_SHOW>
jobs=$(gpe_qstat "$id" 2>&1)
rc=$?
if [ "$rc" -eq 0 ]; then
  printf '%s\n' "$jobs" | gpe_show "$id" '' && exit
  jobs="qstat printed nothing about job $id"
fi
# a server that does not answer has not forgotten the job
case $rc in
0 | 35 | 153)
  # with the server's name, where that was left out
  for link in "$gpe_jobs/$id" "$gpe_jobs/$id".* "${gpe_jobs%/*}/$id" "${gpe_jobs%/*}/$id".*; do
    [ ! -d "$link" ] || { gpe_record "${link##*/}" && exit; }
  done
  rc=1 ;; # nobody knows it
*) rc=2 ;; # the query failed
esac
printf '%s\n' "$jobs" >&2
exit "$rc"
