"""What went wrong is told as that: a failed query is no unknown job, a script's 255 no lost connection."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import pytest

from osprofile.errors import (
    JobNotFoundError,
    OSProfileError,
    OutcomeUnknownError,
    ScriptFailedError,
    ScriptTimeoutError,
)
from osprofile.jobs.record.store import Store
from osprofile.jobs.state import JobState
from osprofile.jobs.target_system import TargetSystem
from osprofile.jobs.timing import Timing
from osprofile.jobs.watch.queries import JobQueries
from tests.jobs.conftest import QUICK, get_record, make_shell, shell
from tests.waiting import wait_until_async

if TYPE_CHECKING:
    from tests.jobs.conftest import Toy

WORDS = "toy: the accounting does not answer"


async def submit(toy: Toy, target: TargetSystem, jobs: int) -> list[str]:
    """Submit jobs that stay queued."""
    (toy.path / "stopped").touch()
    return [await target.submit(shell("true")) for _ in range(jobs)]


def fail_queries(toy: Toy, job: str) -> None:
    """Make the batch system list a job no longer, and let every query for it fail."""
    (toy.path / f"refused.{job}").write_text(WORDS + "\n")
    toy.state(job, None)


# Failed queries


async def test_a_failed_query_for_a_watched_job_makes_it_neither_missing_nor_lost(
    toy: Toy, target: TargetSystem, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    refused, gone, stays = await submit(toy, target, 3)
    await target.statuses()
    fail_queries(toy, refused)
    toy.state(gone, None)
    assert (await target.wait(gone)).state is JobState.LOST
    for _ in range(3):
        await asyncio.sleep(QUICK.grace_period)
        await target.poll()
    states = {job: status.state for job, status in (await target.statuses()).items()}
    assert states == {refused: JobState.QUEUED, stays: JobState.QUEUED}
    assert get_record(target.store, "toy", refused).missing is None
    (toy.path / f"refused.{refused}").unlink()
    toy.state(refused, "END 4")
    assert (await target.wait(refused)).exit_code == 4
    assert f"job 1 stays as it is: GET_JOB_STATUS failed (exit status 9): {WORDS}" in caplog.text


async def test_failed_queries_of_several_jobs_are_one_warning(
    toy: Toy, target: TargetSystem, caplog: pytest.LogCaptureFixture
) -> None:
    jobs = await submit(toy, target, 3)
    for job in jobs:
        fail_queries(toy, job)
    await target.poll()
    (told,) = (record.getMessage() for record in caplog.records)
    assert told.startswith("job 1 and 2 more stay as they are: GET_JOB_STATUS failed (exit status 9)")


@pytest.mark.parametrize("recorded", [True, False])
async def test_a_failed_query_is_told_in_its_words(toy: Toy, recorded: bool) -> None:
    """However it is asked for, and whether the record knows the job or not."""
    store = Store()
    async with TargetSystem(toy.profile, store=store, timing=QUICK) as target:
        refused, gone, stays = await submit(toy, target, 3)
    fail_queries(toy, refused)
    toy.state(gone, None)
    kept = {"store": store} if recorded else {}
    async with TargetSystem(toy.profile, timing=QUICK, **kept) as target:  # type: ignore[arg-type]
        with pytest.raises(ScriptFailedError, match=WORDS):
            await target.status(refused)
        if recorded:
            return
        with pytest.raises(ScriptFailedError, match=WORDS):
            await target.statuses([stays, refused])
        answers = await target.statuses_or_errors([gone, refused, stays])
        assert answers.keys() == {refused, stays}
        error, status = answers[refused], answers[stays]
        assert isinstance(error, ScriptFailedError)
        assert (error.exit_status, error.output) == (9, WORDS)
        assert not isinstance(status, OSProfileError)
        assert status.state is JobState.QUEUED
        with pytest.raises(JobNotFoundError, match=f"toy: no job {gone}"):
            await target.status(gone)


async def test_one_job_s_garbage_is_told_of_that_job_alone(toy: Toy, target: TargetSystem) -> None:
    (toy.path / "bin/grep").write_text(
        '#!/bin/sh\ncase $* in *job\\ 2*) echo "what is this"; exit 0 ;; esac\nexec /bin/grep "$@"\n'
    )
    (toy.path / "bin/grep").chmod(0o755)
    jobs, queries = await submit(toy, target, 3), JobQueries(make_shell(toy.profile))
    found = await queries.query_jobs(jobs)
    assert str(found.pop("2")).startswith("GET_JOB_STATUS printed 'what is this'")
    assert {job: str(found[job]) for job in found} == {
        job: str(await queries.query_job(job)) for job in ("1", "3")
    }


async def test_more_jobs_than_one_script_asks_for(toy: Toy, target: TargetSystem) -> None:
    jobs, queries = await submit(toy, target, 30), JobQueries(make_shell(toy.profile))
    for number, job in enumerate(jobs):
        if number % 3 == 0:
            toy.state(job, f"END {number}")
        elif number % 3 == 1:
            fail_queries(toy, job)
        else:
            toy.state(job, None)
    found = await queries.query_jobs(jobs)
    codes = [getattr(found.get(j), "exit_code", "unknown") for j in jobs]
    assert codes == [
        n if n % 3 == 0 else ScriptFailedError.exit_code if n % 3 == 1 else "unknown" for n in range(30)
    ]


# Over ssh

SSH = {"SSH:HOST": "toy.example.org"}


@pytest.mark.parametrize("status", [1, 7, 254, 255])
async def test_over_ssh_every_exit_status_may_be_the_script_s(toy: Toy, status: int) -> None:
    """The batch system's words are told, and a removal that it refused is none."""
    real = toy.path / "bin/toyctl"
    real.write_text(f"#!/bin/sh\necho 'toyctl: the server is away' >&2\nexit {status}\n")
    async with TargetSystem(toy.profile, SSH, timing=QUICK) as target:
        (job,) = await submit(toy, target, 1)
        with pytest.raises(ScriptFailedError, match="toyctl: the server is away") as caught:
            await target.abort(job)
        assert caught.value.exit_status == status
        assert caught.value.output == "toyctl: the server is away"
        toy.state(job, "END 137")
        ended = await target.wait(job)
        assert (ended.state, ended.signal) == (JobState.FAILED, 9)


