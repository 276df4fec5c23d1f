# ID: sets gpe_leaders to the pids of the session leaders that are there: the job's; for an array,
# those of its tasks, too. Sets gpe_watches to those of what watches over their wall times.
gpe_find_leaders() {
  gpe_leaders='' gpe_watches=''
  gpe_job_dir "$1" || :
  for gpe_d in "$gpe_dir" "$gpe_dir"/.gpe/tasks/*; do
    gpe_i=$1 gpe_watch_pid=
    case $gpe_d in */.gpe/tasks/*)
      gpe_i=
      [ -s "$gpe_d/.gpe_exit_status" ] || { read -r gpe_i < "$gpe_d/.gpe/session"; } 2> /dev/null
      ;;
    esac
    [ -n "$gpe_i" ] || continue
    if ! gpe_leader "$gpe_i"; then
      # an array has ended with its tasks, whatever its session has left running
      [ ! -s "$gpe_d/.gpe_exit_status" ] && [ ! -d "$gpe_d/.gpe/tasks" ] || continue
      gpe_is_orphaned "$gpe_i" || continue
    fi
    gpe_leaders="$gpe_leaders ${gpe_i%%-*}"
    [ -e "$gpe_d/.gpe/watch" ] || continue
    read -r gpe_watch_pid < "$gpe_d/.gpe/watch"
    gpe_watches="$gpe_watches $gpe_watch_pid"
  done
}
gpe_waits() { # ID: is it a task that has not begun, of an array whose leader is there?
  case $1 in *_*) ;; *) return 1 ;; esac
  gpe_job_dir "$1" && [ -d "$gpe_dir" ] || return
  [ ! -e "$gpe_dir/.gpe/session" ] && [ ! -e "$gpe_dir/.gpe/removed" ] || return
  gpe_leader "${1%_*}"
}
