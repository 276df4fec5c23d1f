# resume.sh PROFILE ID: continues all processes of a held job. Exit status 1: it has none.
template=RESUME
main() { # PROFILE ID
  if gpe_waits "$id"; then
    # what would begin it is stopped
    case $gpe_state in
    T | t) fail "has not begun, and its array is held as a whole: resume ${id%_*}" ;;
    esac
    rm -f "$gpe_dir/.gpe/held"
    exit
  fi
  gpe_find_leaders "$id"
  [ ! -d "$gpe_dir/.gpe/tasks" ] ||
    find "$gpe_dir/.gpe/tasks/" -name held -exec rm -f -- {} +
  # shellcheck disable=SC2086
  pids=$(gpe_processes "$id" $gpe_leaders)
  [ -n "$pids" ] || fail 'has no processes on this machine: it has ended, or never ran here'
  # shellcheck disable=SC2086
  gpe_signal CONT $pids
}
