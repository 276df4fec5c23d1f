# get-job-status.sh PROFILE[@CLUSTER] [ID]: prints the state of a job; without ID, that of all jobs
# of this user that Slurm still knows, with one call of squeue. Exit status 1: the job is not known;
# 2: Slurm does not answer.
main() { # PROFILE[@CLUSTER] [ID]
  set_up_slurm "$1"
  gpe_jobs=${HOME:?}/.gpe/jobs/$1
  [ "$#" -ne 1 ] || print_all
  id=$2
  ask_squeue
  [ -z "$shown" ] || printf '%s\n' "$shown"
  find_rest
  if [ -z "$rest" ]; then # all are told, or it is no task of this array
    [ -z "$shown" ] || exit 0
    fail
  fi
  records=$(print_records) history=
  case $records in *forgotten* | *unseen* | *exited* | *' away '*) ask_accounting ;; esac
  case $?:$records in
  2:*forgotten* | 2:*unseen*) # without an answer, nobody knows how it ended
    printf '%s\n' "$lines" >&2
    exit 2
    ;;
  esac
  told=$(print_told) || fail
  gpe_explain "$told" CANCELLED
}
fail() {
  printf '%s\n' "$error" >&2
  exit 1
}
print_all() { # and exits
  if jobs=$(gpe_squeue -u "$(id -u)"); then
    if shown=$(printf '%s\n' "$jobs" | gpe_format_states ''); then
      gpe_explain "$shown" CANCELLED
      exit
    fi
    [ -n "$jobs" ] || exit 0
  fi
  # no answer, or none about jobs
  [ -z "$jobs" ] || printf '%s\n' "$jobs" >&2
  exit 2
}
# Sets shown to what Slurm tells of the job, and error to the message if that is nothing; known is
# empty if Slurm does not know the id.
ask_squeue() {
  if jobs=$(gpe_squeue -j "$id" 2>&1); then
    known=y error="no job $id is known to Slurm"
    shown=$(printf '%s\n' "$jobs" | gpe_format_states "$id")
    [ -z "$shown" ] || shown=$(gpe_explain "$shown" CANCELLED)
    return
  fi
  case $jobs in
  *'Invalid job id'*) ;;
  *)
    printf '%s\n' "$jobs" >&2
    exit 2
    ;;
  esac
  known='' error=$jobs shown=''
}
# Sets rest to the ids that Slurm does not tell: it forgets each task of an array some minutes after
# its end. gpe_dir is the array's directory.
find_rest() {
  rest=$id whole=${id%%_*} gpe_array=
  if gpe_job_dir "$whole" && gpe_read_array "$gpe_dir/.gpe/script"; then
    rest=$(printf '%s\n' "$shown" | gpe_print_missing "${whole}_" | grep -xE -e "$id(_.*)?")
  elif [ -n "$shown" ]; then
    rest=
  fi
}
print_records() { # of rest: how each has ended, or a word in its place
  for task in $rest; do
    gpe_record "$task" && continue
    word=forgotten
    # a task that waits is forgotten at once when it is cancelled; but its node may have failed
    case $task in *_*)
      if [ -n "$known" ] && [ -n "$gpe_array" ] && [ ! -d "$gpe_dir" ]; then word=unseen; fi
      ;;
    esac
    printf '%s %s\n' "$task" "$word"
  done
}
# Sets history to what the accounting tells, where there is one. It decides: it knows a limit even
# if the program has exited with 0. An id may have been that of an older job: what was before this
# one was submitted does not count. 2: it does not answer.
ask_accounting() {
  since=
  [ ! -e "$gpe_dir/.gpe/script" ] || since=$(date -r "$gpe_dir/.gpe/script" +%Y-%m-%dT%H:%M:%S)
  lines=$(sacct -n -X -P ${since:+-S "$since"} ${SLURM_CLUSTERS:+-M "$SLURM_CLUSTERS"} -j "$id" \
    -o JobID,State,ExitCode,NodeList,Reason,Partition,Elapsed 2>&1) || case $?:$lines in
  127:* | *'storage is disabled'*) return 1 ;; # there is none
  *) return 2 ;;
  esac
  history=$(printf '%s\n' "$lines" | gpe_format_states "$id") || history=
}
# The lines of records, or of history in their place; false if nobody knows the job. The accounting
# decides about a job without a record; about an exit status of 128 and more, as it knows who sent
# the signal; and where it has an end that the job cannot know, as a limit.
print_told() {
  printf '%s\n' "$history" '' "$records" | awk -v id="$id" '
function accounting_decides(line) {
  if (line ~ / (PENDING|RUNNING)/) return 0
  if ($2 ~ /^(forgotten|unseen|away)$/) return 1
  return /exit=(12[89]|1[3-9][0-9])/ || line !~ / (COMPLETED|FAILED\/exit)/
}
!NF { in_records = 1; next }
!in_records { accounted[$1] = $0; next }
$1 in accounted && accounting_decides(accounted[$1]) { $0 = accounted[$1] }
$1 == id && $2 == "forgotten" { exit 1 }
$2 == "unseen" { $2 = "removed" }
{ print }'
}
