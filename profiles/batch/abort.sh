# abort.sh COMMANDS PROFILE ID-PATTERN ID: cancels a job that has not ended. Exit status 1: it has,
# it is not known, or the batch system refuses; 2: it does not answer, and GET_JOB_STATUS cancels
# the job when it does, if the profile has gpe_find.
main() {
  gpe_profile=$2 gpe_id_pattern=$3 id=$4 ids=$4 noted=
  gpe_jobs=${HOME:?}/.gpe/jobs/$gpe_profile
  set -f
  read_commands "$1"
  read_jobs "$ids" || cancel_later
  id=$ids
  live=$(print_live "$id")
  if [ -z "$live" ]; then
    # shellcheck disable=SC2046
    read_ended $(print_tasks "$id") || exit 2
    live=$(print_live "$id")
  fi
  [ -n "$live" ] || fail "job $id has already ended, or is unknown"
  # before the job is cancelled, because it may write down its end at once
  trap 'withdraw_notes; exit 1' HUP INT TERM
  # that of an array stands for its tasks that have not begun, which may be thousands
  note_removal "$id"
  for task in $live; do
    [ "$task" = "$id" ] || ! has_begun "$task" || note_removal "$task"
  done
  words=$(gpe_cancel "$id" 2>&1) && exit
  # A job that is just being started may be refused, because it neither waits nor runs.
  sleep 1
  words=$(gpe_cancel "$id" 2>&1) && exit
  ! ends_by_note || exit 0
  printf '%s\n' "${words:-ABORT: job $id: the batch system refused it}" >&2
  gpe_list > /dev/null 2>&1 || cancel_later
  withdraw_notes
  exit 1
}
# The batch system does not answer: the note stays, by which a job ends that begins now, and another
# one for GET_JOB_STATUS.
cancel_later() {
  trap - HUP INT TERM
  id=$ids
  gpe_job_dir "$id" || exit 2
  note_removal "$id"
  mkdir -p -- "$gpe_jobs/cancel" && : > "$gpe_jobs/cancel/$id" || exit 2
  fail "job $id is not cancelled yet: the batch system does not answer" 2
}
fail() { # MESSAGE [STATUS]
  printf 'ABORT: %s\n' "$1" >&2
  exit "${2:-1}"
}
withdraw_notes() { # the batch system has not taken the removal
  for task in $noted; do
    gpe_job_dir "$task"
    rm -f "$gpe_dir/.gpe/removed"
  done
}
has_begun() { # TASK
  gpe_job_dir "$1" && [ -d "$gpe_dir" ]
}
note_removal() { # TASK: adds it to noted, unless another ABORT has noted it
  gpe_job_dir "$1" || return 0
  (
    umask 077
    [ -d "$gpe_dir/.gpe" ] || mkdir -p -- "$gpe_dir/.gpe"
    set -C && printf 'removed\n' > "$gpe_dir/.gpe/removed"
  ) 2> /dev/null || return 0
  noted="$noted $1"
  [ -s "$gpe_dir/.gpe_exit_status" ] || return 0
  rm -f "$gpe_dir/.gpe/removed" # it has ended by itself, just before
  [ "$1" != "$id" ] || fail "job $id has already ended"
}
# Has the job found the note as it began, and ended? It says so in the note.
ends_by_note() {
  [ -n "$noted" ] || return
  for task in $noted; do
    [ "$task" != "$id" ] || [ "$live" = "$id" ] || continue # of an array, its tasks say so
    gpe_job_dir "$task" && grep -q '^seen' "$gpe_dir/.gpe/removed" || return
  done
  read_jobs "$id" && [ -z "$(print_live "$id")" ]
}
