"""Scripts through one connection to another machine: a slow network, and connections that are cut."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
from typing import TYPE_CHECKING

from osprofile.errors import TargetError
from osprofile.jobs.state import JobState
from tests.hunting import rounds
from tests.jobs.conftest import shell
from tests.lab.conftest import INCARNATE, SHARED, USER
from tests.lab.proxy import Proxy
from tests.lab.test_ssh import CLIENT, profile, run, server, slurms, target_of
from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from osprofile.jobs.target_system import TargetSystem
    from osprofile.profile.model import Profile
    from tests.lab.test_ssh import Server

__all__ = ["profile", "server", "target_of"]
CLUSTER = {"host": "cluster", "SSH:PORT": "", "USER_NAME": USER}
LOGIN_SITE = r"""<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile"
    xmlns:idb="http://gpe.intel.com/idb" name="site" extends="linux">
  <osp:UspaceRoot>/var/tmp</osp:UspaceRoot>
  <osp:Delimiter>/</osp:Delimiter>
  <idb:Template name="SHELL">
    <idb:Invocation name="SSH">
      <idb:Body><![CDATA[ssh -F {here}/config -T<SSH:CONTROL_PATH/(?s)^(.+)\z/S$1> -o BatchMode=yes -- <SSH:HOST> sh -s]]></idb:Body>
    </idb:Invocation>
    <idb:Invocation name="LOGIN">
      <idb:Body><![CDATA[ssh -F {here}/config -fN -o ControlMaster=yes -o ControlPath=<SSH:CONTROL_PATH> -- <SSH:HOST>]]></idb:Body>
    </idb:Invocation>
    <idb:Field name="SSH:CONTROL_PATH" isSettable="false"><idb:Default/></idb:Field>
  </idb:Template>
</osp:Profile>
"""
POINTS = 8
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
                    await target.files.list_directory("/var/tmp")
                assert proxy.connection_count == 1
                for _ in range(2):
                    await asyncio.gather(*(target.files.list_directory("/var/tmp") for _ in range(8)))
                assert 1 < proxy.connection_count <= 8

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
            with contextlib.suppress(TargetError):
                first = await target.submit(job, key=key)
        sizes = proxy.sizes
    use_port(server, server.port)
    async with target_of(**CLUSTER) as target:
        second = await target.submit(job, key=key)
        assert first in {None, second}
        status = await target.wait(second)
        assert (status.state, status.exit_code) == (JobState.DONE, 3)
        output = await target.files.list_directory(directory)
    assert [entry.size for entry in output if entry.name == "log"] == [2]
    return sizes, first is None


def test_a_connection_that_is_cut_anywhere_in_a_submission(
    target_of: Callable[..., TargetSystem], server: Server, profile: Profile
) -> None:
    """Whatever has arrived, and whatever has been answered: the job is submitted once."""
    root = f"{SHARED}/{USER}/cut-{os.getpid()}-{profile.name}"

    async def main() -> None:
        await submit_cut(target_of, server, "first", f"{root}-first")  # installs the programs, perhaps
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


def test_a_login_by_hand_serves_all_scripts(server: Server, tmp_path: Path) -> None:
    """Here a key stands for what a person would type: when it is gone, only the open connection is left."""
    home, site = server.here / "home", tmp_path / "site"  # not tmp_path: the path of a socket has to be short
    home.mkdir()
    site.mkdir()
    (site / "profile.xml").write_text(LOGIN_SITE.format(here=server.here))
    use_port(server, server.port)
    store = ["--store", str(tmp_path / "jobs.db")]

    def incarnate(*words: str) -> tuple[int, str]:
        log = tmp_path / "log"  # no pipe: the ssh in the background would keep it open
        with log.open("w") as out:
            done = subprocess.run(
                [INCARNATE, *words], env={**os.environ, "HOME": str(home), "OSPROFILE_PROFILE": str(site)}, check=False,
                stdin=subprocess.DEVNULL, stdout=out, stderr=out, timeout=PATIENCE,
            )  # fmt: skip
        return done.returncode, log.read_text()

    def submit() -> tuple[int, str]:
        words = ["--host", "cluster", "--context", f"USER_NAME={USER}", "--wait", *store]
        return incarnate("job", "submit", *words, "--", "sh", "-c", "exit 7")

    assert incarnate("login", "cluster", "--check") == (1, "cluster: no connection is open\n")
    code, text = opened = incarnate("login", "cluster")
    assert (code, "the connection is open; to end it: ssh -O exit -o ControlPath=" in text) == (0, True), text
    (server.here / "key").rename(server.here / "no key")
    assert incarnate("login", "cluster", "--check") == (0, "cluster: the connection is open\n")
    assert incarnate("login", "cluster") == (0, "cluster: the connection is already open\n")
    code, text = submit()
    assert code == 7, text
    end = opened[1].partition("to end it: ")[2].split()
    subprocess.run(end, check=True, capture_output=True)
    assert incarnate("login", "cluster", "--check")[0] == 1
    code, text = submit()
    assert "Permission denied" in text
    assert "log in once with: incarnate login HOST" in text
    assert code == 125
    code, text = incarnate("login", "cluster")
    assert (code, "the login failed: ssh exited with status 255" in text) == (1, True), text
