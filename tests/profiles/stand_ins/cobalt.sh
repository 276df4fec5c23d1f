#!/bin/sh
# Answers as Cobalt's commands do by their source. The file jobs beside it has a job on each line: ID|STATE|ARGS
here=${0%/*} && PATH=${PATH#"$here":}
[ ! -e "$here/away" ] || { echo 'component error: Failed to connect to queue-manager: lookup' >&2; exit 1; }
change() { # STATES NEW ID: the commands fail by words only
  grep -qE "^$3[|]($1)[|]" "$here/jobs" || { echo "      job $3 not found"; return; }
  sed "s/^$3|[a-z_]*|/$3|$2|/" "$here/jobs" > "$here/new" && mv "$here/new" "$here/jobs"
}
case ${0##*/} in
qsub)
  options=
  while case $1 in -*) ;; *) false ;; esac; do options="$options $1 $2"; shift 2; done # each has a value
  [ -x "$1" ] || { echo "command $1 is not executable" >&2; exit 1; }
  case "$options " in *' -n '[0-9]*' -t '[0-9]*) ;; *) echo "'time' not provided" >&2; exit 1 ;; esac
  id=$(($(wc -l < "$here/jobs") + 101))
  printf '%s\n' "$3" > "$here/script.$id"
  shift
  printf '%s|queued|%s\n' "$id" "$*" >> "$here/jobs"
  echo "Jobid: $id" > .gpe/cobalt.log
  echo "$id" ;;
qstat)
  [ "$1 $3" = '--header -u' ] || exit 2
  awk -v what="$2" '
  BEGIN { print "JobID  " substr(what, 7) "       "; print "=====================" }
  { split($0, part, "|"); id = part[1]; args = $0; sub(/^[^|]*[|][^|]*[|]/, "", args) }
  part[2] != "ended" { printf "%-5s  %-20s  \n", id, what == "JobID:State" ? part[2] : args }' "$here/jobs" ;;
qdel)
  change '[a-z_]*' ended "$1"
  printf '      Deleted Jobs\nJobID  User\n===========\n%s    alice\n' "$1" ;;
qhold) change queued user_hold "$1" ;;
qrls) change user_hold queued "$1" ;;
esac
