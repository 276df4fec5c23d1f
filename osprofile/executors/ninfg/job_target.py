"""A target system for jobs, and their files there.

Files are copied by scripts, so that they get everywhere that a job can get.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import logging
import os
import socket
import time
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import (
    ApplicationNotFoundError,
    IncarnationError,
    OSProfileError,
    ScriptFailedError,
    StoreError,
)
from osprofile.executors.failures import format_error, make_refusal
from osprofile.executors.ninfg.attributes import attributes_for_field, auth_number_path, staged_path
from osprofile.jobs.files.directory import JobFile
from osprofile.jobs.profiles import load_profile
from osprofile.jobs.target_system import TargetSystem
from osprofile.jobs.timing import Timing

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO

    from osprofile.executors.errors import AttributeRefusedError
    from osprofile.executors.ninfg.attributes import Destination, JobRequest
    from osprofile.jobs.state import JobStatus

log: Final = logging.getLogger("osprofile.ninfg")
MIN_POLL_INTERVAL, MAX_POLL_INTERVAL = 0.2, 5.0
"""Seconds between two polls if the client leaves that to us; it waits for the last status."""
MAX_CONCURRENT: Final = 8
"""How many jobs are submitted at a time, and how many files are fetched."""


def is_this_host(name: str) -> bool:
    """Return whether a host name or address is this machine's; may query the name service."""
    own_name = os.uname().nodename.lower()
    host = name.lower().rstrip(".")
    if host in {"localhost", "127.0.0.1", "::1", own_name, own_name.partition(".")[0]}:
        return True
    if "@" in name:
        return False
    try:
        addresses = socket.getaddrinfo(name, None, type=socket.SOCK_DGRAM)
    except (OSError, UnicodeError):  # a name that only ssh knows
        return False
    return any(_is_local_address(family, address) for family, _, _, _, address in addresses)


def _is_local_address(family: int, address: object) -> bool:
    """Return whether an address can be bound to; nothing is sent."""
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind(address)  # type: ignore[arg-type]  # as getaddrinfo gave it
    except OSError:
        return False
    return True


def build_context(destination: Destination, *, is_local: bool) -> dict[str, str]:
    """Return the context of a destination's jobs; `is_local`: it is this machine."""
    context = {"SUBJECT": destination.subject} if destination.subject else {}
    if is_local:
        return context
    context["SSH:HOST"] = destination.hostname
    if destination.port:
        context["SSH:PORT"] = str(destination.port)
    return context


@final
class JobTarget:
    """The target system of a destination; `jobs` are its jobs, by the batch system's id."""

    def __init__(self, destination: Destination, profile_attribute: str, *, is_local: bool) -> None:
        """Raise `AttributeRefusedError` for a wrong destination."""
        context = build_context(destination, is_local=is_local)
        name = profile_attribute
        try:
            profile = load_profile(destination.profile)
            name = "hostname"
            polling = float(destination.polling)
            timing = Timing(
                min_poll_interval=polling or MIN_POLL_INTERVAL, max_poll_interval=polling or MAX_POLL_INTERVAL
            )
            self.system = TargetSystem(profile, context, timing=timing, max_parallel_scripts=MAX_CONCURRENT)
        except OSProfileError as error:
            raise refusal_from_error(error, name) from error
        self._is_connected = is_local
        self.status_listeners: dict[str, Callable[[JobStatus], object]] = {}
        self.submit_slots = asyncio.Semaphore(MAX_CONCURRENT)
        self._fetch_slots = asyncio.Semaphore(MAX_CONCURRENT)

    async def validate_request(self, request: JobRequest, directory: str) -> None:
        """Raise `AttributeRefusedError` for a request that the profile cannot fulfil."""
        description = request.build_description(directory)
        try:
            await self.system.render_start_script(description)
        except OSProfileError as error:
            name = "backend" if isinstance(error, ApplicationNotFoundError) else request.profile_attribute
            raise refusal_from_error(error, name) from error

    async def connect_once(self) -> None:
        """Connect to a remote host once, so that a wrong address fails early. Raises `TargetError`."""
        if not self._is_connected:
            await self.system.files.stat_file("/")
            self._is_connected = True

    async def stage_files(self, request: JobRequest, directory: str) -> None:
        """Copy the files of a request into a new working directory.

        Raises `TargetError`, and OSError if the executable cannot be read on this machine.
        """
        if request.is_staged:
            with open(request.executable, "rb") as file:  # noqa: ASYNC230  # a local file
                await self.system.files.upload_file(file, staged_path(request.executable, directory), 0o700)
        if request.auth_number:
            line = io.BytesIO(f"{request.auth_number}\n".encode())
            await self.system.files.upload_file(line, auth_number_path(directory), 0o600)

    async def fetch_file(self, directory: str, name: str, local_path: str) -> None:
        """Copy a file of a working directory to this machine; a missing file gives an empty one.

        Raises `TargetError`, and OSError for the local file.
        """
        async with self._fetch_slots:
            with open_output_file(local_path) as local_file:
                try:
                    await self.system.files.download_file(JobFile(directory, name), local_file.fileno())
                except ScriptFailedError:
                    if await self._has_file(directory, name):
                        raise

    async def _has_file(self, directory: str, name: str) -> bool:
        try:
            return any(entry.name == name for entry in await self.system.files.list_directory(directory))
        except ScriptFailedError:  # the directory was never created
            return False

    def forget_job(self, job_id: str | None) -> None:
        """Drop an ended job from memory and record: a server may run thousands, one by one."""
        if job_id is not None and self.status_listeners.pop(job_id, None) is not None:
            self.system.unwatch(job_id)
            with contextlib.suppress(StoreError):
                self.system.store.prune_ended_jobs(time.time())

    async def remove_directory(self, directory: str) -> None:
        """Remove a job's working directory; a failure is logged."""
        try:
            await self.system.files.delete_path(directory)
        except OSProfileError as error:
            log.warning("%s is left behind: %s", directory, format_error(error))


def open_output_file(path: str) -> IO[bytes]:
    """Open a file for output and empty it. Raises OSError, also for a pipe without a reader."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK | os.O_CLOEXEC
    handle = os.open(path, flags, 0o600)
    os.set_blocking(handle, True)
    return os.fdopen(handle, "wb", buffering=0)


def refusal_from_error(error: OSProfileError, default_attribute: str) -> AttributeRefusedError:
    """Return an error about a field as one about the attributes that the field comes from."""
    name = default_attribute
    if isinstance(error, IncarnationError):
        name = " or ".join(attributes_for_field(error.field)) or default_attribute
    return make_refusal(name, error.message, error.hint)
