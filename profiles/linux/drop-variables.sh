# Unsets the variables of the caller that would change the job: sbatch takes options from
# SBATCH_..., and the job would inherit those of a job that submits it.
drop_batch_variables() {
  case $(set) in
  *SBATCH_* | *SLURM* | *SRUN_* | *PBS_* | *LSB_* | *SGE_*) ;;
  *PMI* | *OMPI_* | *_VISIBLE_DEVICES*) ;;
  *) return 0 ;;
  esac
  own='SLURM_(CONF|CLUSTERS)|PBS_(CONF_FILE|DEFAULT|EXEC|HOME|SERVER)'
  own="$own|SGE_(ARCH|CELL|CLUSTER_NAME|EXECD_PORT|QMASTER_PORT|ROOT)"
  # shellcheck disable=SC2046
  unset gpe_v $(GPE_KEPT=$own${keep:+|$keep} awk 'BEGIN {
    systems = "SBATCH|SLURM|SLURMD|SRUN|PBS|LSB|SGE|PMI|PMIX|OMPI_COMM"
    others = "^((" systems ")_[A-Za-z0-9_]*|(CUDA|ROCR)_VISIBLE_DEVICES)$"
    kept = "^(" ENVIRON["GPE_KEPT"] ")$"
    for (name in ENVIRON) if (name ~ others && name !~ kept) print name
  }')
}
