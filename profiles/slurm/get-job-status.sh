# get-job-status.sh PROFILE[@CLUSTER] [IDS]: prints the states of jobs; without IDS, those of all
# jobs of this user that Slurm still knows, with one call of squeue. Exit status 1: the only job is
# not known; 2: Slurm does not answer.
main() { # PROFILE[@CLUSTER] [IDS]
  set_up_slurm "$1"
  gpe_jobs=${HOME:?}/.gpe/jobs/$1 ids=${2-} jobs='' known=' ' lines='' away=''
  [ -n "$ids" ] || print_all
  for id in $ids; do ask_squeue; done
  # shellcheck disable=SC2046
  ask_accounting $(for id in $ids; do ! (needs_accounting) || printf '%s\n' "$id"; done)
  case $ids in
  *' '*) for id in $ids; do print_states 2> /dev/null || :; done ;;
  *) print_states ;;
  esac
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
# Adds to jobs what squeue tells of the job id, and to known the id if Slurm knows it; only of a
# single id does it say that it does not.
ask_squeue() {
  if answer=$(gpe_squeue -j "$id" 2>&1); then
    known="$known$id "
    jobs="$jobs
$answer"
    return
  fi
  case $answer in
  *'Invalid job id'*) error=$answer ;;
  *)
    printf '%s\n' "$answer" >&2
    exit 2
    ;;
  esac
}
look() { # sets shown to what Slurm tells of the job id, records to the ends of the rest
  shown=$(printf '%s\n' "$jobs" | gpe_format_states "$id")
  find_rest
  records=$(print_records)
}
print_states() { # of the job id; 1: it is unknown
  look
  [ -z "$shown" ] || gpe_explain "$shown" CANCELLED
  if [ -n "$rest" ]; then
    history=$(printf '%s\n' "$lines" | gpe_format_states "$id") || history=
    told=$(print_told) && gpe_explain "$told" CANCELLED && return
  elif [ -n "$shown" ]; then # all are told, or it is no task of this array
    return
  fi
  printf '%s\n' "${error:-no job $id is known to Slurm}" >&2
  return 1
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
      case $known:$gpe_array in *" $id "*:?*) [ -d "$gpe_dir" ] || word=unseen ;; esac
      ;;
    esac
    printf '%s %s\n' "$task" "${away:-$word}"
  done
}
needs_accounting() {
  look
  case $records in *forgotten* | *unseen* | *exited* | *' away '*) ;; *) return 1 ;; esac
}
# ID...: sets lines to what the accounting tells, where there is one. It decides: it knows a limit
# even if the program has exited with 0. An id may have been that of an older job: what was before
# these were submitted does not count. Without an answer, nobody knows how one ended that left no
# record: away is told of it.
ask_accounting() {
  [ "$#" -gt 0 ] || return 0
  since=$(for id in "$@"; do
    gpe_job_dir "${id%%_*}" || :
    date -r "$gpe_dir/.gpe/script" +%Y-%m-%dT%H:%M:%S 2> /dev/null || echo
  done | sort | head -n 1) # nothing if one has no script
  list=$(printf '%s,' "$@")
  lines=$(sacct -n -X -P ${since:+-S "$since"} ${SLURM_CLUSTERS:+-M "$SLURM_CLUSTERS"} \
    -j "${list%,}" -o JobID,State,ExitCode,NodeList,Reason,Partition,Elapsed 2>&1) &&
    return
  case $?:$lines in
  127:* | *'storage is disabled'*) ;; # there is none
  *) away="away reason=sacct does not answer, which knows its end: $lines" ;;
  esac
  lines=
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
