# FILE: defines the commands of the batch system, with what they are if the profile leaves them out.
read_commands() {
  gpe_read_id() { cat; }
  gpe_find() { :; }
  gpe_list_ended() { :; }
  gpe_has_ended() { false; }
  gpe_is_limit() { false; }
  gpe_is_removal() { false; }
  gpe_is_held() { return 2; }
  gpe_complete_ids() { :; }
  gpe_name_tasks() { ID=$1 awk '{ print ENVIRON["ID"] "_" $0 }'; }
  gpe_submit() { refuse 'does not define gpe_submit'; }
  gpe_list() { refuse 'does not define gpe_list'; }
  gpe_cancel() { refuse 'does not define gpe_cancel'; }
  gpe_hold() { refuse 'cannot hold jobs'; }
  gpe_resume() { refuse 'cannot hold jobs'; }
  gpe_signal() { refuse 'cannot send signals to jobs'; }
  # shellcheck disable=SC1090  # of the profile that extends batch
  . "$1"
}
# gpe_awk_whole has the function whole(ID) of awk, which returns the array of a task: 12 of 12_3,
# 12.3 and 12[3], and 12[].server of 12[3].server.
# shellcheck disable=SC2034  # the functions of other files use it
gpe_awk_whole='
function whole(id) {
  if (!sub(/([_.][0-9]+|\[[0-9]+\])$/, "", id)) sub(/\[[0-9]+\]/, "[]", id)
  return id
}
'
# ID: sets gpe_state to the words for its state, of an array each once; false, and says so, if it is
# not in the list.
gpe_read_state() {
  gpe_lines=$(gpe_list "$1") || return
  gpe_state=$(printf '%s\n' "$gpe_lines" | awk -v id="$1" "$gpe_awk_whole"'
($1 == id || whole($1) == id) && !seen[$2]++ { printf "%s%s", n++ ? " " : "", $2 }')
  [ -n "$gpe_state" ] && return
  echo 'it is unknown'
  return 1
}
# ERE COMMAND: is gpe_text, the list that the command printed, one of a known shape? It has a line
# of a job, which is like the ERE, or no number, so that it has no job. Else nothing is known of any
# job.
gpe_check_list() {
  # shellcheck disable=SC2154  # the profile's function sets it
  case $gpe_text in *[0-9]*) ;; *) return 0 ;; esac
  printf '%s\n' "$gpe_text" | grep -qE -e "$1" && return
  printf '%s: the list has a shape that is not known here: %s\n' "$2" "$gpe_text" | head -n 3 >&2
  return 1
}
# STATES ID: false if the job is in none of these states, an ERE: some batch systems take a hold of
# any job, and then do nothing, or do it later.
gpe_require() {
  gpe_lines=$(gpe_list) || return
  printf '%s\n' "$gpe_lines" | grep -qE "^$2 ($1)([ /]|\$)" ||
    { echo "it is unknown, or not in the state $1" && return 1; }
}
refuse() { # WHAT
  printf '%s %s\n' "${gpe_profile:?}" "$1" >&2
  return 1
}
