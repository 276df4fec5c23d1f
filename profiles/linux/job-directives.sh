#!/bin/sh
<OPTIONS/(?s)^(.+)\z/# $1>
<EXTRA_DIRECTIVES>
<SH_PROCESSES>
<SH_DEPENDENCY_DIR>
<SH_DEPENDENCY>
gpe_stat "$$"
gpe_boot=00000000
{ read -r gpe_boot < /proc/sys/kernel/random/boot_id; } 2> /dev/null
gpe_id=$$-$gpe_since-${gpe_boot%%-*} gpe_cputime='<CPUTIME/'/'\\''>' gpe_nodes='<NODES/'/'\\''>' gpe_array='<ARRAY/'/'\\''>' gpe_dependency='<DEPENDENCY/'/'\\''>' gpe_start_time='<START_TIME/'/'\\''>'
gpe_jobs="${HOME:-}/.gpe/jobs"/'<PROFILE_NAME/'/'\\''>'
<SH_ARRAY_TASK>
<SH_AFTER>
<SH_UNTIL>
# to START, which may have been killed
trap '' PIPE
printf '%s\n' "$gpe_id" 2> /dev/null
trap - PIPE
gpe_begin=gpe_begin gpe_ended=gpe_end gpe_end=gpe_end
gpe_enlist() {
  read -r gpe_host < /proc/sys/kernel/hostname && printf '%s\n' "$gpe_host" > .gpe_host
  # GET_JOB_STATUS looks at the jobs that live, not at all that ever were
  { [ -d "$gpe_jobs/live" ] || (umask 077; mkdir -p -- "$gpe_jobs/live"); ln -s -- "$PWD" "$gpe_jobs/live/$gpe_id"; } &
  gpe_enlisting=$!
  [ -z "$gpe_dependency" ] || gpe_after; [ -z "$gpe_start_time" ] || gpe_until
}
gpe_begin() {
  "${gpe_enlist:-gpe_enlist}"
  [ -n "$GPE_WALLTIME" ] || return 0
  gpe_watch_walltime < /dev/null > /dev/null 2>&1 &
  gpe_watch=$! && printf '%s\n' "$gpe_watch" > .gpe_watch
}
gpe_watch_walltime() {
  trap '' HUP INT QUIT USR1 USR2
  gpe_sleep='' gpe_left=$GPE_WALLTIME gpe_step=1
  trap '[ -z "$gpe_sleep" ] || kill "$gpe_sleep"; exit' TERM
  # in steps: a signal that arrives as a shell begins may be lost, and must not leave a process behind for hours
  while [ "$gpe_left" -gt 0 ] && [ ! -e .gpe_exit_status ]; do
    sleep "$gpe_step" &
    gpe_sleep=$!
    wait "$gpe_sleep"
    gpe_left=$((gpe_left - gpe_step)) gpe_step=$((gpe_step < 30 ? 2 * gpe_step : 60))
    [ "$gpe_step" -le "$gpe_left" ] || gpe_step=$gpe_left
  done
  trap '' TERM
  read -r gpe_self < /proc/self/stat
  gpe_self=${gpe_self%% *} gpe_n=0
  [ ! -e .gpe_exit_status ] || exit 0
  printf 'over its wall time of %s s\n' "$GPE_WALLTIME" > .gpe_limit.new && mv -f .gpe_limit.new .gpe_limit
  while [ ! -e .gpe_exit_status ] && [ "$gpe_n" -lt 100 ]; do
    case $gpe_n in 0 | [5-9]?) gpe_pids=$(gpe_processes "$GPE_JOB_ID" "$$") ;; *) gpe_pids= ;; esac
    for gpe_p in $gpe_pids; do
      # not the site's shell, which has to clean up
      gpe_stat "$gpe_p" && case $gpe_n:$gpe_p:$gpe_parent in
      *":$$:"* | *":$gpe_self:"* | *":$$") ;;
      0:*) gpe_signal TERM "$gpe_p" ;;
      [5-9]?:*) gpe_signal KILL "$gpe_p" ;;
      esac
    done
    gpe_n=$((gpe_n + 1))
    sleep 0.1
  done
}
gpe_end() { # called twice: the process of this number may be another one by then
  [ -z "${gpe_enlisting:-}" ] || wait "$gpe_enlisting" 2> /dev/null # else the link might come after DELETE
  [ -z "${gpe_watch:-}" ] || ! gpe_stat "$gpe_watch" || [ "$gpe_parent" != "$$" ] || kill "$gpe_watch" 2> /dev/null
}
