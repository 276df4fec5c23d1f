"""Jobs on another machine: a real sshd on loopback, with a port, keys and a configuration of its own.

It runs as the jobs' user, who is then the only one to be let in. The client is told of key and
host key the way that a site would do it: by a profile over ours whose SHELL names an ssh
configuration (profiles/linux/README.md).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from osprofile.errors import (
    JobNotFoundError,
    OutcomeUnknownError,
    ScriptFailedError,
    TargetError,
    ValueRefusedError,
)
from osprofile.jobs.fields import JobDescription
from osprofile.jobs.record.store import Store
from osprofile.jobs.state import JobState
from osprofile.jobs.target_system import TargetSystem
from osprofile.jobs.timing import Timing
from osprofile.profile.repository import Repository
from tests.jobs.conftest import shell
from tests.lab.conftest import SHARED, USER
from tests.profiles.test_hostile_values import CARRIED, PAYLOAD
from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from osprofile.profile.model import Profile

SERVER = """\
Port {port}
ListenAddress 127.0.0.1
HostKey {here}/host_key
AuthorizedKeysFile {here}/key.pub
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
"""
CLIENT = """\
Host *
  IdentityFile {here}/{key}
  IdentitiesOnly yes
  IdentityAgent none
  UserKnownHostsFile {here}/known_hosts
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
Host cluster
  HostName 127.0.0.1
  Port {port}
  User {user}
"""
SITE = r"""<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile"
    xmlns:idb="http://gpe.intel.com/idb" xmlns:ext="urn:osprofile:extension"
    name="{name}" extends="{name}">
  <osp:UspaceRoot>~/.gpe/work</osp:UspaceRoot>
  <osp:Delimiter>/</osp:Delimiter>
  <idb:Template name="SHELL">
    <idb:Invocation name=""><idb:Body>false</idb:Body></idb:Invocation>
    <idb:Invocation name="SSH">
      <idb:Body><![CDATA[ssh -F {here}/config -T -o BatchMode=yes -o ConnectTimeout=20 <SSH:PORT/(?s)^(.+)\z/-p $1> -- <SSH:HOST> PATH={here}/bin:/usr/bin:/bin sh -s]]></idb:Body>
    </idb:Invocation>
    <idb:Field name="SSH:HOST" isSettable="false" ext:pattern="(?:[A-Za-z0-9_][A-Za-z0-9_.-]*@)?[A-Za-z0-9:][A-Za-z0-9:.-]*"/>
    <idb:Field name="SSH:PORT" isSettable="false" ext:type="integer"><idb:Default/></idb:Field>
  </idb:Template>
