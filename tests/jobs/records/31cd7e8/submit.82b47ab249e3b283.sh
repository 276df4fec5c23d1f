# submit.sh OPTION... COMMAND [WORD...]: submits the job script that it reads, once for its working
# directory, and prints the job's id. Repeated in the same directory, it submits nothing and prints
# the same id. Its messages name what it does START, and what find-job.sh does FIND_JOB.
#   --profile NAME --directory PATH --id-pattern ERE
#   --job FILE            the functions of the job script, of which the directory gets a copy
#   --keep ERE            names of variables that the job inherits, though they are of another job
#   --after CONDITIONS    the conditions on other jobs, to check them
#   --not-before TIME     the earliest start, to check it
# Exit status 73: nothing was done. 75: nobody knows whether there is a job. Any other but 0: the
# command has failed. After all but 73, find-job.sh finds out whether there is a job all the same,
# and then this can be repeated.
# In the folder .gpe of the directory it leaves, in this order: lock; submitting, the mark of a
# submission that has begun; job.sh and script; answer and error, which have what COMMAND printed
# when it has ended; id, which the job writes too as it begins. Last it makes the link
# ~/.gpe/jobs/PROFILE/ID. If COMMAND fails, or this is killed between the mark and the id, it
# submits nothing when it is repeated (75), until find-job.sh has found the job, or has taken the
# mark away. main calls submit_once under the lock, that run_submission, and that submit_in_session
# in a session of its own; submit_job, the profile's own, calls the batch system.
submit_command=
# COMMAND...; submit_command names the batch system's own, to say early that this machine has none.
main() {
  if [ -n "$in_session" ]; then
    submit_in_session "$@"
    exit
  fi
  [ -z "$submit_command" ] || command -v "$submit_command" > /dev/null ||
    fail 73 "there is no $submit_command on $(uname -n): submit from a machine of the batch system"
  drop_gpe_variables
  enter_directory
  # a job that was given up writes its id, sees no mark, and removes its id again
  [ ! -s .gpe/id ] || [ -e .gpe/submitting ] || sleep 0.2
  if [ ! -s .gpe/id ]; then
    submit_once "$@"
  elif ! LC_ALL=C grep -qEx -e "$id_pattern" .gpe/id; then
    fail 1 "$directory/.gpe/id does not contain a job id"
  fi
  print_id
}
# Unsets the variables of a job that runs this program, as the new job is no part of it, and those
# that the functions of a job script use.
drop_gpe_variables() {
  unset GPE_JOB_ID GPE_ARRAY_ID GPE_ARRAY_INDEX GPE_NODE_FILE
  unset gpe_id gpe_task gpe_task_id gpe_array gpe_nodes gpe_queue gpe_project gpe_cputime
  unset gpe_dependency gpe_start_time gpe_profile gpe_begin gpe_enter gpe_end gpe_exit
  unset gpe_run_tasks gpe_container gpe_container_command gpe_processes gpe_tmp gpe_watch
  unset gpe_enlisting gpe_lives gpe_tell
}
fail() { # STATUS MESSAGE
  printf 'START: %s\n' "$2" >&2
  exit "$1"
}
# COMMAND...: returns when .gpe/id has the id of this job, or of one that was submitted meanwhile.
submit_once() {
  # one submission at a time; 3>&3, as ksh closes 3 in a command unless it is redirected explicitly
  command exec 3> .gpe/lock && flock 3 3>&3 || exit 73
  rc=75
  if [ ! -s .gpe/id ] && make_mark; then
    if ! write_script; then
      rm -f .gpe/submitting
      exit 73
    fi
    run_submission "$@"
    rc=$?
  fi
  [ ! -s .gpe/error ] || cat .gpe/error >&2
  if [ ! -s .gpe/id ]; then
    # 126, 127: setsid cannot be run. Else a command that has failed says why; without a word, it
    # was killed. find-job.sh settles both.
    case $rc in
    75) ;;
    126 | 127) exit "$rc" ;;
    *) [ ! -s .gpe/error ] || exit "$rc" ;;
    esac
    fail 75 "whether a job was submitted in $directory is not known: FIND_JOB finds out, \
then START can be repeated"
  fi
  exec 3>&-
}
# Makes the mark: from here on, only FIND_JOB can tell whether there is a job. It stays after
# success, too: a job of this directory without it runs nothing. False if there is one already.
make_mark() {
  set -C
  { printf '' > .gpe/submitting; } 2> /dev/null
  made=$?
  set +C
  [ "$made" -eq 0 ] || [ -e .gpe/submitting ] || fail 73 "cannot write in $directory"
  return "$made"
}
# Copies the functions of the job and the script that is read, with one program. The script's last
# line shows that it is whole: what writes it may be killed.
write_script() {
  last_line=$(umask 077 && LC_ALL=C awk '
BEGIN { printf "" > ".gpe/job.sh" }
FILENAME == ARGV[1] { print > ".gpe/job.sh"; next }
{ print > ".gpe/script" }
END { print }' "${job:-/dev/null}" -) || return
  case $last_line in
  gpe_end_job | '# end of the job script') ;; # or the site's own last line
  *)
    echo 'START: the job script has no end' >&2
    return 1
    ;;
  esac
  [ ! -e .gpe/tasks ] && [ ! -e .gpe/waiting ] || rm -rf .gpe/tasks .gpe/waiting
  # If there is no room for these, nothing is submitted. The byte is overwritten by the id; it shows
  # a full disk where awk, as that of busybox, does not.
  printf '' > .gpe/answer && printf '' > .gpe/error || return
  printf '0' > .gpe/id.told && [ -s .gpe/script ]
}
# COMMAND...: in a session of its own, so that what ends this shell does not cut it off; a job of
# this machine makes its own.
run_submission() {
  if [ "$1" = start_session ]; then
    (submit_in_session "$@") < /dev/null
  else
    setsid sh "$program" --in-session y --profile "$profile" --directory "$directory" \
      --id-pattern "$id_pattern" --keep "$keep" --after "$after" --not-before "$not_before" \
      "$@" < /dev/null 3>&3
  fi
}
submit_in_session() { # COMMAND...: leaves the id in .gpe/id, or the reason in .gpe/error
  (
    check_start_time && submit_job "$@" .gpe/script
  ) > .gpe/answer 2> .gpe/error
  rc=$?
  if [ "$rc" -ne 0 ]; then
    sed '/^$/d' .gpe/answer >> .gpe/error
    [ -s .gpe/error ] || echo "the submission failed ($rc)" > .gpe/error
    case $rc in 73 | 75) rc=1 ;; esac # these have a meaning of their own
    exit "$rc"
  fi
  [ ! -s .gpe/id ] || exit 0 # the job itself has written it
  last_line=
  while read -r line || [ -n "$line" ]; do last_line=$line; done < .gpe/answer
  if ! LC_ALL=C grep -Ex -e "$id_pattern" > .gpe/id.told << END
