<CLUSTER/(?s)^(.+)\z/export SLURM_CLUSTERS='$1'; >id='<JOB_ID/'/'\\''>' signal='<SIGNAL/'/'\\''>'
<SH_STATE>
state=$(gpe_state "$id") || exit
case $state in
*RUNNING*) ;;
*) printf 'SIGNAL: job %s is %s: only running jobs can get signals\n' "$id" "$state" >&2; exit 1 ;;
esac
# the tasks of an array that run: for the others scancel would wait, to signal them as they begin
ids=$(squeue -h -r -t RUNNING -o %i -j "$id") || exit
# shellcheck disable=SC2086
scancel --full --signal="$signal" ${ids:-"$id"}
