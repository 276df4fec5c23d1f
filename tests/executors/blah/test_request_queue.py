"""How many requests of a kind are worked on at a time, and what becomes of the others."""

from __future__ import annotations

import asyncio
from collections import Counter

from osprofile.executors.blah.messages import Request
from osprofile.executors.blah.request_queue import RequestQueue


class Works:
    """Work that goes on until it is let go."""

    def __init__(self) -> None:
        self.going = list[Request]()
        self.done = list[Request]()
        self.room = True
        self.gate = asyncio.Event()
        self.queue = RequestQueue(self.work, lambda: self.room)

    async def work(self, request: Request) -> None:
        self.going.append(request)
        await self.gate.wait()
        self.done.append(request)

    @property
    def kinds(self) -> Counter[str]:
        return Counter(request.command for request in self.going)


def submit(number: int) -> Request:
    return Request("BLAH_JOB_SUBMIT", str(number), ("",))


def status(number: int) -> Request:
    return Request("BLAH_JOB_STATUS", str(number), ("x",))


def status_all(number: int) -> Request:
    return Request("BLAH_JOB_STATUS_ALL", str(number))


async def test_so_many_of_a_kind_and_no_kind_holds_up_another() -> None:
    works = Works()
    submissions = [submit(n) for n in range(1, 201)]
    for request in submissions:
        works.queue.add_request(request)
    for number in range(1, 10):
        works.queue.add_request(status_all(number))
        works.queue.add_request(status(number))
    await asyncio.sleep(0)
    assert works.kinds == {"BLAH_JOB_SUBMIT": 64, "BLAH_JOB_STATUS_ALL": 2, "BLAH_JOB_STATUS": 9}
    works.gate.set()
    await works.queue.wait_until_idle()
    assert [x for x in works.done if x.command == "BLAH_JOB_SUBMIT"] == submissions
    assert len(works.done) == 218


async def test_nothing_is_begun_without_room() -> None:
    works = Works()
    works.room = False
    works.gate.set()
    works.queue.add_request(submit(1))
    await works.queue.wait_until_idle()
    assert works.going == []
    works.room = True
    works.queue.start_waiting_requests()
    await works.queue.wait_until_idle()
    assert len(works.done) == 1


async def test_the_end() -> None:
    works = Works()
    for number in range(1, 101):
        works.queue.add_request(submit(number))
        works.queue.add_request(status(number))
        works.queue.add_request(status_all(number))
    await asyncio.sleep(0)
    works.queue.cancel_all_except("BLAH_JOB_SUBMIT")
    works.gate.set()
    await works.queue.wait_until_idle()
    assert {request.command for request in works.done} == {"BLAH_JOB_SUBMIT"}
    assert len(works.done) == 100


async def test_what_is_cut_off() -> None:
    works = Works()
    for number in range(1, 101):
        works.queue.add_request(submit(number))
    await asyncio.sleep(0)
    assert works.queue.cancel_all() == 100
    await works.queue.wait_until_idle()
    works.queue.start_waiting_requests()
    works.queue.add_request(submit(101))
    await works.queue.wait_until_idle()
    assert (len(works.going), works.done) == (64, [])
