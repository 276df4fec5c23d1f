# get-job-status.sh PROFILE [ID]: prints the state of a job; without ID, that of all jobs that have
# not ended, and once that of each job that has. Exit status 1: the job is not known.
main() { # PROFILE [ID]
  gpe_jobs=${HOME:?}/.gpe/jobs/$1
  gpe_read_machine
  if [ "$#" -gt 1 ]; then
    gpe_print_states "$2" && exit
    printf 'GET_JOB_STATUS: unknown job %s\n' "$2" >&2
    exit 1
  fi
  set --
  for link in "$gpe_jobs"/live/*; do
    # the directory of another machine's job, or one of a file system that is away, is not there; it
    # may have been made again by somebody else
    # shellcheck disable=SC3067  # every sh of Linux has -O
    [ -O "$link/." ] || continue
    gpe_word=
    gpe_print_states "${link##*/}" || :
    case $gpe_word in ended | vanished) set -- "$@" "$link" ;; esac
    if [ "$#" -ge 1000 ]; then
      rm -f -- "$@"
      set -- "$1"
    fi
  done
  [ "$#" -gt 0 ] || exit 0
  rm -f -- "$@"
  remove_old_links 2> /dev/null || :
}
remove_old_links() { # once a day, those whose directories are gone
  [ -z "$(find "$gpe_jobs/live/.pruned" -mtime -1)" ] || return 0
  : > "$gpe_jobs/live/.pruned"
  # -maxdepth: what the links lead to, and the links there, are the user's
  find -L "$gpe_jobs" "$gpe_jobs/live" -maxdepth 1 -type l -mtime +90 -exec rm -f -- {} +
}
