# COMMANDS SCRIPT: submits with the profile's gpe_submit, which gets the words of the script's lines
# #OPTION, and prints the job's id. The job has a copy of the commands, to find its own id.
submit_job() {
  drop_batch_variables
  read_commands "$1"
  cat -- "$1" > .gpe/commands.sh || return
  exec 3>&- # START keeps its lock; what the batch system leaves behind must not
  set -f
  gpe_read_array "$2" || :
  printf '%s\n' "$gpe_array" > .gpe/array || return
  options=$(sed -n '2,/^[^#]/s/^#OPTION //p' "$2")
  # shellcheck disable=SC2086
  answer=$(gpe_submit "$2" $options)
  rc=$?
  if [ "$rc" -ne 0 ]; then
    printf '%s\n' "$answer"
    [ "$rc" -ne 255 ] || rc=1
    return "$rc"
  fi
  id=$(printf '%s\n' "$answer" | { export LC_ALL=C && gpe_read_id | tail -n 1; })
  printf '%s\n' "${id:-$answer}"
}
