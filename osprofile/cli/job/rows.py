"""The output for a job: a row of a table, or a JSON object.

Names, hosts, states and reasons come from batch systems and other users: control characters have no effect.
"""

from __future__ import annotations

import shlex
import sys
import time
from typing import TYPE_CHECKING, Any, Final, final

from osprofile.cli import common
from osprofile.cli.terminal import apply_style, supports_colours
from osprofile.jobs.record.names import CLUSTER_FIELD, parse_target_name
from osprofile.jobs.state import EndCause, JobState
from osprofile.late import NamedTuple
from osprofile.text import (
    count_columns,
    fit_columns,
    format_clock,
    format_signal_name,
    quote_name,
    quote_value,
    replace_unprintable,
    suggest_names,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from osprofile.jobs.record.store import JobRecord, Store
    from osprofile.jobs.state import JobStatus

INTERRUPTED: Final = "INTERRUPTED"
SUBMITTING: Final = "SUBMITTING"
NOT_TOLD: Final = "..."
"""The state of a job that is waited for, until the batch system has told one."""
STATES: Final = (*(state.value for state in JobState), INTERRUPTED, SUBMITTING)
"""The words of the column STATE."""
COLUMNS: Final = ("JOB", "NAME", "PROFILE", "STATE", "EXIT", "TIME", "HOST", "REASON")
_STATE_COLUMN: Final = COLUMNS.index("STATE")
_COLUMN_GAP: Final = "  "
_CUT_COLUMNS: Final = ("REASON", "NAME", "HOST", "PROFILE")
"""The columns that are cut on a narrow screen, in this order. An id that is cut cannot be pasted."""
_CUT_WIDTHS: Final = (8, 0)
"""What each of them keeps at least, as long as that is enough; a column without width is left out."""
_MAX_NAMED_JOBS: Final = 5
"""The jobs that one message names; more are only counted."""
_STATE_STYLES: Final = {
    JobState.QUEUED: "yellow",
    JobState.HELD: "magenta",
    JobState.RUNNING: "cyan",
    JobState.DONE: "green",
    JobState.FAILED: "red",
    JobState.REMOVED: "bright_black",
    JobState.LOST: "bold red",
    JobState.UNKNOWN: "yellow",
    INTERRUPTED: "bold red",
    SUBMITTING: "yellow",
    NOT_TOLD: "bright_black",
}


@final
class JobRow(NamedTuple):
    """A job: its status, and its entry in the record if it has one.

    `submission_state` is INTERRUPTED or SUBMITTING if the job has no id yet, or NOT_TOLD; `remedy` says what to do about INTERRUPTED.
    An array has its `tasks`. `due_retry` is the rule that asks for another attempt, if nobody has submitted it.
    `is_stale`: the target system did not answer; this is its last known state.
    """

    target: str
    status: JobStatus
    record: JobRecord | None = None
    submission_state: str = ""
    remedy: str = ""
    tasks: Sequence[JobRecord] = ()
    is_stale: bool = False
    due_retry: str = ""

    @property
    def state(self) -> str:
        """The content of the column STATE."""
        return self.submission_state or self.status.state.value

    @property
    def reason(self) -> str:
        """The content of the column REASON."""
        due = f"retry is due: incarnate job wait {quote_name(self.status.job_id)} submits it"
        return "; ".join(filter(None, (self._own_reason, due if self.due_retry else "")))

    @property
    def _own_reason(self) -> str:
        if self.submission_state == INTERRUPTED and self.record is not None:
            return f"submission was interrupted, in {self.record.directory}; {self.remedy}"
        if self.status.native_state and (self.status.unknown_word or self.status.state is JobState.UNKNOWN):
            text = f"the batch system's state is {self.status.native_state}, which the profile does not know"
            return f"{text}: {self.status.reason}" if self.status.reason else text
        if self.tasks and not (self.status.state.is_terminal and self.status.reason):
            from osprofile.jobs.arrays import count_tasks, format_counts  # late: few lists have arrays

            return format_counts(count_tasks(task.status for task in self.tasks))
        return self.status.reason

    def unfold(self) -> list[JobRow]:
        """Return this row and, for an array, those of its tasks."""
        tasks = (JobRow(self.target, task.status, task) for task in self.tasks)
        return [
            self,
            *(row._replace(is_stale=self.is_stale and not row.status.state.is_terminal) for row in tasks),
        ]


def build_row(
    store: Store, name: str, status: JobStatus, record: JobRecord | None = None, *, with_tasks: bool = True
) -> JobRow:
    """Return the row of a job of a target system; its record is looked up if it is not given.

    Without the tasks of an array, which may be 100,000, its reason is that of `status`.
    """
    record = record or store.find_job(name, status.job_id)
    is_array = with_tasks and record is not None and record.array
    tasks = store.list_tasks(name, status.job_id) if is_array else ()
    return JobRow(name, status, record, tasks=tasks, due_retry=_find_due_rule(store, status, record))


def _find_due_rule(store: Store, status: JobStatus, record: JobRecord | None) -> str:
    """Return the rule by which a job is to be submitted again, and has not been; empty without one."""
    if record is None or not record.may_be_retried(status):
        return ""
    record = record._replace(status=status)
    if not record.array and not store.read_details(record.number).retry:
        return ""
    from osprofile.jobs.submit.attempts import find_due_retries, next_key  # late: few jobs have rules

    later = store.find_by_key(record.target, next_key(record.key or ""))
    if later is not None and later.is_submitted:
        return ""
    return "; ".join(map(str, find_due_retries(store, record)))


def format_target_options(target: str) -> str:
    """Return the options that select a target system."""
    profile, context = parse_target_name(target)
    options = [f"--profile {profile}"]
    if CLUSTER_FIELD in context:
        options.append(f"--cluster {shlex.quote(context[CLUSTER_FIELD])}")
    if "SSH:HOST" in context:
        options.append(f"--host {target.partition('@')[2]}")
    return " ".join(options)


def parse_states(option: str, text: str) -> frozenset[str]:
    """Return the states that a text such as `FAILED,LOST` names; raise `UsageError` for any other word."""
    words = [word.strip().upper() for word in text.split(",")]
    for word in words:
        if word not in STATES:
            similar = suggest_names(word, STATES)
            known = f"known: {', '.join(STATES)}"
            hint = f"{similar} {known}" if similar.startswith("did you mean") else known
            raise common.UsageError(f"{option}: {quote_value(word)} is not a state of a job", hint=hint)
    return frozenset(words)


def name_jobs(job_ids: Sequence[str]) -> str:
    """Return how a message names jobs: `job 7`, or `30 jobs (7, 8, 9, 10, 11, ...)`."""
    names = [quote_name(job_id) for job_id in job_ids[:_MAX_NAMED_JOBS]]
    if len(job_ids) == 1:
        return f"job {names[0]}"
    more = ", ..." if len(job_ids) > len(names) else ""
    return f"{len(job_ids)} jobs ({', '.join(names)}{more})"


def print_rows(rows: Sequence[JobRow], *, json: bool) -> None:
    """Print jobs to standard output, as a table or JSON."""
    if json:
        common.print_json_list(map(encode_row, rows))
        return
    columns = None
    if sys.stdout.isatty():
        from shutil import get_terminal_size

        columns = get_terminal_size().columns
    common.print_result(format_table(rows, columns=columns, coloured=supports_colours(sys.stdout)))


def encode_row(row: JobRow) -> dict[str, Any]:
    """Return a job for JSON, with null for what is not known."""
    status, record = row.status, row.record
    profile, context = parse_target_name(row.target)
    directory = record.directory if record is not None else ""
    return {
        "id": status.job_id or None,
        "profile": profile,
        "cluster": context.get(CLUSTER_FIELD),
        "host": context.get("SSH:HOST"),
        "target": row.target,
        "state": row.state,
        "stale": row.is_stale,
        **_encode_end(status, row.reason),
        "retry_due": row.due_retry or None,
        "name": (record.name if record is not None else "") or None,
        "key": record.key if record is not None else None,
        # For a job that was not started here, the record has a marker instead of a path.
        "directory": directory if directory.startswith("/") else None,
        "submitted": status.submitted,
        **_encode_run(status),
        "array": (record.array if record is not None else "") or None,
        "array_id": record.array_id if record is not None else None,
        "tasks": list(map(_encode_task, row.tasks)) or None,
    }


def _encode_end(status: JobStatus, reason: str) -> dict[str, Any]:
    """Return how a job ended, or is, for JSON."""
    return {
        "native_state": status.native_state or None,
        "exit_code": status.exit_code,
        "signal": status.signal,
        "limit": status.limit_exceeded,
        "cause": status.cause,
        "hosts": list(status.hosts),
        "reason": reason or None,
    }


def _encode_run(status: JobStatus) -> dict[str, Any]:
    """Return when a job ran, and what it took, for JSON: seconds, bytes of memory, and joules; and what it was given."""
    return {
        "started": status.started,
        "ended": status.ended,
        "end_reported": status.end_reported,
        "elapsed": status.elapsed,
        "cpu_time": status.cpu_time,
        "max_memory": status.max_memory,
        "energy": status.energy,
        "allocated_cpus": status.allocated_cpus,
        "allocated_memory": status.allocated_memory,
    }


def _encode_task(record: JobRecord) -> dict[str, Any]:
    """Return a task for JSON: what differs from its array."""
    status = record.status
    return {
        "index": record.array_index,
        "id": status.job_id,
        "state": status.state.value,
        **_encode_end(status, status.reason),
        **_encode_run(status),
    }


def format_table(
    rows: Sequence[JobRow], *, columns: int | None = None, coloured: bool = False, cuts: bool = False
) -> str:
    """Return a table; where its lines are longer than `columns`, the reasons get lines of their own.

    With `cuts`, for a screen, texts are cut instead, and some columns left out.
    """
    grid = [COLUMNS, *map(_format_cells, rows)]
    widths = [
        max(map(len if "".join(column).isascii() else count_columns, column))
        for column in zip(*grid, strict=True)
    ]
    is_too_wide = columns is not None and not cuts and _count_excess(widths, columns) > 0
    if columns is not None and cuts:
        _reduce_widths(widths, columns)
    lines = []
    for cells, style in zip(grid, ["", *map(choose_style, rows)], strict=True):
        texts = [*map(fit_columns, cells, widths)]
        if coloured and style:
            texts[_STATE_COLUMN] = apply_style(style, texts[_STATE_COLUMN])
        *others, reason = (text for text, width in zip(texts, widths, strict=True) if width)
        lines.append(_COLUMN_GAP.join(others if is_too_wide else [*others, reason]).rstrip())
        if is_too_wide and style and cells[-1]:
            lines.append(f"    {reason.rstrip()}")
    return "\n".join(lines)


def _count_excess(widths: Sequence[int], columns: int) -> int:
    """Return by how many columns of a terminal a line is too long."""
    return sum(width + len(_COLUMN_GAP) for width in widths if width) - len(_COLUMN_GAP) - columns


def _reduce_widths(widths: list[int], columns: int) -> None:
    """Reduce the widths of columns until a line has at most `columns`, as far as they may be cut."""
    for least in _CUT_WIDTHS:
        for i in map(COLUMNS.index, _CUT_COLUMNS):
            widths[i] = min(widths[i], max(least, widths[i] - _count_excess(widths, columns)))


def _format_cells(row: JobRow) -> tuple[str, ...]:
    """Return the cells of a job's line."""
    status = row.status
    name = row.record.name if row.record is not None else ""
    values = (
        status.job_id or "-", name, row.target, f"{row.state}{'?' * row.is_stale}", format_outcome(status),
        format_run_time(status, status.started),
        ",".join(status.hosts), row.reason,
    )  # fmt: skip
    return tuple(map(replace_controls, values))


def format_outcome(status: JobStatus) -> str:
    """Return how a job ended: its exit code, the signal's name, or the cause as a word such as TIME."""
    if status.exit_code is not None:
        return str(status.exit_code)
    signal_name = "" if status.signal is None else format_signal_name(status.signal)
    if status.cause is not None and not (status.cause is EndCause.SIGNAL and signal_name):
        return status.cause.value
    return signal_name


def format_run_time(status: JobStatus, since: float | None) -> str:
    """Return for how long a job runs or ran, as 1:02:03: the time since `since` if the end told no other."""
    if status.state.is_terminal and status.elapsed is not None:
        return format_seconds(status.elapsed)
    return format_elapsed(since, status.ended) if since else ""


def format_elapsed(since: float, until: float | None) -> str:
    """Return the time between two times, or from `since` to now, as 1:02:03."""
    return format_seconds((until or time.time()) - since)


def format_seconds(duration: float) -> str:
    """Return a duration in seconds as 1:02:03."""
    return format_clock(duration).removeprefix("0")


def replace_controls(text: str) -> str:
    """Return a text on one line, with control characters replaced."""
    return text if text.isprintable() and " " not in text else replace_unprintable(" ".join(text.split()))


def choose_style(row: JobRow) -> str:
    """Return the style of a job's state."""
    if row.status.state is JobState.DONE and row.status.exit_code:
        return "red"
    return _STATE_STYLES[row.state]
