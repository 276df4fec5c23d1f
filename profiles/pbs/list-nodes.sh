# list-nodes.sh: prints the nodes and their states. Exit status of an error: that of pbsnodes.
main() {
  nodes=$(pbsnodes -a 2>&1)
  rc=$?
  case $rc:$nodes in
  0:*) ;;
  *'no node list'*) exit 0 ;;
  *)
    printf '%s\n' "${nodes:-pbsnodes failed: $rc}" >&2
    exit "$rc"
    ;;
  esac
  printf '%s\n' "$nodes" | awk '
function takes_no_jobs(word) {
  return word ~ /^(down|offline|stale|maintenance|sleep|initializing)$/ ||
    word ~ /unknown|unresolvable|provisioning/
}
/^[^ \t]/ { name = $1; next }
name != "" && $1 == "state" && $2 == "=" {
  sub(/^[^=]*= */, "")
  n = split($0, part, /[, ]+/)
  word = part[1]
  for (i = n; i > 0; i--) if (takes_no_jobs(part[i])) word = part[i]
  gsub(/[^A-Za-z-]/, "", word)
  print name " " word
  name = ""
}'
}
