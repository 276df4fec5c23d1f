# ID: enters the working directory of a job, by our own link to it, and sets gpe_dir to it, or to a
# task's directory in that of its array, relative to where this is then. False if there is none:
# then gpe_dir names nothing.
gpe_job_dir() {
  gpe_dir=/dev/null gpe_a=$1
  if [ -d "$gpe_jobs/$1" ]; then
    gpe_enter_job && gpe_dir=.
    return
  fi
  case $1 in
  *\[[0-9]*\]*) # 12[3].server of 12[].server
    gpe_t=${1#*\[}
    gpe_t=${gpe_t%%\]*}
    gpe_a="${1%%\[*}[]${1#*\]}"
    ;;
  *[_.][0-9]*)
    gpe_t=${1##*[_.]}
    gpe_a=${1%[_.]*}
    ;;
  *) return 1 ;;
  esac
  case $gpe_t in *[!0-9]*) return 1 ;; esac
  [ -d "$gpe_jobs/$gpe_a" ] || gpe_a=${gpe_a%'[]'} # 12[3] of 12
  # it need not be there before the task begins
  [ -d "$gpe_jobs/$gpe_a" ] && gpe_enter_job && gpe_dir=./.gpe/tasks/$gpe_t
}
# The directory may have been cleaned, and made again by somebody else. So it is entered first, and
# looked at from within. Who may write there START has checked; only its owner can change that.
gpe_enter_job() {
  # shellcheck disable=SC3067  # every sh of Linux has -O
  cd -- "$gpe_jobs/$gpe_a" 2> /dev/null && [ -O . ] && return
  cd -- "$gpe_jobs" || cd /
  [ "${gpe_refused:-}" = "$gpe_a" ] || printf 'the directory of job %s is not used: %s\n' "$gpe_a" \
    "$(readlink -- "$gpe_jobs/$gpe_a") belongs to another user" >&2
  gpe_refused=$gpe_a
  return 1
}
