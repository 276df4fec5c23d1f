: "$gpe_umask" # is for START
gpe_fail() { printf 'FIND_JOB: %s\n' "$1" >&2; exit 75; }
exec 3> .gpe_lock && flock 3 3>&3 || exit 1 # waits for a submission that is under way
if [ ! -s .gpe_job_id ] && [ -e .gpe_submitting ]; then
  gpe_id=$(gpe_find 3>&-) || gpe_fail "the batch system cannot be asked for the job of $gpe_d"
  if [ -n "$gpe_id" ]; then
    printf '%s\n' "$gpe_id" | LC_ALL=C grep -Ex -e "$gpe_id_pattern" > .gpe_found || gpe_fail "the batch system told $gpe_id, which is not a job id"
    ln .gpe_found .gpe_job_id 2> /dev/null || [ -s .gpe_job_id ] || mv .gpe_found .gpe_job_id || exit 1
    rm -f .gpe_found
  elif [ -s .gpe_submitting ]; then
    gpe_fail "no job of $gpe_d is found, but $(cat .gpe_submitting) (if there is none, remove $gpe_d/.gpe_submitting)"
  else
    # given up: a job of this directory that begins from now on runs nothing; one that begins just now takes its id back
    rm .gpe_submitting && sleep 0.2 || exit 1
  fi
fi
[ -s .gpe_job_id ] || exit 0
gpe_id=$(LC_ALL=C grep -Ex -e "$gpe_id_pattern" .gpe_job_id) || gpe_fail "$gpe_d/.gpe_job_id does not contain a job id"
mkdir -p -- "$gpe_jobs" && ln -sfn -- "$gpe_d" "$gpe_jobs/$gpe_id"
printf '%s\n' "$gpe_id"