</osp:Profile>
"""  # noqa: E501
WAITS = """#!/bin/sh
case "$*" in *--parsable* | "setsid "*) ;; *) exec {real} "$@" ;; esac
touch {here}/begun
until [ -e {here}/go ] || [ ! -d {here} ]; do sleep 0.02; done
exec {real} "$@"
"""
SUBMITS = {"slurm": "sbatch", "linux": "setsid"}
QUICK = Timing(
    min_poll_interval=0.1, max_poll_interval=0.5, max_retry_interval=0.3, grace_period=30, script_timeout=60
)


def read(directory: str, name: str) -> str:
    return Path(directory, name).read_text()


def run(main: Coroutine[None, None, None]) -> None:
    asyncio.run(asyncio.wait_for(main, PATIENCE))


def daemons(pid: int) -> list[int]:
    """Give a process and those of its descendants that are sshd, too."""
    found = [pid]
    for stat in (p / "stat" for p in Path("/proc").glob("[0-9]*")):
        with contextlib.suppress(OSError):
            name, _, rest = stat.read_text(errors="replace").rpartition(")")
            if name.endswith("(sshd") and int(rest.split()[1]) == pid:
                found += daemons(int(stat.parent.name))
    return found


@dataclass
class Server:
    """An sshd that can be started, ended and started again."""

    here: Path
    port: int
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        me = pwd.getpwnam(USER)
        with (self.here / "log").open("ab") as log:
            self.process = subprocess.Popen(
                ["/usr/sbin/sshd", "-D", "-e", "-f", self.here / "sshd_config"],
                stdin=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
                user=me.pw_uid,
                group=me.pw_gid,
                extra_groups=[],
                cwd="/",
            )
        for _ in range(1200):
            with contextlib.suppress(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            assert self.process.poll() is None, (self.here / "log").read_text()
            time.sleep(0.05)
        raise AssertionError((self.here / "log").read_text())

    def stop(self) -> None:
        """End it and its connections. What it has started goes on."""
        if self.process is not None:
            for pid in daemons(self.process.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.process.wait()
            self.process = None

    def client(self, key: str = "key") -> None:
        """Write the client's configuration."""
        text = CLIENT.format(here=self.here, key=key, port=self.port, user=USER)
        (self.here / "config").write_text(text)

    def known_hosts(self, key: str) -> None:
        public = (self.here / f"{key}.pub").read_text()
        (self.here / "known_hosts").write_text(f"[127.0.0.1]:{self.port} {public}")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    assert os.geteuid() == 0, "the lab needs root"
    me = pwd.getpwnam(USER)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    here = Path(SHARED, f"sshd-{uuid.uuid4().hex[:8]}")  # the node sees it
    (here / "bin").mkdir(parents=True)
    here.chmod(0o755)
    for key in ("host_key", "key", "other"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", here / key], check=True
        )
    (here / "sshd_config").write_text(SERVER.format(here=here, port=port))
    shutil.copy(here / "key", tmp_path / "key")
    for path in (here, *here.iterdir()):
        os.chown(path, me.pw_uid, me.pw_gid)
    os.chown(here / "key", 0, 0)
    os.chown(here / "other", 0, 0)
    made = Server(here, port)
    made.client()
    made.known_hosts("host_key")
    made.start()
    yield made
    made.stop()
    shutil.rmtree(here)


@pytest.fixture(params=["linux", "slurm"])
def profile(request: pytest.FixtureRequest, server: Server, site: Path, tmp_path: Path) -> Profile:
    assert site, "the lab is up"
    directory = tmp_path / "profiles" / request.param
    directory.mkdir(parents=True)
    (directory / "profile.xml").write_text(SITE.format(name=request.param, here=server.here))
    return Repository([str(tmp_path / "profiles")]).load(request.param)


@pytest.fixture
def target_of(server: Server, profile: Profile, tmp_path: Path) -> Iterator[Callable[..., TargetSystem]]:
    """Give a function that makes a target system over ssh, each time on the same record."""
    stores: list[Store] = []

    def make(host: str = f"{USER}@127.0.0.1", **context: str) -> TargetSystem:
        stores.append(Store(str(tmp_path / "jobs.db")))
        context = {"SSH:HOST": host, "SSH:PORT": str(server.port)} | context
        return TargetSystem(profile, context, store=stores[-1], timing=QUICK)

    yield make
    if stores:
        for record in stores[-1].list_all_jobs():
            shutil.rmtree(record.directory, ignore_errors=True)
            job_id = record.status.job_id or "none"
            for link in Path(pwd.getpwnam(USER).pw_dir, ".gpe/jobs").glob(f"*/{job_id}"):
                link.unlink()
        for store in stores:
            store.close()


def test_jobs(target_of: Callable[..., TargetSystem], profile: Profile) -> None:
    async def main() -> None:
        async with target_of() as target:
            job = await target.submit(shell("id -un; pwd; exit 7", name="over-ssh"))
            killed = await target.submit(shell("kill -s KILL $$"))
            end = await target.wait(job)
            assert (end.state, end.exit_code, end.signal) == (JobState.DONE, 7, None)
            end = await target.wait(killed)
            assert (end.state, end.exit_code, end.signal) == (JobState.FAILED, None, 9)
            record = target.store.find_job(target.name, job)
            assert record is not None
            # USER_NAME is the user's there, not ours
            assert record.directory.startswith(f"{pwd.getpwnam(USER).pw_dir}/.gpe/work/{USER}/")
            output = read(record.directory, "stdout")
            assert output.splitlines() == [USER, record.directory]
            entries = {e.name: (e.type, e.size) for e in await target.files.list_directory(record.directory)}
            assert entries["stdout"] == ("f", len(output))
            assert (await target.files.stat_file(f"{record.directory}/stdout")).size == len(output)
            await target.files.delete_path(f"{record.directory}/stdout")
            assert "stdout" not in {e.name for e in await target.files.list_directory(record.directory)}
            with pytest.raises(ValueRefusedError, match="WORKING_DIRECTORY"):
                await target.submit(shell("true", working_directory="/var/tmp/../x"))
            with pytest.raises(ScriptFailedError, match=r"already ended"):
                await target.abort(job)
            nobody = {"slurm": "999999", "linux": "1-1-00000000"}[profile.name]
            with pytest.raises(JobNotFoundError, match=f"unknown job {nobody}"):
                await target.status(nobody)

    run(main())


