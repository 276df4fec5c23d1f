#!/bin/sh
# Answers as task-spooler 1.0.1 did. The file jobs beside it has a job on each line: ID|STATE|CODE|COMMAND
cd "${0%/*}" || exit
[ ! -e away ] || { echo "c: cannot connect to the server" >&2; exit 1; }
case $1 in
-S) echo 2 ;;
-l)
  echo 'ID   State      Output               E-Level  Times(r/u/s)   Command [run=1/2]'
  awk -F'|' '{
    command = $0
    sub(/^[^|]*[|][^|]*[|][^|]*[|]/, "", command)
    output = $2 == "queued" ? "(file)" : $2 == "skipped" ? "(no output)" : "/tmp/ts-out.x"
    printf "%-4s %-10s %-20s %s[x]%s\n", $1, $2, output, $2 == "finished" ? sprintf("%-8s 2.03/0.00/0.00 ", $3) : "", command
  }' jobs ;;
-r) grep -q "^$2|queued" jobs && sed "/^$2|/d" jobs > new && mv new jobs || { echo 'The job cannot be removed.' >&2; exit 1; } ;;
-k) grep -q "^$2|running" jobs && sed "s/^$2|running|/$2|finished|-1/" jobs > new && mv new jobs || { echo 'Error in the request: The job is not running.' >&2; exit 1; } ;;
*)
  echo "$*" >> requests
  id=$(($(wc -l < jobs) + 7))
  while [ "$1" != sh ]; do shift; done
  printf '%s|queued||%s\n' "$id" "$*" >> jobs
  printf 'exec ' > "script.$id" # tsp makes it the leader of a session
  for word; do printf "'%s' " "$(printf '%s\n' "$word" | sed "s/'/'\\\\''/g")"; done >> "script.$id"
  echo "$id" ;;
esac
