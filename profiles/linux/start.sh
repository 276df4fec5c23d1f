gpe_umask=$(umask) && umask 077 && unset GPE_JOB_ID # of a job that starts this one: it is none of its processes
gpe_jobs="${HOME:?}/.gpe/jobs/$gpe_profile" && mkdir -p -- "$gpe_d" "$gpe_jobs" && cd -- "$gpe_d" || exit 1
# shellcheck disable=SC3067  # As sshd's StrictModes: nobody else may be able to replace the directory, or anything that its path leads through.
gpe_unsafe=$(LC_ALL=C namei -mo -- "$gpe_d" | {
  read -r gpe_last; if [ -O / ]; then gpe_user=root; else gpe_user=; fi
  while read -r gpe_mode gpe_owner gpe_line; do
    case $gpe_owner in root | "${gpe_user:=$gpe_owner}") gpe_bad= ;; *) gpe_bad=y ;; esac
    case $gpe_bad$gpe_mode in l* | ?????-??-? | ?????????[tT]) ;; *) echo "$gpe_mode $gpe_owner $gpe_line" ;; esac
    gpe_last="$gpe_mode $gpe_owner $gpe_line"
  done
  case $gpe_last in d????-??-?' '*) [ -O . ] || echo "$gpe_last" ;; *) echo "${gpe_last:-namei failed}" ;; esac
})
[ -z "$gpe_unsafe" ] || { printf 'START: %s is not a safe directory for a job, because others can change this: %s\n' "$gpe_d" "$gpe_unsafe" >&2; exit 1; }
if [ ! -s .gpe_job_id ]; then
  exec 3> .gpe_lock && gpe_rc=75 && flock 3 3>&3 || exit 1 # one submission at a time; ksh passes only what a command names
  if [ ! -s .gpe_job_id ] && [ ! -e .gpe_submitting ]; then
    printf '%s\n' "$gpe_job" > .gpe_job && : > .gpe_submitting || exit 1 # submit in a session of its own: what ends this shell does not cut it off
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
  [ -s .gpe_job_id ] || [ "$gpe_rc" -eq 75 ] || [ ! -s .gpe_error ] && [ -n "${gpe_rc#12[67]}" ] || exit "$gpe_rc"
  exec 3>&- && [ -s .gpe_job_id ] || { printf 'START: whether a job was submitted in %s is not known: FIND_JOB finds out, then START can be repeated\n' "$gpe_d" >&2; exit 75; }
elif ! LC_ALL=C grep -qEx -e "$gpe_id_pattern" .gpe_job_id; then echo "START: $gpe_d/.gpe_job_id does not contain a job id" >&2; exit 1
fi
read -r gpe_id < .gpe_job_id && case $gpe_id in */* | .*) false ;; esac && ln -sfn -- "$gpe_d" "$gpe_jobs/$gpe_id" || { printf 'START: %s has the job %s, but the link to it cannot be created: START can be repeated\n' "$gpe_d" "$gpe_id" >&2; exit 1; }
printf '%s\n' "$gpe_id"
