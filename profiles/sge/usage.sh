# usage.sh PROFILE ID: prints what a job took, or takes until now. Exit status 1: nobody knows; 2:
# qstat fails.
template=USAGE
main() { # PROFILE ID
  jobs=$(gpe_qstat) || exit 2
  running=$(printf '%s\n' "$jobs" | awk -v id="$id" '
($1 == id || index($1, id ".") == 1) && $2 !~ /q/ { print $1 }')
  [ -z "$running" ] || print_running
  case $id in *.*) [ -z "$running" ] || exit 0 ;; esac
  if ended=$(gpe_qacct "$id" 2>&1); then
    printf '%s\n' "$ended"
  elif [ -z "$running" ] && ! gpe_record "$id"; then
    fail "is not known: $ended"
  fi
}
print_running() {
  # usage         1:   cpu=00:00:02, mem=0.17346 GBs, io=0.00000, vmem=212.402M, maxvmem=212.402M
  qstat -j "${id%.*}" | awk -v list="$running" "$awk_units"'
BEGIN {
  jobs = split(list, line, "\n")
  for (i = 1; i <= jobs; i++) job[split(line[i], part, ".") > 1 ? part[2] ":" : "1:"] = line[i]
}
$1 == "usage" && $2 in job {
  more = ""
  for (i = 3; i <= NF; i++) {
    sub(/,$/, "", $i)
    if ($i ~ /^cpu=.*:.*:/) more = " cpu=" seconds(substr($i, 5))
    if ($i ~ /^maxvmem=[0-9]/) more = more sprintf(" memory=%.0f", bytes(substr($i, 9)))
  }
  print job[$2] " r" more
}'
}
