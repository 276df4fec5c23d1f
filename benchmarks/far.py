"""The promises of jobs on another machine: a real sshd on loopback, behind a proxy that is slow by 100 ms each way.

Each submission is one script, and takes one round trip of the network beside the time that it takes without
the delay, which is measured in the same run; `submit_many` has one script for several jobs. The connection itself
takes some more, once.

And the Ninf-G server without the proxy, from the last byte of JOB_CREATE to the running executable and to ACTIVE, beside a
bare `ssh`, as Ninf-G's own server for ssh runs one for each job.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from ninfg import Server
from paired import Promise, compare, heading, rounds, timed

import osprofile
from osprofile.profile.repository import Repository

sys.path.append(str(Path(__file__).parents[1]))
from tests.lab.proxy import Proxy  # found by the line above

if TYPE_CHECKING:
    from collections.abc import Iterator

DELAY = 0.1
LIMIT = 1.3
RUNNING_LIMIT, ACTIVE_LIMIT = 0.3, 0.5
SERVER = """\
Port {port}
ListenAddress 127.0.0.1
HostKey {here}/host
AuthorizedKeysFile {here}/key.pub
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
SetEnv HOME={here}
"""
"""What a user's own start-up files do would count for every connection."""
CLIENT = """\
Host far
  HostName 127.0.0.1
  Port {port}
  HostKeyAlias far
  IdentityFile {here}/key
  IdentitiesOnly yes
  IdentityAgent none
  UserKnownHostsFile {here}/known_hosts
  GlobalKnownHostsFile /dev/null
"""
PROFILE = """\
<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" xmlns:idb="http://gpe.intel.com/idb"
    name="far" extends="linux">
  <osp:UspaceRoot>/var/tmp</osp:UspaceRoot><osp:Delimiter>/</osp:Delimiter>{shell}
</osp:Profile>
"""
SHELL = """
  <idb:Template name="SHELL">
    <idb:Invocation name="SSH"><idb:Body>ssh -F {here}/config -T -o BatchMode=yes far sh -s</idb:Body></idb:Invocation>
  </idb:Template>"""


@contextlib.contextmanager
def run_server(here: Path) -> Iterator[int]:
    """Run an sshd for this user; yield its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    for name in ("host", "key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", here / name], check=True)
    (here / "known_hosts").write_text(f"far {(here / 'host.pub').read_text()}")
    (here / "sshd").write_text(SERVER.format(here=here, port=port))
    program = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/sbin") or "sshd"
    if os.geteuid() == 0:
        os.makedirs("/run/sshd", mode=0o755, exist_ok=True)  # which Debian's service makes
    server = subprocess.Popen([program, "-D", "-q", "-f", here / "sshd"])
    try:
        for _ in range(100):
            with contextlib.suppress(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", port)).close()
                break
            time.sleep(0.05)
        yield port
    finally:
        server.terminate()
        server.wait()


async def submit(here: Path, server_port: int, delay: float, jobs: int, at_once: int) -> float:
    """Return the seconds for so many submissions, of which so many run at once, with the connections' beginning."""
    profile = Repository([str(here / "profiles")]).load("far")
    async with Proxy(server_port, delay=delay) as proxy:
        (here / "config").write_text(CLIENT.format(here=here, port=proxy.port))
        context = {"SSH:HOST": "far", "USER_NAME": "bench"}
        begin = time.perf_counter()
        async with osprofile.TargetSystem(profile, context, max_parallel_scripts=at_once) as target:
            descriptions = [
                osprofile.JobDescription(
                    executable="/bin/true", working_directory=f"{here}/{delay}-{at_once}-{n}"
                )
                for n in range(jobs)
            ]
            if at_once == 1:
                for job in descriptions:
                    await target.submit(job)
            else:
                await target.submit_many(descriptions)
            return time.perf_counter() - begin


def compare_delays(here: Path, port: int, jobs: int, at_once: int) -> bool:
    """Compare the time with a delay to that without one and the round trips; print a line."""
    local = asyncio.run(submit(here, port, 0.0, jobs, at_once))
    far = asyncio.run(submit(here, port, DELAY, jobs, at_once))
    round_trips = jobs / at_once * 2 * DELAY
    ratio = far / (round_trips + local)
    held = ratio <= LIMIT
    print(
        f"{jobs} submissions over {2 * DELAY * 1e3:.0f} ms, {at_once} at once: {ratio:.2f} times the round trips and the time "
        f"without the delay (at most {LIMIT}: {'held' if held else 'BROKEN'}); {far:.1f} s against "
        f"{round_trips:.1f} s and {local:.1f} s"
    )
    return held


def compare_ninfg(here: Path, port: int) -> list[bool]:
    """Compare the Ninf-G server, which keeps its connection, with a bare ssh; return which promises held."""
    (here / "config").write_text(CLIENT.format(here=here, port=port))
    command = ["ssh", "-F", str(here / "config"), "-T", "-o", "BatchMode=yes", "far", "true"]
    bare = timed(lambda: subprocess.run(command, stdin=subprocess.DEVNULL, check=True), 1)
    server, peer = Server(here, "far", SHELL.format(here=here)), "a bare ssh"
    measures = {
        Promise("JOB_CREATE to the running executable over ssh", peer, RUNNING_LIMIT): server.run,
        Promise("JOB_CREATE to ACTIVE over ssh", peer, ACTIVE_LIMIT): server.run_until_active,
    }
    held = [compare(promise, measure, bare, rounds()) for promise, measure in measures.items()]
    server.close()
    return held


def main() -> int:
    """Compare and print; return 1 if a promise is broken."""
    heading()
    jobs = 40 if rounds() < 10 else 100
    with tempfile.TemporaryDirectory(prefix="bench-far-") as directory:
        here = Path(directory)
        os.environ["HOME"] = directory
        (here / "profiles" / "far").mkdir(parents=True)
        (here / "profiles" / "far" / "profile.xml").write_text(PROFILE.format(shell=SHELL.format(here=here)))
        with run_server(here) as port:
            # with several at once, the connections' beginning counts more: ten rounds of submissions each
            held = [compare_delays(here, port, jobs, 1), compare_delays(here, port, jobs * 4, 8)]
            held += compare_ninfg(here, port)
            time.sleep(1)  # the last jobs end in their directories
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
