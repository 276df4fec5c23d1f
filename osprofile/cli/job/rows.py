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
from osprofile.cli.terminal import colours
from osprofile.events.event import JobState
from osprofile.target.names import context_of_target

if TYPE_CHECKING:
    from collections.abc import Sequence

    from osprofile.events.event import JobStatus
    from osprofile.target.store import Record

CUT: Final = "CUT"
SUBMITTING: Final = "SUBMITTING"
COLUMNS: Final = ("JOB", "NAME", "PROFILE", "STATE", "EXIT", "TIME", "HOST", "REASON")
_STATE: Final = COLUMNS.index("STATE")
_GAP: Final = "  "
_STYLES: Final = {
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
_CODES: Final = {
    "red": "31", "bold red": "1;31", "green": "32", "yellow": "33", "magenta": "35", "cyan": "36",
    "bright_black": "90",
}  # fmt: skip
"""How a terminal is told a style. To load rich for a table would take longer than to print it."""


@final
@dataclass(frozen=True, slots=True)
class Row:
    """A job: `status` is what was asked for, `record` what is written down, if anything.

    `unsubmitted` is CUT or SUBMITTING where it has no id yet; `remedy` says what to do about CUT.
    """

    target: str
    status: JobStatus
    record: Record | None = None
    unsubmitted: str = ""
    remedy: str = ""

    @property
    def state(self) -> str:
        """What stands in the column STATE."""
        return self.unsubmitted or self.status.state.value

    @property
    def reason(self) -> str:
        """What stands in the column REASON."""
        if self.unsubmitted == CUT and self.record is not None:
            return f"cut off while it was submitted, in {self.record.directory}; {self.remedy}"
        if self.status.state is JobState.UNKNOWN and self.status.word:
            word = f"the batch system's word is {self.status.word}"
            return f"{word}: {self.status.reason}" if self.status.reason else word
        return self.status.reason


def options_of(target: str) -> str:
    """Give the options that name a target system."""
    profile, context = context_of_target(target)
    if "SSH:HOST" not in context:
        return f"--profile {profile}"
    return f"--profile {profile} --host {target.partition('@')[2]}"


def put(rows: Sequence[Row], *, json: bool) -> None:
    """Print jobs to standard output: a table, or JSON."""
    if json:
        common.put_json([told(row) for row in rows])
        return
    columns = None
    if sys.stdout.isatty():
        from shutil import get_terminal_size

        columns = get_terminal_size().columns
    common.put(table(rows, columns=columns, coloured=colours(sys.stdout)))


def told(row: Row) -> dict[str, Any]:
    """Give a job for JSON; what is not known is null."""
    status, record = row.status, row.record
    profile, context = context_of_target(row.target)
    directory = record.directory if record is not None else ""
    return {
        "id": status.job_id or None,
        "profile": profile,
        "host": context.get("SSH:HOST"),
        "target": row.target,
        "state": row.state,
        "word": status.word or None,
        "exit_code": status.exit_code,
        "signal": status.signal,
        "limit": status.limit,
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


def table(rows: Sequence[Row], *, columns: int | None = None, coloured: bool = False) -> str:
    """Give a table in which nothing is cut.

    Where its lines are longer than a terminal's `columns`, reasons get lines of their own.
    """
    grid = [COLUMNS, *map(cells, rows)]
    widths = [max(map(_width, column)) for column in zip(*grid, strict=True)]
    styles = ["", *map(style_of, rows)]
    apart = columns is not None and sum(widths) + len(_GAP) * (len(widths) - 1) > columns
    lines = []
    for line, style in zip(grid, styles, strict=True):
        texts = list(map(_padded, line, widths))
        if coloured and style:
            texts[_STATE] = f"\x1b[{_CODES[style]}m{texts[_STATE]}\x1b[0m"
        *others, reason = texts
        lines.append(_GAP.join(others if apart else texts).rstrip())
        if apart and style and line[-1]:
            lines.append(f"    {reason.rstrip()}")
    return "\n".join(lines)


def cells(row: Row) -> tuple[str, ...]:
    """Give what stands in a job's line."""
    status = row.status
    run = elapsed(status.started, status.ended) if status.started else ""
    name = row.record.name if row.record is not None else ""
    values = (
        status.job_id or "-", name, row.target, row.state, end_of(status), run,
        ",".join(status.hosts), row.reason,
    )  # fmt: skip
    return tuple(map(printable, values))


def end_of(status: JobStatus) -> str:
    """Give how a job ended: its exit code, `limit`, or the signal's name."""
    if status.exit_code is not None:
        return str(status.exit_code)
    if status.limit:
        return "limit"
    if status.signal is None:
        return ""
    try:
        return signal.Signals(status.signal).name
    except ValueError:
        return f"SIG{status.signal}"


def elapsed(since: float, until: float | None) -> str:
    """Give the time between two times (now, where there is no second one), as 1:02:03."""
    seconds = max(0, int((until or time.time()) - since))
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def printable(text: str) -> str:
    """Give a text on one line, with nothing in it that a terminal would act on."""
    return "".join(c if c.isprintable() else "\ufffd" for c in " ".join(text.split()))


def style_of(row: Row) -> str:
    """Give the style of a job's state, as rich names it."""
    if row.status.state is JobState.DONE and row.status.exit_code:
        return "red"
    return _STYLES[row.unsubmitted or row.status.state]


def _width(text: str) -> int:
    """Give how many of a terminal's columns a text takes."""
    if text.isascii():
        return len(text)
    import unicodedata

    return sum(
        0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF")
        for c in text
    )


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _width(text))
