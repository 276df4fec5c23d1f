"""A place for jobs: a target system, and the files that go there and come back.

Files travel as scripts do, so that they reach every place that a job can reach.
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
    AttributeRefusedError,
    IncarnationError,
    OSProfileError,
    ScriptFailedError,
    StoreError,
)
from osprofile.executors.ninfg.attributes import (
    attributes_of,
    auth_number_path,
    sentence,
    staged_path,
)
from osprofile.incarnation.context import unique_name, user_name, working_directory
from osprofile.incarnation.incarnate import incarnate
from osprofile.target.job import request_of
from osprofile.target.pace import Timing
from osprofile.target.system import TargetSystem

if TYPE_CHECKING:
    from typing import IO

    from osprofile.executors.ninfg.attributes import Order, Place
    from osprofile.executors.ninfg.job import Job
    from osprofile.profile.repository import Repository

log: Final = logging.getLogger("osprofile.ninfg")
FASTEST, SLOWEST = 0.2, 5.0
"""Seconds between two polls where the client leaves that to us: it waits for a job's last state."""
AT_ONCE: Final = 8
"""How many jobs are submitted, and how many files are fetched, at a time."""


def is_this_host(name: str) -> bool:
    """Say whether a host's name, or address, is one of this machine's; may ask the name service."""
    here = os.uname().nodename.lower()
    plain = name.lower().rstrip(".")
    if plain in {"localhost", "127.0.0.1", "::1", here, here.partition(".")[0]}:
        return True
    if "@" in name:
        return False
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_DGRAM)
    except (OSError, UnicodeError):  # a name that only ssh knows
        return False
    return any(_is_ours(family, address) for family, _, _, _, address in found)


def _is_ours(family: int, address: object) -> bool:
    """Say whether an address can be bound to: nothing is sent."""
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind(address)  # type: ignore[arg-type]  # as getaddrinfo gave it
    except OSError:
        return False
    return True


def context_of(place: Place, *, here: bool) -> dict[str, str]:
    """Give the context of a place's jobs; `here`: it is this machine."""
    context = {"SUBJECT": place.subject} if place.subject else {}
    if here:
        return context
    context["SSH:HOST"] = place.hostname
    if place.port:
        context["SSH:PORT"] = str(place.port)
    return context


@final
class Site:
    """One place, open; `jobs` are those that it has, by their ids there."""

    def __init__(self, place: Place, repository: Repository, *, here: bool) -> None:
        """Raise `AttributeRefusedError` for a place that cannot be."""
        context = context_of(place, here=here)
        name = "jobmanager"
        try:
            self.profile = repository.load(place.profile)
            name = "hostname"
            polling = float(place.polling)
            timing = Timing(fastest=polling or FASTEST, slowest=polling or SLOWEST)
            self.system = TargetSystem(self.profile, context, timing=timing, at_once=AT_ONCE)
        except OSProfileError as error:
            raise refused(error, name) from error
        at = context.get("SSH:HOST", "").rpartition("@")[0]
        self._user = at or user_name()
        self._context = {"USER_NAME": self._user, **context}
        self._reached = here
        self.jobs: dict[str, Job] = {}
        self.submitting, self._fetching = asyncio.Semaphore(AT_ONCE), asyncio.Semaphore(AT_ONCE)

    def new_directory(self) -> str:
        """Give a path for the working directory of one more job."""
        return working_directory(self.profile, self._user, unique_name())

    def check(self, order: Order, directory: str) -> None:
        """Raise `AttributeRefusedError` for an order that this profile cannot fulfil."""
        description = order.description(directory)
        context = {**self._context, "WORKING_DIRECTORY": directory}
        try:
            incarnate(
                self.profile,
                "START",
                fields=request_of(description),
                application=description.application,
                context=context,
                strict=True,
            )
        except OSProfileError as error:
            name = "backend" if isinstance(error, ApplicationNotFoundError) else "jobmanager"
            raise refused(error, name) from error

    async def reach(self) -> None:
        """Connect once where that is needed, so that no later failure means a wrong address.

        Raises `TargetError`.
        """
        if not self._reached:
            await self.system.stat("/")
            self._reached = True

    async def stage(self, order: Order, directory: str) -> None:
        """Bring what an order takes there from this machine into a new working directory.

        Raises `TargetError`, and OSError where an executable cannot be read here.
        """
        if order.staged:
            with open(order.executable, "rb") as file:  # noqa: ASYNC230  # a local file
                await self.system.put(file, staged_path(order.executable, directory), 0o700)
        if order.auth_number:
            line = io.BytesIO(f"{order.auth_number}\n".encode())
            await self.system.put(line, auth_number_path(directory), 0o600)

    async def fetch(self, directory: str, name: str, file: str) -> None:
        """Write a file of a working directory into one here; one that is not there is empty.

        Raises `TargetError`, and OSError for the file here.
        """
        async with self._fetching:
            with opened(file) as here:
                try:
                    await self.system.get(f"{directory}/{name}", here.fileno())
                except ScriptFailedError:
                    if await self._has(directory, name):
                        raise

    async def _has(self, directory: str, name: str) -> bool:
        try:
            return any(entry.name == name for entry in await self.system.list(directory))
        except ScriptFailedError:  # it was never made
            return False

    def forget(self, job_id: str | None) -> None:
        """Keep nothing of a job that has ended: a server may have thousands, one by one."""
        if job_id is not None and self.jobs.pop(job_id, None) is not None:
            self.system.unwatch(job_id)
            with contextlib.suppress(StoreError):
                self.system.store.prune(time.time())

    async def remove(self, directory: str) -> None:
        """Remove a job's working directory; what fails is logged."""
        try:
            await self.system.delete(directory)
        except OSProfileError as error:
            log.warning("%s is left behind: %s", directory, sentence(error))


def opened(file: str) -> IO[bytes]:
    """Open a file for output, empty; a pipe that nobody reads is an OSError."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK | os.O_CLOEXEC
    handle = os.open(file, flags, 0o600)
    os.set_blocking(handle, True)
    return os.fdopen(handle, "wb", buffering=0)


def refused(error: OSProfileError, otherwise: str) -> AttributeRefusedError:
    """Give an error of a profile's field as one of the attributes that the field comes from."""
    name = otherwise
    if isinstance(error, IncarnationError):
        name = " or ".join(attributes_of(error.field)) or otherwise
    return AttributeRefusedError(
        f"attribute {name}: {error.message}", attribute=name, hint=error.hint
    )
