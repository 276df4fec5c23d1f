gpe_submit_command='qsub'
submit_job() { # NAME=VALUE... SCRIPT: prints the job's id; of an array, without its tasks
  drop_batch_variables
  gpe_nodes='' gpe_processes='' gpe_cpus='' gpe_pe='' gpe_pe_nodes='' gpe_memory=''
  gpe_memory_resource='' gpe_memory_per='' gpe_gpus='' gpe_gpu_resource='' gpe_gpu_per=''
  gpe_begin='' gpe_mail='' gpe_events='' gpe_array=''
  read_values "$@"
  check_processes
  [ -z "$gpe_array" ] || make_task_directories
  gpe_hold=
  [ -z "$gpe_after" ] || gpe_hold=$(print_hold) || exit
  # Grid Engine's own output goes nowhere: the job script opens its files itself. The rest is here
  # and not left out, because sge_request files of the site and of the user may say otherwise.
  set -- qsub -terse -b n -now n -C '#$' -j y -o /dev/null
  if [ "$gpe_nodes" -gt 1 ]; then
    [ -n "$gpe_pe_nodes" ] ||
      fail 1 "a job on $gpe_nodes nodes needs a parallel environment: the field PE_NODES is empty"
    case $gpe_pe_nodes in *%*) gpe_pe_nodes=${gpe_pe_nodes%%%*}$gpe_slots${gpe_pe_nodes#*%} ;; esac
    set -- "$@" -pe "$gpe_pe_nodes" "$((gpe_slots * gpe_nodes))"
  elif [ "$gpe_slots" -gt 1 ]; then
    [ -n "$gpe_pe" ] ||
      fail 1 "a job that takes $gpe_slots slots needs a parallel environment: the field PE is empty"
    set -- "$@" -pe "$gpe_pe" "$gpe_slots"
  fi
  request_resources "$@"
}
request_resources() { # QSUB WORD...: adds the rest, and runs it
  [ "$gpe_memory_per" != slot ] || gpe_memory=$(((gpe_memory + gpe_slots - 1) / gpe_slots))
  [ -z "$gpe_memory" ] || set -- "$@" -l "$gpe_memory_resource=${gpe_memory}M"
  if [ "$gpe_gpu_per" = slot ]; then
    [ "$((gpe_gpus % gpe_slots))" -eq 0 ] ||
      fail 1 "GPUS: $gpe_slots slots on each node cannot share $gpe_gpus GPUs evenly"
    gpe_gpus=$((gpe_gpus / gpe_slots))
  fi
  [ -z "$gpe_gpus" ] || set -- "$@" -l "$gpe_gpu_resource=$gpe_gpus"
  [ -z "$gpe_begin" ] || set -- "$@" -a "${gpe_begin%.}"
  [ -z "$gpe_mail" ] || set -- "$@" -M "$gpe_mail" -m "${gpe_events:-ea}"
  case $gpe_array in *%*) set -- "$@" -tc "${gpe_array#*%}" ;; esac
  gpe_answer=$("$@" ${gpe_hold:+-hold_jid "$gpe_hold"} "$gpe_script")
  gpe_rc=$?
  [ -z "$gpe_array" ] || [ "$gpe_rc" -ne 0 ] || gpe_answer=${gpe_answer%.*} # 12.1-9:2
  printf '%s\n' "$gpe_answer"
  return "$gpe_rc"
}
make_task_directories() { # also of a task that is deleted before it begins
  # qsub would exchange them
  gpe_indices=$(gpe_print_indices) || fail 1 "ARRAY: ${gpe_array%%%*} ends before it begins"
  (
    umask 077
    # shellcheck disable=SC2086
    printf '.gpe/tasks/%s/.gpe\n' $gpe_indices | xargs mkdir -p --
  ) || exit 73
}
# The numbers of the jobs in DEPENDENCY, which must be of this profile: qsub takes any number.
print_hold() {
  gpe_list=
  for gpe_word in $(printf '%s\n' "$gpe_after" | tr ',:' '\n\n'); do
    case $gpe_word in after*) continue ;; esac
    gpe_is_ours "$gpe_word" ||
      fail 1 "DEPENDENCY names $gpe_word, which is no job of this profile"
    gpe_list=$gpe_list${gpe_list:+,}${gpe_word%.*} # a task is waited for with its array
  done
  printf '%s\n' "$gpe_list"
}
