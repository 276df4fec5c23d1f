"""The job monitor publishes each change of a job once, from any number of sources."""

from __future__ import annotations

import itertools
import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osprofile.errors import AlreadyRegisteredError, NotRegisteredError
from osprofile.jobs.monitor import JobMonitor
from osprofile.jobs.state import JOB_STATE_TAGS, EndCause, JobEvent, JobState, JobStatus, parse_state_tag

if TYPE_CHECKING:
    from collections.abc import Hashable

Q, R, H, D, F, X, L, U = (
    JobState.QUEUED,
    JobState.RUNNING,
    JobState.HELD,
    JobState.DONE,
    JobState.FAILED,
    JobState.REMOVED,
    JobState.LOST,
    JobState.UNKNOWN,
)


class MonitorProbe:
    """A monitor with a clock of its own, and the events that it published."""

    def __init__(self) -> None:
        self.now = 0.0
        self.published_events: list[tuple[JobEvent, Hashable]] = []
        self.monitor = JobMonitor(
            lambda event, key: self.published_events.append((event, key)),
            early_event_lifetime=10,
            clock=lambda: self.now,
        )

    def feed(self, timestamp: float, state: JobState, job: str = "1", **more: object) -> bool:
        """Return whether the state has changed, so that the event was published."""
        event = JobEvent(timestamp, JobStatus(job, state, **more))  # type: ignore[arg-type]
        before = len(self.published_events)
        self.monitor.feed_event(event)
        return len(self.published_events) > before

    @property
    def states(self) -> list[JobState]:
        return [event.state for event, _ in self.published_events]


# Events as (timestamp, state), and the states that are published.
STREAMS = {
    "a job's life": ([(1, Q), (2, R), (3, D)], [Q, R, D]),
    "a repeated state": ([(1, Q), (2, Q), (3, R), (4, R)], [Q, R]),
    "events after the end": ([(1, D), (2, R), (3, D), (4, F), (5, Q)], [D]),
    "a second end": ([(1, R), (2, X), (3, D), (3, X)], [R, X]),
    "held and released": ([(1, Q), (2, H), (3, Q), (4, R), (5, H), (6, R)], [Q, H, Q, R, H, R]),
    "held and released within a second": ([(1, Q), (1, H), (1, Q), (1, R)], [Q, H, Q, R]),
    "run again within a second": ([(1, R), (1, Q), (1, R), (1, R), (2, D)], [R, Q, R, D]),
    "an earlier state of that second, after a later event": ([(1, Q), (1, R), (2, H), (1, Q)], [Q, R, H]),
    "requeued": ([(1, Q), (2, R), (3, Q), (4, R), (5, D)], [Q, R, Q, R, D]),
    "stale events are ignored": ([(1, Q), (5, R), (3, H), (4, Q)], [Q, R]),
    "an end is never stale": ([(1, R), (9, Q), (5, D)], [R, Q, D]),
    "a truncated timestamp of a log": ([(1.9, Q), (1, R)], [Q, R]),
    "older than truncation explains": ([(5.9, H), (4, R)], [H]),
    "truncated, but not the next state": ([(5.9, R), (5, Q)], [R]),
    "an unknown state is not an event": ([(1, Q), (2, U), (3, R), (4, U)], [Q, R]),
    "only the end": ([(1, L)], [L]),
}


@pytest.mark.parametrize("name", STREAMS)
def test_streams(name: str) -> None:
    events, expected = STREAMS[name]
    probe = MonitorProbe()
    probe.monitor.register("1", "key")
    for timestamp, state in events:
        probe.feed(timestamp, state)
    assert probe.states == expected
    assert {key for _, key in probe.published_events} == {"key"}


@pytest.mark.parametrize("name", STREAMS)
def test_events_that_came_before_the_registration(name: str) -> None:
    events, expected = STREAMS[name]
    probe = MonitorProbe()
    for timestamp, state in events:
        assert not probe.feed(timestamp, state)
    assert probe.published_events == []
    probe.monitor.register("1", "key")
    assert probe.states == expected
    assert not probe.feed(99, expected[-1])


