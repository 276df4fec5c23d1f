id='<JOB_ID/'/'\\''>'
<SH_QSTAT>
state=$(gpe_state "$id") || exit
case $state in
*d*) printf 'HOLD: job %s is being deleted\n' "$id" >&2; exit 1 ;;
'' | *q*)
  words=$(qhold -h u "$id" 2>&1) || { rc=$?; printf '%s\n' "${words:-qhold failed: $rc}" >&2; exit "$rc"; }
  state=$(gpe_state "$id") || exit
  case $state in *h*q*) exit 0 ;; esac
  # it began in between; the hold would wait for it until it is queued again
  qrls -h u "$id" > /dev/null 2>&1 ;;
esac
words=$(qmod -sj "$id" 2>&1)
state=$(gpe_state "$id") || exit
case $state in *[sST]*) exit 0 ;; esac
printf '%s\n' "${words:-HOLD: job $id is in state $state}" >&2
exit 1
