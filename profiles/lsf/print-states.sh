print_states() { # of the job id, of an array of its tasks; nothing if nobody knows it
  states=$(printf '%s\n' "$jobs" |
    awk -F'|' -v id="$id" '$1 == id || $1 "[" $2 "]" == id' | gpe_format_states)
  if [ -n "$states" ]; then
    explain_states "$states"
    return
  fi
  print_tasks && return
  record=$(gpe_record "$id")
  case $record in '' | *exited* | *' away '*) print_history && return ;; esac
  [ "$?:$record" != 2: ] || record="$id away reason=bhist does not answer, which knows its end"
  [ -z "$record" ] || printf '%s\n' "$record"
}
# Of an array that LSF has forgotten. Tasks that were removed before they began have left nothing.
# False if it is none.
print_tasks() {
  gpe_job_dir "$id" && gpe_read_array "$gpe_dir/.gpe/script" || return
  tasks=$(gpe_print_indices | while read -r i; do gpe_record "${id}[$i]" || :; done)
  [ -n "$tasks" ] || return
  printf '%s\n' "$tasks"
}
# The history knows a limit, even if the program has exited with 0, and the end of a job that left
# nothing. 1: it does not know better than the record; 2: it does not answer.
print_history() {
  history=$(gpe_bhist "$id") || return
  history=$(printf '%s\n' "$history" | gpe_format_states)
  case $record:$history in
  :* | *' away '*:* | *exit=12[89]*:* | *exit=1[3-9][0-9]*:* | *' EXIT/TERM_'*) ;;
  *) return 1 ;;
  esac
  explain_states "$history"
}
