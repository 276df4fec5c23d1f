if [ ! -s .gpe_job_id ]; then
  exec 3> .gpe_lock && gpe_rc=75 && flock 3 3>&3 || exit 73 # one submission at a time; ksh passes only what a command names
  if [ ! -s .gpe_job_id ] && set -C && { printf '' > .gpe_submitting; } 2> /dev/null; then set +C # -C: two cannot make the mark
    [ ! -e .gpe_tasks ] && [ ! -e .gpe_waiting ] || rm -rf .gpe_tasks .gpe_waiting; printf '%s\n' "$gpe_job" > .gpe_job && : > .gpe_answer && : > .gpe_error && : > .gpe_started || { rm -f .gpe_submitting; exit 73; } # submit in a session of its own: what ends this shell does not cut it off
    setsid sh -c '
gpe_umask=$1 gpe_pattern=$2 gpe_last=; shift 2
(umask "$gpe_umask"; "$@" .gpe_job) > .gpe_answer 2> .gpe_error; gpe_rc=$?
[ "$gpe_rc" -eq 0 ] || { cat .gpe_answer >> .gpe_error; [ -s .gpe_error ] || echo "the submission failed ($gpe_rc)" > .gpe_error; exit "$((gpe_rc == 75 ? 1 : gpe_rc))"; }
while read -r gpe_line || [ -n "$gpe_line" ]; do gpe_last=$gpe_line; done < .gpe_answer
printf "%s\n" "$gpe_last" | LC_ALL=C grep -Ex -e "$gpe_pattern" > .gpe_started ||
  { { echo "the batch system answered without a job id:"; cat .gpe_answer; } | tee .gpe_submitting >> .gpe_error; exit 75; }
# the first to write the id decides: this, or the job itself
ln .gpe_started .gpe_job_id 2> /dev/null || [ -s .gpe_job_id ] || mv .gpe_started .gpe_job_id || exit 75
' sh "$gpe_umask" "$gpe_id_pattern" "$@" < /dev/null 3>&3
    gpe_rc=$?
  fi
  [ ! -s .gpe_error ] || cat .gpe_error >&2
  [ -s .gpe_job_id ] || [ "$gpe_rc" -eq 75 ] || { [ ! -s .gpe_error ] && [ -n "${gpe_rc#12[67]}" ]; } || exit "$gpe_rc"
  exec 3>&- && [ -s .gpe_job_id ] || { printf 'START: whether a job was submitted in %s is not known: FIND_JOB finds out, then START can be repeated\n' "$gpe_d" >&2; exit 75; }
elif ! LC_ALL=C grep -qEx -e "$gpe_id_pattern" .gpe_job_id; then echo "START: $gpe_d/.gpe_job_id does not contain a job id" >&2; exit 1
fi
read -r gpe_id < .gpe_job_id && case $gpe_id in */* | .*) false ;; esac && ln -sfn -- "$gpe_d" "$gpe_jobs/$gpe_id" || { printf 'START: %s has the job %s, but the link to it cannot be created: START can be repeated\n' "$gpe_d" "$gpe_id" >&2; exit 1; }
printf '%s\n' "$gpe_id"
