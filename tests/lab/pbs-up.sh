#!/bin/sh
# Brings up OpenPBS: a server, its scheduler and one node, on an address of the loopback device. It is built from its
# source the first time, in seven minutes, into /opt/pbs; its home is /var/spool/pbs. Not a part of ci.sh: make lab PBS=1.
# Root only; can be repeated. Its commands: PATH=/opt/pbs/bin:$PATH PBS_CONF_FILE=/opt/pbs/pbs.conf
#
# PBS_SOURCE  the repository of OpenPBS, from which the commit below is taken: the release 23.06.06 does not build with
#             Python 3.11
set -eu
[ "$(id -u)" = 0 ] || { echo "pbs-up.sh: must be root" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
run=/run/pbs-lab exec=/opt/pbs home=/var/spool/pbs conf=/opt/pbs/pbs.conf address=198.51.100.7 name=pbs0
version=cd7ab5edaf03dcac2f1cb9e2f42d75eb117d468a
source=${PBS_SOURCE:-https://github.com/openpbs/openpbs}
loud() { # COMMAND...: silent, but for an error
  "$@" > "$run/out" 2>&1 || { tail -n 20 "$run/out" >&2; return 1; }
}
retry() { # TENTHS COMMAND...: until it succeeds
  left=$1
  shift
  until "$@" > /dev/null 2>&1; do
    left=$((left - 1))
    [ "$left" -gt 0 ] || return 1
    sleep 0.1
  done
}
build() ( # a subshell: the folder that it enters is removed later
  git clone -q --no-checkout "$source" "$run/source" && cd "$run/source" && git checkout -q "$version" &&
    ./autogen.sh && ./configure --prefix="$exec" --with-pbs-server-home="$home" --with-pbs-conf-file="$conf" \
    --with-python=/usr --with-database-user=postgres CFLAGS='-O1 -w' && make -j"$(nproc)" && make install
)
alive() { # LOCK DAEMON
  pid=$(tr -d ' \n' 2> /dev/null < "$home/$1") && [ -n "$pid" ] &&
    [ "$(readlink "/proc/$pid/exe" 2> /dev/null)" = "$exec/sbin/$2" ]
}
daemon() { # COMMAND...: with nothing of this shell's environment, which jobs would inherit
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C PBS_CONF_FILE="$conf" LD_PRELOAD="$exec/lib/bindlo.so" \
    BINDLO_ADDRESS="$address" "$@" < /dev/null >> "$run/log" 2>&1
}
mkdir -p "$run"
if [ ! -x "$exec/sbin/pbs_mom" ]; then
  export DEBIAN_FRONTEND=noninteractive
  loud apt-get update -q
  loud apt-get install -y -q --no-install-recommends git autoconf automake libtool make pkg-config gcc g++ libhwloc-dev \
    libedit-dev libical-dev libncurses-dev libpq-dev postgresql postgresql-contrib swig libexpat-dev libssl-dev libcjson-dev \
    python3-dev tcl-dev tk-dev libx11-dev libxt-dev libxext-dev libxft-dev
  rm -rf "$run/source"
  loud build || { echo "pbs-up.sh: OpenPBS could not be built from $source: its stories are left out" >&2; exit 1; }
  rm -rf "$run/source"
fi
[ -s "$exec/lib/bindlo.so" ] || cc -shared -fPIC -O -o "$exec/lib/bindlo.so" "$here/bindlo.c" -ldl
# a server cannot have 127.0.0.1
ip -4 addr show lo | grep -q "$address/32" || ip addr add "$address/32" dev lo
getent hosts "$name" > /dev/null || echo "$address $name.lab.test $name" >> /etc/hosts
cat > "$conf" << END
PBS_EXEC=$exec
PBS_HOME=$home
PBS_SERVER=$name
PBS_SERVER_HOST_NAME=$name.lab.test
PBS_LEAF_NAME=$name
PBS_MOM_NODE_NAME=$name
PBS_START_SERVER=1
PBS_START_SCHED=1
PBS_START_COMM=1
PBS_START_MOM=1
PBS_CORE_LIMIT=0
END
export PBS_CONF_FILE="$conf" PATH="$exec/bin:$PATH"
if [ ! -d "$home/server_priv" ]; then
  loud "$exec/libexec/pbs_postinstall" server 23.06.06 "$exec" "$home" '' sameconf || :
  chmod 4755 "$exec/sbin/pbs_iff" "$exec/sbin/pbs_rcp"
  # files of a job are copied by cp
  printf '%s\n' "\$clienthost $name" "\$usecp *:/ /" "\$restrict_user false" '$enforce mem' > "$home/mom_priv/config"
fi
if [ ! -d "$home/datastore/base" ]; then
  daemon "$exec/libexec/pbs_habitat"
  sed -i "s/^listen_addresses = .*/listen_addresses = '$address'/" "$home/datastore/postgresql.conf"
fi
alive server_priv/comm.lock pbs_comm || daemon "$exec/sbin/pbs_comm"
alive mom_priv/mom.lock pbs_mom || daemon "$exec/sbin/pbs_mom"
alive sched_priv/sched.lock pbs_sched || daemon "$exec/sbin/pbs_sched"
alive server_priv/server.lock pbs_server.bin || daemon "$exec/sbin/pbs_server"
answers() { qstat -Bf | grep -q 'server_state = Active'; }
retry 300 answers || { echo "pbs-up.sh: the server does not answer; see $home/server_logs" >&2; exit 5; }
qmgr -c "list node $name" > /dev/null 2>&1 || qmgr -c "create node $name"
qmgr > /dev/null << END
set node $name resources_available.ncpus = 64
set node $name resources_available.mem = 64gb
set server job_history_enable = True
set server flatuid = True
END
usable() { pbsnodes -a | grep -qE '^ +state = (free|job-busy)'; }
retry 300 usable || { echo "pbs-up.sh: the node does not come up; see $home/mom_logs" >&2; exit 5; }
echo "$(qstat --version) is up on $name"
