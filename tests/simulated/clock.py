"""Simulated time: it stands still while anyone works, and jumps to the next moment for which someone waits.

The cluster keeps the time. Each process that lives in it is a participant: it says until when it sleeps, and
that it is awake again. So a week passes as fast as the work of a week can be done, and no process is ever late.
A process that was killed holds the time until its successor is there.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import mmap
import os
import selectors
import socket
import struct
import time
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pathlib import Path

BEGIN: Final = 2_000_000_000.0
"""When simulated time begins (s since 1970)."""
_read_clock: Final = time.monotonic
_PATIENCE: Final = 5.0
"""Real seconds for which a process at work waits before it looks again at what it waits for."""
_REAL_SHARE: Final = 1e-3
"""Seconds that one second of real time adds to what processes read: for them, no two moments are equal."""
_DOUBLE: Final = struct.Struct("d")


class Time:
    """The simulated time in a file, which all participants map: seconds since it began."""

    def __init__(self, path: Path) -> None:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        os.truncate(descriptor, _DOUBLE.size)
        self._map = mmap.mmap(descriptor, _DOUBLE.size)
        os.close(descriptor)

    @property
    def now(self) -> float:
        return float(_DOUBLE.unpack_from(self._map)[0])

    @now.setter
    def now(self, value: float) -> None:
        _DOUBLE.pack_into(self._map, 0, value)

    def wall_clock(self) -> float:
        """Return the time as `time.time` does."""
        return BEGIN + self.now + _read_clock() * _REAL_SHARE

    def monotonic(self) -> float:
        """Return the time as `time.monotonic` does."""
        return self.now + _read_clock() * _REAL_SHARE


class Participant:
    """This process's place in the simulated time of the cluster in a directory."""

    def __init__(self, root: Path, name: str, *, may_die: bool = False) -> None:
        self.time = Time(root / "time")
        self.connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.connection.connect(str(root / "clock"))
        self._numbers = itertools.count(1)
        self._sleep = 0
        self.is_working = False
        """Whether another thread than that of the event loop does something."""
        self._say(hello=name, pid=os.getpid(), may_die=may_die)

    def _say(self, **words: object) -> None:
        self.connection.send(json.dumps(words).encode())

    def fall_asleep(self, until: float) -> None:
        """Say that there is nothing to do until a moment of `Time.now`, which may be inf."""
        self._sleep = next(self._numbers)
        self._say(sleep=self._sleep, until=until)

    def wake_up(self) -> None:
        """Say that there is something to do."""
        self._say(awake=True)

    def is_woken(self) -> bool:
        """Read a message of the cluster; return whether the moment has come."""
        return int(self.connection.recv(64)) == self._sleep

    def leave(self) -> None:
        """Say that time need not wait for this process any more."""
        self._say(bye=True)
        self.connection.close()

    async def sleep(self, seconds: float) -> None:
        """Sleep within an event loop that runs in real time, as the client of a simulated process does."""
        self.fall_asleep(self.time.now + seconds)
        self.connection.setblocking(False)
        try:
            while int(await asyncio.get_running_loop().sock_recv(self.connection, 64)) != self._sleep:
                pass
        finally:
            self.connection.setblocking(True)
            self.wake_up()


class _Selector(selectors.EpollSelector):
    """Waits in simulated time.

    While other files than the loop's own are watched, scripts run, and time stands still; so it does while another
    thread is at work.
    """

    def __init__(self, participant: Participant, own_files: int) -> None:
        super().__init__()
        self._participant, self._own_files = participant, own_files + 1  # and the clock's
        self.register(participant.connection, selectors.EVENT_READ)

    def select(self, timeout: float | None = None) -> list[Any]:
        clock = self._participant
        ready = self._ready(0)
        if ready or (timeout is not None and timeout <= 0):
            return ready
        if len(self.get_map()) > self._own_files or clock.is_working:
            return self._ready(_PATIENCE)
        clock.fall_asleep(clock.time.now + timeout if timeout is not None else float("inf"))
        while True:
            events = super().select(None)
            ready = [e for e in events if e[0].fileobj is not clock.connection]
            is_due = len(ready) < len(events) and clock.is_woken()
            if ready or is_due:
                clock.wake_up()
                return ready

    def _ready(self, seconds: float) -> list[Any]:
        clock = self._participant
        ready = []
        for event in super().select(seconds):
            if event[0].fileobj is clock.connection:
                clock.is_woken()  # of a sleep that has ended already
            else:
                ready.append(event)
        return ready


def live_in(root: Path, name: str, own_files: int) -> Participant:
    """Have this process live in simulated time, before it imports osprofile.

    `own_files` is how many files its event loop watches while nothing is done: its own, and a client's pipe.
    """
    participant = Participant(root, name, may_die=True)
    time.time = participant.time.wall_clock
    time.monotonic = participant.time.monotonic
    os.environ["SIMULATED_SESSION"] = str(os.getpid())

    class Policy(asyncio.DefaultEventLoopPolicy):
        def new_event_loop(self) -> asyncio.AbstractEventLoop:
            return asyncio.SelectorEventLoop(_Selector(participant, own_files))

    asyncio.set_event_loop_policy(Policy())
    return participant
