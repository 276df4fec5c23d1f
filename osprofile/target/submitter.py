"""Submitting a job once: written down before, found again after whatever cut it off.

START submits at most once for a working directory and can be repeated there. So a submission whose
outcome is not known stays in the record, and is completed by running START again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from typing import TYPE_CHECKING, Final, NamedTuple, final

from osprofile.errors import (
    OSProfileError,
    OutputError,
    ScriptCutError,
    ScriptFailedError,
    StoreError,
    SubmissionBusyError,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from osprofile.target.job import JobDescription
    from osprofile.target.scripts import Scripts
    from osprofile.target.store import Record, Store

log: Final = logging.getLogger("osprofile.target")
REMEMBERED: Final = 90 * 86400.0
"""Seconds for which the ends of jobs stay in the record."""


_NOT_KNOWN: Final = 75
"""START ends so (EX_TEMPFAIL) where it cannot tell whether the batch system has the job."""
_HINT: Final = "START can be repeated for the same directory: it submits once"


@final
class Recovered(NamedTuple):
    """A submission that was cut off: its job's id, or why it still has none."""

    record: Record
    job_id: str | None
    error: OSProfileError | None = None


@final
class Submitter:
    """Submits the jobs of one target; `taken(record, job_id)` hears of each that has an id now."""

    def __init__(
        self, target: str, scripts: Scripts, store: Store, taken: Callable[[Record, str], None]
    ) -> None:
        self._target, self._scripts, self._store, self._taken = target, scripts, store, taken
        self._unrecorded: dict[int, str] = {}
        self._pruned = False

    async def submit(self, description: JobDescription, *, key: str | None, strict: bool) -> str:
        """Submit a job, or complete the submission of that key; see `TargetSystem.submit`."""
        if key is not None and (record := self._store.find_key(self._target, key)) is not None:
            return record.status.job_id or await self._complete(record)
        made = self._scripts.submission(description, strict=strict)
        self._prune()
        record = self._store.begin(
            self._target,
            made.directory,
            script=made.script,
            key=key,
            name=description.name or "",
            walltime=description.walltime,
        )
        return await self._submit(record)

    def _prune(self) -> None:
        """Forget what ended long ago, once a process: who adds to the record keeps it small."""
        if not self._pruned:
            self._pruned = True
            self._store.prune(time.time() - REMEMBERED)

    async def recover(self, *, resubmit: bool) -> list[Recovered]:
        """Complete what was cut off; see `TargetSystem.recover`."""
        work = (self._recover(record, resubmit) for record in self._store.cut(self._target))
        return await asyncio.gather(*work)

    async def _recover(self, record: Record, resubmit: bool) -> Recovered:
        try:
            job_id = await (self._complete(record) if resubmit else self._find(record))
        except OSProfileError as error:
            return Recovered(record, None, error)
        return Recovered(record, job_id)

    async def _complete(self, record: Record) -> str:
        if record.number in self._unrecorded:
            return self._done(record, self._unrecorded[record.number])
        if self._store.take(record.number):
            return await self._submit(record, again=True)
        again = self._store.find_directory(self._target, record.directory)
        if again is not None and again.is_submitted:
            return again.status.job_id
        message = f"the job in {record.directory} is being submitted by another process"
        raise SubmissionBusyError(message, hint="try again when that has ended")

    async def _find(self, record: Record) -> str | None:
        if await self._scripts.submitted_in(record.directory) is None:
            return None
        # START submits nothing there any more, but makes what is missing: the job's link, for one.
        return await self._complete(record)

    async def _submit(self, record: Record, *, again: bool = False) -> str:
        """Run START for a record that this process owns; `again`: it may have submitted before."""
        settled = False
        try:
            job_id = await self._start(record)
            settled = True
        except ScriptCutError:
            raise  # it may have been submitted
        except OSProfileError:
            if again:
                raise  # this START failed, an earlier one may have submitted it
            settled = True
            self._put_down(self._store.forget, record)
            raise
        finally:
            if not settled:
                self._put_down(self._store.release, record)
        return self._done(record, job_id)

    @staticmethod
    def _put_down(change: Callable[[int], None], record: Record) -> None:
        """Change the record of a submission that failed: why it failed is what matters."""
        try:
            change(record.number)
        except StoreError as error:
            log.error("the submission in %s is not recorded: %s", record.directory, error)  # noqa: TRY400

    async def _start(self, record: Record) -> str:
        script = record.script or ""
        try:
            return await self._scripts.submit(script)
        except (ScriptFailedError, OutputError) as error:
            # It may have failed after the batch system had taken the job.
            message = f"{error.message}; whether the job was submitted is not known"
            try:
                job_id = await self._scripts.submitted_in(record.directory)
            except OSProfileError as second:
                raise ScriptCutError(f"{message}: {second}", hint=_HINT) from error
            if job_id is None:
                if isinstance(error, OutputError):
                    raise ScriptCutError(message, hint=_HINT) from error
                if error.exit_status == _NOT_KNOWN:
                    raise ScriptCutError(error.message, hint=_HINT) from error
                raise
            log.warning("job %s was submitted, but: %s", job_id, error)
            with contextlib.suppress(OSProfileError):
                await self._scripts.submit(script)  # it completes what is missing
            return job_id

    def _done(self, record: Record, job_id: str) -> str:
        """Write down a job's id; that it exists matters more than that it is written down."""
        try:
            self._store.submitted(record.number, job_id)
            self._unrecorded.pop(record.number, None)
        except StoreError as error:
            self._unrecorded[record.number] = job_id
            log.error("job %s in %s is not recorded: %s", job_id, record.directory, error)  # noqa: TRY400
        self._taken(record, job_id)
        return job_id
