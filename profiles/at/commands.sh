gpe_submit() { # SCRIPT WORD...
  gpe_command=$(gpe_print_command "$1") gpe_words='' gpe_time=now
  shift
  for gpe_word in "$@"; do
    case $gpe_word in
    time=*)
      gpe_time="-t $(printf '%s\n' "${gpe_word#*=}" | sed 's/\(:..\):00$/\1/; s/[T:-]//g')"
      ;;
    *) gpe_words="$gpe_words $gpe_word" ;;
    esac
  done
  # shellcheck disable=SC2086
  printf '%s\n' "$gpe_command" | at -M $gpe_words $gpe_time 2>&1
}
gpe_read_id() { sed -n 's/^job \([1-9][0-9]*\) at .*/\1/p'; }
gpe_print_command() { # SCRIPT: what the job is, in a session of its own
  printf 'exec setsid -w %s\n' "$(gpe_print_starter "$PWD/$1")"
}
gpe_list() { # the last columns are the queue, = for a job that runs, and the user: root sees all
  # It fails if a job ends while it reads.
  gpe_text=$(atq 2> /dev/null) || gpe_text=$(atq) || return
  printf '%s\n' "$gpe_text" | USER=$(id -un) awk '
$NF == ENVIRON["USER"] { print $1, $(NF - 1) == "=" ? "running" : "waiting" }'
}
gpe_find() { # by what the job is
  gpe_text=$(gpe_list) || return
  for gpe_job in $(printf '%s\n' "$gpe_text" | sed 's/ .*//'); do
    at -c "$gpe_job" 2> /dev/null | grep -qxF -e "$(gpe_print_command .gpe/script)" || continue
    printf '%s\n' "$gpe_job"
    return
  done
}
gpe_cancel() { # ID
  if gpe_list | grep -qx "$1 waiting"; then
    atrm "$1" && return
  fi
  gpe_kill_session "$1"
}
