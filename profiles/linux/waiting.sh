# Needed by: gpe_(dependency|start_time)=
# shellcheck disable=SC2034,SC2154  # job.sh has them
# Before the id is told: refuses what can never begin, and notes what the job waits for.
gpe_check_waiting() {
  if [ -n "${gpe_dependency:-}" ]; then
    for gpe_i in $(printf '%s\n' "$gpe_dependency" | tr ',:' '\n\n'); do
      case $gpe_i in afterok | afternotok | afterany) continue ;; esac
      gpe_is_ours "$gpe_i" ||
        gpe_refuse "DEPENDENCY names $gpe_i, which is no job of this profile"
    done
    printf '%s waits for %s\n' "$gpe_id" "$gpe_dependency" > .gpe/waiting || exit 1
  fi
  [ -n "${gpe_start_time:-}" ] || return 0
  gpe_start=$(date -d "${gpe_start_time%T*} ${gpe_start_time#*T}" +%s 2> /dev/null) ||
    gpe_refuse "START_TIME $gpe_start_time is no time that exists here"
  [ -n "${gpe_dependency:-}" ] || gpe_note_start_time || exit 1
}
gpe_note_start_time() {
  printf '%s not before %s\n' "$gpe_id" "$gpe_start_time" > .gpe/waiting
}
gpe_wait_for_jobs() { # until the conditions of DEPENDENCY hold
  gpe_lives=gpe_lives
  while :; do
    gpe_check_dependency "$gpe_dependency"
    gpe_rc=$?
    [ "$gpe_rc" -eq 2 ] || break
    [ ! -e .gpe/removed ] || gpe_never_begin
    sleep 1
  done
  if [ "$gpe_rc" -ne 0 ]; then
    gpe_note_dependency .
    gpe_never_begin
  fi
  gpe_note_begin
}
gpe_never_begin() { # without an exit status: it never ran
  trap - EXIT
  exit 0
}
gpe_note_begin() { # the job's time begins now
  { read -r gpe_i < /proc/uptime && printf '%s\n' "${gpe_i%% *}" > .gpe/begun; } 2> /dev/null || :
  rm -f .gpe/waiting && touch .gpe/host
}
gpe_wait_for_time() { # until START_TIME
  while gpe_left=$((gpe_start - $(date +%s))) && [ "$gpe_left" -gt 0 ]; do
    [ -e .gpe/waiting ] || gpe_note_start_time
    [ ! -e .gpe/removed ] || gpe_never_begin
    sleep "$((gpe_left < 60 ? gpe_left : 60))"
  done
  gpe_note_begin
}
# ID DIRECTORY: can the job, or the task with this directory, leave a record later?
gpe_lives() {
  gpe_i=$1 gpe_array_dir=${2%/.gpe/tasks/*}
  if [ "$gpe_array_dir" != "$2" ]; then
    gpe_i=${1%_*}
    if [ -s "$2/.gpe/session" ]; then
      read -r gpe_i < "$2/.gpe/session"
    else
      [ ! -e "$2/.gpe/removed" ] && [ ! -e "$gpe_array_dir/.gpe/removed" ] || return
    fi
  fi
  gpe_leader "$gpe_i" && return
  gpe_of_session=$gpe_i
  # does its program go on without a leader, or does it run on another machine that shares this home
  # directory?
  [ "$gpe_array_dir" = "$2" ] || gpe_i=${1%_*}_${2##*/}
  gpe_other=$gpe_host
  { read -r gpe_other < "$gpe_array_dir/.gpe/host"; } 2> /dev/null
  [ "$gpe_other" != "$gpe_host" ] || (gpe_dir=$2 && gpe_goes_on "$gpe_i" "$gpe_of_session")
}
