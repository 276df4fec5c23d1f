# list-queues.sh PROFILE[@CLUSTER]: prints the partitions and their limits. Exit status of an error:
# that of sinfo.
main() { # PROFILE[@CLUSTER]
  set_up_slurm "$1"
  queues=$(sinfo -h -o '%P|%a|%l|%L|%s|%g|%m|%G') || exit
  # A partition has a line for each kind of node in it: its limits are those of the largest.
  printf '%s\n' "$queues" | awk -F'|' "$awk_units"'
function count_gpus(text, entries, fields, count, sum, i) {
  gsub(/\([^)]*\)/, "", text)
  count = split(text, entries, ",")
  for (i = 1; i <= count; i++)
    if (entries[i] ~ /^gpu(:|$)/)
      sum += match(entries[i], /:[0-9]+$/) ? substr(entries[i], RSTART + 1) : 1
  return sum + 0
}
NF == 8 {
  name = $1
  mark = sub(/\*$/, "", name) ? " default" : ""
  if (!(name in line)) {
    names[++total] = name
    line[name] = name " " $2 mark
    if (seconds($3)) line[name] = line[name] " WALLTIME<=" seconds($3)
    if (seconds($4)) line[name] = line[name] " WALLTIME=" seconds($4)
    split($5, nodes, "-")
    if (nodes[1] > 1) line[name] = line[name] " NODES>=" nodes[1] + 0
    if ($5 !~ /infinite/) line[name] = line[name] " NODES<=" ($5 ~ /-/ ? nodes[2] : nodes[1]) + 0
    groups = $6
    gsub(/,/, "|", groups)
    if (groups ~ /^[A-Za-z0-9_.|-]+$/ && groups != "all")
      line[name] = line[name] " USER_GROUPS=" groups
  }
  if ($7 + 0 > memory[name]) memory[name] = $7 + 0
  if (count_gpus($8) > gpus[name]) gpus[name] = count_gpus($8)
}
END {
  for (i = 1; i <= total; i++) {
    name = names[i]
    print line[name] (memory[name] > 1 ? " MEMORY<=" memory[name] : "") " GPUS<=" gpus[name] + 0
  }
}'
}
