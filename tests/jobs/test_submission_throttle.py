"""SUBMIT_RATE, MAX_QUEUED and QUEUE_FULL_PATTERN: jobs wait until they may be submitted, and none is lost or refused."""

from __future__ import annotations

import asyncio
import multiprocessing
import re
import time
from dataclasses import replace
from pathlib import Path

import pytest

from osprofile.errors import ScriptFailedError, SubmissionsFailedError, TargetError, ValueRefusedError
from osprofile.jobs.record.store import Store
from osprofile.jobs.state import JobState
from osprofile.jobs.submit import throttle
from osprofile.jobs.submit.throttle import SubmissionLimits, read_submission_limits
from osprofile.jobs.target_system import TargetSystem
from osprofile.profile.repository import Repository
from tests.jobs.conftest import QUICK, TOYSUB, Toy, get_record, shell
from tests.jobs.test_submitter import replace_command
from tests.records import begin_submission
from tests.waiting import wait_until_async

JOB = shell("true")
FULL = "toysub: user has too many jobs"
COUNT_LIVE = r"""live=$(cat "$TOY"/jobs/*/state 2> /dev/null | grep -c -e WAIT -e GO)"""
TOYSUB_WITH_LIMIT = TOYSUB.replace(
    "#!/bin/sh\n",
    f'#!/bin/sh\nexec 9>> "$TOY/limit.lock" && flock 9 && {COUNT_LIVE}\n'
    f'echo "$live" >> "$TOY/live"\n[ "$live" -lt 3 ] || {{ echo "{FULL}" >&2; echo x >> "$TOY/full"; exit 1; }}\n',
).replace("3>&- &", "3>&- 9>&- &")
"""The command that submits takes three jobs at a time."""

WAITS = "this waits, and submits the job when it can; if it is interrupted, nothing is submitted"


def limit(toy: Toy, **fields: str) -> Toy:
    """Return the batch system with a profile that has more fields of START."""
    path = toy.path.parent / "profiles/toy/profile.xml"
    text = "".join(
        f'<idb:Field name="{name}" isSettable="false"><idb:Value>{value}</idb:Value></idb:Field>'
        for name, value in fields.items()
    )
    mark = '    <idb:Field name="JOB_ID_PATTERN"'
    path.write_text(path.read_text().replace(mark, text + mark, 1))
    return Toy(toy.path, Repository([str(toy.path.parent / "profiles")]).load("toy"))


def count_most_live(toy: Toy) -> int:
    """Return how many jobs were in the batch system at most when another one came."""
    return max(int(word) for word in (toy.path / "live").read_text().split()) + 1


def end_jobs(toy: Toy) -> None:
    """Let all jobs of a batch system that begins none end, and never stop to do so."""
    for state in toy.path.glob("jobs/*/state"):
        if state.read_text() == "WAIT\n":
            toy.state(state.parent.name, "END 0")


@pytest.mark.parametrize(
    ("fields", "limits"),
    [
        ({}, SubmissionLimits()),
        ({"SUBMIT_RATE": "60/min"}, SubmissionLimits(1.0, 1)),
        ({"SUBMIT_RATE": "120/min, 10 at once"}, SubmissionLimits(0.5, 10)),
        ({"MAX_QUEUED": "100"}, SubmissionLimits(max_queued=100)),
        # Lint refuses these.
        ({"SUBMIT_RATE": "60", "MAX_QUEUED": "0"}, SubmissionLimits()),
        ({"SUBMIT_RATE": "0/min", "MAX_QUEUED": "many"}, SubmissionLimits()),
    ],
)
def test_limits(toy: Toy, fields: dict[str, str], limits: SubmissionLimits) -> None:
    assert read_submission_limits(limit(toy, **fields).profile) == limits


FULL_ANSWERS = {
    "slurm": [
        "sbatch: error: QOSMaxSubmitJobPerUserLimit\nsbatch: error: Batch job submission failed: Job violates accounting/QOS policy",
        "sbatch: error: AssocMaxSubmitJobLimit",
        "sbatch: error: AssocGrpSubmitJobsLimit",
    ],
    "pbs": [
        "qsub: Maximum number of jobs already in queue workq",
        "qsub: Maximum number of jobs in 'Q' state for user me already in queue workq",
        "qsub: would exceed complex's per-user limit",
        "qsub: would exceed queue workq's per-group limit of jobs in 'Q' state",
    ],
    "torque": [
        "qsub: submit error (Maximum number of jobs already in queue MSG=total number of current user's jobs exceeds the queue limit)"
    ],
    "lsf": ["User <me>: Pending job threshold reached. Job not submitted."],
    "sge": ["Unable to run job: job rejected: Only 2 jobs are allowed per user (current job count: 2)."],
    "htcondor": ["Number of submitted jobs would exceed MAX_JOBS_PER_OWNER"],
}
OTHER_REFUSALS = {
    "slurm": [
        "sbatch: error: QOSMaxWallDurationPerJobLimit",
        "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified",
    ],
    "pbs": [
        "qsub: would exceed per-user limit on resource ncpus in queue workq",
        "qsub: Job exceeds queue and/or server resource limits",
    ],
    "htcondor": ["Number of submitted jobs would exceed MAX_JOBS_PER_SUBMISSION"],
}
"""Words that stay as they are, however long a job waits."""


