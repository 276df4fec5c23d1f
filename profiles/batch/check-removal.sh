# A job that is cancelled as it begins does not run its program. It leaves no exit status, which
# ABORT would take for an earlier end. The program's own shell looks again: until that one begins, a
# signal of the batch system's ends nothing.
gpe_check_removal() {
  [ -e .gpe/removed ] || [ -e "$GPE_WORKING_DIRECTORY/.gpe/removed" ] || return 0
  echo 'seen by the job' >> .gpe/removed
  trap - EXIT
  exit 143
}
# shellcheck disable=SC2034  # job.sh calls them
gpe_begin=gpe_check_removal gpe_enter=gpe_check_removal
