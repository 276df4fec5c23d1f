"""The versions of profiles that are kept for the jobs that they have submitted."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import osprofile
from osprofile.authoring.writer import profile_to_xml
from osprofile.errors import InvalidProfileError, OSProfileError
from osprofile.incarnation.incarnate import static_scripts
from osprofile.jobs.profiles import keep_profile, load_for_jobs
from osprofile.profile.repository import Repository

if TYPE_CHECKING:
    from osprofile.profile.model import Profile

DOCUMENT = """\
<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" xmlns:idb="http://gpe.intel.com/idb"
  xmlns:ext="urn:osprofile:extension" name="site" extends="slurm">
  <osp:UspaceRoot>/scratch</osp:UspaceRoot><osp:Delimiter>/</osp:Delimiter>
  {}</osp:Profile>
"""
LIMIT = (
    '<idb:Template><idb:Field name="WALLTIME" ext:type="integer"><idb:Description>x</idb:Description>'
    "<idb:Max>{}</idb:Max><idb:Default>60</idb:Default></idb:Field></idb:Template>"
)
BROKEN = (
    '<idb:Template name="ABORT"><idb:Invocation name=""><idb:Body><![CDATA[kill <NO_SUCH>]]></idb:Body></idb:Invocation>'
    "</idb:Template>"
)


class Site:
    """A site's profile, and a record of its jobs."""

    def __init__(self, folder: Path) -> None:
        self.file, self.record = folder / "site.xml", str(folder / "jobs.db")
        self.folder = Path(f"{self.record}.profiles")

    def write(self, text: str) -> None:
        self.file.write_text(DOCUMENT.format(text))

    def load(self) -> Profile:
        return Repository().load_file(self.file)

    def keep(self) -> None:
        keep_profile(self.load(), self.record)

    def load_for_jobs(self) -> Profile:
        return load_for_jobs(self.load, "site", self.record)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    site = Site(tmp_path)
    site.write(LIMIT.format(100))
    return site


def get_limit(profile: Profile) -> float | None:
    return profile.global_fields["WALLTIME"].maximum


def test_what_is_kept_is_the_whole_profile_for_its_owner(site: Site) -> None:
    site.keep()
    assert site.folder.stat().st_mode & 0o777 == 0o700
    (path,) = site.folder.iterdir()
    assert path.name == "site.xml"
    profile, kept = site.load(), Repository(use_standard_path=False).load_file(path)
    assert profile_to_xml(kept) == profile_to_xml(profile)
    assert static_scripts(kept) == static_scripts(profile)


def test_what_is_not_kept(site: Site) -> None:
    keep_profile(osprofile.load("slurm"), site.record)
    keep_profile(site.load(), ":memory:")
    assert not site.folder.exists()


def test_the_last_version_that_can_be_used_is_kept(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    for text, limit in (
        (LIMIT.format(100), 100),
        (LIMIT.format(200), 200),
        (LIMIT.format(300) + BROKEN, 200),
    ):
        site.write(text)
        site.keep()
        site.write("<")
        assert get_limit(site.load_for_jobs()) == limit
    assert {record.message.partition(": ")[0] for record in caplog.records} == {"profile site cannot be used"}


@pytest.mark.parametrize("is_broken", [False, True])
def test_the_first_use_keeps_what_an_older_version_did_not(site: Site, is_broken: bool) -> None:
    """Such a version has left a record; without one, there are no jobs. A profile that cannot be used is not kept."""
    site.write(BROKEN.replace("<NO_SUCH>", "<JOB_ID/(/x>") if is_broken else LIMIT.format(100))
    site.load_for_jobs()
    assert not site.folder.exists()
    Path(site.record).touch()
    site.load_for_jobs()
    assert site.folder.exists() is not is_broken
    site.write("<")
    with contextlib.nullcontext() if not is_broken else pytest.raises(InvalidProfileError):
        assert get_limit(site.load_for_jobs()) == 100


def test_a_profile_that_can_be_used_is_used(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    site.keep()
    site.write(LIMIT.format(200))
    profile = site.load_for_jobs()
    assert (get_limit(profile), profile.refusal, caplog.records) == (200, None, [])


def test_new_jobs_are_refused(site: Site) -> None:
    site.keep()
    site.write(BROKEN)
    profile = site.load_for_jobs()
    assert profile.refusal is not None
    with (
        osprofile.JobSession(profile, store=site.record) as session,
        pytest.raises(OSProfileError, match="<NO_SUCH> is not declared in template ABORT"),
    ):
        session.submit(osprofile.JobDescription(executable="true"))


@pytest.mark.parametrize("wrong", ["missing", "cut", "open to others", "a link"])
def test_a_kept_version_that_is_not_used(site: Site, wrong: str) -> None:
    site.keep()
    if wrong == "missing":
        (site.folder / "site.xml").unlink()
    elif wrong == "cut":
        os.truncate(site.folder / "site.xml", 1000)
    elif wrong == "open to others":
        site.folder.chmod(0o770)
    else:
        site.folder.symlink_to(site.folder.rename(site.folder.with_name("moved")))
    site.write("<")
    with pytest.raises(InvalidProfileError):
        site.load_for_jobs()


def test_a_folder_that_cannot_be_written(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    site.folder.touch()
    site.keep()
    assert "the profile site is not kept for its jobs: " in caplog.text


def test_a_session_of_a_broken_profile(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSPROFILE_PATH", str(site.file.parent))
    site.write("")
    site.file.write_text(
        site.file.read_text().replace("slurm", "linux").replace("/scratch", str(site.file.parent))
    )
    with osprofile.JobSession("site", store=site.record) as session:
        job = session.submit(osprofile.JobDescription(executable="sleep", arguments=["100"]))
    site.file.write_text("<")
    with osprofile.JobSession("site", store=site.record) as session:
        again = session.get_job(job.id)
        assert again.status().state == "RUNNING"
        with pytest.raises(OSProfileError, match=r"site\.xml:1"):
            session.submit(osprofile.JobDescription(executable="true"))
        again.cancel()
        assert again.wait().state == "REMOVED"
