gpe_submit_command='bsub'
submit_job() { # NAME=VALUE... SCRIPT: prints the id in bsub's answer, which is a sentence
  drop_batch_variables
  gpe_nodes='' gpe_processes='' gpe_cpus='' gpe_constraint=''
  gpe_reservation='' gpe_mail='' gpe_events=''
  read_values "$@"
  set --
  gpe_need=${gpe_constraint:+select[$gpe_constraint]}
  if [ -n "$gpe_nodes$gpe_processes$gpe_cpus" ]; then
    check_processes
    set -- -n "$((gpe_slots * gpe_nodes))"
    gpe_need="$gpe_need${gpe_need:+ }span[ptile=$gpe_slots]"
  fi
  [ -z "$gpe_reservation" ] || set -- "$@" -U "$gpe_reservation"
  if [ -n "$gpe_mail" ]; then # -N: at every end; -Ne: only at one that is no success
    set -- "$@" -u "$(printf '%s\n' "$gpe_mail" | tr , ' ')"
    case ,$gpe_events, in *,begin,*) set -- "$@" -B ;; esac
    case ,$gpe_events, in ,, | *,end,*) set -- "$@" -N ;; *,fail,*) set -- "$@" -Ne ;; esac
  fi
  # -ti: a job whose conditions cannot hold any more is ended
  [ -z "$gpe_after" ] || set -- "$@" -w "$(print_conditions)" -ti
  gpe_answer=$(print_script | bsub "$@")
  gpe_rc=$?
  gpe_id=$(printf '%s\n' "$gpe_answer" |
    sed -n 's/^Job <\([0-9]*\)> is submitted .*/\1/p' | tail -n 1)
  if [ "$gpe_rc" -eq 0 ] && [ -n "$gpe_id" ]; then gpe_answer=$gpe_id; fi
  printf '%s\n' "$gpe_answer"
  return "$gpe_rc"
}
# The script with -R for what is needed, because on the command line it would take the place of
# those in the script. LSF refuses memory that is reserved twice: the script's own option counts.
print_script() {
  NEED=$gpe_need awk '
FNR == NR { reserved += /^#BSUB .*rusage\[[^]]*mem *=/; next }
reserved > 1 && /^#BSUB -R "rusage\[mem=[0-9]+MB\]"$/ { next }
!/^#/ && !n++ && ENVIRON["NEED"] != "" { print "#BSUB -R \"" ENVIRON["NEED"] "\"" }
{ print }' "$gpe_script" "$gpe_script"
}
print_conditions() { # as in done(12) && ended(13)
  printf '%s\n' "$gpe_after" | tr ',:' '\n\n' | awk '
/^after/ { kind = $0 == "afterok" ? "done" : $0 == "afternotok" ? "exit" : "ended"; next }
{ printf "%s%s(%s)", n++ ? " && " : "", kind, $0 }'
}
