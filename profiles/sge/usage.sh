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
BEGIN { jobs = split(list, job, "\n") }
$1 == "usage" {
  sub(/:$/, "", $2)
  more = ""
  for (i = 3; i <= NF; i++) {
    sub(/,$/, "", $i)
    at = index($i, "=")
    value[substr($i, 1, at - 1)] = substr($i, at + 1)
  }
  if (value["cpu"] ~ /:.*:/) more = " cpu=" seconds(value["cpu"])
  if (value["maxvmem"] ~ /^[0-9]/) more = more sprintf(" memory=%.0f", bytes(value["maxvmem"]))
  for (i = 1; i <= jobs; i++) {
    task = split(job[i], part, ".") > 1 ? part[2] : 1
    if (task == $2) print job[i] " r" more
  }
}'
}
