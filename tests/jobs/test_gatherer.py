"""Which STARTs run by one program, and that each caller gets its own answer."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from osprofile.errors import TargetError
from osprofile.jobs.submit.gatherer import StartGatherer
from osprofile.jobs.submit.starts import NewStart

if TYPE_CHECKING:
    from collections.abc import Sequence


class Programs:
    """Programs that end when they are told to."""

    def __init__(self) -> None:
        self.parts: list[list[str]] = []
        self.may_end: list[asyncio.Event] = []
        self.cancelled: list[int] = []
        self.gatherer = StartGatherer(self.run)

    async def run(self, starts: Sequence[NewStart]) -> list[str | TargetError]:
        number = len(self.parts)
        self.parts.append([start.script for start in starts])
        self.may_end.append(asyncio.Event())
        try:
            await self.may_end[number].wait()
        except asyncio.CancelledError:
            self.cancelled.append(number)
            raise
        return [TargetError("no") if start.script == "bad" else f"id of {start.script}" for start in starts]

    def submit(self, *scripts: str) -> list[asyncio.Task[str]]:
        return [asyncio.ensure_future(self.gatherer.submit(NewStart("/d", script))) for script in scripts]


async def settle() -> None:
    """Let everything run that can."""
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.fixture
def programs() -> Programs:
    return Programs()


async def test_those_that_wait_are_one_program(programs: Programs) -> None:
    """At most two programs run, of at most 16 jobs; those that wait when both are free are shared by them."""
    first = programs.submit("a")
    await settle()
    second = programs.submit("b", "bad")
    await settle()
    rest = programs.submit(*map(str, range(18)))
    await settle()
    assert programs.parts == [["a"], ["b", "bad"]]
    programs.may_end[1].set()
    await settle()
    assert programs.parts[2:] == [[*map(str, range(16))]]
    programs.may_end[0].set()
    await settle()
    assert programs.parts[3:] == [["16", "17"]]
    for may_end in programs.may_end:
        may_end.set()
    ids = await asyncio.gather(*first, *second, *rest, return_exceptions=True)
    assert [str(answer) for answer in ids] == ["id of a", "id of b", "no", *(f"id of {n}" for n in range(18))]
    assert isinstance(ids[2], TargetError)


async def test_a_program_is_ended_when_nobody_waits_for_it(programs: Programs) -> None:
    one, two, three = programs.submit("a", "b", "c")
    await settle()
    assert programs.parts == [["a", "b"], ["c"]]
    one.cancel()
    await settle()
    assert not programs.cancelled
    two.cancel()
    await settle()
    assert programs.cancelled == [0]
    programs.may_end[1].set()
    assert await three == "id of c"
    (again,) = programs.submit("d")
    await settle()
    programs.may_end[2].set()
    assert await again == "id of d"


async def test_who_gave_up_before_its_program_began_is_not_submitted(programs: Programs) -> None:
    running = programs.submit("a")
    await settle()
    running += programs.submit("b")
    await settle()
    gone, kept = programs.submit("c", "d")
    await settle()
    gone.cancel()
    await settle()
    programs.may_end[0].set()
    await settle()
    assert programs.parts[2:] == [["d"]]
    for may_end in programs.may_end:
        may_end.set()
    assert await kept == "id of d"
    assert await asyncio.gather(*running) == ["id of a", "id of b"]


async def test_an_unexpected_error_reaches_all_who_wait() -> None:
    async def fail(_: Sequence[NewStart]) -> list[str | TargetError]:
        raise KeyError("of ours")

    gatherer = StartGatherer(fail)
    answers = await asyncio.gather(
        *(gatherer.submit(NewStart("/d", script)) for script in "ab"), return_exceptions=True
    )
    assert [type(answer) for answer in answers] == [KeyError, KeyError]


async def test_a_job_that_comes_as_the_programs_end_has_one_of_its_own(programs: Programs) -> None:
    """Programs that end together have looked for jobs before those come that wait for their answers."""

    async def submit_two(*scripts: str) -> list[str]:
        return [await programs.gatherer.submit(NewStart("/d", script)) for script in scripts]

    first = asyncio.ensure_future(submit_two("a", "b"))
    await settle()
    second = asyncio.ensure_future(submit_two("c", "d"))
    await settle()
    assert programs.parts == [["a"], ["c"]]
    for may_end in programs.may_end:
        may_end.set()
    await settle()
    assert programs.parts[2:] == [["b"], ["d"]]
    for may_end in programs.may_end:
        may_end.set()
    assert await asyncio.gather(first, second) == [["id of a", "id of b"], ["id of c", "id of d"]]
