"""Ask the batch system for jobs: for all by one query, for several that it does not list, and for one."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections import defaultdict
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, final

from osprofile import javaregex
from osprofile.errors import (
    IncarnationError,
    JobNotFoundError,
    OSProfileError,
    OutputError,
    ScriptFailedError,
)
from osprofile.jobs.arrays import summarize_tasks
from osprofile.jobs.shell.loop import gather
from osprofile.jobs.shell.output import (
    STATUS_TEMPLATE,
    USAGE_TEMPLATE,
    StatusOutputReader,
    build_output_error,
    find_id_form,
)
from osprofile.jobs.shell.scripts import generate_mark, join_scripts, split_results
from osprofile.jobs.shell.target import TASK_ID_TEMPLATE, build_failure_error
from osprofile.late import compile_late

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from osprofile.javaregex.pattern import Pattern
    from osprofile.jobs.shell.process import ProcessResult
    from osprofile.jobs.shell.target import TargetShell
    from osprofile.jobs.state import JobStatus

STATUS_BATCH_SIZE: Final = 25
"""How many queries for single jobs go into one script."""
_SEVERAL: Final = "SEVERAL"
"""The variation of GET_JOB_STATUS that asks the batch system for several jobs at once."""
_MAX_SEVERAL_JOBS: Final = 500
"""For how many it asks: a command line has a limit, and so has the time of a script."""
UNKNOWN_JOB_EXIT_STATUS: Final = 1
"""GET_JOB_STATUS's exit status for a job that nobody knows. Any other is a failure of the query."""
_NO_ARRAYS: Final[Mapping[str, str]] = MappingProxyType({})
_NUMBER: Final = compile_late("[0-9]+")
_ID_START: Final = compile_late(r"\w+")


