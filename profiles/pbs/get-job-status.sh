id='<JOB_ID/'/'\\''>'
gpe_jobs="${HOME:?}/.gpe/jobs"/'<PROFILE_NAME/'/'\\''>'
<SH_QSTAT>
<SH_JOB_DIR>
<SH_RECORD>
<SH_EXPLAIN>
<SH_SHOW>
jobs=$(gpe_qstat "$id" 2>&1)
rc=$?
if [ "$rc" -eq 0 ]; then
  shown=$(printf '%s\n' "$jobs" | gpe_show "$id" '') && { gpe_explain "$shown"; exit; }
  jobs="qstat printed nothing about job $id"
fi
# a server that does not answer has not forgotten the job
case $rc in
0 | 35 | 153)
  # with the server's name, where that was left out
  index='' whole=$id
  case $id in *\[*) index=${id#*\[}; index=${index%%\]*}; whole="${id%%\[*}[]${id#*\]}" ;; esac
  for link in "$gpe_jobs/$whole" "$gpe_jobs/$whole".* "${gpe_jobs%/*}/$whole" "${gpe_jobs%/*}/$whole".*; do
    [ -d "$link" ] || continue
    name=${link##*/}
    case $name in
    *\[*) # tasks that were removed before they began have left nothing
      for i in ${index:-$(sed -n '/^[^#]/q; s/^#PBS -J \([0-9]*\)-\([0-9]*\)\(:\([0-9]*\)\)\{0,1\}.*/\1 \4 \2/p' "$link/.gpe_job" | xargs -r seq)}; do
        ! gpe_record "${name%%\]*}$i]${name#*\]}" || rc=told
      done
      [ "$rc" != told ] || exit 0 ;;
    *) gpe_record "$name" && exit ;;
    esac
  done
  rc=1 ;; # nobody knows it
*) rc=2 ;; # the query failed
esac
printf '%s\n' "$jobs" >&2
exit "$rc"
