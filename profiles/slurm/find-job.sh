<CLUSTER/(?s)^(.+)\z/export SLURM_CLUSTERS='$1'; >gpe_d='<WORKING_DIRECTORY/'/'\\''>' gpe_profile='<PROFILE_NAME/'/'\\''>'<CLUSTER/(?s)^(.+)\z/@$1> gpe_id_pattern='<JOB_ID_PATTERN/'/'\\''>'
gpe_find() {
  unset SQUEUE_ACCOUNT SQUEUE_LICENSES SQUEUE_NAMES SQUEUE_PARTITION SQUEUE_QOS SQUEUE_STATES SQUEUE_USERS SQUEUE_SORT
  gpe_lines=$(squeue -h -u "$(id -u)" -o '%F|%Z|%o') || return
  gpe_real=$(pwd -P)
  printf '%s\n' "$gpe_lines" | while IFS= read -r gpe_line; do
    # the directory may hold a | of its own; other jobs of this directory have another command
    case ${gpe_line#*|} in
    "$PWD|.gpe_job" | "$PWD|$PWD/.gpe_job" | "$gpe_real|.gpe_job" | "$gpe_real|$gpe_real/.gpe_job" | "$gpe_real|$PWD/.gpe_job")
      printf '%s\n' "${gpe_line%%|*}"
      break ;;
    esac
  done
}
<SH_ENTER>
<SH_FIND_JOB>
