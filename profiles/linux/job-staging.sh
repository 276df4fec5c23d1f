# Needed by: gpe_stage "[$]@"
# shellcheck disable=SC2034,SC2154  # job.sh has them
# For a job of BLAH, which asks for copies of its files or for another directory. It calls gpe_stage
# in a shell of its own, with the environment of the node: that of the job is for its program alone.
#   IWD       the directory to run in; empty: this one
#   SOURCE    what is copied to PROGRAM; empty: nothing
#   BACK      where the new and changed files of this directory go; empty: nowhere
#   SEARCHED  the job's own PATH, which comes in front of that of the node
#   INPUTS    their number, and these; of one that ends with a slash, the content
#   OUTPUTS   their number, and for each a name here, and where it goes
# IWD SOURCE BACK SEARCHED INPUTS FILE... OUTPUTS [NAME TARGET]... VARIABLE=VALUE... -- PROGRAM...
gpe_stage() {
  gpe_iwd=$1 gpe_source=$2 gpe_back=$3 gpe_searched=$4 gpe_n=$5
  shift 5
  gpe_own=${0%/*} gpe_to=.
  gpe_setup_mark=$gpe_own/setup # for gpe_fail
  gpe_begin_copy
  while [ "$gpe_n" -gt 0 ]; do
    gpe_copy_input "$1"
    shift
    gpe_n=$((gpe_n - 1))
  done
  gpe_copy -RH
  [ -z "$gpe_iwd" ] || cd -- "$gpe_iwd" || gpe_fail "directory $gpe_iwd cannot be entered"
  gpe_outputs=$1
  shift
  [ "$gpe_outputs" -gt 0 ] || [ -n "$gpe_back" ] || gpe_run_staged exec "$@"
  if [ -n "$gpe_back" ]; then gpe_record_files; else ls -A > "$gpe_own/old_names"; fi
  gpe_run_staged '' "$@"
  gpe_keep_status
  [ -z "$gpe_signaled" ] || [ "$gpe_status" -le 128 ] || exit "$gpe_status"
  gpe_copy_back "$@"
  exit "$gpe_status"
}
# A signal for the whole job is for the program; this shell goes on and copies the outputs, unless
# the program ended by the signal.
gpe_take_signals() {
  gpe_signaled=
  trap gpe_signaled=y HUP INT QUIT ILL TRAP ABRT BUS FPE SEGV PIPE ALRM USR1 USR2 TERM XCPU XFSZ \
    VTALRM PROF SYS
}
gpe_copy_back() { # [NAME TARGET]...
  gpe_begin_copy
  if [ -n "$gpe_back" ]; then
    gpe_copy_changed "$@"
  else
    gpe_report_others "$@" >&2
    while [ "$gpe_outputs" -gt 0 ]; do
      gpe_copy_output "$1" "$2"
      shift 2
      gpe_outputs=$((gpe_outputs - 1))
    done
  fi
  gpe_copy -L
}
# [NAME TARGET]...: prints which new files, at the top, are none of these outputs.
gpe_report_others() {
  {
    cat "$gpe_own/old_names"
    printf '%s\n' .gpe .gpe_exit_status
    while [ "$gpe_outputs" -gt 0 ] && [ "$#" -gt 1 ]; do
      gpe_name=${1#./}
      printf '%s\n' "${gpe_name%%/*}"
      shift 2
      gpe_outputs=$((gpe_outputs - 1))
    done
    printf '/\n'
    ls -A
  } | awk '
$0 == "/" { listed = 1; next }
!listed { known[$0]; next }
!($0 in known) { print $0 " is left behind: transfer_output_files does not name it" }'
}
# exec [NAME TARGET]... VARIABLE=VALUE... -- PROGRAM ARGUMENT...: in place of this shell; with ''
# for exec, as a command of it. It is in no subshell: that of ksh93 ends by a signal that arrives as
# it forks, with its number as the exit status, and the program runs on.
gpe_run_staged() {
  gpe_exec=$1
  shift "$((1 + 2 * gpe_outputs))"
  gpe_read_environment "PATH=${gpe_searched:+$gpe_searched:}$PATH" "$@"
  shift "$((gpe_n - 1))"
  if [ -n "$gpe_source" ]; then
    mkdir -p -- "${1%/*}" && cp -- "$gpe_source" "$1" && chmod u+rx -- "$1" ||
      gpe_fail "program $gpe_source cannot be copied"
  fi
  (PATH=${gpe_searched:+$gpe_searched:}$PATH && command -v -- "$1") > /dev/null ||
    gpe_fail "program $1 is not found"
  [ -n "$gpe_exec" ] || gpe_take_signals
  eval "$gpe_exec $gpe_words"' "$@"'
}
# The files to be copied to the directory gpe_to by the next gpe_copy are on descriptor 4.
gpe_begin_copy() {
  command exec 4> "$gpe_own/copied" || gpe_fail "file $gpe_own/copied cannot be written"
}
# OPTION: by one program. Two files of a name, of which the later one counts, are refused by cp, and
# then it copies one after the other.
gpe_copy() {
  exec 4>&-
  [ ! -s "$gpe_own/copied" ] || gpe_why=$(xargs -0 sh -c '
option=$0 to=$1
shift
cp "$option" -- "$@" "$to/" 2> /dev/null && exit
for file; do
  cp "$option" -- "$file" "$to/" && continue
  printf "file %s cannot be copied to %s" "$file" "$to"
  exit 255
done' "$1" "$gpe_to" < "$gpe_own/copied") || gpe_fail "${gpe_why:-file cannot be copied}"
  gpe_begin_copy
}
gpe_copy_input() { # FILE
  case $1 in */) ;; *) gpe_add_input "$1" && return ;; esac
  gpe_copy -RH
  [ -d "$1" ] && [ -r "$1" ] && [ -x "$1" ] || gpe_fail "file $1 cannot be copied"
  for gpe_file in "$1".[!.]* "$1"..?* "$1"*; do
    [ ! -e "$gpe_file" ] && [ ! -h "$gpe_file" ] || gpe_add_input "$gpe_file"
  done
  gpe_copy -RP
}
gpe_add_input() { # FILE: never over our own files, nor through a link that was copied
  case ${1##*/} in .gpe | .gpe_exit_status) return ;; esac
  [ ! -h "./${1##*/}" ] || rm -f -- "./${1##*/}"
  printf '%s\0' "$1" >&4
}
gpe_copy_output() { # NAME TARGET
  if [ -d "$1" ]; then
    mkdir -p -- "$2" && cp -R -- "${1%/}/." "$2/" || gpe_fail "file $1 cannot be copied to $2"
  elif [ ! -f "$1" ]; then
    printf 'there is no output file %s\n' "$1" >&2
  elif [ "${1##*/}" != "${2##*/}" ]; then
    cp -- "$1" "$2" || gpe_fail "file $1 cannot be copied to $2"
  else
    [ "$gpe_to" = "${2%/*}" ] || gpe_copy -L
    gpe_to=${2%/*}
    printf '%s\0' "$1" >&4
  fi
}
# Calls COMMAND for each file or directory at the top of this directory, but ours.
gpe_for_each() {
  for gpe_file in .[!.]* ..?* *; do
    case $gpe_file in .gpe | .gpe_exit_status) continue ;; esac
    [ ! -f "$gpe_file" ] && [ ! -d "$gpe_file" ] || "$@"
  done
}
# A file is new or changed if its name was not there before, or if its inode, size or times differ.
gpe_record_files() {
  gpe_begin_copy
  mkdir -p "$gpe_own/old" && gpe_for_each gpe_record_file &&
    gpe_print_identities > "$gpe_own/old_files" ||
    gpe_fail "the names of its files cannot be recorded"
  : > "$gpe_own/old_mark"
  # Wait until a new file is newer than the mark, as the file system may count time in seconds. Then
  # a file that the job changes is newer, too.
  gpe_tries=0
  until
    : > "$gpe_own/old_probe"
    [ -n "$(find "$gpe_own/old_probe" -newer "$gpe_own/old_mark")" ] || [ "$gpe_tries" -gt 2000 ]
  do
    gpe_tries=$((gpe_tries + 1))
  done
}
gpe_record_file() {
  printf '%s\0' "./$gpe_file" >&4 && : > "$gpe_own/old/$gpe_file"
}
gpe_print_identities() { # a line for each file on descriptor 4
  [ ! -s "$gpe_own/copied" ] || xargs -0 stat -L -c '%i %s %y %z' -- < "$gpe_own/copied"
}
# [NAME TARGET]...: these are the files whose targets are not their names in gpe_back.
gpe_copy_changed() {
  gpe_for_each gpe_list_file
  gpe_print_identities | awk -v old="$gpe_own/old_files" '
BEGIN { while ((getline < old) > 0) known[$0] }
{ print ($0 in known) ? "same" : "changed" }' > "$gpe_own/changed"
  gpe_begin_copy
  gpe_for_each gpe_copy_if_changed "$@" < "$gpe_own/changed"
}
gpe_list_file() { printf '%s\0' "./$gpe_file" >&4; }
gpe_copy_if_changed() { # [NAME TARGET]...
  read -r gpe_word
  if [ -d "$gpe_file" ]; then
    [ -e "$gpe_own/old/$gpe_file" ] &&
      [ -z "$(find "./$gpe_file/" -type f -newer "$gpe_own/old_mark")" ] ||
      printf '%s is left behind: only directories that transfer_output_files names come back\n' \
        "$gpe_file" >&2
    return
  fi
  [ "$gpe_word" != same ] || [ ! -e "$gpe_own/old/$gpe_file" ] || return 0
  gpe_target=$gpe_back/$gpe_file gpe_n=$gpe_outputs
  while [ "$gpe_n" -gt 0 ]; do
    [ "$1" != "$gpe_file" ] || gpe_target=$2
    shift 2
    gpe_n=$((gpe_n - 1))
  done
  gpe_copy_output "./$gpe_file" "$gpe_target"
}
