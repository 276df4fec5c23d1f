# The submission of several new jobs with one program, for --several: what each would start for
# itself, as mkdir, namei, flock, awk and rm, is started once for all of them. Each has its own
# mark, answer and id, as submit.sh leaves them, so that what is cut off is settled for each.
# gpe_several: a word, and the directories of all jobs but the first, a line each. The scripts come
# one after another, with a line of that word between them. What is printed of each job ends with
# a line of the word and the exit status, on both streams. If something is wrong before the first
# mark is made, nothing is printed: each job is then submitted by itself, and says what is wrong.
# gpe_prepared: for each job what copy_scripts prints. Who has prepared the directories makes the
# links, and removes what need not stay.
submit_several() { # COMMAND...
  gpe_nl='
'
  gpe_word=${gpe_several%%"$gpe_nl"*}
  gpe_directories=$gpe_directory$gpe_nl${gpe_several#*"$gpe_nl"}
  gpe_lock=$gpe_directory/.gpe/several
  gpe_new='' gpe_started='' gpe_ended='' gpe_settled='' gpe_lines=$gpe_prepared
  if [ -z "$gpe_prepared" ]; then
    for_each check_new
    (umask 077 && run_with "$gpe_new" mkdir -p -- "$gpe_jobs" "${gpe_mark%/*}") || exit 73
    check_paths "$(LC_ALL=C run_with "$gpe_directories" namei -mo --)"
    [ -z "$gpe_unsafe" ] || exit 73
    # of all, as each directory says before it has its mark
    command exec 3> "$gpe_lock" && flock 3 3>&3 || exit 73
  fi
  for_each mark
  [ -n "$gpe_prepared" ] || gpe_lines=$(copy_scripts "$gpe_directories" "$gpe_word")
  gpe_lines=$gpe_lines$gpe_nl
  if [ "$1" != start_session ]; then
    drop_batch_variables
    gpe_variables_dropped=y
  fi
  for_each begin "$@"
  while [ -n "$gpe_started" ]; do wait_for_first; done
  trap '' PIPE # nobody may read what is printed
  for_each finish
  [ -n "$gpe_prepared" ] || run_with "$gpe_settled$gpe_nl$gpe_lock" rm -f --
}
for_each() { # FUNCTION [WORD...]: calls it for each directory
  gpe_ifs=$IFS
  set -f
  IFS=$gpe_nl
  for gpe_directory in $gpe_directories; do
    set +f
    IFS=$gpe_ifs
    gpe_mark=$HOME/.gpe/submitting/${gpe_directory##*/}
    "$@"
  done
}
run_with() ( # LINES COMMAND...: runs it with the lines as its last arguments
  set -f
  gpe_ifs=$IFS IFS=$gpe_nl
  set -- "$@" $1
  IFS=$gpe_ifs
  shift
  "$@"
)
check_new() {
  [ ! -L "$gpe_directory" ] || exit 73
  [ ! -e "$gpe_directory/.gpe/submitting" ] && [ ! -e "$gpe_directory/.gpe/id" ] || exit 73
  check_file_system
  gpe_new=$gpe_new$gpe_nl$gpe_directory/.gpe
}
enter() {
  # shellcheck disable=SC3067  # every sh of Linux has -O
  cd -- "$gpe_directory" && [ -O . ]
}
mark() {
  enter && { [ -n "$gpe_prepared" ] || printf '%s\n' "$gpe_lock" > .gpe/lock; } && make_mark ||
    exit 73
}
begin() { # COMMAND...; four at a time, but a background command would ignore SIGINT, and so its job
  gpe_last_line=${gpe_lines%%"$gpe_nl"*}
  gpe_lines=${gpe_lines#*"$gpe_nl"}
  if enter && check_script; then
    if [ "$1" = start_session ]; then
      (run_submission "$@" && link_id)
      gpe_started="$gpe_started =$?"
    else
      (run_submission "$@" && link_id) &
      gpe_started="$gpe_started $!"
    fi
  else
    gpe_started="$gpe_started =73"
  fi
  # shellcheck disable=SC2086
  set -- $gpe_started
  [ "$#" -lt 4 ] || wait_for_first
}
wait_for_first() { # of gpe_started; adds its status to gpe_ended
  # shellcheck disable=SC2086
  set -- $gpe_started
  case $1 in
  =*) gpe_rc=${1#=} ;;
  *)
    wait "$1"
    gpe_rc=$?
    ;;
  esac
  gpe_ended="$gpe_ended $gpe_rc"
  shift
  gpe_started=$*
}
finish_for_client() { # who has prepared the directories has gone
  gpe_prepared=
  link_id
}
finish() {
  # shellcheck disable=SC2086
  set -- $gpe_ended
  gpe_rc=75
  enter && case $1 in
  0)
    [ ! -s .gpe/error ] || cat .gpe/error >&2
    read -r gpe_id < .gpe/id && gpe_rc=0 && { printf '%s\n' "$gpe_id" || finish_for_client; }
    ;;
  73) rm -f .gpe/submitting "$gpe_mark" && gpe_rc=73 ;;
  *)
    (settle "$1" && link_id && printf '%s\n' "$gpe_id")
    gpe_rc=$?
    ;;
  esac
  if [ "$gpe_rc" -eq 0 ] && [ -z "$gpe_prepared" ]; then
    gpe_settled=$gpe_settled$gpe_nl$gpe_mark
    for gpe_file in answer error id.told; do
      gpe_settled=$gpe_settled$gpe_nl$gpe_directory/.gpe/$gpe_file
    done
  fi
  printf '\n%s %s\n' "$gpe_word" "$gpe_rc"
  printf '\n%s %s\n' "$gpe_word" "$gpe_rc" >&2
  shift
  gpe_ended=$*
}
