"${gpe_run_tasks:-:}" # linux: the leader of the array's session ends here
mkdir -p -- ".gpe_tasks/${gpe_task:?}" && cd -- ".gpe_tasks/$gpe_task" || kill -s KILL "$$"
export GPE_ARRAY_ID="$gpe_id" GPE_ARRAY_INDEX="$gpe_task"
