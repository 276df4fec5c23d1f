hosts=$(qhost -xml 2>&1)
rc=$?
case $rc:$hosts in
0:*'</qhost>'*) ;;
*)
  printf '%s\n' "${hosts:-qhost failed: $rc}" >&2
  [ "$rc" -ne 0 ] || rc=1
  exit "$rc"
  ;;
esac
# "global" is no host; one whose daemon does not answer has no load
printf '%s\n' "$hosts" | awk '
BEGIN { RS = "<" }
/^host name=/ { split($0, part, /[\042\047]/); name = part[2] }
/^hostvalue name=.load_avg/ && name != "global" {
  print name " " (substr($0, index($0, ">") + 1) ~ /^-/ ? "unreachable" : "up")
}'
