# PROFILE[@CLUSTER]: Slurm's commands ask this cluster from now on, without what the user has set.
set_up_slurm() {
  case $1 in *@*) export SLURM_CLUSTERS="${1#*@}" ;; esac
  drop_squeue_variables
}
drop_squeue_variables() { # the user's own, because of which squeue leaves out jobs
  unset SQUEUE_ACCOUNT SQUEUE_LICENSES SQUEUE_NAMES SQUEUE_PARTITION SQUEUE_QOS SQUEUE_STATES
  unset SQUEUE_USERS SQUEUE_SORT
}
