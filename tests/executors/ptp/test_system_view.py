"""The jobs of others, as the view follows them: nobody but the batch system's list tells of them."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from osprofile.errors import OSProfileError, ScriptFailedError, TemplateNotFoundError
from osprofile.executors.ptp.system_view import SystemView, TrackedJob
from osprofile.jobs.record.store import JobRecord, Store
from osprofile.jobs.shell.output import QueueStatus
from osprofile.jobs.state import JobState, JobStatus, QueueState
from osprofile.jobs.target_system import TargetSystem
from osprofile.jobs.timing import Timing
from tests.jobs.conftest import QUICK, make_toy, shell
from tests.waiting import wait_until_async

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator
    from pathlib import Path

    from tests.jobs.conftest import Toy

S = JobState
ABORT = {"aborts": True}


@dataclass
class Target:
    """A target system whose answers a test gives: its list of jobs, and what it says when asked."""

    listed: dict[str, JobStatus] = field(default_factory=dict)
    asked: dict[str, JobStatus] = field(default_factory=dict)
    questions: list[list[str]] = field(default_factory=list)
    name: str = "sim"
    queues: list[QueueStatus] | OSProfileError = field(default_factory=list)
    meanwhile: Callable[[], object] = lambda: None
    timing: Timing = field(default_factory=lambda: Timing(grace_period=0.05))
    store: Store = field(default_factory=Store)

    def events(self) -> list[Any]:
        return []

    def find_array(self, _job_id: str) -> str | None:
        return None

    def find_record(self, job_id: str) -> JobRecord | None:
        return self.store.find_job(self.name, job_id)

    async def list_nodes(self) -> list[Any]:
        raise TemplateNotFoundError("none")

    async def list_queues(self) -> list[QueueStatus]:
        if isinstance(self.queues, OSProfileError):
            raise self.queues
        return self.queues

    async def poll(self, _max_age: float = 0.0) -> dict[str, JobStatus]:
        self.meanwhile()
        return self.listed

    async def statuses(self, job_ids: Iterable[str], *, max_age: float = 0.0) -> dict[str, JobStatus]:
        assert max_age > 0
        self.questions.append(list(job_ids))
        return {j: self.asked[j] for j in self.questions[-1] if j in self.asked}

    def show(self, **states: JobState) -> None:
        """List these jobs and no others from now on."""
        self.listed = {job_id: JobStatus(job_id, state) for job_id, state in states.items()}


def of(target: Target) -> SystemView:
    return SystemView(target, lambda: None, lambda _: None, user="me")  # type: ignore[arg-type]


def words(view: SystemView) -> dict[str, str]:
    return {job.key: job.status for job in view.jobs}


@pytest.mark.parametrize("steps", range(6))
def test_a_look_that_is_given_up(steps: int) -> None:
    """QUIT may come at any moment; what was not asked yet is no coroutine that nobody awaits."""

    async def main() -> None:
        looking = asyncio.ensure_future(of(Target()).poll_system())
        for _ in range(steps):
            await asyncio.sleep(0)
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        asyncio.run(main())
        gc.collect()
    assert said == []


def test_a_job_that_vanished_is_asked_for_and_lost_after_the_grace_period() -> None:
    """docs/ptp.md: a job that vanished is judged by what is known of its end, else it is LOST."""

    async def main() -> None:
        target = Target()
        view = of(target)
        target.show(a=S.RUNNING, b=S.QUEUED, c=S.DONE, d=S.RUNNING)
        await view.poll_system()
        assert words(view) == {"a": "RUNNING", "b": "QUEUED", "d": "RUNNING"}
        target.show(d=S.LOST)
        target.asked = {"a": JobStatus("a", S.FAILED, signal=9)}
        await view.poll_system()
        assert target.questions == [["a", "b", "d"]]  # one question for all
        assert words(view) == {"a": "FAILED", "b": "QUEUED", "d": "RUNNING"}
        for _ in range(3):  # of the time between two polls, at most half a grace period counts
            await asyncio.sleep(0.06)
            target.show(d=S.RUNNING)  # it turned up again
            await view.poll_system()
        assert words(view) == {"a": "FAILED", "b": "LOST", "d": "RUNNING"}
        target.show()
        await view.poll_system()
        assert words(view)["d"] == "RUNNING"  # its grace period begins anew
        assert target.store.list_all_jobs() == []

    asyncio.run(main())


@pytest.mark.parametrize(
    ("action", "error", "listed", "told"),
    [
        pytest.param(ABORT, None, {"a": S.FAILED}, "REMOVED", id="removed, and listed"),
        pytest.param(ABORT, None, {}, "REMOVED", id="removed, and gone"),
        pytest.param(ABORT, ScriptFailedError("no", template="ABORT", exit_status=1), {"a": S.FAILED}, "FAILED", id="ABORT failed"),
        pytest.param(ABORT, asyncio.CancelledError(), {"a": S.FAILED}, "FAILED", id="cut off"),
        pytest.param({}, None, {"a": S.FAILED}, "FAILED", id="held, and failed"),
    ],
)  # fmt: skip
def test_the_end_of_a_job_that_was_to_be_removed(
    action: dict[str, bool], error: BaseException | None, listed: dict[str, JobState], told: str
) -> None:
    """It is REMOVED, unless nobody knows that ABORT did it."""

    async def main() -> dict[str, str]:
        target = Target()
        view = of(target)
        target.show(a=S.RUNNING)
        await view.poll_system()
        with (
            contextlib.suppress(ScriptFailedError, asyncio.CancelledError),
            view.track_action("a", **action),
        ):
            target.show(**listed)
            if error is not None:
                raise error
        await view.poll_system()
        return words(view)

    assert asyncio.run(main()) == {"a": told}


def test_a_submission_during_a_look() -> None:
    """No job of others is found: a new one may be the submitted one, which is shown once."""

    async def main() -> None:
        target = Target()
        view = of(target)
        target.show(a=S.RUNNING)
        with view.pause_discovery():
            await view.poll_system()
        assert words(view) == {}

        def submit() -> None:
            with view.pause_discovery():
                pass

        target.meanwhile = submit
        await view.poll_system()
        assert words(view) == {}
        target.meanwhile = lambda: None
        await view.poll_system()
        assert words(view) == {"a": "RUNNING"}
        view.add_job(TrackedJob(JobStatus("a", S.QUEUED)))  # the batch system has used its id again
        assert [(job.key, job.status) for job in view.jobs] == [("a", "QUEUED")]
        assert (view.get_state("a"), view.get_state("b")) == (S.QUEUED, None)

    asyncio.run(main())


def test_looks_while_events_are_wanted() -> None:
    async def main() -> None:
        looks: list[int] = []
        target, wanted = Target(meanwhile=lambda: looks.append(1)), asyncio.Event()
        view = SystemView(target, lambda: None, lambda _: None, interval=0.01)  # type: ignore[arg-type]
        looking = asyncio.create_task(view.poll_repeatedly(wanted))
        await asyncio.sleep(0.05)
        assert not looks
        wanted.set()
        await wait_until_async(lambda: len(looks) > 2)
        looking.cancel()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("queues", "default"),
    [
        ([], "default"),
        ([QueueStatus("q", QueueState.OPEN)], "q"),
        ([QueueStatus("q", QueueState.OPEN), QueueStatus("r", QueueState.STOPPED, is_default=True)], "r"),
        ([QueueStatus("q", QueueState.OPEN), QueueStatus("r", QueueState.STOPPED)], "default"),
    ],
)
def test_the_queue_of_a_job_that_names_none(queues: list[QueueStatus], default: str) -> None:
    async def main() -> None:
        view = of(Target(queues=queues))
        await view.poll_system()
        view.add_job(TrackedJob(JobStatus("a", S.QUEUED)))
        assert [job.queue for job in view.jobs] == [default]
        assert [*view.queues] == ([queue.name for queue in queues] or ["default"])
        assert view.has_queue(default) == (default != "default")

    asyncio.run(main())


def test_a_query_that_fails_is_told_once() -> None:
    """The machine is in ERROR until the query succeeds again; the client gets both states."""

    async def main() -> None:
        target, warned, states = Target(), [], []
        view = SystemView(
            target,  # type: ignore[arg-type]
            lambda: states.append(
                *(a for m in view.machine.values() for a in m if a.startswith("machineState"))
            ),
            warned.append,
        )
        for queues in ([], OSProfileError("away"), OSProfileError("away"), OSProfileError("no"), [], []):
            target.queues = queues
            await view.poll_system()
        assert (warned, states) == (
            ["away", "no"],
            [f"machineState={s}" for s in ("UP", "ERROR", "ERROR", "UP")],
        )

    asyncio.run(main())


def test_a_word_that_the_profile_does_not_know() -> None:
    """docs/ptp.md: the client sees it; the job is what it was."""

    async def main() -> None:
        target = Target()
        view = of(target)
        for status in (
            JobStatus("a", S.RUNNING),
            JobStatus("a", S.UNKNOWN, "ODD", unknown_word=True),
            JobStatus("a", S.RUNNING),
        ):
            target.listed = {"a": status}
            await view.poll_system()
            assert words(view) == {"a": status.native_state or "RUNNING"}
            assert [job.state for job in view.jobs] == ["RUNNING"]

    asyncio.run(main())


def test_what_has_ended_is_kept_as_long_as_the_last_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        target = Target()
        view = of(target)
        target.show(a=S.RUNNING, b=S.RUNNING)
        await view.poll_system()
        target.show(a=S.DONE, b=S.DONE)
        for _ in range(2):
            await view.poll_system()
            assert words(view) == {"b": "DONE"}

    monkeypatch.setattr("osprofile.executors.ptp.system_view.MAX_ENDED_JOBS", 1)
    asyncio.run(main())


@contextlib.asynccontextmanager
async def following(view: SystemView) -> AsyncIterator[None]:
    """Have a view follow the events of its target system."""
    task = asyncio.create_task(view.follow_events())
    await asyncio.sleep(0.1)
    yield
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
def toy(tmp_path: Path) -> Iterator[Toy]:
    """Give a batch system whose jobs wait until they are told to go on."""
    with make_toy(tmp_path, has_find_template=True) as made:
        (made.path / "stopped").touch()
        yield made


def test_an_array_is_one_job(toy: Toy) -> None:
    """PTP knows no arrays: the tasks are not shown, whether it was submitted here or before."""

    async def main() -> None:
        store = Store()
        async with TargetSystem(toy.profile, store=store, timing=QUICK) as target:
            array = await target.submit(shell("true", array="1-3"))
        async with TargetSystem(toy.profile, store=store, timing=QUICK) as target:
            seen = set()
            view = SystemView(target, lambda: seen.update(words(view).items()), lambda _: None, user="me")
            async with following(view):
                for tasks, wanted in ((["GO"] * 3, "RUNNING"), (["END 0", "END 0", "GONE"], "FAILED")):
                    for index, word in enumerate(tasks, 1):
                        toy.state(f"{array}_{index}", word)
                    while (array, wanted) not in seen:
                        await view.poll_system()
                        await asyncio.sleep(0.02)
                await view.poll_system()
        assert {key for key, _ in seen} == {array}
        assert {status for _, status in seen} <= {"QUEUED", "RUNNING", "FAILED"}

    asyncio.run(main())


@pytest.mark.parametrize("is_recorded_before", [True, False])
def test_an_array_that_another_process_submitted(toy: Toy, is_recorded_before: bool) -> None:
    """It is shown although the batch system lists only its tasks, and its state does not change."""

    async def main() -> None:
        store = Store()

        async def submit() -> str:
            async with TargetSystem(toy.profile, store=store, timing=QUICK) as target:
                array = await target.submit(shell("true", array="1-3"))
                toy.state(f"{array}_1", "GO")
                await target.status(array)
                return array

        array = await submit() if is_recorded_before else ""
        async with TargetSystem(toy.profile, store=store, timing=QUICK) as target:
            view = SystemView(target, lambda: None, lambda _: None, user="me")
            async with following(view):
                array = array or await submit()
                await view.poll_system()
                assert words(view) == {array: "RUNNING"}

    asyncio.run(main())
