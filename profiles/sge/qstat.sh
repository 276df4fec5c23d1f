gpe_qstat() { # prints ID STATE for each job of this user that has not ended
  # what is named here goes before ~/.sge_qstat
  gpe_query '</job_info>' qstat -xml -s prs -u "$(id -un)" || return
  print_jobs "$gpe_text"
}
# XML: prints ID STATE for each job. The tags, not the columns: a name may hold blanks, and what is
# < in a value is &lt; here.
print_jobs() {
  printf '%s\n' "$1" | awk '
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
tag == "job_list" { id = state = host = tasks = "" }
tag == "JB_job_number" { id = text }
tag == "state" { state = text; gsub(/R/, "", state) } # restarted: no state of its own
tag == "queue_name" { host = text; if (!sub(/^[^@]*@/, "", host)) host = "" }
tag == "tasks" { tasks = text }
tag == "/job_list" && id ~ /^[0-9]+$/ && state ~ /^[A-Za-z]+$/ {
  line = " " state (host ~ /^[^ \t\n]+$/ ? " host=" host : "")
  if (state ~ /E/)
    line = line " reason=Grid Engine could not start it (as it is, it will not start)"
  if (tasks == "") print id line
  print_tasks(line)
}'
}
gpe_state() { # ID: prints its state; of an array, each state once
  gpe_lines=$(gpe_qstat) || return
  printf '%s\n' "$gpe_lines" | awk -v id="$1" '
$1 == id || index($1, id ".") == 1 && !seen[$2]++ { print $2 }'
}
