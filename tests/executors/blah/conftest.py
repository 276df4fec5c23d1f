"""A directory for a daemon of its own; coroutine functions among the tests are run to their end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.jobs.conftest import toy

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["toy"]
PROFILE = """<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile"
  xmlns:idb="http://gpe.intel.com/idb" xmlns:ext="urn:osprofile:extension" name="{name}" extends="{extends}">
  <osp:UspaceRoot>{root}</osp:UspaceRoot><osp:Delimiter>/</osp:Delimiter>
  {content}
</osp:Profile>
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the daemon's directory, a home and a record of its own."""
    for name in ("HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quick.toml").write_text(
        "fastest = 0.1\nslowest = 0.3\nmax_age = 0.1\ngrace = 1\nlinger = 20\n"
    )
    return tmp_path


def write_profile(
    directory: Path, name: str, content: str = "", *, extends: str = "linux", root: Path | str = "/tmp"
) -> None:
    """Write a profile that extends another one by some content."""
    (directory / name).mkdir(parents=True)
    text = PROFILE.format(name=name, extends=extends, root=root, content=content)
    (directory / name / "profile.xml").write_text(text)
