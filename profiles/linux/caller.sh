# sbatch takes options from SBATCH_..., and the job would inherit those of a job that submits it: neither is requested
# shellcheck disable=SC2046
unset gpe_v $(GPE_KEPT=$gpe_kept awk 'BEGIN {
  for (name in ENVIRON)
    if (name ~ /^((SBATCH|SLURM|SLURMD|SRUN|PBS|LSB|SGE|PMI|PMIX|OMPI_COMM)_[A-Za-z0-9_]*|CUDA_VISIBLE_DEVICES|ROCR_VISIBLE_DEVICES)$/ &&
      name !~ "^(" ENVIRON["GPE_KEPT"] ")$") print name
}')
