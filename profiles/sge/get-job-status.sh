id='<JOB_ID/'/'\\''>'
gpe_jobs="${HOME:?}/.gpe/jobs"/'<PROFILE_NAME/'/'\\''>'
<SH_QSTAT>
<SH_JOB_DIR>
<SH_QACCT>
<SH_RECORD>
jobs=$(gpe_qstat) || exit 2
job=$(printf '%s\n' "$jobs" | awk -v id="$id" '$1 == id { print; exit }')
case $job in
'') ;;
"$id "*E*) # why Grid Engine cannot run it
  reason=$(qstat -j "$id" 2> /dev/null | sed -n 's/^error reason[ 0-9]*: *//p' | head -n 1)
  printf '%s%s\n' "$job" "${reason:+ reason=$reason}"
  exit ;;
*) printf '%s\n' "$job"; exit ;;
esac
record=$(gpe_record "$id")
case $record in '' | *exit=1[2-9][0-9]*)
  # the accounting knows a limit and the end of a job that left nothing
  gpe_qacct "$id" && exit ;;
esac
[ -n "$record" ] || { printf 'GET_JOB_STATUS: qstat does not know job %s; %s\n' "$id" "${gpe_words:-the accounting does not know it either}" >&2; exit 1; }
printf '%s\n' "$record"
