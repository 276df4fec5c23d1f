"""The executable `ng_invoke_server.osprofile`: `ng_invoke_server.osprofile [-l LOGFILE]`.

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

PROGRAM_NAME: Final = "ng_invoke_server.osprofile"
USAGE: Final = f"""\
usage: {PROGRAM_NAME} [-l LOGFILE]

The Ninf-G Invoke Server over OS Profiles, to be started by a Ninf-G client. The profile of a job is
the attribute jobmanager, else the option "profile NAME", else linux.

  -l LOGFILE   append a log to this file
  -h, --help   print this
  --version    print the version
"""


def main() -> NoReturn:
    """Run as this process, with its command line, and end it."""
    log_file = _parse_log_file(sys.argv[1:])
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

    sys.exit(asyncio.run(serve()))


def _parse_log_file(argv: Sequence[str]) -> str | None:
    """Return the value of -l (None: there is none); any other argument ends the process."""
    if argv in (["-h"], ["--help"]):
        sys.stdout.write(USAGE)
        sys.exit(0)
    if argv == ["--version"]:
        from osprofile import __version__

        sys.stdout.write(f"{PROGRAM_NAME} {__version__}\n")
        sys.exit(0)
    if not argv:
        return None
    if len(argv) == 2 and argv[0] == "-l":
        return argv[1]
    if len(argv) == 1 and argv[0].startswith("-l") and len(argv[0]) > 2:
        return argv[0][2:]
    sys.stderr.write(f"{PROGRAM_NAME}: wrong usage: {' '.join(argv)}\n{USAGE}")
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
        log = os.open(log_file or os.devnull, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        stdin, stdout, stderr = (os.dup(number) for number in range(3))
    except OSError as error:
        sys.stderr.write(f"{PROGRAM_NAME}: {error.filename or 'stdin, stdout, stderr'}: {error.strerror}\n")
        sys.exit(2)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, number in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(source, number)
    os.close(nothing)
    os.close(log)
    return stdin, stdout, stderr


if __name__ == "__main__":
    main()
