"""The programming interface for further sources of events: Globus's "SEG API".

    from osprofile.events.emit import event_active, event_done

    event_active(0, "17.host")          # now
    event_done(1580724002, "17.host", 3)

Timestamps are in seconds since 1970; 0 is now. All functions raise `EventError` for a negative one, and for a
job id that is empty or contains a semicolon or a line end.

The generator writes these events, in order, when the source's `read_events` returns. A source is
registered in the entry point group `osprofile.event_sources`: see docs/events.md, "Your own source".
"""

from __future__ import annotations

import time
from typing import Final

from osprofile.events.errors import EventError
from osprofile.text import quote_value

# The states of GRAM's protocol: docs/protocols/seg.md, 1.4.
PENDING: Final = 1
ACTIVE: Final = 2
FAILED: Final = 4
DONE: Final = 8
SUSPENDED: Final = 16
UNSUBMITTED: Final = 32

_emitted_lines: list[str] = []


def event_pending(timestamp: int, jobid: str) -> None:
    """Report that a job is pending since `timestamp`."""
    _emit_event(timestamp, jobid, PENDING, 0)


def event_active(timestamp: int, jobid: str) -> None:
    """Report that a job is active since `timestamp`."""
    _emit_event(timestamp, jobid, ACTIVE, 0)


def event_failed(timestamp: int, jobid: str, failure_code: int = 0) -> None:
    """Report that a job failed at `timestamp`; `failure_code` is 0 if the reason is unknown."""
    _emit_event(timestamp, jobid, FAILED, failure_code)


def event_done(timestamp: int, jobid: str, exit_code: int = 0) -> None:
    """Report that a job ended by itself at `timestamp`."""
    _emit_event(timestamp, jobid, DONE, exit_code)


def event_suspended(timestamp: int, jobid: str) -> None:
    """Report that a job is held or suspended since `timestamp`; only for `--extended`."""
    _emit_event(timestamp, jobid, SUSPENDED, 0)


def event_message(line: str) -> None:
    """Write `line` as it is, a message of any type; raise `EventError` if it contains a line end."""
    if "\n" in line:
        message = f"a message must be one line, not {quote_value(line)}"
        raise EventError(message)
    _emitted_lines.append(f"{line}\n")


def take_emitted_lines() -> str:
    """Return the lines emitted since the last call, and forget them."""
    text = "".join(_emitted_lines)
    _emitted_lines.clear()
    return text


def format_event(timestamp: int, job_id: str, state: int, code: int = 0) -> str:
    """Return the line of an event: 001;TIMESTAMP;JOBID;STATE;CODE and a line end."""
    return f"001;{timestamp};{job_id}{format_event_suffix(state, code)}"


def format_event_suffix(state: int, code: int = 0) -> str:
    """Return the end of an event's line, after the job id."""
    return f";{state};{code}\n"


def _emit_event(timestamp: int, jobid: str, state: int, code: int) -> None:
    if not jobid or ";" in jobid or "\n" in jobid:
        message = f"an event cannot carry the job id {quote_value(jobid)}"
        raise EventError(message, hint="it must not be empty or contain a semicolon or a line end")
    if timestamp < 0:
        raise EventError(
            f"{timestamp} is not a time of an event", hint="give seconds since 1970, or 0 for now"
        )
    _emitted_lines.append(format_event(int(timestamp) or int(time.time()), jobid, state, int(code)))