def test_a_job_is_held_released_and_removed(target_of: Callable[..., TargetSystem], profile: Profile) -> None:
    """The second half by another process, as far as the record and the connections go."""
    waiting = profile.name == "slurm"
    before = JobState.QUEUED if waiting else JobState.RUNNING
    job_id = ""

    async def first() -> None:
        nonlocal job_id
        async with target_of() as target:
            # the lab has one node
            job_id = await target.submit(shell("sleep 600", nodes=2 if waiting else 1), key="k")
            assert (await target.status(job_id)).state is before
            await target.hold(job_id)
            assert (await target.statuses())[job_id].state is JobState.HELD

    async def second() -> None:
        async with target_of() as target:
            assert (await target.watch(job_id)).state is JobState.HELD
            assert await target.submit(shell("false"), key="k") == job_id
            await target.resume(job_id)
            assert (await target.status(job_id)).state is before
            await target.abort(job_id)
            assert (await target.wait(job_id)).state is JobState.REMOVED

    run(first())
    run(second())


def test_a_name_of_the_ssh_configuration(target_of: Callable[..., TargetSystem]) -> None:
    async def main() -> None:
        async with target_of("cluster", **{"USER_NAME": USER, "SSH:PORT": ""}) as target:
            assert (await target.wait(await target.submit(shell("exit 5")))).exit_code == 5

    run(main())


def test_hostile_values(target_of: Callable[..., TargetSystem]) -> None:
    me = pwd.getpwnam(USER)
    directory = Path(SHARED, USER, f"it's $(id) %j {uuid.uuid4().hex[:8]}")
    directory.mkdir(parents=True, mode=0o700)
    value = "|".join(CARRIED)
    (directory / "a * 'b' %j").write_text(PAYLOAD)
    (directory / "a * 'b' %j").chmod(0o755)
    (directory / "in %A\n'").write_text(value)
    for path in (directory.parent, directory, *directory.iterdir()):
        os.chown(path, me.pw_uid, me.pw_gid)

    async def main() -> None:
        async with target_of() as target:
            job = await target.submit(
                JobDescription(
                    executable="./a * 'b' %j",
                    arguments=CARRIED,
                    environment={"HOSTILE": value},
                    stdin="in %A\n'",
                    stdout="%j-\u2028",
                    stderr="-e $(id)\r",
                    working_directory=str(directory),
                )
            )
            assert (await target.wait(job)).exit_code == 0
            entries = {entry.name for entry in await target.files.list_directory(str(directory))}
            assert entries >= {"a * 'b' %j", "in %A\n'", "%j-\u2028", "-e $(id)\r"}

    run(main())
    got = (directory / "got.arguments").read_bytes().split(b"\0")
    assert got == [text.encode() for text in ("./a * 'b' %j", *CARRIED, "")]
    assert (directory / "got.environment").read_bytes() == value.encode()
    assert (directory / "got.stdin").read_bytes() == value.encode()
    assert (directory / "%j-\u2028").read_text() == "out\n"
    assert (directory / "-e $(id)\r").read_text() == "err\n"


