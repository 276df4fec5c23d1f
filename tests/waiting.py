"""Wait for what another process does."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

Found = TypeVar("Found")
PATIENCE = 300.0
"""Seconds after which it does not happen any more: only to end a test that hangs, on the slowest machine too."""


def wait_until(
    condition: Callable[[], Found | None], seconds: float = PATIENCE, *, every: float = 0.02
) -> Found:
    """Wait until a function returns something true, and return it."""
    deadline = time.monotonic() + seconds
    while True:
        begin = time.monotonic()
        if found := condition():
            return found
        assert begin < deadline, condition
        # What starts programs to find out would take the time of those it waits for.
        time.sleep(max(every, 2 * (time.monotonic() - begin)))


def wait_for_file(path: Path, text: str | None = None) -> None:
    """Wait until a file is there, with this text if one is given."""
    wait_until(lambda: path.exists() and (text is None or path.read_text() == text))


async def wait_until_async(condition: Callable[[], object]) -> None:
    """Wait until a function returns something true, while other coroutines run."""
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def cancel_after_turns(task: asyncio.Future[Any], turns: int, begun: Path) -> None:
    """Cancel a task after so many turns of the event loop; before, wait for the file of its process while the loop stands still."""
    for _ in range(turns):
        await asyncio.sleep(0)
    wait_for_file(begun)
    task.cancel()
    await asyncio.wait((task,))


def end_processes(directory: Path) -> None:
    """Kill the processes that work in a directory, or below it, and wait until they have ended."""

    def have_ended() -> bool:
        left = list(_find_processes(f"{directory}/"))
        for pid in left:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        return not left

    wait_until(have_ended)


def _find_processes(prefix: str) -> Iterator[int]:
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            with suppress(OSError):  # it has ended, or is another user's
                if f"{os.readlink(f'/proc/{name}/cwd')}/".startswith(prefix):
                    yield int(name)
