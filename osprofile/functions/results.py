"""The results of functions: read in the directory of their job, or why there is none."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import tempfile
from collections import defaultdict
from typing import TYPE_CHECKING, Final

import osprofile
from osprofile.functions.calls import DIRECTORY, Outcome, RemoteTraceback, TaskResult, load_value, read_result
from osprofile.text import quote_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from osprofile.functions.future import Task

log: Final = logging.getLogger("osprofile.functions")
REFUSAL_HINT: Final = (
    "python= names another interpreter; it needs the versions of Python and cloudpickle that run here"
)
LOST: Final = str(osprofile.JobState.LOST)
_FETCH_PAUSES: Final = (1, 2, 4, 8, 16, 32, 64, 128, None)
"""Seconds between attempts to read results."""
_OUTPUT_LINES: Final = 12
"""Lines of standard error in the error of a job without a result."""
_HINTS: Final[Mapping[str, str]] = {
    osprofile.EndCause.TIME: 'give more walltime, or retries={"TIME": "walltime*2"}',
    osprofile.EndCause.MEMORY: 'give more memory, or retries={"MEMORY": "memory*2"}',
    osprofile.EndCause.NODE: "retries=1 runs it again",
    osprofile.EndCause.PREEMPTED: "retries=1 runs it again",
    LOST: "retries=1 runs it again",
}
_PROGRAM_MISSING: Final = (126, 127)


def read_results(
    session: osprofile.JobSession, tasks: Sequence[Task], *, is_local: bool
) -> dict[Task, TaskResult | Exception]:
    """Return the results that are there, or why they cannot be read; `is_local`: look for them on this machine first."""
    results: dict[Task, TaskResult | Exception] = {}
    by_job: dict[str, list[Task]] = defaultdict(list)
    for task in tasks:
        if (whole := task.array or task.job) is not None:
            by_job[whole.id].append(task)
    elsewhere: list[tuple[str, list[Task]]] = []
    for job_id, its_tasks in by_job.items():
        directory = session.get_job(job_id).directory()
        if is_local and osprofile.JobFile(directory, "").is_here():
            results.update(_read_results_in(directory, its_tasks))
        else:
            elsewhere.append((job_id, its_tasks))
    if not elsewhere:
        return results
    with tempfile.TemporaryDirectory(prefix="osprofile-") as temporary:

        async def fetch_all(target: osprofile.TargetSystem) -> list[osprofile.OSProfileError | None]:
            return await asyncio.gather(
                *(
                    _fetch(target, job_id, its_tasks, os.path.join(temporary, str(i)))
                    for i, (job_id, its_tasks) in enumerate(elsewhere)
                )
            )

        for i, error in enumerate(session.run(fetch_all)):
            its_tasks = elsewhere[i][1]
            results.update(dict.fromkeys(its_tasks, error) if error else {})
            results.update(_read_results_in(os.path.join(temporary, str(i)), its_tasks))
    return results


async def _fetch(
    target: osprofile.TargetSystem, job_id: str, tasks: Iterable[Task], directory: str
) -> osprofile.OSProfileError | None:
    """Copy the result files of a job that are there; while the target does not answer, try again for some minutes.

    Return the error if the job's directory is not used because it may be somebody else's.
    """
    names = [f"{DIRECTORY}/result.{task.index}" for task in tasks]
    for pause in _FETCH_PAUSES:
        try:
            await target.fetch(job_id, names, directory)
        except osprofile.ScriptError as error:
            if pause is None:
                raise
            log.warning("results of job %s cannot be read now: %s", quote_name(job_id), error.message)
            await asyncio.sleep(pause)
        except osprofile.ScriptFailedError as error:
            return error if error.is_unsafe_directory else None
        except osprofile.TargetError:
            break  # a result is missing; all others are there
        else:
            break
    return None


def _read_results_in(directory: str, tasks: Iterable[Task]) -> Iterator[tuple[Task, TaskResult | Exception]]:
    for task in tasks:
        try:
            result = read_result(osprofile.JobFile(directory, f"{DIRECTORY}/result.{task.index}"))
        except Exception as error:  # noqa: BLE001  # a pickle may raise anything
            yield task, error
        else:
            if result is not None:
                yield task, result


def explain_end(
    session: osprofile.JobSession,
    task: Task,
    status: osprofile.JobStatus,
    problem: Exception | None,
    *,
    python: str | None,
) -> osprofile.NoResultError:
    """Return the error of a job without a result."""
    job = f"function {task.name}: job {quote_name(status.job_id)}"
    if problem is not None:
        message = f"{job} has a result that cannot be read: {type(problem).__name__}: {problem}"
        return osprofile.NoResultError(message, job_id=status.job_id)
    output, runs = _read_traces(session, task, status)
    task.runs += runs
    cause = LOST if status.state is osprofile.JobState.LOST else status.cause and str(status.cause)
    details = [status.describe_end(), status.reason]
    if runs > 1:
        details.append(f"this was its run {runs}, after a requeue")
    message = f"{job} has no result: {'; '.join(filter(None, details))}"
    if output:
        message += f"; the end of its stderr:\n{output}"
    hint = _HINTS.get(cause or "", "")
    if status.exit_code in _PROGRAM_MISSING and not runs:
        hint = f"python= names the interpreter of {session.name}: it was {python}"
    return osprofile.NoResultError(message, job_id=status.job_id, cause=cause, output=output, hint=hint)


def _read_traces(session: osprofile.JobSession, task: Task, status: osprofile.JobStatus) -> tuple[str, int]:
    """Return the end of the standard error of a job, and how often it has begun."""
    job, output = session.get_job(status.job_id), ""
    with contextlib.suppress(osprofile.OSProfileError):
        output = job.stderr()
    lines = output.splitlines()[-_OUTPUT_LINES:]
    runs = b""
    with contextlib.suppress(osprofile.OSProfileError), tempfile.TemporaryFile() as file:
        runs_file = osprofile.JobFile(job.directory(), f"{DIRECTORY}/runs.{task.index}")
        session.run(lambda target: target.files.download_file(runs_file, file.fileno()))
        file.seek(0)
        runs = file.read()
    return "\n".join(lines), runs.count(b"\n")


def end_futures(task: Task, outcomes: Sequence[Outcome], job_id: str) -> None:
    """End the futures of a task; one outcome may be that of all calls, as the error of an import."""
    for position, future in enumerate(task.futures):
        if not future.claim():
            continue
        outcome = outcomes[min(position, len(outcomes) - 1)]
        value, error = _load(outcome, f"function {task.name}: job {quote_name(job_id)}", job_id)
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)


def _load(outcome: Outcome, job: str, job_id: str) -> tuple[object, BaseException | None]:
    """Return the result and the exception of a call."""
    cause = RemoteTraceback(outcome.text) if outcome.text else None
    message, hint, ended_by = "", "", None
    if outcome.kind == "refused":
        cause, message = None, f"{job} did not run: {outcome.text}"
        hint = REFUSAL_HINT
    elif outcome.kind == "ended":
        cause, message = None, f"{job} has no result: {outcome.text}"
        ended_by = outcome.data.decode() or None
    elif outcome.kind == "error" and not outcome.data:
        last = outcome.text.strip().rpartition("\n")[2]
        message = f"{job} raised an exception that cannot be pickled: {last}"
    else:
        try:
            value = load_value(outcome)
        except BaseException as error:  # noqa: BLE001  # a pickle may raise anything
            what = "an exception" if outcome.kind == "error" else "a result"
            message = f"{job} has {what} that cannot be read here: {type(error).__name__}: {error}"
        else:
            if outcome.kind != "error":
                return value, None
            if isinstance(value, BaseException):
                value.__cause__ = cause
                return None, value
            message = f"{job} has an exception that is a value of type {type(value).__name__} when it is read"
    problem = osprofile.NoResultError(message, job_id=job_id, cause=ended_by, hint=hint)
    problem.__cause__ = cause
    return None, problem
