gpe_submit_directory="PBS_O_WORKDIR${SLURM_JOB_ID:+ SLURM_SUBMIT_DIR}"
gpe_set_id() { # a task's is 12[3].server, that of the array 12[].server
  gpe_id=${SLURM_JOB_ID:-${PBS_JOBID:-}}
  [ -n "${gpe_array:-}" ] || return 0
  gpe_task=${PBS_ARRAYID:-}
  gpe_task_id=$gpe_id
  gpe_id=${gpe_id%%\[*}[]${gpe_id#*]}
}
