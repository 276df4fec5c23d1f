# PROFILE[@CLUSTER]: Slurm's commands ask this cluster from now on, and squeue leaves out no job
# because of the user's own variables.
use_cluster() {
  case $1 in *@*) export SLURM_CLUSTERS="${1#*@}" ;; esac
  unset SQUEUE_ACCOUNT SQUEUE_LICENSES SQUEUE_NAMES SQUEUE_PARTITION SQUEUE_QOS SQUEUE_STATES
  unset SQUEUE_USERS SQUEUE_SORT
}
