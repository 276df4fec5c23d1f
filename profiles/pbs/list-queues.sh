# list-queues.sh: prints the queues and their limits. Exit status of an error: that of qstat, or 1.
main() {
  words=$(qstat -Q -f 2>&1)
  rc=$?
  case $rc:$words in
  0: | 0:*Queue:*) ;;
  0:*) rc=1 ;;
  esac
  [ "$rc" -eq 0 ] || {
    printf '%s\n' "${words:-qstat failed: $rc}" >&2
    exit "$rc"
  }
  default=$(qstat -B -f 2> /dev/null | awk '
$1 == "default_queue" && $2 == "=" { print $3; exit }')
  printf '%s\n' "$words" | awk -v preferred="$default" "$awk_units"'
function yes(value) { return value ~ /^([Tt]rue|[Yy]es)$/ }
function limit(text, value) {
  if (value > 0 || text == "GPUS<=") limits = limits " " text value
}
function done() {
  if (name == "") return
  state = yes(enabled) ? "enabled" : "disabled"
  if (!yes(started)) state = state "/stopped"
  gsub(/,/, "|", groups)
  if (yes(restricted) && groups ~ /^[A-Za-z0-9_.|-]+$/) limits = limits " USER_GROUPS=" groups
  print name " " state (name == preferred ? " default" : "") limits
}
/^Queue:/ { done(); name = $2; enabled = started = restricted = groups = limits = ""; next }
# The memory and the GPUs are those of the whole job, so that no node can have more.
$1 == "resources_max.walltime" && $2 == "=" { limit("WALLTIME<=", seconds($3)) }
$1 == "resources_min.walltime" && $2 == "=" { limit("WALLTIME>=", seconds($3)) }
$1 == "resources_default.walltime" && $2 == "=" { limit("WALLTIME=", seconds($3)) }
$1 == "resources_max.nodect" && $2 == "=" { limit("NODES<=", $3 + 0) }
$1 == "resources_min.nodect" && $2 == "=" { limit("NODES>=", $3 + 0) }
$1 == "resources_max.mem" && $2 == "=" { limit("MEMORY<=", int(bytes($3) / 1048576)) }
$1 == "resources_max.ngpus" && $2 == "=" { limit("GPUS<=", $3 + 0) }
$1 == "acl_group_enable" && $2 == "=" { restricted = $3 }
$1 == "acl_groups" && $2 == "=" { groups = $3 }
$1 == "enabled" && $2 == "=" { enabled = $3 }
$1 == "started" && $2 == "=" { started = $3 }
END { done() }'
}
