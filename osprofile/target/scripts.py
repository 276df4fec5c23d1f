"""A profile's templates, run on its target system: one function for each thing that can be asked.

A script's output is understood by the profile's patterns, its failure told in its own words.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final, NamedTuple, final

from osprofile.errors import (
    IncarnationError,
    OutputError,
    ScriptCutError,
    ScriptError,
    ScriptFailedError,
)
from osprofile.incarnation.context import unique_name, user_name, working_directory
from osprofile.incarnation.incarnate import incarnate
from osprofile.incarnation.static_scripts import quoted
from osprofile.target import files, outputs
from osprofile.target.job import request_of
from osprofile.target.machine import NODES, QUEUES, MachineReader
from osprofile.target.process import finish
from osprofile.target.shell import SHELL, script_of, shell_words, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import IO

    from osprofile.events.event import JobStatus
    from osprofile.profile.model import Profile
    from osprofile.target.job import JobDescription
    from osprofile.target.machine import NodeStatus, QueueStatus
    from osprofile.target.outputs import Entry
    from osprofile.target.shell import Finished

START: Final = "START"
STATUS: Final = "GET_JOB_STATUS"
TOGETHER: Final = 25
"""How many jobs are asked for one by one in one script."""
_SSH_FAILED: Final = 255
_JOB_ID_FILE: Final = ".gpe_job_id"


@final
class Submission(NamedTuple):
    """What submits one job: START's script, in which directory."""

    directory: str
    script: str


