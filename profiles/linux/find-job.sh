# find-job.sh --profile NAME --directory PATH --id-pattern ERE [COMMAND...]: prints the id of the
# job that was submitted in a directory, or nothing. It waits for a submission that is under way. If
# one was interrupted and there is no job, it is given up: should its job begin later, it runs
# nothing. COMMAND, which some profiles have, asks the batch system. Exit status 73: the directory
# cannot be used. 75, or any other but 0: it is not known whether there is a job.
main() { # COMMAND...
  set_up_commands
  check_file_system
  # without a directory, there never was a START
  [ -d "$gpe_directory" ] || exit 0
  enter_directory
  gpe_link_old_files "$PWD"
  take_lock || exit 75
  if [ ! -s .gpe/id ] && [ -e .gpe/submitting ]; then
    id=$(find_job "$@" 3>&-) ||
      fail 75 "the batch system cannot be asked for the job of $gpe_directory"
    settle "$id"
  fi
  [ -s .gpe/id ] || exit 0
  id=$(grep -Ex -e "$gpe_id_pattern" .gpe/id) ||
    fail 75 "$gpe_directory/.gpe/id does not contain a job id"
  ln -sfn -- "$gpe_directory" "$gpe_jobs/$id" ||
    fail 75 "$gpe_directory has the job $id, but the link to it cannot be created"
  rm -f "$gpe_mark"
  printf '%s\n' "$id"
}
fail() { # STATUS MESSAGE
  printf 'FIND_JOB: %s\n' "$2" >&2
  exit "$1"
}
settle() { # ID: writes down the id that was found; without one, gives the submission up
  if [ -n "$1" ]; then
    printf '%s\n' "$1" | grep -Ex -e "$gpe_id_pattern" > .gpe/id.found ||
      fail 75 "the batch system told $1, which is not a job id"
    ln .gpe/id.found .gpe/id 2> /dev/null || [ -s .gpe/id ] || mv .gpe/id.found .gpe/id || exit 1
    rm -f .gpe/id.found
  elif [ -s .gpe/submitting ]; then
    fail 75 "no job of $gpe_directory is found, but $(cat .gpe/submitting) \
(if there is none, remove $gpe_directory/.gpe/submitting)"
  else
    # A job of this directory that begins from now on runs nothing. One that has just looked for the
    # mark has time to write its id; one that finds no mark removes its id again.
    rm -f .gpe/submitting .gpe_submitting "$gpe_mark" && sleep 0.2 || exit 1
  fi
}
