#!/bin/sh
# Answers as others have recorded of NQSV. The file jobs beside it has a job on each line: ID STATE
here=${0%/*}
[ ! -e "$here/away" ] || { echo "${0##*/}: Cannot connect to the batch server." >&2; exit 1; }
change() { # STATES NEW ID
  grep -qE "^$3 ($1)\$" "$here/jobs" || { echo "${0##*/}: Request $3.nqsv cannot be changed." >&2; exit 1; }
  sed "s/^$3 .*/$3 $2/" "$here/jobs" > "$here/new" && mv "$here/new" "$here/jobs"
}
case ${0##*/}:$* in
qsub:*)
  for script; do :; done
  case "$* $(grep '^#PBS' "$script")" in *'-l cpunum_job='[1-9]*) ;; *) exit 2 ;; esac
  echo "$*" >> "$here/requests"
  id=$(($(wc -l < "$here/jobs") + 101))
  echo "$id QUE" >> "$here/jobs"
  cp "$script" "$here/script.$id"
  printf '\nRequest %s.nqsv submitted to queue: %s.\n' "$id" batch ;;
'qstat:-F rid,stt -n -l') sed -n '/ gone$/!s/ /.nqsv /p' "$here/jobs" ;;
qdel:*)
  change 'QUE|RUN|HLD' gone "$1"
  echo "Request $1.nqsv was deleted." ;;
qhold:*) change QUE HLD "$1" ;;
qrls:*) change HLD QUE "$1" ;;
*) exit 2 ;;
esac
