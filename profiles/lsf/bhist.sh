# ID...: what the history knows of jobs that bjobs has forgotten, with one query.
gpe_list_ended() {
  gpe_text=$(bhist -l "$@" 2>&1) || case $?:$gpe_text in
  127:* | *'job found'* | *'not found'*) ;;
  *)
    printf '%s\n' "$gpe_text" >&2
    return 1
    ;;
  esac
  {
    printf '%s\n' "$@" ''
    printf '%s\n' "$gpe_text"
  } | gpe_read_history | gpe_format_states || : # none is an answer, too
}
# Reads the ids and, after an empty line, the history, and prints lines as bjobs does. Its entries
# begin with a date and go on behind 21 blanks. The command stands in such lines too, never at a
# line's begin.
gpe_read_history() {
  GPE_OWNER=$(id -un) awk '
BEGIN {
  owner = ENVIRON["GPE_OWNER"] # -v would read a backslash in it
  date = "^[A-Z][a-z][a-z] [A-Z][a-z][a-z] [ 0-9][0-9] [0-9:]+( [0-9][0-9][0-9][0-9])?: "
}
function begin() { state = ""; code = term = host = "-" }
function tell() {
  if (id != "") told[id] = state == "" ? "" : id "|-|" state "|" code "|" host "|" term
}
function read_entry(text) {
  text = line
  line = ""
  if (index(text, "Job <") == 1) {
    tell()
    id = substr(text, 6, index(text, ">") - 6)
    if (!(id in asked) || !index(text, ", User <" owner ">")) id = ""
    begin()
    return
  }
  if (!sub(date, "", text)) return
  if (text ~ /^([Dd]ispatched|.*[Ss]tarted on) /) begin()
  if (text ~ /^[Dd]ispatched .*</) { host = text; sub(/^[^<]*</, "", host); sub(/>.*/, "", host) }
  if (match(text, /Allocated [0-9]+/)) { # slots, on all hosts, of which the first one is kept
    sub(/^[0-9]+\*/, "", host)
    host = substr(text, RSTART + 10, RLENGTH - 10) "*" host
  }
  if (text ~ /^Done successfully/) state = "DONE"
  if (text ~ /^Exited/) state = "EXIT"
  if (match(text, /^Exited with exit code [0-9]+/)) code = substr(text, 23, RLENGTH - 22)
  if (match(text, /^Exited by (LSF )?signal [0-9]+/)) {
    code = substr(text, 1, RLENGTH)
    sub(/.* /, "", code)
    code += 128
  }
  if (text ~ /^Completed <exit>; TERM_/) {
    state = "EXIT"
    term = substr(text, 19)
    sub(/[.;] *$/, "", term)
  }
}
!in_history { if ($0 == "") in_history = 1; else asked[$0]; next }
/^                     / { line = line substr($0, 22); next }
{ read_entry(); line = $0 }
END {
  read_entry()
  tell()
  for (id in told) if (told[id] != "") print told[id]
}'
}
