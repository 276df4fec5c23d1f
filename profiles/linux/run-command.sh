submit_job() { # COMMAND... SCRIPT: COMMAND is start_session, or that of a batch system
  [ "$1" = start_session ] || drop_batch_variables
  "$@"
}
# SCRIPT: starts a job that leads a session of its own, and prints its id, which it has written
# down then. It is nobody's background command, which would ignore SIGINT: the first setsid
# makes a leader, so that the second one forks, and its parent ends.
start_session() {
  [ "${gpe_own_script:-0}" = 0 ] || wrap_script "$1" || return
  setsid setsid sh "$1" < /dev/null 3>&- | { read -r gpe_id && printf '%s\n' "$gpe_id"; }
}
# SCRIPT: its prologue does not say who it is, take the directory, or wait: another script does this
# and then reads it, as applications call functions of job.sh. The exit status that it wrote counts.
wrap_script() {
  gpe_values=$(sed -n '/^gpe_profile=/{p;q;}' "$1") && mv -f "$1" .gpe/own_script || return
  case $gpe_values in
  *' gpe_array='*) fail 1 'ARRAY needs the inherited JOB_PROLOGUE, which calls gpe_begin_job' ;;
  esac
  printf '%s\n' "gpe_profile=$gpe_profile" "$gpe_values" '. ./.gpe/job.sh' gpe_begin_job \
    '( gpe_limit_cputime; . ./.gpe/own_script )' 'gpe_rc=$?' \
    '[ ! -s .gpe_exit_status ] || read -r gpe_rc < .gpe_exit_status' 'gpe_end_job "$gpe_rc"' > "$1"
}
find_job() { # [COMMAND...]: a job without a batch system writes its id before it runs its program
  [ "$#" -eq 0 ] || "$@"
}
