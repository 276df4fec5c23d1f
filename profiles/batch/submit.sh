# COMMANDS SCRIPT: submits with the profile's gpe_submit, which gets the words of the script's lines
# #OPTION, and prints the job's id. The job has a copy of the commands, to find its own id. Few
# programs are started here: a submission takes as long as they do.
gpe_read_words=read_commands
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
  gpe_answer=$(gpe_submit "$2" $gpe_options)
  gpe_rc=$?
  if [ "$gpe_rc" -ne 0 ]; then
    printf '%s\n' "$gpe_answer"
    [ "$gpe_rc" -ne 255 ] || gpe_rc=1 # ssh, which runs START, ends with 255 if it could not connect
    return "$gpe_rc"
  fi
  gpe_id=$(
    export LC_ALL=C
    gpe_read_id << END
$gpe_answer
END
  )
  printf '%s\n' "${gpe_id:-$gpe_answer}" # START reads the last line
}
read_options() { # SCRIPT: sets options to the words of its lines #OPTION
  gpe_options=
  while IFS= read -r gpe_line; do
    case $gpe_line in
    '#OPTION '*) gpe_options="$gpe_options ${gpe_line#\#OPTION }" ;;
    '#'* | '') ;;
    *) break ;;
    esac
  done < "$1"
}
