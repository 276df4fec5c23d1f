gpe_list() { # [ID...]: without a line for what LSF does not know
  gpe_fields='jobid jobindex stat exit_code exec_host exit_reason'
  gpe_ask_bjobs "$gpe_fields pend_reason run_time cpu_used max_mem" "$@"
  # before 10.1, LSF has no such field
  case $gpe_text in *pend_reason*) gpe_ask_bjobs "$gpe_fields" "$@" ;; esac
  # its exit code says little: by the site's choice, 255 is "no jobs", or 0 is "not found"
  printf '%s\n' "$gpe_text" | gpe_format_states && return
  case $gpe_text in *'job found'* | *'is not found'*) return 0 ;; esac
  printf '%s\n' "${gpe_text:-bjobs printed nothing}" >&2
  return 1
}
gpe_ask_bjobs() { # FIELDS [ID...]: sets gpe_text to what bjobs prints
  gpe_o="$1 delimiter='|'"
  shift
  gpe_text=$(bjobs -a -noheader -o "$gpe_o" "$@" 2>&1) || :
}
# Reads lines ID|INDEX|STATE|CODE|HOST|REASON|WHY IT WAITS|TIME|PROCESSOR TIME|MEMORY, and prints
# those of states; false if there are none.
gpe_format_states() {
  awk -F'|' "$awk_units"'
function add_end(code, term) { # why and how it ended
  if (state == "DONE") more = " exit=0"
  if (state != "EXIT") return
  # its host is taken back, its cluster recalls it, its chunk has moved: LSF runs it again
  if (term ~ /^TERM_(RC_RECLAIM|MC_RECALL|OTHER|REQUEUE_.*)$/) { state = "PEND"; host = "" }
  else if (term != "" && term !~ /^TERM_(EXTERNAL_SIGNAL|RMS|UNKNOWN|ZOMBIE)$/)
    state = state "/" term
  else if (code ~ /^[1-9]/) {
    if (code <= 128) state = state "/exit"
    more = " exit=" code
  } else if (host !~ /^[A-Za-z0-9]/) state = state "/removed" # it never had a host
}
function count_slots(list, n, i, part, slots) { # 4*hostA:4*hostB, or hostA:hostA
  n = split(list, part, ":")
  for (i = 1; i <= n; i++) slots += part[i] ~ /^[0-9]+\*/ ? part[i] + 0 : 1
  return slots
}
function add_usage(time, cpu, memory) {
  if (time ~ /^[0-9]/) more = more " elapsed=" time + 0
  if (cpu ~ /^[0-9]/) more = more " cpu=" cpu + 0
  if (memory ~ /^[0-9]/) more = more sprintf(" memory=%.0f", bytes(memory))
}
NF < 6 || $1 !~ /^[0-9]+(\[[0-9]+\])?$/ { next }
{
  id = $1 ($1 !~ /\[/ && $2 ~ /^[1-9][0-9]*$/ ? "[" $2 "]" : "")
  state = $3
  host = $5
  reason = $6
  if (state ~ /^(PEND|PSUSP|PROV|WAIT)$/ && reason ~ /^-?$/) {
    reason = $7
    sub(/;? *$/, "", reason)
    if (reason ~ /never satisfied/) reason = reason " (as it is, it will not start)"
  }
  term = match(reason, /^TERM_[A-Z_]+/) ? substr(reason, 1, RLENGTH) : ""
  if (term == "TERM_ORPHAN_SYSTEM") reason = "DEPENDENCY"
  more = ""
  add_end($4, term)
  sub(/ .*/, "", host)
  slots = count_slots(host)
  sub(/:.*/, "", host)
  sub(/^[0-9]+\*/, "", host)
  if (host ~ /^[A-Za-z0-9][A-Za-z0-9.-]*$/) {
    more = more " host=" host
    if (NF > 9) add_usage($(NF - 2), $(NF - 1), $NF) # the words before may have a | of their own
    more = more " cpus=" slots
  }
  if (reason != "" && reason != "-") more = more " reason=" reason
  print id " " state more
  found = 1
}
END { exit !found }'
}
