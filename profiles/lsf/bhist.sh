# ID...: sets history to what LSF's history tells of them, or away to what is told of a job if it
# does not answer.
ask_history() {
  history='' away=''
  [ "$#" -gt 0 ] || return 0
  history=$(bhist -l "$@" 2>&1) && return
  case $?:$history in
  127:* | *'job found'* | *'not found'*) ;;
  *) away='away reason=bhist does not answer, which knows its end' history= ;;
  esac
}
# ID: prints a line as bjobs does, of a job that only the history knows; false if it does not. Its
# entries begin with a date and go on behind 21 blanks. The command stands in such lines too, never
# at a line's begin.
gpe_bhist() {
  printf '%s\n' "$history" | GPE_OWNER=$(id -un) awk -v id="$1" '
BEGIN {
  owner = ENVIRON["GPE_OWNER"] # -v would read a backslash in it
  date = "^[A-Z][a-z][a-z] [A-Z][a-z][a-z] [ 0-9][0-9] [0-9:]+( [0-9][0-9][0-9][0-9])?: "
}
function begin() { state = ""; code = term = host = "-" }
function read_entry(text) {
  text = line
  line = ""
  if (index(text, "Job <") == 1) {
    mine = index(text, "Job <" id ">,") == 1 && index(text, ", User <" owner ">")
    if (mine) begin()
    return
  }
  if (!mine || !sub(date, "", text)) return
  if (text ~ /^([Dd]ispatched|.*[Ss]tarted on) /) begin()
  if (text ~ /^[Dd]ispatched .*</) { host = text; sub(/^[^<]*</, "", host); sub(/>.*/, "", host) }
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
/^                     / { line = line substr($0, 22); next }
{ read_entry(); line = $0 }
END {
  read_entry()
  at = index(id, "[")
  index_of = at ? substr(id, at + 1, length(id) - at - 1) : "-"
  if (at) id = substr(id, 1, at - 1)
  if (state != "") print id "|" index_of "|" state "|" code "|" host "|" term
  exit state == ""
}'
}
