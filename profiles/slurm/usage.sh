# usage.sh PROFILE[@CLUSTER] ID: prints what a job took, or takes until now. Exit status 1: nobody knows.
id=$2
gpe_jobs=${HOME:?}/.gpe/jobs/$1
known=$(gpe_squeue -j "$id" 2> /dev/null | gpe_show "$id")
running=$(printf '%s\n' "$known" | awk '$2 ~ /^(RUNNING|COMPLETING|SUSPENDED|STOPPED|SIGNALING|STAGE_OUT)/ { print $1 }')
steps='' accounts=''
# for the tasks of an array, sstat wants to be asked one by one
for task in $running; do
  steps="$steps$(sstat -a -n -P ${SLURM_CLUSTERS:+-M "$SLURM_CLUSTERS"} -j "$task" -o JobID,MaxRSS,AveCPU,NTasks 2> /dev/null | awk -v task="$task" '{ print task "|" $0 }')
"
done
[ -n "$running" ] && [ "$running" = "$id" ] ||
  accounts=$(sacct -n -P ${SLURM_CLUSTERS:+-M "$SLURM_CLUSTERS"} -j "$id" -o JobID,ElapsedRaw,TotalCPU,MaxRSS 2> /dev/null) || accounts=''
records=$(
  printf '%s\n' "$known" | awk '$2 !~ /^(PENDING|RUNNING)/ { print $1 }' | while read -r one; do gpe_record "$one"; done
  [ -n "$known" ] || gpe_record "$id"
)
printf '%s\n' "$known" "known" "$steps" "steps" "$accounts" "accounts" "$records" | LC_ALL=C awk -v id="$id" '
function seconds(t, n, days, part, s) { # 1-02:03:04.5
  days = sub(/-/, ":", t)
  n = split(t, part, ":")
  s = part[n] + 60 * part[n - 1] + (n > 2 ? 3600 * part[n - 2] : 0) + (days ? 86400 * part[1] : 0)
  return s
}
function bytes(t) { return t * 1024 ^ index("KMGTP", substr(t, length(t))) }
function put(one, elapsed, cpu, memory) {
  if (!(one in seen)) { seen[one]; ids[++count] = one }
  if (elapsed != "") time[one] = elapsed
  if (cpu != "") used[one] = cpu
  if (memory != "" && memory > largest[one]) largest[one] = memory
}
/^(known|steps|accounts)$/ { part = $0; next }
!NF { next }
part == "" { # squeue, after gpe_show
  put($1, match($0, / elapsed=[0-9]+/) ? substr($0, RSTART + 9, RLENGTH - 9) : "")
  next
}
part == "known" { # ID|STEP|MaxRSS|AveCPU|NTasks
  split($0, field, "|")
  if (field[4] ~ /:/) cpu[field[1]] += seconds(field[4]) * (field[5] > 0 ? field[5] : 1)
  put(field[1], "", cpu[field[1]], field[3] ~ /^[0-9]/ ? bytes(field[3]) : "")
  next
}
part == "steps" { # JobID|ElapsedRaw|TotalCPU|MaxRSS, of the job and of its steps
  split($0, field, "|")
  one = field[1]
  is_step = sub(/\..*/, "", one)
  if (one != id && index(one, id "_") != 1) next
  account[one]
  put(one, is_step ? "" : field[2], is_step || field[3] !~ /:/ ? "" : seconds(field[3]), field[4] ~ /^[0-9]/ ? bytes(field[4]) : "")
  next
}
{ # the record of the job itself
  if ($1 in account && $1 in largest) next
  put($1, $1 in time || !match($0, / elapsed=[0-9.]+/) ? "" : substr($0, RSTART + 9, RLENGTH - 9),
    !match($0, / cpu=[0-9.]+/) ? "" : substr($0, RSTART + 5, RLENGTH - 5),
    !match($0, / memory=[0-9]+/) ? "" : substr($0, RSTART + 8, RLENGTH - 8) + 0)
}
END {
  for (i = 1; i <= count; i++) {
    one = ids[i]
    if (one in time || one in used || one in largest)
      print one " usage" (one in time ? " elapsed=" time[one] : "") (one in used ? sprintf(" cpu=%.2f", used[one]) : "") (one in largest ? sprintf(" memory=%.0f", largest[one]) : "")
    found = 1
  }
  exit !found
}' || {
  printf 'USAGE: neither Slurm nor a record knows job %s\n' "$id" >&2
  exit 1
}
