# usage.sh PROFILE[@CLUSTER] ID: prints what a job took, or takes until now. Exit status 1: nobody
# knows.
template=USAGE
main() { # PROFILE[@CLUSTER] ID
  set_up_slurm "$1"
  known=$(gpe_squeue -j "$id" 2> /dev/null | gpe_format_states "$id")
  running=$(printf '%s\n' "$known" | awk '
$2 ~ /^(RUNNING|COMPLETING|SUSPENDED|STOPPED|SIGNALING|STAGE_OUT)/ { print $1 }')
  steps=$(print_steps) accounts=
  if [ -z "$running" ] || [ "$running" != "$id" ]; then
    accounts=$(print_accounts) || accounts=
  fi
  records=$(print_records)
  print_usage || fail 'is unknown: neither Slurm nor a record knows it'
}
print_steps() { # ID|STEP|MaxRSS|AveCPU|NTasks: sstat wants to be asked for each task by itself
  for task in $running; do
    sstat -a -n -P ${SLURM_CLUSTERS:+-M "$SLURM_CLUSTERS"} -j "$task" \
      -o JobID,MaxRSS,AveCPU,NTasks 2> /dev/null | awk -v task="$task" '{ print task "|" $0 }'
  done
}
print_accounts() { # JobID|ElapsedRaw|TotalCPU|MaxRSS, of the job and of its steps
  sacct -n -P ${SLURM_CLUSTERS:+-M "$SLURM_CLUSTERS"} -j "$id" \
    -o JobID,ElapsedRaw,TotalCPU,MaxRSS 2> /dev/null
}
print_records() { # of what has ended, or is not known: what the job itself has measured
  printf '%s\n' "$known" | awk '$2 !~ /^(PENDING|RUNNING)/ { print $1 }' |
    while read -r one; do [ -z "$one" ] || gpe_record "$one"; done
  [ -n "$known" ] || gpe_record "$id"
}
print_usage() { # a line for each job or task; false if there are none
  printf '%s\n' known "$known" steps "$steps" accounts "$accounts" records "$records" |
    LC_ALL=C awk -v id="$id" "$awk_units"'
function value(name, digits) { # what is behind NAME in the line
  if (!match($0, " " name digits)) return ""
  return substr($0, RSTART + length(name) + 1, RLENGTH - length(name) - 1)
}
function put(one, elapsed, cpu, memory) {
  if (!(one in seen)) {
    seen[one]
    ids[++count] = one
  }
  if (elapsed != "") time[one] = elapsed
  if (cpu != "") used[one] = cpu
  if (memory != "" && memory > largest[one]) largest[one] = memory
}
function put_step() {
  split($0, field, "|")
  if (field[4] ~ /:/) cpu[field[1]] += seconds(field[4]) * (field[5] > 0 ? field[5] : 1)
  put(field[1], "", cpu[field[1]], field[3] == "" ? "" : bytes(field[3]))
}
function put_account(one, is_step) {
  split($0, field, "|")
  one = field[1]
  is_step = sub(/\..*/, "", one)
  if (one != id && index(one, id "_") != 1) return
  account[one]
  put(one, is_step ? "" : field[2], is_step || field[3] !~ /:/ ? "" : seconds(field[3]),
    field[4] == "" ? "" : bytes(field[4]))
}
function put_record(elapsed, memory) {
  if ($1 in account && $1 in largest) return
  elapsed = $1 in time ? "" : value("elapsed=", "[0-9.]+")
  memory = value("memory=", "[0-9]+")
  put($1, elapsed, value("cpu=", "[0-9.]+"), memory == "" ? "" : memory + 0)
}
function print_line(one, line) {
  line = one " usage"
  if (one in time) line = line " elapsed=" time[one]
  if (one in used) line = line sprintf(" cpu=%.2f", used[one])
  if (one in largest) line = line sprintf(" memory=%.0f", largest[one])
  if (line != one " usage") print line
}
/^(known|steps|accounts|records)$/ {
  part = $0
  next
}
!NF { next }
part == "known" { put($1, value("elapsed=", "[0-9]+")) }
part == "steps" { put_step() }
part == "accounts" { put_account() }
part == "records" { put_record() }
END {
  for (i = 1; i <= count; i++) print_line(ids[i])
  exit !count
}'
}
