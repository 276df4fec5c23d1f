# get-job-status.sh COMMANDS PROFILE ID-PATTERN [ID]: prints the state of a job; without ID, that of
# all jobs that the batch system knows. Exit status 1: the job is not known; 2: the batch system did
# not answer.
main() {
  profile=$2 id_pattern=$3
  gpe_jobs=${HOME:?}/.gpe/jobs/$profile
  read_commands "$1"
  read_jobs || exit 2
  if [ "$#" -gt 3 ]; then
    find_line "$4"
    print_state "$4" && exit
    printf 'GET_JOB_STATUS: unknown job %s\n' "$4" >&2
    exit 1
  fi
  printf '%s\n' "$jobs" | while IFS= read -r line; do
    [ -z "$line" ] || print_state "${line%% *}" || :
  done
}
# ID: by the job's own record, if it has ended and left one, else by the line. The batch system
# knows best that a limit ended the job; the job itself may have ended by any signal, or by none.
print_state() {
  word=${line#* }
  if is_live || { [ -n "$line" ] && gpe_is_limit "${word%%[ /]*}"; }; then
    printf '%s\n' "$line"
  elif ! gpe_record "$1"; then
    [ -n "$line" ] && gpe_explain "$line"
  fi
}
