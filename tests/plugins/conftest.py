"""A home, a record and a current directory for each test; and what must be there before the modules of these tests are imported."""

from __future__ import annotations

import os
import sysconfig
import tempfile
import uuid
from pathlib import Path

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Give AiiDA, which makes its directory in the home when it is imported, and warns of it, one that is there."""
    directory = tempfile.TemporaryDirectory(prefix="osprofile-aiida.")
    config.add_cleanup(directory.cleanup)
    (Path(directory.name) / ".aiida").mkdir()
    os.environ["AIIDA_PATH"] = directory.name


@pytest.fixture
def mark(monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the value of a variable that only this test's jobs have, besides this process."""
    value = uuid.uuid4().hex
    monkeypatch.setenv("OSPROFILE_TEST_MARK", value)
    return value


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mark: str) -> Path:
    """Prepare a home, a record and a current directory for this test alone; return the last one."""
    del mark
    for name in ("home", "work", "profiles"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("OSPROFILE_PATH", str(tmp_path / "profiles"))
    monkeypatch.setenv("OSPROFILE_STORE", str(tmp_path / "jobs.db"))
    monkeypatch.setenv("PATH", sysconfig.get_path("scripts") + os.pathsep + os.environ["PATH"])
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"
