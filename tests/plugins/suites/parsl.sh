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
export PATH
# shellcheck source=/dev/null
. "$here/common.sh"

# Parsl's conftest needs pytest 7 (its test-requirements.txt), and test_226.py needs pandas.
install 'pytest>=7.4,<8' pandas
PYTHONPATH=$work/site${PYTHONPATH:+:$PYTHONPATH}
export PYTHONPATH
printf '[pytest]\naddopts = -p no:cacheprovider\n' > "$work/pytest.ini" # not that of the tree around parsl

# run NAME: runs the tests with a provider
run() {
  OSPROFILE_SUITE_PROFILE=
  [ "$1" = LocalProvider ] || OSPROFILE_SUITE_PROFILE=$profile
  export OSPROFILE_SUITE_PROFILE
  if [ "$(id -u)" = 0 ]; then
    # They expect that /bad/dir cannot be made, which root can; they fail with LocalProvider, too.
    set -- "$1" --deselect parsl/tests/test_bash_apps/test_stdout.py::test_bad_stdout_file
    set -- "$@" --deselect parsl/tests/test_bash_apps/test_stdout.py::test_bad_stderr_file
  fi
  # Without a network: Parsl's own marker `cleannet`, as its Makefile does. test_timeout_after_exception: the timer of 5 or
  # 10 ms must not end before its thread has begun; on a slow machine it does, with any provider.
  run_tests "$@" --rootdir "$site" "$site/parsl/tests" --config "$here/parsl_config.py" -k 'not cleannet and not test_timeout_after_exception'
}
compare run LocalProvider "OSProfileProvider-$profile" 1
