gpe_led=''
gpe_read_machine() { # sets gpe_host and gpe_uptime
  gpe_host=unknown gpe_uptime=
  {
    read -r gpe_host < /proc/sys/kernel/hostname
    read -r gpe_uptime gpe_s < /proc/uptime
  } 2> /dev/null
}
# ID: prints the lines of a job, or of the tasks of an array. Sets gpe_word to ended if all have.
gpe_print_states() {
  if ! gpe_job_dir "$1" || [ ! -d "$gpe_dir/.gpe/tasks" ]; then
    gpe_status "$1"
    return
  fi
  if [ -e "$gpe_dir/.gpe/waiting" ] && [ ! -e "$gpe_dir/.gpe/removed" ] && gpe_leader "$1"; then
    gpe_print_waiting "$1"
    return
  fi
  gpe_whole=ended
  for gpe_d in "$gpe_dir"/.gpe/tasks/*; do
    gpe_status "$1_${gpe_d##*/}"
    case $gpe_word in ended | vanished) ;; *) gpe_whole=$gpe_word ;; esac
  done
  gpe_word=$gpe_whole
}
# ID: one line for all tasks of an array that waits as a whole; those have their own that are
# removed, or held by themselves.
gpe_print_waiting() {
  gpe_status "$1"
  for gpe_d in "$gpe_dir"/.gpe/tasks/*/.gpe/removed "$gpe_dir"/.gpe/tasks/*/.gpe/held; do
    [ -e "$gpe_d" ] || continue
    gpe_d=${gpe_d%/.gpe/*}
    gpe_status "$1_${gpe_d##*/}"
  done
  gpe_word=waiting
}
# ID: prints the line of a job or a task. The exit status is looked for again when the processes are
# gone: the job may have ended in between.
gpe_status() {
  gpe_job_dir "$1" || :
  gpe_array_dir=${gpe_dir%/.gpe/tasks/*} gpe_sid=$1 gpe_word=running
  if [ "$gpe_array_dir" != "$gpe_dir" ]; then
    [ -d "$gpe_dir" ] || return # an array has no other tasks than those
    gpe_find_session "$1"
  fi
  gpe_read_waiting "${1%_*}"
  if gpe_may_live && gpe_has_leader "$gpe_sid"; then
    gpe_print_live "$1"
  elif gpe_record "$1"; then
    gpe_word=ended
  elif gpe_has_begun "$1" && gpe_goes_on "$1" "$gpe_sid"; then
    gpe_word=running
    gpe_print_running "$1" running
  elif [ ! -d "$gpe_dir" ] && { [ ! -L "$gpe_jobs/$1" ] || gpe_here "$1"; }; then
    return 1
  else
    gpe_print_lost "$1"
  fi
}
# ID: as gpe_leader, which is asked once for all tasks that wait: a shell reads /proc byte by byte.
gpe_has_leader() {
  if [ "$1" != "$gpe_led" ]; then
    gpe_led=$1 gpe_leads=0
    gpe_leader "$1" || gpe_leads=1
    gpe_led_state=$gpe_state
  fi
  gpe_state=$gpe_led_state
  return "$gpe_leads"
}
gpe_find_session() { # ID: of a task: sets gpe_sid to its own session, or to its array's if it waits
  gpe_sid=''
  [ ! -e "$gpe_dir/.gpe/session" ] || read -r gpe_sid < "$gpe_dir/.gpe/session"
  [ -n "$gpe_sid" ] || gpe_sid=${1%_*} gpe_word=waiting
}
gpe_read_waiting() { # ID: sets gpe_word and gpe_why if the job, or the whole array, waits
  gpe_why=
  [ -e "$gpe_array_dir/.gpe/waiting" ] || return 0
  { read -r gpe_i gpe_s < "$gpe_array_dir/.gpe/waiting"; } 2> /dev/null || return 0
  [ "$gpe_i" != "$1" ] || gpe_word=waiting gpe_why=" reason=$gpe_s"
}
gpe_may_live() { # a task that waits was perhaps removed with its array
  [ ! -s "$gpe_dir/.gpe_exit_status" ] || return
  [ "$gpe_word" = running ] ||
    { [ ! -e "$gpe_dir/.gpe/removed" ] && [ ! -e "$gpe_array_dir/.gpe/removed" ]; }
}
gpe_has_begun() { # ID: is it a job, or a task with a session of its own?
  [ "$gpe_array_dir" = "$gpe_dir" ] || [ "$gpe_sid" != "${1%_*}" ]
}
gpe_print_live() { # ID
  [ "$gpe_word" = running ] || [ ! -e "$gpe_dir/.gpe/held" ] || gpe_word=held
  case $gpe_word.$gpe_state in
  running.[Tt]) gpe_word=stopped ;;
  *.[Tt]) gpe_word=held ;; # it waits, and has not begun
  esac
  case $gpe_word in
  running | stopped) gpe_print_running "$1" "$gpe_word" ;;
  *) printf '%s %s host=%s%s\n' "$1" "$gpe_word" "$gpe_host" "$gpe_why" ;;
  esac
}
# ID WORD: of a job that runs; its session's start, in ticks of 10 ms, is in gpe_sid.
gpe_print_running() {
  gpe_s=${gpe_sid#*-} gpe_t=${gpe_uptime%.??}${gpe_uptime##*.}
  gpe_s=${gpe_s%%-*}
  if [ -e "$gpe_dir/.gpe/begun" ] && read -r gpe_s < "$gpe_dir/.gpe/begun"; then
    gpe_s=${gpe_s%.??}${gpe_s##*.}
  fi
  # whole seconds, so that the line does not change with each query; a zero in front would be read
  # as octal
  case $gpe_s:$gpe_t in
  *[!0-9:]* | :* | *: | 0?* | *:0?*) gpe_s='' ;;
  *) gpe_s=$(((gpe_t - gpe_s) / 100)) ;;
  esac
  case $gpe_s in -*) gpe_s='' ;; esac # it began after this query
  printf '%s %s host=%s%s\n' "$1" "$2" "$gpe_host" "${gpe_s:+ elapsed=$gpe_s}"
}
gpe_print_lost() { # ID: of a job without processes and without an end
  gpe_other=
  [ ! -e "$gpe_array_dir/.gpe/host" ] || read -r gpe_other < "$gpe_array_dir/.gpe/host"
  # a container has the boot id of the machine that it is on, and does not see its processes
  if [ "$gpe_other" = "$gpe_host" ] || { [ -z "$gpe_other" ] && gpe_here "$1"; }; then
    gpe_word=vanished
    printf '%s vanished reason=its processes are gone and left no exit status\n' "$1"
  else
    gpe_word=elsewhere
    printf '%s elsewhere host=%s\n' "$1" "${gpe_other:-unknown}"
  fi
}
