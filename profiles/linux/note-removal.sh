# ID: after the batch system has taken the removal, and only then: writes down for the job that it
# was asked for, unless it had ended before, and for the tasks of an array that have not ended.
gpe_note_removal() {
  ! gpe_job_dir "$1" || (
    umask 077
    mkdir -p -- "$gpe_dir/.gpe" || exit
    # another exit status than that of the removal's signals: it had ended by itself
    gpe_code=143
    [ ! -e "$gpe_dir/.gpe_exit_status" ] || read -r gpe_code < "$gpe_dir/.gpe_exit_status"
    case $gpe_code in 137 | 143) printf 'removed\n' > "$gpe_dir/.gpe/removed" ;; esac
    for gpe_dir in "$gpe_dir" "$gpe_dir"/.gpe/tasks/*; do
      [ ! -d "$gpe_dir" ] || [ -e "$gpe_dir/.gpe_exit_status" ] ||
        printf 'removed\n' > "$gpe_dir/.gpe/removed"
    done
  ) || :
}
