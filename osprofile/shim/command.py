"""What the stand-ins share: a command, its output, and the descriptions of jobs."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import OSProfileError
from osprofile.late import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from osprofile.job_scripts.command_line import Option, OptionValue
    from osprofile.jobs.state import JobStatus
    from osprofile.shim.client import Client

MEMORY_OF_ENDED_JOBS: Final = 300.0
"""Seconds for which squeue and qstat know an ended job: MinJobAge of Slurm, keep_completed of Torque."""
MEMORY_OF_HISTORY: Final = 14 * 86400.0
"""Seconds for which `qstat -x` of PBS Pro knows an ended job: its default for job_history_duration."""


@final
class Command(NamedTuple):
    """A stand-in: its table of options, its operands for the help, and the function that runs it.

    `run(client, words)` returns the exit code.
    """

    table: Sequence[Option]
    operands: str
    run: Callable[[Client, Sequence[str]], int]

    def format_help(self, program: str, system: str) -> str:
        """Return the text of --help, for the commands of a batch system."""
        from osprofile.job_scripts.command_line import select_options

        lines = [f"usage: {program} [OPTIONS] {self.operands}".rstrip(), ""]
        for option in select_options(self.table, system):
            if not option.name:
                continue
            equals = "=" if option.is_optional else " "
            value = f"[={option.value}]" if option.is_optional else f"{equals}{option.value}"
            lines.append(
                f"  {', '.join(option.flags)}{value.rstrip()}{'  ' if option.help else ''}{option.help}"
            )
        return "\n".join([*lines, "", "A stand-in of osprofile. Other options are refused."])


def print_lines(lines: Iterable[str]) -> None:
    """Print lines to standard output, unless it is closed; bytes that are not UTF-8 as they were.

    Raises `OSProfileError` if they cannot be written, `BrokenPipeError` if nobody reads them.
    """
    if sys.stdout is None:  # closed by the caller: descriptor 1 may be another file
        return
    data = memoryview("".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape"))
    try:
        while data:
            data = data[os.write(1, data) :]
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OSProfileError(f"standard output cannot be written: {error.strerror}") from None


def print_submitted_job(number: int, line: str) -> None:
    """Print the line that tells a job's number. Raises an error that says that the job was submitted."""
    try:
        print_lines([line])
    except (OSProfileError, BrokenPipeError) as error:
        message = f"job {number} was submitted, but its id could not be printed: {error}"
        raise OSProfileError(message, hint="do not submit it again; the list of the jobs has it") from None


def print_error(program: str, text: str) -> None:
    """Print a message to standard error."""
    sys.stderr.write(f"{program}: {text}\n".encode("utf-8", "backslashreplace").decode())


def note_ignored(program: str, options: Iterable[OptionValue]) -> None:
    """Name the options that change nothing, if a person reads it: programs take a text for an error."""
    names = list(dict.fromkeys(str(option) for option in options))
    if names and sys.stderr is not None and sys.stderr.isatty():
        print_error(program, f"note: {', '.join(names)}: taken, and without effect here")


def get_submit_directory() -> str:
    """Return the current directory, by the path that the shell shows for it if there is one."""
    try:
        current = os.getcwd()
    except OSError as error:
        from osprofile.job_scripts.command_line import (
            UsageError,  # late: many commands need nothing else of it
        )

        message = f"the current directory cannot be found: {error.strerror}"
        raise UsageError(message, hint="change to a directory that exists") from None
    shown = os.environ.get("PWD", "")
    try:
        is_same = shown.startswith("/") and os.path.samefile(shown, current)
    except OSError:
        is_same = False
    return shown if is_same else current


def is_own_name(client: Client, name: str) -> bool:
    """Return whether a name, or a number, is that of the jobs' user."""
    return name in {client.user_name, str(os.geteuid())}


def is_known(status: JobStatus, since: float) -> bool:
    """Return whether a job has not ended, or not before a time (s since 1970)."""
    return not status.state.is_terminal or (status.ended or status.submitted or 0.0) >= since


def get_elapsed(status: JobStatus) -> float:
    """Return the run time of a job in seconds, 0 if it has not begun."""
    if status.elapsed is not None:
        return status.elapsed
    if status.started is None:
        return 0.0
    return (status.ended or time.time()) - status.started
