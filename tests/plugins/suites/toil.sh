#!/bin/sh
# Toil's own tests of batch systems, which are in its wheel: toil.sh PROFILE
# AbstractBatchSystemTest and AbstractBatchSystemJobTest of toil/test/batchSystems/batchSystemTest.py run with Toil's
# SingleMachineBatchSystem first, which shows what passes on this machine, and then with that of osprofile.
# All tests must pass with ours, and as many as with SingleMachineBatchSystem, which SUITE_QUICK=1 leaves out.
# PYTHON (default: python3 on PATH) has osprofile-hpc[toil] and pytest. SUITE_TIMEOUT: seconds for each run.
# With a batch system of several nodes, TMPDIR must name a directory that they share.
set -eu
[ $# = 1 ] || { echo "usage: toil.sh PROFILE" >&2; exit 2; }
profile=$1
root=$(cd -- "$(dirname -- "$0")/../../.." && pwd)
python=${PYTHON:-python3}
# The workers are the command _toil_worker, which is beside the interpreter.
PATH=$("$python" -c 'import sysconfig; print(sysconfig.get_path("scripts"))'):$PATH
work=$(mktemp -d "${TMPDIR:-/tmp}/osprofile-toil.XXXXXX")
# The user's profiles, but neither the user's record of jobs nor the user's configuration of Toil.
export XDG_CONFIG_HOME="${XDG_CONFIG_HOME:-$HOME/.config}" HOME="$work" TMPDIR="$work" OSPROFILE_STORE="$work/jobs.db"
export PATH PYTHONPATH="$work:$root/plugins${PYTHONPATH:+:$PYTHONPATH}" PYTHONDONTWRITEBYTECODE=1
export PYTEST_DISABLE_PLUGIN_AUTOLOAD=1

# remove_jobs: removes the jobs that are still there, and prints their ids
remove_jobs() {
  OSPROFILE_SUITE_PROFILE=$profile "$python" - << 'END'
import os

import osprofile

with osprofile.JobSession(os.environ["OSPROFILE_SUITE_PROFILE"]) as session:
    session.statuses()
    for job in session.list_jobs():
        print(job.id)
        job.cancel()
END
}
trap 'rm -rf -- "$work"' EXIT
trap 'remove_jobs; exit 129' HUP INT TERM

# Toil's tests ask for the version of rsync when they are imported; none of these here use it.
if ! command -v rsync > /dev/null; then
  mkdir "$work/bin"
  printf '#!/bin/sh\necho "rsync  version 0.0.0"\n' > "$work/bin/rsync"
  chmod +x "$work/bin/rsync"
  PATH=$PATH:$work/bin
fi
printf '[pytest]\naddopts = -p no:cacheprovider\nfilterwarnings = ignore\n' > "$work/pytest.ini"
echo 'from toil.test.conftest import rootpath' > "$work/conftest.py"
cat > "$work/test_batch_system.py" << 'END'
import os

from toil.batchSystems.registry import get_batch_system
from toil.test.batchSystems.batchSystemTest import AbstractBatchSystemJobTest, hidden, numCores

NAME = os.environ["SUITE_BATCH_SYSTEM"]
PROFILE = os.environ["TOIL_OSPROFILE_PROFILE"]


class TestBatchSystem(hidden.AbstractBatchSystemTest):
    def supportsWallTime(self):
        return True

    def createBatchSystem(self):
        return get_batch_system(NAME)(config=self.config, maxCores=numCores, maxMemory=1e9, maxDisk=2001)


class TestBatchSystemJob(AbstractBatchSystemJobTest):
    def getBatchSystemName(self):
        return NAME

    def getOptions(self, tempDir):
        options = super().getOptions(tempDir)
        cores = tempDir.name.removeprefix("testFiles_")
        if NAME == "osprofile" and PROFILE == "linux" and cores.isdigit():
            # Without a batch system, nothing distributes processors but --maxJobs.
            options.max_jobs = self.cpuCount // int(cores)
        return options
END

# run_suite NAME: runs the tests in a directory of their own; $passed is how many passed
run_suite() {
  status=0
  mkdir "$work/$1"
  cd "$work/$1"
  SUITE_BATCH_SYSTEM=$1 TOIL_OSPROFILE_PROFILE=$profile timeout -k 60 "${SUITE_TIMEOUT:-900}" "$python" -m pytest -q -ra \
    -c "$work/pytest.ini" --rootdir "$work" --tb=short "$work/test_batch_system.py" > out 2>&1 < /dev/null || status=$?
  passed=$(grep -o '[0-9][0-9]* passed' out | tail -n 1) passed=${passed%% *}
  printf '%s: %s (exit status %s)\n' "$1" "$(tail -n 1 out)" "$status"
  return "$status"
}
echo "Toil $("$python" -c 'from importlib.metadata import version; print(version("toil"))'), profile $profile:"
expected=1
if [ -z "${SUITE_QUICK:-}" ]; then
  run_suite single_machine || grep '^\(FAILED\|ERROR\)' out || :
  expected=${passed:-0}
fi
failed=0
run_suite osprofile || { tail -n 200 out; failed=1; }
[ "${passed:-0}" -ge "$expected" ] && [ "$expected" -gt 0 ] ||
  { echo "osprofile passed ${passed:-0} tests, single_machine $expected" >&2; failed=1; }
left=$(remove_jobs)
[ -z "$left" ] || { echo "jobs that were left behind, now removed: $left" >&2; failed=1; }
exit "$failed"
