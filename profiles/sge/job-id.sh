gpe_submit_directory=SGE_O_WORKDIR
gpe_set_id() {
  gpe_id=${SGE_TASK_ID:+${JOB_ID:-}}
  gpe_begin=gpe_check_jobs gpe_end=gpe_explain_end
  [ -n "${gpe_array:-}" ] || return 0
  gpe_task=${SGE_TASK_ID:-}
  gpe_task_id=$gpe_id.$gpe_task
}
# Grid Engine knows only that other jobs have ended; if not as DEPENDENCY asks, this one ends as a
# removed one.
gpe_check_jobs() {
  gpe_check_removal
  [ -n "${gpe_dependency:-}" ] || return 0
  gpe_jobs=${HOME:?}/.gpe/jobs/${gpe_profile:-sge}
  while
    gpe_check_dependency "$gpe_dependency"
    gpe_rc=$?
    [ "$gpe_rc" -eq 2 ] # the directory of another job is not there now
  do sleep 10; done
  [ "$gpe_rc" -ne 0 ] || return 0
  gpe_note_dependency .
  trap - EXIT # it never ran
  exit 0
}
# Grid Engine would run a job that exits with 99 again, and put one that exits with 100 into its
# error state.
gpe_explain_end() {
  case $gpe_status in 99 | 100) gpe_exit=1 ;; esac
  # h_cpu is a limit of the kernel for each process; a parallel environment multiplies it
  case $gpe_status:$GPE_CPUTIME in
  *:) ;;
  137:* | 152:*)
    gpe_read_cpu_time || return 0
    [ "$((gpe_cpu + 50))" -lt "$((GPE_CPUTIME * ${NSLOTS:-1} * 100))" ] ||
      printf 'over its processor time of %s s\n' "$GPE_CPUTIME" > .gpe/limit
    ;;
  esac
}
