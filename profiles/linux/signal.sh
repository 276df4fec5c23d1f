# signal.sh PROFILE ID SIGNAL: sends a signal to the processes of a job's program, not to the job's own shell. Exit
# status 1: it does not run.
id=$2
signal=$3
gpe_jobs=${HOME:?}/.gpe/jobs/$1
gpe_find_leaders "$id"
gpe_job_dir "$id" || :
! gpe_waits "$id" && [ ! -e "$gpe_dir/.gpe/waiting" ] || {
  printf 'SIGNAL: job %s has not begun\n' "$id" >&2
  exit 1
}
[ -n "$gpe_leaders" ] || {
  printf 'SIGNAL: job %s does not run on this machine\n' "$id" >&2
  exit 1
}
# nor to what starts the tasks of an array, nor to what watches over a wall time
[ ! -d "$gpe_dir/.gpe/tasks" ] || starter=${id%%-*}
# shellcheck disable=SC2086
for pid in $(gpe_processes "$id" $gpe_leaders); do
  gpe_stat "$pid" && [ "$gpe_session" != "${starter:-}" ] || continue
  case "$gpe_leaders$gpe_watches " in *" $pid "*) continue ;; esac
  # nor to the site's shell, which is a copy of the job's own: a leader's child with the same command line
  case "$gpe_leaders " in *" $gpe_parent "*) [ "$(tr '\0' '\n' < "/proc/$pid/cmdline")" != "$(tr '\0' '\n' < "/proc/$gpe_parent/cmdline")" ] || continue ;; esac
  case "$gpe_watches " in *" $gpe_parent "*) ;; *) kill "-$signal" "$pid" 2> /dev/null || : ;; esac
done
