# list-nodes.sh: prints the hosts and their states. Exit status of an error: that of qhost, or 1.
main() {
  gpe_ask '*</qhost>*' qhost -xml || exit
  # "global" is no host; one whose daemon does not answer has no load
  printf '%s\n' "$gpe_text" | awk '
BEGIN { RS = "<" }
/^host name=/ { split($0, part, /[\042\047]/); name = part[2] }
/^hostvalue name=.load_avg/ && name != "global" {
  print name " " (substr($0, index($0, ">") + 1) ~ /^-/ ? "unreachable" : "up")
}'
}
