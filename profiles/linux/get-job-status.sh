# get-job-status.sh PROFILE [ID]: prints the state of a job; without ID, that of all jobs that have not ended, and once
# that of each job that has. Exit status 1: the job is not known.
gpe_jobs=${HOME:?}/.gpe/jobs/$1
if [ "$#" -gt 1 ]; then
  gpe_show "$2" || {
    printf 'GET_JOB_STATUS: unknown job %s\n' "$2" >&2
    exit 1
  }
  exit 0
fi
set --
for link in "$gpe_jobs"/live/*; do
  # another machine's job, or one of a file system that is away, has a link to a directory that is not there
  [ -d "$link" ] || continue
  gpe_word=
  gpe_show "${link##*/}" || :
  case $gpe_word in ended | vanished) set -- "$@" "$link" ;; esac
  [ "$#" -lt 1000 ] || {
    rm -f -- "$@"
    set -- "$1"
  }
done
[ "$#" -eq 0 ] || rm -f -- "$@"
# once a day: links whose directories are gone. -maxdepth: what the links lead to, and the links there, are the user's.
[ "$#" -eq 0 ] || [ -n "$(find "$gpe_jobs/live/.pruned" -mtime -1 2> /dev/null)" ] ||
  {
    : > "$gpe_jobs/live/.pruned"
    find -L "$gpe_jobs" "$gpe_jobs/live" -maxdepth 1 -type l -mtime +90 -exec rm -f -- {} +
  } 2> /dev/null
