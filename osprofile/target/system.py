"""Jobs on a target system: all that an executor sees (design: "Jobs on a target system").

    async with TargetSystem(osprofile.load("slurm"), store=Store(path)) as target:
        job_id = await target.submit(JobDescription(executable="/bin/date"))
        status = await target.wait(job_id)

Everything about a batch system comes from the profile. States come from one query for all jobs;
a log source may feed the same monitor.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Self, final

from osprofile.errors import (
    JobNotFoundError,
    NotRegisteredError,
    ScriptFailedError,
    told,
)
from osprofile.events.event import JobEvent, JobState, JobStatus
from osprofile.events.monitor import Monitor
from osprofile.target.names import target_name
from osprofile.target.pace import Timing
from osprofile.target.poller import UNHEARD_OF, Poller, Watched, after_abort, log, vanished
from osprofile.target.recorder import Recorder
from osprofile.target.scripts import Scripts
from osprofile.target.store import Store
from osprofile.target.stream import Events
from osprofile.target.submitter import Submitter

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence
    from types import TracebackType
    from typing import IO

    from osprofile.profile.model import Profile
    from osprofile.target.job import JobDescription
    from osprofile.target.machine import NodeStatus, QueueStatus
    from osprofile.target.outputs import Entry
    from osprofile.target.store import Record
    from osprofile.target.submitter import Recovered


@final
class TargetSystem:
    """The jobs of one user on the machine that a profile describes.

    `context` is the context of all jobs: USER_NAME (this process's user), SSH:HOST and SSH:PORT
    for another host, what a user's profile gives. `store` is the record (default: in memory).
    Methods raise `OSProfileError`s: what `incarnate` raises for a request, `TargetError`s for what
    the target system does. To be used within one event loop.
    """

    def __init__(
        self,
        profile: Profile,
        context: Mapping[str, str] | None = None,
        *,
        store: Store | None = None,
        timing: Timing | None = None,
        at_once: int = 8,
    ) -> None:
        context = dict(context or {})
        user, at, _ = context.get("SSH:HOST", "").rpartition("@")
        if at and user:
            context.setdefault("USER_NAME", user)
        self.profile = profile
        self.name = target_name(profile, context)
        self.timing = timing or Timing()
        self.store = store or Store()
        self._owns_store = store is None
        self._recorder = Recorder(self.name, self.store)
        self._scripts = Scripts(profile, context, time_limit=self.timing.script, at_once=at_once)
        self._submitter = Submitter(self.name, self._scripts, self.store, self._taken)
        self.monitor = Monitor(self._tell)
        self._poller = Poller(self._scripts, self.timing, self._hear, self._recorder.missing)
        self._task: asyncio.Task[None] | None = None
        self._readers: set[Events] = set()
        self._waiting: defaultdict[str, list[asyncio.Future[JobStatus]]] = defaultdict(list)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop watching. The jobs go on."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None
        self._recorder.flush()
        for reader in list(self._readers):
            reader.close()
        for futures in self._waiting.values():
            for future in futures:
                future.cancel()
        if self._owns_store:
            self.store.close()

    # Submitting

    async def submit(
        self, description: JobDescription, *, key: str | None = None, strict: bool = True
    ) -> str:
        """Submit a job and give its id; it is watched from then on.

        `key` is the caller's own name for the submission: repeated with the same key, nothing is
        submitted twice, and a submission that was cut off is completed. After a `ScriptCutError`
        (a time limit, a lost connection, a killed shell) the job may have been submitted: the same
        key, or `recover`, finds out. After any other error it was not.
        """
        return await self._submitter.submit(description, key=key, strict=strict)

    async def recover(self, *, resubmit: bool = True) -> list[Recovered]:
        """Complete the submissions that were cut off, by the end of a process for instance.

        START is run again, which submits a job only if it was not; without `resubmit`, jobs that
        were submitted are found by their working directory, and the others stay in the record.
        """
        return await self._submitter.recover(resubmit=resubmit)

    def script(self, description: JobDescription, *, strict: bool = True) -> str:
        """Give the script that would submit a job."""
        return self._scripts.submission(description, strict=strict).script

    def new_directory(self) -> str:
        """Give a path for the working directory of one more job; nothing is made."""
        return self._scripts.new_directory()

    # Asking

    async def status(self, job_id: str) -> JobStatus:
        """Ask for one job's state now. How an ended one ended is told from the record.

        Raises `JobNotFoundError` for a job that neither the batch system nor the record knows.
        """
        record = self.store.find(self.name, job_id)
        if record is not None and record.status.state.is_terminal:
            return record.status
        asked = time.time()
        try:
            found = await self._scripts.state(job_id)
        except ScriptFailedError as error:
            found = (await self._poller.poll()).get(job_id)
            if found is None and record is None:
                raise JobNotFoundError(error.message) from None
        if record is None and found is not None:
            return found
        if record is not None and job_id not in self.monitor:
            self._register(record)
        if found is None or found.state is JobState.LOST:
            return self._vanished(job_id, found)
        if record is not None and record.aborted:
            found = after_abort(found)
        self._hear(JobEvent(asked, found))
        return self._known(job_id, found)

    async def statuses(
        self, job_ids: Iterable[str] | None = None, *, max_age: float = 0.0
    ) -> dict[str, JobStatus]:
        """Ask for the states of jobs, by one query; of all live jobs of the record by default.

        What was asked for at most `max_age` s ago is good enough. Jobs that nobody knows are left
        out. Many calls at a time share a query.
        """
        if job_ids is None:
            job_ids = (record.status.job_id for record in self.store.live(self.name))
        result = {job_id: self._recorded(job_id) for job_id in job_ids}
        if any(status is None or not status.state.is_terminal for status in result.values()):
            found = await self._poller.poll(max_age)
            strangers = [job_id for job_id, status in result.items() if status is None]
            asked = await self._scripts.states_of([j for j in strangers if j not in found])
            result |= {j: found.get(j) or asked.get(j) for j in strangers}
            for job_id in result:
                if job_id in self.monitor:
                    result[job_id] = self._known(job_id, found.get(job_id))
        return {job_id: status for job_id, status in result.items() if status is not None}

    def _recorded(self, job_id: str) -> JobStatus | None:
        """Give what is known of a job before it is asked for; from then on it is watched."""
        if job_id in self.monitor:
            return self.monitor.status(job_id)
        record = self.store.find(self.name, job_id)
        if record is None:
            return None
        if not record.status.state.is_terminal:
            self._watch(record)
        return record.status

    async def poll(self, max_age: float = 0.0) -> Mapping[str, JobStatus]:
        """Ask for all watched jobs now, by one query, and tell what changed.

        Gives all jobs that the batch system showed, watched or not; what it showed at most
        `max_age` s ago is good enough.
        """
        return await self._poller.poll(max_age)

    async def nodes(self) -> Sequence[NodeStatus]:
        """Ask for the machine's nodes. `TemplateNotFoundError` without LIST_NODES."""
        return await self._scripts.nodes()

    async def queues(self) -> Sequence[QueueStatus]:
        """Ask for the machine's queues. `TemplateNotFoundError` without LIST_QUEUES."""
        return await self._scripts.queues()

    async def wait(self, job_id: str) -> JobStatus:
        """Wait for a job's end and give its last state."""
        status = await self.watch(job_id)
        if status.state.is_terminal:
            return status
        future: asyncio.Future[JobStatus] = asyncio.get_running_loop().create_future()
        self._waiting[job_id].append(future)
        return await future

    # Watching

    async def watch(self, job_id: str) -> JobStatus:
        """Have a job's events told from now on, and give what is known of it.

        An ended job has no more events. `JobNotFoundError` for a job that nobody knows.
        """
        self._start_polling()
        status = self._recorded(job_id)
        if status is None:
            status = await self.status(job_id)
            self.adopt(status)
        return status

    def adopt(self, status: JobStatus) -> None:
        """Record and watch a job that was not started here, of which this is known."""
        self.store.adopt(self.name, status)
        self._recorded(status.job_id)

    def unwatch(self, job_id: str) -> None:
        """Have no more of a job's events told."""
        with contextlib.suppress(NotRegisteredError):
            self.monitor.unregister(job_id)
        self._poller.unwatch(job_id)

    def events(self) -> Events:
        """Give a stream of the events of all watched jobs, from now on."""
        reader = Events(self._readers.discard)
        self._readers.add(reader)
        self._start_polling()
        return reader

    # Doing

    async def hold(self, job_id: str) -> None:
        """Keep a job that waits from starting, or stop one that runs, as the profile can."""
        await self._act("HOLD", job_id)

    async def resume(self, job_id: str) -> None:
        """Let a held job go on."""
        await self._act("RESUME", job_id)

    async def abort(self, job_id: str) -> None:
        """Remove a job. One that has ended already is a `ScriptFailedError`."""
        when = time.time()
        # Before, lest the job end between the script and the note.
        self._poller.aborted(job_id, when)
        self._recorder.aborted(job_id, when)
        try:
            await self._act("ABORT", job_id)
        except ScriptFailedError:
            self._poller.aborted(job_id, None)
            self._recorder.aborted(job_id, None)
            raise

    async def _act(self, template: str, job_id: str) -> None:
        try:
            await self._scripts.act(template, job_id)
        finally:  # a script that failed may have done its work
            self._poller.soon(at_once=True)

    async def signal(self, job_id: str, number: int) -> None:
        """Send a signal to a job that runs, where the profile has the template SIGNAL.

        Raises `TemplateNotFoundError` where it has not.
        """
        try:
            await self._scripts.act("SIGNAL", job_id, SIGNAL=str(number))
        finally:
            self._poller.soon(at_once=True)

    # Files

    async def put(self, file: IO[bytes], path: str, mode: int = 0o600) -> None:
        """Write what is left of an open file into a file of the target system.

        Missing directories are made, for their owner only. The file appears, in place of an older
        one, when all of it is there.
        """
        await self._scripts.put(file, path, mode)

    async def get(self, path: str, file: int, begin: int = 0, count: int | None = None) -> None:
        """Write a file of the target system to a file descriptor of this process.

        With `count`, so many bytes at the most, from the offset `begin` on.
        """
        await self._scripts.get(path, file, begin, count)

    async def directory(self, job_id: str) -> str:
        """Give a job's working directory; `JobNotFoundError` if nothing tells it."""
        record = self.store.find(self.name, job_id)
        if record is not None and record.directory.startswith("/"):
            return record.directory
        found = await self._scripts.directory(job_id)
        if not found:
            message = f"job {told(job_id)} has left no working directory"
            raise JobNotFoundError(message, hint="it was not started by osprofile, or is deleted")
        return found

    async def delete(self, path: str) -> None:
        """Remove a file, or a directory with all that is in it, from the target system."""
        await self._scripts.delete(path)

    async def list(self, path: str) -> list[Entry]:
        """Give what is in a directory of the target system."""
        return await self._scripts.entries(path)

    async def stat(self, path: str) -> Entry:
        """Give the properties of a file of the target system."""
        return await self._scripts.stat(path)

    @property
    def queries(self) -> int:
        """How many times the batch system was asked for all jobs."""
        return self._scripts.queries

    # Inside

    def _taken(self, record: Record, job_id: str) -> None:
        """Watch a job that was submitted just now."""
        if job_id in self.monitor:  # an id that came round again
            self.unwatch(job_id)
        status = JobStatus(job_id, JobState.UNKNOWN, submitted=time.time())
        self._watch(replace(record, status=status))

    def _start_polling(self) -> None:
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._poller.run())

    def _register(self, record: Record) -> None:
        self.monitor.register(record.status.job_id, known=record.status)

    def _watch(self, record: Record) -> None:
        status = record.status
        if status.job_id not in self.monitor:
            self._register(record)
        watched = Watched(
            time.monotonic(), record.walltime, status.started, record.aborted, record.missing
        )
        self._poller.watch(status.job_id, watched)

    def _hear(self, event: JobEvent) -> None:
        """Take what a source says."""
        if event.job_id not in self.monitor:
            return
        before = self.monitor.status(event.job_id)
        if event.state is JobState.UNKNOWN and event.status.word != before.word:
            log.warning(
                "job %s is in state %r, which profile %s does not know",
                event.job_id,
                event.status.word,
                self.profile.name,
            )
        self.monitor.feed(event)
        after = self.monitor.status(event.job_id)
        if after.state is not before.state or after.hosts != before.hosts:
            self._recorder.write(after)

    def _tell(self, event: JobEvent, _key: Hashable) -> None:
        """Tell an event of the monitor's to all that read."""
        for reader in self._readers:
            reader.put(event)
        if event.state.is_terminal:
            self._poller.unwatch(event.job_id)
            for future in self._waiting.pop(event.job_id, ()):
                if not future.done():
                    future.set_result(event.status)

    def _known(self, job_id: str, found: JobStatus | None) -> JobStatus:
        """Give what is known of a job that the batch system told so.

        An UNKNOWN word goes before what was known until then. Where it told nothing, or that it
        lost the job, the last state stands for the grace period.
        """
        known = self.monitor.status(job_id)
        if known.state.is_terminal:
            return known
        if found is None or found.state is JobState.LOST:
            return replace(known, reason=UNHEARD_OF)
        return replace(known, state=found.state) if found.state is JobState.UNKNOWN else known

    def _vanished(self, job_id: str, found: JobStatus | None) -> JobStatus:
        """Judge a job that was asked for, and that nobody knows."""
        record = self.store.find(self.name, job_id)
        now = time.time()
        since = now if record is None or record.missing is None else record.missing
        if record is not None and record.missing is None:
            self._recorder.missing((job_id,), now)
        aborted = record.aborted if record is not None else None
        over = now - since >= self.timing.grace
        ended = vanished(job_id, found, aborted=aborted, over=over)
        if ended is not None:
            self._hear(JobEvent(now, ended))
        return self._known(job_id, found)
