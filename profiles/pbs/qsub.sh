gpe_submit_command='qsub' gpe_own_session=y
submit_job() { # NAME=VALUE... SCRIPT: qsub prints the job's id
  drop_batch_variables
  [ -z "$gpe_after" ] || check_dependency
  gpe_nodes='' gpe_processes='' gpe_cpus='' gpe_memory='' gpe_gpus='' gpe_gpu_type=''
  gpe_gpu_type_resource='' gpe_constraint='' gpe_exclusive='' gpe_mail='' gpe_events=''
  gpe_select='' gpe_place='' gpe_alone=''
  read_values "$@"
  choose_chunks
  gpe_directives=$(read_directives) ||
    fail 1 "a directive of the job script (#PBS, from OPTIONS, EXTRA_DIRECTIVES or a field of \
the site) has a quote without its second one, or too many words"
  set -f
  IFS=$(printf '\037')
  case $gpe_directives in *["l,$IFS"]select=*) gpe_alone= ;; esac
  # qsub gets a program, with the directives as words: above a script PBS puts a login shell, which
  # a signal for the job would end.
  gpe_umask=$(umask) || exit
  # -f: no process of qsub stays behind and keeps the lock. The umask is before the directives,
  # which may have another one.
  # shellcheck disable=SC2086
  exec setsid qsub -W "umask=$gpe_umask" ${gpe_directives%"$IFS"} -f -j oe -o /dev/null \
    ${gpe_alone:+-l} $gpe_alone ${gpe_select:+-l} $gpe_select ${gpe_place:+-l} $gpe_place \
    ${gpe_mail:+-M} $gpe_mail ${gpe_mail:+-m} ${gpe_mail:+"${gpe_events:-ae}"} -- \
    /bin/sh -c "$gpe_starter" "${gpe_directory%/}/$gpe_script" 3>&3
}
read_directives() { # prints the words of the job script's directives, a unit separator behind each
  sed -n '/^[^#]/q; s/^#PBS//p' "$gpe_script" | xargs -x printf '%s\037' 2> /dev/null
}
# Sets select and place: a chunk a node; where the processes do not divide evenly, the first nodes
# run one more.
choose_chunks() {
  [ -z "$gpe_exclusive" ] || gpe_place=exclhost
  if [ -n "$gpe_nodes$gpe_processes$gpe_cpus$gpe_memory$gpe_gpus$gpe_constraint" ]; then
    check_processes
    gpe_more=$((gpe_processes % gpe_nodes))
    gpe_each=$((gpe_processes / gpe_nodes))
    [ "$gpe_more" -eq 0 ] || gpe_select=$(print_chunk "$gpe_more" "$((gpe_each + 1))")+
    gpe_select=select=$gpe_select$(print_chunk "$((gpe_nodes - gpe_more))" "$gpe_each")
    [ "$gpe_nodes" -eq 1 ] || gpe_place=scatter${gpe_place:+:$gpe_place}
  elif [ -n "$gpe_place" ]; then # qsub refuses a place without a select, which a directive may have
    gpe_alone=select=1:ncpus=1
  fi
  gpe_place=${gpe_place:+place=$gpe_place}
}
print_chunk() { # NODES PROCESSES
  gpe_chunk=$1:ncpus=$(($2 * gpe_cpus)):mpiprocs=$2:ompthreads=$gpe_cpus
  gpe_chunk=$gpe_chunk${gpe_memory:+:mem=${gpe_memory}mb}${gpe_gpus:+:ngpus=$gpe_gpus}
  [ -z "$gpe_gpus" ] || gpe_chunk=$gpe_chunk${gpe_gpu_type:+:$gpe_gpu_type_resource=$gpe_gpu_type}
  printf '%s\n' "$gpe_chunk${gpe_constraint:+:$gpe_constraint}"
}
