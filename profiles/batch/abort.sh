id='<JOB_ID/'/'\\''>' gpe_id_pattern='<JOB_ID_PATTERN/'/'\\''>'
gpe_jobs="${HOME:?}/.gpe/jobs"/'<PROFILE_NAME/'/'\\''>'
<SH_JOB_DIR>
gpe_has_ended() { false; }
<SH_DEFAULTS>
<SH_COMMANDS>
<SH_STATES>
gpe_read_jobs || exit
gpe_get_job "$id"
gpe_is_live || { printf 'ABORT: job %s has already ended, or is unknown\n' "$id" >&2; exit 1; }
# Before the job is cancelled, because it may write down its end at once.
gpe_noted=
if gpe_job_dir "$id" && (umask 077; set -C; printf 'removed\n' > "$gpe_dir/.gpe/removed") 2> /dev/null; then
  gpe_noted=$gpe_dir/.gpe/removed
  # it may have ended by itself just before
  if [ -e "$gpe_dir/.gpe_exit_status" ]; then rm -f "$gpe_noted"; printf 'ABORT: job %s has already ended\n' "$id" >&2; exit 1; fi
fi
words=$(gpe_cancel "$id" 2>&1) && exit
# A job that is just being started may be refused, because it neither waits nor runs: ask a second time.
sleep 1
words=$(gpe_cancel "$id" 2>&1) && exit
# Or it has found the note as it began, and ended.
[ -z "$gpe_noted" ] || [ -e "$gpe_dir/.gpe_exit_status" ] || ! gpe_read_jobs || { gpe_get_job "$id"; gpe_is_live; } || exit 0
[ -z "$gpe_noted" ] || rm -f "$gpe_noted"
printf '%s\n' "${words:-ABORT: job $id: the batch system refused it}" >&2
exit 1
