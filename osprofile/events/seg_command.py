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

from osprofile.errors import EventError, quote_value, suggest_names
from osprofile.events.tail import open_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from osprofile.events.output import EventOutput
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
_VALUE_OPTIONS: Final = {
    "-s": "name",
    "-t": "since",
    "-d": "directory",
    "-p": "pid_file",
    "--log-path": "paths",
    "--interval": "interval",
    "--processes": "processes",
}
_FLAG_OPTIONS: Final = {
    "-b": "background",
    "--extended": "extended",
    "-h": "help",
    "--help": "help",
}
DEFAULT_CONFIG_DIRECTORY: Final = "/etc/globus"


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

    def set_option(self, option: str, value: str) -> None:
        """Take an option that has a value; raises `EventError`."""
        match _VALUE_OPTIONS[option]:
            case "since":
                self.since = _parse_timestamp(value)
            case "interval":
                self.interval = _parse_interval(value)
            case "processes":
                self.processes = _parse_process_count(value)
            case "paths":
                self.paths.append(value)
            case attribute:
                setattr(self, attribute, value)


def parse_arguments(argv: Sequence[str]) -> Arguments:
    """Read a command line (without the command's name); raises `EventError`.

    As with the original, options of one letter may stand together, and with their values; what is
    no option is passed over.
    """
    arguments = Arguments()
    rest = list(argv)
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
        if option in _FLAG_OPTIONS:
            setattr(arguments, _FLAG_OPTIONS[option], True)
            if attached and not option.startswith("--"):
                rest.insert(0, f"-{attached[0]}")
        elif option in _VALUE_OPTIONS:
            if not attached and not rest:
                raise EventError(f"option {option} needs a value")
            arguments.set_option(option, attached[0] if attached else rest.pop(0))
        else:
            hint = suggest_names(option, [*_VALUE_OPTIONS, *_FLAG_OPTIONS])
            raise EventError(f"there is no option {quote_value(option)}", hint=hint)
    return arguments


def _parse_timestamp(value: str) -> int:
    """Read a timestamp as the original does: a number, whatever stands behind it."""
    found = re.match(r"\s*([+-]?[0-9]+)", value, re.ASCII)
    if found is None or int(found[1]) < 0:
        message = f"-t {quote_value(value)} is no timestamp"
        raise EventError(message, hint="give seconds since 1970")
    return int(found[1])


def _parse_interval(value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = -1.0
    if not 0.001 <= seconds <= 86_400:
        message = f"--interval {quote_value(value)} is no number of seconds"
        raise EventError(message, hint="give one from 0.001 to 86400")
    return seconds


def _parse_process_count(value: str) -> int:
    if value not in ("1", "2"):
        raise EventError(f"--processes {quote_value(value)} is not possible", hint="give 1 or 2")
    return int(value)


def read_settings(name: str) -> dict[str, str]:
    """Read `globus-NAME.conf`, lines NAME=VALUE, perhaps quoted; empty where there is none.

    Of several lines with a name the first counts. Raises `EventError` if it cannot be read.
    """
    if "/" in name:
        return {}
    directory = os.environ.get("SEG_CONF_DIR") or DEFAULT_CONFIG_DIRECTORY
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
    sys.exit(run_command_line(sys.argv[1:]))


def run_command_line(argv: Sequence[str]) -> int:
    """Run a command line; 0 at the end of input or output, 1 where it could not begin."""
    try:
        arguments = parse_arguments(argv)
        if arguments.help:
            return _print_help()
        return _run_generator(arguments)
    except EventError as error:
        _print_message(str(error))
        return error.exit_code
    except OSError as error:
        _print_message(f"{error.filename or 'the output'}: {error.strerror}")
        return 1


def _print_message(text: str) -> None:
    if sys.stderr:
        sys.stderr.write(f"osprofile-seg: {text}\n")


def _print_help() -> int:
    from osprofile.events.sources import SOURCE_NAMES

    if sys.stdout:
        sys.stdout.write(HELP.format(names=", ".join(SOURCE_NAMES)))
    return 0


def _run_generator(arguments: Arguments) -> int:
    from osprofile.events.generator import generate_events, open_progress_bar
    from osprofile.events.parallel_source import parallelize_source
    from osprofile.events.sources import find_source
    from osprofile.events.sources.base import SourceOptions

    if not arguments.name:
        raise EventError("no source is named", hint=f"-s NAME; {USAGE}")
    open_source = find_source(arguments.name)
    options = SourceOptions(
        arguments.name,
        arguments.since,
        arguments.extended,
        tuple(arguments.paths),
        read_settings(arguments.name),
    )
    source = open_source(options)
    if arguments.background and not arguments.directory:
        _print_message("-b means nothing without -d")
    output = _open_output(arguments)
    report_problems = _make_problem_reporter(source)
    if output is None:
        source.count_unread_bytes()  # opens the logs: the process in the background has nobody to tell
        report_problems()
        return 0
    source = parallelize_source(source, arguments.processes)
    generate_events(
        source,
        output,
        interval=arguments.interval,
        progress=open_progress_bar(source),
        on_idle=report_problems,
    )
    return 0


def _make_problem_reporter(source: Source) -> Callable[[], None]:
    """Return a function that tells what is wrong with the source's logs, each problem once."""
    from osprofile.events.sources.base import LogSource

    reported: list[str] = []

    def report_problems() -> None:
        problems = source.list_problems() if isinstance(source, LogSource) else []
        for problem in problems:
            if problem not in reported:
                _print_message(problem)
        reported[:] = problems

    return report_problems


def _open_output(arguments: Arguments) -> EventOutput | None:
    """Open the output; None in the process that a background one was started from."""
    from osprofile.events.output import DailyFileOutput, StandardOutput

    if not arguments.directory:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        return StandardOutput()
    if not os.access(arguments.directory, os.W_OK) or not os.path.isdir(arguments.directory):
        message = f"{arguments.directory} is no directory that can be written to"
        raise EventError(message, hint="-d DIRECTORY must exist")
    if arguments.background and not _fork_into_background(arguments.pid_file):
        return None
    return DailyFileOutput(arguments.directory)


def _fork_into_background(pid_file: str) -> bool:
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
