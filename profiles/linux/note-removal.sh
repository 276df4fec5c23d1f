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
