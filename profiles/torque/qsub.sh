gpe_submit_command='qsub'
submit_job() { # NAME=VALUE... SCRIPT: qsub prints the job's id
  drop_batch_variables
  set -f # a task is 12[3]
  [ -z "$gpe_after" ] || check_dependency
  gpe_nodes='' gpe_processes='' gpe_cpus='' gpe_memory='' gpe_walltime='' gpe_gpus=''
  gpe_constraint='' gpe_exclusive='' gpe_begin='' gpe_priority=''
  gpe_mail='' gpe_events='' gpe_rerun='' gpe_array=''
  read_values "$@"
  adapt_values
  # PBS's own output goes nowhere: the job script opens its files itself. Slurm's qsub heeds -o and
  # -e here only.
  set -- qsub -j oe -o /dev/null
  [ -z "$gpe_exclusive" ] || set -- "$@" -n
  [ -z "$gpe_begin" ] || set -- "$@" -a "$gpe_begin"
  [ -z "$gpe_priority" ] || set -- "$@" -p "$gpe_priority"
  [ -z "$gpe_mail" ] || set -- "$@" -m "${gpe_events:-ae}" -M "$gpe_mail"
  [ -z "$gpe_rerun" ] || set -- "$@" -r "$gpe_rerun"
  [ -z "$gpe_after" ] || set -- "$@" -W "depend=$(print_dependency)"
  [ -z "$gpe_array" ] || set -- "$@" -t "$gpe_array"
  gpe_resources=$(print_resources) || exit
  # one -l: of several, Slurm's qsub heeds the last
  [ -z "$gpe_resources" ] || set -- "$@" -l "$gpe_resources"
  exec "$@" "$gpe_script"
}
# Sets properties and features. Slurm's qsub has no -n and properties, and its own -a and -p. What
# it lacks, the job script asks of sbatch.
adapt_values() {
  if command -v qselect > /dev/null; then
    case $gpe_begin in *.) gpe_begin=${gpe_begin}00 ;; esac
    gpe_properties=${gpe_constraint:+:$gpe_constraint} gpe_features=
  else
    [ -z "$gpe_array" ] ||
      fail 1 "Slurm's qstat does not show the tasks of an array: use the profile slurm"
    gpe_exclusive='' gpe_begin=''
    [ -z "$gpe_priority" ] || gpe_priority=$((-gpe_priority))
    gpe_properties=''
    gpe_features=${gpe_constraint:+,proc=$(printf '%s\n' "$gpe_constraint" | tr : '&')}
  fi
}
print_resources() { # the value of qsub's option -l
  gpe_list=${gpe_walltime:+,walltime=$gpe_walltime}${gpe_memory:+,mem=${gpe_memory}mb}$gpe_features
  if [ -n "$gpe_nodes$gpe_processes$gpe_cpus$gpe_gpus$gpe_properties" ]; then
    check_processes
    gpe_list=,nodes=$gpe_nodes:ppn=$gpe_slots${gpe_gpus:+:gpus=$gpe_gpus}$gpe_properties$gpe_list
  fi
  printf '%s\n' "${gpe_list#,}"
}
print_dependency() { # Torque has other conditions for a whole array
  gpe_list='' gpe_condition=''
  for gpe_word in $(printf '%s\n' "$gpe_after" | tr ',:' '\n\n'); do
    case $gpe_word in
    after*) gpe_condition=$gpe_word ;;
    *'[]'*) gpe_list=$gpe_list,${gpe_condition}array:$gpe_word ;;
    *) gpe_list=$gpe_list,$gpe_condition:$gpe_word ;;
    esac
  done
  printf '%s\n' "${gpe_list#,}"
}
