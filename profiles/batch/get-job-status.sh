# get-job-status.sh COMMANDS PROFILE ID-PATTERN [IDS]: prints the states of jobs; without IDS, those
# of all jobs that the batch system knows. Exit status 1: the only job is not known; 2: the batch
# system did not answer.
main() {
  gpe_profile=$2 gpe_id_pattern=$3 ids=${4-}
  gpe_jobs=${HOME:?}/.gpe/jobs/$gpe_profile
  read_commands "$1"
  set -f
  kept=
  [ ! -d "$gpe_jobs/cancel" ] || kept=$(ls -- "$gpe_jobs/cancel")
  # shellcheck disable=SC2086
  read_jobs $ids ${ids:+$kept} || exit 2
  [ -z "$kept" ] || { send_kept_cancels & }
  # shellcheck disable=SC2046,SC2086
  set -- ${ids:+$(print_tasks $ids)}
  # shellcheck disable=SC2086
  read_ended "$@" || {
    jobs="$jobs
$(printf '%s away reason=what the batch system knows of its end cannot be asked now\n' $missing)"
    lines=$(print_lines "$@") # the others are told all the same
  }
  states=$(print_states)
  if [ -n "$states" ]; then
    printf '%s\n' "$states"
    exit
  fi
  case $ids in '' | *' '*) exit 0 ;; esac
  printf 'GET_JOB_STATUS: unknown job %s\n' "$ids" >&2
  exit 1
}
# Cancels the jobs that ABORT could not, as the batch system did not answer: kept, which it is asked
# for, too. A query does not wait for it, and of several queries one does it. An id may be another
# job's by now, as that of a task-spooler that counts anew: so only a job that gpe_find finds as the
# one of the directory. The note of a job that is not there any more is removed after a day.
send_kept_cancels() {
  exec < /dev/null > /dev/null 2>&1 3< "$gpe_jobs/cancel"
  flock -n 3 3<&3 || return
  for job in $kept; do
    if [ -n "$(print_live "$job")" ]; then
      is_to_cancel "$job" && gpe_cancel "$job" && rm -f "$gpe_jobs/cancel/$job"
    else
      find "$gpe_jobs/cancel/$job" -mtime +0 -exec rm -f {} +
    fi
  done
}
is_to_cancel() ( # ID: in a shell of its own, as this enters the job's directory
  gpe_job_dir "$1" && [ -e "$gpe_dir/.gpe/removed" ] && [ ! -s "$gpe_dir/.gpe_exit_status" ] || exit
  # by the path that START was given
  cd -- "$(readlink -- "$gpe_jobs/$gpe_a")" && [ -O . ] || exit
  found=$(gpe_find) && [ -n "$found" ] || exit
  case $1 in "$found" | "$found"[_.]* | "${found%%\[]*}["*) ;; *) exit 1 ;; esac # or a task of it
)
# Prints the states: by the job's own record, if it has ended and left one, else by its line. There
# may be thousands: awk prints those that need no look into the job's directory, and those of
# foreign jobs.
print_states() {
  lines=$(print_marked)
  ends=$(print_ends)
  {
    printf '%s\n' "$lines" = "$ends"
    case $newline$ends in
    *"$newline?"*) gpe_explain "$(printf '%s\n' "$ends" | sed -n 's/^?//p')" ;;
    esac
  } | awk '
function get(line, name) {
  if (!match(line, " " name "=[^ ]+")) return ""
  return substr(line, RSTART + length(name) + 2, RLENGTH - length(name) - 2)
}
# Of a job that left a record, the list has the queue and all hosts, and may have more of the usage:
# that of other nodes.
function add_told(record, line, n, name, i, a, b, reason) {
  sub(/ reason=.*/, "", line)
  if (match(record, / reason=.*/)) reason = substr(record, RSTART)
  sub(/ reason=.*/, "", record)
  n = split("host queue elapsed cpu memory cpus allocated ended", name, " ")
  for (i = 1; i <= n; i++) {
    a = get(line, name[i])
    b = get(record, name[i])
    sub(" " name[i] "=[^ ]+", "", record)
    if (a == "" || (i > 2 && b + 0 > a + 0)) a = b
    if (a != "") record = record " " name[i] "=" a
  }
  return record reason
}
$0 == "=" { in_ends = 1; next }
in_ends {
  told[$1] = $2 ~ /^(exited|limit|removed)/ && $1 in listed ? add_told($0, listed[$1]) : $0
  next
}
{
  id = ids[++n] = $2
  meaning = $1
  sub(/^[^ ]+ [^ ]+ ?/, "")
  if (meaning ~ /^(live|limit|foreign)$/) told[id] = $0
  else listed[id] = $0
}
END { for (i = 1; i <= n; i++) if (told[ids[i]] != "") print told[ids[i]] }'
}
# Prints the states of jobs that have ended; ? is in front of what the batch system alone tells. It
# knows best that a limit ended a job; the job itself may have ended by any signal, or by none. A
# removal ended it unless it ended by itself.
print_ends() {
  IFS=$newline # a loop with "read" takes one byte at a time
  for line in $(printf '%s\n' "$lines" | grep -vE '^(live|limit|foreign) '); do
    unset IFS
    meaning=${line%% *} line=${line#* }
    id=${line%% *} line=${line#"${line%% *}"} line=${line# }
    case $meaning in
    removal) gpe_knows_end "$id" && gpe_record "$id" || printf '%s\n' "$line" ;;
    ended)
      # C of Torque tells no end, or the signal, of a task that was removed with its array
      case "$line " in
      *' exit=137 '* | *' exit=143 '* | *' exit=265 '* | *' exit=271 '*) own='' ;;
      *' signal=9 '* | *' signal=15 '*) own='' ;;
      *' exit='* | *' signal='*) own=own ;;
      *) own='' ;;
      esac
      gpe_record "$id" $own || printf '?%s\n' "$line"
      ;;
    *) gpe_record "$id" || [ -z "$line" ] || printf '?%s\n' "$line" ;;
    esac
  done
}
# Prints lines; the word in front becomes foreign for a job that has no link of ours, so that it
# left nothing here: a batch system may list thousands of these.
print_marked() {
  {
    ls -- "$gpe_jobs" 2> /dev/null
    printf '%s\n' = "$lines"
  } | awk '
!in_lines { if ($0 == "=") in_lines = 1; else ours[$0]; next }
{
  array = first = whole = $2
  sub(/[_.][0-9]+$/, "", array)
  sub(/[_.[].*/, "", first)
  sub(/\[[0-9]+\]/, "[]", whole)
  if (!($2 in ours || array in ours || first in ours || whole in ours)) sub(/^[^ ]+/, "foreign")
  print
}'
}
# ID: of a job that the batch system has removed: did it end by itself, or for another job's end?
gpe_knows_end() {
  ! gpe_ended_itself "$1" || return 0
  gpe_why=
  { read -r gpe_why < "$gpe_dir/.gpe/removed"; } 2> /dev/null
  [ "$gpe_why" = DEPENDENCY ]
}
