# abort.sh PROFILE ID: ends all processes of a job: TERM, and after five seconds KILL. Exit status
# 1: there are none, it has ended, or they cannot be killed.
template=ABORT
main() { # PROFILE ID
  waits=
  ! gpe_waits "$id" || waits=y
  gpe_job_dir "$id" || :
  dir=$gpe_dir
  [ ! -s "$dir/.gpe_exit_status" ] || fail 'has already ended'
  if [ -n "$waits" ]; then
    note_removal "$dir" || fail 'has already ended'
    [ -e "$dir/.gpe/session" ] || exit 0 # when its turn comes, it runs nothing
  fi
  find_processes
  [ -n "$pids$waits" ] ||
    fail 'has no processes on this machine: it has ended, or never ran here'
  [ ! -d "$dir" ] || note_removal "$dir" || fail 'has already ended'
  # those that have not begun see the note of their array; there may be a hundred thousand
  for task in "$dir"/.gpe/tasks/*; do
    [ ! -e "$task/.gpe/session" ] || note_removal "$task" || :
  done
  end_processes
}
# DIRECTORY: false if the job, or task, has ended. The note of another ABORT is left alone: the job
# may have ended by that one.
note_removal() {
  [ ! -s "$1/.gpe_exit_status" ] || return
  if create_note "$1/.gpe/removed" 2> /dev/null; then
    [ -s "$1/.gpe_exit_status" ] || return 0
    rm -f "$1/.gpe/removed" # it ended by itself, just before
    return 1
  fi
  [ -e "$1/.gpe/removed" ] || fail "cannot be removed: cannot write in $(pwd -P)/$1"
}
create_note() ( # FILE: false if it is there, or cannot be written
  umask 077
  set -C
  printf 'removed\n' > "$1"
)
find_processes() { # sets leaders, and pids to all processes of the job
  gpe_find_leaders "$id"
  leaders=$gpe_leaders live=
  # shellcheck disable=SC2086
  pids=$(gpe_processes "$id" $leaders)
  for task in "$dir"/.gpe/tasks/*; do
    if [ -d "$task" ] && [ ! -s "$task/.gpe_exit_status" ]; then
      [ ! -e "$task/.gpe/session" ] &&
        { [ -e "$task/.gpe/removed" ] || [ -e "$dir/.gpe/removed" ]; } || live=y
    fi
  done
  # what the programs of an array left running is no part of it
  [ ! -d "$dir/.gpe/tasks" ] || [ -n "$leaders$live" ] || pids=
}
end_processes() {
  n=0
  while [ -n "$pids" ]; do
    # shellcheck disable=SC2086
    case $n in
    0) gpe_signal TERM $pids && gpe_signal CONT $pids ;;
    [1-9] | [1-4]?) ;;
    [5-9]? | [1-5]??) gpe_signal KILL $pids ;; # on a busy machine, even an end takes its time
    *) fail "has processes that KILL has not ended within a minute: $(printf '%s ' $pids)" ;;
    esac
    sleep 0.1
    n=$((n + 1))
    # new processes are looked for every second
    # shellcheck disable=SC2086
    case $n in [1-9] | [1-4][1-9]) ! still_there $pids || continue ;; esac
    # shellcheck disable=SC2086
    pids=$(gpe_processes "$id" $leaders)
  done
}
# PID...: is one of them left? It costs much less than a look at all processes of the machine.
still_there() {
  for pid in "$@"; do
    ! gpe_stat "$pid" || case $gpe_state in Z | X) ;; *) return 0 ;; esac
  done
  return 1
}
