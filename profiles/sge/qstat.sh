gpe_qstat() {
  # what is named here goes before ~/.sge_qstat
  gpe_text=$(qstat -xml -s prs -u "$(id -un)" 2>&1)
  gpe_rc=$?
  case $gpe_rc:$gpe_text in
  0:*'</job_info>'*) ;;
  *)
    printf '%s\n' "${gpe_text:-qstat failed: $gpe_rc}" >&2
    [ "$gpe_rc" -ne 0 ] || gpe_rc=1
    return "$gpe_rc" ;;
  esac
  # the tags, not the columns: a name may hold blanks, and what is < in a value is &lt; here
  printf '%s\n' "$gpe_text" | awk '
BEGIN { RS = "<" }
{
  at = index($0, ">")
  tag = substr($0, 1, at - 1)
  text = substr($0, at + 1)
  sub(/[ \t\n].*/, "", tag)
  if (tag == "job_list") { id = ""; state = ""; host = ""; task = "" }
  else if (tag == "JB_job_number") id = text
  else if (tag == "state") { state = text; gsub(/R/, "", state) } # restarted: no state of its own
  else if (tag == "queue_name") { host = text; if (!sub(/^[^@]*@/, "", host)) host = "" }
  else if (tag == "tasks") task = "." text
  else if (tag == "/job_list" && id ~ /^[0-9]+$/ && state ~ /^[A-Za-z]+$/ && task !~ /[^0-9.,:-]/)
    print id task " " state (host ~ /^[^ \t\n]+$/ ? " host=" host : "")
}'
}
gpe_state() {
  gpe_lines=$(gpe_qstat) || return
  printf '%s\n' "$gpe_lines" | awk -v id="$1" '$1 == id { print $2; exit }'
}
