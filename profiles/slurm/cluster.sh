# PROFILE[@CLUSTER]: Slurm's commands ask this cluster from now on.
set_up_slurm() {
  case $1 in *@*) export SLURM_CLUSTERS="${1#*@}" ;; esac
}
