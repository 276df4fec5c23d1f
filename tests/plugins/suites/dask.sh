#!/bin/sh
# dask-jobqueue's own tests, which are in its wheel: dask.sh PROFILE
# They run with its LocalCluster first, which shows what passes on this machine, and then with OSProfileCluster:
# the tests for every cluster, and those for PBS, Slurm and SGE that start jobs. SUITE_QUICK=1 leaves LocalCluster out.
# PYTHON (default: python3 on PATH) has osprofile-hpc[dask] and pip. SUITE_TIMEOUT: seconds for each run.
# SUITE_ADDRESS (default: 127.0.0.1): an address of this machine that the nodes can reach; SUITE_TMPDIR: a directory that they share.
set -eu
[ $# = 1 ] || { echo "usage: dask.sh PROFILE" >&2; exit 2; }
profile=$1
here=$(cd -- "$(dirname -- "$0")" && pwd)
python=${PYTHON:-python3}
work=$(mktemp -d "${SUITE_TMPDIR:-${TMPDIR:-/tmp}}/dask-suite.XXXXXX")
# shellcheck source=/dev/null
. "$here/common.sh"

install pytest-asyncio cryptography
PYTHONPATH=$work/site:$here${PYTHONPATH:+:$PYTHONPATH}
export PYTHONPATH
cp -R "$("$python" -c 'import dask_jobqueue; print(dask_jobqueue.__path__[0])')/tests" "$work/tests"
# The wheel lacks the key and the certificate of the tests.
"$python" - "$work/tests" << 'END'
import pathlib
import sys

from distributed import Security

security, directory = Security.temporary(), pathlib.Path(sys.argv[1])
(directory / "ca.pem").write_text(security.tls_ca_file)
(directory / "key.pem").write_text(security.tls_worker_key)
END
# One of the files asks sinfo as it is imported, and fails where Slurm is installed but not running.
mkdir "$work/bin"
printf '#!/bin/sh\nprintf "CPUS(A/I/O/T)\\n0/0/0/0\\n"\n' > "$work/bin/sinfo"
chmod +x "$work/bin/sinfo"
PATH=$work/bin:$PATH
printf '[pytest]\naddopts = -p no:cacheprovider -p pytest_asyncio.plugin -p dask_fixtures\n' > "$work/pytest.ini"

# run NAME: runs the tests with a cluster
run() {
  OSPROFILE_SUITE_PROFILE=
  if [ "$1" != LocalCluster ]; then
    OSPROFILE_SUITE_PROFILE=$profile
    # It is about directives, which OSProfileCluster refuses. With LocalCluster, it tests nothing.
    set -- "$1" --deselect tests/test_job.py::test_deprecation_job_extra
  fi
  export OSPROFILE_SUITE_PROFILE
  # Not those of what only their own batch system has: interfaces of a container, the command that removes jobs, srun.
  run_tests "$@" --rootdir "$work" "$work/tests/test_job.py" "$work/tests/test_jobqueue_core.py" "$work/tests/test_pbs.py" \
    "$work/tests/test_slurm.py" "$work/tests/test_sge.py" \
    -k 'not different_interfaces and not complex_cancel_command and not slurm_runner' || return
  passed=$((${passed:-0} + ($# > 1))) # the deselected one
}
echo "dask-jobqueue $("$python" -c 'from importlib.metadata import version; print(version("dask-jobqueue"))'):"
compare run LocalCluster "OSProfileCluster-$profile" 2
