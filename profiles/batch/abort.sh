# abort.sh COMMANDS PROFILE ID-PATTERN ID: cancels a job that has not ended. Exit status 1: it has,
# it is not known, or the batch system refuses.
main() {
  profile=$2 id_pattern=$3 id=$4 noted=
  gpe_jobs=${HOME:?}/.gpe/jobs/$profile
  read_commands "$1"
  read_jobs || exit
  find_line "$id"
  is_live || fail "job $id has already ended, or is unknown"
  # before the job is cancelled, because it may write down its end at once
  ! gpe_job_dir "$id" || note_removal
  words=$(gpe_cancel "$id" 2>&1) && exit
  # A job that is just being started may be refused, because it neither waits nor runs.
  sleep 1
  words=$(gpe_cancel "$id" 2>&1) && exit
  ! ends_by_note || exit 0
  [ -z "$noted" ] || rm -f "$noted"
  printf '%s\n' "${words:-ABORT: job $id: the batch system refused it}" >&2
  exit 1
}
fail() { # MESSAGE
  printf 'ABORT: %s\n' "$1" >&2
  exit 1
}
note_removal() { # sets noted, unless another ABORT has noted it
  (umask 077 && set -C && printf 'removed\n' > "$gpe_dir/.gpe/removed") 2> /dev/null || return 0
  noted=$gpe_dir/.gpe/removed
  [ -e "$gpe_dir/.gpe_exit_status" ] || return 0
  rm -f "$noted" # it has ended by itself, just before
  fail "job $id has already ended"
}
ends_by_note() { # has the job found the note as it began, and ended?
  [ -n "$noted" ] && [ ! -e "$gpe_dir/.gpe_exit_status" ] || return
  read_jobs || return
  find_line "$id"
  ! is_live
}
