#!/bin/sh
# busy.sh N COMMAND...: runs a command beside N busy loops, as on a machine that others use, too, and
# exits with its status. The loops end with this shell, whatever ends it.
set -u
case ${1:-} in '' | *[!0-9]*) echo 'usage: busy.sh N COMMAND...' >&2 && exit 2 ;; esac
count=$1 loops=
shift
trap 'kill $loops 2> /dev/null' EXIT
while [ "$count" -gt 0 ]; do
  sh -c 'while kill -0 "$1" 2> /dev/null; do :; done' sh "$$" &
  loops="$loops $!"
  count=$((count - 1))
done
exec 3<&0 # a command in the background has /dev/null for its standard input
came=
trap 'came=y; kill "${!-}"' HUP INT TERM # before the command begins, this is a loop
"$@" <&3 3<&- &                          # in the foreground, no signal would come before its end
command=$!
wait "$command"
status=$?
while [ -n "$came" ]; do # a signal has ended `wait`, and then the command
  came=
  wait "$command"
  status=$?
done
exit "$status"
