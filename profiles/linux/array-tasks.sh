gpe_begin_task() { # INDEX
  gpe_i=.gpe/tasks/$1/.gpe
  # it has begun already, below an xargs that was killed
  (set -C && : > "$gpe_i/session") 2> /dev/null || exit 1
  if ! printf '%s\n' "$gpe_id" > "$gpe_i/session"; then
    rm -f "$gpe_i/session"
    exit 1
  fi
  if [ -e "$gpe_i/held" ]; then
    rm -f "$gpe_i/session"
    exit 0
  fi
  [ ! -e "$gpe_i/removed" ] && [ ! -e .gpe/removed ] || exit 0
  gpe_leader "$GPE_ARRAY_ID" || exit 0
  gpe_id=$GPE_ARRAY_ID gpe_task=$1 gpe_task_id=$GPE_JOB_ID
  command exec > /dev/null
}
# In the leader: at most so many at a time; a task that is held when its turn comes is tried again.
gpe_run_tasks() {
  [ -z "${gpe_task:-}" ] || return 0
  command exec > .gpe/output 2>&1 || exit 1
  gpe_enlist
  export GPE_ARRAY_ID="$gpe_id"
  case $gpe_array in
  *%*) gpe_most=${gpe_array#*%} ;;
  *) gpe_most=$(getconf _NPROCESSORS_ONLN) || gpe_most=1 ;;
  esac
  gpe_before='' gpe_n=0
  while [ ! -e .gpe/removed ]; do
    gpe_find_ready
    [ -z "$gpe_ready" ] || gpe_run_ready
    [ -n "$gpe_ready$gpe_held" ] || exit 0
    # tasks that cannot even begin, because the disk is full, say
    [ -n "$gpe_held" ] || [ "$gpe_ready" != "$gpe_before" ] || gpe_n=$((gpe_n + 1))
    [ "$gpe_n" -lt 9 ] || exit 1
    gpe_before=$gpe_ready
    [ "$gpe_n" = 0 ] && [ -z "$gpe_held" ] || sleep 1
  done
  exit 0
}
gpe_run_ready() {
  # xargs ends when a command exits with 255 or dies of a signal; sh outlives what it runs, because
  # a task has a session of its own
  # shellcheck disable=SC2016,SC2086
  printf '%s\n' $gpe_ready | xargs -n 1 -P "$gpe_most" sh -c '
    GPE_JOB_ID=${GPE_ARRAY_ID}_$1 setsid -w sh .gpe/script "$1"
    exit 0' sh
}
gpe_find_ready() { # sets gpe_ready to the tasks that may begin, gpe_held to y if some are held
  gpe_ready='' gpe_held=''
  for gpe_index in $gpe_list; do
    gpe_i=.gpe/tasks/$gpe_index/.gpe
    if [ -e "$gpe_i/session" ] || [ -e "$gpe_i/removed" ]; then
      :
    elif [ -e "$gpe_i/held" ]; then
      gpe_held=y
    else
      gpe_ready="$gpe_ready $gpe_index"
    fi
  done
}