@pytest.mark.parametrize(
    "host",
    ["-oProxyCommand=touch /var/tmp/hacked", "-l", "a b", "a'b", 'a"b', "a;id", "a@-b", "-a@b", "a\nb", "$(id)", "a@b@c",
     "a\\b", "*", "\u0430", "a\0b", "\udc80"],
)  # fmt: skip
def test_hosts_that_are_none(target_of: Callable[..., TargetSystem], host: str) -> None:
    with pytest.raises(ValueRefusedError) as caught:
        target_of(host)
    assert caught.value.field in {"SSH:HOST", "USER_NAME"}
    assert "SSH:HOST" in str(caught.value)


def slurms(directory: str) -> list[str]:
    """Give the jobs that Slurm has of a working directory."""
    jobs = subprocess.check_output(["squeue", "-h", "-t", "all", "-o", "%A|%Z"], text=True)
    return [j.partition("|")[0] for j in jobs.splitlines() if j.endswith(f"|{directory}")]


def test_a_connection_that_breaks_during_a_submission(
    target_of: Callable[..., TargetSystem], server: Server, profile: Profile
) -> None:
    name = SUBMITS[profile.name]
    program = server.here / "bin" / name
    program.write_text(WAITS.format(here=server.here, real=f"/usr/bin/{name}"))
    program.chmod(0o755)

    async def main() -> None:
        async with target_of() as target:
            going = asyncio.ensure_future(target.submit(shell("exit 4"), key="k"))
            while not (server.here / "begun").exists():  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            server.stop()
            with pytest.raises(OutcomeUnknownError, match=r"START: the connection failed: .*closed"):
                await going
            (record,) = target.store.list_interrupted_submissions(target.name)
            assert (record.key, record.is_submitted) == ("k", False)
            with pytest.raises(OutcomeUnknownError, match="Connection refused"):
                await target.submit(shell("exit 4"), key="k")
            (failed,) = await target.recover_submissions()
            assert isinstance(failed.error, OutcomeUnknownError)
            assert target.store.list_interrupted_submissions(target.name) == [record]
            server.start()
            (server.here / "go").touch()
            (found,) = await target.recover_submissions()
            assert found.error is None
            assert found.job_id is not None
            assert await target.submit(shell("exit 4"), key="k") == found.job_id
            assert (await target.wait(found.job_id)).exit_code == 4
        if profile.name == "slurm":
            assert slurms(record.directory) == [found.job_id]

    run(main())


