# usage.sh PROFILE[@CLUSTER] ID: prints what a job took, or takes until now. Exit status 1: nobody
# knows.
template=USAGE
main() { # PROFILE[@CLUSTER] ID
  set_up_slurm "$1"
  known=$(gpe_squeue -j "$id" 2> /dev/null | gpe_format_states "$id")
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
  sacct -n -P ${SLURM_CLUSTERS:+-M "$SLURM_CLUSTERS"} -j "$id" \
    -o JobID,ElapsedRaw,TotalCPU,MaxRSS,ConsumedEnergyRaw 2> /dev/null |
    awk -F'|' -v id="$id" "$awk_units"'
{ is_step = sub(/\..*/, "", $1) }
$1 != id && index($1, id "_") != 1 { next }
!is_step {
  cpu = ($3 ~ /:/ ? sprintf(" cpu=%.2f", seconds($3)) : "")
  print $1, "usage elapsed=" $2 cpu ($5 ~ /^[0-9]+$/ ? " energy=" $5 : "")
}
$4 != "" && bytes($4) > memory[$1] { memory[$1] = bytes($4) }
END { for (one in memory) print one, "usage" sprintf(" memory=%.0f", memory[one]) }'
}
print_records() { # of what has ended, or is not known: what the job itself has measured
  printf '%s\n' "$known" | awk '$2 !~ /^(PENDING|RUNNING)/ { print $1 }' |
    while read -r one; do [ -z "$one" ] || gpe_record "$one"; done
  [ -n "$known" ] || gpe_record "$id"
}
merge_lines() { # prints a line for each job or task, with the first of each value; false: none
  awk '
{
  for (i = 3; i <= NF && $i !~ /^reason=/; i++) {
    name = $i
    if (!sub(/=[0-9.]+$/, "", name) || name !~ /^(elapsed|cpu|memory|energy)$/) continue
    if (!($1 in known)) ids[++count] = $1
    known[$1]
    if (!(($1, name) in value)) value[$1, name] = " " $i
  }
}
END {
  for (i = 1; i <= count; i++) {
    one = ids[i]
    took = value[one, "elapsed"] value[one, "cpu"] value[one, "memory"] value[one, "energy"]
    print one " usage" took
  }
  exit !count
}'
}
