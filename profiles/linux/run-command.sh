submit_job() { # COMMAND... SCRIPT: COMMAND is start_session, or that of a batch system
  [ "$1" = start_session ] || drop_batch_variables
  "$@"
}
# SCRIPT: starts a job that leads a session of its own, and prints its id, which it has written
# down then. It is nobody's background command, which would ignore SIGINT: the first setsid
# makes a leader, so that the second one forks, and its parent ends.
start_session() {
  setsid setsid sh "$1" < /dev/null 3>&- | { read -r id && printf '%s\n' "$id"; }
}
find_job() { # [COMMAND...]: a job without a batch system writes its id before it runs its program
  [ "$#" -eq 0 ] || "$@"
}
