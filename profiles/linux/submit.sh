# submit.sh OPTION... COMMAND [WORD...]: submits the job script that it reads, once for its working
# directory, and prints the job's id. Repeated in the same directory, it submits nothing and prints
# the same id.
#   --profile NAME --directory PATH --id-pattern ERE
#   --job FILE            the functions of the job script, of which the directory gets a copy
#   --keep ERE            names of variables that the job inherits, though they are of another job
#   --after CONDITIONS    the conditions on other jobs, to check them
#   --not-before TIME     the earliest start, to check it
# Exit status 73: nothing was done. 75: nobody knows whether there is a job. Any other but 0: the
# command has failed. After all but 73, find-job.sh finds out whether there is a job all the same,
# and then this can be repeated.
main() { # COMMAND...
  if [ -n "$in_session" ]; then
    submit_in_session "$@"
    exit
  fi
  drop_job_variables
  enter_directory
  if [ ! -s .gpe/id ]; then
    submit_once "$@"
  elif ! LC_ALL=C grep -qEx -e "$id_pattern" .gpe/id; then
    fail 1 "$directory/.gpe/id does not contain a job id"
  fi
  print_id
}
# Unsets the variables of a job that runs this program, as the new job is no part of it, and those
# that the functions of a job script obey.
drop_job_variables() {
  unset GPE_JOB_ID GPE_ARRAY_ID GPE_ARRAY_INDEX GPE_NODE_FILE
  unset gpe_id gpe_task gpe_task_id gpe_array gpe_nodes gpe_queue gpe_project gpe_cputime
  unset gpe_dependency gpe_start_time gpe_profile gpe_begin gpe_enter gpe_end gpe_exit
  unset gpe_run_tasks gpe_container gpe_container_command gpe_processes gpe_tmp gpe_watch
  unset gpe_enlisting gpe_lives
}
fail() { # STATUS MESSAGE
  printf 'START: %s\n' "$2" >&2
  exit "$1"
}
# COMMAND...: returns when .gpe/id has the id of this job, or of one that was submitted meanwhile.
submit_once() {
  # one submission at a time; ksh closes 3 for a command that does not name it
  command exec 3> .gpe/lock && flock 3 3>&3 || exit 73
  rc=75
  if [ ! -s .gpe/id ] && make_mark; then
    if ! write_script; then
      rm -f .gpe/submitting
      exit 73
    fi
    run_submission "$@"
    rc=$?
  fi
  [ ! -s .gpe/error ] || cat .gpe/error >&2
  if [ ! -s .gpe/id ]; then
    # 126, 127: setsid cannot be run. Else a failed command has said why, and what was killed has
    # not.
    case $rc in
    75) ;;
    126 | 127) exit "$rc" ;;
    *) [ ! -s .gpe/error ] || exit "$rc" ;;
    esac
    fail 75 "whether a job was submitted in $directory is not known: FIND_JOB finds out, \
then START can be repeated"
  fi
  exec 3>&-
}
# Makes the mark: from here on, only FIND_JOB can tell whether there is a job. It stays, and a job
# of this directory without it runs nothing. False if there is one already.
make_mark() {
  set -C
  { printf '' > .gpe/submitting; } 2> /dev/null
  made=$?
  set +C
  [ "$made" -eq 0 ] || [ -e .gpe/submitting ] || fail 73 "cannot write in $directory"
  return "$made"
}
# The script's last line shows that it is whole: what writes it may be killed.
write_script() {
  cat -- "${job:-/dev/null}" > .gpe/job.sh & # at the same time as sed
  last=$(LC_ALL=C sed -n -e 'w .gpe/script' -e '$p') || return
  case $last in
  # busybox's sed does not say that the disk is full
  gpe_end_job | '# end of the job script') [ -s .gpe/script ] || return ;;
  *)
    echo 'START: the job script has no end' >&2
    return 1
    ;;
  esac
  [ ! -e .gpe/tasks ] && [ ! -e .gpe/waiting ] || rm -rf .gpe/tasks .gpe/waiting
  wait "$!" || return
  # if there is no room for these, nothing is submitted
  printf '' > .gpe/answer && printf '' > .gpe/error || return
  printf '' > .gpe/id.told
}
run_submission() {                  # COMMAND...
  if [ "$1" = start_session ]; then # a job of this machine makes its own session
    (submit_in_session "$@") < /dev/null
  else # in a session of its own: what ends this shell does not cut it off
    setsid sh "$program" --in-session "$umask" --profile "$profile" --directory "$directory" \
      --id-pattern "$id_pattern" --keep "$keep" --after "$after" --not-before "$not_before" \
      "$@" < /dev/null 3>&3
  fi
}
submit_in_session() { # COMMAND...: leaves the id in .gpe/id, or the reason in .gpe/error
  (
    umask "$umask"
    check_start_time && submit_job "$@" .gpe/script
  ) > .gpe/answer 2> .gpe/error
  rc=$?
  if [ "$rc" -ne 0 ]; then
    cat .gpe/answer >> .gpe/error
    [ -s .gpe/error ] || echo "the submission failed ($rc)" > .gpe/error
    case $rc in 73 | 75) rc=1 ;; esac # these have a meaning of their own
    exit "$rc"
  fi
  last=
  while read -r line || [ -n "$line" ]; do last=$line; done < .gpe/answer
  if ! LC_ALL=C grep -Ex -e "$id_pattern" > .gpe/id.told << END
$last
END
  then
    {
      echo 'the batch system answered without a job id:'
      cat .gpe/answer
    } | tee .gpe/submitting >> .gpe/error
    exit 75
  fi
  # the first to write the id decides: this, or the job itself
  ln .gpe/id.told .gpe/id 2> /dev/null || [ -s .gpe/id ] || mv .gpe/id.told .gpe/id || exit 75
}
# Some batch systems take a day that no month has, as 2027-02-30, for another one.
check_start_time() {
  [ -z "$not_before" ] || date -d "${not_before%T*} ${not_before#*T}" > /dev/null 2>&1 ||
    fail 1 "START_TIME $not_before is no time that exists here"
}
print_id() { # and makes the link by which the other programs find the directory
  read -r id < .gpe/id
  case $id in
  '' | */* | .*) ;;
  *)
    if ln -sfn -- "$directory" "$gpe_jobs/$id"; then
      printf '%s\n' "$id"
      return
    fi
    ;;
  esac
  fail 1 "$directory has the job $id, but the link to it cannot be created: START can be repeated"
}
