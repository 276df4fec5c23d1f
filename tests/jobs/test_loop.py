"""A coroutine that runs without an event loop until it needs one."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys

import pytest

from osprofile.jobs.shell.loop import Turns, call_soon, gather, has_loop, need_loop, run_cancellable
from osprofile.jobs.shell.process import run_process


def test_what_waits_for_scripts_alone_needs_no_loop() -> None:
    async def work() -> tuple[bool, bytes]:
        async with Turns() as turns:
            assert turns.are_taken
            done = await gather([run_process(["echo", "x"], b"", 60)])
        return has_loop(), done[0].stdout

    assert run_cancellable(work(), [], needs_loop=False) == (False, b"x\n")
    assert has_loop()


def test_it_goes_on_in_a_loop_where_it_needs_one() -> None:
    told: list[str] = []

    async def inner() -> bool:
        await need_loop()
        await asyncio.sleep(0)
        return has_loop()

    async def work() -> list[bool]:
        turns = Turns()
        call_soon(told.append, "soon")
        async with turns:
            before = has_loop()
            after = await gather([inner(), inner()])
            waiting = asyncio.ensure_future(take(turns))
            await asyncio.sleep(0)
            told.append("taken")
        await waiting
        return [before, *after, *await gather([inner()])]

    async def take(turns: Turns) -> None:
        async with turns:
            told.append("free")

    assert run_cancellable(work(), [], needs_loop=False) == [False, True, True, True]
    assert told == ["soon", "taken", "free"]


@pytest.mark.parametrize("needs_loop", [False, True])
def test_an_error_is_raised(needs_loop: bool) -> None:
    async def work() -> None:
        if needs_loop:
            await need_loop()
        raise KeyError

    with pytest.raises(KeyError):
        run_cancellable(work(), [], needs_loop=False)


@pytest.mark.parametrize("needs_loop", [False, True])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_script(number: signal.Signals, needs_loop: bool) -> None:
    pids: list[int] = []
    received: list[int] = []
    script = f"echo $$; kill -s {number.name[3:]} {os.getpid()}; exec sleep 600".encode()

    async def work() -> None:
        if needs_loop:
            await need_loop()
        try:
            await run_process(["sh", "-c", script.decode()], b"", 60)
        finally:
            pids.append(1)

    handler = signal.getsignal(number)
    with pytest.raises(asyncio.CancelledError):
        run_cancellable(work(), received, needs_loop=False)
    assert received == [number]
    assert pids == [1]
    assert signal.getsignal(number) is handler
    assert subprocess.run(["pgrep", "-f", script.decode()], check=False, capture_output=True).stdout == b""


@pytest.mark.parametrize("needs_loop", [False, True])
def test_a_signal_ends_nothing_before_the_next_wait(needs_loop: bool) -> None:
    done: list[str] = []

    async def work() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        done.append("written")
        try:
            if needs_loop:
                await need_loop()
            await run_process(["sleep", "600"], b"", 60)
        finally:
            await need_loop()
            await asyncio.sleep(0)
            done.append("cleaned up")

    with pytest.raises(asyncio.CancelledError):
        run_cancellable(work(), [], needs_loop=False)
    assert done == ["written", "cleaned up"]


@pytest.mark.parametrize("needs_loop", ["", "await need_loop()"])
def test_what_only_reads_ends_at_once(needs_loop: str) -> None:
    code = (
        "import os, signal; from osprofile.jobs.shell.loop import *\n"
        f"async def work():\n end_at_once_on_signal()\n {needs_loop}\n os.kill(os.getpid(), signal.SIGTERM)\n print('on')\n"
        "run_cancellable(work(), [], needs_loop=False)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGTERM, "", "")