@final
class JobQueries:
    """The queries for the jobs of one target. They raise what `TargetShell` raises, and what `incarnate` does."""

    def __init__(self, shell: TargetShell) -> None:
        self._shell = shell
        # Two readers: each reuses the last output that it has read.
        self._all_jobs_reader = StatusOutputReader(shell.profile)
        self._single_job_reader = StatusOutputReader(shell.profile)
        self._id_form: Pattern | None = None
        """The form of the ids that one query can have several of; None if the profile has no such query."""
        form = find_id_form(shell.profile)
        if form is not None and _SEVERAL in shell.profile.get_template(STATUS_TEMPLATE).invocations:
            self._id_form = javaregex.compile(form)
        self.query_count = 0
        """The number of queries for all jobs so far."""

    async def query_all_jobs(self) -> Mapping[str, JobStatus]:
        """Return the statuses of all jobs of the user that the batch system lists, by one query.

        Raises `OutputError` for a list without its end, also after the programs have been installed again.
        """
        self.query_count += 1
        script = self._shell.render_script(STATUS_TEMPLATE, variation="ALL")
        for is_second in (False, True):
            # Without a slot: it would wait for submissions, and ends would be told late.
            result = await self._shell.run_to_end(STATUS_TEMPLATE, script, needs_slot=False)
            text = result.stdout.decode("utf-8", "replace")
            if self._all_jobs_reader.is_whole(text):
                return self._all_jobs_reader.read_statuses(text)
            if not is_second:  # a program that is cut prints nothing, and ends with 0
                await self._shell.deploy_static_scripts()
        message = f"{STATUS_TEMPLATE} gave no whole answer: its output is without its last line (STATUS_END)"
        raise OutputError(
            message, hint="run the template by itself, with the variation ALL, to see its output"
        )

    async def query_job(self, job_id: str) -> JobStatus | None:
        """Return the status of one job; None if the output has no job.

        The status may have a longer id than `job_id`. That of an array is made of those of the tasks
        that are printed. Raises `ScriptFailedError`, with
        UNKNOWN_JOB_EXIT_STATUS for a job that nobody knows, with another one if the query failed.
        """
        script = self._shell.render_script(STATUS_TEMPLATE, JOB_ID=job_id)
        return self._parse_job_status(job_id, await self._shell.run_script(STATUS_TEMPLATE, script))

    async def query_tasks(self, array_ids: Sequence[str]) -> dict[str, dict[int, JobStatus]]:
        """Return the statuses of arrays' tasks by index, as one query for all prints them; nothing for what is no array.

        Without the variation SEVERAL, there is one query each, several in a script. A query that fails is ignored.
        """
        tasks: dict[str, dict[int, JobStatus]] = {}
        size = STATUS_BATCH_SIZE if self._id_form is None else _MAX_SEVERAL_JOBS
        for start in range(0, len(array_ids), size):
            batch = array_ids[start : start + size]
            with contextlib.suppress(OSProfileError):
                if self._id_form is not None and len(batch) > 1:
                    printed = await self._read_several(list(filter(self._id_form.accepts, batch)))
                    tasks |= {j: self._find_tasks(j, _find_similar(j, printed)) for j in batch}
                    continue
                for array_id, result in (await self._run_queries(batch)).items():
                    if result.exit_code == 0:
                        text = result.stdout.decode("utf-8", "replace")
                        printed = self._single_job_reader.read_statuses(text)
                        tasks[array_id] = self._find_tasks(array_id, printed.values())
        return {array_id: found for array_id, found in tasks.items() if found}

    def _find_tasks(self, array_id: str, statuses: Iterable[JobStatus]) -> dict[int, JobStatus]:
        """Return those of some statuses that are of an array's tasks, in the order of their indices; none for any other job."""
        found = {self.find_task_index(array_id, status.job_id): status for status in statuses}
        return {index: found[index] for index in sorted(index for index in found if index is not None)}

    async def query_jobs(
        self, job_ids: Iterable[str], array_ids: Mapping[str, str] = _NO_ARRAYS
    ) -> dict[str, JobStatus | OSProfileError]:
        """Query jobs that the query for all does not list; return the status of each, or the error if its query failed.

        `array_ids` has the array of each task: several tasks of an array have one query, and the array
        itself is in the result if it is printed. Jobs that nobody knows are left out. The jobs have one query
        if the profile has the variation SEVERAL; else one each, and several queries go into one script,
        so that they share a connection over ssh.
        """
        groups: defaultdict[str, list[str]] = defaultdict(list)
        for job_id in job_ids:
            groups[array_ids.get(job_id, job_id)].append(job_id)
        # A single task is queried by its own id: its array may have thousands.
        queries = [(ids[0] if len(ids) == 1 else queried, ids) for queried, ids in groups.items()]
        query, size = self._query_batch, STATUS_BATCH_SIZE
        if self._id_form is not None and len(queries) > 1:
            query, size = self._query_several, _MAX_SEVERAL_JOBS
        batches = [queries[i : i + size] for i in range(0, len(queries), size)]
        answers: dict[str, JobStatus | OSProfileError] = {}
        for batch_answers in await gather([query(b, array_ids) for b in batches]):
            answers.update(batch_answers)
        return answers

    async def _query_several(
        self, queries: Iterable[tuple[str, Sequence[str]]], array_ids: Mapping[str, str]
    ) -> dict[str, JobStatus | OSProfileError]:
        """Query jobs at once, by the variation SEVERAL; the queries are those of `_query_batch`."""
        form = self._id_form
        valid = {queried: ids for queried, ids in queries if form is not None and form.accepts(queried)}
        if not valid:
            return {}
        try:
            statuses = await self._read_several(list(valid))
        except ScriptFailedError as error:
            if error.exit_status == UNKNOWN_JOB_EXIT_STATUS:
                return {}
            return dict.fromkeys(itertools.chain.from_iterable(valid.values()), error)
        answers: dict[str, JobStatus | OSProfileError] = {}
        for job_ids in valid.values():
            array_id = array_ids.get(job_ids[0])
            if array_id is not None:
                answers.update({j: statuses[j] for j in (*job_ids, array_id) if j in statuses})
            elif (status := self._find_status(job_ids[0], statuses)) is not None:
                answers[job_ids[0]] = status
        return answers

    async def _read_several(
        self, job_ids: Sequence[str], template: str = STATUS_TEMPLATE
    ) -> Mapping[str, JobStatus]:
        """Return what the variation SEVERAL prints about jobs, and the tasks of arrays among them."""
        script = self._shell.render_script(template, _SEVERAL, JOB_IDS=" ".join(job_ids))
        script_count = math.ceil(len(job_ids) / STATUS_BATCH_SIZE)
        result = await self._shell.run_to_end(template, script, script_count=script_count)
        return self._single_job_reader.read_statuses(result.stdout.decode("utf-8", "replace"))

    def _find_status(self, job_id: str, statuses: Mapping[str, JobStatus]) -> JobStatus | None:
        """Return a job's status from those of several jobs: its own, its tasks', or that of a longer form of its id."""
        if job_id in statuses:
            return statuses[job_id]
        similar = _find_similar(job_id, statuses)
        if tasks := self._find_tasks(job_id, similar):
            return summarize_tasks(job_id, tasks.values())
        return next((s for s in similar if s.job_id.startswith(job_id)), None)

    async def _query_batch(
        self, queries: Iterable[tuple[str, Sequence[str]]], array_ids: Mapping[str, str]
    ) -> dict[str, JobStatus | OSProfileError]:
        """Run queries in one script; each has the id that is queried, and the jobs that it is for."""
        groups = dict(queries)
        answers: dict[str, JobStatus | OSProfileError] = {}
        for queried_id, result in (await self._run_queries(groups)).items():
            job_ids = groups[queried_id]
            answers.update(self._parse_answers(job_ids, result, array_ids.get(job_ids[0])))
        return answers

    async def _run_queries(
        self, job_ids: Iterable[str], template: str = STATUS_TEMPLATE
    ) -> dict[str, ProcessResult]:
        """Run the queries for single jobs, one after another in one script, and return the result of each."""
        scripts: dict[str, str] = {}
        for job_id in job_ids:
            with contextlib.suppress(IncarnationError, JobNotFoundError):  # the id is malformed, so unknown
                scripts[job_id] = self._shell.render_script(template, JOB_ID=job_id)
        if not scripts:
            return {}
        mark = generate_mark()
        script = join_scripts(scripts.values(), mark)
        result = await self._shell.run_to_end(template, script, script_count=len(scripts))
        results = split_results(result.stdout, result.stderr, mark)
        if len(results) != len(scripts):
            raise build_output_error(template, "STATUS_PATTERN", result.stdout.decode("latin-1"))
        return dict(zip(scripts, results, strict=True))

    def _parse_answers(
        self, job_ids: Sequence[str], result: ProcessResult, array_id: str | None
    ) -> dict[str, JobStatus | OSProfileError]:
        """Return the statuses or the error from one GET_JOB_STATUS, without jobs that nobody knows.

        `array_id` is that of the jobs if they are tasks.
        """
        if result.exit_code == UNKNOWN_JOB_EXIT_STATUS:
            return {}
        if result.exit_code != 0:
            return dict.fromkeys(job_ids, build_failure_error(STATUS_TEMPLATE, STATUS_TEMPLATE, result))
        text = result.stdout.decode("utf-8", "replace")
        try:
            if array_id is not None:  # the answer is about the whole array, or about another form of the id
                listed = self._single_job_reader.read_statuses(text)
                asked_ids = dict.fromkeys([*job_ids, array_id])
                return {job_id: listed[job_id] for job_id in asked_ids if job_id in listed}
            status = self._parse_job_status(job_ids[0], text)
        except OSProfileError as error:
            return dict.fromkeys(job_ids, error)
        return {job_ids[0]: status} if status is not None else {}

    def _parse_job_status(self, job_id: str, text: str) -> JobStatus | None:
        statuses = self._single_job_reader.read_statuses(text)
        if not statuses or job_id in statuses:
            return statuses.get(job_id)
        tasks = self._find_tasks(job_id, statuses.values())
        return summarize_tasks(job_id, tasks.values()) if tasks else next(iter(statuses.values()))

    async def query_usages(self, job_ids: Sequence[str]) -> dict[str, Mapping[str, JobStatus]]:
        """Return what jobs took, by USAGE: of each, a status for it, or one for each task, of which only the usage counts.

        Nothing is there of a job if the profile has no USAGE, or nobody knows. With the variation SEVERAL there is one
        query for 500 jobs, else one each, several in a script. Raises the error of a job that is queried alone.
        """
        if USAGE_TEMPLATE not in self._shell.profile.templates:
            return {}
        has_several = _SEVERAL in self._shell.profile.get_template(USAGE_TEMPLATE).invocations
        form = self._id_form if has_several and len(job_ids) > 1 else None
        size = STATUS_BATCH_SIZE if form is None else _MAX_SEVERAL_JOBS
        usages: dict[str, Mapping[str, JobStatus]] = {}
        for start in range(0, len(job_ids), size):
            batch = job_ids[start : start + size]
            if form is not None:
                printed = await self._read_several(list(filter(form.accepts, batch)), USAGE_TEMPLATE)
                usages |= {j: {s.job_id: s for s in _find_similar(j, printed)} for j in batch}
                continue
            for job_id, result in (await self._run_queries(batch, USAGE_TEMPLATE)).items():
                if result.exit_code == 0:
                    text = result.stdout.decode("utf-8", "replace")
                    usages[job_id] = dict(self._single_job_reader.read_statuses(text))
                elif result.exit_code != UNKNOWN_JOB_EXIT_STATUS and len(job_ids) == 1:
                    raise build_failure_error(USAGE_TEMPLATE, USAGE_TEMPLATE, result)
        return usages

    def find_task_index(self, array_id: str, job_id: str) -> int | None:
        """Return the index of a job that is a task of an array by its id, which may have a longer form."""
        if TASK_ID_TEMPLATE not in self._shell.profile.templates:
            return None
        for index in _NUMBER.findall(job_id):
            with contextlib.suppress(IncarnationError):  # no index, or no id
                if job_id.startswith(self._shell.render_task_id(array_id, index)) and job_id != array_id:
                    return int(index)
        return None


def _find_similar(job_id: str, statuses: Mapping[str, JobStatus]) -> list[JobStatus]:
    """Return the statuses of jobs whose ids begin with a job's number."""
    number = _ID_START.match(job_id)
    start = number[0] if number is not None else job_id
    return [s for j, s in statuses.items() if j.startswith(start) and not j[len(start) :][:1].isalnum()]
