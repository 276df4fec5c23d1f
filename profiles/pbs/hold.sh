id='<JOB_ID/'/'\\''>'
<SH_QSTAT>
<SH_STATE>
gpe_state "$id" || exit
case $state in
Q | W | H | T)
  words=$(qhold -h u "$id" 2>&1) || { rc=$?; printf '%s\n' "${words:-qhold failed: $rc}" >&2; exit "$rc"; }
  gpe_state "$id" || exit
  case $state in [QWHT]) exit 0 ;; esac
  # it began in between; the hold would wait for it until it is queued again
  qrls -h u "$id" ;;
esac
printf 'HOLD: job %s is in state %s: only waiting jobs can be held\n' "$id" "$state" >&2
exit 1
