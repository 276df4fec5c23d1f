gpe_begin_array() { # the leader makes the directories of the tasks; a task, run by the leader, notes its session
  gpe_run_tasks=gpe_run_tasks
  if [ -n "$gpe_task_index" ]; then
    gpe_begin_task "$gpe_task_index"
    return
  fi
  gpe_list=$(gpe_print_indices) && [ -n "$gpe_list" ] ||
    {
      printf 'START: ARRAY %s has an empty range, or more than 100000 tasks\n' "$gpe_array" >&2
      exit 1
    }
  mkdir -p .gpe/tasks && (
    umask 077
    cd .gpe/tasks && printf '%s/.gpe\n' $gpe_list | xargs mkdir -p --
  ) || exit 1
}
gpe_print_indices() { # of ARRAY, each once
  printf '%s\n' "${gpe_array%%%*}" | tr , '\n' | awk -F '[-:]' '{
    last = NF > 1 ? $2 : $1; step = NF > 2 ? $3 : 1
    if ($1 + 0 > last + 0) exit 1
    for (i = $1 + 0; i <= last + 0; i += step) if (!seen[i]++) { if (++n > 100000) exit 1; print i }
  }'
}
gpe_begin_task() { # INDEX
  (
    set -C
    : > ".gpe/tasks/$1/.gpe/session"
  ) 2> /dev/null || exit 1 # it has begun already, below an xargs that was killed
  printf '%s\n' "$gpe_id" > ".gpe/tasks/$1/.gpe/session" || {
    rm -f ".gpe/tasks/$1/.gpe/session"
    exit 1
  }
  [ ! -e ".gpe/tasks/$1/.gpe/held" ] || {
    rm -f ".gpe/tasks/$1/.gpe/session"
    exit 0
  }
  [ ! -e ".gpe/tasks/$1/.gpe/removed" ] && [ ! -e .gpe/removed ] && gpe_leader "$GPE_ARRAY_ID" || exit 0
  gpe_id=$GPE_ARRAY_ID gpe_task=$1 gpe_task_id=$GPE_JOB_ID
  command exec > /dev/null
}
gpe_run_tasks() { # in the leader: at most so many at a time; a task that is held when its turn comes is tried again
  [ -z "${gpe_task:-}" ] || return 0
  command exec > .gpe/output 2>&1 || exit 1
  rm -f ".gpe/id.$gpe_id"
  gpe_enlist
  export GPE_ARRAY_ID="$gpe_id"
  case $gpe_array in *%*) gpe_most=${gpe_array#*%} ;; *) gpe_most=$(getconf _NPROCESSORS_ONLN) || gpe_most=1 ;; esac
  gpe_before='' gpe_n=0
  while [ ! -e .gpe/removed ]; do
    gpe_find_ready
    # xargs ends when a command exits with 255 or dies of a signal; sh outlives what it runs, because a task has a session of its own
    # shellcheck disable=SC2016,SC2086
    [ -z "$gpe_ready" ] || printf '%s\n' $gpe_ready |
      xargs -n 1 -P "$gpe_most" sh -c 'GPE_JOB_ID=${GPE_ARRAY_ID}_$1 setsid -w sh .gpe/script "$1"; exit 0' sh
    [ -n "$gpe_ready$gpe_held" ] || exit 0
    # tasks that cannot even begin, because the disk is full, say
    [ -n "$gpe_held" ] || [ "$gpe_ready" != "$gpe_before" ] || gpe_n=$((gpe_n + 1))
    [ "$gpe_n" -lt 9 ] || exit 1
    gpe_before=$gpe_ready
    [ "$gpe_n" = 0 ] && [ -z "$gpe_held" ] || sleep 1
  done
  exit 0
}
gpe_find_ready() { # sets gpe_ready to the tasks that may begin, gpe_held to y if some are held
  gpe_ready='' gpe_held=''
  for gpe_index in $gpe_list; do
    if [ -e ".gpe/tasks/$gpe_index/.gpe/session" ] || [ -e ".gpe/tasks/$gpe_index/.gpe/removed" ]; then
      :
    elif [ -e ".gpe/tasks/$gpe_index/.gpe/held" ]; then
      gpe_held=y
    else
      gpe_ready="$gpe_ready $gpe_index"
    fi
  done
}
