#!/bin/sh
# Answers as the manual of Moab and recorded outputs of `showq --xml` show. The file jobs beside it has a job on each line:
# ID|STATE|CODE|SECONDS; session.ID has the process group of a job that runs.
here=${0%/*}
[ ! -e "$here/away" ] || { echo 'ERROR:    client timed out after 30 seconds (hostname:port=mg1:42559)' >&2; exit 1; }
change() { # STATES NEW ID WORD
  grep -qE "^$3[|]" "$here/jobs" || { echo "ERROR:  invalid job specified ($3)" >&2; exit 1; }
  sed -E "s/^$3[|]($1)[|].*/$3|$2/" "$here/jobs" > "$here/new" && mv "$here/new" "$here/jobs"
  printf "\njob '%s' %s\n\n" "$3" "$4"
}
show() { # OPTION CONDITION
  echo '<Data>'
  echo ' <Object>queue</Object>'
  awk -F '|' -v option="$1" "BEGIN { print \" <queue option=\\\"\" option \"\\\">\" } $2"' {
  printf "  <job AWDuration=\"%d\" Account=\"a\"%s GJID=\"%s\" Group=\"g\" JobID=\"%s\" JobName=\"n\" ReqAWDuration=\"60\" State=\"%s\" User=\"alice\"/>\n",
    $4, $3 == "" ? "" : " CompletionCode=\"" $3 "\"", $1, $1, $2
  }
  END { print " </queue>" }' "$here/jobs"
  echo '</Data>'
}
case ${0##*/}:$* in
msub:*)
  echo "$*" >> "$here/requests"
  for script; do :; done
  id=$(($(wc -l < "$here/jobs") + 101))
  echo "$id|Idle||0" >> "$here/jobs"
  cp "$script" "$here/script.$id"
  printf '\n%s\n' "$id" ;;
'showq:--xml -w user='*) show active '$2 !~ /Completed|Removed/' ;;
'showq:-c --xml -w user='*) show completed '$2 ~ /Completed|Removed/' ;;
'mjobctl:-c '*) change 'Idle|Running|UserHold' 'Removed|CNCLD|1' "$2" cancelled ;;
'mjobctl:-h user '*) change 'Idle' 'UserHold||0' "$3" 'holds modified' ;;
'mjobctl:-u user '*) change 'UserHold' 'Idle||0' "$3" 'holds modified' ;;
'mjobctl:-N signal='*) kill "-${2#*=}" "-$(cat "$here/session.$3")" ;;
*) exit 2 ;;
esac
