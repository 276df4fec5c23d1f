#!/bin/sh
# Brings up slurmrestd at a socket, for the user of the lab and its Slurm (up.sh). Root only; can be repeated.
set -eu
[ "$(id -u)" = 0 ] || { echo "slurmrest-up.sh: must be root" >&2; exit 2; }
user=${LAB_USER:-griduser} run=/run/slurmrest-lab
home=$(getent passwd "$user" | cut -d: -f6)
install -d -o "$user" -m 0700 "$run" "$home/.gpe"
printf 'unix-socket = "%s/socket"\n' "$run" > "$home/.gpe/slurmrest"
chown "$user" "$home/.gpe/slurmrest"
answers() { curl -sf --unix-socket "$run/socket" http://localhost/slurm/v0.0.38/ping > /dev/null; }
answers && exit
rm -f "$run/socket"
# A session of its own: it stays when whoever started it is ended, as with its process group.
setsid runuser -u "$user" -- slurmrestd -f /etc/slurm/slurm.conf -a rest_auth/local -s openapi/v0.0.38 \
  "unix:$run/socket" < /dev/null > "$run/log" 2>&1 &
echo "$!" > "$run/pid"
left=50
until answers; do
  left=$((left - 1))
  [ "$left" -gt 0 ] || { echo "slurmrest-up.sh: slurmrestd does not answer; see $run/log" >&2; exit 4; }
  sleep 0.2
done
