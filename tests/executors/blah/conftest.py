"""A directory for a daemon of its own, and profiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.jobs.conftest import toy
from tests.programs import install_programs
from tests.strategies import document

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["toy"]


@pytest.fixture
def home(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the daemon's directory, a home with a record of its own; jobs of `linux` work in another one."""
    site = tmp_path_factory.mktemp("site")
    write_profile(site, "linux", root=site)
    monkeypatch.setenv("OSPROFILE_PATH", str(site))
    for name in ("HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quick.toml").write_text(
        "fastest = 0.1\nslowest = 0.3\nmax_age = 0.1\ngrace = 1\nlinger = 20\n"
    )
    install_programs(tmp_path)
    return tmp_path


def write_profile(
    directory: Path, name: str, content: str = "", *, extends: str = "linux", root: Path | str = "/tmp"
) -> None:
    """Write a profile that extends another one by some content."""
    (directory / name).mkdir(parents=True)
    text = document(content, name=name, extends=extends, root=str(root))
    (directory / name / "profile.xml").write_text(text)