@final
class Scripts:
    """The scripts of one profile on one host, for one user.

    `context` is the context of every job (USER_NAME, SSH:HOST, SSH:PORT, the user profile's
    fields); `time_limit` is for a script whose template has no TIME_LIMIT; at most `at_once`
    scripts run at a time. What a method does raises, beside what it says itself, what `incarnate`
    raises, `ScriptError`, `ScriptFailedError` and `OutputError`.
    """

    def __init__(
        self, profile: Profile, context: Mapping[str, str], *, time_limit: float, at_once: int
    ) -> None:
        self.profile = profile
        self.context = dict(context)
        self._time_limit = time_limit
        self._free = asyncio.Semaphore(at_once)
        self._words = shell_words(profile, self.context)
        self._all, self._one = outputs.StatusReader(profile), outputs.StatusReader(profile)
        self._job_id = outputs.pattern_of(profile, START, "JOB_ID_PATTERN", ("id",))
        self._machine = MachineReader(profile)
        self.queries = 0
        """How many times all jobs' states were asked for."""

    # Submitting

    def submission(self, description: JobDescription, *, strict: bool = True) -> Submission:
        """Incarnate START for a job; runs nothing."""
        directory = description.directory or self.new_directory()
        context = {"USER_NAME": user_name(), **self.context, "WORKING_DIRECTORY": directory}
        start = incarnate(
            self.profile,
            START,
            fields=request_of(description),
            application=description.application,
            context=context,
            strict=strict,
        )
        return Submission(directory, script_of(start))

    def new_directory(self) -> str:
        """Give the path of the working directory of one more job."""
        given = self.context.get("WORKING_DIRECTORY")
        user = self.context.get("USER_NAME") or user_name()
        return given or working_directory(self.profile, user, unique_name())

    async def submit(self, script: str) -> str:
        """Run START's script and give the job's id."""
        text = await self._run(START, script)
        found = outputs.job_id(self._job_id, text)
        if found is None:
            raise outputs.not_understood(START, "JOB_ID_PATTERN", text)
        return found

    async def submitted_in(self, directory: str) -> str | None:
        """Give the id of the job that a working directory has; None if it has none."""
        script = f"cat -- {quoted(directory.rstrip('/') + '/' + _JOB_ID_FILE)} 2> /dev/null || :"
        return outputs.job_id(self._job_id, await self._run(START, script))

    # Asking

    async def states(self) -> Mapping[str, JobStatus]:
        """Give the states of all of the user's jobs that the batch system knows, by id: one query."""
        self.queries += 1
        script = self._script(STATUS, variation="ALL")
        return self._all.read(await self._run(STATUS, script))

    async def state(self, job_id: str) -> JobStatus | None:
        """Give the state of one job; None if the output has no job.

        A job that nobody knows is a `ScriptFailedError`, as is a batch system out of order.
        """
        found = self._one.read(await self._run(STATUS, self._script(STATUS, JOB_ID=job_id)))
        return found.get(job_id) or next(iter(found.values()), None)

    async def states_of(self, job_ids: Sequence[str]) -> dict[str, JobStatus]:
        """Give the states of jobs that are asked for one by one, of those that anybody knows.

        Several go into one script, so that over ssh they share a connection.
        """
        batches = [job_ids[i : i + TOGETHER] for i in range(0, len(job_ids), TOGETHER)]
        found: dict[str, JobStatus] = {}
        for some in await asyncio.gather(*map(self._states_of, batches)):
            found.update(some)
        return found

    async def _states_of(self, job_ids: Iterable[str]) -> Mapping[str, JobStatus]:
        parts = []
        for job_id in job_ids:
            with contextlib.suppress(IncarnationError):  # no id of this batch system's: unknown
                parts.append(f"(\n{self._script(STATUS, JOB_ID=job_id)}\n) || :\n")
        if not parts:
            return {}
        text = await self._run(STATUS, "".join(parts), times=len(parts))
        return dict(outputs.StatusReader(self.profile).read(text)) if text.strip() else {}

    async def nodes(self) -> Sequence[NodeStatus]:
        """Give the machine's nodes, by LIST_NODES; `TemplateNotFoundError` where that is not."""
        return self._machine.nodes(await self._run(NODES, self._script(NODES)))

    async def queues(self) -> Sequence[QueueStatus]:
        """Give the machine's queues, by LIST_QUEUES; `TemplateNotFoundError` where that is not."""
        return self._machine.queues(await self._run(QUEUES, self._script(QUEUES)))

    # Doing

    async def act(self, template: str, job_id: str, **fields: str) -> None:
        """Run HOLD, RESUME, ABORT or SIGNAL for a job."""
        await self._run(template, self._script(template, JOB_ID=job_id, **fields))

    async def delete(self, path: str) -> None:
        """Remove a file or a directory with all that is in it."""
        await self._run("DELETE", self._script("DELETE", PATH=path))

    async def entries(self, path: str) -> list[Entry]:
        """Give what is in a directory, by LIST's variation DIR."""
        return await self._entries(path, "DIR")

    async def stat(self, path: str) -> Entry:
        """Give one file's properties, by LIST's variation FILE."""
        found = await self._entries(path, "FILE")
        if len(found) != 1:
            raise outputs.not_understood("LIST", "ENTRY_PATTERN", "")
        return found[0]

    # Moving files

    async def put(self, file: IO[bytes], path: str, mode: int) -> None:
        """Write what is left of an open file into a file of the target system."""
        for script in files.putting(file, path, mode):
            await self._transfer(f"writing {path}", script, len(script))

    async def get(self, path: str, file: int, begin: int = 0, count: int | None = None) -> None:
        """Write a file of the target system, or a part of it, to a file descriptor here."""
        size = (await self.stat(path)).size if count is None else count
        script = files.getting(path, begin, count)
        await self._transfer(f"reading {path}", script, size, stdout=file)

    async def directory(self, job_id: str) -> str:
        """Give the working directory of a job; empty if the job has left none."""
        if not job_id or "/" in job_id or job_id.startswith("."):
            return ""
        # Older versions kept the links of all profiles in one directory.
        links = [f"{quoted(self.profile.name)}/{quoted(job_id)}", quoted(job_id)]
        ways = " || ".join(f'cd -P -- "$HOME"/.gpe/jobs/{link} 2> /dev/null' for link in links)
        script = f"{{ {ways}; }} && pwd || :"
        return (await self._run(START, script)).removesuffix("\n")

    async def _transfer(self, what: str, script: str, size: int, stdout: int | None = None) -> None:
        limit = self._time_limit + size / files.SLOWEST
        await self._run(SHELL, script, what=what, limit=limit, stdout=stdout)

    async def _entries(self, path: str, variation: str) -> list[Entry]:
        text = await self._run("LIST", self._script("LIST", variation=variation, PATH=path))
        pattern = outputs.pattern_of(self.profile, "LIST", "ENTRY_PATTERN", outputs.ENTRY_GROUPS)
        return outputs.entries(pattern, text)

    def _script(self, template: str, variation: str = "", **fields: str) -> str:
        return script_of(
            incarnate(
                self.profile, template, fields=fields, variation=variation, context=self.context
            )
        )

    async def _run(
        self,
        template: str,
        script: str,
        times: int = 1,
        *,
        what: str = "",
        limit: float | None = None,
        stdout: int | None = None,
    ) -> str:
        """Run a script and give its output; a failure of `what` is told in its own words."""
        what = what or template
        if limit is None:
            limit = outputs.time_limit_of(self.profile, template, self._time_limit) * times
        async with self._free:
            try:
                finished = await finish(self._words, wrapped(script), limit, stdout=stdout)
            except (ScriptError, OutputError) as error:
                error.message = f"{what}: {error.message}"
                raise
        if finished.killed or (finished.exit_code == _SSH_FAILED and self.context.get("SSH:HOST")):
            raise _cut(what, finished)
        if finished.exit_code != 0:
            raise _failure(template, what, finished)
        return finished.stdout.decode("utf-8", "replace")


def _cut(what: str, finished: Finished) -> ScriptCutError:
    """Give the error for a script that did not come to its end."""
    words = finished.stderr.decode("utf-8", "replace").strip()
    how = f"its shell was killed by signal {finished.killed}"
    if not finished.killed:
        how = "the connection failed"
    message = f"{what}: {how}: {words}" if words else f"{what}: {how}"
    return ScriptCutError(message, hint="whether it did its work is not known; it can be repeated")


def _failure(template: str, what: str, finished: Finished) -> ScriptFailedError:
    """Give the error for a script that failed; some batch systems tell errors on stdout."""
    words = (finished.stderr.strip() or finished.stdout.strip()).decode("utf-8", "replace")
    message = f"{what} failed (exit status {finished.exit_code})"
    message += f": {words}" if words else " without a word"
    return ScriptFailedError(
        message, template=template, exit_status=finished.exit_code, output=words
    )
