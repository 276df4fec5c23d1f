#!/bin/sh
# Parsl's own tests, which are in its wheel: parsl.sh PROFILE
# They run with LocalProvider first, which shows what passes on this machine, and then with OSProfileProvider.
# Both runs have the same selection. All tests must pass with ours, and as many as with LocalProvider.
# SUITE_QUICK=1 leaves LocalProvider out.
# PYTHON (default: python3 on PATH) has osprofile-hpc[parsl] and pip. SUITE_TIMEOUT: seconds for each run.
set -eu
[ $# = 1 ] || { echo "usage: parsl.sh PROFILE" >&2; exit 2; }
profile=$1
here=$(cd -- "$(dirname -- "$0")" && pwd)
python=${PYTHON:-python3}
"$python" -m osprofile fields --profile "$profile" > /dev/null # there is such a profile
site=$("$python" -c 'import os, parsl; print(os.path.dirname(os.path.dirname(parsl.__file__)))')
# Blocks start process_worker_pool.py, which is beside the interpreter.
PATH=$("$python" -c 'import sysconfig; print(sysconfig.get_path("scripts"))'):$PATH
work=$(mktemp -d)
OSPROFILE_STORE=$work/jobs.db
# The user's profiles, but not the user's home, below which jobs work.
export XDG_CONFIG_HOME="${XDG_CONFIG_HOME:-$HOME/.config}" HOME="$work"
export PATH OSPROFILE_STORE PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 PYTHONDONTWRITEBYTECODE=1

# remove_jobs: removes the blocks that are still there, and prints their ids
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

# Parsl's conftest needs pytest 7 (its test-requirements.txt), and test_226.py needs pandas.
"$python" -m pip install -q --disable-pip-version-check --target "$work/site" 'pytest>=7.4,<8' pandas > "$work/pip.out" 2>&1 ||
  { cat "$work/pip.out" >&2; exit 1; }
PYTHONPATH=$work/site${PYTHONPATH:+:$PYTHONPATH}
export PYTHONPATH
printf '[pytest]\naddopts = -p no:cacheprovider\n' > "$work/pytest.ini" # not that of the tree around parsl

# Without a network: Parsl's own marker `cleannet`, as its Makefile does.
set -- -k 'not cleannet'
if [ "$(id -u)" = 0 ]; then
  # They expect that /bad/dir cannot be made, which root can; they fail with LocalProvider, too.
  set -- "$@" --deselect parsl/tests/test_bash_apps/test_stdout.py::test_bad_stdout_file
  set -- "$@" --deselect parsl/tests/test_bash_apps/test_stdout.py::test_bad_stderr_file
fi

# run_suite NAME PROFILE ARGUMENT...: runs the tests in a directory of their own; $passed is how many passed
run_suite() {
  name=$1 status=0
  mkdir "$work/$name"
  cd "$work/$name"
  OSPROFILE_SUITE_PROFILE=$2
  export OSPROFILE_SUITE_PROFILE
  shift 2
  timeout -k 60 "${SUITE_TIMEOUT:-900}" "$python" -m pytest -q -ra -c "$work/pytest.ini" --rootdir "$site" \
    "$site/parsl/tests" --config "$here/parsl_config.py" "$@" > out 2>&1 < /dev/null || status=$?
  passed=$(grep -o '[0-9][0-9]* passed' out | tail -n 1) passed=${passed%% *}
  printf '%s: %s (exit status %s)\n' "$name" "$(tail -n 1 out)" "$status"
  return "$status"
}
expected=1
if [ -z "${SUITE_QUICK:-}" ]; then
  run_suite LocalProvider '' "$@" || grep '^\(FAILED\|ERROR\)' out || :
  expected=${passed:-0}
fi
failed=0
run_suite "OSProfileProvider-$profile" "$profile" "$@" || { tail -n 200 out; failed=1; }
[ "${passed:-0}" -ge "$expected" ] && [ "$expected" -gt 0 ] ||
  { echo "OSProfileProvider passed ${passed:-0} tests, LocalProvider $expected" >&2; failed=1; }
left=$(remove_jobs)
[ -z "$left" ] || { echo "blocks that were left behind, now removed: $left" >&2; failed=1; }
exit "$failed"
