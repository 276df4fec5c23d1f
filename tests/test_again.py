"""A test that fails is run once more at the end of the gate; one that searches for a race is not."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

ROOT = os.getcwd()
CASES = """
import pathlib
import pytest

MARK = pathlib.Path(__file__).with_name("mark")

def test_passes(): pass

def test_fails_once():
    first = not MARK.exists()
    MARK.touch()
    assert not first

def test_fails(): assert False

@pytest.mark.race
def test_race(): assert False

@pytest.fixture
def broken(): raise ValueError

def test_error(broken): pass

@pytest.mark.parametrize("number", range(11))
def test_many(number): assert False
"""


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = race\n")
    (tmp_path / "test_cases.py").write_text(CASES)
    return tmp_path


def run(cases: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        "PYTHONPATH": ROOT,
        "FAILED_TESTS": str(cases / "failed"),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # of some ten plugins, only xdist's is needed
    }
    command = [sys.executable, "-m", *words]
    return subprocess.run(command, cwd=cases, env=environment, capture_output=True, text=True, check=False)


def run_stage(cases: Path, *names: str, workers: int = 0) -> int:
    """Run tests as a stage of the gate, and return its exit status."""
    words = [
        "-q",
        "-p",
        "xdist",
        "-p",
        "tests.again",
        "-n",
        str(workers),
        *(f"test_cases.py::{name}" for name in names),
    ]
    return run(cases, "pytest", *words).returncode


def test_failures_are_run_again(cases: Path) -> None:
    assert run_stage(cases, "test_passes", "test_fails_once", "test_fails", "test_error", workers=2) == 0
    end = run(cases, "tests.again", "failed")
    assert end.returncode == 1
    assert sorted(end.stdout.splitlines()[-3:]) == [
        "FAILED: test_cases.py::test_error",
        "FAILED: test_cases.py::test_fails",
        "UNSTABLE: test_cases.py::test_fails_once",
    ]


def test_what_is_unstable_passes(cases: Path) -> None:
    assert run_stage(cases, "test_fails_once") == 0
    assert run(cases, "tests.again", "failed").returncode == 0


@pytest.mark.parametrize(("name", "workers"), [("test_race", 2), ("test_many", 0)])
def test_a_finding_fails_at_once(cases: Path, name: str, workers: int) -> None:
    assert run_stage(cases, "test_fails_once", name, workers=workers) == 1
    assert not (cases / "failed").exists()


def test_a_file_that_cannot_be_read_fails_at_once(cases: Path) -> None:
    (cases / "test_cases.py").write_text("import nothing_of_this_name")
    assert run(cases, "pytest", "-p", "tests.again").returncode == pytest.ExitCode.INTERRUPTED
    assert not (cases / "failed").exists()
