find_job() { # by the command, which other jobs of this directory do not have
  case $profile in *@*) export SLURM_CLUSTERS="${profile#*@}" ;; esac
  unset SQUEUE_ACCOUNT SQUEUE_LICENSES SQUEUE_NAMES SQUEUE_PARTITION SQUEUE_QOS SQUEUE_STATES SQUEUE_USERS SQUEUE_SORT
  lines=$(squeue -h -u "$(id -u)" -o '%F|%Z|%o') || return
  real=$(pwd -P)
  printf '%s\n' "$lines" | while IFS= read -r line; do
    # the directory may have a | of its own
    case ${line#*|} in
    "$PWD|.gpe_job" | "$PWD|$PWD/.gpe_job" | "$real|.gpe_job" | "$real|$real/.gpe_job" | "$real|$PWD/.gpe_job")
      printf '%s\n' "${line%%|*}"
      break ;;
    esac
  done
}
