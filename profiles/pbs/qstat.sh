# qstat.sh [ID...]: prints a line
#   ID|OWNER|STATE|SUBSTATE|EXIT|HOSTS|QUEUE|HOLDS|ELAPSED,CPU,MEMORY|REASON
# for each of these jobs, and behind that of an array one for each of its tasks, including finished
# ones if the server keeps a history; without ID, for this user's jobs that have not ended. The exit
# status of an error is that of qstat.
main() { # [ID...]
  if [ "$#" -gt 0 ]; then
    gpe_qstat "$@"
    return
  fi
  gpe_ids=$(qselect -u "$(id -un)") || return
  set -f
  # shellcheck disable=SC2086
  [ -z "$gpe_ids" ] || gpe_qstat $gpe_ids
}
gpe_qstat() { # ID...
  # no value that qstat prints holds this one
  gpe_us=$(printf '\037')
  # -E: all of them in one request
  set -- -E -t -f -F dsv -D "$gpe_us" "$@"
  gpe_text=$(qstat -x "$@" 2>&1)
  gpe_rc=$?
  case $gpe_rc:$gpe_text in
  0: | 0:*'Job Id: '*) ;;
  0:*) # the server keeps no history: qstat says so, and prints no job
    gpe_text=$(qstat "$@" 2>&1)
    gpe_rc=$?
    ;;
  esac
  print_answer
}
# Of what qstat tells. An array stands before its tasks. Of a task that has not begun, or was
# deleted before, PBS knows nothing: what is told of it, an exit status, too, is the array's. It has
# no array_index.
print_jobs() {
  awk -F"$gpe_us" -v OFS='|' '
function read_job(i, at) {
  split("", job)
  for (i = 2; i <= NF; i++) {
    at = index($i, "=")
    job[substr($i, 1, at - 1)] = substr($i, at + 1)
  }
  sub(/@[^@]*$/, "", job["Job_Owner"]) # users may have an @ in their names
  id = substr($1, 9)
  state = job["job_state"]
  sub1 = job["substate"]
  code = job["Exit_status"]
}
function used(name) { return job["resources_used." name] }
function forget_array(parent) { # of a task that never ran
  code = job["exec_host"] = ""
  job["resources_used.walltime"] = job["resources_used.cput"] = job["resources_used.mem"] = ""
  parent = id
  sub(/\[[0-9]+/, "[", parent)
  if (parent == array) sub1 = whole
  if (state != "Q" || sub1 ~ /^(9[0-9]|dependency)$/) {
    state = "X"
    if (sub1 != "dependency") sub1 = "deleted"
  } else if (job["Hold_Types"] !~ /^n?$/) state = "H"
}
/^Job Id: / {
  read_job()
  # it never ran, and the condition that cannot be met is still there
  if (sub1 == 92 && code == "" && job["depend"] ~ /(^|,)after(ok|notok|any):/) sub1 = "dependency"
  if (id ~ /\[\]/) { array = id; whole = sub1 }
  if (id ~ /\[[0-9]+\]/ && job["array_index"] == "") forget_array()
  if (state == "X") state = "F" # an ended task, while its array has not ended
  more = used("walltime") "," used("cput") "," used("mem") "," job["depend"]
  print id, job["Job_Owner"], state, sub1, code, job["exec_host"], job["queue"],
    job["Hold_Types"], more, job["comment"]
}'
}
