gpe_is_away() { # oarsub enters a job in the database first, and has told its id then
  case $1 in *OAR_JOB_ID=*) return 1 ;; *'DBI connect('*) ;; *) return 1 ;; esac
}
gpe_submit() { # SCRIPT WORD...
  gpe_script=$1 gpe_array='' gpe_nodes='' gpe_processes='' gpe_cpus='' gpe_gpus=''
  gpe_walltime='' gpe_after='' gpe_constraint='' gpe_words=''
  shift
  for gpe_word in "$@"; do
    case $gpe_word in
    ARRAY=*) gpe_array=${gpe_word#*=1-} ;;
    NODES=*) gpe_nodes=${gpe_word#*=} ;;
    PROCESSES=*) gpe_processes=${gpe_word#*=} ;;
    CPUS=*) gpe_cpus=${gpe_word#*=} ;;
    GPUS=*) gpe_gpus=${gpe_word#*=} ;;
    WALLTIME=*) gpe_walltime=${gpe_word#*=} ;;
    CONSTRAINT=*) gpe_constraint=$(printf '%s\n' "${gpe_word#*=}" | gpe_read_constraint) ;;
    DEPENDENCY=*) gpe_after=${gpe_word#*=} ;;
    *) gpe_words="$gpe_words $gpe_word" ;;
    esac
  done
  for gpe_id in $(printf '%s\n' "$gpe_after" | tr -cs 0-9 ' '); do
    gpe_after=$(gpe_query_dependency "$gpe_id") || return
    for gpe_job in $gpe_after; do gpe_words="$gpe_words -a $gpe_job"; done
  done
  if [ -n "$gpe_array" ] && [ -n "$gpe_after" ]; then
    echo "OAR lets only the last task of an array wait: leave out ARRAY or DEPENDENCY" >&2
    return 1
  fi
  gpe_need=$(gpe_print_resources)
  # -d: a quote in its name ends the job, and OAR suspects the node; gpe_query knows --array here
  # shellcheck disable=SC2086
  oarsub ${gpe_array:+--array "$gpe_array"} -d / -O /dev/null -E /dev/null \
    ${gpe_need:+-l "$gpe_need"} ${gpe_constraint:+-p "$gpe_constraint"} $gpe_words \
    "$(gpe_print_starter "$PWD/$gpe_script")" 2>&1
}
gpe_query_dependency() { # ID: prints OAR's own ids of the job and its tasks
  gpe_others=$(gpe_query job --sql "array_id = $1") || return
  [ -n "$gpe_others" ] || { echo "DEPENDENCY: OAR does not know the job $1" >&2 && return 1; }
  printf '%s\n' "$gpe_others"
}
gpe_print_resources() {
  [ -z "$gpe_processes$gpe_cpus$gpe_gpus" ] || gpe_nodes=${gpe_nodes:-1}
  gpe_n=${gpe_nodes:-1}
  gpe_slots=$(((${gpe_processes:-$gpe_n} + gpe_n - 1) / gpe_n * ${gpe_cpus:-1}))
  [ -z "$gpe_gpus" ] || gpe_slots=$(((gpe_slots + gpe_gpus - 1) / gpe_gpus)) # for each GPU
  [ -n "$gpe_processes$gpe_cpus" ] || gpe_slots=
  gpe_need="${gpe_nodes:+nodes=$gpe_nodes}${gpe_gpus:+/gpu=$gpe_gpus}${gpe_slots:+/core=$gpe_slots}"
  printf '%s\n' "$gpe_need${gpe_need:+${gpe_walltime:+,}}${gpe_walltime:+walltime=$gpe_walltime}"
}
gpe_read_constraint() { # a value of SQL is quoted, even a number
  sed "s/\([=<>]\)\([A-Za-z0-9_.:+-][A-Za-z0-9_.:+-]*\)/\1'\2'/g; s/&&*/ AND /g; s/||*/ OR /g"
}
gpe_read_id() { sed -n 's/^OAR_JOB_ID=\([1-9][0-9]*\)$/\1/p' | head -n 1; }
# shellcheck disable=SC2034  # job.sh has it
gpe_submit_directory='OAR_WORKDIR OAR_WORKING_DIRECTORY'
