gpe_record() { # ID: prints how the job ended, from the files in its working directory; false if there are none
  gpe_job_dir "$1" || return
  gpe_from=$gpe_dir gpe_used=''
  [ ! -s "$gpe_dir/.gpe_usage" ] || { read -r gpe_used < "$gpe_dir/.gpe_usage" && gpe_used=" $gpe_used"; }
  case $gpe_used in *[!a-z0-9.=\ ]*) gpe_used='' ;; esac
  # of an older version: a job of linux writes .gpe_host as it begins
  # shellcheck disable=SC2046
  [ -n "$gpe_used" ] || [ ! -e "$gpe_dir/.gpe_host" ] || [ ! -e "$gpe_dir/.gpe_exit_status" ] || set -- "$1" $(stat -c %Y "$gpe_dir/.gpe_host" "$gpe_dir/.gpe_exit_status")
  [ "$#" -lt 3 ] || gpe_used=" elapsed=$(($3 - $2)) ended=$3"
  gpe_why='' # a job that was removed while it waited has run nowhere
  gpe_home=${gpe_dir%/.gpe_tasks/*}
  [ ! -e "$gpe_home/.gpe_host" ] || [ -e "$gpe_home/.gpe_waiting" ] || read -r gpe_why < "$gpe_home/.gpe_host"
  case $gpe_why in '' | *[!A-Za-z0-9._-]*) ;; *) gpe_used=" host=$gpe_why$gpe_used" ;; esac
  # a task without an end of its own was removed with its array
  [ -e "$gpe_dir/.gpe_removed" ] || [ -e "$gpe_dir/.gpe_limit" ] || [ -e "$gpe_dir/.gpe_exit_status" ] || gpe_from=$gpe_home
  if [ -e "$gpe_from/.gpe_removed" ]; then
    read -r gpe_why < "$gpe_from/.gpe_removed"
    case $gpe_why in DEPENDENCY) gpe_why='/dependency reason=DEPENDENCY' ;; *) gpe_why=$gpe_used ;; esac
    printf '%s removed%s\n' "$1" "$gpe_why"
  elif [ -e "$gpe_dir/.gpe_limit" ]; then
    read -r gpe_why < "$gpe_dir/.gpe_limit"
    printf '%s limit%s reason=%s\n' "$1" "$gpe_used" "$gpe_why"
  elif [ -e "$gpe_dir/.gpe_failed" ] && [ -e "$gpe_dir/.gpe_exit_status" ]; then
    read -r gpe_why < "$gpe_dir/.gpe_failed"
    printf '%s exited/setup exit=137%s reason=%s\n' "$1" "$gpe_used" "$gpe_why"
  elif [ -e "$gpe_dir/.gpe_exit_status" ] && read -r gpe_code < "$gpe_dir/.gpe_exit_status"; then
    printf '%s exited exit=%s%s\n' "$1" "$gpe_code" "$gpe_used"
  else
    return 1
  fi
}
