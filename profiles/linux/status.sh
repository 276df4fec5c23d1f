gpe_host=unknown
{ read -r gpe_host < /proc/sys/kernel/hostname; } 2> /dev/null
gpe_status() { # the exit status is looked for again when the processes are gone: the job may have ended in between
  gpe_job_dir "$1" || :
  if [ ! -e "$gpe_dir/.gpe_exit_status" ] && gpe_leader "$1"; then
    gpe_word=running
    case $gpe_state in T | t) gpe_word=stopped ;; esac
    printf '%s %s host=%s\n' "$1" "$gpe_word" "$gpe_host"
  elif gpe_record "$1"; then
    gpe_word=ended
  elif [ -n "$(gpe_processes "$1")" ]; then
    gpe_word=running
    printf '%s running host=%s\n' "$1" "$gpe_host"
  elif [ ! -d "$gpe_dir" ] && { [ ! -L "$gpe_jobs/$1" ] || gpe_here "$1"; }; then
    return 1
  else
    gpe_other=
    [ ! -e "$gpe_dir/.gpe_host" ] || read -r gpe_other < "$gpe_dir/.gpe_host"
    # a container has the boot id of the machine that it is on, and does not see its processes
    if [ "$gpe_other" = "$gpe_host" ] || { [ -z "$gpe_other" ] && gpe_here "$1"; }; then
      gpe_word=vanished
      printf '%s vanished reason=its processes are gone and left no exit status\n' "$1"
    else
      gpe_word=elsewhere
      printf '%s elsewhere host=%s\n' "$1" "${gpe_other:-unknown}"
    fi
  fi
}
