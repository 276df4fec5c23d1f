# ID: reads lines of gpe_qstat, and prints those of states: of the job ID, or of all. False if there
# are none.
gpe_format_states() {
  gpe_add_left '$3 ~ /^([CFM]|unknown)$/ { print $1 }' |
    awk -F'|' -v id="$1" "$awk_units"'
function hosts(list, n, i, part, seen, all) {
  n = split(list, part, "+")
  for (i = 1; i <= n; i++) {
    sub(/\/.*/, "", part[i])
    if (!(part[i] in seen)) all = all (all == "" ? "" : "+") part[i]
    seen[part[i]]
  }
  return all
}
# what is told, or what the job itself has measured, if that is more: PBS looks every 10 s
function best(told, name, t) {
  if (match(usage, name "=[0-9]+([.][0-9]+)?"))
    t = substr(usage, RSTART + length(name) + 1, RLENGTH - length(name) - 1)
  return t + 0 > told + 0 ? t : told
}
function left(name) { return files[$1, name] } # by the job, or the task
function is_removed() { # a task that has no end of its own was removed with its array
  return left("removed") != "" || (left("code") == "" && left("array-removed") != "")
}
function add(name, value) { if (value != "") more = more " " name "=" value }
function explain_end(removed) { # sets sub1 and code
  sub1 = $4
  if (sub1 ~ /^(91|deleted)$/ && left("removed") == "DEPENDENCY") sub1 = "dependency"
  if (sub1 ~ /^(dependency|deleted)$/ && left("code") != "") sub1 = ""
  removed = sub1 ~ /^(91|dependency|deleted)$/
  if (!removed && code == "") code = left("code")
  # the signals of a removal
  if (!removed && code ~ /^(137|143|265|271)?$/ && is_removed()) sub1 = "removed"
  else if (!removed) {
    if (code == "") sub1 = ""
    else if (code < 0) sub1 = code + 0
    else {
      if (sub1 == "") sub1 = "exit"
      add("exit", code)
    }
  }
}
NF == 4 && $1 == "" { files[$2, $3] = $4 }
NF < 10 { next }
{
  array = $1
  sub(/\[[0-9]+/, "[", array)
  whole = id ~ /\[\]/ ? array : $1
}
id != "" && whole != id && (id ~ /\./ || index(whole, id ".") != 1) { next }
# an array is told by its tasks; after a restart, PBS may list it without those that run
$1 ~ /\[\]/ { if ($3 !~ /^[CFM]$/) alone[$1] = $3; next }
{
  has_tasks[array]
  state = $3
  sub1 = ""
  code = $5
  more = ""
  usage = ""
  if (state ~ /^([CFM]|unknown)$/) {
    explain_end()
    usage = left("usage")
  } else if ($4 == "held" || ($4 == 22 && $8 == "s")) sub1 = $4
  if ($6 != "") more = more " host=" hosts($6)
  add("queue", $7)
  split($9, used, ",")
  add("elapsed", best(used[1] ~ /:/ ? seconds(used[1]) : "", "elapsed"))
  add("cpu", best(used[2] ~ /:/ ? seconds(used[2]) : "", "cpu"))
  add("memory", best(used[3] ~ /^[0-9]+[kmgt]?b$/ ? sprintf("%.0f", bytes(used[3])) : "", "memory"))
  reason = $10
  for (i = 11; i <= NF; i++) reason = reason "|" $i
  if (sub1 == "dependency") reason = "DEPENDENCY"
  if (state ~ /^[QHWT]$/ && reason ~ /^Can Never Run/)
    reason = reason " (as it is, it will not start)"
  add("reason", reason)
  print $1 " " state (sub1 == "" ? "" : "/" sub1) more
  found = 1
}
END {
  for (array in alone) if (!(array in has_tasks)) { print array " " alone[array]; found = 1 }
  exit !found
}'
}
