# ID [own]: prints how the job ended, from the files in its working directory; false if there are
# none. A removal is only asked for: it is the end of a job that left no other one. own: that of a
# task's array does not count, because the batch system tells an end of the task. An exit status
# that is empty is just being written, or met a full disk: it is none. Where the
# directory is away, that is printed: a word without a tag, which is no end.
gpe_record() {
  if ! gpe_job_dir "$1"; then
    gpe_is_dir_away "$1" || return
    printf '%s away reason=%s\n' "$1" "its directory $gpe_link is not there: is its file system?"
    return
  fi
  gpe_from=$gpe_dir gpe_array_dir=${gpe_dir%/.gpe/tasks/*}
  gpe_read_usage
  # a task without an end of its own was removed with its array
  [ -n "${2-}" ] || [ -e "$gpe_dir/.gpe/removed" ] || [ -e "$gpe_dir/.gpe/limit" ] ||
    [ -s "$gpe_dir/.gpe_exit_status" ] || gpe_from=$gpe_array_dir
  if [ -e "$gpe_dir/.gpe/limit" ]; then
    read -r gpe_why < "$gpe_dir/.gpe/limit"
    printf '%s limit%s reason=%s\n' "$1" "$gpe_used" "$gpe_why"
  elif gpe_read_removal "$gpe_from" &&
    { [ "$gpe_why" = DEPENDENCY ] || ! gpe_ended_itself "$1"; }; then
    [ "$gpe_why" != DEPENDENCY ] || gpe_used='/dependency reason=DEPENDENCY'
    printf '%s removed%s\n' "$1" "$gpe_used"
  elif [ -e "$gpe_dir/.gpe/failure" ] && [ -s "$gpe_dir/.gpe_exit_status" ]; then
    read -r gpe_why < "$gpe_dir/.gpe/failure"
    case $gpe_why in 'SITE_SETUP of '*) gpe_code=setup ;; *) gpe_code=files ;; esac
    printf '%s exited/%s exit=137%s reason=%s\n' "$1" "$gpe_code" "$gpe_used" "$gpe_why"
  elif [ -s "$gpe_dir/.gpe_exit_status" ] && read -r gpe_code < "$gpe_dir/.gpe_exit_status"; then
    printf '%s exited exit=%s%s\n' "$1" "$gpe_code" "$gpe_used"
  else
    return 1
  fi
}
# DIRECTORY: sets gpe_why to what the note of a removal says; false if there is none. One that is
# empty is just being written.
gpe_read_removal() {
  gpe_why=
  { read -r gpe_why < "$1/.gpe/removed"; } 2> /dev/null || [ -e "$1/.gpe/removed" ]
}
# ID: has it left an exit status that is not of the signals of a removal: TERM and KILL, PIPE of
# what wrote to a process that these ended first, or the one that the batch system sends first?
gpe_ended_itself() {
  gpe_job_dir "$1" && [ -s "$gpe_dir/.gpe_exit_status" ] &&
    read -r gpe_code < "$gpe_dir/.gpe_exit_status" || return
  case $gpe_code in 137 | 141 | 143 | "${gpe_removal_code:-143}") return 1 ;; esac
}
gpe_read_usage() { # sets gpe_used to words about the machine and the times that the job has left
  gpe_used='' gpe_why=''
  if [ -s "$gpe_dir/.gpe/usage" ] && read -r gpe_used < "$gpe_dir/.gpe/usage"; then
    gpe_used=" $gpe_used"
  fi
  case $gpe_used in *[!a-z0-9.=\ ]*) gpe_used='' ;; esac
  # a job that was removed while it waited has run nowhere
  [ ! -e "$gpe_array_dir/.gpe/host" ] || [ -e "$gpe_array_dir/.gpe/waiting" ] ||
    read -r gpe_why < "$gpe_array_dir/.gpe/host"
  case $gpe_why in '' | *[!A-Za-z0-9._-]*) ;; *) gpe_used=" host=$gpe_why$gpe_used" ;; esac
}
