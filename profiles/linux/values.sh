# NAME=VALUE... SCRIPT: sets gpe_NAME of each, whose names are the profile's, and gpe_script.
read_values() {
  while [ "$#" -gt 1 ]; do
    eval "gpe_${1%%=*}=\${1#*=}"
    shift
  done
  gpe_script=$1
}
# With gpe_nodes, gpe_processes and gpe_cpus: sets each that is missing, and gpe_slots to the
# processors of a node.
check_processes() {
  gpe_nodes=${gpe_nodes:-1} gpe_cpus=${gpe_cpus:-1}
  gpe_processes=${gpe_processes:-$gpe_nodes}
  [ "$gpe_processes" -ge "$gpe_nodes" ] ||
    fail 1 "$gpe_processes processes cannot fill $gpe_nodes nodes"
  # shellcheck disable=SC2034  # the profile's function uses it
  gpe_slots=$(((gpe_processes + gpe_nodes - 1) / gpe_nodes * gpe_cpus))
}
