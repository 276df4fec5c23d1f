gpe_submit_directory=SLURM_SUBMIT_DIR
gpe_set_id() { # sets gpe_id, and of a task of an array gpe_task and gpe_task_id
  [ -z "${gpe_signal:-}" ] || gpe_forward_signal
  gpe_id=${SLURM_JOB_ID:-}
  [ -n "${gpe_array:-}" ] || return 0
  gpe_id=${SLURM_ARRAY_JOB_ID:-} gpe_task=${SLURM_ARRAY_TASK_ID:-}
  gpe_task_id=${gpe_id}_$gpe_task
}
# sbatch --signal=B: is for this shell, which would act on it only after its program. The job runs
# in a second shell, whose program leaves its process id for this one, which passes the signal on.
gpe_forward_signal() {
  gpe_keep_pid "$PWD/.gpe/pid.$SLURM_JOB_ID"
  if [ -n "${gpe_is_second:-}" ]; then
    unset gpe_is_second
    gpe_end=gpe_note_limit
    return
  fi
  gpe_survive
  trap gpe_pass_signal "$gpe_signal"
  # what runs beside a shell ignores these, and so would the program
  gpe_reset=--default-signal=INT,QUIT
  env "$gpe_reset" true 2> /dev/null || gpe_reset=--
  gpe_is_second=1 env "$gpe_reset" sh "$0" &
  while
    wait "$!"
    gpe_rc=$?
    [ "$gpe_rc" -gt 128 ] && kill -s 0 "$!" 2> /dev/null
  do :; done
  rm -f "${gpe_pid_file:?}" "$gpe_pid_file.sent"
  [ "$gpe_rc" -ne 137 ] || kill -s KILL "$$"
  exit "$gpe_rc"
}
