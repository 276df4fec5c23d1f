"""The PTP agent on a real Slurm, by its own commands and by its PBS commands: a whole session."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.executors.ptp.client import JOB, NODE, QUEUE, SUBMIT
from tests.executors.ptp.live import Live
from tests.executors.ptp.test_agent import shell
from tests.lab.conftest import SHARED, SITE, USER

if TYPE_CHECKING:
    from collections.abc import Iterator

HOST = os.uname().nodename.partition(".")[0]


@dataclass(frozen=True)
class Ground:
    """A profile over one of ours, whose jobs run as another user below a root of their own."""

    profile: str
    root: Path
    place: Path

    def live(self, proxy: str = "tcp") -> Live:
        """Start an agent."""
        environment = {
            "OSPROFILE_PATH": str(self.place),
            "HOME": str(self.place),
            "XDG_STATE_HOME": str(self.place / "state"),
        }
        words = ("--profile", self.profile, "--interval=0.5")
        return Live(environment, *words, proxy=proxy, stderr=self.place / "log")

    def jobs(self) -> list[str]:
        """Give the live jobs that Slurm has of our directories."""
        words = ["squeue", "-h", "-u", USER, "-o", "%A|%Z"]
        lines = subprocess.check_output(words, text=True).splitlines()
        return [line for line in lines if line.partition("|")[2].startswith(f"{self.root}/")]


@pytest.fixture(params=["slurm", "torque"])
def ground(
    request: pytest.FixtureRequest,
    site: Path,  # noqa: ARG001  # the lab is up
    tmp_path: Path,
) -> Iterator[Ground]:
    me = pwd.getpwnam(USER)
    root = Path(SHARED, f"ptp-{uuid.uuid4().hex[:8]}")
    root.mkdir(mode=0o755)
    os.chown(root, me.pw_uid, me.pw_gid)
    values = {"name": request.param, "user": USER, "shell": "sh -s", "fields": ""}
    text = SITE.format(**values)
    (tmp_path / f"{request.param}.xml").write_text(text.replace("~/.gpe/work", str(root)))
    made = Ground(request.param, root, tmp_path)
    yield made
    for line in made.jobs():
        subprocess.run(["scancel", line.partition("|")[0]], check=False)
    shutil.rmtree(root)
    assert "Traceback" not in (tmp_path / "log").read_text()


def ours(live: Live) -> int:
    """Give how many jobs of this session the client knows."""
    return sum("jobSubId" in a for a in live.client.elements[JOB].values())


@pytest.mark.parametrize("proxy", ["tcp", "stdio"])
def test_a_whole_session(ground: Ground, proxy: str) -> None:
    """Submit, states, terminate, bad submit, stop, start, quit; nothing left behind."""
    with ground.live(proxy) as live:
        live.begin()
        client = live.client
        node = client.id_of(NODE, HOST)
        assert client.elements[NODE][node]["nodeState"] == "UP"
        assert client.by_name(QUEUE)["debug"]["queueState"] == "NORMAL"
        go = ground.root / "go"
        text = f"id -un; echo err >&2; until [ -e {go} ]; do sleep 0.1; done; exit 7"
        first = live.submit(*shell(text), queue="short", sub_id="JOB_1")
        assert client.parents[first] == client.id_of(QUEUE, "short")
        live.wait(first, "RUNNING")
        assert live.process_of(first)["processNodeId"] == str(node)
        # the lab has one node: it waits for ever
        waits = live.submit(*shell("true"), "jobNumNodes=2", queue="debug", sub_id="JOB_2")
        live.until(lambda: live.job(waits).get("jobStatus") == "QUEUED")
        assert live.job(waits)["jobState"] == "STARTING"
        runs = live.submit(*shell("sleep 600"), queue="debug", sub_id="JOB_3")
        live.wait(runs, "RUNNING")
        for job in (runs, waits):
            assert live.terminate(job) == (0, [])
            assert live.wait(job)["jobStatus"] == "REMOVED"
            assert live.terminate(job) == (0, [])
        go.touch()
        assert live.wait(first)["jobStatus"] == "DONE"
        assert live.process_of(first)["processExitCode"] == "7"
        live.until(lambda: {"processStdout", "processStderr"} <= live.process_of(first).keys())
        assert live.process_of(first)["processStdout"] == f"{USER}\n"
        assert live.process_of(first)["processStderr"] == "err\n"
        killed = live.submit(*shell("kill -9 $$"), queue="debug", sub_id="JOB_4")
        assert live.wait(killed)["jobStatus"] == "FAILED"
        assert live.process_of(killed)["processSignalName"] == "SIGKILL"
        number, args = live.do(SUBMIT, "jobSubId=x", "execName=true", "jobPartition=nosuch")
        assert (number, args[1]) == (211, "jobSubId=x")
        assert "nosuch" in args[3] or "partition" in args[3]
        number, args = live.do(SUBMIT, "jobSubId=x", "execName=true", "QUEUE=--wrap=id")
        assert number == 211
        assert "field QUEUE" in args[3]
        live.stop()
        assert live.read(1.0) == b""
        live.start()
        assert ours(live) == 4
        assert live.job(first)["jobState"] == "COMPLETED"
        assert live.quit() == 0
    assert ground.jobs() == []


def test_jobs_outlive_the_agent(ground: Ground) -> None:
    with ground.live() as live:
        live.begin()
        live.wait(live.submit(*shell("sleep 600"), queue="debug"), "RUNNING")
        assert live.signal(signal.SIGTERM) == 0
    (line,) = ground.jobs()
    number = line.partition("|")[0]
    with ground.live() as live:
        live.begin()
        live.until(lambda: number in live.client.by_name(JOB))
        job = live.client.id_of(JOB, number)
        live.wait(job, "RUNNING")
        assert live.terminate(job) == (0, [])
        assert live.wait(job)["jobStatus"] == "REMOVED"
        assert live.quit() == 0
    assert ground.jobs() == []


def test_what_others_do_is_told(ground: Ground) -> None:
    """A job and a partition that the agent has nothing to do with."""
    name = f"ptp-{uuid.uuid4().hex[:8]}"
    with ground.live() as live:
        live.begin()
        submit = f"sbatch --parsable -p short -J {name} -D {ground.root} -o /dev/null --wrap 'sleep 600'"
        number = subprocess.check_output(["runuser", "-l", USER, "-c", submit], text=True).strip()
        partition = f"PartitionName={name}"
        try:
            live.until(lambda: number in live.client.by_name(JOB))
            job = live.client.id_of(JOB, number)
            live.wait(job, "RUNNING")
            assert "jobSubId" not in live.job(job)
            assert live.client.parents[job] == live.client.id_of(QUEUE, "short")
            if ground.profile == "slurm":
                subprocess.run(["scontrol", "create", partition, f"Nodes={HOST}", "State=DOWN"], check=True)
                live.until(lambda: name in live.client.by_name(QUEUE))
                assert live.client.by_name(QUEUE)[name] == {"queueState": "STOPPED", "queueStatus": "down"}
                subprocess.run(["scontrol", "update", partition, "State=UP"], check=True)
                live.until(lambda: live.client.by_name(QUEUE)[name]["queueState"] == "NORMAL")
                subprocess.run(["scontrol", "delete", partition], check=True)
                live.until(lambda: name not in live.client.by_name(QUEUE))
            assert live.terminate(job) == (0, [])
            assert live.wait(job)["jobStatus"] == "REMOVED"
        finally:
            subprocess.run(["scancel", number], check=False, capture_output=True)
            subprocess.run(["scontrol", "delete", partition], check=False, capture_output=True)
        assert live.quit() == 0
