"""The command line of `osprofile-seg`, the one of `globus-scheduler-event-generator`.

    osprofile-seg -s NAME [-t TIMESTAMP] [-d DIR [-b] [-p PIDFILE]]
                  [--log-path PATH]... [--extended] [--interval SECONDS] [--processes 1|2]

Options are read by hand, and little is imported: a generator's start should be short.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from typing import TYPE_CHECKING, Final, NoReturn, final

from osprofile.errors import EventError, nearest, shown
from osprofile.events.tail import open_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from osprofile.events.output import Output
    from osprofile.events.sources.base import Source

USAGE: Final = "usage: osprofile-seg -s NAME [-t TIMESTAMP] [-d DIRECTORY [-b] [-p PIDFILE]]"
HELP: Final = f"""{USAGE}

Tell what a scheduler's log says of its jobs, a line an event: 001;TIMESTAMP;JOBID;STATE;EXIT_CODE
with STATE 1 pending, 2 active, 4 failed, 8 done. Ends when the standard input is closed.

  -s NAME             the source: {{names}}, or one that is installed
  -t TIMESTAMP        tell the events since then (seconds since 1970), not only those to come
  -d DIRECTORY        write into files DIRECTORY/YYYYMMDD by the event's day in Greenwich,
                      not to the standard output; ends at SIGINT
  -b                  go into the background (with -d alone)
  -p PIDFILE          write the process id of the one in the background there
  --log-path PATH     where the log is; else log_path of globus-NAME.conf in $SEG_CONF_DIR
                      or /etc/globus. condor and slurm take several
  --extended          tell also what is not known to the original: jobs that are deleted while
                      they wait, that are run again, and, as state 16, held and suspended ones
  --interval SECONDS  between two looks at a log that was read to its end (0.1)
  --processes 1|2     by how many a backlog is replayed; else by two where there are
                      two processors, and it is of 8 MiB or more
  -h, --help          this text
