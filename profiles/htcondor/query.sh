gpe_list() {
  # one that was removed stays in the queue, with its machine, until that has ended it
  gpe_text=$(condor_q -af ClusterId GpeIndex JobStatus RemoteHost ExitBySignal ExitCode ExitSignal \
    CpusProvisioned MemoryProvisioned 'ifThenElse(JobStatus == 3, RemoveReason, HoldReason)') ||
    return
  gpe_format_states
}
gpe_list_ended() { # ID...: with the history, which is read from its end
  # shellcheck disable=SC2046
  gpe_text=$(condor_history $(printf '%s\n' "$@" | sed 's/_.*//' | sort -u) -af ClusterId GpeIndex \
    JobStatus undefined ExitBySignal ExitCode ExitSignal CpusProvisioned MemoryProvisioned \
    RemoveReason) || return
  gpe_format_states
}
gpe_format_states() { # prints lines of states; a reason is the rest of a line, after blanks
  printf '%s\n' "$gpe_text" | awk 'BEGIN {
  split("Idle Running Removed Completed Held TransferringOutput Suspended", word)
}
$1 ~ /^[0-9]+$/ {
  state = word[$3]
  if (state == "") state = $3
  host = $4
  sub(/.*@/, "", host)
  more = reason = ""
  if ($3 == 3 && /PeriodicRemove/) state = "PeriodicRemove"
  if ($3 == 3 && host != "undefined") state = "Removing"
  if ($3 == 4 && $5 == "true") more = " signal=" $7
  else if ($3 == 4 && $6 ~ /^[0-9]+$/) { state = state "/exit"; more = " exit=" $6 }
  for (i = 10; i <= NF; i++) reason = reason " " $i
  if (host != "undefined") more = more " host=" host
  if ($3 !~ /^[15]$/) { # of one that waits, they are of its last run
    if ($8 ~ /^[1-9][0-9]*$/) more = more " cpus=" $8
    if ($9 ~ /^[1-9][0-9]*$/) more = more sprintf(" allocated=%.0f", $9 * 1048576)
  }
  if (reason != "" && reason != " undefined") more = more " reason=" substr(reason, 2)
  print $1 ($2 == "undefined" ? "" : "_" $2), state more
}'
}
gpe_has_ended() { case $1 in Completed | Removed | PeriodicRemove) ;; *) return 1 ;; esac }
gpe_is_removal() { [ "$1" = Removed ]; }
gpe_is_limit() { [ "$1" = PeriodicRemove ]; }
gpe_explain() { printf '%s\n' "$1"; } # a job that was killed leaves nothing here
gpe_find() {
  gpe_text=$(condor_q -af ClusterId Iwd) || return
  printf '%s\n' "$gpe_text" | D=$PWD awk '
{ id = $1; sub(/^[0-9]+ /, "") }
$0 == ENVIRON["D"] { print id; exit }'
}
