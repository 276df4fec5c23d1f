submit_command='qsub'
submit_job() { # NAME=VALUE... SCRIPT: prints the job's id; of an array, without its tasks
  drop_batch_variables
  nodes='' processes='' cpus='' pe='' pe_nodes='' memory='' memory_resource='' memory_per=''
  gpus='' gpu_resource='' gpu_per='' begin='' mail='' events='' array=''
  read_values "$@"
  check_processes
  [ -z "$array" ] || make_task_directories
  hold=
  [ -z "$after" ] || hold=$(print_hold) || exit
  # Grid Engine's own output goes nowhere: the job script opens its files itself. The rest is here
  # and not left out, because sge_request files of the site and of the user may say otherwise.
  set -- qsub -terse -b n -now n -C '#$' -j y -o /dev/null
  if [ "$nodes" -gt 1 ]; then
    [ -n "$pe_nodes" ] ||
      fail 1 "a job on $nodes nodes needs a parallel environment: the field PE_NODES is empty"
    case $pe_nodes in *%*) pe_nodes=${pe_nodes%%%*}$slots${pe_nodes#*%} ;; esac
    set -- "$@" -pe "$pe_nodes" "$((slots * nodes))"
  elif [ "$slots" -gt 1 ]; then
    [ -n "$pe" ] ||
      fail 1 "a job that takes $slots slots needs a parallel environment: the field PE is empty"
    set -- "$@" -pe "$pe" "$slots"
  fi
  request_resources "$@"
}
request_resources() { # QSUB WORD...: adds the rest, and runs it
  [ "$memory_per" != slot ] || memory=$(((memory + slots - 1) / slots))
  [ -z "$memory" ] || set -- "$@" -l "$memory_resource=${memory}M"
  if [ "$gpu_per" = slot ]; then
    [ "$((gpus % slots))" -eq 0 ] ||
      fail 1 "GPUS: $slots slots on each node cannot share $gpus GPUs evenly"
    gpus=$((gpus / slots))
  fi
  [ -z "$gpus" ] || set -- "$@" -l "$gpu_resource=$gpus"
  [ -z "$begin" ] || set -- "$@" -a "${begin%.}"
  [ -z "$mail" ] || set -- "$@" -M "$mail" -m "${events:-ea}"
  case $array in *%*) set -- "$@" -tc "${array#*%}" ;; esac
  answer=$("$@" ${hold:+-hold_jid "$hold"} "$script")
  rc=$?
  [ -z "$array" ] || [ "$rc" -ne 0 ] || answer=${answer%.*} # 12.1-9:2
  printf '%s\n' "$answer"
  return "$rc"
}
make_task_directories() { # also of a task that is deleted before it begins
  gpe_array=$array
  # qsub would exchange them
  indices=$(gpe_print_indices) || fail 1 "ARRAY: ${array%%%*} ends before it begins"
  (
    umask 077
    # shellcheck disable=SC2086
    printf '.gpe/tasks/%s/.gpe\n' $indices | xargs mkdir -p --
  ) || exit 73
}
# The numbers of the jobs in DEPENDENCY, which must be of this profile: qsub takes any number.
print_hold() {
  list=
  for word in $(printf '%s\n' "$after" | tr ',:' '\n\n'); do
    case $word in after*) continue ;; esac
    gpe_is_ours "$word" ||
      fail 1 "DEPENDENCY names $word, which is no job of this profile"
    list=$list${list:+,}${word%.*} # a task is waited for with its array
  done
  printf '%s\n' "$list"
}
