"""Arrays: one submission that runs a program once for each of many indices, as tasks.

A task is a job with an id, a state and an end of its own. The batch system is asked for tasks only; the
status of the whole array is made of theirs. It is DONE only if every task is DONE with exit code 0.
"""

from __future__ import annotations

import itertools
import os
import shlex
from collections import Counter
from dataclasses import fields, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Final, TypedDict, final

from osprofile.errors import ValueRefusedError
from osprofile.incarnation.lengths import MAX_WORDS_SIZE
from osprofile.jobs.fields import JobDescription
from osprofile.jobs.request import format_exports, require_words
from osprofile.jobs.state import TERMINAL_STATES, EndCause, JobState, JobStatus
from osprofile.late import NamedTuple, compile_late
from osprofile.text import quote_shell_word, quote_value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence


ARRAY_FIELD: Final = "ARRAY"
MAX_TASKS: Final = 100_000
"""Limit on the tasks of one array: each has an entry in the record."""
_INDEX: Final = r"(0|[1-9][0-9]{0,8})"
"""A shell may read a leading 0 as octal: there is none."""
_RANGE: Final = compile_late(rf"{_INDEX}(?:-{_INDEX}(?::([1-9][0-9]{{0,8}}))?)?")
_LIMIT: Final = compile_late(r"[1-9][0-9]{0,8}")
_MAX_OUTCOMES: Final = 8
"""Different ends that the reason of an array names; the rarer ones are counted together."""
_LIVE_STATES: Final = (JobState.RUNNING, JobState.QUEUED, JobState.HELD)
"""If a task has the first of these, the array has it; and so on."""
_COUNTED_WORDS: Final = ("running", "queued", "held", "unknown", "done", "failed", "removed", "lost")
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


@final
class ArrayRange(NamedTuple):
    """What a value of ARRAY means: the indices in ascending order, and how many tasks may run at a time."""

    indices: tuple[int, ...]
    limit: int | None


def parse_array(value: str) -> ArrayRange:
    """Return the meaning of a value such as `1-10:2,15%3`.

    Raises `ValueRefusedError` for anything else, for a range that is empty, and for more than MAX_TASKS.
    """
    listing, percent, limit = value.partition("%")
    if percent and not _LIMIT.fullmatch(limit):
        raise _refuse(f"{quote_value(limit)} is not a number of tasks", "as in 1-100%8: at most 8 at a time")
    ranges = [_parse_range(part) for part in listing.split(",")]
    if sum(map(len, ranges)) > MAX_TASKS:
        raise _refuse(
            f"{quote_value(value)} has too many tasks", f"at most {MAX_TASKS}; submit several arrays"
        )
    indices = tuple(sorted(set(itertools.chain.from_iterable(ranges))))
    return ArrayRange(indices, int(limit) if percent else None)


def format_indices(indices: Collection[int]) -> str:
    """Return indices as the field ARRAY takes them: `1-3,7`."""
    runs: list[list[int]] = []
    for index in sorted(indices):
        if runs and runs[-1][-1] == index - 1:
            runs[-1][1:] = [index]
        else:
            runs.append([index])
    return ",".join("-".join(map(str, run)) for run in runs)


def count_indices(value: str) -> int:
    """Return how many tasks a value of ARRAY has; 1 for a job that is no array."""
    return len(parse_array(value).indices) if value else 1


def _parse_range(part: str) -> range:
    match = _RANGE.fullmatch(part)
    if match is None:
        raise _refuse(f"{quote_value(part)} is not a range of indices", "as in 1-100 or 0-9:3,20")
    first, last, step = match.groups()
    indices = range(int(first), int(last or first) + 1, int(step or 1))
    if not indices:
        raise _refuse(f"{quote_value(part)} has no index", "the first one must not be the larger one")
    return indices


def _refuse(message: str, hint: str) -> ValueRefusedError:
    return ValueRefusedError(f"field {ARRAY_FIELD}: {message}", field=ARRAY_FIELD, hint=hint)


@final
class UsageOfTasks(TypedDict):
    """What tasks took together: seconds of processor time, bytes of memory, and joules."""

    cpu_time: float | None
    max_memory: int | None
    energy: float | None


@final
class TaskOutcome(NamedTuple):
    """What counts of a task's status for its array. Tasks that are alike are counted together."""

    state: JobState
    exit_code: int | None
    signal: int | None
    cause: EndCause | None
    reason: str

    @property
    def is_success(self) -> bool:
        """Whether the task ended with 0."""
        return self.state is JobState.DONE and self.exit_code == 0

    @property
    def word(self) -> str:
        """The word under which `count_tasks` counts the task."""
        if self.state is JobState.DONE:
            return "done" if self.is_success else "failed"
        return self.state.value.lower()

    @property
    def description(self) -> str:
        """How a task ended that did not end with 0."""
        if self.state is JobState.DONE:
            return "exit code unknown" if self.exit_code is None else f"exit {self.exit_code}"
        if self.state is JobState.FAILED and self.cause not in {None, EndCause.SIGNAL}:
            return self.cause.label
        return f"signal {self.signal}" if self.signal else self.word


