"""One of several clusters of a batch system is a target system of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from osprofile.errors import UnknownFieldError
from osprofile.jobs.record.names import format_link_directory
from osprofile.jobs.record.store import Store
from osprofile.jobs.target_system import TargetSystem
from tests.jobs.conftest import QUICK, shell

if TYPE_CHECKING:
    from collections.abc import Callable

    from osprofile.profile.model import Profile

CLUSTER = """
  <idb:Template>
    <idb:Field name="CLUSTER" isSettable="false">
      <idb:Description>The cluster.</idb:Description><idb:Default/>
    </idb:Field>
    <idb:Field name="SITE_SETUP" isSettable="false"><idb:Value><![CDATA[
cluster='<CLUSTER/'/'\\''>']]></idb:Value></idb:Field>
  </idb:Template>
"""


def test_a_cluster_is_part_of_the_name(load: Callable[[str], Profile]) -> None:
    profile, store = load(CLUSTER), Store()
    names = [
        TargetSystem(profile, context, store=store).name
        for context in [{}, {"CLUSTER": ""}, {"CLUSTER": "alpha"}, {"CLUSTER": "a@b", "SSH:HOST": "h"}]
    ]
    assert names == ["made", "made", "made:alpha", "made:a%40b@h"]


def test_each_cluster_has_links_of_its_own(load: Callable[[str], Profile]) -> None:
    profile, fixed = load(CLUSTER), load(CLUSTER.replace("<idb:Default/>", "<idb:Value>alpha</idb:Value>"))
    assert format_link_directory(profile, {}) == "made"
    assert format_link_directory(profile, {"CLUSTER": "alpha"}) == "made@alpha"
    assert format_link_directory(fixed, {}) == "made@alpha"
    assert format_link_directory(load(""), {}) == "made"


async def test_the_same_key_on_two_clusters(load: Callable[[str], Profile]) -> None:
    profile, store = load(CLUSTER), Store()

    async def submit(cluster: str) -> str:
        async with TargetSystem(profile, {"CLUSTER": cluster}, store=store, timing=QUICK) as target:
            job_id = await target.submit(shell("true"), key="k")
            await target.wait(job_id)
            return job_id

    assert await submit("alpha") == await submit("alpha") != await submit("beta")
    assert sorted(record.target for record in store.list_all_jobs()) == ["made:alpha", "made:beta"]


def test_a_profile_without_clusters_refuses_one(load: Callable[[str], Profile]) -> None:
    with pytest.raises(UnknownFieldError, match="profile made has no field CLUSTER") as caught:
        TargetSystem(load(""), {"CLUSTER": "alpha"})
    assert caught.value.field == "CLUSTER"


def test_a_profile_with_a_fixed_cluster_refuses_another(load: Callable[[str], Profile]) -> None:
    profile = load(CLUSTER.replace("<idb:Default/>", "<idb:Value>alpha</idb:Value>"))
    assert TargetSystem(profile, {"CLUSTER": "alpha"}).name == "made:alpha"
    with pytest.raises(UnknownFieldError, match="field CLUSTER of profile made has the fixed value 'alpha'"):
        TargetSystem(profile, {"CLUSTER": "beta"})
