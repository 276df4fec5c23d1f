# ID...: how those ended that left no exit status, or one of a signal: the accounting knows limits.
gpe_list_ended() {
  # the accounting has no job that lives, which is all that ABORT asks
  command -v gpe_record > /dev/null || return 0
  gpe_ids=$(for gpe_one in "$@"; do gpe_record "$gpe_one" || printf '%s\n' "$gpe_one"; done |
    awk 'NF == 1 || $2 == "away" || / exit=(12[89]|1[3-9][0-9])/ { print $1 }')
  [ -n "$gpe_ids" ] || return 0
  # shellcheck disable=SC2086
  gpe_lines=$(gpe_qacct $gpe_ids 2>&1)
  case $? in # 1: it does not know them, or not yet
  0) printf '%s\n' "$gpe_lines" ;;
  2) printf '%s\n' "$gpe_lines" >&2 && return 1 ;;
  esac
}
# ID...: prints how each ended, of an array each task, by one query; 1: the accounting does not know
# them; 2: it does not answer.
gpe_qacct() {
  gpe_wholes=$(printf '%s\n' "$@" | gpe_print_wholes)
  # ids begin anew some day: a record from before the job's script was written is another job's
  gpe_since=$(for gpe_i in $(printf '%s\n' "$gpe_wholes" | tr , ' '); do
    gpe_job_dir "$gpe_i" || :
    date -r "${gpe_dir:?}/.gpe/script" "+$gpe_i %Y %m %d" 2> /dev/null
  done)
  gpe_since=$(printf '%s\n' "$gpe_since" "$@")
  case $#:$gpe_wholes:$1 in
  *,*) set -- qacct -o "$(id -un)" -j ;; # it reads the whole accounting in any case
  1:*.*) set -- qacct -j "$gpe_wholes" -t "${1#*.}" ;;
  *) set -- qacct -j "$gpe_wholes" ;;
  esac
  if ! gpe_account=$("$@" 2>&1); then
    printf '%s\n' "$gpe_account" >&2
    case $gpe_account in
    *'not found'* | *'o such file'*) return 1 ;; # no file: there is no accounting
    *) return 2 ;;
    esac
  fi
  printf '%s\n' "$gpe_since" "$gpe_account" | GPE_OWNER=$(id -un) awk "$awk_units"'
BEGIN { owner = ENVIRON["GPE_OWNER"] } # -v would read a backslash in it
function day(y, m, d) { return y * 372 + m * 31 + d }
function submitted(t, n) { # Sat Nov 21 12:23:14 2026, or 11/21/2026 12:23:14.123; 0: not understood
  if (split(t, n, /[ \/]+/) < 4) return 0
  if (n[1] ~ /^[0-9]+$/) return day(n[3], n[1], n[2])
  return day(n[5], (index("JanFebMarAprMayJunJulAugSepOctNovDec", n[2]) + 2) / 3, n[3])
}
function asked(name, t) { # the value of a request, or nothing
  t = " " job["category"] ","
  gsub(/ /, ",", t)
  at = index(t, "," name "=")
  if (!at) return ""
  t = substr(t, at + length(name) + 2)
  return t ~ /^[0-9.]/ ? substr(t, 1, index(t, ",") - 1) : "" # not INFINITY
}
function find_limit(t) { # the limit that it has used up, of those it asked for
  slots = job["slots"] > 1 ? job["slots"] : 1
  if ((t = asked("h_rt")) != "" && seconds(job["ru_wallclock"]) >= seconds(t)) return "time"
  if ((t = asked("h_cpu")) != "" && (seconds(job["cpu"]) + 0.5) / slots >= seconds(t)) return "time"
  if ((t = asked("h_vmem")) != "" && bytes(job["maxvmem"]) / slots >= bytes(t)) return "memory"
  return ""
}
function record(when, one, id) {
  id = job["jobnumber"]
  one = id (job["taskid"] ~ /^[0-9]+$/ ? "." job["taskid"] : "")
  if (!(one in wanted) && !(id in wanted) || job["owner"] != owner) return
  if (job["failed"] !~ /^[0-9]/ || job["exit_status"] !~ /^[0-9]/) return # it was cut
  when = submitted(job["qsub_time"])
  if ((id in since) && when && when < since[id] - 5) return
  failed = job["failed"] + 0
  if (failed == 24 || failed == 25) return # it runs again
  code = job["exit_status"] + 0
  part = failed
  more = ""
  limit = code == 152 ? "time" : code == 137 || failed == 37 ? find_limit() : ""
  if (limit != "") part = limit
  else if (failed == 37) {}
  else if (failed == 0 || failed == 100 && code > 128) more = " exit=" code
  if (job["hostname"] ~ /^[A-Za-z0-9.-]+$/) more = more " host=" job["hostname"]
  if (failed != 21 && job["start_time"] !~ /^-/) { # it has run
    more = more " elapsed=" seconds(job["ru_wallclock"]) sprintf(" cpu=%.2f", job["cpu"])
    # qacct takes the largest memory of a process for bytes, but it is in KiB
    memory = bytes(job["ru_maxrss"]) * 1024
    if (memory > 0) more = more sprintf(" memory=%.0f", memory)
    if (job["slots"] ~ /^[1-9]/) more = more " cpus=" job["slots"] + 0
  }
  if (limit != "") more = more " reason=over its limit: " job["category"]
  else if (failed) more = more " reason=" job["failed"]
  last[one] = one " ended/" part more
}
!in_records && /^[0-9]/ {
  if (NF == 1) wanted[$1]
  else since[$1] = day($2, $3, $4)
}
/^=====/ { in_records = 1; record(); split("", job); next }
{
  name = $1
  value = $0
  sub(/^[^ ]+ */, "", value)
  sub(/ +$/, "", value)
  if (!(name in job)) job[name] = value
}
END {
  record()
  for (one in last) { print last[one]; found = 1 }
  exit !found
}'
}
