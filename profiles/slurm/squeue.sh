gpe_squeue() { # OPTION...: prints a line for each job and task that squeue knows
  gpe_fields='JobArrayID:|,State:|,exit_code:|,BatchHost:|,Reason:|'
  gpe_fields="$gpe_fields,Partition:|,TimeUsed:|,EndTime:|,PriorityLong:|,tres-alloc:|"
  SLURM_TIME_FORMAT=%s squeue -h -r -t all -O "$gpe_fields" "$@"
}
# [ID...]: asked for by themselves, without a line for what is not known; a task with its array.
gpe_list() {
  gpe_component=
  case $#:${1-} in
  0:*) set -- -u "$(id -u)" ;;
  1:*+*)
    gpe_component=$1
    set -- -j "$1"
    ;;
  *) set -- -j "$(gpe_print_wholes "$@")" ;;
  esac
  gpe_lines=$(gpe_squeue "$@" 2>&1) || case $gpe_lines in
  *'Invalid job id'*) return 0 ;;
  *)
    printf '%s\n' "$gpe_lines" >&2
    return 1
    ;;
  esac
  printf '%s\n' "$gpe_lines" | gpe_format_states "$gpe_component" && return
  case $1:$gpe_lines in -j:* | -u: | -u:'CLUSTER: '*) return 0 ;; esac
  printf '%s\n' "$gpe_lines" >&2 # no answer about jobs
  return 1
}
gpe_print_wholes() { # ID...: with commas between them; of tasks and components, the whole once
  printf '%s\n' "$@" | awk '
{ sub(/[_+].*/, "") }
!seen[$0]++ { printf "%s%s", n++ ? "," : "", $0 }'
}
# A function of awk, for cpu=2,mem=1.5G,node=1: what a job was given, on all its nodes together.
awk_allocated='
function allocated(tres, word, i, text, memory) {
  for (i = split(tres, word, ","); i > 0; i--) {
    if (word[i] ~ /^cpu=[0-9]+$/) text = " cpus=" substr(word[i], 5) text
    memory = word[i] ~ /^mem=/ ? bytes(substr(word[i], 5)) : 0
    if (memory > 0) text = text sprintf(" allocated=%.0f", memory)
  }
  return text
}'
# ID: reads these lines, or those of the accounting, and prints the states; of an array, of all its
# tasks. An empty ID: of all jobs. False if there are none.
gpe_format_states() {
  awk -F'|' -v id="$1" "$awk_units$awk_allocated"'
# Of an id that squeue lists several times, the state of the whole: of the components of a
# heterogeneous job (12+0, 12+1), or of the siblings of a federated one, of which one runs and the
# others are revoked.
function rank(state) {
  if (state ~ /^(RUNNING|COMPLETING|RESIZING|SIGNALING|STAGE_OUT)/) return 5
  if (state ~ /^(SUSPENDED|STOPPED)/) return 4
  if (state ~ /^REVOKED/) return 0
  if (state ~ /^COMPLETED/) return 1
  if (state ~ /^(BOOT_FAIL|CANCELLED|DEADLINE|FAILED|LAUNCH_FAILED|NODE_FAIL)/) return 2
  return state ~ /^(OUT_OF_MEMORY|PREEMPTED|RECONFIG_FAIL|TIMEOUT)/ ? 2 : 3
}
function add_exit(code, by, e) {
  # EXIT is 7:0 or, from squeue, what wait(2) gave: 1792
  if (split($3, e, ":") == 2) {
    code = e[1] + 0
    by = e[2] + 0
  } else {
    code = int($3 / 256) % 256
    by = $3 % 128
  }
  if (state == "COMPLETED") more = " exit=" code
  if (state != "FAILED") return
  if (by != 0) {
    # 53: of Slurm itself, which could not launch the job
    if ($5 != "JobLaunchFailure" || by != 53) more = " signal=" by
  } else if ($5 == "JobLaunchFailure") return
  else if (code > 128) more = " exit=" code
  else if (code > 0) {
    state = "FAILED/exit"
    more = " exit=" code
  }
}
function add_times(used) {
  if ($7 ~ /^([0-9]+-)?[0-9:]+$/) {
    used = seconds($7)
    if (used > 0 || state !~ /^(PENDING|CANCELLED)/) more = more " elapsed=" used
  }
  # of one that has not begun, it is what was asked for
  if (used > 0 || state !~ /^(PENDING|CANCELLED|DEADLINE)/) more = more allocated(NF > 8 ? $10 : $8)
  if ($8 ~ /^[0-9]+$/ && state !~ /^(PENDING|RUNNING|SUSPENDED)/) more = more " ended=" $8
}
function add_reason() {
  if ($5 == "DependencyNeverSatisfied") {
    $5 = "DEPENDENCY"
    if (state == "CANCELLED") state = state "/dependency"
  } else if (state ~ /^CANCELLED/) $5 = "" # what it waited for is not why it ended
  why = never_begins($5)
  if (state ~ /^PENDING/ && why != "") $5 = $5 " (" why ": as it is, it will not start)"
  if ($5 != "" && $5 != "None") more = more " reason=" $5
}
# why what a job waits for does not come by itself; nothing if it does, as PerUser and PerAccount
function never_begins(reason) {
  if (reason in never) return never[reason]
  if (reason ~ /^QOSMin/) return "it asks for less than its quality of service demands"
  if (reason !~ /^(Assoc|QOS)Max.*Per(Job|Node)(Limit)?$/) return ""
  return "it asks for more than its " (reason ~ /^Q/ ? "quality of service" : "project") \
    " allows a job"
}
BEGIN { # of job_reason_codes
  too_long = "it asks for more time than "
  never["PartitionTimeLimit"] = too_long "the partition allows"
  never["PartitionNodeLimit"] = "it asks for more or fewer nodes than the partition allows"
  never["PartitionConfig"] = "it asks for what the partition does not have"
  never["BadConstraints"] = "no node has what it asks for"
  never["MaxMemPerLimit"] = "it asks for more memory for each processor or node than Slurm allows"
  never["DEPENDENCY"] = "a condition of its dependency cannot hold any more"
  never["AccountNotAllowed"] = "the partition does not take jobs of its project (account)"
  never["QOSNotAllowed"] = "its project or the partition does not allow its quality of service"
  never["ReservationDeleted"] = "its reservation does not exist any more"
  never["ReservationInvalid"] = "its reservation is not valid"
  never["InvalidAccount"] = "its project (account) is not valid"
  never["InvalidQOS"] = "its quality of service is not valid"
  never["QOSMaxWallDurationPerJobLimit"] = too_long "its quality of service allows"
  never["AssocMaxWallDurationPerJobLimit"] = too_long "its project allows"
}
id !~ /[+]/ { sub(/\+[0-9]+$/, "", $1) } # else it is one component that is asked for
NF < 5 || $1 ~ /\[/ { next }
id != "" && $1 != id && index($1, id "_") != 1 { next }
{
  state = $2
  sub(/ .*/, "", state) # CANCELLED by 1001
  more = ""
  if (state == "PENDING" && ($5 ~ /[Hh]eld/ || $9 == "0")) state = state "/held"
  add_exit()
  if ($4 != "" && $4 !~ /n\/a|None|[[ ]/) more = more " host=" $4
  if ($6 ~ /^[^ ]/) { # of several partitions, the first
    sub(/,.*/, "", $6)
    more = more " queue=" $6
  }
  add_times()
  add_reason()
  if (!($1 in lines)) ids[++count] = $1
  else if (rank(state) <= ranks[$1]) next
  lines[$1] = $1 " " state more
  ranks[$1] = rank(state)
}
END {
  for (i = 1; i <= count; i++) print lines[ids[i]]
  exit !count
}'
}
