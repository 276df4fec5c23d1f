# change-job.sh COMMANDS PROFILE TEMPLATE ID [SIGNAL]: runs gpe_hold, gpe_resume or gpe_signal of
# the profile. Exit status 1: the profile has no such command, or the batch system refuses; 2: it
# does not answer.
main() {
  gpe_profile=$2 template=$3 id=$4
  set -f # a task is 12[3]
  read_commands "$1"
  case $template in
  HOLD) words=$(gpe_hold "$id" 2>&1) && becomes 0 ;;
  RESUME) words=$(gpe_resume "$id" 2>&1) && becomes 1 ;;
  SIGNAL) words=$(gpe_signal "$id" "$5" 2>&1) ;;
  esac && exit
  printf '%s: job %s: %s\n' "$template" "$id" "${words:-the batch system refused it}" >&2
  gpe_list > /dev/null 2>&1 || exit 2
  exit 1
}
# STATUS: waits until the job is held (0), or not (1), if the profile can tell: some batch systems
# say yes at once, and do it later, or not at all.
becomes() {
  n=0
  while [ "$n" -lt 20 ]; do
    is_held
    rc=$?
    [ "$rc" -ne "$1" ] && [ "$rc" -ne 2 ] || return 0
    sleep 0.5
    n=$((n + 1))
  done
  words="it is $([ "$1" -eq 0 ] && echo not || echo still) held, though the batch system took it"
  return 1
}
is_held() { # is the job, or a task of it? 2: that is not known
  gpe_lines=$(gpe_list 2> /dev/null) || return 2
  for state in $(printf '%s\n' "$gpe_lines" | awk -v id="$id" "$gpe_awk_whole"'
$1 == id || whole($1) == id { print $2 }') none; do
    gpe_is_held "$state"
    rc=$?
    [ "$rc" -eq 1 ] || return "$rc"
  done
  return 1
}
