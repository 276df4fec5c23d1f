gpe_umask=$(umask) && umask 077
unset GPE_JOB_ID # of a job that starts this one: it is none of its processes
gpe_jobs="${HOME:?}/.gpe/jobs/$gpe_profile"
mkdir -p -- "$gpe_d" "$gpe_jobs" && cd -- "$gpe_d" || exit 1
# As sshd's StrictModes: nobody else may be able to replace the directory, or anything that its path leads through.
gpe_unsafe=$(LC_ALL=C namei -mo -- "$gpe_d" | awk -v me="$(id -un)" '
NR > 1 { line = $0; owner = $2; open = $1 ~ /^[^l]....w|^[^l].......w/; bad = $2 != me && $2 != "root" || open && $1 !~ /[tT]$/; if (bad) print }
END { if (NR < 2) print "(unknown: namei failed)"; else if (!bad && (open || owner != me)) print line }')
[ -z "$gpe_unsafe" ] || { printf 'START: %s is not a safe directory for a job, because others can change this: %s\n' "$gpe_d" "$gpe_unsafe" >&2; exit 1; }
if [ ! -s .gpe_job_id ]; then
  printf '%s\n' "$gpe_job" > ".gpe_job.$$" || exit 1
  # One submission at a time, in a session of its own: what ends this shell does not cut it off. Who finds its mark, .gpe_submitting, and no id submits nothing.
  flock .gpe_lock setsid sh -c '
gpe_new=$1 gpe_umask=$2 gpe_pattern=$3; shift 3
[ ! -s .gpe_job_id ] && [ ! -e .gpe_submitting ] || { rm -f "$gpe_new"; exit 75; }
mv -f "$gpe_new" .gpe_job && : > .gpe_submitting || exit 1
(umask "$gpe_umask"; exec "$@" .gpe_job) > .gpe_answer 2> .gpe_error
gpe_rc=$?
[ "$gpe_rc" -eq 0 ] || { cat .gpe_answer >> .gpe_error; [ -s .gpe_error ] || echo "the submission failed ($gpe_rc)" > .gpe_error; exit "$((gpe_rc == 75 ? 1 : gpe_rc))"; }
tail -n 1 .gpe_answer | LC_ALL=C grep -Ex -e "$gpe_pattern" > .gpe_started ||
  { { echo "the batch system answered without a job id:"; cat .gpe_answer; } | tee .gpe_submitting >> .gpe_error; exit 75; }
# The first to write the id decides: this, or the job itself.
ln .gpe_started .gpe_job_id 2> /dev/null || [ -s .gpe_job_id ] || mv .gpe_started .gpe_job_id || exit 75
rm -f .gpe_started .gpe_answer
' sh ".gpe_job.$$" "$gpe_umask" "$gpe_id_pattern" "$@" < /dev/null 3>&- # flock opens 3, as linux expects
  gpe_rc=$?
  [ ! -s .gpe_error ] || cat .gpe_error >&2
  if [ ! -s .gpe_job_id ]; then
    [ "$gpe_rc" -eq 75 ] || [ ! -s .gpe_error ] && [ -e .gpe_submitting ] || exit "$((gpe_rc ? gpe_rc : 1))"
    printf 'START: whether a job was submitted in %s is not known: FIND_JOB finds out, then START can be repeated\n' "$gpe_d" >&2; exit 75
  fi
fi
read -r gpe_id < .gpe_job_id && ln -sfn -- "$gpe_d" "$gpe_jobs/$gpe_id" ||
  { printf 'START: %s has the job %s, but the link to it cannot be created: START can be repeated\n' "$gpe_d" "$gpe_id" >&2; exit 1; }
printf '%s\n' "$gpe_id"
