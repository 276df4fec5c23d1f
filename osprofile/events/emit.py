"""The programming interface for those who write further sources (Scheduler Event Generator, "SEG API").

    from osprofile.events.emit import event_active, event_done

    event_active(0, "17.host")          # now
    event_done(1580724002, "17.host", 3)

What is emitted so goes to the generator's output, in order, as soon as the source gives back
control. A source is found by the entry point group `osprofile.event_sources`; see
`osprofile.events.sources`.
"""

from __future__ import annotations

import time
from typing import Final

from osprofile.errors import EventError, quote_value

# The states of GRAM's protocol, as the generator's lines tell them.
PENDING: Final = 1
ACTIVE: Final = 2
FAILED: Final = 4
DONE: Final = 8
SUSPENDED: Final = 16

_emitted_lines: list[str] = []


def event_pending(timestamp: int, jobid: str) -> None:
    """Say that a job waits to be run since `timestamp` (seconds since 1970; 0: now).

    Raises `EventError` for a job id that a line cannot carry.
    """
    _emit_event(timestamp, jobid, PENDING, 0)


def event_active(timestamp: int, jobid: str) -> None:
    """Say that a job runs since `timestamp` (seconds since 1970; 0: now).

    Raises `EventError` for a job id that a line cannot carry.
    """
    _emit_event(timestamp, jobid, ACTIVE, 0)


def event_failed(timestamp: int, jobid: str, failure_code: int = 0) -> None:
    """Say that a job failed at `timestamp` (seconds since 1970; 0: now), and why, if that is known.

    Raises `EventError` for a job id that a line cannot carry.
    """
    _emit_event(timestamp, jobid, FAILED, failure_code)


def event_done(timestamp: int, jobid: str, exit_code: int = 0) -> None:
    """Say that a job ended by itself at `timestamp` (seconds since 1970; 0: now), and how.

    Raises `EventError` for a job id that a line cannot carry.
    """
    _emit_event(timestamp, jobid, DONE, exit_code)


def event_suspended(timestamp: int, jobid: str) -> None:
    """Say that a job is held or suspended since `timestamp`; for `--extended` alone.

    Raises `EventError` for a job id that a line cannot carry.
    """
    _emit_event(timestamp, jobid, SUSPENDED, 0)


def event_message(line: str) -> None:
    """Send any message: `line` is its text, without a line end.

    Raises `EventError` where it holds one.
    """
    if "\n" in line:
        message = f"a message is one line, not {quote_value(line)}"
        raise EventError(message)
    _emitted_lines.append(f"{line}\n")


def take_emitted_lines() -> str:
    """Give the lines emitted since the last call; the generator asks for them."""
    text = "".join(_emitted_lines)
    _emitted_lines.clear()
    return text


def _emit_event(timestamp: int, jobid: str, state: int, code: int) -> None:
    if not jobid or ";" in jobid or "\n" in jobid:
        message = f"no line can carry the job id {quote_value(jobid)}"
        raise EventError(message, hint="it must not be empty, nor hold a semicolon or a line end")
    _emitted_lines.append(f"001;{int(timestamp) or int(time.time())};{jobid};{state};{int(code)}\n")
