gpe_qstat() { # prints ID STATE for each job of this user that has not ended
  # what is named here goes before ~/.sge_qstat
  gpe_ask '*</job_info>*' qstat -xml -s prs -u "$(id -un)" || return
  # the tags, not the columns: a name may hold blanks, and what is < in a value is &lt; here
  printf '%s\n' "$gpe_text" | awk '
BEGIN { RS = "<" }
function print_tasks(line, ranges, range, i, bound, part, step, task) { # 5-9:2,12 wait together
  ranges = split(tasks, range, ",")
  for (i = 1; i <= ranges; i++) {
    if (range[i] !~ /^[0-9]+(-[0-9]+(:[0-9]+)?)?$/) continue
    split(range[i] "-" range[i], bound, /[-:]/)
    step = split(range[i], part, ":") > 1 ? part[2] + 0 : 1
    if (step < 1) step = 1
    for (task = bound[1] + 0; task <= bound[2] + 0; task += step) print id "." task line
  }
}
{
  at = index($0, ">")
  tag = substr($0, 1, at - 1)
  text = substr($0, at + 1)
  sub(/[ \t\n].*/, "", tag)
}
tag == "job_list" { id = state = host = tasks = slots = "" }
tag == "JB_job_number" { id = text }
tag == "state" { state = text; gsub(/R/, "", state) } # restarted: no state of its own
tag == "queue_name" { host = text; if (!sub(/^[^@]*@/, "", host)) host = "" }
tag == "tasks" { tasks = text }
tag == "slots" { slots = text }
tag == "/job_list" && id ~ /^[0-9]+$/ && state ~ /^[A-Za-z]+$/ {
  line = " " state (host ~ /^[^ \t\n]+$/ ? " host=" host : "")
  # of one that waits, they are what it asks for
  if (state !~ /q/ && slots ~ /^[1-9][0-9]*$/) line = line " cpus=" slots
  if (state ~ /E/)
    line = line " reason=Grid Engine could not start it (as it is, it will not start)"
  if (tasks == "") print id line
  print_tasks(line)
}'
}
gpe_print_wholes() { # reads lines that begin with an id; prints the numbers of the jobs: 12,13
  awk '{ sub(/\..*/, "", $1) } $1 != "" && !seen[$1]++ { printf "%s%s", n++ ? "," : "", $1 }'
}
# [ID...]: for these, and their tasks, with why Grid Engine cannot start one, or what it waits for.
gpe_list() {
  if [ "$#" -eq 0 ]; then
    gpe_qstat
    return
  fi
  gpe_lines=$(gpe_qstat) || return
  gpe_held=$(printf '%s\n' "$@" = "$gpe_lines" | awk "${gpe_awk_whole:?}"'
$0 == "=" { in_list = 1; next }
!in_list { asked[$1]; next }
$2 ~ /[Eh]/ && ($1 in asked || whole($1) in asked)' | gpe_print_wholes)
  {
    printf '%s\n' "$gpe_lines" =
    [ -z "$gpe_held" ] || qstat -j "$gpe_held" 2> /dev/null
  } | awk '
$0 == "=" { is_why = 1; next }
!is_why { line[++n] = $0; next }
$1 == "job_number:" { id = $2 }
$1 == "jid_predecessor_list:" { reason[id] = " reason=waits for the end of " $2 }
/^error reason/ {
  match($0, /^error reason *[0-9]+: */)
  split($0, part, /[ :]+/)
  reason[id, part[3]] = " reason=" substr($0, RLENGTH + 1) " (as it is, it will not start)"
}
END {
  for (i = 1; i <= n; i++) {
    split(line[i], word, " ")
    split(word[1] ".1", part, ".")
    more = ""
    if (word[2] ~ /E/) more = reason[part[1], part[2]]
    else if (word[2] ~ /h.*q/) more = reason[part[1]]
    if (more != "") sub(/ reason=.*/, "", line[i])
    print line[i] more
  }
}'
}
