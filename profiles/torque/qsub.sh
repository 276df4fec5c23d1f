submit_command='qsub'
submit_job() { # NAME=VALUE... SCRIPT: qsub prints the job's id
  drop_batch_variables
  set -f # a task is 12[3]
  [ -z "$after" ] || check_dependency
  nodes='' processes='' cpus='' memory='' walltime='' gpus='' constraint='' exclusive='' begin=''
  priority='' mail='' events='' rerun='' array=''
  read_values "$@"
  adapt_values
  # PBS's own output goes nowhere: the job script opens its files itself. Slurm's qsub heeds -o and
  # -e here only.
  set -- qsub -j oe -o /dev/null
  [ -z "$exclusive" ] || set -- "$@" -n
  [ -z "$begin" ] || set -- "$@" -a "$begin"
  [ -z "$priority" ] || set -- "$@" -p "$priority"
  [ -z "$mail" ] || set -- "$@" -m "${events:-ae}" -M "$mail"
  [ -z "$rerun" ] || set -- "$@" -r "$rerun"
  [ -z "$after" ] || set -- "$@" -W "depend=$(print_dependency)"
  [ -z "$array" ] || set -- "$@" -t "$array"
  resources=$(print_resources) || exit
  # one -l: of several, Slurm's qsub heeds the last
  [ -z "$resources" ] || set -- "$@" -l "$resources"
  exec "$@" "$script"
}
# Sets properties and features. Slurm's qsub has no -n and properties, and its own -a and -p. What
# it lacks, the job script asks of sbatch.
adapt_values() {
  if command -v qselect > /dev/null; then
    case $begin in *.) begin=${begin}00 ;; esac
    properties=${constraint:+:$constraint} features=
  else
    [ -z "$array" ] ||
      fail 1 "Slurm's qstat does not show the tasks of an array: use the profile slurm"
    exclusive='' begin=''
    [ -z "$priority" ] || priority=$((-priority))
    properties='' features=${constraint:+,proc=$(printf '%s\n' "$constraint" | tr : '&')}
  fi
}
print_resources() { # the value of qsub's option -l
  list=${walltime:+,walltime=$walltime}${memory:+,mem=${memory}mb}$features
  if [ -n "$nodes$processes$cpus$gpus$properties" ]; then
    check_processes
    list=,nodes=$nodes:ppn=$slots${gpus:+:gpus=$gpus}$properties$list
  fi
  printf '%s\n' "${list#,}"
}
print_dependency() { # Torque has other conditions for a whole array
  list='' condition=''
  for word in $(printf '%s\n' "$after" | tr ',:' '\n\n'); do
    case $word in
    after*) condition=$word ;;
    *'[]'*) list=$list,${condition}array:$word ;;
    *) list=$list,$condition:$word ;;
    esac
  done
  printf '%s\n' "${list#,}"
}
