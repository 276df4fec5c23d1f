# list-nodes.sh PROFILE[@CLUSTER]: prints the nodes and their states. Exit status of an error: that
# of sinfo.
main() { # PROFILE[@CLUSTER]
  set_up_slurm "$1"
  nodes=$(sinfo -h -N -o '%N %T') || exit
  printf '%s\n' "$nodes" | awk '
NF == 2 && $1 != "CLUSTER:" && !seen[$1]++ { # once, though it may be in many partitions
  word = tolower($2)
  flag = word
  gsub(/[a-z_]/, "", flag)
  gsub(/[^a-z_]/, "", word)
  if (flag ~ /\*/) word = "unresponsive/" word
  else if (flag ~ /\^/) word = "rebooting/" word
  else if (flag ~ /\$/) word = "maint/" word
  print $1 " " word
}'
}