@pytest.mark.parametrize("name", FULL_ANSWERS)
def test_the_words_of_a_full_queue(name: str) -> None:
    pattern = read_submission_limits(Repository().load(name)).full_pattern
    assert pattern is not None
    assert [words for words in FULL_ANSWERS[name] if pattern.find(words) is None] == []
    assert [words for words in OTHER_REFUSALS.get(name, []) if pattern.find(words)] == []


def test_turns(tmp_path: Path) -> None:
    """Five at once, then one every 10 s; for each process of the record, and for each target on its own."""
    stores = [Store(str(tmp_path / "jobs.db")) for _ in range(2)]
    waits = [stores[n % 2].reserve_turns("t", 1, 10.0, 5) for n in range(8)]
    assert waits[:5] == [0.0] * 5
    assert waits[5:] == pytest.approx([10.0, 20.0, 30.0], abs=5)
    assert stores[0].reserve_turns("u", 5, 10.0, 5) == 0.0
    assert stores[0].reserve_turns("u", 3, 10.0, 5) == pytest.approx(30.0, abs=5)


def test_live_jobs_are_counted(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "jobs.db"))
    one, array, unknown, _begun = (
        begin_submission(store, "t", f"/{n}", script="", array=value)
        for n, value in enumerate(("", "1-3", "1-20%2", "5,6"))
    )
    store.record_job_id(one.number, "1")
    store.record_job_id(array.number, "2", {1: "2_1", 2: "2_2", 3: "2_3"})
    store.record_job_id(unknown.number, "3")  # its tasks have no ids
    assert store.count_live_jobs("t") == 1 + 3 + 20 + 2
    for job_id in ("1", "2_2"):
        record = get_record(store, "t", job_id)
        store.update_statuses("t", [record.status._replace(state=JobState.DONE)])
    assert store.count_live_jobs("t") == 2 + 20 + 2
    assert store.count_live_jobs("u") == 0


async def test_many_jobs_are_submitted_at_the_rate(toy: Toy) -> None:
    """No script submits more jobs than may come at once."""
    toy = limit(toy, SUBMIT_RATE="1200/min, 4 at once")
    async with TargetSystem(toy.profile, timing=QUICK) as target:
        began = time.time()
        await target.submit_many([JOB] * 24)
        assert time.time() - began >= 20 * 0.05
    assert len(set(toy.submissions)) == 24


def submit_some(profiles: str, path: str, count: int) -> None:
    async def main() -> None:
        async with TargetSystem(
            Repository([profiles]).load("toy"), store=Store(path), timing=QUICK
        ) as target:
            await target.submit_many([shell("sleep 0.2")] * count)

    asyncio.run(main())


