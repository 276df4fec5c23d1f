#!/bin/sh
# Brings up Flux: an instance of one node, of the user of the lab. It is built from its source the first time, in six
# minutes, into /opt/flux. Not a part of ci.sh: make lab FLUX=1. Root only; can be repeated.
#
# FLUX_SOURCE  the repository of flux-core, from which the version below is taken
set -eu
[ "$(id -u)" = 0 ] || { echo "flux-up.sh: must be root" >&2; exit 2; }
user=${LAB_USER:-griduser} run=/run/flux-lab version=v0.88.0
source=${FLUX_SOURCE:-https://github.com/flux-framework/flux-core}
loud() { # COMMAND...: silent, but for an error
  "$@" > "$run/out" 2>&1 || { tail -n 20 "$run/out" >&2; return 1; }
}
build() ( # a subshell: the folder that it enters is removed later
  git clone -q --no-checkout "$source" "$run/source" && cd "$run/source" && git checkout -q "$version" &&
    FLUX_VERSION=${version#v} ./autogen.sh && PYTHON=/usr/bin/python3 ./configure --prefix=/opt/flux --disable-docs &&
    make -j"$(nproc)" && make install
)
id "$user" > /dev/null 2>&1 || useradd -m -s /bin/bash "$user"
install -d -o "$user" -m 0755 "$run"
if [ ! -x /opt/flux/bin/flux ]; then
  export DEBIAN_FRONTEND=noninteractive
  loud apt-get update -q
  loud apt-get install -y -q --no-install-recommends git autoconf automake libtool make pkg-config g++ libzmq3-dev uuid-dev \
    libjansson-dev liblz4-dev libarchive-dev libhwloc-dev libsqlite3-dev libncurses-dev liblua5.1-dev lua5.1 lua-posix \
    python3-dev python3-cffi python3-yaml python3-ply python3-packaging
  rm -rf "$run/source"
  loud build || { echo "flux-up.sh: Flux could not be built from $source: its stories are left out" >&2; exit 1; }
  rm -rf "$run/source"
fi
answers() { runuser -u "$user" -- env FLUX_URI="local://$run/socket" /opt/flux/bin/flux uptime > /dev/null 2>&1; }
if ! answers; then
  rm -f "$run/socket"
  runuser -u "$user" -- setsid /opt/flux/bin/flux start "-Slocal-uri=local://$run/socket" sleep inf \
    < /dev/null > "$run/log" 2>&1 &
  echo "$!" > "$run/pid"
  left=100
  until answers; do
    left=$((left - 1))
    [ "$left" -gt 0 ] || { echo "flux-up.sh: Flux does not answer; see $run/log" >&2; exit 4; }
    sleep 0.2
  done
fi
echo "Flux ${version#v} is up"
