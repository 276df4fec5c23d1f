# ID: prints the state of a job, of an array those of its tasks; 1: it is not known; 2: LSF does not
# answer.
gpe_print_states() (
  id=$1
  if jobs=$(gpe_bjobs "$id" 2>&1); then
    gpe_explain "$(printf '%s\n' "$jobs" | gpe_format_states)"
    exit
  fi
  if ! is_not_found "$jobs"; then
    printf '%s\n' "$jobs" >&2
    exit 2
  fi
  print_tasks && exit
  record=$(gpe_record "$id")
  case $record in '' | *exited*) ! print_history || exit 0 ;; esac
  if [ -z "$record" ]; then
    printf '%s\n' "$jobs" >&2
    exit 1
  fi
  printf '%s\n' "$record"
)
# Of an array that LSF has forgotten. Tasks that were removed before they began have left nothing.
# False if it is none.
print_tasks() {
  gpe_job_dir "$id" && gpe_read_array "$gpe_dir/.gpe/script" || return
  tasks=$(gpe_print_indices | while read -r i; do gpe_record "${id}[$i]" || :; done)
  [ -n "$tasks" ] || return
  printf '%s\n' "$tasks"
}
# The history knows a limit, even if the program has exited with 0, and the end of a job that left
# nothing. False if it does not know better than the record.
print_history() {
  history=$(gpe_bhist "$id") || return
  history=$(printf '%s\n' "$history" | gpe_format_states)
  case $record:$history in
  :* | *exit=12[89]*:* | *exit=1[3-9][0-9]*:* | *' EXIT/TERM_'*) gpe_explain "$history" ;;
  *) return 1 ;;
  esac
}
