# Without a history, PBS takes a job whose condition can never hold, drops it, and tells nothing of
# it.
check_dependency() {
  gpe_lives=may_run asked=
  for word in $(printf '%s\n' "$after" | tr ',:' '\n\n'); do
    # what is left of an array says nothing of its tasks that have not begun
    case $word in
    after*)
      asked=$word
      continue
      ;;
    *\[*) continue ;;
    esac
    gpe_check_dependency "$asked:$word"
    [ "$?" -ne 1 ] || fail 1 "DEPENDENCY: $asked:$word can never hold: that job has ended otherwise"
  done
}
may_run() { # ID DIRECTORY: false if the job was removed, or ended by a limit
  [ ! -e "$2/.gpe/removed" ] && [ ! -e "$2/.gpe/limit" ]
}
