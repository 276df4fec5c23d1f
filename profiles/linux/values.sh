# NAME=VALUE... SCRIPT: sets these variables, whose names are the profile's, and script.
read_values() {
  while [ "$#" -gt 1 ]; do
    eval "${1%%=*}=\${1#*=}"
    shift
  done
  script=$1
}
# With nodes, processes and cpus: sets each that is missing, and slots to the processors of a node.
check_processes() {
  nodes=${nodes:-1} cpus=${cpus:-1}
  processes=${processes:-$nodes}
  [ "$processes" -ge "$nodes" ] || fail 1 "$processes processes cannot fill $nodes nodes"
  # shellcheck disable=SC2034  # the profile's function uses it
  slots=$(((processes + nodes - 1) / nodes * cpus))
}
