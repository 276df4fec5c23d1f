"""The output of jobs, read from their files while these grow.

A job has one file for all of its processes: it is sent as the output of the first one. At most
MAX_OUTPUT_SIZE of a file is sent, a part at a time, so that neither the client nor this process is
flooded.
"""

from __future__ import annotations

import asyncio
import codecs
import hashlib
import logging
import os
import tempfile
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import OSProfileError, ScriptTimeoutError
from osprofile.jobs.files.directory import JobFile

if TYPE_CHECKING:
    from _hashlib import HASH
    from collections.abc import Awaitable, Callable, Collection

    from osprofile.jobs.target_system import TargetSystem

log: Final = logging.getLogger("osprofile.ptp")
MAX_OUTPUT_SIZE: Final = 1024 * 1024
"""Bytes of one file that are sent."""
READ_SIZE: Final = 32 * 1024
"""Bytes that are sent at a time."""
POLL_INTERVAL: Final = 2.0
"""Seconds between two reads of the files of all running jobs."""
_MAX_BUSY_SHARE: Final = 0.1
"""The largest share of the time that reading may take."""


@final
@dataclass(slots=True)
class _OutputFile:
    """An output file of a job; `is_complete`: the client has all of it.

    `sent_hash` is the hash of what was sent, `offset` its length.
    """

    stream: str
    source: JobFile
    offset: int = 0
    sent_hash: HASH = field(default_factory=hashlib.sha256)
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
    """Reads the outputs of jobs.

    `send_output(job_id, stream, text)` gets them; `stream` is `stdout` or `stderr`. If it returns
    False, the text is passed again later. `on_finished(job_id, directory, paths)` is called when an
    ended job is not followed any longer; `paths` are the files that were sent whole.
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

        An empty path is ignored. If both are the same, the file is the standard output.
        """
        paths = {"stdout": stdout, "stderr": "" if stderr == stdout else stderr}
        files = [_OutputFile(s, JobFile(directory, path)) for s, path in paths.items() if path]
        if files:
            self._jobs[job_id] = _FollowedJob(directory, files)

    def mark_ended(self, job_id: str) -> None:
        """Read the rest of a job's files soon, then stop following them."""
        if job_id in self._jobs and not self._jobs[job_id].has_ended:
            self._jobs[job_id].has_ended = True
            self._wake_up.set()

    async def read_repeatedly(self, events_wanted: asyncio.Event) -> None:
        """Read all files at intervals while events are wanted; never returns."""
        while True:
            await events_wanted.wait()
            self._wake_up.clear()
            start = time.monotonic()
            more = False
            for job_id, followed in list(self._jobs.items()):
                if events_wanted.is_set():
                    more = await self._read_job(job_id, followed) or more
            took = time.monotonic() - start
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
        """Send what is new in a job's files; return whether there is more."""
        has_ended = followed.has_ended  # before the files are read for the last time
        more = False
        for file in followed.files:
            if not file.is_finished:
                more = await self._read_file(job_id, file, has_ended=has_ended) or more
        if has_ended and not more and all(file.is_finished for file in followed.files):
            self._jobs.pop(job_id, None)
            complete = [file.source.path for file in followed.files if file.is_complete]
            self._on_finished(job_id, followed.directory, complete)
        return more

    async def _read_file(self, job_id: str, file: _OutputFile, *, has_ended: bool) -> bool:
        try:
            data = await self._read_part(file.source, file.offset, READ_SIZE)
        except OSProfileError as error:  # usually it does not exist yet
            log.debug("job %s: %s", job_id, error)
            file.is_finished = has_ended or isinstance(error, ScriptTimeoutError)
            return False
        is_last = has_ended and len(data) < READ_SIZE
        text, used = _decode_part(data, final=is_last)
        if file.offset + used >= MAX_OUTPUT_SIZE:
            text += f"\n[what follows is in {file.source.path} only]\n"
        if text and not await self._send_output(job_id, file.stream, text):
            return False
        was_read_at_once = file.offset == 0
        file.sent_hash.update(data[:used])
        file.offset += used
        file.is_complete = is_last and (was_read_at_once or await self._is_unchanged(file))
        file.is_finished = is_last or file.offset >= MAX_OUTPUT_SIZE
        return len(data) == READ_SIZE and not file.is_finished

    async def _is_unchanged(self, file: _OutputFile) -> bool:
        """Return whether a file still begins with what was sent: its job may have rewritten it."""
        try:
            data = await self._read_part(file.source, 0, file.offset + 1)
        except OSProfileError as error:
            log.debug("%s", error)
            return False
        return hashlib.sha256(data).digest() == file.sent_hash.digest()

    async def _read_part(self, file: JobFile, begin: int, count: int) -> bytes:
        with tempfile.TemporaryFile() as copy:
            await self._target.files.download_file(file, copy.fileno(), begin, count)
            copy.seek(0, os.SEEK_SET)
            return copy.read()


def _decode_part(data: bytes, *, final: bool) -> tuple[str, int]:
    """Return the text of data, and its size; an incomplete character at the end is left out."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = decoder.decode(data, final)
    return text, len(data) - len(decoder.getstate()[0])
