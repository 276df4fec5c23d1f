gpe_tell() ( # ID: prints the state of a job, of an array those of its tasks; 1: it is not known; 2: LSF does not answer
  id=$1
  if jobs=$(gpe_bjobs "$id" 2>&1); then
    gpe_explain "$(printf '%s\n' "$jobs" | gpe_show)"
    exit
  fi
  case $jobs in *'is not found'* | *'job found'* | 'bjobs printed nothing') ;; *)
    printf '%s\n' "$jobs" >&2
    exit 2
    ;;
  esac
  if gpe_job_dir "$id" && [ -e "$gpe_dir/.gpe/script" ]; then
    # an array, by its tasks. Those that were removed before they began have left nothing.
    tasks=$(sed -n '/^[^#]/q; s/^#BSUB -J ".*\[\(.*\)\].*/\1/p' "$gpe_dir/.gpe/script" | tr , '\n' |
      sed 's/^\([0-9]*\)-\([0-9]*\):\([0-9]*\)$/\1 \3 \2/; s/-/ /; s/^[0-9]*$/& &/' | xargs -r -L 1 seq |
      while read -r i; do gpe_record "${id}[$i]" || :; done)
    [ -z "$tasks" ] || {
      printf '%s\n' "$tasks"
      exit
    }
  fi
  record=$(gpe_record "$id")
  case $record in '' | *exited*)
    # the history knows a limit, even if the program has exited with 0, and the end of a job that left nothing
    if history=$(gpe_bhist "$id"); then
      history=$(printf '%s\n' "$history" | gpe_show)
      case $record:$history in :* | *exit=1[2-9][0-9]*:* | *' EXIT/TERM_'*)
        gpe_explain "$history"
        exit
        ;;
      esac
    fi
    ;;
  esac
  [ -n "$record" ] || {
    printf '%s\n' "$jobs" >&2
    exit 1
  }
  printf '%s\n' "$record"
)
