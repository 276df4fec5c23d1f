submit_command='bsub'
submit_job() { # NAME=VALUE... SCRIPT: prints the id in bsub's answer, which is a sentence
  drop_batch_variables
  nodes='' processes='' cpus='' constraint='' reservation='' mail='' events=''
  read_values "$@"
  set --
  need=${constraint:+select[$constraint]}
  if [ -n "$nodes$processes$cpus" ]; then
    check_processes
    set -- -n "$((slots * nodes))"
    need="$need${need:+ }span[ptile=$slots]"
  fi
  [ -z "$reservation" ] || set -- "$@" -U "$reservation"
  if [ -n "$mail" ]; then # -N: at every end; -Ne: only at one that is no success
    set -- "$@" -u "$(printf '%s\n' "$mail" | tr , ' ')"
    case ,$events, in *,begin,*) set -- "$@" -B ;; esac
    case ,$events, in ,, | *,end,*) set -- "$@" -N ;; *,fail,*) set -- "$@" -Ne ;; esac
  fi
  # -ti: a job whose conditions cannot hold any more is ended
  [ -z "$after" ] || set -- "$@" -w "$(print_conditions)" -ti
  answer=$(print_script | bsub "$@")
  rc=$?
  id=$(printf '%s\n' "$answer" | sed -n 's/^Job <\([0-9]*\)> is submitted .*/\1/p' | tail -n 1)
  if [ "$rc" -eq 0 ] && [ -n "$id" ]; then answer=$id; fi
  printf '%s\n' "$answer"
  return "$rc"
}
# The script with -R for what is needed, because on the command line it would take the place of
# those in the script. LSF refuses memory that is reserved twice: the script's own option counts.
print_script() {
  NEED=$need awk '
FNR == NR { reserved += /^#BSUB .*rusage\[[^]]*mem *=/; next }
reserved > 1 && /^#BSUB -R "rusage\[mem=[0-9]+MB\]"$/ { next }
!/^#/ && !n++ && ENVIRON["NEED"] != "" { print "#BSUB -R \"" ENVIRON["NEED"] "\"" }
{ print }' "$script" "$script"
}
print_conditions() { # as in done(12) && ended(13)
  printf '%s\n' "$after" | tr ',:' '\n\n' | awk '
/^after/ { kind = $0 == "afterok" ? "done" : $0 == "afternotok" ? "exit" : "ended"; next }
{ printf "%s%s(%s)", n++ ? " && " : "", kind, $0 }'
}
