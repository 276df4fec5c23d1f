# shellcheck shell=sh disable=SC2154,SC2164  # the suite sets the variables, and -e
# What the suites of Dask, Parsl and Toil share: they read it when $profile, $python and $work are set.

# The user's profiles, but neither the user's record of jobs nor the user's home, below which jobs work.
export XDG_CONFIG_HOME="${XDG_CONFIG_HOME:-$HOME/.config}" HOME="$work" OSPROFILE_STORE="$work/jobs.db"
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

# install PACKAGE...: installs what the tests need beside the peer
install() {
  "$python" -m pip install -q --no-compile --disable-pip-version-check --target "$work/site" "$@" > "$work/pip.out" 2>&1 ||
    { cat "$work/pip.out" >&2; exit 1; }
}

# run_tests NAME ARGUMENT...: runs pytest in a directory of its own; $passed is how many passed
run_tests() {
  name=$1 status=0
  shift
  mkdir "$work/$name"
  cd "$work/$name"
  timeout -k 60 "${SUITE_TIMEOUT:-900}" "$python" -m pytest -q -ra -c "$work/pytest.ini" "$@" > out 2>&1 < /dev/null || status=$?
  passed=$(grep -o '[0-9][0-9]* passed' out | tail -n 1) passed=${passed%% *}
  printf '%s: %s (exit status %s)\n' "$name" "$(tail -n 1 out)" "$status"
  return "$status"
}

# compare COMMAND THEIRS OURS LEAST: runs COMMAND THEIRS, unless SUITE_QUICK is set, and COMMAND OURS. All tests must pass
# with ours, as many as with theirs and LEAST, and no job may be left behind. It ends the suite.
compare() {
  command=$1 theirs=$2 ours=$3 expected=$4 failed=0
  if [ -z "${SUITE_QUICK:-}" ]; then
    "$command" "$theirs" || grep '^\(FAILED\|ERROR\)' out || :
    expected=${passed:-0}
  fi
  "$command" "$ours" || { tail -n 200 out; failed=1; }
  [ "${passed:-0}" -ge "$expected" ] && [ "$expected" -ge "$4" ] ||
    { echo "$ours passed ${passed:-0} tests, $theirs $expected" >&2; failed=1; }
  left=$(remove_jobs)
  [ -z "$left" ] || { echo "jobs that were left behind, now removed: $left" >&2; failed=1; }
  exit "$failed"
}
