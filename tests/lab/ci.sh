#!/bin/sh
# The lab on a bare Debian: a real Slurm with PBS's commands over it and slurmrestd, a real Grid Engine, sshd, Globus's
# event generator and fork starter, task-spooler, at, further shells, and a user for the jobs.
# Root only; can be repeated.
set -eu
[ "$(id -u)" = 0 ] || { echo "ci.sh: must be root" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
user=${LAB_USER:-griduser}
missing=
for program in slurmctld slurmd sbatch qsub munge sshd globus-scheduler-event-generator globus-fork-starter \
  busybox ksh93 mksh yash zsh mpirun.openmpi tsp at slurmrestd curl jq; do
  command -v "$program" > /dev/null || [ -x "/usr/sbin/$program" ] || missing="$missing $program"
done
/usr/bin/python3 -c 'import ensurepip' 2> /dev/null || missing="$missing python3-venv"
if [ -n "$missing" ]; then
  out=$(mktemp)
  export DEBIAN_FRONTEND=noninteractive
  { apt-get update -q &&
    apt-get install -y -q --no-install-recommends slurmctld slurmd slurm-client slurm-wlm-torque slurmrestd munge curl jq \
      openssh-server openssh-client python3-venv busybox ksh mksh yash zsh openmpi-bin task-spooler at globus-scheduler-event-generator-progs globus-gram-job-manager-pbs-setup-seg \
      globus-gram-job-manager-lsf-setup-seg globus-gram-job-manager-sge-setup-seg globus-gram-job-manager-fork-setup-seg; } > "$out" 2>&1 ||
    { tail -n 20 "$out" >&2; exit 1; }
  rm -f "$out"
fi
# Slurm's own, which starts a program on the nodes of its job; Open MPI is called by its whole name
update-alternatives --set mpirun /usr/bin/mpiexec.slurm > /dev/null
kill -0 "$(cat /run/atd.pid 2> /dev/null)" 2> /dev/null || atd < /dev/null > /dev/null 2>&1
sh "$here/up.sh"
sh "$here/sge-up.sh"
id "$user" > /dev/null 2>&1 || useradd -m -s /bin/bash "$user"
sh "$here/slurmrest-up.sh"