def test_a_server_that_is_down_for_a_while(
    target_of: Callable[..., TargetSystem], server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    go = server.here / "end"

    async def main() -> None:
        async with target_of() as target:
            job = await target.submit(
                shell(f"until [ -e {go} ] || [ ! -d {server.here} ]; do sleep 0.1; done; exit 6")
            )
            while (await target.status(job)).state is not JobState.RUNNING:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
            events = target.events()
            server.stop()
            while len(caplog.records) < 3:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            with pytest.raises(OutcomeUnknownError, match="Connection refused"):
                await target.statuses()
            with pytest.raises(OutcomeUnknownError, match="Connection refused"):
                await target.hold(job)
            assert target.jobs.get_status(job).state is JobState.RUNNING
            go.touch()
            server.start()
            event = await anext(events)
            assert (event.job_id, event.state, event.status.exit_code) == (job, JobState.DONE, 6)

    run(main())
    words = [record.getMessage() for record in caplog.records]
    assert all("job states are not updated" in text for text in words), words
    # the first one may have lost the connection that was open
    assert all("Connection refused" in text for text in words[1:]), words


@pytest.mark.parametrize(
    ("key", "host_key", "words"),
    [
        ("key", "other", "Host key verification failed"),
        ("other", "host_key", r"Permission denied \(publickey\)"),
        ("missing", "host_key", r"Permission denied \(publickey\)"),
    ],
)
def test_keys_that_do_not_fit(
    target_of: Callable[..., TargetSystem], server: Server, key: str, host_key: str, words: str
) -> None:
    """Ssh says why, and asks nobody."""
    server.client(key)
    server.known_hosts(host_key)

    async def main() -> None:
        async with target_of() as target:
            with pytest.raises(TargetError, match=f"(?s){words}.*nothing was submitted"):
                await target.submit(shell("exit 8"), key="k")
            assert not target.store.list_interrupted_submissions(target.name)
        async with target_of(USER_HOME=pwd.getpwnam(USER).pw_dir) as target:
            with pytest.raises(OutcomeUnknownError, match=words):
                await target.submit(shell("exit 8"), key="k")
            with pytest.raises(OutcomeUnknownError, match=words):
                await target.files.list_directory("/")
            server.client()
            server.known_hosts("host_key")
            (found,) = await target.recover_submissions()
            assert found.job_id is not None
            assert (await target.wait(found.job_id)).exit_code == 8

    run(main())


def test_files(target_of: Callable[..., TargetSystem], server: Server, tmp_path: Path) -> None:
    """Inputs, an interrupted copy of them, and what is fetched."""
    large = tmp_path / "large"
    large.write_bytes(bytes(range(256)) * 400_000)
    names = ["it's $(id)\n*", "-n", os.fsdecode(b"\xff")]
    (tmp_path / "in").mkdir()
    for name in names:
        (tmp_path / "in" / name).write_text(name, "utf-8", "surrogateescape")
    job = shell("cp -R in out; ln -s /etc out/etc; wc -c < large", inputs=[str(tmp_path / "in"), str(large)])

    async def main() -> None:
        async with target_of() as target:
            going = asyncio.ensure_future(target.submit(job, key="k"))
            while not list(Path(f"~{USER}/.gpe/work", USER).expanduser().glob("*/.gpe/inputs.*/files/large")):  # noqa: ASYNC240
                assert not going.done()
                await asyncio.sleep(0.005)
            server.stop()
            with pytest.raises(OutcomeUnknownError, match=r"the connection failed.*; nothing was submitted"):
                await going
            server.start()
            (record,) = target.store.list_interrupted_submissions(target.name)
            assert "large" not in os.listdir(record.directory)
            job_id = await target.submit(job, key="k")
            assert (await target.wait(job_id)).exit_code == 0
            assert await target.read_stdout(job_id) == b"102400000\n"
            assert await target.find_job_directory(job_id) == record.directory
            fetched = await target.fetch(job_id, ["out", "stdout"], str(tmp_path / "got"))
            assert {file.path.removeprefix(f"{tmp_path}/got/") for file in fetched} == {
                "stdout",
                *(f"out/{name}" for name in names),
            }
            await target.files.upload(str(tmp_path / "in"), f"{record.directory}/new/it")
            await target.files.download(f"{record.directory}/new/it", str(tmp_path / "back"))
        for place in ("got/out", "back"):
            assert sorted(os.listdir(tmp_path / place)) == sorted(names)

    run(main())


@pytest.mark.parametrize("workspace", [None, f"{SHARED}/{USER}"])
def test_a_profile_for_an_account_on_a_cluster(
    server: Server, site: Path, tmp_path: Path, workspace: str | None
) -> None:
    """As a newcomer has it: an alias of ssh's configuration, and then only the name of the profile."""
    assert site, "the lab is up"
    wrapper = tmp_path / "bin" / "ssh"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\nexec /usr/bin/ssh -F {server.here}/config "$@"\n')
    wrapper.chmod(0o755)
    environment = {**os.environ, "HOME": str(tmp_path), "PATH": f"{wrapper.parent}:{os.environ['PATH']}"}
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "OSPROFILE_STORE"):
        environment.pop(name, None)

    def incarnate(*words: str) -> str:
        command = [sys.executable, "-m", "osprofile", *words]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE
        )
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    words = [] if workspace is None else ["--workspace", workspace]
    made = incarnate("new", "mine", "--extends", "slurm", "--host", "cluster", *words, "--try")
    place = workspace or f"{pwd.getpwnam(USER).pw_dir}/.gpe/work/{USER}"
    assert f"mine@{USER}@cluster: the login works, and {place} can be written" in made
    assert ("jobs work below ~/.gpe/work" in made) == (workspace is None)
    assert "which sees the workspace" in made
    (tmp_path / ".config/osprofile/config.toml").write_text('default = "mine"\n')
    job = incarnate("job", "submit", "sh", "-c", "id -un; uname -n").strip()
    incarnate("job", "wait", job)
    assert incarnate("job", "output", job).splitlines() == [USER, os.uname().nodename]
