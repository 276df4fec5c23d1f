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
OSPROFILE_STORE=$work/jobs.db
# The user's profiles, but not the user's home, below which jobs work.
export XDG_CONFIG_HOME="${XDG_CONFIG_HOME:-$HOME/.config}" HOME="$work"
export OSPROFILE_STORE PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 PYTHONDONTWRITEBYTECODE=1

# remove_jobs: removes the jobs that are still there, and prints their ids
remove_jobs() {
  OSPROFILE_SUITE_PROFILE=$profile "$python" - << 'END'
import os

import osprofile

with osprofile.JobSession(os.environ["OSPROFILE_SUITE_PROFILE"], store=os.environ["OSPROFILE_STORE"]) as session:
    session.statuses()
    for job in session.list_jobs():
        print(job.id)
        job.cancel()
END
}
trap 'rm -rf -- "$work"' EXIT
trap 'remove_jobs; exit 129' HUP INT TERM

"$python" -m pip install -q --disable-pip-version-check --target "$work/site" pytest-asyncio cryptography > "$work/pip.out" 2>&1 ||
  { cat "$work/pip.out" >&2; exit 1; }
PYTHONPATH=$work/site:$here${PYTHONPATH:+:$PYTHONPATH}
export PYTHONPATH
version=$("$python" -c 'from importlib.metadata import version; print(version("dask-jobqueue"))')
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

# Tests of what only their own batch system has: interfaces of a container, the command that removes jobs, srun.
set -- -k 'not different_interfaces and not complex_cancel_command and not slurm_runner'
# run_suite NAME PROFILE ARGUMENT...: runs the tests in a directory of their own; $passed is how many passed
run_suite() {
  name=$1 status=0
  mkdir "$work/$name"
  cd "$work/$name"
  OSPROFILE_SUITE_PROFILE=$2
  export OSPROFILE_SUITE_PROFILE
  shift 2
  timeout -k 60 "${SUITE_TIMEOUT:-900}" "$python" -m pytest -q -ra -c "$work/pytest.ini" --rootdir "$work" \
    "$work/tests/test_job.py" "$work/tests/test_jobqueue_core.py" "$work/tests/test_pbs.py" "$work/tests/test_slurm.py" \
    "$work/tests/test_sge.py" "$@" > out 2>&1 < /dev/null || status=$?
  passed=$(grep -o '[0-9][0-9]* passed' out | tail -n 1) passed=${passed%% *}
  printf 'dask-jobqueue %s, %s: %s (exit status %s)\n' "$version" "$name" "$(tail -n 1 out)" "$status"
  return "$status"
}
expected=2
if [ -z "${SUITE_QUICK:-}" ]; then
  run_suite LocalCluster '' "$@" || grep '^FAILED ' out || :
  expected=${passed:-0}
fi
failed=0
# The deselected test is about directives, which OSProfileCluster refuses. With LocalCluster, it tests nothing.
run_suite "OSProfileCluster-$profile" "$profile" "$@" --deselect tests/test_job.py::test_deprecation_job_extra ||
  { tail -n 200 out; failed=1; }
[ "$((${passed:-0} + 1))" -ge "$expected" ] && [ "$expected" -gt 1 ] ||
  { echo "OSProfileCluster passed ${passed:-0} tests, LocalCluster $expected" >&2; failed=1; }
left=$(remove_jobs)
[ -z "$left" ] || { echo "jobs that were left behind, now removed: $left" >&2; failed=1; }
exit "$failed"
