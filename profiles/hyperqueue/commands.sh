gpe_submit() { # SCRIPT WORD...
  script=$PWD/$1 processes=1 cpus=1 words=''
  shift
  for word in "$@"; do
    case $word in
    PROCESSES=*) processes=${word#*=} ;;
    CPUS=*) cpus=${word#*=} ;;
    -*) words="$words $word" ;;
    *) words="$words --$word" ;;
    esac
  done
  # --cwd: a %{...} in the name of the working directory would be a placeholder
  # shellcheck disable=SC2086
  hq --output-mode=quiet submit --directives=off --cwd=/ --stdout=none --stderr=none \
    --cpus="$((processes * cpus))" $words -- sh -c "$(gpe_print_starter "$script")"
}
gpe_list() { # by the numbers of a job's tasks in each state; here, a job is one task
  gpe_ask '*]' hq --output-mode=json job list --all || {
    printf '%s\n' "$gpe_text" >&2
    return 1
  }
  printf '%s\n' "$gpe_text" | awk -F '[": ,]+' '
BEGIN { order = "finished canceled aborted failed waiting running" }
/^  {/ { state = "open"; rank = -1 } # where nothing is counted, nothing has ended
/^    "id"/ { id = $3 }
/^      "/ && $3 > 0 && index(order, $2) > rank { state = $2; rank = index(order, $2) }
/^  }/ { print id, state (state == "finished" ? " exit=0" : "") }'
}
gpe_has_ended() { case $1 in finished | failed | aborted | canceled) ;; *) return 1 ;; esac }
gpe_is_removal() { [ "$1" = canceled ]; }
gpe_own_id() { printf '%s\n' "$HQ_JOB_ID"; }
gpe_cancel() { hq job cancel "$1"; }
