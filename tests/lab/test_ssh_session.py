"""Scripts through one connection to another machine: a slow network, and connections that are cut."""

from __future__ import annotations

import asyncio
import contextlib
import os
from typing import TYPE_CHECKING

from osprofile.errors import ScriptCutError
from osprofile.jobs.state import JobState
from tests.hunting import rounds
from tests.jobs.conftest import shell
from tests.lab.conftest import USER
from tests.lab.proxy import Proxy
from tests.lab.test_ssh import CLIENT, profile, run, server, slurms, target_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from osprofile.jobs.target_system import TargetSystem
    from osprofile.profile.model import Profile
    from tests.lab.test_ssh import Server

__all__ = ["profile", "server", "target_of"]
CLUSTER = {"host": "cluster", "SSH:PORT": "", "USER_NAME": USER}
POINTS = 12
"""At so many points of a submission, in each direction, the connection is cut; see `rounds`."""


def use_port(server: Server, port: int) -> None:
    """Let the name "cluster" lead to another port of the same server."""
    key = (server.here / "host_key.pub").read_text()
    (server.here / "known_hosts").write_text(f"cluster {key}")
    text = CLIENT.format(here=server.here, key="key", port=port, user=USER)
    (server.here / "config").write_text(f"{text}  HostKeyAlias cluster\n")


def test_scripts_share_connections(target_of: Callable[..., TargetSystem], server: Server) -> None:
    """One for scripts one after another; as many as scripts side by side; a round trip for each script."""

    async def main() -> None:
        async with Proxy(server.port, delay=0.1) as proxy:
            use_port(server, proxy.port)
            async with target_of(**CLUSTER) as target:
                for _ in range(3):
                    await target.list_directory("/var/tmp")
                assert proxy.connection_count == 1
                for _ in range(2):
                    await asyncio.gather(*(target.list_directory("/var/tmp") for _ in range(8)))
                assert proxy.connection_count == 8

    run(main())


async def submit_cut(
    target_of: Callable[..., TargetSystem], server: Server, key: str, directory: str, **limits: float
) -> tuple[dict[bool, int], bool]:
    """Submit a job by a connection that is cut, then once more; check that there is one job.

    Return the bytes that were passed on, and whether the first submission was cut off.
    """
    job = shell("echo x >> log; exit 3", working_directory=directory)
    first = None
    async with Proxy(server.port, **limits) as proxy:
        use_port(server, proxy.port)
        async with target_of(**CLUSTER) as target:
            with contextlib.suppress(ScriptCutError):
                first = await target.submit(job, key=key)
        sizes = proxy.sizes
    use_port(server, server.port)
    async with target_of(**CLUSTER) as target:
        second = await target.submit(job, key=key)
        assert first in {None, second}
        status = await target.wait(second)
        assert (status.state, status.exit_code) == (JobState.DONE, 3)
        output = await target.list_directory(directory)
    assert [entry.size for entry in output if entry.name == "log"] == [2]
    return sizes, first is None


def test_a_connection_that_is_cut_anywhere_in_a_submission(
    target_of: Callable[..., TargetSystem], server: Server, profile: Profile
) -> None:
    """Whatever has arrived, and whatever has been answered: the job is submitted once."""
    root = f"/var/tmp/{USER}/cut-{os.getpid()}-{profile.name}"

    async def main() -> None:
        whole, was_cut = await submit_cut(target_of, server, "whole", f"{root}-whole")
        assert not was_cut
        points, cut_count = rounds(POINTS * 2, POINTS), 0
        for is_sent, name in ((True, "max_sent"), (False, "max_received")):
            for point in range(points):
                # most bytes of a connection are its beginning: most of the points are near its end
                size = whole[is_sent] * (1 - (1 - (point + 0.5) / points) ** 2)
                directory = f"{root}-{name}-{point}"
                _, was_cut = await submit_cut(
                    target_of, server, f"{name}{point}", directory, **{name: int(size)}
                )
                cut_count += was_cut
                if profile.name == "slurm":
                    assert len(slurms(directory)) == 1
        assert cut_count > points

    asyncio.run(asyncio.wait_for(main(), 400))
