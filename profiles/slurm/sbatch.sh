submit_job() { # sbatch OPTION... SCRIPT: prints the job's id
  drop_variables
  case $profile in *@*)
    export SBATCH_CLUSTERS="${profile#*@}"
    unset SLURM_CLUSTERS
    ;;
  esac
  [ -z "$after" ] || check_dependency
  answer=$("$@")
  rc=$?
  case $answer in [0-9]*) answer=${answer%%;*} ;; esac # ID;CLUSTER
  [ -z "$answer" ] || printf '%s\n' "$answer"
  return "$rc"
}
check_dependency() { # a condition on a job that Slurm has forgotten, or never knew, counts for Slurm as one that holds
  asked=
  unset SQUEUE_ACCOUNT SQUEUE_LICENSES SQUEUE_NAMES SQUEUE_PARTITION SQUEUE_QOS SQUEUE_STATES SQUEUE_USERS SQUEUE_SORT
  for word in $(printf '%s\n' "$after" | tr ',:' '\n\n'); do
    case $word in after*)
      asked=$word
      continue
      ;;
    esac
    known=$(squeue -h -t all ${SBATCH_CLUSTERS:+-M "$SBATCH_CLUSTERS"} -o %i -j "$word" 2>&1) || case $known in
    *'Invalid job id'*) ;;
    *) fail 1 "DEPENDENCY: ${known:-squeue failed}" ;;
    esac
    ! printf '%s\n' "$known" | grep -q '^[0-9]' || continue
    gpe_job_dir "$word" && [ -d "$gpe_dir" ] || fail 1 "DEPENDENCY: $word is no job of this profile, nor known to Slurm"
    gpe_check_dependency "$asked:$word" ||
      fail 1 "DEPENDENCY: $asked:$word can never hold: Slurm has forgotten the job, and it left another end"
  done
}
