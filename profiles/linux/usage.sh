# usage.sh PROFILE ID: prints what a job took, or takes until now. Exit status 1: nobody knows.
template=USAGE
main() { # PROFILE ID
  gpe_job_dir "$id" || fail 'is an unknown job'
  if [ -d "$gpe_dir/.gpe/tasks" ]; then
    for task in "$gpe_dir"/.gpe/tasks/*; do usage "${id}_${task##*/}" || :; done
  else
    usage "$id" || fail 'has not begun, or left nothing'
  fi
}
usage() { # ID: of a job or a task: what it took, or what its processes take now
  gpe_find_leaders "$1"
  gpe_job_dir "$1" || :
  since=$gpe_dir/.gpe/host
  case $gpe_dir in */.gpe/tasks/*) since=$gpe_dir/.gpe/session ;; esac
  if [ -z "$gpe_leaders" ] || [ -s "$gpe_dir/.gpe_exit_status" ] ||
    ! since=$(stat -c %Y "$since" 2> /dev/null); then
    gpe_record "$1"
    return
  fi
  # shellcheck disable=SC2086
  for pid in $(gpe_processes "$1" $gpe_leaders); do
    cat "/proc/$pid/stat" "/proc/$pid/status" 2> /dev/null
  done | awk -v id="$1" -v seconds="$(($(date +%s) - since))" '
/^[0-9]+ \(.*\) [A-Za-z] / { sub(/.*\) /, ""); for (i = 12; i <= 15; i++) ticks += $i }
$1 == "VmHWM:" && $3 == "kB" { memory += $2 }
END {
  printf "%s running elapsed=%d cpu=%d.%02d", id, seconds, ticks / 100, ticks % 100
  printf " memory=%.0f\n", memory * 1024
}'
}
