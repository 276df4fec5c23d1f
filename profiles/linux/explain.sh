gpe_explain() { # LINES: prints lines of states. A batch system tells only that a job was killed: if it was SITE_SETUP, or the job has never begun, it left that.
  [ -n "$1" ] || return 0
  gpe_killed='^[^ ]+ [^ ]+ (exit=(137|265)|(exit=[0-9]+ )?signal=9)( |$)'
  printf '%s\n' "$1" | LC_ALL=C grep -vE -e "$gpe_killed" || :
  printf '%s\n' "$1" | LC_ALL=C grep -E -e "$gpe_killed" | while read -r gpe_line; do
    if ! gpe_job_dir "${gpe_line%% *}"; then
      printf '%s\n' "$gpe_line"
    elif [ -e "$gpe_dir/.gpe/failure" ]; then
      gpe_record "${gpe_line%% *}" || printf '%s\n' "$gpe_line"
    elif [ -e "$gpe_dir/.gpe/output" ] || [ -e "$gpe_dir/.gpe/removed" ] || [ ! -s "${gpe_dir%/.gpe/tasks/*}/.gpe/id" ]; then
      printf '%s\n' "$gpe_line"
    else
      gpe_why='' gpe_where=$(readlink -- "${gpe_dir%/.gpe/tasks/*}")
      case $gpe_line in *' host='*) gpe_why=${gpe_line#* host=} gpe_why=${gpe_why%% *} ;; esac
      printf '%s exited/no-directory exit=137%s reason=the job could not enter its working directory %s on %s, or not write there: does the node see it?\n' \
        "${gpe_line%% *}" "${gpe_why:+ host=$gpe_why}" "$gpe_where" "${gpe_why:-its node}"
    fi
  done
}
