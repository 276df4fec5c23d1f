"""A resource whose batch system is the toy of the tests of jobs, and one that is this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from osprofile.executors.facility.compute import Health, Quota, Resource
from osprofile.jobs.record.store import Store
from osprofile.jobs.target_system import TargetSystem
from osprofile.profile.repository import Repository
from tests.jobs.conftest import QUICK, toy

if TYPE_CHECKING:
    from pathlib import Path

    from osprofile.profile.model import Profile

__all__ = ["toy"]
ROOTED = """<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" name="here" extends="linux">
  <osp:UspaceRoot>{root}</osp:UspaceRoot>
  <osp:Delimiter>/</osp:Delimiter>
</osp:Profile>
"""


def make_resource(
    profile: Profile, store: Path | None = None, max_age: float = 0.1, quota: Quota | None = None
) -> Resource:
    """Return a resource with the record in a file, or in memory; to be called in an event loop."""
    record = Store(str(store)) if store is not None else None
    target = TargetSystem(profile, store=record, timing=QUICK)
    return Resource("cluster", target, max_age, Health(), quota)


@pytest.fixture
def linux(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Profile:
    """Return the profile `here`: this machine, with the directories of its jobs in the test's own."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    folder = tmp_path / "profiles" / "here"
    folder.mkdir(parents=True)
    (folder / "profile.xml").write_text(ROOTED.format(root=tmp_path / "work"))
    return Repository([str(tmp_path / "profiles")]).load("here")
