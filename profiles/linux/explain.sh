# LINES: prints lines of states. A batch system tells only that a job was killed (265: by PBS); of
# one that killed itself, because SITE_SETUP failed or it could not use its directory or its files,
# prints the reason.
gpe_explain() {
  [ -n "$1" ] || return 0
  gpe_asked='^[^ ]+ [^ ]+ (exit=(137|265)|(exit=[0-9]+ )?signal=9)( |$)'
  printf '%s\n' "$1" | grep -vE "$gpe_asked"
  printf '%s\n' "$1" | grep -E "$gpe_asked" | while read -r gpe_line; do
    gpe_explain_kill "$gpe_line" || printf '%s\n' "$gpe_line"
  done
}
gpe_explain_kill() { # LINE: prints another line in its place; false if the job left no reason
  gpe_job_dir "${1%% *}" || return
  if [ -e "$gpe_dir/.gpe/failure" ]; then
    gpe_record "${1%% *}"
    return
  fi
  gpe_array_dir=${gpe_dir%/.gpe/tasks/*}
  [ ! -e "$gpe_dir/.gpe/output" ] && [ ! -e "$gpe_dir/.gpe/removed" ] || return
  [ -s "$gpe_array_dir/.gpe/id" ] || return
  gpe_why=
  case $1 in *' host='*) gpe_why=${1#* host=} gpe_why=${gpe_why%% *} ;; esac
  printf '%s exited/no-directory exit=137%s reason=%s %s on %s, %s\n' "${1%% *}" \
    "${gpe_why:+ host=$gpe_why}" 'the job could not enter its working directory' \
    "$(readlink -- "$gpe_jobs/$gpe_a")" "${gpe_why:-its node}" \
    'or not write there: does the node see it?'
}
