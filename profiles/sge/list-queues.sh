# list-queues.sh: prints the queues and their states. Exit status of an error: that of qstat, or 1.
main() {
  gpe_ask '*</job_info>*' qstat -g c -xml || exit
  # manual_intervention counts the slots that are disabled, suspended, unreachable or in error
  printf '%s\n' "$gpe_text" | awk '
BEGIN { RS = "<" }
{ at = index($0, ">"); tag = substr($0, 1, at - 1); text = substr($0, at + 1) }
tag == "name" { name = text; sub(/[ \n]+$/, "", name) }
tag == "total" { total = text + 0 }
tag == "manual_intervention" { broken = text + 0 }
tag == "/cluster_queue_summary" {
  print name " " (total > 0 && broken >= total ? "disabled" : "enabled")
}'
}
