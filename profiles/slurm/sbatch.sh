gpe_submit_command='sbatch' gpe_own_session=y
submit_job() { # sbatch OPTION... SCRIPT: prints the job's id
  drop_batch_variables
  case $gpe_profile in *@*)
    export SBATCH_CLUSTERS="${gpe_profile#*@}"
    unset SLURM_CLUSTERS
    ;;
  esac
  [ -z "$gpe_after" ] || check_dependency
  if [ -n "$gpe_in_session" ]; then "$@" 3>&3; else setsid "$@" 3>&3; fi
  gpe_rc=$?
  [ "$gpe_rc" -eq 0 ] || {
    explain_refusal
    return "$gpe_rc"
  }
  # ID;CLUSTER, or the sentence of another program called sbatch, which does not know --parsable
  while read -r gpe_line || [ -n "$gpe_line" ]; do
    case $gpe_line in
    *'Submitted batch job '*)
      gpe_line=${gpe_line##*Submitted batch job }
      printf '%s\n' "${gpe_line%%[!0-9]*}"
      ;;
    [0-9]*';'*) printf '%s\n' "${gpe_line%%;*}" ;;
    esac
  done < .gpe/answer
}
# Slurm's words for an option that has another name here. START has sbatch's errors in .gpe/error.
explain_refusal() {
  case $(cat .gpe/error) in
  *'generic resource'*) echo 'this is about --gpus and --gpu-type: sinfo -o %G lists GPUs' ;;
  *'Invalid account'*) echo 'this is about --project: sacctmgr show assoc lists yours' ;;
  *'nvalid partition'*) echo 'this is about --queue: sinfo -s lists the partitions' ;;
  esac >&2
}
# A condition on a job that Slurm has forgotten, or never knew, counts for Slurm as one that holds.
check_dependency() {
  gpe_asked=
  for gpe_word in $(printf '%s\n' "$gpe_after" | tr ',:' '\n\n'); do
    case $gpe_word in
    singleton) ;;
    after*) gpe_asked=$gpe_word ;;
    *) is_known "$gpe_word" || check_record "$gpe_word" ;;
    esac
  done
}
is_known() { # ID: does Slurm know this job?
  gpe_known=$(squeue -h -t all ${SBATCH_CLUSTERS:+-M "$SBATCH_CLUSTERS"} -o %i -j "$1" 2>&1) ||
    case $gpe_known in
    *'Invalid job id'*) ;;
    *) fail 1 "DEPENDENCY: ${gpe_known:-squeue failed}" ;;
    esac
  printf '%s\n' "$gpe_known" | grep -q '^[0-9]'
}
check_record() { # ID: the condition in asked must hold by what this job has left
  gpe_is_ours "$1" || fail 1 "DEPENDENCY: $1 is no job of this profile, nor known to Slurm"
  gpe_check_dependency "$gpe_asked:$1"
  case $? in
  1) fail 1 "DEPENDENCY: $gpe_asked:$1 can never hold: \
Slurm has forgotten the job, and it left another end" ;;
  2) fail 1 "DEPENDENCY: Slurm has forgotten $1, and its directory is not there now: \
is its file system?" ;;
  esac
}
