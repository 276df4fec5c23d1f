# usage.sh PROFILE ID: prints what a job took, or takes until now. Exit status 1: nobody knows.
id=$2
gpe_jobs=${HOME:?}/.gpe/jobs/$1
# 3 second(s)|2.0 second(s)|200 Mbytes
jobs=$(LC_ALL=C bjobs -a -noheader -o "jobid jobindex stat run_time cpu_used max_mem delimiter='|'" "$id" 2>&1 | awk -F'|' '
NF == 6 && $1 ~ /^[0-9]+(\[[0-9]+\])?$/ {
  sub(/\[.*/, "", $1)
  line = $1 ($2 > 0 ? "[" $2 "]" : "") " " $3
  if ($4 ~ /^[0-9]/) line = line " elapsed=" $4 + 0
  if ($5 ~ /^[0-9]/) line = line " cpu=" $5 + 0
  if ($6 ~ /^[0-9]/) { split($6, word, " "); line = line sprintf(" memory=%.0f", word[1] * 1024 ^ index("KMGT", toupper(substr(word[2], 1, 1)))) }
  if ($3 != "PEND") print line
}')
[ -z "$jobs" ] || {
  printf '%s\n' "$jobs"
  exit
}
gpe_record "$id" || {
  printf 'USAGE: neither bjobs nor a record knows what job %s took\n' "$id" >&2
  exit 1
}
