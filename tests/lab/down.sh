#!/bin/sh
# Ends what up.sh and slurmrest-up.sh started, by its pid files. Root only.
set -u
[ "$(id -u)" = 0 ] || { echo "down.sh: must be root" >&2; exit 2; }
stop() { # PIDFILE NAME
  pid=$(cat "$1" 2> /dev/null)
  there() { [ -n "$pid" ] && grep -q "^$pid ($1[^)]*) [^Z]" "/proc/$pid/stat" 2> /dev/null; }
  if there "$2"; then
    kill -s TERM "$pid"
    left=100
    while there "$2" && [ "$left" -gt 0 ]; do
      left=$((left - 1))
      sleep 0.1
    done
    there "$2" && kill -s KILL "$pid"
    echo "$2: stopped"
  else
    echo "$2: not running"
  fi
  rm -f "$1"
}
stop /run/slurmrest-lab/pid runuser
stop /run/slurm/slurmd.pid slurmd
stop /run/slurm/slurmctld.pid slurmctld
stop /run/munge/munged.pid munged
