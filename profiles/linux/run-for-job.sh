# The end of a program about one job, PROFILE ID [WORD...]; template has the name for its messages.
fail() { # WHAT is wrong with the job
  printf '%s: job %s %s\n' "$template" "$id" "$1" >&2
  exit 1
}
set_up_commands
# shellcheck disable=SC2034  # not all need it
gpe_jobs=${HOME:?}/.gpe/jobs/$1
id=$2
main "$@" # at the end: a file that is cut off runs nothing
