explain_states() { # LINES of states
  gpe_explain "$1" 'EXIT/TERM_OWNER|EXIT/TERM_ADMIN|EXIT/TERM_FORCE_OWNER|EXIT/TERM_FORCE_ADMIN'
}
gpe_format_states() { # reads lines of bjobs, and prints those of states
  gpe_add_left '$3 == "EXIT" { print $1 ($2 > 0 ? "[" $2 "]" : "") }' | awk -F'|' '
function is_removed() { # or it never had a host
  return ((id, "removed") in left && code ~ /^(-|0|130|137|143)?$/) ||
    (code !~ /^[1-9]/ && host !~ /^[A-Za-z0-9]/)
}
NF == 4 && $1 == "" { left[$2, $3] = $4 }
NF < 6 { next }
{
  id = $1 ($2 ~ /^[1-9][0-9]*$/ ? "[" $2 "]" : "")
  state = $3
  code = $4
  host = $5
  reason = $6
  if (state ~ /^(PEND|PSUSP|PROV|WAIT)$/ && reason ~ /^-?$/) {
    reason = $7
    sub(/;? *$/, "", reason)
    if (reason ~ /never satisfied/) reason = reason " (as it is, it will not start)"
  }
  more = ""
  term = match(reason, /^TERM_[A-Z_]+/) ? substr(reason, 1, RLENGTH) : ""
  if (term == "TERM_ORPHAN_SYSTEM") reason = "DEPENDENCY"
  if (state == "DONE") more = " exit=0"
  if (state == "EXIT") {
    is_killed = term == "" || term ~ /^TERM_(EXTERNAL_SIGNAL|RMS|UNKNOWN|ZOMBIE)$/
    # its host is taken back, its cluster recalls it, its chunk has moved: LSF runs it again
    if (term ~ /^TERM_(RC_RECLAIM|MC_RECALL|OTHER)$/) { state = "PEND"; code = ""; host = "" }
    else if (!is_killed) state = state "/" term
    else if (is_removed()) state = state "/removed"
    else if (code > 128) more = " exit=" code
    else if (code ~ /^[1-9]/) { state = state "/exit"; more = " exit=" code }
  }
  sub(/[: ].*/, "", host)
  sub(/^[0-9]+\*/, "", host)
  if (host ~ /^[A-Za-z0-9][A-Za-z0-9.-]*$/) more = more " host=" host
  if (reason != "" && reason != "-") more = more " reason=" reason
  print id " " state more
}'
}
