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
}
