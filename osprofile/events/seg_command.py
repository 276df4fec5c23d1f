"""The command line of `osprofile-seg`, compatible with `globus-scheduler-event-generator`.

    osprofile-seg -s NAME [-t TIMESTAMP] [-d DIR [-b] [-p PIDFILE]]
                  [--log-path PATH]... [--extended] [--interval SECONDS] [--processes 1|2]
                  [--metrics FILE|127.0.0.1:PORT]

Options are parsed by hand, and little is imported, so that a generator starts quickly.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
from typing import TYPE_CHECKING, Final, NoReturn, final

from osprofile.errors import SettingError
from osprofile.events.errors import EventError
from osprofile.events.generator import POLL_INTERVAL, generate_events, open_progress_bar
from osprofile.events.tail import open_regular_file
from osprofile.text import quote_value, suggest_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from osprofile.events.output import EventOutput
    from osprofile.events.sources.base import Source

USAGE: Final = "usage: osprofile-seg -s NAME [-t TIMESTAMP] [-d DIRECTORY [-b] [-p PIDFILE]]"
HELP: Final = f"""{USAGE}

Write a line for each event of a job in a scheduler's log: 001;TIMESTAMP;JOBID;STATE;EXIT_CODE
with STATE 1 pending, 2 active, 4 failed, 8 done. Ends when the standard input is closed.

  -s NAME             the source: {{names}}, or one that is installed
  -t TIMESTAMP        write also the events since then (seconds since 1970), not only new ones
  -d DIRECTORY        write to files DIRECTORY/YYYYMMDD by the event's day in UTC, not to the
                      standard output; ends at SIGINT
  -b                  run in the background (only with -d)
  -p PIDFILE          write the process id of the background process to this file
  --log-path PATH     the log; default: log_path of globus-NAME.conf in $SEG_CONF_DIR or
                      /etc/globus. condor and slurm accept several
  --extended          write also events that Globus's program does not know: jobs that are
                      deleted while pending, rerun, and, as state 16, held or suspended
  --interval SECONDS  time between two reads at the end of a log (0.1)
  --processes 1|2     processes that replay a backlog; default: 2 if there are two processors
                      and the backlog is at least 8 MiB
  --metrics WHERE     write metrics for Prometheus to a file WHERE.prom, or serve them at
                      127.0.0.1:PORT
  -h, --help          show this text
"""
_FLAG_OPTIONS: Final = {
    "-b": "background",
    "--extended": "extended",
    "-h": "show_help",
    "--help": "show_help",
}
DEFAULT_CONFIG_DIRECTORY: Final = "/etc/globus"


@final
class Arguments:
    """The options of a command line."""

    def __init__(self) -> None:
        self.source_name = ""
        self.since = 0
        self.directory = ""
        self.pid_file = self.metrics = ""
        self.log_paths: list[str] = []
        self.interval = POLL_INTERVAL
        self.processes: int | None = None
        self.background = self.extended = self.show_help = False


def _parse_timestamp(value: str) -> int:
    """Parse a timestamp as Globus's program does: text after the number is ignored."""
    match = re.match(r"\s*([+-]?[0-9]{1,18})(?![0-9])", value, re.ASCII)
    if match is None or int(match[1]) < 0:
        message = f"-t {quote_value(value)} is not a timestamp"
        raise EventError(message, hint="give seconds since 1970")
    return int(match[1])


