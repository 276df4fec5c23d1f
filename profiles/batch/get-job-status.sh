# get-job-status.sh COMMANDS PROFILE ID-PATTERN [IDS]: prints the states of jobs; without IDS, those
# of all jobs that the batch system knows. Exit status 1: the only job is not known; 2: the batch
# system did not answer.
main() {
  profile=$2 id_pattern=$3 ids=${4-}
  gpe_jobs=${HOME:?}/.gpe/jobs/$profile
  read_commands "$1"
  read_jobs || exit 2
  set -f
  # shellcheck disable=SC2046,SC2086
  set -- $(print_tasks $ids)
  # the others are told all the same
  [ "$#" -eq 0 ] || read_ended "$@" || jobs="$jobs
$(printf '%s away reason=what the batch system knows of its end cannot be asked now\n' $missing)"
  states=$(print_lines "$@" | while read -r id line; do
    [ -z "$id" ] || print_state "$id" || :
  done)
  if [ -n "$states" ]; then
    printf '%s\n' "$states"
    exit
  fi
  case $ids in '' | *' '*) exit 0 ;; esac
  printf 'GET_JOB_STATUS: unknown job %s\n' "$ids" >&2
  exit 1
}
# ID: by the job's own record, if it has ended and left one, else by the line. The batch system
# knows best that a limit ended the job; the job itself may have ended by any signal, or by none. A
# removal ended it unless it ended by itself.
print_state() {
  word=${line#* }
  word=${word%%[ /]*}
  if is_live || gpe_is_limit "$word"; then
    printf '%s\n' "$line"
  elif gpe_is_removal "$word"; then
    gpe_ended_itself "$1" && gpe_record "$1" || printf '%s\n' "$line"
  elif ! gpe_record "$1"; then
    [ -n "$line" ] && gpe_explain "$line"
  fi
}
