#!/bin/sh
# Snakemake's own tests of executors, with the executor osprofile: sh snakemake.sh PROFILE
#
# 1. snakemake.common.tests, which is installed with Snakemake.
# 2. The cases of its tests/tests.py that run workflows by the executor cluster-generic, from the source
#    distribution of the installed version. A package of that name, made here, is the executor osprofile.
#    With SUITE_EXECUTOR=cluster-generic, the real one runs the same cases.
#
# With SUITE_QUICK=1, only 1 is run.
# python3 on PATH has osprofile, Snakemake and pytest. The exit status is 0 if everything has passed.
set -eu
profile=${1:?usage: snakemake.sh PROFILE}
root=$(cd -- "$(dirname -- "$0")/../../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/osprofile-snakemake.XXXXXX")
trap 'rm -rf -- "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
# The user's profiles, but not the user's home, below which jobs work.
export XDG_CONFIG_HOME="${XDG_CONFIG_HOME:-$HOME/.config}" HOME="$work"
export PYTHONPATH="$root/plugins" OSPROFILE_STORE="$work/jobs.db" SUITE_PROFILE="$profile" PIP_DISABLE_PIP_VERSION_CHECK=1
executor=${SUITE_EXECUTOR:-osprofile}
version=$(python3 -c 'import importlib.metadata as m; print(m.version("snakemake"))')
status=0
cd -- "$work"
run_pip() { # quiet unless it fails
  python3 -m pip -q "$@" > pip.log 2>&1 || { cat pip.log; echo "pip $* failed"; exit 1; }
}

# One of their jobs asks for 5 MB, in which no Snakemake can run: a batch system that limits the memory ends it.
if [ "$profile" = slurm ]; then
  mkdir -p profiles/suite
  cat > profiles/suite/profile.xml << 'EOF'
<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" xmlns:idb="http://gpe.intel.com/idb"
             xmlns:ext="urn:osprofile:extension" name="suite" extends="slurm">
  <osp:UspaceRoot>~/.gpe/work</osp:UspaceRoot>
  <osp:Delimiter>/</osp:Delimiter>
  <idb:Template>
    <idb:Field name="MEMORY" ext:type="integer" ext:pattern="[1-9][0-9]*">
      <idb:Description>Memory on each node, in MiB.</idb:Description>
      <idb:Tag name="5">500</idb:Tag>
      <idb:Default/>
    </idb:Field>
  </idb:Template>
</osp:Profile>
EOF
  export OSPROFILE_PATH="$work/profiles" SUITE_PROFILE=suite
fi

if [ "$executor" = osprofile ]; then
  echo "snakemake.common.tests of Snakemake $version, profile $profile:"
  cat > test_common.py << 'EOF'
import os

import snakemake.common.tests

from osprofile.plugins.snakemake import ExecutorSettings


class TestWorkflows(snakemake.common.tests.TestWorkflowsLocalStorageBase):
    __test__ = True

    def get_executor(self):
        return "osprofile"

    def get_executor_settings(self):
        return ExecutorSettings(profile=os.environ["SUITE_PROFILE"])
EOF
  timeout 600 python3 -m pytest -q -p no:cacheprovider --tb=short test_common.py > common.log 2>&1 || status=1
  [ "$status" = 0 ] || cat common.log
  tail -n 1 common.log
fi

[ -z "${SUITE_QUICK:-}" ] || exit "$status"
echo "The cases of tests/tests.py of Snakemake $version with cluster-generic, executor $executor:"
run_pip download --no-deps --no-binary snakemake "snakemake==$version"
tar xzf "snakemake-$version.tar.gz"
tests=$work/snakemake-$version/tests
[ -f "$tests/tests.py" ] || { echo "the source distribution has no tests/tests.py"; exit 1; }
mkdir cases
# tests.py needs pytest-mock. Its subprocesses have only their current directory on PYTHONPATH.
run_pip install --no-deps --target cases pytest-mock
if [ "$executor" = osprofile ]; then
  mkdir cases/snakemake_executor_plugin_cluster_generic
  cat > cases/snakemake_executor_plugin_cluster_generic/__init__.py << 'EOF'
import os
from dataclasses import dataclass, field
from typing import Optional

from osprofile.plugins.snakemake import Executor, common_settings
from osprofile.plugins.snakemake import ExecutorSettings as Settings


@dataclass
class ExecutorSettings(Settings):
    profile: Optional[str] = field(
        default_factory=lambda: os.environ["SUITE_PROFILE"], metadata={"help": "the profile"}
    )
    submit_cmd: Optional[str] = field(default=None, metadata={"help": "not used"})
    status_cmd: Optional[str] = field(default=None, metadata={"help": "not used"})
EOF
else
  run_pip install --no-deps --target cases snakemake-executor-plugin-cluster-generic
fi
cat > choose.py << 'EOF'
"""Print the tests that use cluster-generic, without those in the lines of standard input."""

import ast
import sys

left_out = {line.split(":")[0] for line in sys.stdin if line.strip()}
chosen = []
for function in ast.parse(open(sys.argv[1]).read()).body:
    if not isinstance(function, ast.FunctionDef) or not function.name.startswith("test"):
        continue
    by_keyword = any(isinstance(node, ast.keyword) and node.arg == "cluster" for node in ast.walk(function))
    if by_keyword or "cluster-generic" in ast.dump(function):
        chosen.append(function.name)
if unknown := left_out - set(chosen):
    sys.exit(f"left out below, but no test of this version: {sorted(unknown)}")
print(*[f"{sys.argv[1]}::{name}" for name in chosen if name not in left_out], sep="\n")
EOF
# Name of the test: why it is left out.
python3 choose.py "$tests/tests.py" > chosen << 'EOF'
test_default_storage_local_job: needs an S3 server
test_storage_localrule: needs the storage plugin fs, and rsync
test_access_patterns: needs the storage plugin fs, and rsync
test_storage_cleanup_local: needs the storage plugin fs, and rsync
test_singularity_cluster: needs Apptainer and the Internet
test_global_resource_limits_limit_scheduling_of_groups: fails by a status command of cluster-generic that fails
test_new_resources_can_be_defined_as_local: the same
test_resource_prefix_does_not_affect_scope_overwrite: the same
test_resources_can_be_overwritten_as_global: the same
test_nodelocal: its submit command makes a file system for each job
test_immediate_submit_without_shared_fs: it reads what its own submit command has written
EOF
cd cases
export PYTHONPATH="$PWD"
# shellcheck disable=SC2046  # names of tests have no blanks; the path may not either
timeout 1800 python3 -m pytest -q -p no:cacheprovider -o addopts= --tb=short -rfEs $(cat ../chosen) > ../cases.log 2>&1 || status=1
[ "$status" = 0 ] || grep -E '^E  |^(FAILED|ERROR|SKIPPED) |^_____' ../cases.log || :
tail -n 1 ../cases.log
[ -z "${SUITE_LOG:-}" ] || cp ../cases.log "$SUITE_LOG"
exit "$status"
