# COMMANDS SCRIPT: submits with the profile's gpe_submit, which gets the words of the script's lines
# #OPTION, and prints the job's id. The job has a copy of the commands, to find its own id. Few
# programs are started here: a submission takes as long as they do.
read_words=read_commands
submit_job() {
  drop_batch_variables
  read_commands "$1"
  cat -- "$1" > .gpe/commands.sh || return
  exec 3>&- # START keeps its lock; what the batch system leaves behind must not
  set -f
  gpe_read_array "$2" || : # false for a job without an array
  printf '%s\n' "$gpe_array" > .gpe/array || return
  read_options "$2"
  # shellcheck disable=SC2086
  answer=$(gpe_submit "$2" $options)
  rc=$?
  if [ "$rc" -ne 0 ]; then
    printf '%s\n' "$answer"
    [ "$rc" -ne 255 ] || rc=1 # ssh, which runs START, ends with 255 if it could not connect
    return "$rc"
  fi
  id=$(
    export LC_ALL=C
    gpe_read_id << END
$answer
END
  )
  printf '%s\n' "${id:-$answer}" # START reads the last line
}
read_options() { # SCRIPT: sets options to the words of its lines #OPTION
  options=
  while IFS= read -r line; do
    case $line in
    '#OPTION '*) options="$options ${line#\#OPTION }" ;;
    '#'* | '') ;;
    *) break ;;
    esac
  done < "$1"
}
