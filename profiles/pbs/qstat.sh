gpe_qstat() {
  gpe_us=$(printf '\037') # no value that qstat prints holds this one
  gpe_text=$(qstat -x -f -F dsv -D "$gpe_us" "$@" 2>&1)
  gpe_rc=$?
  case $gpe_rc:$gpe_text in
  0: | 0:*'Job Id: '*) ;;
  0:*) # the server keeps no history: qstat says so, and prints no job
    gpe_text=$(qstat -f -F dsv -D "$gpe_us" "$@" 2>&1)
    gpe_rc=$? ;;
  esac
  case $gpe_rc:$gpe_text in
  0: | 0:*'Job Id:'*) ;;
  0:*) gpe_rc=1 ;; # it answers, but not about jobs
  esac
  if [ "$gpe_rc" -ne 0 ]; then
    printf '%s\n' "$gpe_text" >&2
    return "$gpe_rc"
  fi
  printf '%s\n' "$gpe_text" | awk -F"$gpe_us" '
/^Job Id: / {
  split("", job)
  for (i = 2; i <= NF; i++) { at = index($i, "="); job[substr($i, 1, at - 1)] = substr($i, at + 1) }
  sub(/@.*/, "", job["Job_Owner"])
  print substr($1, 9) "|" job["Job_Owner"] "|" job["job_state"] "|" job["substate"] "|" \
    job["Exit_status"] "|" job["exec_host"] "|" job["queue"] "|" job["Hold_Types"] "|" job["resources_used.walltime"] "|" job["comment"]
}'
}
