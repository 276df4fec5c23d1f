#!/bin/sh
# Ends what oar-up.sh started, by its pid files. The database goes on. Root only.
set -u
[ "$(id -u)" = 0 ] || { echo "oar-down.sh: must be root" >&2; exit 2; }
pid=$(cat /run/oar-lab/oar.pid 2> /dev/null) && kill -- "-$pid" 2> /dev/null
pid=$(cat /run/sshd/oar.pid 2> /dev/null) && kill "$pid" 2> /dev/null
rm -f /run/oar-lab/oar.pid
