if [ ! -s .gpe_job_id ]; then
  # a condition on a job that Slurm has forgotten, or never knew, counts for Slurm as one that holds
  gpe_refuse() { printf 'START: DEPENDENCY: %s\n' "$1" >&2; exit 1; }
  gpe_asked=''
  unset SQUEUE_ACCOUNT SQUEUE_LICENSES SQUEUE_NAMES SQUEUE_PARTITION SQUEUE_QOS SQUEUE_STATES SQUEUE_USERS SQUEUE_SORT
  for gpe_i in $(printf '%s\n' "$gpe_dependency" | tr ',:' '\n\n'); do
    case $gpe_i in after*) gpe_asked=$gpe_i; continue ;; esac
    gpe_known=$(squeue -h -t all ${SBATCH_CLUSTERS:+-M "$SBATCH_CLUSTERS"} -o %i -j "$gpe_i" 2>&1) || case $gpe_known in
    *'Invalid job id'*) ;;
    *) gpe_refuse "${gpe_known:-squeue failed}" ;;
    esac
    ! printf '%s\n' "$gpe_known" | grep -q '^[0-9]' || continue
    gpe_job_dir "$gpe_i" && [ -d "$gpe_dir" ] || gpe_refuse "$gpe_i is no job of this profile, nor known to Slurm"
    gpe_check_dependency "$gpe_asked:$gpe_i" || gpe_refuse "$gpe_asked:$gpe_i can never hold: Slurm has forgotten the job, and it left another end"
  done
fi
