if [ ! -s .gpe_job_id ]; then
  # without a history, PBS takes such a job, drops it, and tells nothing of it
  gpe_jobs="${HOME:?}/.gpe/jobs/$gpe_profile" gpe_lives=gpe_may_run gpe_asked=''
  gpe_may_run() { [ ! -e "$2/.gpe_removed" ] && [ ! -e "$2/.gpe_limit" ]; }
  for gpe_i in $(printf '%s\n' "$gpe_dependency" | tr ',:' '\n\n'); do
    # what is left of an array says nothing of its tasks that have not begun
    case $gpe_i in after*) gpe_asked=$gpe_i; continue ;; *\[*) continue ;; esac
    gpe_check_dependency "$gpe_asked:$gpe_i"
    [ "$?" -ne 1 ] || { printf 'START: DEPENDENCY: %s:%s can never hold: that job has ended otherwise\n' "$gpe_asked" "$gpe_i" >&2; exit 1; }
  done
fi
