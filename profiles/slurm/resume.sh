id='<JOB_ID/'/'\\''>'
<SH_STATE>
state=$(gpe_state "$id") || exit
case $state in
PENDING | REQUEUE_HOLD | SPECIAL_EXIT | RESV_DEL_HOLD) scontrol release "$id" ;;
SUSPENDED) scontrol resume "$id" ;;
RUNNING | CONFIGURING) ;;
*) printf 'RESUME: job %s is %s\n' "$id" "$state" >&2; exit 1 ;;
esac
