gpe_host=unknown
{ read -r gpe_host < /proc/sys/kernel/hostname; } 2> /dev/null
gpe_uptime=
{ read -r gpe_uptime gpe_s < /proc/uptime; } 2> /dev/null
gpe_running() { # ID WORD: prints the line of a job that runs; its session's start, in ticks of 10 ms, is in gpe_sid
  gpe_s=${gpe_sid#*-} && gpe_s=${gpe_s%%-*} gpe_t=${gpe_uptime%.??}${gpe_uptime##*.}
  [ ! -e "$gpe_dir/.gpe/begun" ] || { read -r gpe_s < "$gpe_dir/.gpe/begun" && gpe_s=${gpe_s%.??}${gpe_s##*.}; } || :
  # whole seconds, so that the line does not change with each query; a zero in front would be read as octal
  case $gpe_s:$gpe_t in *[!0-9:]* | :* | *: | 0?* | *:0?*) gpe_s='' ;; *) gpe_s=$(((gpe_t - gpe_s) / 100)) ;; esac
  case $gpe_s in -*) gpe_s='' ;; esac # it began after this query
  printf '%s %s host=%s%s\n' "$1" "$2" "$gpe_host" "${gpe_s:+ elapsed=$gpe_s}"
}
gpe_status() { # ID: of a job or a task. The exit status is looked for again when the processes are gone: the job may have ended in between
  gpe_job_dir "$1" || :
  gpe_home=${gpe_dir%/.gpe/tasks/*} gpe_sid=$1 gpe_word=running
  [ "$gpe_home" = "$gpe_dir" ] || [ -d "$gpe_dir" ] || return # an array has no other tasks than those
  if [ "$gpe_home" != "$gpe_dir" ]; then                      # a task, in a session of its own
    gpe_sid=''
    [ ! -e "$gpe_dir/.gpe/session" ] || read -r gpe_sid < "$gpe_dir/.gpe/session"
    [ -n "$gpe_sid" ] || gpe_sid=${1%_*} gpe_word=waiting
  fi
  if [ -e "$gpe_home/.gpe/waiting" ] && { read -r gpe_i gpe_why < "$gpe_home/.gpe/waiting"; } 2> /dev/null && [ "$gpe_i" = "${1%_*}" ]; then
    gpe_word=waiting gpe_why=" reason=$gpe_why"
  else
    gpe_why=''
  fi
  if [ ! -e "$gpe_dir/.gpe_exit_status" ] && { [ "$gpe_word" = running ] || [ ! -e "$gpe_dir/.gpe/removed" ] && [ ! -e "$gpe_home/.gpe/removed" ]; } && gpe_leader "$gpe_sid"; then
    [ "$gpe_word" = running ] || [ ! -e "$gpe_dir/.gpe/held" ] || gpe_word=held
    case $gpe_word.$gpe_state in
    running.[Tt]) gpe_word=stopped ;;
    *.[Tt]) gpe_word=held ;; # it waits, and has not begun
    esac
    case $gpe_word in
    running | stopped) gpe_running "$1" "$gpe_word" ;;
    *) printf '%s %s host=%s%s\n' "$1" "$gpe_word" "$gpe_host" "$gpe_why" ;;
    esac
  elif gpe_record "$1"; then
    gpe_word=ended
  elif { [ "$gpe_home" = "$gpe_dir" ] || [ "$gpe_sid" != "${1%_*}" ]; } && [ -n "$(gpe_processes "$1")" ]; then
    gpe_word=running
    gpe_running "$1" running
  elif [ ! -d "$gpe_dir" ] && { [ ! -L "$gpe_jobs/$1" ] || gpe_here "$1"; }; then
    return 1
  else
    gpe_other=
    [ ! -e "$gpe_home/.gpe/host" ] || read -r gpe_other < "$gpe_home/.gpe/host"
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
gpe_show() { # ID: of a job, or of an array, whose tasks it prints; gpe_word is ended if all have ended
  gpe_job_dir "$1" && [ -d "$gpe_dir/.gpe/tasks" ] || {
    gpe_status "$1"
    return
  }
  if [ -e "$gpe_dir/.gpe/waiting" ] && [ ! -e "$gpe_dir/.gpe/removed" ] && gpe_leader "$1"; then
    gpe_status "$1" # a line for all tasks; those have their own that are removed, or held by themselves
    for gpe_d in "$gpe_dir"/.gpe/tasks/*/.gpe/[hr]e[lm]*; do
      [ ! -e "$gpe_d" ] || { gpe_d=${gpe_d%/.gpe/*} && gpe_status "$1_${gpe_d##*/}"; }
    done
    gpe_word=waiting
    return
  fi
  gpe_whole=ended
  for gpe_d in "$gpe_dir"/.gpe/tasks/*; do
    gpe_status "$1_${gpe_d##*/}"
    case $gpe_word in ended | vanished) ;; *) gpe_whole=$gpe_word ;; esac
  done
  gpe_word=$gpe_whole
}
