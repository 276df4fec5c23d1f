submit_command='qsub' own_session=y
submit_job() { # NAME=VALUE... SCRIPT: qsub prints the job's id
  drop_batch_variables
  [ -z "$after" ] || check_dependency
  nodes='' processes='' cpus='' memory='' gpus='' gpu_type='' gpu_type_resource='' constraint=''
  exclusive='' mail='' events='' select='' place='' alone=''
  read_values "$@"
  choose_chunks
  directives=$(read_directives) ||
    fail 1 "a directive of the job script (#PBS, from OPTIONS, EXTRA_DIRECTIVES or a field of \
the site) has a quote without its second one, or too many words"
  set -f
  IFS=$(printf '\037')
  case $directives in *["l,$IFS"]select=*) alone= ;; esac
  # qsub gets a program, with the directives as words: above a script PBS puts a login shell, which
  # a signal for the job would end.
  umask=$(umask) || exit
  # -f: no process of qsub stays behind and keeps the lock. The umask is before the directives,
  # which may have another one.
  # shellcheck disable=SC2086
  exec setsid qsub -W "umask=$umask" ${directives%"$IFS"} -f -j oe -o /dev/null \
    ${alone:+-l} $alone ${select:+-l} $select ${place:+-l} $place \
    ${mail:+-M} $mail ${mail:+-m} ${mail:+"${events:-ae}"} -- \
    /bin/sh -c "$gpe_starter" "${directory%/}/$script" 3>&3
}
read_directives() { # prints the words of the job script's directives, a unit separator behind each
  sed -n '/^[^#]/q; s/^#PBS//p' "$script" | xargs -x printf '%s\037' 2> /dev/null
}
# Sets select and place: a chunk a node; where the processes do not divide evenly, the first nodes
# run one more.
choose_chunks() {
  [ -z "$exclusive" ] || place=exclhost
  if [ -n "$nodes$processes$cpus$memory$gpus$constraint" ]; then
    check_processes
    more=$((processes % nodes))
    [ "$more" -eq 0 ] || select=$(print_chunk "$more" "$((processes / nodes + 1))")+
    select=select=$select$(print_chunk "$((nodes - more))" "$((processes / nodes))")
    [ "$nodes" -eq 1 ] || place=scatter${place:+:$place}
  elif [ -n "$place" ]; then # qsub refuses a place without a select, which a directive may have
    alone=select=1:ncpus=1
  fi
  place=${place:+place=$place}
}
print_chunk() { # NODES PROCESSES
  chunk=$1:ncpus=$(($2 * cpus)):mpiprocs=$2:ompthreads=$cpus${memory:+:mem=${memory}mb}
  chunk=$chunk${gpus:+:ngpus=$gpus${gpu_type:+:$gpu_type_resource=$gpu_type}}
  printf '%s\n' "$chunk${constraint:+:$constraint}"
}
