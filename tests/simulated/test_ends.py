"""Jobs of three users over ten simulated days: each end is told as it was, once, whoever is killed meanwhile."""

from __future__ import annotations

import signal
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from osprofile.jobs.store import Store
from tests.hunting import rounds
from tests.simulated.site import run_site
from tests.simulated.truth import list_faults

if TYPE_CHECKING:
    from tests.simulated.site import Site

USERS = ("ann", "bob", "cyd")
HOUR = 3600.0


def follow(site: Site, user: str) -> int:
    """Follow a user's plan, in one process after the other; return the exit code of the last."""
    while True:
        code = site.start(user, "tests.simulated.follow", str(site.root), user).wait()
        if code != -signal.SIGKILL:
            return code


@pytest.mark.parametrize("seed", range(rounds(3, 1)))
def test_target_system(seed: int) -> None:
    with run_site(
        USERS,
        seed=seed,
        participants=USERS,
        outage_interval=24 * HOUR,
        outage_duration=3 * HOUR,
        submission_failures=0.1,
        kill_interval=40,
        accounting=bool(seed % 2),
    ) as site:
        plans = {user: site.write_plan(user, rounds(1000, 40), 10, seed) for user in USERS}
        with ThreadPoolExecutor() as executor:
            assert [*executor.map(lambda user: follow(site, user), USERS)] == [0, 0, 0]
        truth = site.ask(truth=True)
        assert truth["kills"] > 5
        for user, plan in plans.items():
            store = Store(str(site.root / "homes" / user / "jobs.db"))
            assert list_faults(truth, "simulated", user, store, [job["key"] for job in plan]) == []
            store.close()
