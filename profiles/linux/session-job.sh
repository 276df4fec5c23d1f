# Of an array: this script, run once more by the leader of the array's session, is a task.
# shellcheck disable=SC2034  # that of job-array.sh
gpe_task_index=${1:-}
gpe_set_id() { # a job of this machine leads a session
  gpe_stat "$$"
  gpe_boot=00000000
  { read -r gpe_boot < /proc/sys/kernel/random/boot_id; } 2> /dev/null
  gpe_id=$$-$gpe_since-${gpe_boot%%-*}
  gpe_jobs=${HOME:-}/.gpe/jobs/${gpe_profile:-linux}
  gpe_begin=gpe_begin_session gpe_end=gpe_end_session gpe_tell=gpe_tell_id
  [ -z "${gpe_array:-}" ] || gpe_begin_array
  [ -n "${gpe_task:-}" ] || [ -z "${gpe_dependency:-}${gpe_start_time:-}" ] || gpe_check_waiting
}
# False if there is none then: START removes an empty one. Where the profile's own command tells it
# the same id, START writes it, too, as a whole.
gpe_write_id() { (set -C && printf '%s\n' "$gpe_id" > .gpe/id) 2> /dev/null || [ -s .gpe/id ]; }
gpe_refuse() { # MESSAGE: before the id is told, START prints it
  printf 'START: %s\n' "$1" >&2
  exit 1
}
gpe_tell_id() { # to START, which may have been killed
  trap '' PIPE
  printf '%s\n' "$gpe_id" 2> /dev/null
  trap - PIPE
}
gpe_begin_session() {
  [ -n "${gpe_task:-}" ] || gpe_enlist
  [ -n "$GPE_WALLTIME" ] || return 0
  [ -z "${gpe_signal:-}" ] || gpe_keep_pid "$PWD/.gpe/pid"
  gpe_watch_walltime < /dev/null > /dev/null 2>&1 &
  gpe_watch=$!
  printf '%s\n' "$gpe_watch" > .gpe/watch
}
# Among the jobs that live, at which GET_JOB_STATUS looks; then waits until the job may begin.
gpe_enlist() {
  read -r gpe_host < /proc/sys/kernel/hostname && printf '%s\n' "$gpe_host" > .gpe/host
  (
    umask 077
    [ -d "$gpe_jobs/live" ] || mkdir -p -- "$gpe_jobs/live"
    ln -s -- "$PWD" "$gpe_jobs/live/$gpe_id"
  ) &
  gpe_enlisting=$!
  [ -z "${gpe_dependency:-}" ] || gpe_wait_for_jobs
  [ -z "${gpe_start_time:-}" ] || gpe_wait_for_time
  # shellcheck disable=SC3013
  [ . -ef "$GPE_WORKING_DIRECTORY" ] || kill -s KILL "$$" # replaced while the job has waited
}
# Ends the program when its time is over, and before that sends the signal for which it has asked.
gpe_watch_walltime() {
  trap '' HUP INT QUIT USR1 USR2
  gpe_sleep='' gpe_left=$GPE_WALLTIME gpe_step=1 gpe_early=${gpe_signal_time:-0}
  trap '[ -z "$gpe_sleep" ] || kill "$gpe_sleep"; exit' TERM
  # in steps: a signal that arrives as a shell begins may be lost, and must not leave a process
  # behind for hours
  while [ "$gpe_left" -gt 0 ] && [ ! -s .gpe_exit_status ]; do
    sleep "$gpe_step" &
    gpe_sleep=$!
    wait "$gpe_sleep"
    gpe_left=$((gpe_left - gpe_step)) gpe_step=$((gpe_step < 16 ? 2 * gpe_step : 20))
    if [ "$gpe_early" -gt 0 ] && [ "$gpe_left" -le "$gpe_early" ]; then
      gpe_early=0
      gpe_send_signal
    fi
    [ "$gpe_step" -le "$((gpe_left - gpe_early))" ] || gpe_step=$((gpe_left - gpe_early))
    gpe_look_after_shell
  done
  trap '' TERM
  [ ! -s .gpe_exit_status ] || exit 0
  printf 'over its wall time of %s s\n' "$GPE_WALLTIME" > .gpe/limit.new &&
    mv -f .gpe/limit.new .gpe/limit
  gpe_end_processes
}
# The process of this number may be another one by now.
gpe_send_signal() {
  { read -r gpe_pid < "$gpe_pid_file"; } 2> /dev/null || return
  gpe_stat "$gpe_pid" && [ "$gpe_session" = "$$" ] && gpe_pass_signal
}
# Where the job's shell was killed and nothing of its program is left, only this can tell it.
gpe_look_after_shell() {
  ! gpe_stat "$$" || case $gpe_state in Z | X) ;; *) return 0 ;; esac
  gpe_dir=. && ! gpe_has_others "$GPE_JOB_ID" "$$" || return 0
  [ -s .gpe_exit_status ] ||
    { echo 137 > .gpe/exit_status.new && mv -f .gpe/exit_status.new .gpe_exit_status; }
  exit 0
}
gpe_end_processes() { # TERM, and after five seconds KILL
  read -r gpe_self < /proc/self/stat
  gpe_self=${gpe_self%% *} gpe_n=0 gpe_site_parent=
  [ ! -e "$gpe_setup_mark" ] || gpe_site_parent=$$ # of the site's own shell, which has to clean up
  while [ ! -s .gpe_exit_status ] && [ "$gpe_n" -lt 100 ]; do
    case $gpe_n in 0 | [5-9]?) gpe_pids=$(gpe_processes "$GPE_JOB_ID" "$$") ;; *) gpe_pids= ;; esac
    for gpe_p in $gpe_pids; do
      gpe_stat "$gpe_p" && case $gpe_n:$gpe_p:$gpe_parent in
      *":$$:"* | *":$gpe_self:"* | *":$gpe_site_parent") ;;
      0:*) gpe_signal TERM "$gpe_p" ;;
      [5-9]?:*) gpe_signal KILL "$gpe_p" ;;
      esac
    done
    gpe_n=$((gpe_n + 1))
    sleep 0.1
  done
}
gpe_end_session() {
  [ -z "${gpe_pid_file:-}" ] || gpe_note_limit
  # else the link might come after DELETE
  [ -z "${gpe_enlisting:-}" ] || wait "$gpe_enlisting" 2> /dev/null
  # the process of this number may be another one by now
  [ -n "${gpe_watch:-}" ] && gpe_stat "$gpe_watch" || return 0
  [ "$gpe_parent" != "$$" ] || kill "$gpe_watch" 2> /dev/null
}
