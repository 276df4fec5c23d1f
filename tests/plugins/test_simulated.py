"""Jobs of three users through PSI/J on the simulated cluster: each end is told as it was, once, whoever is killed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.hunting import rounds
from tests.simulated.psij_client import convert_end, read_ends
from tests.simulated.site import list_keys, run_site
from tests.simulated.test_ends import USERS, follow, harsh
from tests.simulated.truth import list_faults

PROGRAM = "tests.simulated.psij_client"


@pytest.mark.parametrize("seed", range(rounds(2, 1)))
def test_psij(seed: int) -> None:
    names = [f"psij of {user}" for user in USERS]
    with run_site(USERS, participants=names, **harsh(seed, 80)) as site, ThreadPoolExecutor() as executor:
        plans = {user: site.write_plan(user, rounds(60, 8), 10, seed, kind="psij") for user in USERS}
        assert [*executor.map(lambda user: follow(site, user, PROGRAM), USERS)] == [0, 0, 0]
        truth = site.ask(truth=True)
        assert truth["kills"]
        for user, plan in plans.items():
            told = read_ends(site.root / "homes" / user)
            assert not (faults := list_faults(truth, list_keys(plan), told, convert_end, answers=2)), (
                "\n".join(faults)
            )
