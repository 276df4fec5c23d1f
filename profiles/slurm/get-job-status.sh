# get-job-status.sh PROFILE[@CLUSTER] [ID]: prints the state of a job; without ID, that of all jobs of this user that Slurm
# still knows, with one call of squeue. Exit status 1: the job is not known; 2: Slurm does not answer.
gpe_jobs=${HOME:?}/.gpe/jobs/$1
if [ "$#" -eq 1 ]; then
  jobs=$(gpe_squeue -u "$(id -u)")
  rc=$?
  if [ "$rc" -eq 0 ]; then
    shown=$(printf '%s\n' "$jobs" | gpe_show '') && {
      gpe_explain "$shown"
      exit
    }
    [ -n "$jobs" ] || exit 0
    rc=1 # it answers, but not about jobs
  fi
  [ -z "$jobs" ] || printf '%s\n' "$jobs" >&2
  exit "$rc"
fi
id=$2
if jobs=$(gpe_squeue -j "$id" 2>&1); then
  known=y error="no job $id is known to Slurm" shown=$(printf '%s\n' "$jobs" | gpe_show "$id")
  [ -z "$shown" ] || shown=$(gpe_explain "$shown")
else
  case $jobs in *'Invalid job id'*) ;; *)
    printf '%s\n' "$jobs" >&2
    exit 2
    ;;
  esac
  known='' error=$jobs shown=''
fi
[ -z "$shown" ] || printf '%s\n' "$shown"
# the tasks of an array that Slurm does not tell: it forgets each some minutes after its end
rest=$id whole=${id%%_*} spec=''
if gpe_job_dir "$whole" && spec=$(sed -n '/^#SBATCH --array=/{s///p;q;}' "$gpe_dir/.gpe/script" 2> /dev/null) && [ -n "$spec" ]; then
  rest=$(printf '%s\n' "$shown" | awk -v id="$whole" -v only="$id" -v spec="$spec" '
{ told[$1] }
function tell(task) { task = id "_" task; if (!(task in told) && (only == id || only == task)) print task; told[task] }
END {
  sub(/%.*/, "", spec)
  n = split(spec, part, ",")
  for (i = 1; i <= n; i++) {
    k = split(part[i], range, /[-:]/)
    for (task = range[1] + 0; task <= range[k > 1 ? 2 : 1] + 0; task += k > 2 ? range[3] : 1) tell(task)
  }
}')
elif [ -n "$shown" ]; then
  exit 0
fi
[ -n "$rest" ] || {
  [ -z "$shown" ] || exit 0
  printf '%s\n' "$error" >&2
  exit 1
} # all are told, or it is no task of this array
records=$(for task in $rest; do
  gpe_record "$task" && continue
  # a task that waits is forgotten at once when it is cancelled
  case $task in *_*) [ -n "$known" ] && [ -n "$spec" ] && [ ! -d "$gpe_dir" ] && printf '%s removed\n' "$task" && continue ;; esac
  printf '%s forgotten\n' "$task"
done)
history=
case $records in *forgotten* | *exited*)
  # The accounting, where there is one, decides: it knows a limit even if the program has exited with 0. An id may have been
  # that of an older job: what was before this one was submitted does not count.
  since=
  [ ! -e "$gpe_dir/.gpe/script" ] || since=$(date -r "$gpe_dir/.gpe/script" +%Y-%m-%dT%H:%M:%S)
  history=$(sacct -n -X -P ${since:+-S "$since"} ${SLURM_CLUSTERS:+-M "$SLURM_CLUSTERS"} -j "$id" -o JobID,State,ExitCode,NodeList,Reason,Partition,Elapsed 2> /dev/null) &&
    history=$(printf '%s\n' "$history" | gpe_show "$id") || history=
  ;;
esac
told=$(printf '%s\n' "$history" '' "$records" | awk -v id="$id" '
!ours && NF { told[$1] = $0; next }
!NF { ours = 1; next }
$1 in told && told[$1] !~ / (PENDING|RUNNING)/ && ($2 == "forgotten" || /exit=1[2-9][0-9]/ || told[$1] !~ / (COMPLETED|FAILED\/exit)/) { $0 = told[$1] }
$1 == id && $2 == "forgotten" { exit 1 }
{ print }') || {
  printf '%s\n' "$error" >&2
  exit 1
}
gpe_explain "$told"
