# ID OWNER: reads lines of gpe_qstat, and prints those of states: of the job ID, or of all; of the
# user OWNER, or of all. False if there are none.
gpe_show() {
  GPE_JOBS=$gpe_jobs awk -F'|' -v id="$1" -v owner="$2" '
function hosts(list, n, i, part, seen, all) {
  n = split(list, part, "+")
  for (i = 1; i <= n; i++) {
    sub(/\/.*/, "", part[i])
    if (!(part[i] in seen)) all = all (all == "" ? "" : "+") part[i]
    seen[part[i]]
  }
  return all
}
function seconds(text, t) {
  return split(text, t, ":") == 3 ? t[1] * 3600 + t[2] * 60 + t[3] : ""
}
function bytes(text, unit) { # 204800kb
  if (text !~ /^[0-9]+(b|kb|mb|gb|tb)$/) return ""
  unit = text
  gsub(/[0-9]/, "", unit)
  return sprintf("%.0f", (text + 0) * 1024 ^ ((index("b kbmbgbtb", unit) - 1) / 2))
}
# what is told, or what the job itself has measured, if that is more: PBS looks every 10 s
function best(told, name, t) {
  if (match(usage, name "=[0-9]+([.][0-9]+)?"))
    t = substr(usage, RSTART + length(name) + 1, RLENGTH - length(name) - 1)
  return t + 0 > told + 0 ? t : told
}
function first(file, line) { line = ""; getline line < file; close(file); return line }
function left(name, dir) { # by the job, or the task
  dir = $1
  if (match(dir, /\[[0-9]+\]/))
    dir = substr(dir, 1, RSTART) substr(dir, RSTART + RLENGTH - 1) \
      "/.gpe/tasks/" substr(dir, RSTART + 1, RLENGTH - 2)
  return first(ENVIRON["GPE_JOBS"] "/" dir "/" name)
}
function add(name, value) { if (value != "") more = more " " name "=" value }
function explain_end(removed) { # sets sub1 and code
  sub1 = $4
  if (sub1 ~ /^(dependency|deleted)$/ && left(".gpe_exit_status") != "") sub1 = ""
  removed = sub1 ~ /^(91|dependency|deleted)$/
  if (!removed && code == "" && left(".gpe/removed") != "") sub1 = "removed"
  else if (state == "C" && code >= 256 && left(".gpe/removed") != "") sub1 = "removed"
  else if (!removed) {
    if (code == "") code = left(".gpe_exit_status")
    if (code == "") sub1 = ""
    else if (code < 0) sub1 = code + 0
    else {
      if (sub1 == "") sub1 = "exit"
      add("exit", code)
    }
  }
}
NF < 10 || $1 ~ /\[\]/ || (owner != "" && $2 != owner) { next } # an array is told by its tasks
{ whole = $1 }
id ~ /\[\]/ { sub(/\[[0-9]+/, "[", whole) }
id != "" && whole != id && (id ~ /\./ || index(whole, id ".") != 1) { next }
{
  state = $3
  sub1 = ""
  code = $5
  more = ""
  usage = ""
  if (state ~ /^([CF]|unknown)$/) {
    explain_end()
    usage = left(".gpe/usage")
  } else if ($4 == "held" || ($4 == 22 && $8 == "s")) sub1 = $4
  if ($6 != "") more = more " host=" hosts($6)
  add("queue", $7)
  split($9, used, ",")
  add("elapsed", best(seconds(used[1]), "elapsed"))
  add("cpu", best(seconds(used[2]), "cpu"))
  add("memory", best(bytes(used[3]), "memory"))
  reason = $10
  for (i = 11; i <= NF; i++) reason = reason "|" $i
  if (sub1 == "dependency") reason = "DEPENDENCY"
  add("reason", reason)
  print $1 " " state (sub1 == "" ? "" : "/" sub1) more
  found = 1
}
END { exit !found }'
}