def get_outcome(status: JobStatus) -> TaskOutcome:
    """Return what counts of a task's status for its array."""
    # The texts of other states may differ for each task, and do not matter for the whole.
    reason = status.reason if status.state is JobState.REMOVED else ""
    return TaskOutcome(status.state, status.exit_code, status.signal, status.cause, reason)


def summarize_tasks(array_id: str, statuses: Iterable[JobStatus]) -> JobStatus:
    """Return the status of an array from those of its tasks."""
    tasks = list(statuses)
    return summarize_outcomes(array_id, Counter(map(get_outcome, tasks)), tasks)


def count_tasks(statuses: Iterable[JobStatus]) -> dict[str, int]:
    """Return how many tasks are running, queued, held, done (with 0), failed, removed, lost, unknown."""
    counts = Counter(get_outcome(status).word for status in statuses)
    return {word: counts[word] for word in _COUNTED_WORDS if counts[word]}


def format_counts(counts: Mapping[str, int]) -> str:
    """Return the result of `count_tasks` as `1000 tasks: 12 running, 985 done, 3 failed`."""
    total = sum(counts.values())
    texts = ", ".join(f"{number} {word}" for word, number in counts.items())
    return f"{total} {'task' if total == 1 else 'tasks'}: {texts}"


def describe_tasks(statuses: Iterable[JobStatus]) -> str:
    """Return the states of an array's tasks, or how they ended when all of them have."""
    outcomes = Counter(map(get_outcome, statuses))
    has_ended = all(outcome.state in TERMINAL_STATES for outcome in outcomes)
    return _describe_ends(outcomes) if has_ended else _describe_live_tasks(outcomes)


def summarize_outcomes(
    array_id: str, outcomes: Counter[TaskOutcome], tasks: Iterable[JobStatus]
) -> JobStatus:
    """Return the status of an array; `tasks` are only read if all of them have ended."""
    states = {outcome.state for outcome in outcomes}
    if not states or states - TERMINAL_STATES:
        state = next((state for state in _LIVE_STATES if state in states), JobState.UNKNOWN)
        return JobStatus(array_id, state, reason=_describe_live_tasks(outcomes))
    tasks = list(tasks)
    started, ended = zip(*((task.started, task.ended) for task in tasks), strict=True)
    status = JobStatus(
        array_id,
        JobState.FAILED,
        reason=_describe_ends(outcomes),
        started=min(filter(None, started), default=None),
        ended=max(filter(None, ended), default=None),
        end_reported=all(task.end_reported for task in tasks),
        **sum_usage(tasks),
    )
    if all(outcome.is_success for outcome in outcomes):
        return status._replace(state=JobState.DONE, exit_code=0, reason="")
    causes = {outcome.cause for outcome in outcomes if not outcome.is_success}
    status = status._replace(cause=causes.pop() if len(causes) == 1 else None)
    if states == {JobState.REMOVED}:
        reasons = {outcome.reason for outcome in outcomes}
        reason = reasons.pop() if len(reasons) == 1 else ""
        return status._replace(state=JobState.REMOVED, reason=reason)
    return status


def sum_usage(tasks: Iterable[JobStatus]) -> UsageOfTasks:
    """Return the processor time and energy of tasks together, if they are known of all, and the largest memory of one."""
    tasks = list(tasks)
    memory = max((task.max_memory for task in tasks if task.max_memory is not None), default=None)
    return {
        "cpu_time": _sum_known([task.cpu_time for task in tasks]),
        "max_memory": memory,
        "energy": _sum_known([task.energy for task in tasks]),
    }


def _sum_known(values: Sequence[float | None]) -> float | None:
    """Return the sum of values; None if there are none, or one is not known."""
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def _describe_live_tasks(outcomes: Counter[TaskOutcome]) -> str:
    counts: Counter[str] = Counter()
    for outcome, number in outcomes.items():
        counts[outcome.word] += number
    return format_counts({word: counts[word] for word in _COUNTED_WORDS if counts[word]})


def _describe_ends(outcomes: Counter[TaskOutcome]) -> str:
    """Return `997 of 1000 tasks ended with 0; exit 3: 2; signal 9: 1`."""
    succeeded = sum(number for outcome, number in outcomes.items() if outcome.is_success)
    others: Counter[str] = Counter()
    for outcome, number in outcomes.items():
        if not outcome.is_success:
            others[outcome.description] += number
    ends = sorted(others.items(), key=lambda item: (-item[1], item[0]))
    texts = [f"{description}: {number}" for description, number in ends[:_MAX_OUTCOMES]]
    if len(ends) > _MAX_OUTCOMES:
        texts.append(f"other ends: {sum(number for _, number in ends[_MAX_OUTCOMES:])}")
    return "; ".join([f"{succeeded} of {outcomes.total()} tasks ended with 0", *texts])


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
