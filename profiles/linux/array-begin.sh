# Needed by: gpe_array=
# shellcheck disable=SC2034,SC2154  # job.sh has them
# The leader makes the directories of the tasks; a task, which the leader runs, notes its session.
gpe_begin_array() {
  gpe_run_tasks=gpe_run_tasks
  if [ -n "$gpe_task_index" ]; then
    gpe_begin_task "$gpe_task_index"
    return
  fi
  gpe_list=$(gpe_print_indices 100000) || gpe_list=
  [ -n "$gpe_list" ] ||
    gpe_refuse "ARRAY $gpe_array has an empty range, or more than 100000 tasks"
  (
    umask 077
    mkdir -p .gpe/tasks && cd ./.gpe/tasks || exit
    # shellcheck disable=SC2086
    printf '%s/.gpe\n' $gpe_list | xargs mkdir -p --
  ) || exit 1
}
