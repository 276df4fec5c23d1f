"""A job as it is shown: a line of a table, or an object of JSON.

Names, hosts, words and reasons come from batch systems and other people: they are shown without
anything that a terminal, or rich's markup, would act on.
"""

from __future__ import annotations

import signal
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, final

from osprofile.cli import common
from osprofile.cli.terminal import supports_colours
from osprofile.errors import replace_unprintable
from osprofile.jobs.state import JobState
from osprofile.jobs.target_names import parse_target_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from osprofile.jobs.state import JobStatus
    from osprofile.jobs.store import JobRecord

CUT: Final = "CUT"
SUBMITTING: Final = "SUBMITTING"
COLUMNS: Final = ("JOB", "NAME", "PROFILE", "STATE", "EXIT", "TIME", "HOST", "REASON")
_STATE_COLUMN: Final = COLUMNS.index("STATE")
_COLUMN_GAP: Final = "  "
_STATE_STYLES: Final = {
    JobState.QUEUED: "yellow",
    JobState.HELD: "magenta",
    JobState.RUNNING: "cyan",
    JobState.DONE: "green",
    JobState.FAILED: "red",
    JobState.REMOVED: "bright_black",
    JobState.LOST: "bold red",
    JobState.UNKNOWN: "yellow",
    CUT: "bold red",
    SUBMITTING: "yellow",
}
_STYLE_CODES: Final = {
    "red": "31", "bold red": "1;31", "green": "32", "yellow": "33", "magenta": "35", "cyan": "36",
    "bright_black": "90",
}  # fmt: skip
"""How a terminal is told a style. To load rich for a table would take longer than to print it."""


@final
@dataclass(frozen=True, slots=True)
class JobRow:
    """A job: `status` is what was asked for, `record` what is written down, if anything.

    `submission_state` is CUT or SUBMITTING where it has no id yet; `remedy` says what to do about CUT.
    """

    target: str
    status: JobStatus
    record: JobRecord | None = None
    submission_state: str = ""
    remedy: str = ""

    @property
    def state(self) -> str:
        """What stands in the column STATE."""
        return self.submission_state or self.status.state.value

    @property
    def reason(self) -> str:
        """What stands in the column REASON."""
        if self.submission_state == CUT and self.record is not None:
            return f"cut off while it was submitted, in {self.record.directory}; {self.remedy}"
        if self.status.state is JobState.UNKNOWN and self.status.native_state:
            word = f"the batch system's word is {self.status.native_state}"
            return f"{word}: {self.status.reason}" if self.status.reason else word
        return self.status.reason


def format_target_options(target: str) -> str:
    """Give the options that name a target system."""
    profile, context = parse_target_name(target)
    if "SSH:HOST" not in context:
        return f"--profile {profile}"
    return f"--profile {profile} --host {target.partition('@')[2]}"


def print_rows(rows: Sequence[JobRow], *, json: bool) -> None:
    """Print jobs to standard output: a table, or JSON."""
    if json:
        common.print_json([encode_row(row) for row in rows])
        return
    columns = None
    if sys.stdout.isatty():
        from shutil import get_terminal_size

        columns = get_terminal_size().columns
    common.print_result(format_table(rows, columns=columns, coloured=supports_colours(sys.stdout)))


def encode_row(row: JobRow) -> dict[str, Any]:
    """Give a job for JSON; what is not known is null."""
    status, record = row.status, row.record
    profile, context = parse_target_name(row.target)
    directory = record.directory if record is not None else ""
    return {
        "id": status.job_id or None,
        "profile": profile,
        "host": context.get("SSH:HOST"),
        "target": row.target,
        "state": row.state,
        "word": status.native_state or None,
        "exit_code": status.exit_code,
        "signal": status.signal,
        "limit": status.limit_exceeded,
        "hosts": list(status.hosts),
        "reason": row.reason or None,
        "name": (record.name if record is not None else "") or None,
        "key": record.key if record is not None else None,
        # A job that was not started here has a word of the record's own there.
        "directory": directory if directory.startswith("/") else None,
        "submitted": status.submitted,
        "started": status.started,
        "ended": status.ended,
    }


def format_table(
    rows: Sequence[JobRow], *, columns: int | None = None, coloured: bool = False
) -> str:
    """Give a table in which nothing is cut.

    Where its lines are longer than a terminal's `columns`, reasons get lines of their own.
    """
    grid = [COLUMNS, *map(format_cells, rows)]
    widths = [max(map(_count_columns, column)) for column in zip(*grid, strict=True)]
    styles = ["", *map(choose_style, rows)]
    apart = columns is not None and sum(widths) + len(_COLUMN_GAP) * (len(widths) - 1) > columns
    lines = []
    for line, style in zip(grid, styles, strict=True):
        texts = list(map(_pad_columns, line, widths))
        if coloured and style:
            texts[_STATE_COLUMN] = f"\x1b[{_STYLE_CODES[style]}m{texts[_STATE_COLUMN]}\x1b[0m"
        *others, reason = texts
        lines.append(_COLUMN_GAP.join(others if apart else texts).rstrip())
        if apart and style and line[-1]:
            lines.append(f"    {reason.rstrip()}")
    return "\n".join(lines)


def format_cells(row: JobRow) -> tuple[str, ...]:
    """Give what stands in a job's line."""
    status = row.status
    run = format_elapsed(status.started, status.ended) if status.started else ""
    name = row.record.name if row.record is not None else ""
    values = (
        status.job_id or "-", name, row.target, row.state, format_outcome(status), run,
        ",".join(status.hosts), row.reason,
    )  # fmt: skip
    return tuple(map(replace_controls, values))


def format_outcome(status: JobStatus) -> str:
    """Give how a job ended: its exit code, `limit_exceeded`, or the signal's name."""
    if status.exit_code is not None:
        return str(status.exit_code)
    if status.limit_exceeded:
        return "limit"
    if status.signal is None:
        return ""
    try:
        return signal.Signals(status.signal).name
    except ValueError:
        return f"SIG{status.signal}"


def format_elapsed(since: float, until: float | None) -> str:
    """Give the time between two times (now, where there is no second one), as 1:02:03."""
    seconds = max(0, int((until or time.time()) - since))
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def replace_controls(text: str) -> str:
    """Give a text on one line, with nothing in it that a terminal would act on."""
    return replace_unprintable(" ".join(text.split()))


def choose_style(row: JobRow) -> str:
    """Give the style of a job's state, as rich names it."""
    if row.status.state is JobState.DONE and row.status.exit_code:
        return "red"
    return _STATE_STYLES[row.submission_state or row.status.state]


def _count_columns(text: str) -> int:
    """Give how many of a terminal's columns a text takes."""
    if text.isascii():
        return len(text)
    import unicodedata

    return sum(
        0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF")
        for c in text
    )


def _pad_columns(text: str, width: int) -> str:
    return text + " " * (width - _count_columns(text))
