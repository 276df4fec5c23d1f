# hold.sh PROFILE ID: stops all processes of a job. Exit status 1: it has none.
template=HOLD
main() {                   # PROFILE ID
  if gpe_waits "$id"; then # when its turn comes, it does not begin
    : > "$gpe_dir/.gpe/held" || exit
    [ -e "$gpe_dir/.gpe/session" ] || exit 0
    rm -f "$gpe_dir/.gpe/held" # it began just now
  fi
  # twice: a process may have started another one just before it was stopped
  stop_processes
  stop_processes
}
stop_processes() {
  gpe_find_leaders "$id"
  # shellcheck disable=SC2086
  pids=$(gpe_processes "$id" $gpe_leaders)
  [ -n "$pids" ] || fail 'has no processes on this machine: it has ended, or never ran here'
  # shellcheck disable=SC2086
  gpe_signal STOP $pids
}
