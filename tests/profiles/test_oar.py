"""The profile `oar`, with stand-ins that answer as OAR 2.5.9 did; tests/lab/test_oar.py has the real one."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from osprofile.errors import ValueRefusedError
from tests.profiles.conftest import DASH, quoted
from tests.profiles.systems import make_system

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.profiles.conftest import Job, Target

pytestmark = DASH

DIRECTORY = Path(__file__).parent


@pytest.fixture
def oar(tmp_path: Path, target_of: Callable[..., Target]) -> Target:
    return make_system("oar", target_of, tmp_path / "commands").target


def tell(oar: Target, job: int, state: str, code: str = "-", event: str = "-") -> None:
    """Let OAR say this of one of its own jobs; a code s9 is a signal."""
    file = oar.path[0] / "jobs"
    lines = [line.split(" ", 6) for line in file.read_text().splitlines()]
    for words in lines:
        if words[0] == str(job):
            words[3:6] = [state, code, event]
    file.write_text("".join(" ".join(words) + "\n" for words in lines))


def run(oar: Target, job: Job, number: int = 0, index: int = 1) -> int:
    """Run a job's command as OAR does."""
    line = (oar.path[0] / "jobs").read_text().splitlines()[(number or int(job.id)) - 1]
    environment = {
        **oar.env,
        "OAR_ARRAY_ID": job.id,
        "OAR_ARRAY_INDEX": str(index),
        "OAR_NODEFILE": "/dev/null",
    }
    return subprocess.run(
        ["sh", "-c", line.partition("|")[2]], env=environment, cwd="/", check=False
    ).returncode


@pytest.mark.parametrize(
    ("words", "state", "code"),
    [
        (("Launching",), "QUEUED", None),
        (("Hold",), "HELD", None),
        (("Suspended",), "HELD", None),
        (("Finishing",), "RUNNING", None),
        (("toError",), "QUEUED", None),
        (("Terminated", "7"), "DONE", 7),
        (("Terminated", "s9"), "FAILED", None),
        (("Error",), "FAILED", None),
        (("Error", "-", "WALLTIME"), "FAILED/TIME", None),
        (("Error", "-", "BESTEFFORT_KILL"), "FAILED/PREEMPTED", None),
        (("Error", "-", "FRAG_JOB_REQUEST"), "REMOVED", None),
    ],
)
def test_states(oar: Target, words: tuple[str, ...], state: str, code: int | None) -> None:
    """Of a job that left nothing; OAR's word for a limit counts even if the job's own shell has noted an exit status."""
    job = oar.start()
    (job.directory / ".gpe/output").touch()  # it has begun
    tell(oar, 1, *words)
    assert (job.status().state, job.status().exit) == (state, code)
    if words[-1] in {"WALLTIME", "BESTEFFORT_KILL", "FRAG_JOB_REQUEST"}:
        (job.directory / ".gpe_exit_status").write_text("143\n")
        assert job.status().state == state


def test_an_array(oar: Target) -> None:
    other = oar.start()
    job = oar.start(EXECUTABLE="/bin/sh", ARGUMENTS=quoted("-c", "exit $GPE_ARRAY_INDEX"), ARRAY="1-3")
    assert [s.state for s in oar.statuses("", JOB_ID=job.id).values()] == ["QUEUED"] * 3
    assert oar.statuses().keys() == {other.id, "2_1", "2_2", "2_3"}
    assert run(oar, job, 2, 1) == 1
    tell(oar, 2, "Terminated", "1")
    assert run(oar, job, 3, 2) == 2
    tell(oar, 3, "Error", "-", "WALLTIME")
    tell(oar, 4, "Running")
    told = oar.statuses("", JOB_ID=job.id)
    assert {i: (s.state, s.exit) for i, s in told.items()} == {
        "2_1": ("DONE", 1), "2_2": ("FAILED/TIME", None), "2_3": ("RUNNING", None),
    }  # fmt: skip
    several = oar.statuses("SEVERAL", JOB_IDS="2_2 2_3 99 1);x")
    assert {i: s.state for i, s in several.items()} == {"2_2": "FAILED/TIME", "2_3": "RUNNING"}
    assert (oar.path[0] / "asked.sql").read_text() == "2,99\n"
    assert "already ended" in oar.fails("ABORT", JOB_ID="2_1")
    assert oar.ok("ABORT", JOB_ID="2_3") == ""
    assert oar.statuses("", JOB_ID="2_3")["2_3"].state == "REMOVED"
    assert "already ended" in oar.fails("ABORT", JOB_ID=job.id)


def test_an_array_is_removed_as_a_whole(oar: Target) -> None:
    job = oar.start(EXECUTABLE="/bin/true", ARRAY="1-3")
    assert oar.ok("HOLD", JOB_ID=job.id) == ""
    assert oar.ok("RESUME", JOB_ID="1_2") == ""
    assert {i: s.state for i, s in oar.statuses().items()} == {"1_1": "HELD", "1_2": "QUEUED", "1_3": "HELD"}
    assert run(oar, job, 2, 2) == 0
    tell(oar, 2, "Terminated", "0")
    assert oar.ok("ABORT", JOB_ID=job.id) == ""  # OAR's command fails, because of the task that has ended
    told = oar.statuses("", JOB_ID=job.id)
    assert {i: s.state for i, s in told.items()} == {"1_1": "REMOVED", "1_2": "DONE", "1_3": "REMOVED"}
    assert run(oar, job, 1, 1) == 143  # a task that begins all the same
    assert not (job.directory / "stdout.1").exists()


def test_fields(oar: Target) -> None:
    first = oar.start(ARRAY="1-2")
    fields = {
        "NODES": "2",
        "PROCESSES": "5",
        "CPUS": "2",
        "GPUS": "2",
        "WALLTIME": "90",
        "JOB_NAME": "n",
        "QUEUE": "q",
    }
    oar.start(
        **fields,
        PROJECT="p",
        CONSTRAINT="NODES=x&(b!=2|c>=3)",
        DEPENDENCY=f"afterany:{first.id},afterany:{first.id}",
    )
    for need in ({"NODES": "2"}, {"CPUS": "2"}, {"GPUS": "1"}, {"WALLTIME": "3600"}):
        oar.start(**need)
    requests = [line.partition(" sh ")[0] for line in (oar.path[0] / "requests").read_text().splitlines()]
    common = "-d / -O /dev/null -E /dev/null"
    assert requests == [
        f"--array 2 {common}",
        f"{common} -l nodes=2/gpu=2/core=3,walltime=00:01:30 -p NODES='x' AND (b!='2' OR c>='3') -n n -q q --project p -a 1 -a 2 -a 1 -a 2",
        f"{common} -l nodes=2",
        f"{common} -l nodes=1/core=2",
        f"{common} -l nodes=1/gpu=1",
        f"{common} -l walltime=01:00:00",
    ]
    for refused in ({"DEPENDENCY": "afterok:1"}, {"ARRAY": "1-1"}, {"ARRAY": "2-3"}, {"MEMORY": "5"}):
        with pytest.raises(ValueRefusedError):
            oar.script("START", **refused)


def test_refusals(oar: Target) -> None:
    assert "does not know the job 7" in oar.fails("START", DEPENDENCY="afterany:7")
    first = oar.start()
    only = "only the last task of an array"
    assert only in oar.fails("START", ARRAY="1-2", DEPENDENCY=f"afterany:{first.id}")
    (oar.path[0] / "refuse").write_text("There are not enough resources for your request\n")
    assert "not enough resources" in oar.fails("START")