def test_gaps_of_a_status_are_filled_from_the_last_one() -> None:
    probe = MonitorProbe()
    known = JobStatus("1", U, submitted=0.5)
    probe.monitor.register("1", None, known)
    probe.feed(1, Q, queue="long")
    probe.feed(2, R, hosts=("n1",))
    probe.feed(3, R, reason="still")
    assert probe.monitor.get_status("1") == JobStatus(
        "1", R, hosts=("n1",), reason="still", submitted=0.5, started=2, queue="long"
    )
    probe.feed(4, U, native_state="PURPLE")
    assert (probe.monitor.get_status("1").state, probe.monitor.get_status("1").native_state) == (R, "PURPLE")
    probe.feed(5, D, exit_code=7)
    last = JobStatus("1", D, exit_code=7, hosts=("n1",), submitted=0.5, started=2, ended=5, queue="long")
    assert probe.published_events[-1] == (JobEvent(5, last), None)


@pytest.mark.parametrize(
    ("seen_running", "end", "expected"),
    [
        (None, {}, (None, 120)),  # it ended at some time before
        (100, {}, (100, 120)),
        (119, {}, (117, 120)),
        (None, {"ended": 111}, (108, 111)),
        (110.5, {"ended": 111}, (108, 111)),
        (111.5, {"ended": 111}, (108.5, 111.5)),  # whole seconds
        (None, {"ended": 500}, (117, 120)),  # its clock differs
        (None, {"ended": 3}, (90, 90)),
    ],
)
def test_times_are_those_that_are_known(
    seen_running: float | None, end: dict[str, float], expected: tuple[float | None, float]
) -> None:
    """Polls see a short job running late, or not at all."""
    probe = MonitorProbe()
    probe.monitor.register("1", None, JobStatus("1", Q, submitted=90.0))
    if seen_running is not None:
        probe.feed(seen_running, R)
    probe.feed(120, D, elapsed=3.0, end_reported=bool(end), **end)
    status = probe.monitor.get_status("1")
    assert (status.started, status.ended) == expected
    assert status.end_reported == bool(end)


@pytest.mark.parametrize(
    ("seen_running", "ended", "expected"),
    [
        (None, 111.25, (108.25, 111.25)),
        (107.5, 111.25, (108.25, 111.25)),  # by its session, which began before its program
        (111.5, 111.25, (108.25, 111.25)),
        (None, 500.5, (118.25, 121.25)),  # its clock differs
        (None, 3.5, (90, 93)),
        (None, 90.5, (90, 93)),
    ],
)
def test_what_a_job_itself_has_measured_agrees(
    seen_running: float | None, ended: float, expected: tuple[float, float]
) -> None:
    """The answer came at 121.25, to a query of 120."""
    probe = MonitorProbe()
    probe.monitor.register("1", None, JobStatus("1", Q, submitted=90.0))
    if seen_running is not None:
        probe.feed(seen_running, R)
    probe.now = 121.25
    probe.feed(120, D, elapsed=3.0, end_reported=True, ended=ended)
    status = probe.monitor.get_status("1")
    assert (status.started, status.ended) == expected


def test_nothing_is_earlier_than_the_submission() -> None:
    probe = MonitorProbe()
    probe.monitor.register("1", None, JobStatus("1", Q, submitted=90.5))
    probe.feed(91, R, elapsed=1.0)  # whole seconds
    assert probe.monitor.get_status("1").started == 90.5
    probe.feed(93, D, elapsed=2.9, end_reported=True, ended=92.0)
    status = probe.monitor.get_status("1")
    assert (status.started, status.ended) == (90.5, 92)


def test_a_run_time_tells_since_when_a_job_runs() -> None:
    probe = MonitorProbe()
    probe.monitor.register("1")
    probe.feed(100, R)
    probe.feed(104, R, elapsed=7.0)
    assert probe.monitor.get_status("1").started == 97


def test_the_initial_status_is_not_published() -> None:
    probe = MonitorProbe()
    probe.monitor.register("1", None, JobStatus("1", R), 5)
    assert not probe.feed(6, R)
    assert not probe.feed(3, Q)
    assert probe.feed(7, D)


def test_the_registry() -> None:
    probe = MonitorProbe()
    with pytest.raises(NotRegisteredError, match="job 1 is not registered"):
        probe.monitor.unregister("1")
    with pytest.raises(NotRegisteredError):
        probe.monitor.get_status("1")
    probe.monitor.register("1")
    with pytest.raises(AlreadyRegisteredError, match="job 1 is registered already"):
        probe.monitor.register("1")
    assert "1" in probe.monitor
    probe.monitor.unregister("1")
    assert not probe.feed(1, R)
    assert "1" not in probe.monitor


