id='<JOB_ID/'/'\\''>'
gpe_jobs="${HOME:?}/.gpe/jobs"/'<PROFILE_NAME/'/'\\''>'
<SH_JOB_DIR>
<SH_PROCESSES>
gpe_job_dir "$id" || :
dir=$gpe_dir
ended() { printf 'ABORT: job %s %s\n' "$id" "$1" >&2; exit 1; }
[ ! -e "$dir/.gpe_exit_status" ] || ended 'has already ended'
seen=
! gpe_leader "$id" || seen=y
pids=$(gpe_processes "$id" "$seen")
[ -n "$pids" ] || ended 'has no processes on this machine: it has ended, or never ran here'
# The note of another ABORT is left alone: the job may have ended by that one.
if [ -d "$dir" ] && (umask 077; set -C; printf 'removed\n' > "$dir/.gpe_removed") 2> /dev/null; then
  # it may have ended by itself just before
  if [ -e "$dir/.gpe_exit_status" ]; then rm -f "$dir/.gpe_removed"; ended 'has already ended'; fi
elif [ -d "$dir" ] && [ ! -e "$dir/.gpe_removed" ]; then
  printf 'ABORT: job %s: cannot write in %s\n' "$id" "$dir" >&2
  exit 1
fi
n=0
while [ -n "$pids" ]; do
  # shellcheck disable=SC2086
  case $n in
  0) gpe_signal TERM $pids; gpe_signal CONT $pids ;;
  [1-9] | [1-4]?) ;;
  [5-9]?) gpe_signal KILL $pids ;;
  *) printf 'ABORT: job %s: processes that cannot be killed: %s\n' "$id" "$(printf '%s ' $pids)" >&2; exit 1 ;;
  esac
  sleep 0.1
  n=$((n + 1))
  pids=$(gpe_processes "$id" "$seen")
done
