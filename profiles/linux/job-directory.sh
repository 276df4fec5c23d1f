# ID: sets gpe_dir to the link to the job's working directory, or to a task's directory in that of
# its array; false if there is none.
gpe_job_dir() {
  gpe_dir=$gpe_jobs/$1
  if [ -d "$gpe_dir" ]; then
    gpe_link_old_files "$gpe_dir"
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
  gpe_link_old_files "$gpe_jobs/$gpe_a"
  # it need not be there before the task begins
  gpe_dir=$gpe_jobs/$gpe_a/.gpe/tasks/$gpe_t
  [ -d "$gpe_jobs/$gpe_a" ]
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
