# ID: prints a line as bjobs does, of a job that only the history knows. Its entries begin with a
# date and go on behind 21 blanks. The command stands in such lines too, never at a line's begin. 1:
# the history does not know it; 2: it does not answer.
gpe_bhist() {
  gpe_history=$(bhist -l "$1" 2>&1) || case $?:$gpe_history in
  127:* | *'job found'* | *'not found'*) return 1 ;;
  *)
    printf '%s\n' "$gpe_history" >&2
    return 2
    ;;
  esac
  printf '%s\n' "$gpe_history" | GPE_OWNER=$(id -un) awk -v id="$1" '
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
