# submit.sh OPTION... COMMAND [WORD...]: submits the job script that it reads, once for its working
# directory, and prints the job's id. Repeated in the same directory, it submits nothing and prints
# the same id. Its messages name what it does START, and what find-job.sh does FIND_JOB.
# It runs as ~/.gpe/bin/DIGEST/submit.sh, beside all other programs of the profile. The digest is
# of their texts, so that another version has another folder, and changes no program that a job is
# about to run. The script that installs the folder, as a whole, compares the texts; nobody else
# checks it.
#   --profile NAME --directory PATH --id-pattern ERE
#   --job FILE            the functions of the job script, of which the directory gets a copy; the
#                         files job-*.sh are beside it
#   --keep ERE            names of variables that the job inherits, though they are of another job
#   --after CONDITIONS    the conditions on other jobs, to check them
#   --not-before TIME     the earliest start, to check it
#   --several LINES       for new jobs, after the directory: submit-several.sh
#   --prepared LINES      before it: the directories are made, and the scripts there; 3 has the lock
# Exit status 69: the batch system cannot be reached, and has taken nothing: to be repeated later.
# 73: nothing was done. 75: nobody knows whether there is a job. Any other but 0: the command has
# failed. After all but 69 and 73, find-job.sh finds out whether there is a job all the same, and
# then this can be repeated.
# In the folder .gpe of the directory it leaves, in this order: lock; submitting, the mark of a
# submission that has begun; job.sh and script; answer and error, which have what COMMAND printed
# when it has ended; id, which the job writes too as it begins. Last it makes the link
# ~/.gpe/jobs/PROFILE/ID. If COMMAND fails, or this is killed between the mark and the id, it
# submits nothing when it is repeated (75), until find-job.sh has found the job, or has taken the
# mark away. main calls submit_once under the lock, that run_submission, and that submit_and_record;
# submit_job, the profile's own, calls the batch system.
# What submits several jobs is as a whole in a session of its own; --prepared comes in one.
[ "${3-}" != --several ] || exec setsid sh "$0" --in-session y "$@"
# All variables here begin with gpe_: one of another name, which the caller has exported, would
# reach the job with another value. Those that the functions of a job script use are not the
# caller's.
unset gpe_id gpe_task gpe_task_id gpe_array gpe_nodes gpe_queue gpe_project gpe_cputime
unset gpe_dependency gpe_start_time gpe_profile gpe_begin gpe_enter gpe_end gpe_exit
unset gpe_run_tasks gpe_container gpe_container_command gpe_processes gpe_tmp gpe_watch
unset gpe_enlisting gpe_lives gpe_tell gpe_signal gpe_signal_time gpe_pid_file gpe_variables_dropped
# gpe_submit_command names the batch system's own, to say early that this machine has none.
# gpe_own_session says that submit_job itself puts it into a session of its own.
gpe_submit_command='' gpe_own_session=''
main() { # COMMAND...
  if [ -n "$gpe_in_session" ] && [ -z "$gpe_several" ]; then
    submit_and_record "$@"
    exit
  fi
  [ -z "$gpe_submit_command" ] || command -v "$gpe_submit_command" > /dev/null ||
    fail 73 "there is no $gpe_submit_command on $(uname -n): submit from a machine of the \
batch system"
  drop_gpe_variables
  hide_zone
  if [ -n "$gpe_several" ]; then
    submit_several "$@"
    exit
  fi
  check_file_system
  enter_directory
  # a job that was given up writes its id, sees no mark, and removes its id again
  [ ! -s .gpe/id ] || [ -e .gpe/submitting ] || sleep 0.2
  if [ ! -s .gpe/id ]; then
    submit_once "$@"
  elif ! read -r gpe_id < .gpe/id || ! is_id "$gpe_id"; then
    fail 1 "$gpe_directory/.gpe/id does not contain a job id"
  fi
  print_id
}
# Unsets the variables of a job that runs this program, as the new job is no part of it.
drop_gpe_variables() {
  unset GPE_JOB_ID GPE_ARRAY_ID GPE_ARRAY_INDEX GPE_NODE_FILE GPE_TZ
}
# START_TIME is in the time zone of this machine, and not in that of the caller, which the job gets.
hide_zone() {
  [ -n "${TZ+set}" ] || return 0
  export GPE_TZ="$TZ"
  unset TZ
}
fail() { # STATUS MESSAGE
  printf 'START: %s\n' "$2" >&2
  exit "$1"
}
# COMMAND...: returns when .gpe/id has the id of this job, or of one that was submitted meanwhile.
submit_once() {
  take_lock || exit 73
  gpe_rc=75
  if [ ! -s .gpe/id ] && make_mark; then
    [ ! -e .gpe/id ] || rm -f .gpe/id # empty: the disk was full
    gpe_last_line=$(copy_scripts . '')
    if ! check_script; then
      rm -f .gpe/submitting "$gpe_mark"
      exit 73
    fi
    run_submission "$@"
    gpe_rc=$?
  fi
  settle "$gpe_rc"
  exec 3>&-
}
settle() { # STATUS of run_submission: returns if there is an id, else exits with the reason
  [ ! -s .gpe/error ] || cat .gpe/error >&2
  if [ ! -s .gpe/id ]; then
    # 126, 127: setsid cannot be run. Else a command that has failed says why; without a word, it
    # was killed. find-job.sh settles both.
    case $1 in
    69) rm -f .gpe/submitting "$gpe_mark" && exit 69 ;;
    75) ;;
    126 | 127) exit "$1" ;;
    *) [ ! -s .gpe/error ] || exit "$1" ;;
    esac
    fail 75 "whether a job was submitted in $gpe_directory is not known: FIND_JOB finds out, \
then START can be repeated"
  fi
}
# Makes the mark: from here on, only FIND_JOB can tell whether there is a job. It stays after
# success, too: a job of this directory without it runs nothing. False if there is one already. The
# one at home is for a directory whose file system goes away.
make_mark() {
  printf '%s\n' "$gpe_directory" > "$gpe_mark" || exit 73
  set -C # > makes the file, and fails if it is there: only one shell can make it
  { printf '' > .gpe/submitting; } 2> /dev/null
  gpe_made=$?
  set +C
  [ "$gpe_made" -eq 0 ] || [ -e .gpe/submitting ] || fail 73 "cannot write in $gpe_directory"
  return "$gpe_made"
}
# DIRECTORIES WORD: copies the functions of the job, without comments, and those of job-*.sh only if
# a line of the script matches the pattern in their first line, and the script that is read; of
# several jobs, each script but the first comes after a line with the word. Prints the last line of
# each, which shows that it is whole, as what writes it may be killed, and before it 1 if its
# prologue is the profile's own, without gpe_begin_job. The engine does the same for --prepared.
copy_scripts() {
  (umask 077 && GPE_DIRECTORIES=$1 GPE_WORD=$2 LC_ALL=C awk '
function finish(file, line, copy) {
  copy = directory[n] "/.gpe/job.sh"
  printf "%s", functions > copy
  for (file in needed) {
    while ((getline line < file) > 0) if (line !~ /^ *#/) print line > copy
    close(file)
    delete needed[file]
  }
  close(copy)
  close(directory[n++] "/.gpe/script")
  print !begins last
  begins = last = ""
}
BEGIN {
  split(ENVIRON["GPE_DIRECTORIES"], directory, "\n")
  n = 1
  for (i = 2; i < ARGC - 1; i++) {
    if ((getline line < ARGV[i]) > 0 && sub(/^# Needed by: /, "", line)) pattern[ARGV[i]] = line
    ARGV[i] = "" # so that it is not read as the others
  }
}
FILENAME == ARGV[1] { if (!/^ *#/) functions = functions $0 "\n"; next }
$0 == ENVIRON["GPE_WORD"] && $0 != "" { finish(); next }
{ print > (directory[n] "/.gpe/script"); last = $0 }
/^gpe_begin_job/ { begins = 1 }
{ for (file in pattern) if ($0 ~ pattern[file]) needed[file] }
END { finish() }' "${gpe_job:-/dev/null}" "${gpe_job%/*}"/job-*.sh -)
}
check_script() { # gpe_last_line: what copy_scripts printed
  # shellcheck disable=SC2034  # start_session reads it
  gpe_own_script=${gpe_last_line%"${gpe_last_line#?}"}
  case ${gpe_last_line#?} in
  gpe_end_job | '# end of the job script') ;; # or the site's own last line
  *)
    echo 'START: the job script has no end: it was cut off on its way, or JOB_EPILOGUE lacks' \
      'its last line, gpe_end_job or: # end of the job script' >&2
    return 1
    ;;
  esac
  [ ! -e .gpe/tasks ] && [ ! -e .gpe/waiting ] || rm -rf .gpe/tasks .gpe/waiting
  # If there is no room for these, nothing is submitted. The byte is overwritten by the id; it shows
  # a full disk where awk, as that of busybox, does not.
  printf '' > .gpe/answer && printf '' > .gpe/error || return
  printf '0' > .gpe/id.told && [ -s .gpe/script ]
}
# COMMAND...: the batch system's command runs in a session of its own, so that what ends this shell
# does not cut it off: that of a second shell, unless submit_job makes one, or a job of this machine
# its own. setsid starts no process here, as this shell's children lead no group, so that the shell
# waits for the submission. The session keeps the lock.
run_submission() {
  if [ "$1" = start_session ] || [ -n "$gpe_own_session$gpe_in_session" ]; then
    submit_and_record "$@" < /dev/null
  else
    setsid sh "$gpe_program" --in-session y --profile "$gpe_profile" --directory "$gpe_directory" \
      --id-pattern "$gpe_id_pattern" --keep "$gpe_keep" --after "$gpe_after" \
      --not-before "$gpe_not_before" \
      "$@" < /dev/null 3>&3
  fi
}
submit_and_record() { # COMMAND...: leaves the id in .gpe/id, or the reason in .gpe/error
  (
    check_start_time && submit_job "$@" .gpe/script
  ) > .gpe/answer 2> .gpe/error
  gpe_rc=$?
  if [ "$gpe_rc" -ne 0 ]; then
    sed '/^$/d' .gpe/answer >> .gpe/error
    [ -s .gpe/error ] || echo "the submission failed ($gpe_rc)" > .gpe/error
    case $gpe_rc in 69 | 73 | 75) gpe_rc=1 ;; esac # these have a meaning of their own
    # batch: the profile's own gpe_is_away. An id in the answer says that a job was taken, whatever
    # the error says.
    "${gpe_read_words:-:}" "$1"
    ! gpe_is_away "$(cat .gpe/error)" ||
      LC_ALL=C grep -qEx -e "$gpe_id_pattern" .gpe/answer || gpe_rc=69
    return "$gpe_rc"
  fi
  [ ! -s .gpe/id ] || return 0 # the job itself has written it
  gpe_last_line=
  while read -r gpe_line || [ -n "$gpe_line" ]; do gpe_last_line=$gpe_line; done < .gpe/answer
  is_id "$gpe_last_line" || {
    {
      echo 'the batch system answered without a job id:'
      sed '/^$/d' .gpe/answer
    } | tee .gpe/submitting >> .gpe/error
    return 75
  }
  write_id "$gpe_last_line" || return 75
}
write_id() { # ID: unless there is one: the first to write it decides, this or the job itself
  set -C
  { printf '%s\n' "$1" > .gpe/id; } 2> /dev/null
  set +C
  # on a full disk, there is room in the other file
  [ -s .gpe/id ] || { printf '%s\n' "$1" > .gpe/id.told && mv .gpe/id.told .gpe/id; }
}
# LINE: does it match gpe_id_pattern? Most ids are plain numbers, for which no program is started.
is_id() {
  case $gpe_id_pattern in
  *')'*')?') ;;
  '[1-9][0-9]*' | '[1-9][0-9]*('*')?')
    case $1 in '' | 0* | *[!0123456789]*) ;; *) return 0 ;; esac
    ;;
  esac
  LC_ALL=C grep -qEx -e "$gpe_id_pattern" << END
$1
END
}
# Some batch systems take a day that no month has, as 2027-02-30, for another one.
check_start_time() {
  [ -z "$gpe_not_before" ] ||
    date -d "${gpe_not_before%T*} ${gpe_not_before#*T}" > /dev/null 2>&1 ||
    fail 1 "START_TIME $gpe_not_before is no time that exists here"
}
print_id() {
  link_id || fail 1 "$gpe_directory has the job $gpe_id, but the link to it cannot be created: \
START can be repeated"
  # a job needs nothing of these; nobody may read what is printed
  ! is_marked || rm -f "$gpe_mark" .gpe/answer .gpe/error .gpe/id.told
  printf '%s\n' "$gpe_id"
}
link_id() { # makes the link by which the other programs find the directory
  [ -z "$gpe_prepared" ] || return 0
  read -r gpe_id < .gpe/id
  case $gpe_id in '' | */* | .*) return 1 ;; esac
  ln -sfn -- "$gpe_directory" "$gpe_jobs/$gpe_id"
}
