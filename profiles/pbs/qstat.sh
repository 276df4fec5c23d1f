# qstat.sh [ID...]: prints a line ID|OWNER|STATE|SUBSTATE|EXIT|HOSTS|QUEUE|HOLDS|ELAPSED,CPU,MEMORY|REASON for each of these
# jobs, and behind that of an array one for each of its tasks, including finished ones if the server keeps a history; without
# ID, for this user's jobs that have not ended. The exit status of an error is that of qstat.
gpe_qstat() {
  # -E: all of them in one request
  gpe_us=$(printf '\037') # no value that qstat prints holds this one
  gpe_text=$(qstat -x -E -t -f -F dsv -D "$gpe_us" "$@" 2>&1)
  gpe_rc=$?
  case $gpe_rc:$gpe_text in
  0: | 0:*'Job Id: '*) ;;
  0:*) # the server keeps no history: qstat says so, and prints no job
    gpe_text=$(qstat -E -t -f -F dsv -D "$gpe_us" "$@" 2>&1)
    gpe_rc=$?
    ;;
  esac
  case $gpe_rc:$gpe_text in
  0: | 0:*'Job Id:'*) ;;
  0:*) gpe_rc=1 ;; # it answers, but not about jobs
  esac
  if [ "$gpe_rc" -ne 0 ]; then
    printf '%s\n' "$gpe_text" >&2
    return "$gpe_rc"
  fi
  # An array stands before its tasks. Of a task that has not begun, or was deleted before, PBS knows nothing: what is
  # told of it, an exit status, too, is the array's. It has no array_index.
  printf '%s\n' "$gpe_text" | awk -F"$gpe_us" '
/^Job Id: / {
  split("", job)
  for (i = 2; i <= NF; i++) { at = index($i, "="); job[substr($i, 1, at - 1)] = substr($i, at + 1) }
  sub(/@[^@]*$/, "", job["Job_Owner"]) # users may have an @ in their names
  id = substr($1, 9)
  state = job["job_state"]
  sub1 = job["substate"]
  code = job["Exit_status"]
  # it never ran, and the condition that cannot be met is still there
  if (sub1 == 92 && code == "" && job["depend"] ~ /(^|,)after(ok|notok|any):/) sub1 = "dependency"
  if (id ~ /\[\]/) { array = id; whole = sub1 }
  if (id ~ /\[[0-9]+\]/ && job["array_index"] == "") {
    code = ""; job["exec_host"] = ""; job["resources_used.walltime"] = ""; job["resources_used.cput"] = ""; job["resources_used.mem"] = ""
    parent = id
    sub(/\[[0-9]+/, "[", parent)
    if (parent == array) sub1 = whole
    if (state != "Q" || sub1 ~ /^(9[0-9]|dependency)$/) { state = "X"; if (sub1 != "dependency") sub1 = "deleted" }
    else if (job["Hold_Types"] !~ /^n?$/) state = "H"
  }
  if (state == "X") state = "F" # an ended task, while its array has not ended
  print id "|" job["Job_Owner"] "|" state "|" sub1 "|" \
    code "|" job["exec_host"] "|" job["queue"] "|" job["Hold_Types"] "|" \
    job["resources_used.walltime"] "," job["resources_used.cput"] "," job["resources_used.mem"] "," job["depend"] "|" job["comment"]
}'
}
gpe_live() {
  gpe_ids=$(qselect -u "$(id -un)") || return
  set -f
  # shellcheck disable=SC2086
  [ -z "$gpe_ids" ] || gpe_qstat $gpe_ids
}
if [ "$#" -gt 0 ]; then gpe_qstat "$@"; else gpe_live; fi
