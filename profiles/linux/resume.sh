# resume.sh PROFILE ID: continues all processes of a held job. Exit status 1: it has none.
id=$2
gpe_jobs=${HOME:?}/.gpe/jobs/$1
if gpe_waits "$id"; then
  # what would begin it is stopped
  case $gpe_state in T | t)
    printf 'RESUME: job %s has not begun, and its array is held as a whole: resume %s\n' "$id" "${id%_*}" >&2
    exit 1
    ;;
  esac
  rm -f "$gpe_dir/.gpe/held"
  exit
fi
gpe_find_leaders "$id"
[ ! -d "$gpe_dir/.gpe/tasks" ] || find "$gpe_dir/.gpe/tasks/" -name held -exec rm -f -- {} +
# shellcheck disable=SC2086
pids=$(gpe_processes "$id" $gpe_leaders)
[ -n "$pids" ] || {
  printf 'RESUME: job %s has no processes on this machine: it has ended, or never ran here\n' "$id" >&2
  exit 1
}
# shellcheck disable=SC2086
gpe_signal CONT $pids
