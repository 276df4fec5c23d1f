# Without a history, PBS takes a job whose condition can never hold, drops it, and tells nothing of
# it.
check_dependency() {
  gpe_lives=may_run gpe_asked=
  for gpe_word in $(printf '%s\n' "$gpe_after" | tr ',:' '\n\n'); do
    # what is left of an array says nothing of its tasks that have not begun
    case $gpe_word in
    after*)
      gpe_asked=$gpe_word
      continue
      ;;
    *\[*) continue ;;
    esac
    gpe_check_dependency "$gpe_asked:$gpe_word"
    [ "$?" -ne 1 ] ||
      fail 1 "DEPENDENCY: $gpe_asked:$gpe_word can never hold: that job has ended otherwise"
  done
}
may_run() { # ID DIRECTORY: false if the job was removed, or ended by a limit
  [ ! -e "$2/.gpe/removed" ] && [ ! -e "$2/.gpe/limit" ]
}
