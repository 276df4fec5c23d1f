# What qstat knows of jobs, and of an array's tasks, including ended ones if the server keeps a
# history.
gpe_qstat() { # [ID...]: without, of this user's jobs that have not ended
  if [ "$#" -eq 0 ]; then
    gpe_ids=$(qselect -u "$(id -un)") || return
    [ -n "$gpe_ids" ] || return 0
    set -f
    # shellcheck disable=SC2086
    set -- $gpe_ids
  fi
  # no value that qstat prints holds this one
  gpe_us=$(printf '\037')
  # -E: all of them in one request
  set -- -E -t -f -F dsv -D "$gpe_us" "$@"
  gpe_text=$(qstat -x "$@" 2>&1)
  gpe_rc=$?
  case $gpe_rc:$gpe_text in
  0:*'Job Id: '*) ;;
  0:*) # the server keeps no history: qstat says so, and prints no job
    gpe_text=$(qstat "$@" 2>&1)
    gpe_rc=$?
    ;;
  esac
  gpe_print_answer
}
# Of what qstat tells. An array stands before its tasks. Of a task that has not begun, or was
# deleted before, PBS knows nothing: what is told of it, an exit status, too, is the array's. It has
# no array_index.
gpe_print_jobs() {
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
  if (job["exec_host"] == "") job["exec_vnode"] = "" # it has not begun
  more = used("walltime") "," used("cput") "," used("mem") "," job["exec_vnode"] "," job["depend"]
  print id, job["Job_Owner"], state, sub1, code, job["exec_host"], job["queue"],
    job["Hold_Types"], more, job["comment"]
}'
}
gpe_find() { # by the directory in which it was submitted
  case $PWD in *[!A-Za-z0-9_./@+~:-]*)
    echo "qstat escapes the name of $PWD" >&2
    return 1
    ;;
  esac
  gpe_ids=$(qselect -u "$(id -un)") || return
  [ -n "$gpe_ids" ] || return 0
  set -f
  # shellcheck disable=SC2086
  gpe_text=$(qstat -E -f -F dsv -D , $gpe_ids) || return
  printf '%s\n' "$gpe_text" | while IFS= read -r gpe_line; do
    case $gpe_line, in *[,=]"PBS_O_WORKDIR=$PWD,"* | *[,=]"PBS_O_WORKDIR=$PWD\\,"*)
      gpe_line=${gpe_line#Job Id: }
      printf '%s\n' "${gpe_line%%,*}"
      break
      ;;
    esac
  done
}
