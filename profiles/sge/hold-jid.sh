if [ ! -s .gpe_job_id ]; then
  gpe_hold=
  for gpe_i in $gpe_dependency; do # a task is waited for with its array
    [ -d "$gpe_jobs/${gpe_i%.*}" ] || gpe_refuse "DEPENDENCY: there is no job $gpe_i of this profile"
    gpe_hold=$gpe_hold${gpe_hold:+,}${gpe_i%.*}
  done
  set -- "$@" -hold_jid "$gpe_hold"
fi
