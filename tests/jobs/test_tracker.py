"""What the tracker tells of a job: a row is a story, without any clock, process or batch system."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osprofile.errors import OSProfileError
from osprofile.jobs.arrays import summarize_tasks
from osprofile.jobs.record.names import get_current_owner
from osprofile.jobs.record.store import JobRecord
from osprofile.jobs.state import EndCause, JobEvent, JobState, JobStatus
from osprofile.jobs.timing import Moment, Timing
from osprofile.jobs.watch.tracker import JobTracker

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Q, R, H, D = JobState.QUEUED, JobState.RUNNING, JobState.HELD, JobState.DONE
F, X, L, U = JobState.FAILED, JobState.REMOVED, JobState.LOST, JobState.UNKNOWN
BEGIN: Final = 1e9
FAILURE: Final = OSProfileError("no answer")


def moment(seconds: float) -> Moment:
    return Moment(BEGIN + seconds, seconds)


def record_job(job_id: str, **values: object) -> JobRecord:
    status = JobStatus(job_id, U, submitted=BEGIN)
    record = JobRecord(1, "t", "/d", key=None, name="n", script=None, owner=None, status=status)
    return record._replace(**values)


@dataclass
class Life:
    """A tracker with the job 1, which was submitted at 0, and what was told of it."""

    job_id: str = "1"
    record: JobRecord = field(default_factory=lambda: record_job("1"))
    told: list[JobStatus] = field(default_factory=list)
    tracker: JobTracker = field(init=False)

    def __post_init__(self) -> None:
        self.tracker = JobTracker(Timing(grace_period=60), lambda _: self.record)

    def take(self) -> None:
        """Tell and record what has changed, as the watcher does."""
        changes = self.tracker.take_changes()
        self.told += [event.status for event in changes.events]
        self.record = self.record._replace(missing=changes.missing.get("1", self.record.missing))


Step = tuple[float, "Callable[[Life, Moment], object]"]


def status(state: JobState, **more: object) -> JobStatus:
    return JobStatus("1", state, **more)  # type: ignore[arg-type]


def other(state: JobState) -> JobStatus:
    """Tell a word without a tag, which the tag `*` says to be this state."""
    return status(state, native_state="ODD", unknown_word=True)


def at(
    seconds: float,
    listed: JobState | JobStatus | None,
    alone: JobStatus | OSProfileError | None = None,
    *,
    asked: float | None = None,
) -> Step:
    """Have the batch system list the job, or not, and tell what it knows of it alone; asked a little before."""
    line = status(listed) if isinstance(listed, JobState) else listed

    def answer(life: Life, now: Moment) -> None:
        began = moment(seconds - 0.1 if asked is None else asked)
        missing = life.tracker.receive_answer({} if line is None else {"1": line}, began, now)
        if missing:
            assert missing == ["1"]
            life.tracker.receive_missing_answers(missing, {} if alone is None else {"1": alone}, began, now)
        life.tracker.end_poll(0.1)

    return seconds, answer


def outage(seconds: float) -> Step:
    return seconds, lambda life, _: life.tracker.schedule.record_failure()


def removed(seconds: float) -> Step:
    """Have the job removed by this process."""
    return seconds, lambda life, now: life.tracker.note_removal("1", now)


def recorded(seconds: float, **values: object) -> Step:
    """Have another process record something."""

    def change(life: Life, _: Moment) -> None:
        life.record = life.record._replace(**values)

    return seconds, change


def logged(seconds: float, state: JobState, **more: object) -> Step:
    """Have the log tell of the job, with a time in whole seconds."""
    event = JobEvent(BEGIN + int(seconds), status(state, **more))
    return seconds, lambda life, now: life.tracker.receive_event(event, now)


def confirmed(seconds: float, answer: JobStatus | OSProfileError | None) -> Step:
    """Ask for the end that the log told, and get an answer."""

    def confirm(life: Life, now: Moment) -> None:
        ended = life.tracker.list_logged_ends(seconds)
        assert ended == ["1"], "nothing is to be asked"
        life.tracker.receive_end_answers(ended, {} if answer is None else {"1": answer}, now)

    return seconds, confirm


def found(seconds: float, answer: JobStatus | None) -> Step:
    """Ask for the job by itself."""

    def ask(life: Life, now: Moment) -> None:
        if answer is None:
            life.tracker.receive_no_answer("1", None, now)
        else:
            life.tracker.receive_status(JobEvent(now.timestamp, answer), now)
            life.tracker.tell_next_answer("1", now.monotonic)

    return seconds, ask


OWN: Final = get_current_owner()
KILLED: Final = status(F, signal=9)
OVER_TIME: Final = status(F, cause=EndCause.TIME)
STORIES: Mapping[str, tuple[Sequence[Step], Sequence[JobState]]] = {
    "to its end": ([at(1, Q), at(2, R), at(3, D)], [Q, R, D]),
    "states that are skipped": ([at(1, D)], [D]),
    "a state is told once": ([at(1, Q), at(2, status(Q, reason="full")), at(3, R), at(4, R)], [Q, R]),
    "held and released": ([at(1, Q), at(2, H), at(3, Q), at(4, R)], [Q, H, Q, R]),
    "queued again after a run": ([at(1, R), at(2, Q), at(3, R), at(4, D)], [R, Q, R, D]),
    "an unknown word never takes a job back": ([at(1, Q), at(2, R), at(3, other(Q)), at(4, D)], [Q, R, D]),
    "an unknown word of a job that waits": ([at(1, H), at(2, other(Q)), at(3, R)], [H, R]),
    "an unknown word of a suspended job": ([at(1, R), at(2, status(H, elapsed=1.0)), at(3, other(Q))], [R, H]),
    "an unknown word of a new job": ([at(1, other(Q)), at(2, R)], [Q, R]),
    "an unknown word that stands for RUNNING": ([at(1, Q), at(2, other(R)), at(3, D)], [Q, R, D]),
    "an unknown word, and the log knows the end": (
        [at(1, R), logged(2, D), confirmed(2, other(Q)), confirmed(3.5, other(Q)), confirmed(5, other(Q))],
        [R, D],
    ),
    "a word that the profile does not know": ([at(1, Q), at(2, status(U, native_state="ODD", unknown_word=True)), at(3, R)], [Q, R]),
    "asked before it was submitted": ([at(1, D, asked=-1), at(2, Q)], [Q]),
    "asked at once by itself": ([found(1, status(R)), at(2, Q)], [R, Q]),
    # Missing jobs
    "missing for the grace period": ([at(0.5, Q), at(1, None), at(31, None), at(62, None)], [Q, L]),
    "missing for less": ([at(0.5, Q), at(1, None), at(31, None), at(60, None)], [Q]),
    "two looks are no grace period": ([at(0.5, Q), at(1, None), at(600, None)], [Q]),
    "missing, and listed again": ([at(1, Q), at(2, None), at(31, None), at(40, Q), at(62, None), at(90, None)], [Q]),
    "missing, and running according to the log": (
        [at(1, Q), at(2, None), at(31, None), logged(40, R), at(61, None), at(63, None)],
        [Q, R],
    ),
    "missing, while others ask for it": ([at(1, Q), at(2, None), found(31, None), found(60, None), found(63, None)], [Q, L]),
    "listed as lost": ([at(1, Q), at(2, L), at(32, L), at(63, L)], [Q, L]),
    "an outage begins the grace period anew": ([at(1, Q), at(2, None), at(32, None), outage(40), at(63, None)], [Q]),
    "not listed, but it has left its end": ([at(1, R), at(2, None, status(D, exit_code=3))], [R, D]),
    "not listed, but it runs": ([at(1, Q), at(2, None, status(R)), at(70, None, status(R))], [Q, R]),
    "missing, then told by itself": (
        [at(1, Q), at(2, None), at(31, None), at(47, None, status(Q)), at(63, None), at(79, None)],
        [Q],
    ),
    "not listed, and nobody answers": (
        [at(1, Q), at(2, None, FAILURE), at(40, None, FAILURE), at(90, None, FAILURE)],
        [Q],
    ),
    # Removals
    "removed, and gone": ([at(1, Q), removed(2), at(3, None)], [Q, X]),
    "missing, then removed": ([at(1, Q), at(2, None), removed(3), at(4, None)], [Q, X]),
    "removed, and killed": ([at(1, R), removed(2), at(3, KILLED)], [R, X]),
    "removed, but over its time": ([at(1, R), removed(2), at(3, OVER_TIME)], [R, F]),
    "removed, but a signal of its own ended it": (
        [at(1, R), removed(2), at(3, status(F, signal=11, cause=EndCause.SIGNAL))],
        [R, F],
    ),
    "removed, but its node failed": (
        [at(1, R), removed(2), at(3, status(F, cause=EndCause.NODE))],
        [R, F],
    ),
    "removed, but it has ended by itself": ([at(1, R), removed(2), at(3, D)], [R, D]),
    "killed while it is being removed": ([at(1, R), recorded(2, owner=OWN), at(3, KILLED)], [R]),
    "the removal is accepted": (
        [at(1, R), recorded(2, owner=OWN), at(3, KILLED), recorded(4, owner=None, aborted_at=4.0), at(5, KILLED)],
        [R, X],
    ),
    "the removal fails": (
        [at(1, R), recorded(2, owner=OWN), at(3, KILLED), recorded(4, owner=None), at(5, KILLED)],
        [R, F],
    ),
    "the removal fails, and the job is forgotten": (
        [
            *[at(1, R), recorded(2, owner=OWN), at(3, KILLED), recorded(4, owner=None)],
            *[at(5, None), at(35, None), at(66, None)],
        ],
        [R, F],
    ),
    "the removal is accepted, and the job is forgotten": (
        [at(1, R), recorded(2, owner=OWN), at(3, KILLED), removed(4), recorded(4, owner=None), at(5, None)],
        [R, X],
    ),
    "ended while it is being removed": ([at(1, R), recorded(2, owner=OWN), at(3, D)], [R, D]),
    "removed by another process": ([at(1, R), recorded(2, aborted_at=2.0), at(3, KILLED)], [R, X]),
    "its end is recorded by another process": ([at(1, R), recorded(2, status=OVER_TIME), at(3, D)], [R, F]),
    # The log
    "the log is faster": (
        [logged(1.2, Q), logged(1.7, R), at(2, R), logged(3, D), confirmed(3.1, status(D))],
        [Q, R, D],
    ),
    "the log does not know of limits": ([logged(1, R), logged(5, D), confirmed(5.1, OVER_TIME)], [R, F]),
    "nobody confirms the end": (
        [at(1, R), logged(5, D), confirmed(5.1, None), confirmed(6.2, None), confirmed(7.3, None)],
        [R, D],
    ),
    "the end is confirmed late": (
        [at(1, R), logged(5, D), confirmed(5.1, status(R)), confirmed(6.2, status(D))],
        [R, D],
    ),
    "it still runs: another run has begun": (
        [at(1, R), logged(5, F), *(confirmed(5.1 + 1.1 * i, status(R)) for i in range(3)), at(60, R)],
        [R],
    ),
    "it is queued again": ([at(1, R), logged(5, F), confirmed(5.1, status(Q)), at(6, R)], [R, Q, R]),
    "nobody answers for its end": (
        [at(1, R), logged(5, D), confirmed(5.1, FAILURE), confirmed(7.2, FAILURE), at(9, status(D))],
        [R, D],
    ),
    "the log repeats what was told": ([at(1.5, Q), at(2.5, R), logged(2.9, R), logged(1.9, Q), at(4, D)], [Q, R, D]),
}  # fmt: skip


@pytest.mark.parametrize("name", STORIES)
def test_a_story(name: str) -> None:
    steps, expected = STORIES[name]
    life = Life()
    life.tracker.follow(life.record, moment(0))
    for seconds, step in steps:
        step(life, moment(seconds))
        life.take()
    assert [told.state for told in life.told] == expected
    assert life.tracker.jobs.is_polled("1") != (expected[-1].is_terminal)


@pytest.mark.parametrize("name", ["the log is faster", "the log does not know of limits"])
def test_what_the_log_tells_before_the_job_is_known(name: str) -> None:
    """A log may be faster than START, which tells the id."""
    steps, expected = STORIES[name]
    life = Life()
    (seconds, first), *others = steps
    first(life, moment(seconds))
    life.take()
    assert life.told == []
    life.tracker.follow(life.record, moment(seconds))
    life.take()
    for seconds, step in others:
        step(life, moment(seconds))
        life.take()
    assert [told.state for told in life.told] == expected


def test_an_end_of_an_earlier_job_is_not_that_of_the_next_one_with_its_id() -> None:
    life = Life()
    life.tracker.follow(life.record, moment(0))
    logged(5, D)[1](life, moment(5))
    life.tracker.forget("1")
    life.tracker.follow(life.record, moment(6))
    assert life.tracker.list_logged_ends(7) == []
    life.take()
    assert life.told == []


# What is recorded


def test_what_is_recorded() -> None:
    """Each state, other nodes, and since when it is missing; a word that the profile does not know is told."""
    life = Life()
    life.tracker.follow(life.record, moment(0))
    found: list[tuple[list[tuple[JobState, tuple[str, ...]]], object, list[str]]] = []
    for seconds, step in [
        at(1, Q),
        at(2, status(R, hosts=("n1",))),
        at(3, status(R, hosts=("n1",), reason="busy")),
        at(4, status(R, hosts=("n2",))),
        at(5, status(U, native_state="ODD", unknown_word=True, hosts=("n3",))),
        at(6, status(U, native_state="ODD", unknown_word=True)),
        at(7, None),
        at(8, status(R, hosts=("n2",))),
        at(9, D),
    ]:
        step(life, moment(seconds))
        changes = life.tracker.take_changes()
        missing = changes.missing.get("1", "") and "since 6.9"
        states = [(s.state, s.hosts) for s in changes.statuses]
        found.append((states, missing, [s.native_state for s in changes.unknown_words]))
    assert found == [
        ([(Q, ())], "", []),
        ([(R, ("n1",))], "", []),
        ([], "", []),
        ([(R, ("n2",))], "", []),
        ([], "", ["ODD"]),
        ([], "", []),
        ([], "since 6.9", []),
        ([], None, []),
        ([(D, ("n2",))], "", []),
    ]


# What is asked, and when


def follow(*jobs: JobRecord, **timing: float) -> JobTracker:
    tracker = JobTracker(Timing(**{"grace_period": 60, **timing}), {j.status.job_id: j for j in jobs}.get)
    for job in jobs:
        tracker.follow(job, moment(0))
    return tracker


def list_jobs(tracker: JobTracker, seconds: float, *jobs: JobStatus) -> list[str]:
    """Answer a query for all jobs; return those to ask for one by one."""
    tracker.schedule.begin_poll()
    asked = moment(seconds)
    missing = tracker.receive_answer({job.job_id: job for job in jobs}, asked, asked)
    tracker.end_poll(0.0)
    tracker.schedule.end_poll(seconds)
    return missing


def wait(
    tracker: JobTracker, now: float, *, is_awaited: bool = False, log_is_reliable: bool = False
) -> float:
    """Return how long the tracker waits for the next query for all jobs."""
    return tracker.seconds_until_poll(now, is_awaited=is_awaited, log_is_reliable=log_is_reliable)


def test_when_all_jobs_are_queried() -> None:
    tracker = follow()
    assert wait(tracker, 1) == float("inf")
    tracker.follow(record_job("1", walltime=20.0), moment(1))
    assert wait(tracker, 1) < 0  # at once: nothing was asked before
    list_jobs(tracker, 2, status(Q))
    assert wait(tracker, 2) == 1.0
    assert wait(tracker, 3, log_is_reliable=True) == 299.0
    waiting, running = status(Q), status(R)  # the reader returns the same object for an unchanged line
    for number in range(12):
        list_jobs(tracker, 3 + number, waiting)
    assert wait(tracker, 15) == 59.0
    tracker.schedule.notice_end()
    assert wait(tracker, 15) == -1.0
    for number in range(12):
        list_jobs(tracker, 16 + number / 10, running)
    assert wait(tracker, 18.1) == pytest.approx(16.9)  # it runs since 16, for 20 s at most
    for number in range(12):
        list_jobs(tracker, 19 + number / 10, waiting)
    assert wait(tracker, 21.1) == 59.0  # queued again: no time runs
    tracker.poll_immediately(22)
    assert wait(tracker, 22) == 0.0
    tracker.schedule.record_failure()
    list_jobs(tracker, 23, running)
    assert wait(tracker, 23.5) == 0.5


def test_a_job_that_is_missing_is_asked_for_four_times_a_grace_period() -> None:
    tracker = follow(record_job("1"), record_job("2"))
    for seconds, expected in ((1, ["1"]), (2, []), (15, []), (16.5, ["1"]), (20, []), (33, ["1"])):
        missing = list_jobs(tracker, seconds, status(Q)._replace(job_id="2"))
        assert missing == expected, seconds
        if missing:
            tracker.receive_missing_answers(missing, {}, moment(seconds), moment(seconds))
            assert wait(tracker, seconds) <= 15
    tracker.note_removal("1", moment(34))
    assert list_jobs(tracker, 34.5, status(Q)._replace(job_id="2")) == ["1"]


def test_an_answer_is_used_again_until_something_changes() -> None:
    tracker = follow(record_job("1"))
    list_jobs(tracker, 10, status(R), status(Q)._replace(job_id="2"))
    tracker.take_changes()
    assert tracker.reuse_answer(10.5, moment(11)) is None
    assert tracker.reuse_answer(10.0, moment(11)) is not None
    assert tracker.take_changes().events == []
    tracker.follow(record_job("2", accepted_at=BEGIN + 9), moment(11))
    tracker.follow(record_job("1", accepted_at=BEGIN + 10.5), moment(11))  # it was submitted after the query
    assert "2" in tracker.jobs.untold
    assert tracker.reuse_answer(10.0, moment(11)) is not None
    assert [event.job_id for event in tracker.take_changes().events] == ["2"]
    assert "2" not in tracker.jobs.untold
    tracker.poll_immediately(12)
    assert tracker.reuse_answer(10.0, moment(13)) is None


def test_an_answer_about_an_older_job_with_the_same_id() -> None:
    tracker = follow(record_job("1"))
    (asked_for,) = list_jobs(tracker, 10)
    tracker.forget("1")
    tracker.follow(record_job("1", accepted_at=BEGIN + 11), moment(11))
    tracker.receive_missing_answers([asked_for], {"1": status(D)}, moment(10.5), moment(12))
    assert tracker.take_changes().events == []


def test_when_the_end_that_the_log_told_is_queried() -> None:
    """At once, and each second; if nobody answers, after twice the time."""
    tracker = follow(record_job("1"), max_retry_interval=3)
    tracker.receive_event(JobEvent(BEGIN + 5, status(D)), moment(5))
    tracker.receive_event(JobEvent(BEGIN + 5, status(F)), moment(5))  # the first one counts
    now = 5.0
    for answer, expected in ((FAILURE, 1.0), (FAILURE, 2.0), (FAILURE, 3.0), (None, 1.0), (None, 1.0)):
        assert tracker.list_logged_ends(now) == ["1"]
        tracker.receive_end_answers(["1"], {} if answer is None else {"1": answer}, moment(now))
        assert tracker.seconds_until_end_query(now) == expected
        assert tracker.list_logged_ends(now + 0.9) == []
        now += expected
    tracker.receive_end_answers(["1"], {}, moment(now))
    assert [event.state for event in tracker.take_changes().events] == [D]
    assert tracker.seconds_until_end_query(now) == float("inf")
    tracker.receive_end_answers(["1"], {"1": status(F)}, moment(now))
    assert tracker.take_changes().events == []


TASKS: Final = {f"9_{index}": record_job(f"9_{index}", array_id="9") for index in range(3)}


def watch_array(tasks: Mapping[str, JobRecord] = TASKS) -> JobTracker:
    tracker = JobTracker(Timing(grace_period=60), tasks.get)
    tracker.follow_array(record_job("9", array="0-2"), list(tasks.values()), moment(0))
    return tracker


def answer_tasks(tracker: JobTracker, seconds: float, **states: JobState) -> list[tuple[str, JobState]]:
    """Tell the tracker which tasks are listed, as `t0=RUNNING`; return what it tells."""
    statuses = {f"9_{name[1:]}": JobStatus(f"9_{name[1:]}", state) for name, state in states.items()}
    statuses |= {"9": statuses.pop("9_rray")._replace(job_id="9")} if "9_rray" in statuses else {}
    asked = moment(seconds - 0.1)
    missing = tracker.receive_answer(statuses, asked, moment(seconds))
    tracker.receive_missing_answers(missing, {}, asked, moment(seconds))
    return [(event.job_id, event.state) for event in tracker.take_changes().events]


def test_an_array_is_told_after_its_tasks() -> None:
    tracker = watch_array()
    assert tracker.take_changes().events == []
    told = answer_tasks(tracker, 1, t0=R, t1=Q, t2=Q)
    assert told == [("9_0", R), ("9_1", Q), ("9_2", Q), ("9", R)]
    assert answer_tasks(tracker, 2, t0=D, t1=R, t2=Q) == [("9_0", D), ("9_1", R)]
    assert tracker.jobs.describe_status("9", None).reason == "3 tasks: 1 running, 1 queued, 1 failed"
    assert answer_tasks(tracker, 3, t0=D, t1=F, t2=F)[-1] == ("9", F)
    assert not tracker.jobs.polled
    assert not tracker.jobs.live_arrays
    assert sorted(tracker.forget("9")) == ["9", "9_0", "9_1", "9_2"]


def test_an_array_that_waits_as_a_whole() -> None:
    """Its line is that of each task; a task without a line is not lost while its array is there."""
    tracker = watch_array()
    assert answer_tasks(tracker, 1, array=H) == [("9_0", H), ("9_1", H), ("9_2", H), ("9", H)]
    assert answer_tasks(tracker, 2, array=R, t0=R) == [("9_0", R), ("9", R)]
    for seconds in (32, 63, 94, 125):
        assert answer_tasks(tracker, seconds, array=R, t0=R) == []
    for seconds in (156, 187):
        assert answer_tasks(tracker, seconds, t0=R) == []
    assert answer_tasks(tracker, 218, t0=R) == [("9_1", L), ("9_2", L)]


def test_the_removal_of_an_array_is_that_of_its_live_tasks() -> None:
    tracker = watch_array()
    answer_tasks(tracker, 1, t0=F, t1=R, t2=R)
    tracker.note_removal("9", moment(2))
    assert answer_tasks(tracker, 3) == [("9_1", X), ("9_2", X), ("9", F)]


def test_the_ends_of_tasks_that_are_recorded_are_counted() -> None:
    ended = TASKS["9_0"]._replace(status=JobStatus("9_0", D, exit_code=0))
    tracker = watch_array({**TASKS, "9_0": ended})
    assert sorted(tracker.jobs.polled) == ["9_1", "9_2"]
    assert answer_tasks(tracker, 1, t1=D, t2=D)[-1][0] == "9"
    assert tracker.jobs.get_status("9").reason == "1 of 3 tasks ended with 0; exit code unknown: 2"


LISTED: Final = st.dictionaries(st.sampled_from(["1", *TASKS]), st.sampled_from([Q, R, H, D, F, X, L, U]))


@given(st.lists(st.tuples(st.floats(0.1, 100), LISTED, LISTED, st.integers(0, 9)), max_size=20))
def test_each_end_is_told_once_and_is_the_last(steps: list[tuple[float, object, object, int]]) -> None:
    """Whatever is answered, in whatever order, of a job and of the tasks of an array."""
    tracker = watch_array()
    tracker.follow(record_job("1"), moment(0))
    now, told = 0.0, dict[str, list[JobStatus]]()
    for pause, listed, alone, kind in steps:
        now += pause
        answers, others = (
            {job_id: JobStatus(job_id, state) for job_id, state in chosen.items()}  # type: ignore[attr-defined]
            for chosen in (listed, alone)
        )
        if kind == 0:
            for job_status in answers.values():
                tracker.receive_event(JobEvent(BEGIN + int(now), job_status), moment(now))
        elif kind == 1:
            tracker.schedule.record_failure()
        else:
            missing = tracker.receive_answer(answers, moment(now - 0.05), moment(now))
            tracker.receive_missing_answers(missing, others, moment(now - 0.04), moment(now))
            tracker.end_poll(0.05)
        tracker.receive_end_answers(tracker.list_logged_ends(now), others, moment(now))
        changes = tracker.take_changes()
        for event in changes.events:
            told.setdefault(event.job_id, []).append(event.status)
        assert tracker.take_changes().events == []
    for job_id, statuses in told.items():
        states = [job_status.state for job_status in statuses]
        assert all(first is not second for first, second in itertools.pairwise(states))
        assert not any(state.is_terminal for state in states[:-1])
        assert U not in states
        assert tracker.jobs.get_status(job_id).state is states[-1]
        assert states[-1].is_terminal != tracker.jobs.is_polled(job_id)
    tasks = [tracker.jobs.get_status(task_id) for task_id in TASKS]
    whole = summarize_tasks("9", tasks).state
    assert whole in {tracker.jobs.get_status("9").state, U}  # that nothing is known of a task is not told
