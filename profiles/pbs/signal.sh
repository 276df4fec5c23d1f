id='<JOB_ID/'/'\\''>' signal='<SIGNAL/'/'\\''>'
<SH_QSTAT>
<SH_STATE>
gpe_state "$id" || exit
[ "$state" = R ] || { printf 'SIGNAL: job %s is in state %s: only running jobs can get signals\n' "$id" "$state" >&2; exit 1; }
words=$(qsig -s "$signal" "$id" 2>&1) && exit
rc=$?
printf '%s\n' "${words:-qsig failed: $rc}" >&2
exit "$rc"
