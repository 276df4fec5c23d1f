#!/bin/sh
# Brings up Debian's Grid Engine, a master and an execution daemon on loopback, without systemd and beside Slurm's
# commands of the same names: its packages are unpacked below $SGE_ROOT, not installed. Root only; can be repeated.
# Its commands: . $SGE_ROOT/default/common/settings.sh
#
# LAB_FRESH=1   ends the jobs that an earlier run has left
set -eu
[ "$(id -u)" = 0 ] || { echo "sge-up.sh: must be root" >&2; exit 2; }
SGE_ROOT=${SGE_ROOT:-/opt/sge} SGE_CELL=default SGE_ARCH=lx-amd64
SGE_QMASTER_PORT=${SGE_QMASTER_PORT:-6444} SGE_EXECD_PORT=${SGE_EXECD_PORT:-6445}
export SGE_ROOT SGE_CELL SGE_ARCH SGE_QMASTER_PORT SGE_EXECD_PORT
here=$(cd "$(dirname "$0")" && pwd)
bin=$SGE_ROOT/bin/$SGE_ARCH common=$SGE_ROOT/$SGE_CELL/common spool=$SGE_ROOT/spool
host=$(uname -n)
host=${host%%.*}
slots=${LAB_SLOTS:-16}
user=${LAB_USER:-griduser}
first=5000000 # ids that Slurm's jobs of the same user do not have

