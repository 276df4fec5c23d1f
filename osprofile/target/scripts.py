"""A profile's templates, run on its target system: one function for each thing that can be asked.

A script's output is understood by the profile's patterns, its failure told in its own words.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final, NamedTuple, final

from osprofile.errors import (
    IncarnationError,
    OSProfileError,
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
from osprofile.target.shell import (
    SHELL,
    ends,
    one_by_one,
    parts,
    script_of,
    shell_words,
    telling_its_end,
    wrapped,
)

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
UNKNOWN_JOB: Final = 1
"""GET_JOB_STATUS ends so for a job that nobody knows; any other failure is one of the query."""
_SSH_FAILED: Final = 255
_JOB_ID_FILE: Final = ".gpe_job_id"
_PRINT: Final = """\
t=$(LC_ALL=C cat -- "$f" 2>&1) && printf '%s\\n' "$t" && exit
case $t in *'No such file or directory' | *'Not a directory') exit 0 ;; esac
printf '%s\\n' "$t" >&2
exit 1"""
"""Prints the file $f. That it is not there is no error; that it cannot be read is one."""


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
        path = quoted(directory.rstrip("/") + "/" + _JOB_ID_FILE)
        return outputs.job_id(self._job_id, await self._run(START, f"f={path}\n{_PRINT}"))

    # Asking

    async def states(self) -> Mapping[str, JobStatus]:
        """Give the states of all of the user's jobs that the batch system knows, by id: one query."""
        self.queries += 1
        script = self._script(STATUS, variation="ALL")
        return self._all.read(await self._run(STATUS, script))

    async def state(self, job_id: str) -> JobStatus | None:
        """Give the state of one job; None if the output has no job.

        The id that it has there may be longer. A job that nobody knows is a `ScriptFailedError` of
        the exit status UNKNOWN_JOB; a batch system out of order is one, too.
        """
        return self._read_one(job_id, await self._run(STATUS, self._script(STATUS, JOB_ID=job_id)))

    async def states_of(self, job_ids: Sequence[str]) -> dict[str, JobStatus | OSProfileError]:
        """Give the states of jobs that are asked for one by one, of those that anybody knows.

        Of a job whose own query failed, the error. Several go into one script, so that over ssh
        they share a connection.
        """
        batches = [job_ids[i : i + TOGETHER] for i in range(0, len(job_ids), TOGETHER)]
        found: dict[str, JobStatus | OSProfileError] = {}
        for some in await asyncio.gather(*map(self._states_of, batches)):
            found.update(some)
        return found

    async def _states_of(self, job_ids: Iterable[str]) -> dict[str, JobStatus | OSProfileError]:
        scripts = {}
        for job_id in job_ids:
            with contextlib.suppress(IncarnationError):  # no id of this batch system's: unknown
                scripts[job_id] = self._script(STATUS, JOB_ID=job_id)
        if not scripts:
            return {}
        done = await self._finish(STATUS, one_by_one(scripts.values()), times=len(scripts))
        told = parts(done)
        if len(told) != len(scripts):
            raise outputs.not_understood(STATUS, "STATUS_PATTERN", done.stdout.decode("latin-1"))
        found = {j: self._answer(j, part) for j, part in zip(scripts, told, strict=True)}
        return {job_id: answer for job_id, answer in found.items() if answer is not None}

    def _answer(self, job_id: str, done: Finished) -> JobStatus | OSProfileError | None:
        """Give what GET_JOB_STATUS told of one job; None if nobody knows it."""
        if done.exit_code == UNKNOWN_JOB:
            return None
        if done.exit_code != 0:
            return _failure(STATUS, STATUS, done)
        try:
            return self._read_one(job_id, done.stdout.decode("utf-8", "replace"))
        except OSProfileError as error:
            return error

    def _read_one(self, job_id: str, text: str) -> JobStatus | None:
        found = self._one.read(text)
        return found.get(job_id) or next(iter(found.values()), None)

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
        script = "".join(
            f'd="$HOME"/.gpe/jobs/{link}\n[ ! -d "$d" ] || {{ cd -P -- "$d" && pwd; exit; }}\n'
            for link in links
        )
        return (await self._run(START, script)).removesuffix("\n")

    async def _transfer(self, what: str, script: str, size: int, stdout: int | None = None) -> None:
        limit = self._time_limit + size / files.SLOWEST
        await self._finish(SHELL, script, what=what, limit=limit, stdout=stdout)

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

    async def _run(self, template: str, script: str) -> str:
        """Run a script and return its output."""
        return (await self._finish(template, script)).stdout.decode("utf-8", "replace")

    async def _finish(
        self,
        template: str,
        script: str,
        *,
        times: int = 1,
        what: str = "",
        limit: float | None = None,
        stdout: int | None = None,
    ) -> Finished:
        """Run a script to its end; a failure of `what` is told in its own words."""
        what = what or template
        over_ssh = bool(self.context.get("SSH:HOST"))
        if over_ssh:
            script = telling_its_end(script)
        if limit is None:
            limit = outputs.time_limit_of(self.profile, template, self._time_limit) * times
        async with self._free:
            try:
                finished = await finish(self._words, wrapped(script), limit, stdout=stdout)
            except (ScriptError, OutputError) as error:
                error.message = f"{what}: {error.message}"
                raise
        done, status = ends(finished) if over_ssh else (finished, finished.exit_code)
        # 255 is how ssh fails, and any script may end so, too.
        if done.killed or (done.exit_code == _SSH_FAILED and status != _SSH_FAILED):
            raise _cut(what, done)
        if done.exit_code != 0:
            raise _failure(template, what, done)
        return done


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
