gpe_show() {
  GPE_JOBS=$gpe_jobs GPE_OLD=${gpe_jobs%/*} awk -F'|' -v id="$1" -v owner="$2" '
function hosts(list, n, i, part, seen, all) {
  n = split(list, part, "+")
  for (i = 1; i <= n; i++) {
    sub(/\/.*/, "", part[i])
    if (!(part[i] in seen)) all = all (all == "" ? "" : "+") part[i]
    seen[part[i]]
  }
  return all
}
function first(file, line) { line = ""; getline line < file; close(file); return line }
function left(name, line) {
  line = first(ENVIRON["GPE_JOBS"] "/" $1 "/" name)
  return line == "" ? first(ENVIRON["GPE_OLD"] "/" $1 "/" name) : line
}
NF < 10 || (owner != "" && $2 != owner) { next }
id != "" && $1 != id && (id ~ /\./ || index($1, id ".") != 1) { next }
{
  state = $3; sub1 = ""; code = $5; more = ""
  if (state ~ /^([CFX]|unknown)$/) {
    sub1 = $4
    if (sub1 != "91" && code == "" && left(".gpe_removed") != "") sub1 = "removed"
    else if (state == "C" && code >= 256 && left(".gpe_removed") != "") sub1 = "removed"
    else if (sub1 != "91") {
      if (code == "") code = left(".gpe_exit_status")
      if (code == "") sub1 = ""
      else if (code < 0) sub1 = code + 0
      else { if (sub1 == "") sub1 = "exit"; more = " exit=" code }
    }
  } else if ($4 == "held") sub1 = "held"
  if ($6 != "") more = more " host=" hosts($6)
  if ($7 != "") more = more " queue=" $7
  if (split($9, t, ":") == 3) more = more " elapsed=" t[1] * 3600 + t[2] * 60 + t[3]
  reason = $10
  for (i = 11; i <= NF; i++) reason = reason "|" $i
  if (reason != "") more = more " reason=" reason
  print $1 " " state (sub1 == "" ? "" : "/" sub1) more
  found = 1
}
END { exit !found }'
}
