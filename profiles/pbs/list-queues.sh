queues=$(qstat -Q -f 2>&1)
rc=$?
case $rc:$queues in
0: | 0:*Queue:*) ;;
*)
  printf '%s\n' "${queues:-qstat failed: $rc}" >&2
  [ "$rc" -ne 0 ] || rc=1
  exit "$rc"
  ;;
esac
default=$(qstat -B -f 2> /dev/null | awk '
$1 == "default_queue" && $2 == "=" { print $3; exit }')
printf '%s\n' "$queues" | awk -v preferred="$default" '
function yes(value) { return value ~ /^([Tt]rue|[Yy]es)$/ }
function done() {
  if (name == "") return
  state = yes(enabled) ? "enabled" : "disabled"
  if (!yes(started)) state = state "/stopped"
  print name " " state (name == preferred ? " default" : "")
}
/^Queue:/ { done(); name = $2; enabled = ""; started = ""; next }
$1 == "enabled" && $2 == "=" { enabled = $3 }
$1 == "started" && $2 == "=" { started = $3 }
END { done() }'