"""
_WITH_VALUE: Final = {
    "-s": "name",
    "-t": "since",
    "-d": "directory",
    "-p": "pid_file",
    "--log-path": "paths",
    "--interval": "interval",
    "--processes": "processes",
}
_FLAGS: Final = {"-b": "background", "--extended": "extended", "-h": "help", "--help": "help"}
CONFIGURATION: Final = "/etc/globus"


@final
class Arguments:
    """What the command line says."""

    def __init__(self) -> None:
        self.name = ""
        self.since = 0
        self.directory = ""
        self.pid_file = ""
        self.paths: list[str] = []
        self.interval = 0.1
        self.processes: int | None = None
        self.background = self.extended = self.help = False

    def give(self, option: str, value: str) -> None:
        """Take an option that has a value; raises `EventError`."""
        match _WITH_VALUE[option]:
            case "since":
                self.since = _timestamp(value)
            case "interval":
                self.interval = _seconds(value)
            case "processes":
                self.processes = _processes(value)
            case "paths":
                self.paths.append(value)
            case attribute:
                setattr(self, attribute, value)


def parse(words: Sequence[str]) -> Arguments:
    """Read a command line (without the command's name); raises `EventError`.

    As with the original, options of one letter may stand together, and with their values; what is
    no option is passed over.
    """
    arguments = Arguments()
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            break
        if word.startswith("--"):
            option, given, value = word.partition("=")
            attached = [value] if given else []
        elif word.startswith("-") and len(word) > 1:
            option, attached = word[:2], [word[2:]] if word[2:] else []
        else:
            continue
        if option in _FLAGS:
            setattr(arguments, _FLAGS[option], True)
            if attached and not option.startswith("--"):
                rest.insert(0, f"-{attached[0]}")
        elif option in _WITH_VALUE:
            if not attached and not rest:
                raise EventError(f"option {option} needs a value")
            arguments.give(option, attached[0] if attached else rest.pop(0))
        else:
            hint = nearest(option, [*_WITH_VALUE, *_FLAGS])
            raise EventError(f"there is no option {shown(option)}", hint=hint)
    return arguments


def _timestamp(value: str) -> int:
    """Read a timestamp as the original does: a number, whatever stands behind it."""
    found = re.match(r"\s*([+-]?[0-9]+)", value, re.ASCII)
    if found is None or int(found[1]) < 0:
        message = f"-t {shown(value)} is no timestamp"
        raise EventError(message, hint="give seconds since 1970")
    return int(found[1])


def _seconds(value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = -1.0
    if not 0.001 <= seconds <= 86_400:
        message = f"--interval {shown(value)} is no number of seconds"
        raise EventError(message, hint="give one from 0.001 to 86400")
    return seconds


def _processes(value: str) -> int:
    if value not in ("1", "2"):
        raise EventError(f"--processes {shown(value)} is not possible", hint="give 1 or 2")
    return int(value)


def settings_of(name: str) -> dict[str, str]:
    """Read `globus-NAME.conf`, lines NAME=VALUE, perhaps quoted; empty where there is none.

    Of several lines with a name the first counts. Raises `EventError` if it cannot be read.
    """
    if "/" in name:
        return {}
    directory = os.environ.get("SEG_CONF_DIR") or CONFIGURATION
    path = os.path.join(directory, f"globus-{name}.conf")
    try:
        with open(open_regular(path), encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read().split("\n")
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise EventError(f"{path} cannot be read: {error.strerror}") from error
    settings: dict[str, str] = {}
    for line in lines:
        key, equals, value = line.lstrip(" \t").partition("=")
        if equals and not key.startswith("#"):
            settings.setdefault(key, value.removeprefix('"').rstrip(' \t\r"'))
    return settings


def main() -> NoReturn:
    """Run the command line of this process and end it with the generator's exit code."""
    sys.exit(run(sys.argv[1:]))


def run(words: Sequence[str]) -> int:
    """Run a command line; 0 at the end of input or output, 1 where it could not begin."""
    try:
        arguments = parse(words)
        if arguments.help:
            return _help()
        return _generate(arguments)
    except EventError as error:
        _say(str(error))
        return error.exit_code
    except OSError as error:
        _say(f"{error.filename or 'the output'}: {error.strerror}")
        return 1


def _say(text: str) -> None:
    if sys.stderr:
        sys.stderr.write(f"osprofile-seg: {text}\n")


def _help() -> int:
    from osprofile.events.sources import NAMES

    if sys.stdout:
        sys.stdout.write(HELP.format(names=", ".join(NAMES)))
    return 0


def _generate(arguments: Arguments) -> int:
    from osprofile.events.generator import generate, progress_of
    from osprofile.events.pair import paired
    from osprofile.events.sources import find
    from osprofile.events.sources.base import Options

    if not arguments.name:
        raise EventError("no source is named", hint=f"-s NAME; {USAGE}")
    open_source = find(arguments.name)
    options = Options(
        arguments.name,
        arguments.since,
        arguments.extended,
        tuple(arguments.paths),
        settings_of(arguments.name),
    )
    source = open_source(options)
    if arguments.background and not arguments.directory:
        _say("-b means nothing without -d")
    output = _output(arguments)
    tell_problems = _teller_of_problems(source)
    if output is None:
        source.left()  # opens the logs: the process in the background has nobody to tell
        tell_problems()
        return 0
    source = paired(source, arguments.processes)
    generate(
        source,
        output,
        interval=arguments.interval,
        progress=progress_of(source),
        idle=tell_problems,
    )
    return 0


def _teller_of_problems(source: Source) -> Callable[[], None]:
    """Return a function that tells what is wrong with the source's logs, each problem once."""
    from osprofile.events.sources.base import LogSource

    told: list[str] = []

    def tell() -> None:
        problems = source.problems() if isinstance(source, LogSource) else []
        for problem in problems:
            if problem not in told:
                _say(problem)
        told[:] = problems

    return tell


def _output(arguments: Arguments) -> Output | None:
    """Open the output; None in the process that a background one was started from."""
    from osprofile.events.output import Directory, Standard

    if not arguments.directory:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        return Standard()
    if not os.access(arguments.directory, os.W_OK) or not os.path.isdir(arguments.directory):
        message = f"{arguments.directory} is no directory that can be written to"
        raise EventError(message, hint="-d DIRECTORY must exist")
    if arguments.background and not _is_background(arguments.pid_file):
        return None
    return Directory(arguments.directory)


def _is_background(pid_file: str) -> bool:
    """Go into the background; say whether this is the process there."""
    go, wait = os.pipe()
    pid = os.fork()
    if pid:
        os.close(go)
        try:
            if pid_file:
                with open(pid_file, "w", encoding="ascii") as file:
                    file.write(f"{pid}\n")
        except OSError:
            os.kill(pid, signal.SIGTERM)
            raise
        os.close(wait)
        sys.stdout.write(f"Running in background (pid={pid})\n")
        return False
    os.close(wait)
    os.read(go, 1)  # until the process id is on record
    os.close(go)
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    if null > 2:
        os.close(null)
    return True


if __name__ == "__main__":
    main()
