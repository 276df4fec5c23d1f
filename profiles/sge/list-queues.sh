queues=$(qstat -g c -xml 2>&1)
rc=$?
case $rc:$queues in
0:*'</job_info>'*) ;;
*)
  printf '%s\n' "${queues:-qstat failed: $rc}" >&2
  [ "$rc" -ne 0 ] || rc=1
  exit "$rc"
  ;;
esac
# manual_intervention counts the slots that are disabled, suspended, unreachable or in error
printf '%s\n' "$queues" | awk '
BEGIN { RS = "<" }
{ at = index($0, ">"); tag = substr($0, 1, at - 1); text = substr($0, at + 1) }
tag == "name" { name = text; sub(/[ \n]+$/, "", name) }
tag == "total" { total = text + 0 }
tag == "manual_intervention" { broken = text + 0 }
tag == "/cluster_queue_summary" {
  print name " " (total > 0 && broken >= total ? "disabled" : "enabled")
}'
