"""Why jobs ended, as a word, and what they took: told by the batch system or measured by the job itself."""

from __future__ import annotations

import asyncio
import os
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from osprofile.jobs.fields import JobDescription
from osprofile.jobs.state import EndCause, JobState
from osprofile.jobs.submit.attempts import list_runs
from osprofile.jobs.target_system import TargetSystem
from osprofile.jobs.timing import Timing
from osprofile.profile.repository import Repository
from tests.lab.conftest import PBS, PROFILES, USER
from tests.lab.test_requeue import fail_node, preempt
from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from osprofile.jobs.state import JobStatus

QUICK = Timing(min_poll_interval=0.2, max_poll_interval=0.5)
EACH = int(os.environ.get("LAB_JOBS", "60")) // 3
AT_ONCE = 4
MIB = 1 << 20
BUSY = "import time; x = b'a' * (200 << 20)\nwhile time.process_time() < 2: pass\n"
"""Takes two seconds of processor time and 200 MiB."""
HUNGRY = "x = b'a' * (300 << 20)\nimport time; time.sleep(20)"


def python(text: str, **attributes: object) -> JobDescription:
    return JobDescription(executable="/usr/bin/python3", arguments=("-c", text), **attributes)  # type: ignore[arg-type]


def shell(text: str, **attributes: object) -> JobDescription:
    return JobDescription(executable="/bin/sh", arguments=("-c", text), **attributes)  # type: ignore[arg-type]


def open_target(profile: str, *directories: Path) -> TargetSystem:
    resolved = Repository([*map(str, directories), str(PROFILES)]).load(profile)
    return TargetSystem(resolved, {"USER_NAME": USER}, timing=QUICK)


def is_busy(status: JobStatus, least: float = 1.6, *, needs_memory: bool = True) -> bool:
    """Return whether a status tells what BUSY takes, within 20 %; `needs_memory`: the memory, too.

    An ended job's own record lacks it; a query while the job ran may have told it.
    """
    time, memory = status.cpu_time, status.max_memory
    if time is None or (memory is None and needs_memory):
        return False
    return least <= time <= 2.4 and (memory is None or 160 <= memory / MIB <= 240)


@pytest.mark.parametrize("profile", ["linux", "slurm", "sge"])
def test_what_jobs_took(site: Path, profile: str) -> None:
    async def main() -> list[JobStatus]:
        slots = asyncio.Semaphore(AT_ONCE)
        async with open_target(profile, site) as target:

            async def run() -> JobStatus:
                async with slots:
                    job = await target.submit(python(BUSY))
                    ended = await asyncio.wait_for(target.wait(job), PATIENCE)
                    assert (ended.state, ended.exit_code) == (JobState.DONE, 0), ended
                    usage = await target.query_usage(job)
                    assert await target.status(job) == usage, "it is recorded"
                    await target.files.delete_path(await target.find_job_directory(job))
                    return usage

            return await asyncio.gather(*(run() for _ in range(EACH)))

    statuses = asyncio.run(main())
    wrong = [
        status for status in statuses if not is_busy(status, needs_memory=False) or status.elapsed is None
    ]
    assert wrong == []


@pytest.mark.parametrize(("profile", "fields", "given"), [
    ("slurm", {"cpus": 2, "memory": "100M"}, (2, 100 * MIB)),
    ("sge", {}, (1, None)),
    ("torque", {}, (1, None)),
])  # fmt: skip
def test_what_a_job_was_given(
    site: Path, profile: str, fields: dict[str, Any], given: tuple[int, int | None]
) -> None:
    """While it runs, and after its end; it is recorded."""

    async def main() -> list[JobStatus]:
        async with open_target(profile, site) as target:
            job = await target.submit(JobDescription(executable="/bin/sleep", arguments=("60",), **fields))
            found = []
            async with asyncio.timeout(PATIENCE):
                while not found:
                    found = [s for s in [await target.status(job)] if s.state is JobState.RUNNING]
                    await asyncio.sleep(0.2)
            await target.abort(job)
            found.append(await target.wait(job))
            record = target.find_record(job)
            assert record is not None
            found.append(record.status)
            await target.files.delete_path(await target.find_job_directory(job))
            return found

    assert [(s.allocated_cpus, s.allocated_memory) for s in asyncio.run(main())] == [given] * 3


@pytest.mark.parametrize("profile", ["linux", "slurm", "torque", "sge", PBS])
def test_how_long_a_job_ran(site: Path, profile: str) -> None:
    async def main() -> JobStatus:
        async with open_target(profile, site) as target:
            job = await target.submit(shell("sleep 3"))
            status = await asyncio.wait_for(target.wait(job), PATIENCE)
            assert status.ended is not None
            if status.elapsed is not None and status.end_reported:
                assert status.started is not None
                assert status.ended - status.started == pytest.approx(status.elapsed, abs=2)  # whole seconds
            usage = await target.query_usage(job)
            await target.files.delete_path(await target.find_job_directory(job))
            return usage

    began = time.monotonic()
    status = asyncio.run(main())
    assert status.elapsed is not None
    assert status.ended is not None
    assert 3 <= status.elapsed <= time.monotonic() - began + 1  # whole seconds