alive() { # PIDFILE NAME: is that process there, and of that name?
  pid=$(cat "$1" 2> /dev/null) && [ -n "$pid" ] && grep -q "^$pid ($2[^)]*) [^Z]" "/proc/$pid/stat" 2> /dev/null
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
loud() { # COMMAND...: silent, but for an error
  "$@" > "$scratch/out" 2>&1 || { cat "$scratch/out" >&2; return 1; }
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
chmod 755 "$scratch"

if [ ! -x "$bin/sge_qmaster" ]; then
  export DEBIAN_FRONTEND=noninteractive
  libraries="libjemalloc2 libdb5.3 libhwloc15 libmunge2 libtirpc3"
  mkdir -m 777 "$scratch/debs" "$scratch/tree"
  fetch() {
    # shellcheck disable=SC2086
    dpkg -s $libraries > /dev/null 2>&1 || apt-get install -y -q --no-install-recommends $libraries || return
    cd "$scratch/debs" && apt-get download -q gridengine-master gridengine-exec gridengine-client gridengine-common
  }
  # the lists of packages may be there, and of today
  if ! (fetch) > "$scratch/out" 2>&1; then
    loud apt-get update -q
    (loud fetch)
  fi
  for deb in "$scratch"/debs/*.deb; do dpkg-deb -x "$deb" "$scratch/tree"; done
  mkdir -p "$SGE_ROOT/bin"
  cp -a "$scratch/tree/usr/share/gridengine/." "$SGE_ROOT"
  cp -a "$scratch/tree/usr/lib/gridengine" "$bin"
fi
# Debian's daemons look for their libraries and helpers there
[ -e /usr/lib/gridengine ] || ln -s "$bin" /usr/lib/gridengine
for name in lib utilbin; do
  mkdir -p "$SGE_ROOT/$name"
  ln -sfn "$bin" "$SGE_ROOT/$name/$SGE_ARCH"
done
id sgeadmin > /dev/null 2>&1 || useradd --system --no-create-home --home-dir "$SGE_ROOT" --shell /bin/false sgeadmin
# Grid Engine looks up its own name
getent hosts "$host" > /dev/null || echo "127.0.0.1 $host" >> /etc/hosts

mkdir -p "$common" "$spool/qmaster/job_scripts" "$spool/execd" "$spool/db"
echo "$host" > "$common/act_qmaster"
echo "$host localhost" > "$common/host_aliases"
cat > "$common/bootstrap" << END
admin_user sgeadmin
default_domain none
ignore_fqdn true
spooling_method berkeleydb
spooling_lib libspoolb
spooling_params $spool/db
binary_path $SGE_ROOT/bin
qmaster_spool_dir $spool/qmaster
security_mode none
listener_threads 2
worker_threads 2
scheduler_threads 1
END
cat > "$common/settings.sh" << END
SGE_ROOT=$SGE_ROOT SGE_CELL=$SGE_CELL SGE_ARCH=$SGE_ARCH
SGE_QMASTER_PORT=$SGE_QMASTER_PORT SGE_EXECD_PORT=$SGE_EXECD_PORT
PATH=$bin:\$PATH
export SGE_ROOT SGE_CELL SGE_ARCH SGE_QMASTER_PORT SGE_EXECD_PORT PATH
END
[ -s "$spool/qmaster/jobseqnum" ] || echo "$first" > "$spool/qmaster/jobseqnum"
chown -R sgeadmin: "$spool" "$SGE_ROOT/$SGE_CELL"
if [ ! -e "$spool/db/sge" ]; then
  sed -e "s@^execd_spool_dir.*@execd_spool_dir $spool/execd@" -e 's@^mailer.*@mailer /bin/true@' \
    -e 's@^load_report_time.*@load_report_time 00:00:01@' \
    -e 's@^reporting_params.*@reporting_params accounting=true reporting=false flush_time=00:00:01 joblog=false sharelog=00:00:00@' \
    "$SGE_ROOT/default-configuration" > "$scratch/configuration"
  as() { loud runuser -u sgeadmin -- "$@"; }
  as "$bin/spoolinit" berkeleydb libspoolb "$spool/db" init
  as "$bin/spooldefaults.bin" configuration "$scratch/configuration"
  as "$bin/spooldefaults.bin" complexes "$SGE_ROOT/util/resources/centry"
  as "$bin/spooldefaults.bin" usersets "$SGE_ROOT/util/resources/usersets"
  as "$bin/spooldefaults.bin" managers sgeadmin
  as "$bin/spooldefaults.bin" managers root
fi

preload=
if command -v cc > /dev/null; then
  [ -s "$SGE_ROOT/bindlo.so" ] || cc -shared -fPIC -O -o "$SGE_ROOT/bindlo.so" "$here/bindlo.c" -ldl
  preload=LD_PRELOAD=$SGE_ROOT/bindlo.so
fi
daemon() { # VARIABLE=VALUE... COMMAND: with nothing of this shell's environment, which jobs would inherit
  # shellcheck disable=SC2086
  env -i PATH="$bin:/usr/sbin:/usr/bin:/sbin:/bin" LANG=C.UTF-8 SGE_ROOT="$SGE_ROOT" SGE_CELL="$SGE_CELL" \
    SGE_QMASTER_PORT="$SGE_QMASTER_PORT" SGE_EXECD_PORT="$SGE_EXECD_PORT" $preload "$@" < /dev/null
}
if ! alive "$spool/qmaster.pid" sge_qmaster; then
  rm -f "$spool/qmaster.pid"
  (cd / && daemon SGE_QMASTER_PIDFILE="$spool/qmaster.pid" "$bin/sge_qmaster")
fi
retry 100 "$bin/qconf" -sh || { echo "sge-up.sh: qmaster does not answer; see $spool/qmaster/messages" >&2; exit 5; }
"$bin/qconf" -sh | grep -qx "$host" || loud "$bin/qconf" -ah "$host"
"$bin/qconf" -ss 2> /dev/null | grep -qx "$host" || loud "$bin/qconf" -as "$host"
if ! alive "$spool/execd.pid" sge_execd; then
  rm -f "$spool/execd.pid"
  (cd / && daemon SGE_EXECD_PIDFILE="$spool/execd.pid" "$bin/sge_execd")
fi
known() { "$bin/qconf" -sel | grep -qx "$host"; }
retry 100 known || { echo "sge-up.sh: execd does not report; see $spool/execd" >&2; exit 5; }

there() { "$bin/qconf" "$@" > /dev/null 2>&1; }
add() { loud "$bin/qconf" "$1" "$scratch/object"; }
if ! there -shgrp @allhosts; then
  printf 'group_name @allhosts\nhostlist %s\n' "$host" > "$scratch/object"
  add -Ahgrp
fi
# what many sites have: GPUs that are counted for each job, their type, and hosts of one job alone
if ! "$bin/qconf" -sc | grep -q '^gpu '; then
  {
    "$bin/qconf" -sc
    printf '%s\n' 'gpu gpu INT <= YES JOB 0 0' 'gpu_type gpu_type RESTRING == YES NO NONE 0' \
      'exclusive excl BOOL EXCL YES YES 0 1000'
  } > "$scratch/object"
  add -Mc
fi
loud "$bin/qconf" -mattr exechost complex_values gpu=4,gpu_type=a100,exclusive=true "$host"
"$bin/qconf" -su arusers 2> /dev/null | grep -q "$user" || loud "$bin/qconf" -au "$user" arusers # may reserve with qrsub
for pe in smp mpi2; do # several slots of one machine; two of each
  rule=\$pe_slots
  [ "$pe" = smp ] || rule=2
  there -sp "$pe" && continue
  printf '%s\n' "pe_name $pe" 'slots 999' 'user_lists NONE' 'xuser_lists NONE' 'start_proc_args NONE' \
    'stop_proc_args NONE' "allocation_rule $rule" 'control_slaves FALSE' 'job_is_first_task TRUE' \
    'urgency_slots min' 'accounting_summary TRUE' 'qsort_args NONE' > "$scratch/object"
  add -Ap
done
if ! there -sprj acct; then
  printf '%s\n' 'name acct' 'oticket 0' 'fshare 0' 'acl NONE' 'xacl NONE' > "$scratch/object"
  add -Aprj
fi
for queue in all.q short.q; do
  limit=INFINITY
  [ "$queue" = all.q ] || limit=00:10:00
  there -sq "$queue" && continue
  # a queue's template of Grid Engine's own, with what a lab needs
  "$bin/qconf" -sq > "$scratch/template"
  sed -e "s/^qname .*/qname $queue/" -e 's/^hostlist .*/hostlist @allhosts/' -e "s/^slots .*/slots $slots/" \
    -e 's/^pe_list .*/pe_list smp mpi2/' -e 's/^load_thresholds .*/load_thresholds NONE/' \
    -e 's/^shell_start_mode .*/shell_start_mode unix_behavior/' -e "s/^h_rt .*/h_rt $limit/" \
    "$scratch/template" > "$scratch/object"
  add -Aq
done
"$bin/qconf" -ssconf | sed -e 's/^schedule_interval .*/schedule_interval 0:0:1/' -e 's/^flush_submit_sec .*/flush_submit_sec 1/' \
  -e 's/^flush_finish_sec .*/flush_finish_sec 1/' -e 's/^job_load_adjustments .*/job_load_adjustments NONE/' \
  -e 's/^load_adjustment_decay_time .*/load_adjustment_decay_time 0:0:0/' > "$scratch/object"
add -Msconf
usable() { "$bin/qstat" -f | grep -q "^all.q@$host .* $SGE_ARCH *\$"; }
retry 300 usable || { echo "sge-up.sh: the queue does not come up" >&2; "$bin/qstat" -f >&2; exit 5; }
ended() {
  jobs=$("$bin/qstat" -u '*') || return 1
  [ -n "$jobs" ] || return 0
  "$bin/qdel" -f -u '*'
  return 1
}
[ -z "${LAB_FRESH:-}" ] || retry 600 ended || { echo "sge-up.sh: jobs of an earlier run do not end" >&2; exit 7; }
echo "$("$bin/qstat" -help | head -n 1) is up on $host"