$last_line
END
  then
    {
      echo 'the batch system answered without a job id:'
      sed '/^$/d' .gpe/answer
    } | tee .gpe/submitting >> .gpe/error
    exit 75
  fi
  # the first to write the id decides: this, or the job itself; mv is for file systems without links
  ln .gpe/id.told .gpe/id 2> /dev/null || [ -s .gpe/id ] || mv .gpe/id.told .gpe/id || exit 75
}
# Some batch systems take a day that no month has, as 2027-02-30, for another one.
check_start_time() {
  [ -z "$not_before" ] || date -d "${not_before%T*} ${not_before#*T}" > /dev/null 2>&1 ||
    fail 1 "START_TIME $not_before is no time that exists here"
}
print_id() { # and makes the link by which the other programs find the directory
  read -r id < .gpe/id
  case $id in
  '' | */* | .*) ;;
  *)
    if ln -sfn -- "$directory" "$gpe_jobs/$id"; then
      printf '%s\n' "$id"
      return
    fi
    ;;
  esac
  fail 1 "$directory has the job $id, but the link to it cannot be created: START can be repeated"
}
# Makes the working directory, if there is none, and refuses one that others could change; exit
# status 73: nothing was done.
enter_directory() {
  (umask 077 && mkdir -p -- "$gpe_jobs" "$directory/.gpe") && cd -- "$directory" || exit 73
  # As sshd's StrictModes: nobody else may be able to replace the directory, or anything that its
  # path leads through. namei prints MODE OWNER NAME of each: a link is safe, and what neither group
  # nor others can write to, and what has the sticky bit; the owner must be root or path_owner, who
  # is the first other owner. That this is who runs the program is checked last, by -O.
  path=$(LC_ALL=C namei -mo -- "$directory")
  path_owner='' unsafe='' entry=''
  [ ! -O / ] || path_owner=root
  while read -r mode owner rest; do
    case $mode in '' | f:) continue ;; esac
    entry="$mode $owner $rest"
    case $owner in root | "${path_owner:=$owner}") ;; *) mode=unsafe ;; esac
    # a link; no w for the group and for others; a sticky bit
    case $mode in l* | ?????-??-? | ?????????[tT]) ;; *) unsafe="$unsafe$entry, " ;; esac
  done << END
$path
END
  case $entry in
  d????-??-?' '*) [ -O . ] || unsafe=$entry ;;
  *) unsafe=${entry:-namei failed} ;;
  esac
  [ -z "$unsafe" ] || fail 73 \
    "$directory is not a safe directory for a job, because others can change this: ${unsafe%, }"
}
# Unsets the variables of the caller that would change the job: sbatch takes options from
# SBATCH_..., and the job would inherit those of a job that submits it.
drop_batch_variables() {
  case $(set) in
  *SBATCH_* | *SLURM* | *SRUN_* | *PBS_* | *LSB_* | *SGE_*) ;;
  *PMI* | *OMPI_* | *_VISIBLE_DEVICES*) ;;
  *) return 0 ;;
  esac
  own='SLURM_(CONF|CLUSTERS)|PBS_(CONF_FILE|DEFAULT|EXEC|HOME|SERVER)'
  own="$own|SGE_(ARCH|CELL|CLUSTER_NAME|EXECD_PORT|QMASTER_PORT|ROOT)"
  # shellcheck disable=SC2046
  unset gpe_v $(GPE_KEPT=$own${keep:+|$keep} awk 'BEGIN {
    systems = "SBATCH|SLURM|SLURMD|SRUN|PBS|LSB|SGE|PMI|PMIX|OMPI_COMM"
    others = "^((" systems ")_[A-Za-z0-9_]*|(CUDA|ROCR)_VISIBLE_DEVICES)$"
    kept = "^(" ENVIRON["GPE_KEPT"] ")$"
    for (name in ENVIRON) if (name ~ others && name !~ kept) print name
  }')
}
# ID: sets gpe_dir to the link to the job's working directory, or to a task's directory in that of
# its array; false if there is none.
gpe_job_dir() {
  gpe_dir=$gpe_jobs/$1
  [ ! -d "$gpe_dir" ] || return 0
  case $1 in
  *\[[0-9]*\]*) # 12[3].server of 12[].server
    gpe_t=${1#*\[}
    gpe_t=${gpe_t%%\]*}
    gpe_a="${1%%\[*}[]${1#*\]}"
    ;;
  *[_.][0-9]*)
    gpe_t=${1##*[_.]}
    gpe_a=${1%[_.]*}
    ;;
  *) return 1 ;;
  esac
  case $gpe_t in *[!0-9]*) return 1 ;; esac
  [ -d "$gpe_jobs/$gpe_a" ] || gpe_a=${gpe_a%'[]'} # 12[3] of 12
  # it need not be there before the task begins
  gpe_dir=$gpe_jobs/$gpe_a/.gpe/tasks/$gpe_t
  [ -d "$gpe_jobs/$gpe_a" ]
}
gpe_met=''
# CONDITIONS: true if all hold; 1: one can never hold; 2: some of the jobs have not ended, as
# gpe_lives ID DIRECTORY tells.
gpe_check_dependency() {
  gpe_all=0 gpe_asked=
  for gpe_one in $(printf '%s\n' "$1" | tr ',:' '\n\n'); do
    case $gpe_one:$gpe_met in
    afterok:* | afternotok:* | afterany:*) gpe_asked=$gpe_one ;;
    "$gpe_one:"*" $gpe_asked:$gpe_one "*) ;; # it held before; its record may be gone by now
    *)
      gpe_find_end "$gpe_one"
      case $gpe_asked:$gpe_found in
      *:) gpe_all=2 ;;
      afterok:ok | afternotok:other | afterany:*) gpe_met="$gpe_met $gpe_asked:$gpe_one " ;;
      *) return 1 ;;
      esac
      ;;
    esac
  done
  return "$gpe_all"
}
# ID: sets gpe_found to ok (ended with exit status 0), other (ended otherwise) or nothing; all the
# tasks of an array must have ended.
gpe_find_end() {
  gpe_ends=ok
  gpe_job_dir "$1" || :
  [ ! -e "$gpe_dir/.gpe/removed" ] || gpe_ends=other
  if [ ! -d "$gpe_dir/.gpe/tasks" ]; then
    gpe_read_end "$1" "$gpe_dir"
    return
  fi
  for gpe_of in "$gpe_dir"/.gpe/tasks/*; do
    gpe_read_end "$1" "$gpe_of"
    case $gpe_found in '') return ;; other) gpe_ends=other ;; esac
  done
  gpe_found=$gpe_ends
}
gpe_read_end() { # ID DIRECTORY: the same of a job or of a task
  gpe_found=
  [ -e "$2/.gpe_exit_status" ] || ! "${gpe_lives:-false}" "$1" "$2" || return 0
  gpe_found=other gpe_code=
  [ ! -e "$2/.gpe/removed" ] && [ ! -e "$2/.gpe/limit" ] || return 0
  { read -r gpe_code < "$2/.gpe_exit_status"; } 2> /dev/null
  [ "$gpe_code" != 0 ] || gpe_found=ok
}
submit_command='sbatch'
submit_job() { # sbatch OPTION... SCRIPT: prints the job's id
  drop_batch_variables
  case $profile in *@*)
    export SBATCH_CLUSTERS="${profile#*@}"
    unset SLURM_CLUSTERS
    ;;
  esac
  [ -z "$after" ] || check_dependency
  answer=$("$@")
  rc=$?
  case $answer in [0-9]*) answer=${answer%%;*} ;; esac # ID;CLUSTER
  printf '%s\n' "$answer"
  return "$rc"
}
# A condition on a job that Slurm has forgotten, or never knew, counts for Slurm as one that holds.
check_dependency() {
  asked=
  drop_squeue_variables
  for word in $(printf '%s\n' "$after" | tr ',:' '\n\n'); do
    case $word in
    singleton) ;;
    after*) asked=$word ;;
    *) is_known "$word" || check_record "$word" ;;
    esac
  done
}
is_known() { # ID: does Slurm know this job?
  known=$(squeue -h -t all ${SBATCH_CLUSTERS:+-M "$SBATCH_CLUSTERS"} -o %i -j "$1" 2>&1) ||
    case $known in
    *'Invalid job id'*) ;;
    *) fail 1 "DEPENDENCY: ${known:-squeue failed}" ;;
    esac
  printf '%s\n' "$known" | grep -q '^[0-9]'
}
check_record() { # ID: the condition in asked must hold by what this job has left
  gpe_job_dir "$1" && [ -d "$gpe_dir" ] ||
    fail 1 "DEPENDENCY: $1 is no job of this profile, nor known to Slurm"
  gpe_check_dependency "$asked:$1" ||
    fail 1 "DEPENDENCY: $asked:$1 can never hold: \
Slurm has forgotten the job, and it left another end"
}
# PROFILE[@CLUSTER]: Slurm's commands ask this cluster from now on, without what the user has set.
set_up_slurm() {
  case $1 in *@*) export SLURM_CLUSTERS="${1#*@}" ;; esac
  drop_squeue_variables
}
drop_squeue_variables() { # the user's own, because of which squeue leaves out jobs
  unset SQUEUE_ACCOUNT SQUEUE_LICENSES SQUEUE_NAMES SQUEUE_PARTITION SQUEUE_QOS SQUEUE_STATES
  unset SQUEUE_USERS SQUEUE_SORT
}
# The options of submit.sh and find-job.sh, which this runs.
# shellcheck disable=SC2034  # the functions above use all of these
case $0 in /*) program=$0 ;; *) program=$PWD/$0 ;; esac
# shellcheck disable=SC2034
in_session='' job='' profile='' directory='' id_pattern='' keep='' after='' not_before=''
# shellcheck disable=SC2034
while [ "$#" -gt 0 ]; do
  case $1 in
  --in-session) in_session=$2 ;; # submit.sh runs itself
  --profile) profile=$2 ;;
  --directory) directory=$2 ;;
  --id-pattern) id_pattern=$2 ;;
  --job) job=$2 ;;
  --keep) keep=$2 ;;
  --after) after=$2 ;;
  --not-before) not_before=$2 ;;
  *) break ;;
  esac
  shift 2
done
gpe_jobs=${HOME:?}/.gpe/jobs/$profile
main "$@"
