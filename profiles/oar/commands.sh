gpe_is_away() { # oarsub enters a job in the database first, and has told its id then
  case $1 in *OAR_JOB_ID=*) return 1 ;; *'DBI connect('*) ;; *) return 1 ;; esac
}
gpe_submit() { # SCRIPT WORD...
  gpe_script=$1 array='' nodes='' processes='' cpus='' gpus='' walltime='' after='' constraint=''
  words=''
  shift
  for word in "$@"; do
    case $word in
    ARRAY=*) array=${word#*=1-} ;;
    NODES=*) nodes=${word#*=} ;;
    PROCESSES=*) processes=${word#*=} ;;
    CPUS=*) cpus=${word#*=} ;;
    GPUS=*) gpus=${word#*=} ;;
    WALLTIME=*) walltime=${word#*=} ;;
    CONSTRAINT=*) constraint=$(printf '%s\n' "${word#*=}" | gpe_read_constraint) ;;
    DEPENDENCY=*) after=${word#*=} ;;
    *) words="$words $word" ;;
    esac
  done
  for id in $(printf '%s\n' "$after" | tr -cs 0-9 ' '); do
    after=$(gpe_query_dependency "$id") || return
    for job in $after; do words="$words -a $job"; done
  done
  if [ -n "$array" ] && [ -n "$after" ]; then
    echo "OAR lets only the last task of an array wait: leave out ARRAY or DEPENDENCY" >&2
    return 1
  fi
  need=$(gpe_print_resources)
  # -d: a quote in its name ends the job, and OAR suspects the node; gpe_query knows --array here
  # shellcheck disable=SC2086
  oarsub ${array:+--array "$array"} -d / -O /dev/null -E /dev/null ${need:+-l "$need"} \
    ${constraint:+-p "$constraint"} $words "$(gpe_print_starter "$PWD/$gpe_script")" 2>&1
}
gpe_query_dependency() { # ID: prints OAR's own ids of the job and its tasks
  gpe_others=$(gpe_query job --sql "array_id = $1") || return
  [ -n "$gpe_others" ] || { echo "DEPENDENCY: OAR does not know the job $1" >&2 && return 1; }
  printf '%s\n' "$gpe_others"
}
gpe_print_resources() {
  [ -z "$processes$cpus$gpus" ] || nodes=${nodes:-1}
  slots=$(((${processes:-${nodes:-1}} + ${nodes:-1} - 1) / ${nodes:-1} * ${cpus:-1}))
  [ -z "$gpus" ] || slots=$(((slots + gpus - 1) / gpus)) # for each GPU
  [ -n "$processes$cpus" ] || slots=
  need="${nodes:+nodes=$nodes}${gpus:+/gpu=$gpus}${slots:+/core=$slots}"
  printf '%s\n' "$need${need:+${walltime:+,}}${walltime:+walltime=$walltime}"
}
gpe_read_constraint() { # a value of SQL is quoted, even a number
  sed "s/\([=<>]\)\([A-Za-z0-9_.:+-][A-Za-z0-9_.:+-]*\)/\1'\2'/g; s/&&*/ AND /g; s/||*/ OR /g"
}
gpe_read_id() { sed -n 's/^OAR_JOB_ID=\([1-9][0-9]*\)$/\1/p' | head -n 1; }
# shellcheck disable=SC2034  # job.sh has it
gpe_submit_directory='OAR_WORKDIR OAR_WORKING_DIRECTORY'
