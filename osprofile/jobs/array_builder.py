"""One array in place of many jobs that differ in their programs, arguments and variables alone."""

from __future__ import annotations

import os
import shlex
from dataclasses import fields, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from osprofile.errors import ValueRefusedError
from osprofile.incarnation.lengths import MAX_WORDS_SIZE
from osprofile.jobs.arrays import ARRAY_FIELD
from osprofile.jobs.fields import JobDescription
from osprofile.jobs.request import format_exports, require_words
from osprofile.text import quote_shell_word, quote_value

if TYPE_CHECKING:
    from collections.abc import Sequence

_ARGUMENT_SIZE: Final = 9
"""Bytes of an argument beside its text: a pointer, and the NUL at its end."""
_get_common_values: Final = attrgetter(
    *(f.name for f in fields(JobDescription) if f.name not in {"executable", "arguments", "environment"})
)
_SEPARATORS: Final = ",:;%@+=~^!|/#"
_BLOCK_SIZE: Final = 100_000
"""Bytes of an argument that has the texts of several tasks; Linux takes MAX_ARGUMENT_SIZE."""
_RUN_TASK: Final = """\
gpe_n=$((GPE_ARRAY_INDEX - 1)) gpe_begin=$1 gpe_end=$2 gpe_count=$3 IFS=$4
shift "$((4 + gpe_n / gpe_count))" && set -f && set -- $1 && shift "$((gpe_n % gpe_count))" &&
eval "set +f; unset gpe_n gpe_begin gpe_end gpe_count IFS; $gpe_begin$1$gpe_end\""""
"""The program of a task.

Its arguments are the common begin and end of all commands, and what each has between them: so many in one argument,
with a separator that none of them has. Each argument costs a pointer, and all tasks get all arguments.
"""


def combine_into_array(jobs: Sequence[JobDescription], *, at_once: int | None = None) -> JobDescription:
    """Return one array whose tasks 1, 2, ... run the programs of jobs, with their arguments and variables.

    All else of the jobs must be equal. At most `at_once` tasks run at a time; None: as the batch system likes.
    Raises `ValueRefusedError` if something else differs, for a job without a program, with an application or an
    array of its own, and if what the tasks do not have in common is larger than MAX_WORDS_SIZE.
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
    words = _pack_commands(commands)
    size = sum(
        len(quote_shell_word(word).encode("utf-8", "surrogatepass")) + _ARGUMENT_SIZE for word in words
    )
    if size > MAX_WORDS_SIZE:
        count = len(jobs) * MAX_WORDS_SIZE // size
        hint = f"at most {MAX_WORDS_SIZE}: make arrays of at most about {count} tasks, or shorter arguments"
        message = f"what the tasks do not have in common is too long for a program: {size} bytes together"
        raise _refuse(message, hint)
    limit = "" if at_once is None else f"%{at_once}"
    arguments = ["-c", _RUN_TASK, "sh", *words]
    return replace(first, executable="sh", arguments=arguments, environment={}, array=f"1-{len(jobs)}{limit}")


def _pack_commands(commands: Sequence[str]) -> list[str]:
    """Return the arguments of _RUN_TASK."""
    begin = os.path.commonprefix(commands)  # noqa: RUF071  # of texts, not of paths
    texts = [command.removeprefix(begin) for command in commands]
    end = os.path.commonprefix([text[::-1] for text in texts])[::-1]  # noqa: RUF071
    texts = [text.removesuffix(end) for text in texts]
    separator = next((s for s in _SEPARATORS if not any(s in text for text in texts)), "")
    count = len(texts) if separator else 1
    while True:
        blocks = [separator.join(texts[i : i + count]) for i in range(0, len(texts), count)]
        if count == 1 or max(len(b.encode("utf-8", "surrogatepass")) for b in blocks) <= _BLOCK_SIZE:
            return [begin, end, str(count), separator, *blocks]
        count = (count + 1) // 2


def format_task(job: JobDescription) -> str:
    """Return the shell command of a task; raise `ValueRefusedError` for a job without a program, and for bad values."""
    program = job.executable or ""
    if not program or program.startswith("-"):
        raise _refuse(f"{quote_value(program)} is no program of a task", "give each task one")
    exports = format_exports(job.environment) if job.environment else ""
    return f"{exports}exec {shlex.join([program, *require_words(job.arguments)])}"


def _refuse(message: str, hint: str) -> ValueRefusedError:
    return ValueRefusedError(f"field {ARRAY_FIELD}: {message}", field=ARRAY_FIELD, hint=hint)
