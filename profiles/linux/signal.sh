# signal.sh PROFILE ID SIGNAL: sends a signal to the processes of a job's program, not to the job's
# own shell. Exit status 1: it does not run.
template=SIGNAL
main() { # PROFILE ID SIGNAL
  signal=$3 starter=
  gpe_find_leaders "$id"
  gpe_job_dir "$id" || :
  ! gpe_waits "$id" && [ ! -e "$gpe_dir/.gpe/waiting" ] || fail 'has not begun'
  [ -n "$gpe_leaders" ] || fail 'does not run on this machine'
  [ ! -d "$gpe_dir/.gpe/tasks" ] || starter=${id%%-*}
  # shellcheck disable=SC2086
  for pid in $(gpe_processes "$id" $gpe_leaders); do
    ! is_of_program "$pid" || kill "-$signal" "$pid" 2> /dev/null || :
  done
}
# PID: not the job's own shell, nor what starts the tasks of an array or watches over a wall time
is_of_program() {
  gpe_stat "$1" && [ "$gpe_session" != "$starter" ] || return
  case "$gpe_leaders$gpe_watches " in *" $1 "*) return 1 ;; esac
  case "$gpe_watches " in *" $gpe_parent "*) return 1 ;; esac
  # nor the site's shell, a copy of the job's own: a leader's child with the same command line
  case "$gpe_leaders " in
  *" $gpe_parent "*) [ "$(print_command "$1")" != "$(print_command "$gpe_parent")" ] ;;
  esac
}
print_command() { # PID
  tr '\0' '\n' < "/proc/$1/cmdline"
}
