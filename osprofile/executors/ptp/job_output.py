"""What the processes of jobs write, read from the job's files while it grows.

A batch system has one file for all processes of a job: it is told as the first process's. No more
than LIMIT of a file is told, a part at a time, so that neither a client nor this process is flooded.
"""

from __future__ import annotations

import asyncio
import codecs
import hashlib
import logging
import os
import posixpath
import tempfile
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import OSProfileError, ScriptTimeoutError

if TYPE_CHECKING:
    from _hashlib import HASH
    from collections.abc import Awaitable, Callable, Collection

    from osprofile.jobs.target_system import TargetSystem

log: Final = logging.getLogger("osprofile.ptp")
MAX_OUTPUT_SIZE: Final = 1024 * 1024
"""Bytes of one file that are told."""
READ_SIZE: Final = 32 * 1024
"""Bytes that are told at a time."""
POLL_INTERVAL: Final = 2.0
"""Seconds between two looks at the files of all jobs that run."""
_MAX_BUSY_SHARE: Final = 0.1


@final
@dataclass(slots=True)
class _OutputFile:
    """A job's output; `is_complete`: all of it was told, with nothing cut off and nothing unread.

    `quote_name` is the digest of what was told of it, `offset` its length.
    """

    stream: str
    path: str
    offset: int = 0
    told: HASH = field(default_factory=hashlib.sha256)
    is_finished: bool = False
    is_complete: bool = False


@final
@dataclass(slots=True)
class _FollowedJob:
    directory: str
    files: list[_OutputFile] = field(default_factory=list)
    has_ended: bool = False


@final
class OutputFollower:
    """The outputs of jobs.

    `tell(job_id, stream, text)` gets them, `stream` being `stdout` or `stderr`; where it gives
    False the text is not told now, and comes again. `finished(job_id, directory, paths)` is called when
    an ended job is followed no longer; `paths` are the files of which all was told.
    """

    def __init__(
        self,
        target: TargetSystem,
        send_output: Callable[[str, str, str], Awaitable[bool]],
        on_finished: Callable[[str, str, Collection[str]], object],
        interval: float = POLL_INTERVAL,
    ) -> None:
        self._target, self._send_output, self._interval = target, send_output, interval
        self._on_finished = on_finished
        self._jobs: dict[str, _FollowedJob] = {}
        self._wake_up = asyncio.Event()

    def follow_job(self, job_id: str, directory: str, stdout: str, stderr: str) -> None:
        """Follow a job's files; relative paths begin at its working directory.

        An empty path is none; where both are the same, it is the standard output's.
        """
        paths = {"stdout": stdout, "stderr": "" if stderr == stdout else stderr}
        files = [
            _OutputFile(s, posixpath.join(directory, path)) for s, path in paths.items() if path
        ]
        if files:
            self._jobs[job_id] = _FollowedJob(directory, files)

    def mark_ended(self, job_id: str) -> None:
        """Read the rest of a job's files soon, and follow them no longer."""
        if job_id in self._jobs and not self._jobs[job_id].has_ended:
            self._jobs[job_id].has_ended = True
            self._wake_up.set()

    def restart_all(self) -> None:
        """Tell from the beginning what is followed: the client knows nothing any more."""
        for followed in self._jobs.values():
            # New ones: one of them may be being read just now.
            followed.files = [_OutputFile(file.stream, file.path) for file in followed.files]

    async def read_repeatedly(self, events_wanted: asyncio.Event) -> None:
        """Read, again and again while it is wanted, for ever."""
        while True:
            await events_wanted.wait()
            self._wake_up.clear()
            begun = time.monotonic()
            more = False
            for job_id, followed in list(self._jobs.items()):
                if events_wanted.is_set():
                    more = await self._read_job(job_id, followed) or more
            took = time.monotonic() - begun
            await self._wait_for_wake_up(
                0.0 if more else max(self._interval, took * (1 / _MAX_BUSY_SHARE - 1))
            )

    async def _wait_for_wake_up(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._wake_up.wait()
        except TimeoutError:
            return

    async def _read_job(self, job_id: str, followed: _FollowedJob) -> bool:
        """Tell what is new in a job's files; say whether there is more."""
        has_ended = followed.has_ended  # before the files are read for the last time
        more = False
        for file in followed.files:
            if not file.is_finished:
                more = await self._read_file(job_id, file, has_ended=has_ended) or more
        if has_ended and not more and all(file.is_finished for file in followed.files):
            self._jobs.pop(job_id, None)
            whole = [file.path for file in followed.files if file.is_complete]
            self._on_finished(job_id, followed.directory, whole)
        return more

    async def _read_file(self, job_id: str, file: _OutputFile, *, has_ended: bool) -> bool:
        try:
            data = await self._read_part(file.path, file.offset, READ_SIZE)
        except OSProfileError as error:  # it is not there yet, as a rule
            log.debug("job %s: %s", job_id, error)
            file.is_finished = has_ended or isinstance(error, ScriptTimeoutError)
            return False
        is_last = has_ended and len(data) < READ_SIZE
        text, used = _decode_part(data, final=is_last)
        if file.offset + used >= MAX_OUTPUT_SIZE:
            text += f"\n[what follows is in {file.path} only]\n"
        if text and not await self._send_output(job_id, file.stream, text):
            return False
        was_read_at_once = file.offset == 0
        file.told.update(data[:used])
        file.offset += used
        file.is_complete = is_last and (was_read_at_once or await self._is_as_told(file))
        file.is_finished = is_last or file.offset >= MAX_OUTPUT_SIZE
        return len(data) == READ_SIZE and not file.is_finished

    async def _is_as_told(self, file: _OutputFile) -> bool:
        """Read a file once more: its job may have emptied it and written it anew meanwhile."""
        try:
            data = await self._read_part(file.path, 0, file.offset + 1)
        except OSProfileError as error:
            log.debug("%s", error)
            return False
        return hashlib.sha256(data).digest() == file.told.digest()

    async def _read_part(self, path: str, begin: int, count: int) -> bytes:
        with tempfile.TemporaryFile() as there:
            await self._target.download_file(path, there.fileno(), begin, count)
            there.seek(0, os.SEEK_SET)
            return there.read()


def _decode_part(data: bytes, *, final: bool) -> tuple[str, int]:
    """Give text, and of how many bytes; a character's first bytes wait for the others."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = decoder.decode(data, final)
    return text, len(data) - len(decoder.getstate()[0])
