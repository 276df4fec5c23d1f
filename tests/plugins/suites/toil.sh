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
export PATH PYTHONPATH="$work:$root/plugins${PYTHONPATH:+:$PYTHONPATH}" TMPDIR="$work"
# shellcheck source=/dev/null
. "$root/tests/plugins/suites/common.sh"

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

# run NAME: runs the tests with a batch system
run() {
  export SUITE_BATCH_SYSTEM="$1" TOIL_OSPROFILE_PROFILE="$profile"
  run_tests "$1" --rootdir "$work" --tb=short "$work/test_batch_system.py"
}
echo "Toil $("$python" -c 'from importlib.metadata import version; print(version("toil"))'), profile $profile:"
compare run single_machine osprofile 1