def test_early_events_expire() -> None:
    probe = MonitorProbe()
    probe.feed(1, Q, "1")
    probe.now = 8
    probe.feed(2, Q, "2")
    probe.now = 12
    assert probe.monitor.expire_early_events() == 1
    probe.monitor.register("1")
    probe.monitor.register("2")
    assert [event.job_id for event, _ in probe.published_events] == ["2"]


def test_early_events_expire_before_a_late_registration() -> None:
    probe = MonitorProbe()
    probe.feed(1, Q)
    probe.now = 12
    probe.monitor.register("1")
    assert probe.states == []


def test_early_events_expire_by_themselves() -> None:
    """They would otherwise hold back the time from which a log is read again."""
    probe = MonitorProbe()
    probe.feed(1, Q, "1")
    probe.now = 12
    probe.feed(5, Q, "2")
    assert probe.monitor.oldest_early_timestamp == 5
    probe.now = 30
    assert probe.monitor.oldest_early_timestamp is None


@given(st.lists(st.tuples(st.integers(0, 20), st.sampled_from(list(JobState))), max_size=12))
def test_laws(events: list[tuple[int, JobState]]) -> None:
    """No state is published twice in a row, an end is last, and no end is lost, in any order."""
    probe = MonitorProbe()
    probe.monitor.register("1")
    for timestamp, state in events:
        probe.feed(timestamp, state)
    assert all(a is not b for a, b in itertools.pairwise(probe.states))
    assert not any(state.is_terminal for state in probe.states[:-1])
    assert U not in probe.states
    assert any(s.is_terminal for _, s in events) == any(s.is_terminal for s in probe.states)


def test_a_job_that_is_queued_again_runs_anew() -> None:
    probe = MonitorProbe()
    probe.monitor.register("1", None, JobStatus("1", U, submitted=0.5))
    probe.feed(2, R, hosts=("n1",))
    probe.feed(3, Q, queue="long")
    assert probe.monitor.get_status("1") == JobStatus("1", Q, submitted=0.5, queue="long")
    probe.feed(9, R, hosts=("n2",), elapsed=1.5)
    probe.feed(11, H, hosts=("n2",))  # suspended, not queued again
    probe.feed(12, R, hosts=("n2",))
    assert probe.monitor.get_status("1") == JobStatus(
        "1", R, hosts=("n2",), submitted=0.5, started=7.5, queue="long"
    )
    assert probe.states == [R, Q, R, H, R]


def test_two_sources_of_one_life() -> None:
    """A poller and a log report the same changes, interleaved: each is published once, in order."""
    life = [(1.0, Q), (2.0, R), (3.0, H), (4.0, R), (5.0, D)]
    chance = random.Random(1)
    for _ in range(200):
        probe = MonitorProbe()
        probe.monitor.register("1")
        poll_events, log_events = life.copy(), life.copy()
        while poll_events or log_events:
            source = chance.choice([s for s in (poll_events, log_events) if s])
            probe.feed(*source.pop(0))
        assert probe.states[-1] is D
        published_events = [(event.timestamp, event.state) for event, _ in probe.published_events]
        assert len(published_events) == len(set(published_events))
        assert [step for step in life if step in published_events] == published_events


def test_the_words_of_tags() -> None:
    assert {word: parse_state_tag(word) for word in JOB_STATE_TAGS} == {
        **{s.value: (s, None) for s in JobState if s is not U},
        "FAILED/LIMIT": (F, EndCause.LIMIT),
        "FAILED/TIME": (F, EndCause.TIME),
        "FAILED/MEMORY": (F, EndCause.MEMORY),
        "FAILED/NODE": (F, EndCause.NODE),
        "FAILED/PREEMPTED": (F, EndCause.PREEMPTED),
        "FAILED/SITE_SETUP": (F, EndCause.SITE_SETUP),
        "FAILED/FILES": (F, EndCause.FILES),
        "REMOVED/DEPENDENCY": (JobState.REMOVED, EndCause.DEPENDENCY),
        "HELD/SUSPENDED": (JobState.HELD, None),
    }
    with pytest.raises(ValueError, match="SLEEPING"):
        parse_state_tag("SLEEPING")
