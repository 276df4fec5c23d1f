"""What jobs used of what they asked for, and what is enough the next time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osprofile.jobs.efficiency import Run, measure_efficiency
from osprofile.jobs.state import EndCause, JobState, JobStatus

if TYPE_CHECKING:
    from collections.abc import Mapping

GIB = 1 << 30
ASKED = {"CPUS": "8", "MEMORY": "16384"}


def run(request: Mapping[str, str] | None = ASKED, walltime: float | None = 7200.0, **values: object) -> Run:
    """Return a run of ten minutes with two busy processors and 1.2 GiB in one process, but for `values`."""
    told: dict[str, Any] = {
        "exit_code": 0,
        "elapsed": 600.0,
        "cpu_time": 1200.0,
        "max_memory": int(1.2 * GIB),
    }
    return Run(JobStatus("7", JobState.DONE, **(told | values)), request, walltime)


ONE: dict[str, Any] = {"elapsed": 600.0, "cpu_time": 590.0}


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ([run({"MEMORY": "16384"}, **ONE)], "--memory 2G --walltime 15m"),
        ([run()], "--cpus 2 --memory 3G --walltime 15m"),  # the other processor may have been another process
        ([run({"PROCESSES": "4", "MEMORY": "16384"}, **ONE)], "--memory 6G --walltime 15m"),
        ([run({"PROCESSES": "4", "NODES": "2", "MEMORY": "16384"}, **ONE)], "--memory 3G --walltime 15m"),
        ([run({"PROCESSES": "2", "CPUS": "4"}, None, cpu_time=4000.0)], ""),
        ([run({"PROCESSES": "2", "CPUS": "8"}, None, cpu_time=4000.0)], "--cpus 4"),
        # what is not much too much is left as it is
        ([run({"MEMORY": "2048"}, 1000.0, **ONE)], ""),
        # nothing was asked for; the batch system has told what it gave
        ([run({}, None, **ONE)], ""),
        ([run(None, None, **ONE, allocated_memory=16 * GIB)], "--memory 2G"),
        ([run({"NODES": "2"}, None, **ONE, allocated_memory=32 * GIB)], "--memory 2G"),
        # one that failed may have ended before it used most
        ([run(exit_code=1)], ""),
        ([run(exit_code=None)], ""),
        ([run({"MEMORY": "16384"}, **ONE), run({"MEMORY": "16384"}, **ONE, exit_code=1)], "--memory 2G --walltime 15m"),
        ([run(**ONE), run(exit_code=None, cause=EndCause.MEMORY)], "--cpus 1 --walltime 15m"),
        ([run(**ONE), run(exit_code=None, cause=EndCause.TIME)], "--cpus 1 --memory 2G"),
        # the largest of all counts, and of each it must be known
        ([run(**ONE), run(elapsed=3000.0, cpu_time=3000.0, max_memory=5 * GIB)], "--cpus 1 --memory 8G --walltime 90m"),
        ([run(**ONE), run(max_memory=None, cpu_time=None)], "--walltime 15m"),
        ([run(elapsed=None)], ""),
        ([run(elapsed=1.0, cpu_time=0.1, max_memory=1)], "--memory 64M --walltime 1m"),
        # too short to be measured
        ([run(elapsed=1.0, cpu_time=0.0, max_memory=0)], "--walltime 1m"),
        ([run(**ONE), run(elapsed=1.0, cpu_time=0.0, max_memory=0)], "--cpus 1 --walltime 15m"),
        ([run({"MEMORY": "odd", "CPUS": "x"}, None)], ""),
    ],
)  # fmt: skip
def test_advice(runs: list[Run], expected: str) -> None:
    assert measure_efficiency(runs).advised_options == expected.replace("90m", "1h30m")


def test_what_was_used() -> None:
    found = measure_efficiency([run(), run(elapsed=1200.0, cpu_time=600.0, allocated_cpus=16)])
    assert found.cpus.used == 1
    assert found.cpus.asked == pytest.approx((8 * 600 + 16 * 1200) / 1800)
    assert found.memory.share == pytest.approx(1.2 / 16, rel=0.01)
    assert found.time == (1200.0, 7200.0)
    assert found.encode()["time"] == {"used": 1200.0, "asked": 7200.0, "share": pytest.approx(1 / 6)}


def test_what_is_not_known() -> None:
    nothing = measure_efficiency([Run(JobStatus("7", JobState.LOST))])
    assert (*nothing,) == ((None, None), (None, None), (None, None), {})
    assert nothing.cpus.share is None
    used = measure_efficiency([run(None, None)])
    assert (used.cpus, used.time) == ((2.0, None), (600.0, None))


@given(
    memory=st.integers(1, 1 << 45),
    elapsed=st.floats(0.01, 1e7),
    busy=st.floats(0, 64),
    asked=st.integers(1, 1 << 25),
)
def test_what_is_advised_is_more_than_was_used_and_less_than_was_asked(
    memory: int, elapsed: float, busy: float, asked: int
) -> None:
    request = {"MEMORY": str(asked), "CPUS": "64"}
    found = run(request, 1e6, elapsed=elapsed, cpu_time=elapsed * busy, max_memory=memory)
    advice = measure_efficiency([found]).advice
    assert memory <= advice.get("MEMORY", asked) << 20 <= max(asked << 20, memory) or "MEMORY" not in advice
    assert "WALLTIME" not in advice or elapsed < advice["WALLTIME"] < 1e6
    assert "CPUS" not in advice or busy - 0.2 <= advice["CPUS"] < 64
