if [ -z "${gpe_task:-}" ]; then
  for gpe_i in $(printf '%s\n' "$gpe_dependency" | tr ',:' '\n\n'); do
    case $gpe_i in afterok | afternotok | afterany) continue ;; esac
    gpe_job_dir "$gpe_i" && [ -d "$gpe_dir" ] || { printf 'START: DEPENDENCY names %s, which is no job of this profile\n' "$gpe_i" >&2; exit 1; }
  done
  printf '%s waits for %s\n' "$gpe_id" "$gpe_dependency" > .gpe_waiting || exit 1
fi
gpe_after() { # waits until the other jobs have ended
  while gpe_check_dependency "$gpe_dependency"; gpe_rc=$?; [ "$gpe_rc" -eq 2 ]; do
    [ ! -e .gpe_removed ] || { trap - EXIT; exit 0; } # without an exit status: it never ran
    sleep 1
  done
  [ "$gpe_rc" -eq 0 ] || { printf 'DEPENDENCY\n' > .gpe_removed; trap - EXIT; exit 0; }
  { read -r gpe_i < /proc/uptime && printf '%s\n' "${gpe_i%% *}" > .gpe_begun; } 2> /dev/null || :
  rm -f .gpe_waiting && touch .gpe_host
}
gpe_lives=gpe_lives
gpe_lives() { # ID DIRECTORY: can the job, or the task with this directory, leave a record later?
  gpe_i=$1
  case $2 in
  */.gpe_tasks/*)
    if [ -s "$2/.gpe_session" ]; then read -r gpe_i < "$2/.gpe_session"
    elif gpe_i=${1%_*}; [ -e "$2/.gpe_removed" ] || [ -e "${2%/.gpe_tasks/*}/.gpe_removed" ]; then return 1
    fi ;;
  esac
  gpe_leader "$gpe_i" && return
  # does its program go on without a leader, or does it run on another machine that shares this home directory?
  case $2 in */.gpe_tasks/*) gpe_i=${1%_*}_${2##*/} ;; esac
  gpe_other=$gpe_host
  { read -r gpe_other < "${2%/.gpe_tasks/*}/.gpe_host"; } 2> /dev/null
  [ "$gpe_other" != "$gpe_host" ] || [ -n "$(gpe_processes "$gpe_i")" ]
}
