# Sets states to what LSF tells of the job id, of an array of its tasks; else tasks or record to
# what the tasks, or the job, have left.
look() {
  states=$(printf '%s\n' "$jobs" |
    awk -F'|' -v id="$id" '$1 == id || $1 "[" $2 "]" == id' | gpe_format_states)
  tasks='' record=''
  [ -n "$states" ] || tasks=$(print_tasks) || record=$(gpe_record "$id")
}
# The history knows a limit, even if the program has exited with 0, and the end of a job that left
# nothing.
needs_history() {
  look
  [ -z "$states$tasks" ] && case $record in '' | *exited* | *' away '*) ;; *) return 1 ;; esac
}
print_states() { # of the job id; nothing if nobody knows it
  look
  if [ -n "$states" ]; then
    explain_states "$states"
  elif [ -n "$tasks" ]; then
    printf '%s\n' "$tasks"
  elif ! print_history; then
    record=${record:-${away:+$id $away}}
    [ -z "$record" ] || printf '%s\n' "$record"
  fi
}
# Of an array that LSF has forgotten. Tasks that were removed before they began have left nothing.
# False if it is none.
print_tasks() {
  gpe_job_dir "$id" && gpe_read_array "$gpe_dir/.gpe/script" || return
  tasks=$(gpe_print_indices | while read -r i; do gpe_record "${id}[$i]" || :; done)
  [ -n "$tasks" ] || return
  printf '%s\n' "$tasks"
}
print_history() { # false if the history does not know better than the record
  told=$(gpe_bhist "$id") || return
  told=$(printf '%s\n' "$told" | gpe_format_states)
  case $record:$told in
  :* | *' away '*:* | *exit=12[89]*:* | *exit=1[3-9][0-9]*:* | *' EXIT/TERM_'*) ;;
  *) return 1 ;;
  esac
  explain_states "$told"
}
