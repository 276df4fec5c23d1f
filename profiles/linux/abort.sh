# abort.sh PROFILE ID: ends all processes of a job: TERM, and after five seconds KILL. Exit status 1: there are none, it
# has ended, or they cannot be killed.
id=$2
gpe_jobs=${HOME:?}/.gpe/jobs/$1
ended() {
  printf 'ABORT: job %s %s\n' "$id" "$1" >&2
  exit 1
}
note() { # DIRECTORY: false if the job, or task, has ended. The note of another ABORT is left alone: the job may have ended by that one.
  if [ -e "$1/.gpe_exit_status" ]; then
    return 1
  elif (
    umask 077
    set -C
    printf 'removed\n' > "$1/.gpe/removed"
  ) 2> /dev/null; then
    [ ! -e "$1/.gpe_exit_status" ] || {
      rm -f "$1/.gpe/removed"
      return 1
    } # by itself, just before
  elif [ ! -e "$1/.gpe/removed" ]; then
    printf 'ABORT: job %s: cannot write in %s\n' "$id" "$1" >&2
    exit 1
  fi
}
waits=
! gpe_waits "$id" || waits=y
gpe_job_dir "$id" || :
dir=$gpe_dir
[ ! -e "$dir/.gpe_exit_status" ] || ended 'has already ended'
if [ -n "$waits" ]; then
  note "$dir" || ended 'has already ended'
  [ -e "$dir/.gpe/session" ] || exit 0 # when its turn comes, it runs nothing
fi
gpe_find_leaders "$id"
leaders=$gpe_leaders
# shellcheck disable=SC2086
pids=$(gpe_processes "$id" $leaders)
live=
for task in "$dir"/.gpe/tasks/*; do
  [ ! -d "$task" ] || [ -e "$task/.gpe_exit_status" ] || { [ -e "$task/.gpe/removed" ] && [ ! -e "$task/.gpe/session" ]; } || live=y
done
# what the programs of an array left running is no part of it
[ ! -d "$dir/.gpe/tasks" ] || [ -n "$leaders$live" ] || pids=
[ -n "$pids$waits" ] || ended 'has no processes on this machine: it has ended, or never ran here'
[ ! -d "$dir" ] || note "$dir" || ended 'has already ended'
for task in "$dir"/.gpe/tasks/*; do
  [ ! -d "$task" ] || note "$task" || :
done
still_there() { # PID...: is one of them left? It costs much less than a look at all processes of the machine.
  for gpe_p in "$@"; do
    ! gpe_stat "$gpe_p" || case $gpe_state in Z | X) ;; *) return 0 ;; esac
  done
  return 1
}
n=0
while [ -n "$pids" ]; do
  # shellcheck disable=SC2086
  case $n in
  0)
    gpe_signal TERM $pids
    gpe_signal CONT $pids
    ;;
  [1-9] | [1-4]?) ;;
  [5-9]?) gpe_signal KILL $pids ;;
  *)
    printf 'ABORT: job %s: processes that cannot be killed: %s\n' "$id" "$(printf '%s ' $pids)" >&2
    exit 1
    ;;
  esac
  sleep 0.1
  n=$((n + 1))
  # shellcheck disable=SC2086
  case $n in [1-9] | [1-4][1-9]) ! still_there $pids || continue ;; esac # new processes are looked for every second
  # shellcheck disable=SC2086
  pids=$(gpe_processes "$id" $leaders)
done
