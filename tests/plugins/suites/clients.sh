#!/bin/sh
# Programs of others that call sbatch and qsub, unmodified, through stand-ins: clients.sh PROFILE
# SUITE_QUICK=1 runs four of them, which PYTHON (default: python3 on PATH) has: submitit, Dask-Jobqueue, PSI/J, executorlib.
# SUITE_CONTROL=1 gives those that call Slurm the real one's own commands, to see that they work there.
# Without both, all of clients.py: those that it does not have are installed in environments of their own, which takes minutes.
set -eu
[ $# = 1 ] || { echo "usage: clients.sh PROFILE" >&2; exit 2; }
profile=$1
here=$(cd -- "$(dirname -- "$0")" && pwd)
python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
# The user's profiles, but not the user's home, below which jobs work.
export XDG_CONFIG_HOME="${XDG_CONFIG_HOME:-$HOME/.config}" HOME="$work"

# write NAME SYSTEM [OPTION...]: writes stand-ins
write() {
  name=$1 system=$2
  shift 2
  "$python" -m osprofile shim "$work/$name" --profile "$profile" --as "$system" --store "$work/jobs.db" "$@" > /dev/null
}
# run PYTHON CLIENT...: runs clients
run() {
  interpreter=$1
  shift
  timeout -k 60 "${SUITE_TIMEOUT:-900}" "$interpreter" "$here/clients.py" "$work" "$@" > "$work/out" 2>&1 < /dev/null ||
    { cat "$work/out" >&2; exit 1; }
  cat "$work/out"
}

# install_and_run NAME PACKAGES CLIENT...: runs clients in an environment of their own
install_and_run() {
  environment=$work/environment-$1 packages=$2
  shift 2
  "$python" -m venv "$environment"
  # shellcheck disable=SC2086 # several words
  "$environment/bin/pip" install -q --no-compile $packages > "$work/pip" 2>&1 || { cat "$work/pip" >&2; exit 1; }
  run "$environment/bin/python" "$@"
}

if [ -n "${SUITE_CONTROL:-}" ]; then
  mkdir "$work/slurm"
  for command in sbatch squeue scancel sacct scontrol sinfo srun sacctmgr; do
    ln -s "$(command -v "$command")" "$work/slurm"
  done
  run "$python" submitit dask-slurm psij-slurm parsl-slurm executorlib toil
  # maestrowf names a queue, and reportseff needs an accounting, which that of tests/lab does not have.
  install_and_run control \
    "simple_slurm slurmpy clusterfutures hydra-submitit-launcher myqueue signac-flow ipyparallel FireWorks nipype" \
    simple-slurm slurmpy clusterfutures hydra myqueue-slurm signac-slurm ipyparallel-slurm fireworks-slurm nipype-slurm
  exit
fi
write slurm slurm
write pbspro pbspro
write torque torque

run "$python" --side-by-side submitit dask-slurm psij-pbs executorlib
[ -z "${SUITE_QUICK:-}" ] || exit 0
run "$python" psij-slurm parsl-slurm parsl-pbspro parsl-torque psij-pbs-classic dask-pbs toil
install_and_run a pysqa pysqa
install_and_run b "aiida-core qtoolkit troika" aiida-slurm aiida-pbspro aiida-torque qtoolkit-slurm qtoolkit-pbs troika
install_and_run c "snakemake snakemake-executor-plugin-slurm" snakemake
install_and_run d ReFrame-HPC reframe-slurm reframe-squeue reframe-pbs reframe-torque
install_and_run e "simple_slurm slurmpy clusterfutures reportseff maestrowf hydra-submitit-launcher myqueue signac-flow" \
  simple-slurm slurmpy clusterfutures reportseff maestrowf hydra myqueue-slurm myqueue-pbs signac-slurm
install_and_run f "ipyparallel FireWorks nipype pydra<1 pulsar-app" ipyparallel-slurm ipyparallel-pbs fireworks-slurm fireworks-pbs \
  nipype-slurm nipype-pbs pydra pulsar-slurm pulsar-torque
install_and_run g ert ert
# These two need GNU parallel, and rsync, of the system.
if command -v parallel > /dev/null; then install_and_run h qbatch qbatch-slurm qbatch-pbs; fi
if command -v rsync > /dev/null; then install_and_run i cylc-flow cylc-slurm cylc-pbs; fi
