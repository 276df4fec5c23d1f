gpe_set_id() { # sets gpe_id, and of a task of an array gpe_task and gpe_task_id
  gpe_id=${SLURM_JOB_ID:-}
  [ -n "${gpe_array:-}" ] || return 0
  gpe_id=${SLURM_ARRAY_JOB_ID:-} gpe_task=${SLURM_ARRAY_TASK_ID:-}
  gpe_task_id=${gpe_id}_$gpe_task
}
