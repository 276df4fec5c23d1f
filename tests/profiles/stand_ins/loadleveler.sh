#!/bin/sh
# Answers as IBM's manual and recorded outputs show. The file jobs beside it has a job on each line: ID|STATE|DIRECTORY
here=${0%/*}
[ ! -e "$here/away" ] || { echo "${0##*/}: 2512-301 An error occurred while receiving data from the LoadL_negotiator daemon on host \"node1\"." >&2; exit 1; }
change() { # STATES NEW ID: it does not say that a job is unknown
  sed -E "s/^$3[|]($1)[|]/$3|$2|/" "$here/jobs" > "$here/new" && mv "$here/new" "$here/jobs"
  echo "${0##*/}: the command has been sent to the central manager."
}
case ${0##*/}:$* in
llsubmit:*)
  directives=$(sed -n 's/^# *@ *//p' "$1")
  [ "$(printf '%s\n' "$directives" | grep -c '^queue$')" = 1 ] || { echo 'llsubmit: 2512-062 Syntax error' >&2; exit 1; }
  id=node1.$(($(wc -l < "$here/jobs") + 101))
  echo "$id|I|$(pwd -P)" >> "$here/jobs"
  cp "$1" "$here/script.$id"
  echo 'llsubmit: Processed command file through Submit Filter: "/usr/lpp/filter".' >&2
  echo "llsubmit: The job \"$id\" has been submitted." ;;
'llq:-r %id %st -u '*)
  grep -q . "$here/jobs" || { echo 'llq: There is currently no job status to report.'; exit; }
  awk -F '|' '$2 != "gone" { print $1 ".0!" $2; n++ } END { print "\n" n + 0 " job step(s) in query, 0 waiting, 0 pending, 0 running, 0 held, 0 preempted" }' "$here/jobs" ;;
'llq:-l -u '*)
  awk -F '|' '$2 != "gone" {
    print "=============== Job Step " $1 ".0 ==============="
    print "        Job Step Id: " $1 ".0\n           Job Name: " $1 "\n             Status: Idle"
    print "Initial Working Dir: " $3 "\n         Dependency:"
  }' "$here/jobs" ;;
llcancel:*) change 'I|R|H' gone "$1" ;;
'llhold:-r '*) change H I "$2" ;;
llhold:*) change I H "$1" ;;
*) exit 2 ;;
esac
