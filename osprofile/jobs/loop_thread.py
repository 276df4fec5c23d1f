"""One event loop in a thread of its own, for callers that are not asynchronous.

All sessions of a process share it. The thread is a daemon: it does not keep the interpreter from exiting.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import threading
from typing import TYPE_CHECKING, Any, Final, TypeVar, final

if TYPE_CHECKING:
    from collections.abc import Coroutine

T = TypeVar("T")
_CANCEL_TIMEOUT: Final = 10.0
"""Seconds to wait for an operation that was cancelled; it ends the scripts that it runs."""


@final
class LoopThread:
    """An event loop that runs in a daemon thread until the process ends."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="osprofile", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    def run(self, operation: Coroutine[Any, Any, T], timeout: float | None = None) -> T:
        """Run a coroutine in the loop and return its result, from any other thread.

        Raises `TimeoutError` after `timeout` seconds. Then, and when the caller is interrupted, the
        coroutine is cancelled first.
        """
        if threading.current_thread() is self._thread:
            operation.close()
            message = "a blocking call inside osprofile's event loop would wait for itself"
            raise RuntimeError(message)
        if timeout is not None:
            operation = _run_with_limit(operation, timeout)
        future = asyncio.run_coroutine_threadsafe(operation, self.loop)
        try:
            return future.result()
        except BaseException:
            if not future.done():
                self._cancel(future)
            raise

    def pause(self) -> threading.Event:
        """Let the loop do nothing until the event that is returned is set; wait until it begins to."""
        paused, resume = threading.Event(), threading.Event()

        def wait() -> None:
            paused.set()
            resume.wait()

        if threading.current_thread() is not self._thread:
            self.loop.call_soon_threadsafe(wait)
            paused.wait()
        return resume

    def _cancel(self, future: concurrent.futures.Future[Any]) -> None:
        """Cancel a coroutine, and wait until it has ended its scripts."""
        future.cancel()  # done at once; the task itself ends later
        ended = asyncio.run_coroutine_threadsafe(_wait_for_cancelled_tasks(), self.loop)
        try:
            ended.result(_CANCEL_TIMEOUT)
        except (concurrent.futures.TimeoutError, concurrent.futures.CancelledError):
            return


async def _run_with_limit(operation: Coroutine[Any, Any, T], limit: float) -> T:
    try:
        return await asyncio.wait_for(operation, limit)
    except TimeoutError as error:
        if str(error):  # of the operation itself
            raise
        raise TimeoutError(format_timeout(limit)) from None


def format_timeout(timeout: float) -> str:
    """Return the text of the `TimeoutError` after `timeout` seconds."""
    return f"not done after {timeout:g} s; the jobs go on"


async def _wait_for_cancelled_tasks() -> None:
    """Wait until all tasks that were cancelled have ended."""
    await asyncio.sleep(0)  # the cancellation itself is a callback of the loop
    own = asyncio.current_task()
    cancelled = [task for task in asyncio.all_tasks() if task is not own and task.cancelling()]
    if cancelled:
        await asyncio.wait(cancelled)


_lock = threading.Lock()
_current: LoopThread | None = None


def get_loop_thread() -> LoopThread:
    """Return this process's loop thread, which is started at the first call."""
    global _current  # noqa: PLW0603  # one for each process
    with _lock:
        if _current is None:
            _current = LoopThread()
        return _current


_forking: Final = threading.local()


def _pause_loop() -> None:
    """Pause the loop during a fork: a lock that it holds then, such as SQLite's, stays locked in the child."""
    _forking.resume = _current.pause() if _current is not None else threading.Event()


def _resume_loop() -> None:
    _forking.resume.set()


def _forget_loop_thread() -> None:
    """Forget the loop in a child process: it has no other thread than the one that forked."""
    global _current, _lock
    _current, _lock = None, threading.Lock()


os.register_at_fork(before=_pause_loop, after_in_parent=_resume_loop, after_in_child=_forget_loop_thread)
