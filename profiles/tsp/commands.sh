# Its socket is in TMPDIR, which is another one for each login or job: one server for all.
gpe_tsp() { TS_SOCKET=${TS_SOCKET:-/tmp/socket-ts.$(id -u)} tsp "$@"; }
gpe_submit() { # SCRIPT WORD...
  gpe_script=$PWD/$1 gpe_words='' gpe_last=''
  shift
  for gpe_word in "$@"; do
    case $gpe_word in
    after=*) gpe_words="$gpe_words -D ${gpe_word#*:}" ;;
    *) gpe_words="$gpe_words $gpe_word" ;;
    esac
    [ "$gpe_last" != -N ] || gpe_check_slots "$gpe_word" || return
    gpe_last=$gpe_word
  done
  # the script as the last word, by which gpe_list knows the job
  # shellcheck disable=SC2086,SC2154
  gpe_tsp $gpe_words sh -c "$gpe_starter" "$gpe_script"
}
gpe_check_slots() { # NUMBER: a job with more would wait for ever, and could not be removed
  gpe_slots=$(gpe_tsp -S) || return
  [ "$1" -le "$gpe_slots" ] && return
  echo "CPUS: $1 slots are asked for, and the server has $gpe_slots (tsp -S)" >&2
  return 1
}
# The columns: id, state, file, and the exit status of a job that has ended; last the command. Each
# server counts from 0: an id of ours with another command is that of another job.
gpe_list() {
  gpe_ask '?*' gpe_tsp -l || return
  # shellcheck disable=SC2012,SC2046
  gpe_links=$(cd "${gpe_jobs:?}" 2> /dev/null && ls -ld -- \
    $(printf '%s\n' "$gpe_text" | sed -n 's/^\([0-9][0-9]*\) .*/\1/p') 2> /dev/null)
  printf '%s\n' "$gpe_links" "$gpe_text" | awk '
/^l.* [0-9]+ -> \// {
  id = $0
  sub(/ -> .*/, "", id)
  sub(/.* /, "", id)
  sub(/^l[^>]* -> /, "")
  sub(/\/$/, "")
  script[id] = $0 "/.gpe/script"
  next
}
$1 in script && substr($0, length($0) - length(script[$1]) + 1) != script[$1] { next }
$2 == "finished" && $4 ~ /^[0-9]+$/ { $2 = "finished/exit exit=" $4 }
{ print $1, $2 }'
}
gpe_has_ended() { case $1 in finished | skipped) ;; *) return 1 ;; esac }
gpe_find() { # each line ends with the command
  gpe_ask '?*' gpe_tsp -l || return
  printf '%s\n' "$gpe_text" | GPE_SCRIPT=$PWD/.gpe/script awk '
substr($0, length($0) - length(ENVIRON["GPE_SCRIPT"]) + 1) == ENVIRON["GPE_SCRIPT"] {
  print $1; exit
}'
}
gpe_cancel() { # one that waits, or one that runs; a later server has another job of this id
  if gpe_list | grep -q "^$1 "; then
    gpe_tsp -r "$1" || gpe_tsp -k "$1"
  else
    gpe_kill_session "$1"
  fi
}
