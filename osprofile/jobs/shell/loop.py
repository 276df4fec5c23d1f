"""Run a command's coroutine without an event loop until it needs one: importing asyncio takes most of a short command's time.

Without a loop, nothing else runs in the thread. Whatever waits for a script waits for nothing else (`run_process`); whatever
waits in another way awaits `need_loop` before, and from there on the coroutine runs in an event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import signal
import threading
import time
from types import coroutine
from typing import TYPE_CHECKING, Final, Generic, ParamSpec, Self, TypeVar, cast, final

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator, Sequence
    from types import FrameType, TracebackType
    from typing import Any

T = TypeVar("T")
P = ParamSpec("P")
_TERMINATION_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@final
class _Beginning:
    """The part of a coroutine that runs without an event loop, in one thread, with the signals that it has received."""

    def __init__(self, received: list[int]) -> None:
        self.thread, self.received = threading.get_ident(), received
        self.is_waiting = self.is_cancelled = self.ends_at_once = False
        self.callbacks: list[Callable[[], object]] = []

    def call_back(self) -> None:
        """Call what `call_soon` has noted."""
        while self.callbacks:
            self.callbacks.pop(0)()

    def note_signal(self, number: int, _frame: FrameType | None) -> None:
        """Cancel what waits, now or next, as an event loop does: nothing else is interrupted."""
        self.received.append(number)
        self.is_cancelled = True
        if self.is_waiting:
            self.raise_if_cancelled()

    def raise_if_cancelled(self) -> None:
        """Raise `asyncio.CancelledError` once for a signal: what cleans up is not cancelled."""
        if self.is_cancelled:
            self.is_cancelled = False
            raise asyncio.CancelledError


_beginnings: Final[dict[int, _Beginning]] = {}
"""By thread."""


def has_loop() -> bool:
    """Return whether the coroutine that calls this runs in an event loop."""
    return threading.get_ident() not in _beginnings


@coroutine
def need_loop() -> Generator[None, None, None]:
    """Run the rest of the coroutine in an event loop."""
    if not has_loop():
        yield  # to `run_cancellable`


def call_soon(callback: Callable[..., object], *args: object) -> None:
    """Call a function when the coroutine waits next, or has ended."""
    if has_loop():
        asyncio.get_running_loop().call_soon(callback, *args)
    else:
        _beginnings[threading.get_ident()].callbacks.append(functools.partial(callback, *args))


async def gather(works: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """Return the results of coroutines that run side by side; a single one needs no event loop."""
    if not has_loop() and len(works) < 2:
        results = [await work for work in works]
        if not has_loop():
            _beginnings[threading.get_ident()].call_back()
        return results
    await need_loop()
    return await asyncio.gather(*works)


async def to_thread(function: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """Call a function that takes some time in a thread, so that others can run meanwhile."""
    if has_loop():
        return await asyncio.to_thread(function, *args, **named)
    return function(*args, **named)


async def shield(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine that is not cancelled with the one that awaits it."""
    return await (asyncio.shield(work) if has_loop() else work)


async def pause(seconds: float) -> None:
    """Wait for a short time; without an event loop, no signal ends it."""
    if has_loop():
        await asyncio.sleep(seconds)
    else:
        time.sleep(seconds)  # noqa: ASYNC251  # nothing else runs


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Let a signal raise `asyncio.CancelledError` inside the context, in a thread without an event loop."""
    beginning = _beginnings[threading.get_ident()]
    beginning.call_back()
    beginning.is_waiting = True
    try:
        beginning.raise_if_cancelled()
        yield
    finally:
        beginning.is_waiting = False


def run_cancellable(work: Coroutine[Any, Any, T], received: list[int], *, needs_loop: bool = True) -> T:
    """Run a coroutine, and cancel it if a signal arrives that would end this process.

    The signal's number is appended to `received`. Without `needs_loop`, there is no event loop before the first `need_loop`.
    """
    if needs_loop:
        return asyncio.run(cancel_on_signal(work, received))
    beginning = _Beginning(received)
    handlers = {number: signal.signal(number, beginning.note_signal) for number in _list_signals()}
    _beginnings[beginning.thread] = beginning
    try:
        work.send(None)
        run_loop = asyncio.run  # imports it
    except StopIteration as end:
        return cast("T", end.value)
    finally:
        beginning.call_back()
        del _beginnings[beginning.thread]
        for number, handler in handlers.items():
            signal.signal(number, handler or signal.SIG_DFL)
    rest = _resume(work, ends_at_once=beginning.ends_at_once)
    return run_loop(cancel_on_signal(rest, received, is_cancelled=beginning.is_cancelled))


async def _resume(work: Coroutine[Any, Any, T], *, ends_at_once: bool) -> T:
    """Run the rest of a coroutine that has begun."""
    if ends_at_once:
        end_at_once_on_signal()
    return await _Rest(work)


@final
class _Rest(Generic[T]):
    """A coroutine that has begun: `await` takes none that is inside another `await`."""

    def __init__(self, work: Coroutine[Any, Any, T]) -> None:
        self._work = work

    def __await__(self) -> Generator[Any, Any, T]:
        return self._work.__await__()


async def cancel_on_signal(work: Awaitable[T], received: list[int], *, is_cancelled: bool = False) -> T:
    """Await `work`, and cancel it if a signal arrives that would end this process; with `is_cancelled`, at once.

    The signal's number is appended to `received`.
    """
    task = asyncio.ensure_future(work)

    def stop(number: int) -> None:
        received.append(number)
        task.cancel()

    for number in _list_signals():
        asyncio.get_running_loop().add_signal_handler(number, stop, number)
    if is_cancelled:  # once it has begun: else it would not clean up
        asyncio.get_running_loop().call_soon(task.cancel)
    return await task


def end_at_once_on_signal() -> None:
    """Let a signal end this process at once, in `run_cancellable`, whenever it has no child, and so runs no script.

    For what only reads: the event loop, which cancels it, may not run for many seconds while a large record is read.
    """
    if not has_loop():
        _beginnings[threading.get_ident()].ends_at_once = True
    for number in _list_signals():
        notice = signal.getsignal(number)

        def end(number: int, frame: FrameType | None, notice: object = notice) -> None:
            try:
                os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                signal.signal(number, signal.SIG_DFL)
                os.kill(os.getpid(), number)
            if callable(notice):  # without an event loop, which gets it anyway
                notice(number, frame)

        signal.signal(number, end)


def _list_signals() -> list[int]:
    """Return the signals that would end this process."""
    is_main = threading.current_thread() is threading.main_thread()
    numbers = _TERMINATION_SIGNALS if is_main else ()
    return [n for n in numbers if signal.getsignal(n) != signal.SIG_IGN]  # nohup ignores HUP


@final
class Turns:
    """So many may hold it at a time: as `asyncio.Semaphore`, and also for coroutines without an event loop."""

    def __init__(self, count: int = 1) -> None:
        self._free = count
        self._semaphore: asyncio.Semaphore | None = None

    @property
    def are_taken(self) -> bool:
        """Whether whoever wants one now has to wait."""
        return self._semaphore.locked() if self._semaphore is not None else not self._free

    async def __aenter__(self) -> Self:
        if self._semaphore is None and has_loop():
            self._semaphore = asyncio.Semaphore(self._free)
        if self._semaphore is not None:
            await self._semaphore.acquire()
        else:
            self._free -= 1  # nobody else runs
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._semaphore is not None:
            self._semaphore.release()
        else:
            self._free += 1