@pytest.mark.parametrize("profile", ["linux", "slurm", "sge"])
def test_what_a_running_job_takes(site: Path, profile: str) -> None:
    async def main() -> JobStatus:
        async with open_target(profile, site) as target:
            job = await target.submit(python(f"{BUSY}time.sleep(60)"))
            async with asyncio.timeout(PATIENCE):
                # in whole seconds, of the program's and of the kernel's time apart
                while not is_busy(usage := await target.query_usage(job), least=1):
                    assert not usage.state.is_terminal
                    await asyncio.sleep(0.3)
            await target.abort(job)
            assert (await target.wait(job)).cause is EndCause.USER
            await target.files.delete_path(await target.find_job_directory(job))
            return usage

    usage = asyncio.run(main())
    assert usage.state is JobState.RUNNING
    assert usage.elapsed is not None or profile == "sge"


class Case(NamedTuple):
    """A job, what is done when it runs, and its end."""

    job: JobDescription
    cause: EndCause
    state: JobState = JobState.FAILED
    act: Callable[[TargetSystem, str], Awaitable[None]] | None = None


async def abort(target: TargetSystem, job: str) -> None:
    await target.abort(job)


SLEEP = "exec sleep 60"
MEMORY_LIMIT = """<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile"
    xmlns:idb="http://gpe.intel.com/idb" name="sge" extends="sge">
  <osp:UspaceRoot>~/.gpe/work</osp:UspaceRoot>
  <osp:Delimiter>/</osp:Delimiter>
  <idb:Template>
    <idb:Field name="EXTRA_DIRECTIVES" isSettable="false"><idb:Value>#$ -l h_vmem=500M</idb:Value></idb:Field>
  </idb:Template>
</osp:Profile>
"""
"""The kernel refuses more to a process, and Grid Engine ends a job whose processes have more together."""
TWO = f"for i in 1 2; do /usr/bin/python3 -c '{HUNGRY.replace(chr(39), chr(34))}' & done; wait"
KILLED = shell("kill -s KILL $$")
ENDS = {
    ("linux", "wall time"): Case(shell(SLEEP, walltime=1), EndCause.TIME),
    ("linux", "processor time"): Case(shell("while :; do :; done", cputime=1), EndCause.TIME),
    ("linux", "signal"): Case(KILLED, EndCause.SIGNAL),
    ("linux", "aborted"): Case(shell(SLEEP), EndCause.USER, JobState.REMOVED, abort),
    ("slurm", "memory"): Case(python(HUNGRY, memory=100), EndCause.MEMORY),
    ("slurm", "preempted"): Case(
        shell(SLEEP, exclusive=True, requeue=False), EndCause.PREEMPTED, JobState.FAILED, preempt
    ),
    ("slurm", "node down"): Case(shell(SLEEP, requeue=False), EndCause.NODE, JobState.FAILED, fail_node),
    ("slurm", "signal"): Case(KILLED, EndCause.SIGNAL),
    ("slurm", "aborted"): Case(shell(SLEEP), EndCause.USER, JobState.REMOVED, abort),
    ("slurm", "wall time"): Case(shell("exec sleep 200", walltime=60), EndCause.TIME),
    ("sge", "wall time"): Case(shell(SLEEP, walltime=1), EndCause.TIME),
    ("sge", "processor time"): Case(shell("while :; do :; done", cputime=1), EndCause.TIME),
    ("sge", "memory"): Case(shell(TWO), EndCause.MEMORY),
    ("sge", "signal"): Case(KILLED, EndCause.SIGNAL),
    ("sge", "aborted"): Case(shell(SLEEP), EndCause.USER, JobState.REMOVED, abort),
}


@pytest.mark.usefixtures("node")
@pytest.mark.parametrize(
    ("profile", "how"),
    [
        pytest.param(*case, marks=[pytest.mark.alone] * (how.act in {fail_node, preempt}))
        for case, how in ENDS.items()
    ],
)
def test_why_a_job_ended(site: Path, tmp_path: Path, profile: str, how: str) -> None:
    case = ENDS[profile, how]
    directories = [site]
    if (profile, how) == ("sge", "memory"):
        (tmp_path / "sge").mkdir()
        (tmp_path / "sge" / "profile.xml").write_text(MEMORY_LIMIT)
        directories.insert(0, tmp_path)

    async def main() -> JobStatus:
        async with open_target(profile, *directories) as target:
            job = await target.submit(case.job)
            if case.act is not None:
                async with asyncio.timeout(PATIENCE):
                    while (await target.status(job)).state is not JobState.RUNNING:  # noqa: ASYNC110
                        await asyncio.sleep(0.1)
                await asyncio.sleep(1)
                await case.act(target, job)
            status = await asyncio.wait_for(target.wait(job), PATIENCE)
            await target.files.delete_path(await target.find_job_directory(job))
            return status

    status = asyncio.run(main())
    assert (status.state, status.cause) == (case.state, case.cause), status
    if case.cause not in {EndCause.USER, EndCause.SIGNAL}:
        assert status.reason or status.native_state, "the batch system's own text"