def test_max_queued_is_kept_by_all_processes_of_a_record(toy: Toy, tmp_path: Path) -> None:
    limit(toy, MAX_QUEUED="3")
    replace_command(toy, "toysub", TOYSUB_WITH_LIMIT)
    fork = multiprocessing.get_context("fork")
    arguments = (str(tmp_path / "profiles"), str(tmp_path / "jobs.db"), 6)
    processes = [fork.Process(target=submit_some, args=arguments) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert len(set(toy.submissions)) == 18
    assert count_most_live(toy) == 3
    assert not (toy.path / "full").exists()  # it was never asked for a fourth


@pytest.mark.parametrize("count", [1, 12])
async def test_a_job_waits_while_the_queue_is_full(
    toy: Toy, count: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(throttle, "_MIN_PAUSE", 0.1)
    monkeypatch.setattr(throttle, "_MAX_PAUSE", 0.2)
    toy = limit(toy, QUEUE_FULL_PATTERN="too many jobs", BATCH_SYSTEM="Toy")
    (toy.path / "stopped").touch()
    replace_command(toy, "toysub", TOYSUB_WITH_LIMIT)
    async with TargetSystem(toy.profile, timing=QUICK) as target:
        await target.submit_many([JOB] * 3)
        task = asyncio.create_task(target.submit_many([JOB] * count, keys=[f"k{n}" for n in range(count)]))
        await wait_until_async(
            lambda: len(target.store.list_all_jobs()) == 3 and (toy.path / "full").exists()
        )
        while not task.done():
            end_jobs(toy)
            await asyncio.sleep(0.05)
        ids = task.result()
        assert len(set(ids)) == count
        assert [target.store.find_by_key(target.name, f"k{n}") is not None for n in range(count)] == [
            True
        ] * count
        assert target.store.list_interrupted_submissions(target.name) == []
    assert count_most_live(toy) >= 3
    assert len(set(toy.submissions)) == 3 + count
    (told,) = [record.message for record in caplog.records if record.levelname == "WARNING"]
    assert told == f"Toy takes no more jobs now (too many jobs): {WAITS}"


async def test_a_job_waits_while_the_batch_system_is_away(
    toy: Toy, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """START exits with 69: nothing was taken, and nothing is left of the tries."""
    monkeypatch.setattr(throttle, "_MIN_PAUSE", 0.1)
    monkeypatch.setattr(throttle, "_MAX_PAUSE", 0.2)
    toy = limit(toy, BATCH_SYSTEM="Toy")
    away = toy.path / "away"
    away.touch()
    words = f"echo 'toysub: cannot connect to server' >&2; echo >> {away}; exit 69"
    replace_command(
        toy, "toysub", TOYSUB.replace("#!/bin/sh\n", f"#!/bin/sh\n[ ! -e {away} ] || {{ {words}; }}\n")
    )
    async with TargetSystem(toy.profile, timing=QUICK) as target:
        task = asyncio.create_task(target.submit_many([JOB] * 3, keys=["a", "b", "c"]))
        await wait_until_async(lambda: len(away.read_text().splitlines()) > 4)
        assert not task.done()
        away.unlink()
        ids = await task
        assert len(set(ids)) == 3 == len(set(toy.submissions))
        assert target.store.list_interrupted_submissions(target.name) == []
        directories = {record.directory for record in target.store.list_all_jobs()}
        assert {str(path) for path in Path(min(directories)).parent.iterdir()} == directories
    (told,) = [record.message for record in caplog.records if record.levelname == "WARNING"]
    assert told == f"Toy cannot be reached now (toysub: cannot connect to server): {WAITS}"


async def test_another_refusal_is_none_to_wait_for(toy: Toy) -> None:
    toy = limit(toy, QUEUE_FULL_PATTERN="too many jobs")
    replace_command(toy, "toysub", "#!/bin/sh\necho 'no such queue' >&2; exit 1\n")
    async with TargetSystem(toy.profile, timing=QUICK) as target:
        with pytest.raises(ScriptFailedError, match="no such queue"):
            await target.submit(JOB)
        with pytest.raises(SubmissionsFailedError, match="no such queue"):
            await target.submit_many([JOB] * 2)


LIMITED = {
    "places": (
        {"MAX_QUEUED": "1"},
        "MAX_QUEUED of the profile toy is 1: the next job is submitted when one of this record has ended",
    ),
    "rate": ({"SUBMIT_RATE": "1/min"}, "SUBMIT_RATE of the profile toy: the next submission is in"),
    "queue": ({"QUEUE_FULL_PATTERN": "too many jobs"}, "takes no more jobs now (too many jobs)"),
}


def refuse_second(toy: Toy) -> None:
    replace_command(toy, "toysub", TOYSUB_WITH_LIMIT.replace("-lt 3", "-lt 1"))


@pytest.mark.parametrize("name", LIMITED)
async def test_a_wait_that_is_too_long_is_an_error(toy: Toy, name: str) -> None:
    fields, message = LIMITED[name]
    toy = limit(toy, **fields)
    (toy.path / "stopped").touch()
    refuse_second(toy)
    store = Store()
    async with TargetSystem(toy.profile, store=store, timing=QUICK) as target:
        await target.submit(JOB)
    timing = replace(QUICK, queue_timeout=1)
    async with TargetSystem(toy.profile, store=store, timing=timing) as target:
        with pytest.raises(TargetError, match="not submitted within 1 s: .*" + re.escape(message)) as caught:
            await target.submit(JOB, key="k")
        assert caught.value.hint == "submit it again later"
        assert target.find_by_key("k") is None
        assert len(target.store.list_all_jobs()) == 1


@pytest.mark.parametrize("name", LIMITED)
async def test_a_wait_that_is_cancelled_leaves_nothing(
    toy: Toy, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    fields, message = LIMITED[name]
    toy = limit(toy, **fields)
    (toy.path / "stopped").touch()
    refuse_second(toy)
    async with TargetSystem(toy.profile, timing=QUICK) as target:
        await target.submit(JOB)
        task = asyncio.create_task(target.submit_many([JOB] * 2, keys=["a", "b"]))

        def is_recorded() -> bool:
            return len(target.store.list_all_jobs()) > 1

        await wait_until_async(lambda: message in caplog.text and not is_recorded())  # no program runs
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert not is_recorded()


async def test_an_array_takes_as_many_places_as_it_has_tasks(toy: Toy) -> None:
    toy = limit(toy, MAX_QUEUED="4")
    (toy.path / "stopped").touch()
    async with TargetSystem(toy.profile, timing=QUICK) as target:
        with pytest.raises(
            ValueRefusedError,
            match="field ARRAY: '1-5' has 5 tasks, and MAX_QUEUED of the profile toy is 4",
        ):
            await target.submit(replace(JOB, array="1-5"))
        array = await target.submit(replace(JOB, array="1-3"))
        await target.submit(JOB)
        waiting = asyncio.create_task(target.submit(replace(JOB, array="1-2")))
        toy.state(f"{array}_1", "END 0")
        await asyncio.sleep(0.5)
        assert not waiting.done()
        toy.state(f"{array}_2", "END 0")
        await waiting
