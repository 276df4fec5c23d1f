gpe_submit() { # SCRIPT WORD...
  gpe_script=$PWD/$1 gpe_processes=1 gpe_cpus=1 gpe_words=''
  shift
  for gpe_word in "$@"; do
    case $gpe_word in
    PROCESSES=*) gpe_processes=${gpe_word#*=} ;;
    CPUS=*) gpe_cpus=${gpe_word#*=} ;;
    -*) gpe_words="$gpe_words $gpe_word" ;;
    *) gpe_words="$gpe_words --$gpe_word" ;;
    esac
  done
  # --cwd: a %{...} in the name of the working directory would be a placeholder
  # shellcheck disable=SC2086
  hq --output-mode=quiet submit --directives=off --cwd=/ --stdout=none --stderr=none \
    --cpus="$((gpe_processes * gpe_cpus))" $gpe_words -- sh -c "$(gpe_print_starter "$gpe_script")"
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
