gpe_qstat() {
  # what is named here goes before ~/.sge_qstat
  gpe_text=$(qstat -xml -s prs -u "$(id -un)" 2>&1)
  gpe_rc=$?
  case $gpe_rc:$gpe_text in
  0:*'</job_info>'*) ;;
  *)
    printf '%s\n' "${gpe_text:-qstat failed: $gpe_rc}" >&2
    [ "$gpe_rc" -ne 0 ] || gpe_rc=1
    return "$gpe_rc"
    ;;
  esac
  # the tags, not the columns: a name may hold blanks, and what is < in a value is &lt; here
  printf '%s\n' "$gpe_text" | awk '
BEGIN { RS = "<" }
{
  at = index($0, ">")
  tag = substr($0, 1, at - 1)
  text = substr($0, at + 1)
  sub(/[ \t\n].*/, "", tag)
  if (tag == "job_list") { id = ""; state = ""; host = ""; tasks = "" }
  else if (tag == "JB_job_number") id = text
  else if (tag == "state") { state = text; gsub(/R/, "", state) } # restarted: no state of its own
  else if (tag == "queue_name") { host = text; if (!sub(/^[^@]*@/, "", host)) host = "" }
  else if (tag == "tasks") tasks = text
  else if (tag == "/job_list" && id ~ /^[0-9]+$/ && state ~ /^[A-Za-z]+$/) {
    line = " " state (host ~ /^[^ \t\n]+$/ ? " host=" host : "")
    if (tasks == "") print id line
    # waiting tasks stand together: 5-9:2,12
    ranges = split(tasks, range, ",")
    for (i = 1; i <= ranges; i++) {
      if (range[i] !~ /^[0-9]+(-[0-9]+(:[0-9]+)?)?$/) continue
      split(range[i] "-" range[i], bound, /[-:]/)
      step = split(range[i], part, ":") > 1 ? part[2] + 0 : 1
      for (task = bound[1] + 0; task <= bound[2] + 0; task += (step > 0 ? step : 1)) print id "." task line
    }
  }
}'
}
gpe_state() {
  gpe_lines=$(gpe_qstat) || return
  printf '%s\n' "$gpe_lines" | awk -v id="$1" '$1 == id || index($1, id ".") == 1 && !seen[$2]++ { print $2 }'
}
