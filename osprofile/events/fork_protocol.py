r"""What the fork starter is asked, and what it answers: lines of bytes, no process and no file.

    100;TAG;NAME=VALUE[,VALUE]...;...       a request
    101;TAG;JOBID[,JOBID]...                started: a job id a process
    102;TAG;CODE;WORDS                      not started, with GRAM's error code

In names and values `\\ \; \, \=` stand for the second character, and `\n` for a line end. The names:
directory, environment (VAR=VALUE each), count, executable, arguments, stdin, stdout and stderr; of the
last two there is one path a process. Globus's starter does not know `session=yes`: the one process leads
a session, and its job's id is PID-START-BOOT, as that of the profile `linux` is.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple, final

from osprofile.errors import shown

# GRAM's error codes, with what they say.
NOT_SUPPORTED: Final = 1
BAD_DIRECTORY: Final = 4
NO_STDIN: Final = 11
NOT_EXECUTED: Final = 17
NO_STDOUT: Final = 73
NO_STDERR: Final = 74
NOT_RECORDED: Final = 123
MOST: Final = 10_000
"""So many processes a request may ask for."""
# Not (?:[^\\;]|\\.)*: it takes a hundred bytes of memory for each character.
_FIELD: Final = re.compile(r"[^\\;]*(?:\\.[^\\;]*)*", re.DOTALL)
_VALUE: Final = re.compile(r"[^\\,]*(?:\\.[^\\,]*)*", re.DOTALL)
_NAME: Final = re.compile(r"[^\\=]*(?:\\.[^\\=]*)*", re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
NAMES: Final = frozenset(
    [
        "directory",
        "environment",
        "count",
        "executable",
        "arguments",
        "stdin",
        "stdout",
        "stderr",
        "session",
    ]
)


@final
class Task(NamedTuple):
    """A request: so many processes of one program."""

    tag: str
    executable: str
    arguments: tuple[str, ...]
    environment: dict[str, str]
    directory: str
    processes: int
    stdin: str
    stdout: tuple[str, ...]
    stderr: tuple[str, ...]
    session: bool


@final
class Refusal(NamedTuple):
    """Why a request is not honoured: GRAM's error code, and words."""

    tag: str
    code: int
    words: str

    def __str__(self) -> str:
        words = " ".join(self.words.split())
        return f"102;{self.tag};{self.code};{words}"


def started(tag: str, jobs: list[str]) -> str:
    """Give the answer for a request that was honoured."""
    return f"101;{tag};{','.join(jobs)}"


def parse(line: str) -> Task | Refusal | None:
    """Read a request; None for a line that has no tag, and so cannot be answered."""
    fields = _split(_FIELD, line, ";")
    if len(fields) < 2 or fields[0] != "100" or not fields[1]:
        return None
    tag, given = fields[1], dict[str, list[str]]()
    for field in filter(None, fields[2:]):
        found = _NAME.match(field)
        end = found.end() if found else 0
        name, value = _plain(field[:end]), field[end:]
        if name not in NAMES or not value:
            return Refusal(tag, NOT_SUPPORTED, f"no attribute {shown(field, 40)} is known")
        words = _split(_VALUE, value[1:], ",")
        several = name in ("environment", "arguments", "stdout", "stderr")
        given[name] = [_plain(word) for word in words] if several else [_plain(value[1:])]
    return _task(tag, given)


def _task(tag: str, given: dict[str, list[str]]) -> Task | Refusal:
    count = given.get("count", ["1"])[0]
    if not (re.fullmatch("[0-9]{1,9}", count) and 1 <= int(count) <= MOST):
        return Refusal(tag, NOT_SUPPORTED, f"count is {shown(count)}: not 1 to {MOST}")
    for name, code in (("stdout", NO_STDOUT), ("stderr", NO_STDERR)):
        paths = given.get(name, [])
        if len(paths) != int(count):
            return Refusal(tag, code, f"{len(paths)} paths of {name} for {count} processes")
    if not given.get("executable", [""])[0]:
        return Refusal(tag, NOT_EXECUTED, "no executable is named")
    if "session" in given and (given["session"] != ["yes"] or int(count) != 1):
        return Refusal(tag, NOT_SUPPORTED, "session is 'yes', and for one process")
    if any("\0" in word for words in given.values() for word in words):
        return Refusal(tag, NOT_SUPPORTED, "a value holds NUL")
    pairs = [word.partition("=")[::2] for word in given.get("environment", [])]
    return Task(
        tag,
        given["executable"][0],
        tuple(given.get("arguments", [])),
        {name: value for name, value in pairs if name},
        given.get("directory", ["/"])[0] or "/",
        int(count),
        given.get("stdin", ["/dev/null"])[0] or "/dev/null",
        tuple(given["stdout"]),
        tuple(given["stderr"]),
        "session" in given,
    )


def _split(part: re.Pattern[str], text: str, separator: str) -> list[str]:
    """Split at separators that no backslash stands before."""
    parts, at = [], 0
    while True:
        found = part.match(text, at)
        end = found.end() if found else at
        parts.append(text[at:end])
        if text[end : end + 1] != separator:
            return parts if end == len(text) else [*parts[:-1], text[at:]]
        at = end + 1


def _plain(text: str) -> str:
    return _ESCAPED.sub(lambda found: "\n" if found[1] == "n" else found[1], text)
