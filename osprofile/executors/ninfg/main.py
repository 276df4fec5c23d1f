"""The executable `ng_invoke_server.osprofile`: `ng_invoke_server.osprofile [-l LOGFILE] [--metrics WHERE]`.

A client starts it with three pipes, and with whatever else it has open. Only the protocol may use
stdout and stderr: both are moved away, and anything else that is printed goes to the log.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
from typing import TYPE_CHECKING, Final, NoReturn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from osprofile.metrics import Destination

PROGRAM_NAME: Final = "ng_invoke_server.osprofile"
USAGE: Final = f"""\
usage: {PROGRAM_NAME} [-l LOGFILE] [--metrics WHERE]

The Ninf-G Invoke Server over OS Profiles, to be started by a Ninf-G client. The profile of a job is
the attribute jobmanager, else the option "profile NAME", else linux.

  -l LOGFILE       append a log to this file
  --metrics WHERE  write metrics for Prometheus to a file WHERE.prom, or serve them at 127.0.0.1:PORT
  -h, --help       print this
  --version        print the version
"""


def main() -> NoReturn:
    """Run as this process, with its command line, and end it."""
    log_file, destination = _parse_arguments(sys.argv[1:])
    _close_inherited_files()
    handles = _move_standard_pipes(log_file)
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.INFO if log_file else logging.WARNING,
        format="%(asctime)s %(process)d %(levelname)s %(message)s",
    )
    from osprofile.executors.ninfg.server import Server

    async def serve() -> int:
        return await Server(*handles).serve_client()

    from osprofile.metrics import export_metrics

    with export_metrics(destination):
        code = asyncio.run(serve())
    sys.exit(code)


def _parse_arguments(argv: Sequence[str]) -> tuple[str | None, Destination]:
    """Return the log file (None: there is none) and where metrics go; a wrong argument ends the process."""
    if argv in (["-h"], ["--help"]):
        sys.stdout.write(USAGE)
        sys.exit(0)
    if argv == ["--version"]:
        from osprofile import __version__

        sys.stdout.write(f"{PROGRAM_NAME} {__version__}\n")
        sys.exit(0)
    from osprofile.errors import SettingError
    from osprofile.metrics import parse_destination

    log_file, metrics = None, ""
    words = iter(argv)
    for word in words:
        if word.startswith("-l"):
            log_file = word[2:] or next(words, "")
            value = log_file
        else:
            option, equals, value = word.partition("=")
            metrics = value = value if equals else next(words, "")
            if option != "--metrics":
                value = ""
        if not value:
            sys.stderr.write(f"{PROGRAM_NAME}: wrong usage: {' '.join(argv)}\n{USAGE}")
            sys.exit(2)
    try:
        return log_file, parse_destination(metrics)
    except SettingError as error:
        sys.stderr.write(f"{PROGRAM_NAME}: {error}\n")
        sys.exit(2)


def _close_inherited_files() -> None:
    """Close all file descriptors but those of the three pipes."""
    try:
        numbers = [int(name) for name in os.listdir("/dev/fd")]
    except OSError:
        numbers = [*range(1024)]
    for number in numbers:
        if number > 2:
            with contextlib.suppress(OSError):  # the one of os.listdir
                os.close(number)


def _move_standard_pipes(log_file: str | None) -> tuple[int, int, int]:
    """Return descriptors of the pipes that no child inherits; put the log in place of the pipes."""
    try:
        stdin, stdout, stderr = (os.dup(number) for number in range(3))
    except OSError as error:
        sys.stderr.write(f"{PROGRAM_NAME}: stdin, stdout, stderr: {error.strerror}\n")
        sys.exit(2)
    log = _open_log(log_file or os.devnull)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, number in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(source, number)
    os.close(nothing)
    os.close(log)
    return stdin, stdout, stderr


def _open_log(path: str) -> int:
    """Return the log file, or the null device if it cannot be opened: syslog has the reason, as stderr is the client's."""
    try:
        # O_NONBLOCK: opening a named pipe would wait for a reader
        return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK, 0o600)
    except OSError as error:
        import syslog

        syslog.openlog(PROGRAM_NAME, syslog.LOG_PID)
        syslog.syslog(syslog.LOG_WARNING, f"{path}: {error.strerror}; there is no log")
        return os.open(os.devnull, os.O_WRONLY)


if __name__ == "__main__":
    main()
