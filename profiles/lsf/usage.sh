# usage.sh PROFILE ID: prints what a job took, or takes until now. Exit status 1: nobody knows.
template=USAGE
main() { # PROFILE ID
  jobs=$(print_jobs)
  if [ -n "$jobs" ]; then
    printf '%s\n' "$jobs"
  else
    gpe_record "$id" || fail 'has no usage: neither bjobs nor a record knows what it took'
  fi
}
print_jobs() { # of lines as 12|-|DONE|3 second(s)|2.0 second(s)|200 Mbytes
  fields='jobid jobindex stat run_time cpu_used max_mem'
  bjobs -a -noheader -o "$fields delimiter='|'" "$id" 2>&1 | awk -F'|' "$awk_units"'
NF == 6 && $1 ~ /^[0-9]+(\[[0-9]+\])?$/ {
  sub(/\[.*/, "", $1)
  line = $1 ($2 > 0 ? "[" $2 "]" : "") " " $3
  if ($4 ~ /^[0-9]/) line = line " elapsed=" $4 + 0
  if ($5 ~ /^[0-9]/) line = line " cpu=" $5 + 0
  if ($6 ~ /^[0-9]/) line = line sprintf(" memory=%.0f", bytes($6))
  if ($3 != "PEND") print line
}'
}
