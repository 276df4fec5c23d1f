"""Jobs of three users over some simulated days, ten with HUNT=1: each end is told as it was, once, whoever is killed meanwhile."""

from __future__ import annotations

import asyncio
import signal
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from osprofile.jobs.record.store import Store
from tests.hunting import rounds
from tests.simulated.blah_client import BlahClient, convert_end
from tests.simulated.site import list_keys, run_site
from tests.simulated.truth import list_array_faults, list_faults, read_ends

if TYPE_CHECKING:
    from tests.simulated.site import Site

pytestmark = pytest.mark.race

USERS = ("ann", "bob", "cyd")
HOUR = 3600.0
DAYS = rounds(10, 3)


def follow(site: Site, user: str, module: str = "tests.simulated.follow") -> int:
    """Follow a user's plan, in one process after the other; return the exit code of the last."""
    while True:
        code = site.start(user, module, str(site.root), user).wait()
        if code != -signal.SIGKILL:
            return code


def harsh(seed: int, kill_interval: float) -> dict[str, Any]:
    """Return the options of a cluster that spares nobody; see `cluster.Options`."""
    return {
        "seed": seed,
        "kill_pause": 48 * HOUR,
        "outage_interval": 24 * HOUR,
        "outage_duration": 3 * HOUR,
        "submission_failures": 0.1,
        "kill_interval": kill_interval,
        "accounting": bool(seed % 2),
    }


@pytest.mark.parametrize("seed", [0])
def test_target_system(seed: int) -> None:
    with run_site(USERS, participants=USERS, **harsh(seed, 40)) as site, ThreadPoolExecutor() as executor:
        plans = {
            user: site.write_plan(user, rounds(30, 4), DAYS, seed, tasks=rounds(300, 30)) for user in USERS
        }
        assert [*executor.map(lambda user: follow(site, user), USERS)] == [0, 0, 0]
        truth = site.ask(truth=True)
        assert truth["kills"]
        for user, plan in plans.items():
            store = Store(str(site.root / "homes" / user / "jobs.db"))
            # Two answers: a process that was just started begins to watch its jobs while its first query runs. One that
            # it watches later is told by the next query, which is hours later here.
            assert not (
                faults := list_faults(truth, list_keys(plan), read_ends(store, "simulated"), answers=2)
            ), "\n".join(faults)
            assert not (faults := list_array_faults(store, "simulated")), "\n".join(faults)
            store.close()


@pytest.mark.parametrize("seed", [1])  # with accounting, the other without
def test_blah(seed: int) -> None:
    participants = [name for user in USERS for name in (f"blah of {user}", f"client of {user}")]
    with run_site(USERS, participants=participants, **harsh(seed, 15)) as site:
        plans = {user: site.write_plan(user, rounds(30, 4), DAYS, seed) for user in USERS}
        clients = [BlahClient(site, user, plan) for user, plan in plans.items()]

        async def run() -> None:
            await asyncio.gather(*(client.run() for client in clients))

        asyncio.run(run())
        truth = site.ask(truth=True)
        assert truth["kills"]
        for client, plan in zip(clients, plans.values(), strict=True):
            # Two answers: a daemon that was just started begins to watch a job when its client asks for it, and
            # an earlier answer is not read again.
            keys = [job["key"] for job in plan]
            assert not (faults := list_faults(truth, keys, client.ends, convert_end, answers=2)), "\n".join(
                faults
            )
