id='<JOB_ID/'/'\\''>'
<SH_STATE>
state=$(gpe_state "$id") || exit
if [ "$state" = PENDING ]; then
  scontrol hold "$id" || exit
  state=$(gpe_state "$id") || exit
  [ "$state" != PENDING ] || exit 0
  # it began in between; the hold would wait for it until it is queued again
  scontrol release "$id"
fi
printf 'HOLD: job %s is %s: only waiting jobs can be held\n' "$id" "$state" >&2
exit 1
