gpe_print_nodes() {
  if [ -n "${PBS_NODEFILE:-}" ]; then
    cat -- "$PBS_NODEFILE"
  else
    scontrol show hostnames "$SLURM_JOB_NODELIST" |
      awk -v n="${SLURM_NTASKS:-$SLURM_NNODES}" -v nodes="$SLURM_NNODES" '{
        for (i = n / nodes; i > 0; i--) print
      }'
  fi | awk -v n="${GPE_CPUS:-1}" 'NR % n == 0'
}
