"""The descriptions of a facility, its resources, and what a user may ask for."""

from __future__ import annotations

import os
import pwd
from typing import TYPE_CHECKING

import pytest

from osprofile.errors import OSProfileError, ProfileNotFoundError, SettingError, StoreError
from osprofile.executors.facility.facility import Facility
from osprofile.executors.facility.problems import ProblemError
from osprofile.executors.facility.settings import ResourceSettings, Settings

if TYPE_CHECKING:
    from pathlib import Path

    from osprofile.profile.model import Profile

ROOT = "http://127.0.0.1:1/api/v2"
SITE = """<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" xmlns:idb="http://gpe.intel.com/idb"
  xmlns:ext="urn:osprofile:extension" name="site" extends="slurm">
  <osp:UspaceRoot>/var/tmp</osp:UspaceRoot>
  <osp:Delimiter>/</osp:Delimiter>
  <idb:Template>
    <idb:Field name="PROJECT" ext:pattern="a1|b2">
      <idb:Description>The project.</idb:Description>
      <idb:Tag name="alpha">a1</idb:Tag><idb:Tag name="beta">b2</idb:Tag>
      <idb:Default>alpha</idb:Default>
    </idb:Field>
  </idb:Template>
</osp:Profile>
"""


def make_settings(tmp_path: Path, **resources: ResourceSettings) -> Settings:
    return Settings(
        name="Ours",
        store=str(tmp_path / "jobs.db"),
        profiles=(str(tmp_path / "profiles"),),
        address={"country_name": "France", "latitude": 48.9},
        resources=resources,
    )


async def test_descriptions(linux: Profile, tmp_path: Path) -> None:
    folder = tmp_path / "profiles" / "site"
    folder.mkdir()
    (folder / "profile.xml").write_text(SITE)
    settings = make_settings(
        tmp_path,
        here=ResourceSettings(profile=linux.name, name="This machine", group="g", attributes={"a": [1]}),
        site=ResourceSettings(profile="site"),
    )
    facility = Facility(settings, "me", ROOT)
    account = facility.open_account("me")
    found = facility.format_facility()
    assert (found["name"], found["site_uris"]) == ("Ours", [f"{ROOT}/facility/sites/site"])
    assert found["_links"] == {"self": {"href": f"{ROOT}/facility"}}
    assert facility.format_site()["country_name"] == "France"
    assert facility.format_site()["resource_uris"] == [
        f"{ROOT}/status/resources/here",
        f"{ROOT}/status/resources/site",
    ]
    resource = await facility.format_resource("here")
    assert (resource["name"], resource["group"], resource["current_status"]) == ("This machine", "g", "up")
    assert resource["attributes"] == {"a": [1]}
    assert resource["capability_uris"] == [f"{ROOT}/account/capabilities/here"]
    members = facility.format_capability("here")["attributes"]["job_spec"]
    assert members["resources.node_count"]["limits"] == "1 to 1"
    assert "attributes.queue_name" not in members
    assert "arguments" not in members
    members = facility.format_capability("site")["attributes"]["job_spec"]
    assert members["attributes.account"] == {
        "description": "The project.",
        "default": "alpha",
        "values": ["alpha", "beta"],
    }
    projects = {project["id"]: project for project in facility.list_projects(account)}
    assert projects.keys() == {"alpha", "beta"}
    assert projects["beta"]["user_ids"] == ["me"]
    assert projects["beta"]["self_uri"] == f"{ROOT}/account/projects/beta"
    for call in (facility.format_capability, account.get_resource):
        with pytest.raises(ProblemError):
            call("none")
    await facility.close()


async def test_a_profile_that_is_broken_later(tmp_path: Path) -> None:
    """The facility starts, its other resources take jobs, and that one follows those it has."""
    folder = tmp_path / "profiles" / "site"
    folder.mkdir(parents=True)
    (folder / "profile.xml").write_text(SITE)
    settings = make_settings(
        tmp_path, here=ResourceSettings(profile="linux"), site=ResourceSettings(profile="site")
    )
    await Facility(settings, "me", ROOT).close()
    (folder / "profile.xml").write_text("<")
    facility = Facility(settings, "me", ROOT)
    account = facility.open_account("me")
    spec = {"executable": "/bin/true"}
    assert "/bin/true" in await account.get_resource("here").preview_job(spec)
    with pytest.raises(ProblemError) as caught:
        await account.get_resource("site").preview_job(spec)
    assert caught.value.kind == "internal-error"
    assert ".xml" not in str(caught.value)
    await facility.close()


async def test_whose_jobs_are_followed(tmp_path: Path) -> None:
    """Of those that have a record, who is a user now; one that is broken does not keep the others from their jobs."""
    settings = Settings(
        issuer="https://i",
        audience="a",
        users_claim="name",
        store=str(tmp_path / "{user}.db"),
        resources={"there": ResourceSettings(profile="slurm", host="{user}@login")},
    )
    for name in ("bob-of-far", "root", "-u", "a b", pwd.getpwuid(os.geteuid()).pw_name):
        (tmp_path / f"{name}.db").touch()
    (tmp_path / "alice-of-far.db").write_text("broken" * 1000)
    facility = Facility(settings, "me", ROOT)
    facility.start()
    assert [*facility._accounts] == ["bob-of-far"]
    with pytest.raises(StoreError):
        facility.open_account("alice-of-far")
    await facility.close()


@pytest.mark.parametrize(
    ("resources", "kind"),
    [
        ({"a": ResourceSettings(profile="nosuch")}, ProfileNotFoundError),
        ({"a": ResourceSettings(profile="linux", cluster="c")}, OSProfileError),
        ({"a": ResourceSettings(profile="linux"), "b": ResourceSettings(profile="linux")}, SettingError),
    ],
)
async def test_resources_that_cannot_be(
    tmp_path: Path, resources: dict[str, ResourceSettings], kind: type[OSProfileError]
) -> None:
    with pytest.raises(kind):
        Facility(make_settings(tmp_path, **resources), "me", ROOT)
