# ID: enters the working directory of a job, by our own link to it, and sets gpe_dir to it, or to a
# task's directory in that of its array, relative to where this is then. False if there is none:
# then gpe_dir names nothing.
gpe_job_dir() {
  gpe_dir=/dev/null gpe_a=$1
  if [ -d "$gpe_jobs/$1" ]; then
    gpe_enter_job || return
    gpe_dir=.
    gpe_link_old_files .
    return 0
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
  [ -d "$gpe_jobs/$gpe_a" ] && gpe_enter_job || return
  gpe_link_old_files .
  # shellcheck disable=SC2034  # FIND_JOB only needs gpe_link_old_files
  gpe_dir=./.gpe/tasks/$gpe_t # it need not be there before the task begins
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
# DIRECTORY: notes that its job never runs, because its conditions cannot hold. A query may read the
# note just now: it appears whole.
gpe_note_dependency() {
  printf 'DEPENDENCY\n' > "$1/.gpe/removed.new" && mv -f "$1/.gpe/removed.new" "$1/.gpe/removed"
}
# DIRECTORY: if an early 0.1.0 submitted its job, when .gpe/NAME was .gpe_NAME, makes links, so that
# this version's programs use the files of that job, which runs on, and of its tasks. The job writes
# none of removed and held by a rename. The lock comes last: it shows that all is done.
gpe_link_old_files() {
  [ -e "$1/.gpe_lock" ] && [ -O "$1" ] || return 0
  for gpe_o in "$1" "$1"/.gpe_tasks/*; do
    [ -d "$gpe_o" ] && [ ! -L "$gpe_o/.gpe/lock" ] || continue
    (
      umask 077
      mkdir -p -- "$gpe_o/.gpe" && cd -- "$gpe_o/.gpe" || exit
      for gpe_name in removed held; do # these are created here, unless they are there
        [ -e "../.gpe_$gpe_name" ] || ln -s ".gpe/$gpe_name" "../.gpe_$gpe_name"
        [ -L "../.gpe_$gpe_name" ] || ln -s "../.gpe_$gpe_name" "$gpe_name"
      done
      for gpe_name in id:job_id script:job output:job.out tasks host begun waiting session \
        watch usage limit submitting lock; do
        ln -s "../.gpe_${gpe_name#*:}" "${gpe_name%:*}"
      done
    ) 2> /dev/null
  done
}
