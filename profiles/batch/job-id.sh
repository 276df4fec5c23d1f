# By the profile's commands, of which START has put a copy into the directory. Without its id, a job
# cannot tell whether it was given up, and another job runs in its place.
gpe_set_id() {
  gpe_own_id() { ! command -v gpe_find > /dev/null || gpe_find; }
  # shellcheck disable=SC1091  # of the profile that extends batch
  . ./.gpe/commands.sh
  gpe_n=0
  # the commands' answers are read in this locale
  until gpe_id=$(export LC_ALL=C && gpe_own_id); do
    [ "$gpe_n" -lt 3600 ] || kill -s KILL "$$"
    gpe_n=$((gpe_n + 1))
    sleep 1
  done
  if [ -n "${gpe_array:-}" ]; then
    gpe_task=$(gpe_own_task)
    gpe_task_id=${gpe_id}_$gpe_task
  fi
  gpe_begin=gpe_check_removal gpe_enter=gpe_check_removal
}
# A job that is cancelled as it begins does not run its program. It leaves no exit status, which
# ABORT would take for an earlier end. The program's own shell looks again: until that one begins, a
# signal of the batch system's ends nothing.
gpe_check_removal() {
  [ -e .gpe/removed ] || [ -e "$GPE_WORKING_DIRECTORY/.gpe/removed" ] || return 0
  echo 'seen by the job' >> .gpe/removed
  trap - EXIT
  exit 143
}
