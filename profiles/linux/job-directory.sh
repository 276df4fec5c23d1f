# ID: sets gpe_dir to the link to the job's working directory, or to a task's directory in that of
# its array; false if there is none.
gpe_job_dir() {
  gpe_dir=$gpe_jobs/$1
  [ ! -d "$gpe_dir" ] || return 0
  case $1 in
  *\[[0-9]*\]*) # 12[3].server of 12[].server
    gpe_t=${1#*\[}
    gpe_t=${gpe_t%%\]*}
    gpe_a="${1%%\[*}[]${1#*\]}"
    ;;
  *[_.][0-9]*)
    gpe_t=${1##*[_.]}
    gpe_a=${1%[_.]*}
    ;;
  *) return 1 ;;
  esac
  case $gpe_t in *[!0-9]*) return 1 ;; esac
  [ -d "$gpe_jobs/$gpe_a" ] || gpe_a=${gpe_a%'[]'} # 12[3] of 12
  # it need not be there before the task begins
  gpe_dir=$gpe_jobs/$gpe_a/.gpe/tasks/$gpe_t
  [ -d "$gpe_jobs/$gpe_a" ]
}
# ID: after the batch system has taken the removal, and only then: writes that down for the job,
# unless it had ended before, and for the tasks of an array that have not ended.
gpe_note_removal() {
  ! gpe_job_dir "$1" || (
    umask 077
    mkdir -p -- "$gpe_dir/.gpe" || exit
    # up to 128: it had ended by itself; more: by a signal, which was that of the removal
    gpe_rc=129
    [ ! -e "$gpe_dir/.gpe_exit_status" ] || read -r gpe_rc < "$gpe_dir/.gpe_exit_status"
    [ "$gpe_rc" -le 128 ] || printf 'removed\n' > "$gpe_dir/.gpe/removed"
    for gpe_dir in "$gpe_dir" "$gpe_dir"/.gpe/tasks/*; do
      [ ! -d "$gpe_dir" ] || [ -e "$gpe_dir/.gpe_exit_status" ] ||
        printf 'removed\n' > "$gpe_dir/.gpe/removed"
    done
  ) || :
}
