#!/bin/sh
# PSI/J's own tests with its local executor, then with osprofile's for a profile: psij.sh [PROFILE]
# They come from the sdist of the installed version. It lacks the modules that they share: those in psij/ replace them.
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
for executor in local "osprofile-$profile"; do
  echo "PSI/J $version, executor $executor:"
  "$python" -m pytest -q -rfEs -p no:cacheprovider -c pytest.ini --executors "$executor:single,$executor:multiple" || status=1
done
exit "$status"
