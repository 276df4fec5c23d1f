gpe_job_dir() { # ID: sets gpe_dir to the link to the job's working directory; false if there is none
  for gpe_dir in "$gpe_jobs/$1" "${gpe_jobs%/*}/$1"; do # older versions kept the links of all profiles in one directory
    [ ! -d "$gpe_dir" ] || return 0
  done
  return 1
}
gpe_note_removal() { # ID: after the batch system has taken the removal, and only then
  ! gpe_job_dir "$1" || [ -e "$gpe_dir/.gpe_exit_status" ] || { umask 077; printf 'removed\n' > "$gpe_dir/.gpe_removed"; } || :
}
