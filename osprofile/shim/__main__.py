"""Run a stand-in, as `python -P -m osprofile.shim slurm sbatch SETTINGS [WORD...]`; SETTINGS is JSON.

Exit codes: those of the command that it stands in for; else 2 for wrong usage, 3 for an invalid profile, 1 for any other
error, and 128+n after signal n.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
from typing import TYPE_CHECKING, NoReturn, cast

from osprofile.errors import OSProfileError
from osprofile.late import import_costly_modules_late
from osprofile.shim.client import Client, Interruption, Settings
from osprofile.shim.command import print_error, print_lines
from osprofile.shim.programs import MODULES, SYNONYMS, VERSIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from osprofile.shim.command import Command

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main(command_line: Sequence[str]) -> NoReturn:
    """Run a stand-in, and end the process; `command_line` is SYSTEM PROGRAM SETTINGS [WORD...]."""
    system, program, settings, *words = command_line
    gc.disable()  # the process is brief
    import_costly_modules_late()
    received: list[int] = []
    for number in _SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:  # nohup ignores HUP
            signal.signal(number, lambda n, _frame: _interrupt(n, received))
    try:
        code = _run(SYNONYMS.get(system, system), program, Settings(**json.loads(settings)), words)
    except OSProfileError as error:
        print_error(program, f"error: {error}")
        code = error.exit_code
    except Interruption as interruption:
        print_error(
            program,
            f"error: interrupted by signal {interruption.number}; {interruption.message}".rstrip("; "),
        )
        code = 128 + interruption.number
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Python would try to write again when it exits
        code = 1
    except Exception as error:
        if os.environ.get("OSPROFILE_DEBUG"):
            raise
        text = f"error: internal error: {type(error).__name__}: {error}"
        print_error(
            program, f"{text}\n    hint: this is a bug in osprofile; OSPROFILE_DEBUG=1 shows the traceback"
        )
        code = 1
    if sys.stderr is not None:
        sys.stderr.flush()
    os._exit(
        code
    )  # without the end of an interpreter, which takes a tenth of the time; print_lines keeps nothing back


def _interrupt(number: int, received: list[int]) -> None:
    received.append(number)
    if len(received) == 1:  # the second one must not interrupt the cleaning up
        raise Interruption(number)


def _find_command(system: str, program: str) -> Command:
    from importlib import import_module

    module = import_module(f"osprofile.shim.{MODULES[system][program]}")
    return cast("Command", getattr(module, program.upper()))


def _run(system: str, program: str, settings: Settings, words: Sequence[str]) -> int:
    command = _find_command(system, program)
    if list(words) == ["--help"]:
        print_lines([command.format_help(program, system)])
        return 0
    if list(words) == ["--version"] or (list(words) == ["-V"] and system == "slurm"):
        print_lines([VERSIONS[system]])
        return 0
    with Client(settings, system) as client:
        return command.run(client, words)


if __name__ == "__main__":
    main(sys.argv[1:])
