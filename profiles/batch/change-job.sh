# change-job.sh COMMANDS PROFILE TEMPLATE ID [SIGNAL]: runs gpe_hold, gpe_resume or gpe_signal of
# the profile. Exit status 1: the profile has no such command, or the batch system refuses; 2: it
# does not answer.
main() {
  profile=$2 template=$3 id=$4
  read_commands "$1"
  case $template in
  HOLD) words=$(gpe_hold "$id" 2>&1) ;;
  RESUME) words=$(gpe_resume "$id" 2>&1) ;;
  SIGNAL) words=$(gpe_signal "$id" "$5" 2>&1) ;;
  esac && exit
  printf '%s: job %s: %s\n' "$template" "$id" "${words:-the batch system refused it}" >&2
  gpe_list > /dev/null 2>&1 || exit 2
  exit 1
}