@pytest.mark.parametrize("fault", ["unreachable", "reset"])
async def test_over_ssh_a_lost_connection_is_one(toy: Toy, fault: str) -> None:
    """Whether it was lost before or behind the script's work is not known."""
    async with TargetSystem(toy.profile, SSH, timing=QUICK) as target:
        (toy.path / fault).touch()
        with pytest.raises(OutcomeUnknownError, match=r"START: the connection failed: [sC]"):
            await submit(toy, target, 1)
        assert len(target.store.list_interrupted_submissions(target.name)) == 1
        (toy.path / fault).unlink()
        (again,) = await target.recover_submissions()
        assert again.job_id is not None
        assert len(toy.submissions) == 1


# Removals that were asked for


def delay_removal(toy: Toy, then: str) -> None:
    """Let removals wait for the file `go`."""
    (toy.path / "bin/toyctl").write_text(
        f'#!/bin/sh\ntouch "$TOY/asked-to-kill"\nuntil [ -e "$TOY/go" ] || [ ! -d "$TOY" ]; do sleep 0.02; done\n{then}\n'
    )


@pytest.mark.parametrize(
    ("then", "word", "state"),
    [
        ("echo 'toyctl: job 1 is over' >&2; exit 5", "END 137", JobState.FAILED),
        ("exit 0", "END 137", JobState.REMOVED),
        ("exit 0", "END 3", JobState.DONE),
        ("exit 0", None, JobState.REMOVED),
    ],
)
@pytest.mark.parametrize("how", ["poll", "status"])
async def test_a_job_that_ends_while_it_is_removed(
    toy: Toy, target: TargetSystem, *, then: str, word: str | None, state: JobState, how: str
) -> None:
    """How a killed job ended depends on whether the batch system took the removal, which is not known yet."""
    delay_removal(toy, then)
    is_certain = state is JobState.DONE
    (job,) = await submit(toy, target, 1)
    await target.statuses()
    waiting = asyncio.ensure_future(target.wait(job))
    removing = asyncio.ensure_future(target.abort(job))
    await wait_until_async((toy.path / "asked-to-kill").exists)
    toy.state(job, word)
    for _ in range(3):
        if how == "status":
            expected = JobState.DONE if is_certain else JobState.QUEUED
            assert (await target.status(job)).state is expected
        else:
            await target.poll()
    await asyncio.sleep(0)
    assert waiting.done() == is_certain
    (toy.path / "go").touch()
    await asyncio.gather(removing, return_exceptions=True)
    ended = await waiting
    assert ended.state is state
    assert (await target.status(job)) == ended


REFUSALS: dict[str, tuple[str, type[OSProfileError]]] = {
    "refused": ("exit 6", ScriptFailedError),
    "slow": ("exec sleep 1000", ScriptTimeoutError),
    "killed": ("kill -s KILL $PPID", OutcomeUnknownError),
}


@pytest.mark.parametrize("fault", [*REFUSALS, "cancelled"])
async def test_a_removal_that_was_not_taken_leaves_no_mark(toy: Toy, fault: str) -> None:
    """Neither here nor in the record: what the job ends with later is its own."""
    text, error = REFUSALS.get(fault, ("exec sleep 1000", OSProfileError))
    (toy.path / "bin/toyctl").write_text(f'#!/bin/sh\n: > "$TOY/begun"\n{text}\n')
    store = Store()
    limit = 1.0 if fault == "slow" else 30.0
    timing = Timing(min_poll_interval=0.05, max_poll_interval=0.2, grace_period=0.5, script_timeout=limit)
    async with TargetSystem(toy.profile, store=store, timing=timing) as target:
        (job,) = await submit(toy, target, 1)
        if fault == "cancelled":
            task = asyncio.ensure_future(target.abort(job))
            await wait_until_async((toy.path / "begun").exists)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        else:
            with pytest.raises(error):
                await target.abort(job)
        assert get_record(store, "toy", job).aborted_at is None
        toy.state(job, "END 137")
        assert (await target.wait(job)).state is JobState.FAILED


# Where a job is


async def test_an_unreadable_id_is_no_missing_one(toy_without_find: Toy) -> None:
    """START failed, and whether it had submitted before cannot be read: the submission stays."""
    toy = toy_without_find
    (toy.path / "bin/ln").write_text(
        '#!/bin/sh\ncase $* in *-sfn*) echo "no ln today" >&2; exit 1 ;; esac\nexec /bin/ln "$@"\n'
    )
    (toy.path / "bin/cat").write_text(
        '#!/bin/sh\ncase $* in *.gpe/id*) echo "cat: Input/output error" >&2; exit 1 ;; esac\n'
        'exec /bin/cat "$@"\n'
    )
    for name in ("ln", "cat"):
        (toy.path / "bin" / name).chmod(0o755)
    async with TargetSystem(toy.profile, timing=QUICK) as target:
        with pytest.raises(OutcomeUnknownError, match="whether the job was submitted is not known"):
            await submit(toy, target, 1)
        assert len(toy.submissions) == 1
        (toy.path / "bin/cat").unlink()
        (again,) = await target.recover_submissions()
        assert again.job_id == "1"
        assert len(toy.submissions) == 1
