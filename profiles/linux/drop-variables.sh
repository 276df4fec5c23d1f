# Unsets the variables of the caller that would change the job, or what the batch system's commands
# do: sbatch takes options from SBATCH_..., squeue from SQUEUE_..., and so on; and the job would
# inherit those of a job that submits it. What says where the server is stays.
drop_batch_variables() {
  [ -z "${gpe_variables_dropped-}" ] || return 0
  case $(set) in # most callers have none of them, and start no awk
  *SBATCH_* | *SLURM* | *SRUN_* | *SQUEUE_* | *SCANCEL_* | *SACCT_* | *SINFO_* | *SSTAT_*) ;;
  *SCONTROL_*) ;;
  *PBS_* | *LSB_* | *BSUB_* | *SGE_* | *OAR_* | *FLUX_* | *HQ_* | *_CONDOR_* | *COBALT_*) ;;
  *LOADL_* | *MOAB_* | *PJM_* | *PMI* | *OMPI_* | *_VISIBLE_DEVICES*) ;;
  *) return 0 ;;
  esac
  gpe_own='SLURM_(CONF|CONF_SERVER|CLUSTERS|JWT)|PBS_(CONF_FILE|DEFAULT|EXEC|HOME|SERVER)'
  gpe_own="$gpe_own|SGE_(ARCH|CELL|CLUSTER_NAME|EXECD_PORT|QMASTER_PORT|ROOT)|HQ_SERVER_DIR"
  gpe_own="$gpe_own|COBALT_CONFIG_FILES|LOADL_CONFIG"
  # shellcheck disable=SC2046
  unset gpe_v $(GPE_KEPT=$gpe_own${gpe_keep:+|$gpe_keep} awk 'BEGIN {
    systems = "SBATCH|SLURM|SLURMD|SRUN|SQUEUE|SCANCEL|SACCT|SINFO|SSTAT|PBS|LSB|BSUB|SGE"
    systems = systems "|SCONTROL|OAR|HQ|COBALT|LOADL|MOAB|PJM|PMI|PMIX|OMPI_COMM"
    systems = systems "|FLUX_(JOB|TASK|KVS)|_CONDOR_(ANCESTOR|CHIRP|JOB|MACHINE|SCRATCH|WRAPPER)"
    others = "^((" systems ")_[A-Za-z0-9_]*|_CONDOR_(SLOT|AssignedGPUs)"
    others = others "|(CUDA|ROCR)_VISIBLE_DEVICES)$"
    kept = "^(" ENVIRON["GPE_KEPT"] ")$"
    for (name in ENVIRON) if (name ~ others && name !~ kept) print name
  }')
}
# WORDS of a command: do they prove that it has not even reached the batch system, which has taken
# nothing? A time-out, or an error while the request is sent or the answer is read, proves nothing.
gpe_is_away() {
  case $1 in
  *'onnection refused'* | *'(connect failure)'* | *'onnection to the server '*' was refused'*) ;;
  *[Cc]'annot connect'* | *'nable to connect'* | *'ailed to connect'*) ;;
  *'o online server found'* | *'LIM is down'*) ;;
  *) return 1 ;;
  esac
}
# What each program but submit.sh does first: the commands that it runs answer alike for everybody.
# What a job inherits is not touched.
set_up_commands() {
  gpe_keep=
  export LC_ALL=C
  unset BLOCK_SIZE LS_BLOCK_SIZE BLOCKSIZE QUOTING_STYLE TIME_STYLE POSIXLY_CORRECT GREP_OPTIONS
  drop_batch_variables
}
