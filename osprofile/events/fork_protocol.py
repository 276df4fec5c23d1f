r"""The fork starter's protocol: parses requests and formats replies; does no I/O.

    100;TAG;NAME=VALUE[,VALUE]...;...       a request
    101;TAG;JOBID[,JOBID]...                started, with a job id for each process
    102;TAG;CODE;TEXT                       not started, with GRAM's error code

In names and values `\\ \; \, \=` stand for the character after the backslash, and `\n` for a line
end. The names are directory, environment (VAR=VALUE each), count, executable, arguments, stdin,
stdout and stderr; the last two have one path per process. `session=yes` is an addition to Globus's
protocol: the process becomes a session leader, and its job id is PID-START-BOOT, as in the profile
`linux`; allowed only with count=1. See docs/protocols/seg.md, 4.2.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple, final

from osprofile.text import quote_value

# GRAM's error codes: docs/protocols/seg.md, 4.2.
PARAMETER_NOT_SUPPORTED: Final = 1
BAD_DIRECTORY: Final = 4
STDIN_NOT_FOUND: Final = 11
EXECUTION_FAILED: Final = 17
STDOUT_OPEN_FAILED: Final = 73
STDERR_OPEN_FAILED: Final = 74
RECORD_WRITE_FAILED: Final = 123  # GRAM: the state file cannot be written
MAX_PROCESSES: Final = 10_000
"""Highest count of a request; docs/protocols/seg.md, 4.2, has no limit."""
# (?:[^\\;]|\\.)* would match the same, but uses about 100 bytes of memory per character.
_FIELD_PATTERN: Final = re.compile(r"[^\\;]*(?:\\.[^\\;]*)*", re.DOTALL)
_VALUE_PATTERN: Final = re.compile(r"[^\\,]*(?:\\.[^\\,]*)*", re.DOTALL)
_NAME_PATTERN: Final = re.compile(r"[^\\=]*(?:\\.[^\\=]*)*", re.DOTALL)
_ESCAPE_PATTERN: Final = re.compile(r"\\(.)", re.DOTALL)
ATTRIBUTE_NAMES: Final = frozenset({
    "directory", "environment", "count", "executable", "arguments", "stdin", "stdout", "stderr", "session",
})  # fmt: skip


@final
class StartRequest(NamedTuple):
    """A request to start `process_count` processes of one program."""

    tag: str
    executable: str
    arguments: tuple[str, ...]
    environment: dict[str, str]
    directory: str
    process_count: int
    stdin: str
    stdout: tuple[str, ...]
    stderr: tuple[str, ...]
    starts_session: bool


@final
class Refusal(NamedTuple):
    """Why a request is refused: GRAM's error code, and the reason as text."""

    tag: str
    code: int
    reason: str


def format_started_reply(tag: str, job_ids: list[str]) -> str:
    """Return the reply to a request whose processes were started."""
    return f"101;{tag};{','.join(job_ids)}"


def format_refusal_reply(refusal: Refusal) -> str:
    """Return the reply to a refused request. Line ends in the reason become blanks: a reply is one line."""
    return f"102;{refusal.tag};{refusal.code};{' '.join(refusal.reason.split())}"


def parse_request(line: str) -> StartRequest | Refusal | None:
    """Parse a request; return None if it is malformed or has no tag, so that it cannot be answered."""
    fields = _split_by_pattern(_FIELD_PATTERN, line, ";")
    if len(fields) < 2 or fields[0] != "100" or not fields[1]:
        return None
    tag, attributes = fields[1], dict[str, list[str]]()
    for field in filter(None, fields[2:]):
        match = _NAME_PATTERN.match(field)
        end = match.end() if match else 0
        name, value = _unescape_text(field[:end]), field[end:]
        if name not in ATTRIBUTE_NAMES:
            return Refusal(tag, PARAMETER_NOT_SUPPORTED, f"unknown attribute: {quote_value(field, 40)}")
        if not value.startswith("="):
            return Refusal(tag, PARAMETER_NOT_SUPPORTED, f"'{name}' has no value")
        is_list = name in ("environment", "arguments", "stdout", "stderr")
        values = _split_by_pattern(_VALUE_PATTERN, value[1:], ",") if is_list else [value[1:]]
        attributes[name] = [_unescape_text(text) for text in values]
    return _build_request(tag, attributes)


def _build_request(tag: str, attributes: dict[str, list[str]]) -> StartRequest | Refusal:
    """Check the attributes and convert them. An environment entry without a name is ignored."""
    count = attributes.get("count", ["1"])[0]
    if not (re.fullmatch("[0-9]{1,9}", count) and 1 <= int(count) <= MAX_PROCESSES):
        reason = f"count must be 1 to {MAX_PROCESSES}, not {quote_value(count)}"
        return Refusal(tag, PARAMETER_NOT_SUPPORTED, reason)
    for name, code in (("stdout", STDOUT_OPEN_FAILED), ("stderr", STDERR_OPEN_FAILED)):
        paths = attributes.get(name, [])
        if len(paths) != int(count):
            reason = f"{name} needs one path per process: {len(paths)} given, {int(count)} needed"
            return Refusal(tag, code, reason)
    if not attributes.get("executable", [""])[0]:
        return Refusal(tag, EXECUTION_FAILED, "executable is missing")
    if "session" in attributes and (attributes["session"] != ["yes"] or int(count) != 1):
        return Refusal(tag, PARAMETER_NOT_SUPPORTED, "session must be 'yes' and requires count=1")
    if any("\0" in value for values in attributes.values() for value in values):
        return Refusal(tag, PARAMETER_NOT_SUPPORTED, "a value contains a NUL character")
    variables = [value.partition("=")[::2] for value in attributes.get("environment", [])]
    return StartRequest(
        tag,
        attributes["executable"][0],
        tuple(attributes.get("arguments", [])),
        {name: value for name, value in variables if name},
        attributes.get("directory", ["/"])[0] or "/",
        int(count),
        attributes.get("stdin", ["/dev/null"])[0] or "/dev/null",
        tuple(attributes["stdout"]),
        tuple(attributes["stderr"]),
        "session" in attributes,
    )


def _split_by_pattern(part_pattern: re.Pattern[str], text: str, separator: str) -> list[str]:
    """Split at separators that are not escaped. A backslash at the end stands for itself."""
    parts, begin = [], 0
    while True:
        match = part_pattern.match(text, begin)
        end = match.end() if match else begin
        parts.append(text[begin:end])
        if text[end : end + 1] != separator:
            return parts if end == len(text) else [*parts[:-1], text[begin:]]
        begin = end + 1


def _unescape_text(text: str) -> str:
    return _ESCAPE_PATTERN.sub(lambda match: "\n" if match[1] == "n" else match[1], text)
