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
/^[^ \t]/ { name = $1; next }
name != "" && $1 == "state" && $2 == "=" {
  sub(/^[^=]*= */, "")
  n = split($0, part, /[, ]+/)
  word = part[1]
  for (i = n; i > 0; i--) # of several words, one that says that it takes no jobs
    if (part[i] ~ /^(down|offline|stale|maintenance|sleep|initializing)$|unknown|unresolvable|provisioning/) word = part[i]
  gsub(/[^A-Za-z-]/, "", word)
  print name " " word
  name = ""
}'
