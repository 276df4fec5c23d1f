gpe_submit_directory=PBS_O_WORKDIR
gpe_set_id() { # a task's is 12[3].server, that of the array 12[].server
  gpe_id=${PBS_JOBID:-}
  [ -n "${gpe_array:-}" ] || return 0
  gpe_task=${PBS_ARRAY_INDEX:-}
  gpe_task_id=$gpe_id
  gpe_id=${gpe_id%%\[*}[]${gpe_id#*]}
}
gpe_print_nodes() { # the file has a line for each of a chunk's mpiprocs
  cat -- "$PBS_NODEFILE"
}