@pytest.mark.usefixtures("node")
def test_a_job_that_needs_more_memory_gets_it(site: Path) -> None:
    job = python("x = b'a' * (300 << 20)", memory=100, retry="MEMORY: memory*2, at most 3")

    async def main() -> list[tuple[EndCause | None, int | None, str]]:
        async with open_target("slurm", site) as target:
            first = await target.submit(job, key="hungry")
            await asyncio.wait_for(target.wait(first), PATIENCE)
            ends = []
            for run in list_runs(target.store, target.name, "hungry"):
                asked = target.store.read_details(run.number).request or {}
                ends.append((run.status.cause, run.status.exit_code, asked["MEMORY"]))
                await target.files.delete_path(run.directory)
            return ends

    assert asyncio.run(main()) == [
        (EndCause.MEMORY, None, "100"),
        (EndCause.MEMORY, None, "200"),
        (None, 0, "400"),
    ]


@pytest.mark.usefixtures("node")
def test_the_tasks_of_an_array_that_need_more_memory_get_it(site: Path) -> None:
    text = "import os; x = b'a' * ([0, 0, 150, 300, 0][int(os.environ['GPE_ARRAY_INDEX'])] << 20)"
    job = python(text, array="1-4", memory=100, retry="MEMORY: memory*2, at most 3")

    async def main() -> tuple[JobStatus, list[tuple[str, EndCause | None, str]]]:
        async with open_target("slurm", site) as target:
            first = await target.submit(job, key="hungry")
            end = await asyncio.wait_for(target.wait(first), PATIENCE)
            runs = []
            for run in list_runs(target.store, target.name, "hungry"):
                asked = target.store.read_details(run.number).request or {}
                runs.append((run.array, run.status.cause, asked["MEMORY"]))
                await target.files.delete_path(run.directory)
            return end, runs

    end, runs = asyncio.run(main())
    assert (end.state, end.exit_code) == (JobState.DONE, 0), end
    assert runs == [
        ("1-4", EndCause.MEMORY, "100"),
        ("2-3", EndCause.MEMORY, "200"),
        ("3", None, "400"),
    ]


@pytest.mark.parametrize(
    ("profile", "arrays"), [("linux", ["1-5", "2,4"]), ("sge", ["1-5", "2", "4"])], ids=["linux", "sge"]
)
def test_the_tasks_of_an_array_that_need_more_time_get_it(
    site: Path, profile: str, arrays: list[str]
) -> None:
    """Grid Engine takes no list of indices: there, each range is an array."""
    text = "case $GPE_ARRAY_INDEX in 2 | 4) sleep 12 ;; esac"
    job = shell(text, array="1-5", walltime=5, retry="TIME: walltime*60")

    async def main() -> tuple[JobStatus, list[str]]:
        async with open_target(profile, site) as target:
            first = await target.submit(job, key="slow")
            end = await asyncio.wait_for(target.wait(first), PATIENCE)
            runs = list_runs(target.store, target.name, "slow")
            for run in runs:
                await target.files.delete_path(run.directory)
            return end, [run.array for run in runs]

    end, found = asyncio.run(main())
    assert (end.state, end.exit_code) == (JobState.DONE, 0), end
    assert found == arrays


@pytest.mark.parametrize("profile", ["linux", "slurm", "torque", "sge", PBS])
def test_a_condition_that_never_holds(site: Path, profile: str) -> None:
    """Torque refuses a job that depends on one that has failed already, so that one waits for the other."""

    async def main() -> JobStatus:
        async with open_target(profile, site) as target:
            first = await target.submit(shell("while [ ! -e submitted ]; do sleep 0.1; done; exit 1"))
            second = await target.submit(shell("true", after_ok=(first,)))
            await target.files.upload(__file__, f"{await target.find_job_directory(first)}/submitted")
            status = await asyncio.wait_for(target.wait(second), PATIENCE)
            for job in (first, second):
                await target.files.delete_path(await target.find_job_directory(job))
            return status

    status = asyncio.run(main())
    assert (status.state, status.cause) == (JobState.REMOVED, EndCause.DEPENDENCY), status
    assert status.reason == "DEPENDENCY"