def _parse_interval(value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = -1.0
    if not 0.001 <= seconds <= 86_400:
        message = f"--interval {quote_value(value)} is not a number of seconds"
        raise EventError(message, hint="give a number from 0.001 to 86400")
    return seconds


def _parse_process_count(value: str) -> int:
    if value not in ("1", "2"):
        raise EventError(f"--processes must be 1 or 2, not {quote_value(value)}")
    return int(value)


def _parse_metrics(value: str) -> str:
    from osprofile.metrics import parse_destination

    parse_destination(value)
    return value


_VALUE_OPTIONS: Final[dict[str, tuple[str, Callable[[str], object]]]] = {
    "-s": ("source_name", str),
    "-t": ("since", _parse_timestamp),
    "-d": ("directory", str),
    "-p": ("pid_file", str),
    "--log-path": ("log_paths", str),
    "--interval": ("interval", _parse_interval),
    "--metrics": ("metrics", _parse_metrics),
    "--processes": ("processes", _parse_process_count),
}
"""Attribute of `Arguments` and parser of each option. `log_paths` are collected; otherwise the last value wins."""


def parse_arguments(argv: Sequence[str]) -> Arguments:
    """Parse a command line (without the command's name); raise `EventError` if it is wrong.

    As with Globus's program, one-letter options and their values may be joined, and words that are
    neither are ignored.
    """
    arguments = Arguments()
    remaining_words = list(argv)
    while remaining_words:
        word = remaining_words.pop(0)
        if word == "--":
            break
        if word.startswith("--"):
            option, equals, value = word.partition("=")
            attached = [value] if equals else []
        elif word.startswith("-") and len(word) > 1:
            option, attached = word[:2], [word[2:]] if word[2:] else []
        else:
            continue
        if option in _FLAG_OPTIONS:
            setattr(arguments, _FLAG_OPTIONS[option], True)
            if attached and not option.startswith("--"):
                remaining_words.insert(0, f"-{attached[0]}")
        elif option in _VALUE_OPTIONS:
            if not attached and not remaining_words:
                raise EventError(f"option {option} needs a value")
            attribute, parse_value = _VALUE_OPTIONS[option]
            setting = parse_value(attached[0] if attached else remaining_words.pop(0))
            if attribute == "log_paths":
                arguments.log_paths.append(str(setting))
            else:
                setattr(arguments, attribute, setting)
        else:
            hint = suggest_names(option, [*_VALUE_OPTIONS, *_FLAG_OPTIONS])
            raise EventError(f"there is no option {quote_value(option)}", hint=hint)
    return arguments


def read_settings(name: str) -> dict[str, str]:
    """Return the settings of `globus-NAME.conf`; empty if there is no such file.

    Its lines are NAME=VALUE or NAME="VALUE". If a name is repeated, the first value wins. Raises
    `EventError` if the file cannot be read.
    """
    if "/" in name:
        return {}
    directory = os.environ.get("SEG_CONF_DIR") or DEFAULT_CONFIG_DIRECTORY
    path = os.path.join(directory, f"globus-{name}.conf")
    try:
        with open(open_regular_file(path), encoding="utf-8", errors="surrogateescape") as file:
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
    """Run a command line; return 0 at the end of input or output, 1 after an error."""
    try:
        arguments = parse_arguments(argv)
        if arguments.show_help:
            return _print_help()
        return _run_generator(arguments)
    except (EventError, SettingError) as error:
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
    from osprofile.events.parallel_source import parallelize_source
    from osprofile.events.sources import find_source
    from osprofile.events.sources.base import SourceOptions

    if not arguments.source_name:
        raise EventError("no source is named", hint=f"-s NAME; {USAGE}")
    if not arguments.directory and sys.stdin is None:
        return 0  # it is closed: its descriptor would be that of the next file
    open_source = find_source(arguments.source_name)
    options = SourceOptions(
        arguments.source_name,
        arguments.since,
        arguments.extended,
        tuple(arguments.log_paths),
        read_settings(arguments.source_name),
    )
    source = open_source(options)
    if arguments.background and not arguments.directory:
        _print_message("-b has no effect without -d")
    output = _open_output(arguments)
    report_problems = _make_problem_reporter(source)
    if output is None:
        source.count_unread_bytes()  # opens the logs: the background process has no standard error
        report_problems()
        return 0
    with contextlib.ExitStack() as stack:
        if (close := getattr(source, "close", None)) is not None:
            stack.callback(close)
        source = parallelize_source(source, arguments.processes)
        generate_events(
            source,
            stack.enter_context(_export_metrics(arguments.metrics, output)),
            interval=arguments.interval,
            progress=open_progress_bar(source),
            on_idle=report_problems,
        )
    return 0


@contextlib.contextmanager
def _export_metrics(where: str, output: EventOutput) -> Iterator[EventOutput]:
    """Yield the output; if metrics are asked for, one that counts, while they are written or served."""
    if not where:
        yield output
        return
    from osprofile.events.counted_output import CountedOutput
    from osprofile.metrics import export_metrics, parse_destination

    # Parsed in the background process: its number may be in the name of the file.
    with export_metrics(parse_destination(where)):
        yield CountedOutput(output)


def _make_problem_reporter(source: Source) -> Callable[[], None]:
    """Return a function that prints new problems of the source's logs."""
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
    """Open the output; return None in the parent of a background process."""
    from osprofile.events.output import DailyFileOutput, StandardOutput

    if not arguments.directory:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        return StandardOutput()
    if not os.access(arguments.directory, os.W_OK) or not os.path.isdir(arguments.directory):
        message = f"{arguments.directory} is not a directory that can be written to"
        raise EventError(message, hint="-d DIRECTORY must exist")
    if arguments.background and not _fork_into_background(arguments.pid_file):
        return None
    return DailyFileOutput(arguments.directory)


def _fork_into_background(pid_file: str) -> bool:
    """Fork; return True in the background process, False in its parent."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid:
        os.close(read_end)
        try:
            if pid_file:
                with open(pid_file, "w", encoding="ascii") as file:
                    file.write(f"{pid}\n")
        except OSError:
            os.kill(pid, signal.SIGTERM)
            raise
        os.close(write_end)
        sys.stdout.write(f"Running in background (pid={pid})\n")
        return False
    os.close(write_end)
    os.read(read_end, 1)  # wait until the parent has written the process id
    os.close(read_end)
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    if null > 2:
        os.close(null)
    return True


if __name__ == "__main__":
    main()
