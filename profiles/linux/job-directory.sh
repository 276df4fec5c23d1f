# ID: sets gpe_dir to the link to the job's working directory, or to a task's directory in that of
# its array; false if there is none.
gpe_job_dir() {
  gpe_dir=$gpe_jobs/$1
  [ ! -d "$gpe_dir" ] || return 0
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
  gpe_dir=$gpe_jobs/$gpe_a/.gpe/tasks/$gpe_t
  [ -d "$gpe_jobs/$gpe_a" ]
}
