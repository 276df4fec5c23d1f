case $1 in *@*) export SLURM_CLUSTERS="${1#*@}" ;; esac
