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

from osprofile.errors import quote_value

# GRAM's error codes, with what they say.
PARAMETER_NOT_SUPPORTED: Final = 1
BAD_DIRECTORY: Final = 4
STDIN_NOT_FOUND: Final = 11
EXECUTION_FAILED: Final = 17
STDOUT_OPEN_FAILED: Final = 73
STDERR_OPEN_FAILED: Final = 74
NOT_RECORDED: Final = 123
MAX_PROCESSES: Final = 10_000
"""So many processes a request may ask for."""
# Not (?:[^\\;]|\\.)*: it takes a hundred bytes of memory for each character.
_FIELD_PATTERN: Final = re.compile(r"[^\\;]*(?:\\.[^\\;]*)*", re.DOTALL)
_VALUE_PATTERN: Final = re.compile(r"[^\\,]*(?:\\.[^\\,]*)*", re.DOTALL)
_NAME_PATTERN: Final = re.compile(r"[^\\=]*(?:\\.[^\\=]*)*", re.DOTALL)
_ESCAPE_PATTERN: Final = re.compile(r"\\(.)", re.DOTALL)
ATTRIBUTE_NAMES: Final = frozenset(
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
class StartRequest(NamedTuple):
    """A request: so many processes of one program."""

    tag: str
    executable: str
    arguments: tuple[str, ...]
    environment: dict[str, str]
    directory: str
    process_count: int
    stdin: str
    stdout: tuple[str, ...]
    stderr: tuple[str, ...]
    session: bool


@final
class Refusal(NamedTuple):
    """Why a request is not honoured: GRAM's error code, and words."""

    tag: str
    code: int
    reason: str

    def __str__(self) -> str:
        words = " ".join(self.reason.split())
        return f"102;{self.tag};{self.code};{words}"


def format_started_reply(tag: str, job_ids: list[str]) -> str:
    """Give the answer for a request that was honoured."""
    return f"101;{tag};{','.join(job_ids)}"


def parse_request(line: str) -> StartRequest | Refusal | None:
    """Read a request; None for a line that has no tag, and so cannot be answered."""
    fields = _split_unescaped(_FIELD_PATTERN, line, ";")
    if len(fields) < 2 or fields[0] != "100" or not fields[1]:
        return None
    tag, given = fields[1], dict[str, list[str]]()
    for field in filter(None, fields[2:]):
        found = _NAME_PATTERN.match(field)
        end = found.end() if found else 0
        name, value = _unescape_text(field[:end]), field[end:]
        if name not in ATTRIBUTE_NAMES or not value:
            return Refusal(
                tag, PARAMETER_NOT_SUPPORTED, f"no attribute {quote_value(field, 40)} is known"
            )
        words = _split_unescaped(_VALUE_PATTERN, value[1:], ",")
        several = name in ("environment", "arguments", "stdout", "stderr")
        given[name] = (
            [_unescape_text(word) for word in words] if several else [_unescape_text(value[1:])]
        )
    return _build_request(tag, given)


def _build_request(tag: str, attributes: dict[str, list[str]]) -> StartRequest | Refusal:
    count = attributes.get("count", ["1"])[0]
    if not (re.fullmatch("[0-9]{1,9}", count) and 1 <= int(count) <= MAX_PROCESSES):
        return Refusal(
            tag, PARAMETER_NOT_SUPPORTED, f"count is {quote_value(count)}: not 1 to {MAX_PROCESSES}"
        )
    for name, code in (("stdout", STDOUT_OPEN_FAILED), ("stderr", STDERR_OPEN_FAILED)):
        paths = attributes.get(name, [])
        if len(paths) != int(count):
            return Refusal(tag, code, f"{len(paths)} paths of {name} for {count} processes")
    if not attributes.get("executable", [""])[0]:
        return Refusal(tag, EXECUTION_FAILED, "no executable is named")
    if "session" in attributes and (attributes["session"] != ["yes"] or int(count) != 1):
        return Refusal(tag, PARAMETER_NOT_SUPPORTED, "session is 'yes', and for one process")
    if any("\0" in word for words in attributes.values() for word in words):
        return Refusal(tag, PARAMETER_NOT_SUPPORTED, "a value holds NUL")
    pairs = [word.partition("=")[::2] for word in attributes.get("environment", [])]
    return StartRequest(
        tag,
        attributes["executable"][0],
        tuple(attributes.get("arguments", [])),
        {name: value for name, value in pairs if name},
        attributes.get("directory", ["/"])[0] or "/",
        int(count),
        attributes.get("stdin", ["/dev/null"])[0] or "/dev/null",
        tuple(attributes["stdout"]),
        tuple(attributes["stderr"]),
        "session" in attributes,
    )


def _split_unescaped(pattern: re.Pattern[str], text: str, separator: str) -> list[str]:
    """Split at separators that no backslash stands before."""
    parts, at = [], 0
    while True:
        found = pattern.match(text, at)
        end = found.end() if found else at
        parts.append(text[at:end])
        if text[end : end + 1] != separator:
            return parts if end == len(text) else [*parts[:-1], text[at:]]
        at = end + 1


def _unescape_text(text: str) -> str:
    return _ESCAPE_PATTERN.sub(lambda found: "\n" if found[1] == "n" else found[1], text)
