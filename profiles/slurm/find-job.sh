gpe_d='<WORKING_DIRECTORY/'/'\\''>' gpe_profile='<PROFILE_NAME/'/'\\''>' gpe_id_pattern='<JOB_ID_PATTERN/'/'\\''>'
gpe_find() {
  unset SQUEUE_ACCOUNT SQUEUE_LICENSES SQUEUE_NAMES SQUEUE_PARTITION SQUEUE_QOS SQUEUE_STATES SQUEUE_USERS SQUEUE_SORT
  gpe_jobs=$(squeue -h -u "$(id -u)" -o '%A|%o') || return
  printf '%s\n' "$gpe_jobs" | while IFS='|' read -r gpe_id gpe_command; do
    case $gpe_command in "$PWD/.gpe_job" | "$(pwd -P)/.gpe_job") printf '%s\n' "$gpe_id"; break ;; esac
  done
}
<SH_ENTER>
<SH_FIND_JOB>
