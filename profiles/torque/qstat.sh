# What qstat knows of jobs. Slurm has no qselect, and its qstat always reads all jobs.
gpe_qstat() { # [ID...]: without, of this user's jobs that have not ended
  set -f
  if command -v qselect > /dev/null; then
    [ "$#" -gt 0 ] || {
      gpe_ids=$(qselect -u "$(id -un)" -s EHQRTW) || return
      [ -n "$gpe_ids" ] || return 0
      # shellcheck disable=SC2086
      set -- $gpe_ids
    }
    gpe_text=$(qstat -f -t "$@" 2>&1) # each task of an array
  else
    gpe_text=$(qstat -f "$@" 2>&1) # Slurm's qstat has no -t
  fi
  gpe_rc=$?
  case $gpe_rc:$#:$gpe_text in
  0:0: | 153:0:) return 0 ;; # Slurm's qstat: there are no jobs
  153:*:) gpe_text="qstat: unknown job id $*" ;;
  esac
  gpe_text=$(gpe_print_answer) || return
  printf '%s\n' "$gpe_text" | OWNER=$(id -un) awk -F'|' -v all="$#" '
all || $2 "" == ENVIRON["OWNER"]'
}
# Of what qstat tells. Torque's attributes begin with four blanks and go on behind a tab; Slurm's
# begin with the tab. The first of a name counts: what a user can put into a value stands further
# down.
gpe_print_jobs() {
  awk -v OFS='|' '
BEGIN { squeue = "squeue -h -t CANCELLED,TIMEOUT,DEADLINE,OUT_OF_MEMORY -o \"%i %r %T\"" }
# Slurm: why it ended a job, which its qstat does not tell; without an answer, there is none at all
function why_ended(id, line, word) {
  if (!asked++) {
    while ((squeue | getline line) > 0) {
      split(line, word, " ")
      why[word[1]] = word[3] ~ /^(TIMEOUT|DEADLINE|OUT_OF_MEMORY)$/ ? word[3] : word[2]
    }
    if (close(squeue)) failed = 2
  }
  return why[id]
}
# Slurm: a held job shows as Q with priority 0, and what its qstat does not know as U
function correct_state() {
  if (job["job_state"] == "Q" && job["Priority"] == "0") held = "held"
  if (job["job_state"] == "C" && job["exec_host"] == "") {
    job["job_state"] = "F"
    held = why_ended(id) == "DependencyNeverSatisfied" ? "dependency" : "deleted"
  } else if (job["job_state"] == "C") { # in the codes of Torque
    if (why_ended(id) ~ /^(TIMEOUT|DEADLINE)$/) job["exit_status"] = -11
    if (why_ended(id) == "OUT_OF_MEMORY") job["exit_status"] = -10
  }
  if (job["job_state"] == "U") job["job_state"] = "unknown"
}
# the whole array is in the state of its tasks that comes last here: those that wait can be held
function note_task(array, letter) {
  letter = job["job_state"]
  sub(/[WT]/, "Q", letter)
  if (index("CRSQH", letter) < index("CRSQH", whole[array])) return
  whole[array] = letter
  holds[array] = job["Hold_Types"]
  owner[array] = job["Job_Owner"]
}
# n1/0+n1/1, or n1/0-2,5: the processors that a job has; Slurm tells their number, as n1/2+n2/2
function count_processors(hosts, n, i, part, last, count) {
  n = split(hosts, part, /[+,]/)
  for (i = 1; i <= n; i++) {
    sub(/.*\//, "", part[i])
    if (slurm) count += part[i]
    else count += split(part[i], last, "-") > 1 ? last[2] - last[1] + 1 : 1
  }
  return count > 0 ? "ncpus=" count : ""
}
function used(name) { return job["resources_used." name] }
function done() {
  if (id == "") return
  sub(/@[^@]*$/, "", job["Job_Owner"]) # users may have an @ in their names
  if (slurm) correct_state()
  if (match(id, /\[[0-9]+\]/)) note_task(substr(id, 1, RSTART) substr(id, RSTART + RLENGTH - 1))
  else if (id ~ /\[\]/) told[id]
  print id, job["Job_Owner"], job["job_state"], held, job["exit_status"], job["exec_host"],
    job["queue"], job["Hold_Types"], used("walltime") "," used("cput") "," used("mem") "," \
    count_processors(job["exec_host"]), job["comment"]
}
/^Job Id:/ {
  done()
  id = $0
  sub(/^Job Id:[ \t]*/, "", id)
  split("", job)
  slurm = 0
  held = ""
  next
}
/^(    |\t)[A-Za-z_.]+ = / {
  name = $1
  value = $0
  sub(/^[ \t]*[A-Za-z_.]+ = /, "", value)
  if (!(name in job)) job[name] = value
  if (/^\tjob_state = /) slurm = 1
}
END {
  done()
  for (array in whole)
    if (!(array in told)) print array, owner[array], whole[array] "|||||" holds[array] "||"
  exit failed
}'
}
