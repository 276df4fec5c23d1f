#!/bin/sh
# PSI/J's own tests with its local executor, then with osprofile's for a profile, which must pass as many: psij.sh [PROFILE]
# They come from the sdist of the installed version. It lacks the modules that they share: those in psij/ replace them.
# SUITE_QUICK=1 leaves the local executor out.
# With a batch system of several nodes, TMPDIR must name a directory that they share.
set -eu
profile=${1:-linux} python=${PYTHON:-python}
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/psij-suite.XXXXXX")
trap 'rm -rf -- "$work"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
version=$("$python" -c 'from importlib.metadata import version; print(version("psij-python"))')
"$python" -m pip download -q --no-deps --no-binary psij-python -d "$work" "psij-python==$version"
tar -xzf "$work"/psij*python-"$version".tar.gz -C "$work"
tests=$(echo "$work"/psij*python-"$version"/tests)
cp "$here"/psij/* "$tests"
mv "$tests/psij_conftest.py" "$tests/conftest.py"
: > "$tests/pytest.ini"
# The user's profiles, but not the user's record of jobs.
export XDG_CONFIG_HOME="${XDG_CONFIG_HOME:-$HOME/.config}" HOME="$work" XDG_STATE_HOME="$work/state"
cd "$tests"
status=0
# run_suite EXECUTOR: $passed is how many passed
run_suite() {
  echo "PSI/J $version, executor $1:"
  "$python" -m pytest -q -rfEs -p no:cacheprovider -c pytest.ini --executors "$1:single,$1:multiple" > "$work/out" 2>&1 || status=1
  cat "$work/out"
  passed=$(grep -o '[0-9][0-9]* passed' "$work/out" | tail -n 1) passed=${passed%% *}
}
[ -n "${SUITE_QUICK:-}" ] || run_suite local
expected=${passed:-1}
run_suite "osprofile-$profile"
[ "${passed:-0}" -ge "$expected" ] && [ "$expected" -gt 0 ] ||
  { echo "osprofile-$profile passed ${passed:-0} tests, local $expected" >&2; status=1; }
exit "$status"
