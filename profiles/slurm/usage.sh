# usage.sh PROFILE[@CLUSTER] IDS: prints what jobs took, or take until now. Exit status 1: nobody
# knows anything of them.
template=USAGE
main() { # PROFILE[@CLUSTER] IDS
  set_up_slurm "$1"
  set -f
  one=$id
  case $id in *' '*) one='' ;; esac
  # shellcheck disable=SC2086
  wholes=${one:-$(gpe_print_wholes $id)}
  known=$(gpe_squeue -j "$wholes" 2> /dev/null | gpe_format_states "$one")
  running=$(printf '%s\n' "$known" | awk '
$2 ~ /^(RUNNING|COMPLETING|SUSPENDED|STOPPED|SIGNALING|STAGE_OUT)/ { print $1 }')
  {
    printf '%s\n' "$known"
    print_steps
    [ "$running" = "$id" ] || print_accounts
    print_records
  } | merge_lines || fail 'is unknown: neither Slurm nor a record knows it'
}
print_steps() { # of what runs: sstat wants to be asked for each task by itself
  for task in $running; do
    sstat -a -n -P ${SLURM_CLUSTERS:+-M "$SLURM_CLUSTERS"} -j "$task" \
      -o JobID,MaxRSS,AveCPU,NTasks 2> /dev/null |
      awk -F'|' -v task="$task" "$awk_units"'
$3 ~ /:/ { cpu = sprintf(" cpu=%.2f", sum += seconds($3) * ($4 > 0 ? $4 : 1)) }
bytes($2) > memory { memory = bytes($2) }
END { if (NR) print task, "usage" cpu sprintf(" memory=%.0f", memory) }'
  done
}
print_accounts() { # of the job and of its tasks: the memory is told of their steps
  sacct -n -P ${SLURM_CLUSTERS:+-M "$SLURM_CLUSTERS"} -j "$wholes" \
    -o JobID,ElapsedRaw,TotalCPU,MaxRSS,ConsumedEnergyRaw,AllocTRES 2> /dev/null |
    awk -F'|' "$awk_units$awk_allocated"'
{ is_step = sub(/\..*/, "", $1) }
!is_step {
  cpu = ($3 ~ /:/ ? sprintf(" cpu=%.2f", seconds($3)) : "")
  print $1, "usage elapsed=" $2 cpu ($5 ~ /^[0-9]+$/ ? " energy=" $5 : "") allocated($6)
}
$4 != "" && bytes($4) > memory[$1] { memory[$1] = bytes($4) }
END { for (one in memory) print one, "usage" sprintf(" memory=%.0f", memory[one]) }'
}
print_records() { # of what has ended, or is not known: what the job itself has measured
  # shellcheck disable=SC2086
  printf '%s\n' "$known" = $id | awk '
$1 == "=" { asked = 1; next }
asked {
  if (!($1 in known)) print $1
  next
}
{
  if ($2 !~ /^(PENDING|RUNNING)/) print $1
  known[$1]
  sub(/_.*/, "", $1)
  known[$1]
}' | while read -r job; do [ -z "$job" ] || gpe_record "$job"; done
}
merge_lines() { # prints a line for each job or task, with the first of each value; false: none
  awk -v ids="$id" '
BEGIN { for (i = split(ids, job, " "); i > 0; i--) asked[job[i]] }
{
  array = $1
  sub(/_.*/, "", array)
}
!($1 in asked || array in asked) { next }
{
  for (i = 3; i <= NF && $i !~ /^reason=/; i++) {
    name = $i
    if (!sub(/=[0-9.]+$/, "", name)) continue
    if (name !~ /^(elapsed|cpu|memory|energy|cpus|allocated)$/) continue
    if (!($1 in known)) found[++count] = $1
    known[$1]
    if (!(($1, name) in value)) value[$1, name] = " " $i
  }
}
END {
  for (i = 1; i <= count; i++) {
    one = found[i]
    took = value[one, "elapsed"] value[one, "cpu"] value[one, "memory"] value[one, "energy"]
    print one " usage" took value[one, "cpus"] value[one, "allocated"]
  }
  exit !count
}'
}
