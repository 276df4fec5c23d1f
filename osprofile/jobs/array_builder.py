"""One array in place of many jobs that differ in their programs, arguments and variables alone."""

from __future__ import annotations

import shlex
from dataclasses import fields, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from osprofile.errors import ValueRefusedError, quote_value
from osprofile.jobs.arrays import ARRAY_FIELD
from osprofile.jobs.description import JobDescription, format_exports, require_words

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_ARRAY_SIZE: Final = 1 << 20
"""Bytes of all tasks' programs, arguments and variables together: each task gets all as its arguments.

Linux takes 2 MiB, with the environment (execve(2), Limits on size of arguments and environment).
"""
_get_common_values: Final = attrgetter(
    *(f.name for f in fields(JobDescription) if f.name not in {"executable", "arguments", "environment"})
)
_RUN_TASK: Final = 'shift "$((GPE_ARRAY_INDEX - 1))" && eval "$1"'
"""The program of a task: the arguments of `sh` are one command for each task."""


def combine_into_array(jobs: Sequence[JobDescription], *, at_once: int | None = None) -> JobDescription:
    """Return one array whose tasks 1, 2, ... run the programs of jobs, with their arguments and variables.

    All else of the jobs must be equal. At most `at_once` tasks run at a time; None: as the batch system likes.
    Raises `ValueRefusedError` if something else differs, for a job without a program, with an application or an
    array of its own, and if the tasks together are larger than MAX_ARRAY_SIZE.
    """
    first = jobs[0]
    if first.application is not None or first.array is not None or ARRAY_FIELD in first.fields:
        what = "an application" if first.application is not None else "an array of its own"
        raise _refuse(f"a job with {what} cannot be a task", "submit the jobs one by one")
    commands = [format_task(job) for job in jobs]
    common = _get_common_values(first)
    if any(_get_common_values(job) != common for job in jobs):
        hint = "only the program, its arguments and its variables may differ"
        raise _refuse("the jobs differ in more than an array's tasks can", hint)
    size = sum(len(command.encode("utf-8", "surrogatepass")) + 1 for command in commands)
    if size > MAX_ARRAY_SIZE:
        hint = f"at most {MAX_ARRAY_SIZE}: make several arrays of them, or shorter arguments"
        raise _refuse(f"the tasks together are too long: {size} bytes", hint)
    limit = "" if at_once is None else f"%{at_once}"
    arguments = ["-c", _RUN_TASK, "sh", *commands]
    return replace(first, executable="sh", arguments=arguments, environment={}, array=f"1-{len(jobs)}{limit}")


def format_task(job: JobDescription) -> str:
    """Return the shell command of a task; raise `ValueRefusedError` for a job without a program, and for bad values."""
    program = job.executable or ""
    if not program or program.startswith("-"):
        raise _refuse(f"{quote_value(program)} is no program of a task", "give each task one")
    exports = format_exports(job.environment) if job.environment else ""
    return f"{exports}exec {shlex.join([program, *require_words(job.arguments)])}"


def _refuse(message: str, hint: str) -> ValueRefusedError:
    return ValueRefusedError(f"field {ARRAY_FIELD}: {message}", field=ARRAY_FIELD, hint=hint)
