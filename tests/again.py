"""Run once more, alone, the tests that failed in a run of the gate (.ci/run).

A machine that is busy now and then fails a test that is right. So where FAILED_TESTS names a file, a pytest with few
failures adds them to that file and ends as if they had passed, and the gate goes on. At its end,
`python -m tests.again FILE` runs these tests one after another: a test that passes now is printed as UNSTABLE, and
one that fails again fails the gate. A test marked `race` is not run again, and fails its pytest: it searches for
what happens rarely, so its one failure is the finding.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

_MOST: Final = 10
"""More failures than these in one run are no accident: they fail it at once."""


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the failures of a run into the file that FAILED_TESTS names, and let the run pass."""
    file = os.environ.get("FAILED_TESTS")
    is_worker = hasattr(session.config, "workerinput")  # of xdist, which tells the main process
    if not file or is_worker or session.exitstatus != pytest.ExitCode.TESTS_FAILED:
        return
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    reports = [*reporter.stats.get("failed", ()), *reporter.stats.get("error", ())]
    if len(reports) > _MOST or any("race" in report.keywords for report in reports):
        return
    names = dict.fromkeys(report.nodeid for report in reports)
    with open(file, "a", encoding="utf-8") as failed:
        failed.writelines(json.dumps([sys.executable, name]) + "\n" for name in names)
    session.exitstatus = pytest.ExitCode.OK


def run_again(file: str) -> int:
    """Run each test of a file alone; print what became of it, and return 1 if one failed again."""
    status = 0
    results = []
    for line in dict.fromkeys(Path(file).read_text(encoding="utf-8").splitlines()):
        python, name = json.loads(line)
        environment = {key: value for key, value in os.environ.items() if key != "FAILED_TESTS"}
        code = subprocess.run([python, "-m", "pytest", "-q", name], env=environment, check=False).returncode
        results.append(f"{'FAILED' if code else 'UNSTABLE'}: {name}")
        status |= bool(code)
    sys.stdout.write("".join(f"{line}\n" for line in results))
    return status


if __name__ == "__main__":
    sys.exit(run_again(sys.argv[1]))
