#!/bin/sh
# Brings up a real Slurm of one node, with munge, on loopback and without systemd. Root only; can be repeated.
#
# LAB_CPUS=64      processors that the node pretends to have
# LAB_KEEP_CONF=1  leaves an existing slurm.conf as it is
# LAB_FRESH=1      ends the jobs that an earlier run has left
set -eu
[ "$(id -u)" = 0 ] || { echo "up.sh: must be root" >&2; exit 2; }
for program in munged slurmctld slurmd; do
  command -v "$program" > /dev/null || [ -x "/usr/sbin/$program" ] ||
    { echo "up.sh: $program is not installed (ci.sh does that)" >&2; exit 3; }
done
conf=/etc/slurm/slurm.conf run=/run/slurm log=/var/log/slurm state=/var/lib/slurm/slurmctld spool=/var/lib/slurm/slurmd
host=$(uname -n)
host=${host%%.*}

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

# Slurm looks up its own name
getent hosts "$host" > /dev/null || echo "127.0.0.1 $host" >> /etc/hosts

install -d -o munge -g munge -m 0755 /run/munge
install -d -o munge -g munge -m 0711 /var/lib/munge
install -d -o munge -g munge -m 0700 /var/log/munge /etc/munge
[ -s /etc/munge/munge.key ] || runuser -u munge -- /usr/sbin/mungekey --create
chown munge:munge /etc/munge/munge.key
chmod 0400 /etc/munge/munge.key
if ! alive /run/munge/munged.pid munged; then
  rm -f /run/munge/munged.pid
  runuser -u munge -- /usr/sbin/munged --force < /dev/null
fi
answers() { munge -n < /dev/null | unmunge; }
retry 50 answers || { echo "up.sh: munge does not answer" >&2; exit 4; }

install -d -o slurm -g slurm -m 0755 "$run" "$log" "$state"
install -d -m 0755 "$spool" /etc/slurm
touch "$log/jobcomp.log"
chown slurm:slurm "$log/jobcomp.log"
chmod 0644 "$log/jobcomp.log"
# a job that takes more memory than it asked for is ended, where the kernel's first kind of control groups is mounted
task=task/none
printf '%s\n' CgroupPlugin=cgroup/v1 ConstrainRAMSpace=yes > /etc/slurm/cgroup.conf
! grep -q ' /sys/fs/cgroup/memory cgroup rw' /proc/mounts || task=task/cgroup
changed=
if [ -z "${LAB_KEEP_CONF:-}" ] || [ ! -s "$conf" ]; then
  cat > "$conf.new" << END
ClusterName=lab
SlurmctldHost=$host(127.0.0.1)
SlurmUser=slurm
SlurmdUser=root
SlurmctldPort=6817
SlurmdPort=6818
AuthType=auth/munge
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmctldPidFile=$run/slurmctld.pid
SlurmdPidFile=$run/slurmd.pid
SlurmctldLogFile=$log/slurmctld.log
SlurmdLogFile=$log/slurmd.log
StateSaveLocation=$state
SlurmdSpoolDir=$spool
SwitchType=switch/none
MpiDefault=none
# no systemd
ProctrackType=proctrack/linuxproc
TaskPlugin=$task
# usage is measured
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc=$log/jobcomp.log
# many small jobs at once, turned over quickly
SelectType=select/cons_tres
# memory is a limit only where it is allocated; a job that asks for none gets enough, so that memory keeps none from running
SelectTypeParameters=CR_CPU_Memory
DefMemPerNode=4000
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1,default_queue_depth=1000,partition_job_depth=0
PriorityType=priority/basic
# a job of the partition urgent takes the place of others, which run again later, or are ended
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
JobRequeue=1
SlurmdParameters=config_overrides
PropagateResourceLimits=NONE
ReturnToService=2
MinJobAge=600
MaxJobCount=500000
MaxArraySize=10001
KillWait=2
CompleteWait=0
InactiveLimit=0
SlurmctldTimeout=30
SlurmdTimeout=120
MessageTimeout=10
SlurmctldDebug=info
SlurmdDebug=info
GresTypes=gpu
NodeName=$host NodeAddr=127.0.0.1 CPUs=${LAB_CPUS:-64} RealMemory=1000000 Gres=gpu:fake:4 Feature=fast,avx State=UNKNOWN
PartitionName=debug Nodes=$host Default=YES MaxTime=INFINITE DefaultTime=1:00:00 State=UP
PartitionName=short Nodes=$host Default=NO  MaxTime=10:00 DefaultTime=5:00 State=UP
PartitionName=urgent Nodes=$host Default=NO MaxTime=10:00 DefaultTime=5:00 PriorityTier=10 PreemptMode=OFF State=UP
END
  # files stand for the devices: the jobs of the lab open none
  touch "$run/gpu0" "$run/gpu1" "$run/gpu2" "$run/gpu3"
  echo "Name=gpu Type=fake File=$run/gpu[0-3]" > /etc/slurm/gres.conf
  if cmp -s "$conf.new" "$conf"; then
    rm -f "$conf.new"
  else
    mv "$conf.new" "$conf"
    changed=y
  fi
fi
if alive "$run/slurmctld.pid" slurmctld; then
  [ -z "$changed" ] || scontrol reconfigure || { echo "up.sh: the new slurm.conf needs down.sh first" >&2; exit 5; }
else
  rm -f "$run/slurmctld.pid"
  slurmctld < /dev/null
fi
# as on a cluster: the node has a /var/tmp of its own, and shares /srv/lab and the homes
install -d -m 1777 /srv/lab
apart() { # does slurmd have mounts of its own? one of an older up.sh has not
  alive "$run/slurmd.pid" slurmd || return
  [ "$(readlink "/proc/$pid/ns/mnt")" != "$(readlink /proc/self/ns/mnt)" ] || { kill "$pid" && return 1; }
}
if ! apart; then
  gone() { ! alive "$run/slurmd.pid" slurmd; }
  retry 300 gone
  rm -f "$run/slurmd.pid"
  unshare -m sh -c 'mount -t tmpfs -o mode=1777 node /var/tmp && exec slurmd' < /dev/null ||
    { echo "up.sh: slurmd, which needs a mount namespace, does not start" >&2; exit 5; }
fi
usable() {
  case $(sinfo -h -n "$host" -p debug -o %T) in
  idle | mixed | allocated) ;;
  *) scontrol update NodeName="$host" State=RESUME; return 1 ;;
  esac
}
retry 300 usable || { echo "up.sh: the node does not come up; see $log" >&2; tail -n 5 "$log"/*.log >&2; exit 5; }
ended() { # a job whose processes went with the machine keeps its processors until Slurm sees that, in many minutes
  jobs=$(squeue -h -o %A) || return 1
  [ -n "$jobs" ] || return 0
  printf '%s\n' "$jobs" | xargs scancel
  return 1
}
[ -z "${LAB_FRESH:-}" ] || retry 600 ended || { echo "up.sh: jobs of an earlier run do not end" >&2; squeue >&2; exit 7; }
# in the far future, of one processor: it keeps no other job from running
scontrol show reservation far > /dev/null 2>&1 ||
  scontrol create reservation ReservationName=far StartTime=2036-01-01 Duration=1:00:00 CoreCnt=1 Nodes="$host" Users=-nobody > /dev/null ||
  { echo "up.sh: the reservation cannot be made" >&2; exit 6; }
echo "$(sinfo --version) is up on $host"
