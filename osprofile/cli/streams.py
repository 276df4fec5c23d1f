"""The standard streams of a command."""

from __future__ import annotations

import os
import sys


def print_result(text: str) -> None:
    """Print a result as UTF-8, whatever the locale is, and end its last line."""
    sys.stdout.flush()
    data = text.encode("utf-8", "surrogateescape")
    sys.stdout.buffer.write(data if data.endswith(b"\n") or not data else data + b"\n")
    sys.stdout.buffer.flush()


def print_message(text: str) -> None:
    """Print a message to standard error."""
    sys.stderr.write(text.encode("utf-8", "backslashreplace").decode() + "\n")


def discard_output() -> None:
    """Discard what could not be written: Python would try to write it again when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def open_missing_streams() -> None:
    """Open the standard streams that are closed, so that no other file gets their descriptors.

    Writing a result then fails; messages are lost.
    """
    # stdout is opened for reading: a result that nobody gets must be an error, not exit code 0.
    modes = {"stdin": os.O_RDONLY, "stdout": os.O_RDONLY, "stderr": os.O_WRONLY}
    for name, mode in modes.items():
        if getattr(sys, name) is None:
            number = os.open(os.devnull, mode)  # the lowest free one: that of the closed stream
            os.set_inheritable(number, True)
            stream = open(number, "w" if number else "r", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
