#!/bin/sh
# A command of the simulated cluster, by the name under which it is called: sbatch, squeue, scancel, sacct, sinfo.
# One line to the cluster; the answer is a line with the exit code and a word, or the number of a file.
# Two processes are started for it: a shell and mkfifo take 3 ms, Python would take 20.
answer=$SIMULATED/answers/$$
mkfifo "$answer" 2> /dev/null || { rm -f "$answer"; mkfifo "$answer" || exit 1; }
exec 4<> "$answer"
line="$$	$SIMULATED_SESSION	$SIMULATED_USER	$PWD	${0##*/}"
for word; do line="$line	$word"; done
printf '%s\n' "$line" > "$SIMULATED/requests"
read -r code kind text <&4 || exit 1
case $kind in
text) printf '%s\n' "$text" ;;
error) printf '%s\n' "$text" >&2 ;;
file) cat "$SIMULATED/answers/$text"; rm -f "$SIMULATED/answers/$text" ;;
esac
exit "$code"
