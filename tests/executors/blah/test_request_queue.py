"""How many requests of a kind are worked on at a time, and what becomes of the others."""

from __future__ import annotations

import asyncio
from collections import Counter

from osprofile.executors.blah import requests as r
from osprofile.executors.blah.request_queue import RequestQueue


class Works:
    """Work that goes on until it is let go."""

    def __init__(self) -> None:
        self.going = list[r.AnyRequest]()
        self.done = list[r.AnyRequest]()
        self.room = True
        self.gate = asyncio.Event()
        self.lanes = RequestQueue(self.work, lambda: self.room)

    async def work(self, request: r.AnyRequest) -> None:
        self.going.append(request)
        await self.gate.wait()
        self.done.append(request)

    @property
    def kinds(self) -> Counter[str]:
        return Counter(type(request).__name__ for request in self.going)


def submit(number: int) -> r.Submit:
    return r.Submit(str(number), "")


def test_so_many_of_a_kind_and_no_kind_holds_up_another() -> None:
    async def main() -> None:
        works = Works()
        submissions = [submit(n) for n in range(1, 201)]
        for request in submissions:
            works.lanes.add_request(request)
        for number in range(1, 10):
            works.lanes.add_request(r.StatusAll(str(number)))
            works.lanes.add_request(r.Status(str(number), "x"))
        await asyncio.sleep(0)
        assert works.kinds == {"Submit": 64, "StatusAll": 2, "Status": 9}
        works.gate.set()
        await works.lanes.wait_until_idle()
        assert [x for x in works.done if isinstance(x, r.Submit)] == submissions
        assert len(works.done) == 218

    asyncio.run(main())


def test_nothing_is_begun_without_room() -> None:
    async def main() -> None:
        works = Works()
        works.room = False
        works.gate.set()
        works.lanes.add_request(submit(1))
        await works.lanes.wait_until_idle()
        assert works.going == []
        works.room = True
        works.lanes.start_waiting()
        await works.lanes.wait_until_idle()
        assert len(works.done) == 1

    asyncio.run(main())


def test_the_end() -> None:
    async def main() -> None:
        works = Works()
        for number in range(1, 101):
            works.lanes.add_request(submit(number))
            works.lanes.add_request(r.Status(str(number), "x"))
            works.lanes.add_request(r.StatusAll(str(number)))
        await asyncio.sleep(0)
        works.lanes.cancel_all_except(r.Submit)
        works.gate.set()
        await works.lanes.wait_until_idle()
        assert {type(request) for request in works.done} == {r.Submit}
        assert len(works.done) == 100

    asyncio.run(main())


def test_what_is_cut_off() -> None:
    async def main() -> None:
        works = Works()
        for number in range(1, 101):
            works.lanes.add_request(submit(number))
        await asyncio.sleep(0)
        assert works.lanes.cancel_all() == 100
        await works.lanes.wait_until_idle()
        works.lanes.start_waiting()
        works.lanes.add_request(submit(101))
        await works.lanes.wait_until_idle()
        assert (len(works.going), works.done) == (64, [])

    asyncio.run(main())
