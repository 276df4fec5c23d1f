"""Faults that users reported, as small inputs: each folder of `cases` is one.

`try` is a shell script that exits with 0 if all is as it should be; with `# slurm` in its first line it needs a real
Slurm, and tests/lab runs it. Otherwise `ask` is a profile and a job's id, `bin` has stand-ins of the batch system's
commands, and `want` is the state that `incarnate job list` must print.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import PATIENCE

CASES = Path(__file__).parent / "cases"
UNMENDED: dict[str, str] = {}
"""The cases that still fail, with the reason."""


def list_cases(*, slurm: bool) -> list[object]:
    """Return the cases that need a real Slurm, or the others."""
    cases = []
    for folder in sorted(CASES.iterdir()):
        script = folder / "try"
        needs_slurm = script.exists() and script.read_text().startswith("# slurm\n")
        if needs_slurm is slurm:
            marks = (
                [pytest.mark.xfail(strict=True, reason=UNMENDED[folder.name])]
                if folder.name in UNMENDED
                else []
            )
            cases.append(pytest.param(folder, id=folder.name, marks=marks))
    return cases


def run(command: list[str], folder: Path, path: str) -> subprocess.CompletedProcess[str]:
    environment = {
        "HOME": str(folder),
        "VENV": sys.prefix,
        "PATH": f"{path}:{os.path.dirname(sys.executable)}:{os.environ['PATH']}",
    }
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


def check_script(case: Path, folder: Path) -> None:
    """Run `try` in an empty folder."""
    ended = run(["bash", str(case / "try")], folder, str(folder))
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.parametrize("case", list_cases(slurm=False))
def test_case(case: Path, tmp_path: Path) -> None:
    if (case / "try").exists():
        check_script(case, tmp_path)
        return
    profile, job_id = (case / "ask").read_text().split()
    command = ["incarnate", "job", "list", "--profile", profile, job_id, "--json"]
    ended = run(command, tmp_path, str(case / "bin"))
    (status,) = json.loads(ended.stdout)
    assert status["state"] == (case / "want").read_text().strip(), ended.stderr
