"""Notice the files that ended jobs leave on this machine, so that the query for their states need not wait.

END_FILES of GET_JOB_STATUS names the files that a job's end writes in its working directory. This is only a
reason to query sooner: where nothing is noticed, as on a network file system, polls find the end.
"""

from __future__ import annotations

import ctypes
import os
import struct
from typing import TYPE_CHECKING, Final, final

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterable

_WRITTEN: Final = 0x8
_MOVED_TO: Final = 0x80
_QUEUE_OVERFLOW: Final = 0x4000
_ONLY_DIRECTORY: Final = 0x01000000
_EVENT: Final = struct.Struct("iIII")
"""Watch, mask, cookie and the size of the name that follows, see inotify(7)."""
_READ_SIZE: Final = 64 * 1024


@final
class EndFileWatcher:
    """Calls `on_end` when a file with one of the names is written in one of the directories, by inotify(7).

    On a system without inotify, and beyond its limits, nothing is noticed.
    """

    def __init__(
        self, file_names: Iterable[str], on_end: Callable[[], None], loop: asyncio.AbstractEventLoop
    ) -> None:
        self._file_names = frozenset(map(os.fsencode, file_names))
        self._on_end, self._loop = on_end, loop
        self._watches: dict[str, int] = {}
        """The watches by job id."""
        self._libc = ctypes.CDLL(None, use_errno=True)
        try:
            self._descriptor = self._libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        except AttributeError:  # not Linux
            self._descriptor = -1
        if self._descriptor >= 0:
            loop.add_reader(self._descriptor, self._read_events)

    def watch(self, job_id: str, directory: str) -> None:
        """Watch the working directory of a job. If the job has ended already, `on_end` is called at once."""
        if self._descriptor < 0 or job_id in self._watches:
            return
        path, mask = os.fsencode(directory), _MOVED_TO | _WRITTEN | _ONLY_DIRECTORY
        watch = self._libc.inotify_add_watch(self._descriptor, path, mask)
        if watch >= 0:
            self._watches[job_id] = watch
            if any(os.path.exists(os.path.join(path, name)) for name in self._file_names):
                self._on_end()

    def unwatch(self, job_id: str) -> None:
        """Forget a job."""
        if (watch := self._watches.pop(job_id, None)) is not None:
            self._libc.inotify_rm_watch(self._descriptor, watch)

    def _read_events(self) -> None:
        try:
            data = os.read(self._descriptor, _READ_SIZE)
        except BlockingIOError:
            return
        position, has_ended = 0, False
        while position < len(data):
            _, mask, _, size = _EVENT.unpack_from(data, position)
            position += _EVENT.size + size
            name = data[position - size : position].rstrip(b"\0")
            has_ended = has_ended or name in self._file_names or bool(mask & _QUEUE_OVERFLOW)
        if has_ended:
            self._on_end()

    def close(self) -> None:
        """Watch nothing any more."""
        if self._descriptor >= 0:
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1
        self._watches.clear()
