if [ ! -s .gpe_job_id ]; then
  gpe_hold=
  for gpe_i in $gpe_dependency; do # a task is waited for with its array
    gpe_job_dir "$gpe_i" && case $gpe_i in
    *.*) # START's directive of the array has its indices
      sed -n 's/^#\$ -t //p' "$gpe_jobs/${gpe_i%.*}/.gpe_job" | awk -F '[-:]' -v task="${gpe_i#*.}" '
{ known = task >= $1 + 0 && task <= (NF > 1 ? $2 : $1) + 0 && (task - $1) % (NF > 2 ? $3 : 1) == 0 }
END { exit !known }' ;;
    *) [ -d "$gpe_dir" ] ;;
    esac || gpe_refuse "DEPENDENCY names $gpe_i, which is no job of this profile"
    gpe_hold=$gpe_hold${gpe_hold:+,}${gpe_i%.*}
  done
  set -- "$@" -hold_jid "$gpe_hold"
fi
