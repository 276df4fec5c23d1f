#!/bin/sh
# Brings up Debian's OAR on loopback, without systemd: its server, a database and a node with four processors and two
# GPUs. Not a part of ci.sh, because it takes a minute: make lab OAR=1. Root only; can be repeated.
set -eu
[ "$(id -u)" = 0 ] || { echo "oar-up.sh: must be root" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
run=/run/oar-lab
user=${LAB_USER:-griduser}
mkdir -p -m 755 "$run" /run/sshd
loud() { # COMMAND...: silent, but for an error
  "$@" > "$run/out" 2>&1 || { cat "$run/out" >&2; return 1; }
}
if [ ! -x /usr/lib/oar/Almighty ] || ! command -v oarsub > /dev/null; then
  export DEBIAN_FRONTEND=noninteractive
  loud apt-get update -q
  loud apt-get install -y -q --no-install-recommends oar-server oar-server-pgsql oar-node oar-user oar-user-pgsql \
    postgresql postgresql-client libdbd-pg-perl openssh-server gcc libc6-dev
fi
id "$user" > /dev/null 2>&1 || useradd -m -s /bin/bash "$user"
pg_lsclusters -h | while read -r version cluster port status _; do
  [ "$status" = online ] || pg_ctlcluster "$version" "$cluster" start < /dev/null
done
if ! grep -q '"oarpw"' /etc/oar/oar.conf; then
  sed -i -e 's/^DB_TYPE=.*/DB_TYPE="Pg"/' -e 's/^DB_HOSTNAME=.*/DB_HOSTNAME="localhost"/' -e 's/^DB_PORT=.*/DB_PORT="5432"/' \
    -e 's/^SERVER_HOSTNAME=.*/SERVER_HOSTNAME="localhost"/' -e 's/^DB_BASE_PASSWD=.*/DB_BASE_PASSWD="oarpw"/' \
    -e 's/^DB_BASE_PASSWD_RO=.*/DB_BASE_PASSWD_RO="oarropw"/' -e 's/^PINGCHECKER_SENTINELLE/#&/' \
    -e 's#^.PINGCHECKER_GENERIC_COMMAND=.*#PINGCHECKER_GENERIC_COMMAND="/bin/true"#' \
    -e 's/^JOB_RESOURCE_MANAGER_PROPERTY_DB_FIELD/#&/' /etc/oar/oar.conf
  until su postgres -c 'psql -c "select 1"' > /dev/null 2>&1; do sleep 0.2; done
  loud oar-database --create --db-is-local
fi
alive() { # PIDFILE
  pid=$(cat "$1" 2> /dev/null) && [ -n "$pid" ] && kill -0 "$pid" 2> /dev/null
}
alive /run/sshd/oar.pid ||
  loud /usr/sbin/sshd -f /etc/oar/sshd_config -o ListenAddress=127.0.0.1 -o PidFile=/run/sshd/oar.pid
if ! alive "$run/oar.pid"; then
  touch /var/log/oar.log
  chown oar /var/log/oar.log
  # The server would bind to all addresses. Its own wrapper is setuid and drops LD_PRELOAD: this is what it sets.
  cc -shared -fPIC -O -o "$run/bindlo.so" "$here/bindlo.c" -ldl
  lib=/usr/lib/oar
  setsid runuser -u oar -- env -i PATH=/bin:/sbin:/usr/bin:/usr/sbin:$lib/oardodo:$lib HOME=/var/lib/oar USER=oar \
    LOGNAME=oar SHELL=/bin/bash OARUSER=oar OARDIR=$lib OARXAUTHLOCATION=/usr/bin/xauth OARDO_USER=oar \
    OARDO_UID="$(id -u oar)" OARCONFFILE=/etc/oar/oar.conf PERL5LIB=/usr/share/oar/oar-server/lib \
    LD_PRELOAD="$run/bindlo.so" /usr/bin/perl $lib/Almighty < /dev/null > "$run/server.out" 2>&1 &
  echo $! > "$run/oar.pid"
fi
until oarnodes > /dev/null 2>&1; do sleep 0.2; done
for property in core gpu; do oarproperty -l | grep -qx "$property" || loud oarproperty -a "$property"; done
n=$(oarnodes | grep -c '^resource_id : ') || :
while [ "$n" -lt 4 ]; do
  n=$((n + 1))
  loud oarnodesetting -a -h 127.0.0.1 -p "core=$n" -p "gpu=$(((n + 1) / 2))"
done
loud oarnodesetting -h 127.0.0.1 -s Alive
echo "$(oarstat -V | head -n 1) is up"
