"""What the templates' scripts print, read by the patterns that the profile gives for it.

Every word about a batch system's output is the profile's: JOB_ID_PATTERN of START, STATUS_PATTERN
and STATE of GET_JOB_STATUS, ENTRY_PATTERN of LIST (design: "The bundled profiles' conventions").
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, final
from urllib.parse import unquote_to_bytes

from osprofile import javaregex
from osprofile.errors import InvalidProfileError, OSProfileError, OutputError, Problem, quote_value
from osprofile.jobs.state import JOB_STATE_TAGS, JobState, JobStatus, parse_state_tag

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from osprofile.javaregex.pattern import Match, Pattern
    from osprofile.profile.model import Profile

_HOST_SEPARATOR: Final = re.compile(r"[,+\s]+")
_NO_STATUSES: Final[Mapping[str, JobStatus]] = {}
ENTRY_GROUPS: Final = ("type", "mode", "size", "mtime", "name")
_NUMBER_LIMIT: Final = 2**31
"""No exit code and no signal is that large: what tells so is not understood."""


@final
@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file as LIST tells it: `type` f, d, l or as ls has it; `mode` the permission bits.

    `size` is in bytes, `mtime` in seconds since 1970. Bytes of `name` that are no UTF-8 are
    surrogates, as in names that Python's `os` gives.
    """

    name: str
    type: str
    mode: int
    size: int
    mtime: int


def get_output_pattern(
    profile: Profile, template: str, name: str, groups: Sequence[str]
) -> Pattern:
    """Give the compiled pattern that a fixed field of a template holds, which has these groups.

    Raises `TemplateNotFoundError`; `InvalidProfileError` where there is none, `JavaRegexError`.
    """
    found = profile.get_template(template)
    field = profile.find_field(found, name)
    if field is None or not field.value:
        message = (
            f"template {template} has no fixed field {name}, by which its output is understood"
        )
        hint = "incarnate lint tells what it must hold"
        raise InvalidProfileError([Problem("OSP403", message, found.location, hint)])
    pattern = javaregex.compile(field.value)
    missing = [group for group in groups if group not in pattern.group_names]
    if missing:
        message = f"{name} of template {template} has no group (?<{missing[0]}>...)"
        hint = f"its output is understood by {', '.join(groups)}"
        raise InvalidProfileError([Problem("OSP402", message, field.locate_child("Value"), hint)])
    return pattern


def get_time_limit(profile: Profile, template: str, default: float) -> float:
    """Give how many seconds a template's script may take: its field TIME_LIMIT, or the default."""
    field = profile.find_field(profile.get_template(template), "TIME_LIMIT")
    value = field.value if field is not None else None
    return float(value) if value and value.isascii() and value.isdigit() else default


def parse_job_id(pattern: Pattern, text: str) -> str | None:
    """Give the id in what START printed; None if it printed none."""
    found = pattern.find(text)
    return found.group("id") or None if found else None


def parse_entries(pattern: Pattern, text: str) -> list[FileEntry]:
    """Give the files in what LIST printed; `OutputError` for text without any, or with no sense."""
    found = [_parse_entry(match) for match in pattern.find_iter(text)]
    if not found and text.strip():
        raise unparsable_output("LIST", "ENTRY_PATTERN", text)
    return found


def unparsable_output(template: str, pattern: str, text: str) -> OutputError:
    """Give the error for a script's output in which a pattern finds nothing."""
    lines = text.strip().splitlines()
    what = quote_value(lines[0][:200]) if lines else "nothing"
    message = f"{template} printed {what}, in which {pattern} of the profile finds nothing"
    return OutputError(message, hint="run the template by itself to see all of its output")


def _parse_entry(match: Match) -> FileEntry:
    values = {name: value or "" for name, value in match.groupdict().items()}
    name = os.fsdecode(unquote_to_bytes(values["name"]))
    try:
        mode, size, mtime = int(values["mode"], 8), int(values["size"]), int(values["mtime"])
    except ValueError:
        message = (
            f"LIST printed {quote_value(match.group() or '')}, which tells no mode, size and mtime"
        )
        hint = "ENTRY_PATTERN of the profile must take octal digits and numbers"
        raise OutputError(message, hint=hint) from None
    return FileEntry(name, values["type"], mode, size, mtime)


@final
class StatusOutputReader:
    """Reads what GET_JOB_STATUS printed.

    The same text again costs a comparison, and a pattern of lines reads only those that are new. A
    job whose text is the same gives the same object.
    """

    def __init__(self, profile: Profile) -> None:
        self._pattern = get_output_pattern(
            profile, "GET_JOB_STATUS", "STATUS_PATTERN", ("id", "state")
        )
        self._tags = _read_state_tags(profile)
        self._by_line = self._pattern.is_line_based
        self._last_text = ""
        self._last_statuses = _NO_STATUSES
        self._statuses_by_line: dict[str, list[JobStatus]] = {}
        self._match_count = 0
        self._group_numbers = tuple(self._pattern.group_names.items())

    def read_statuses(self, text: str) -> Mapping[str, JobStatus]:
        """Give the jobs by id; of two with one id the later counts.

        `OutputError` for a text that is not empty and has no job in it.
        """
        if text == self._last_text:
            return self._last_statuses
        try:
            by_line = self._by_line and "\r" not in text
            states = self._read_lines(text.split("\n")) if by_line else self._read_whole_text(text)
            if not states and text.strip():
                raise unparsable_output("GET_JOB_STATUS", "STATUS_PATTERN", text)
        except OSProfileError:  # what is known by line is of this text in part
            self._statuses_by_line, self._match_count = {}, 0
            raise
        self._last_text, self._last_statuses = text, states
        return states

    def _read_whole_text(self, text: str) -> dict[str, JobStatus]:
        known = {status: status for status in self._last_statuses.values()}
        found = [status for _, status in self._parse_statuses(text)]
        self._statuses_by_line, self._match_count = {}, 0
        return {status.job_id: known.get(status, status) for status in found}

    def _read_lines(self, lines: Sequence[str]) -> dict[str, JobStatus]:
        """Give the jobs by id; what is done for a line that was there before is done in C."""
        known = self._statuses_by_line
        states = dict(self._last_statuses) if known else {}
        for line in known.keys() - set(lines):
            for status in known.pop(line):
                states.pop(status.job_id, None)
                self._match_count -= 1
        new = [line for line in lines if line not in known]
        known.update((line, []) for line in new)
        ahead = iter(new)
        end = -1
        statuses: list[JobStatus] = []
        for place, status in self._parse_statuses("\n".join(new)):
            while place > end:
                line = next(ahead)
                end += len(line) + 1
                statuses = known[line]
            statuses.append(status)
            states[status.job_id] = status
            self._match_count += 1
        if len(states) != self._match_count:  # two lines for one id: the later counts
            states = {status.job_id: status for line in lines for status in known[line]}
        return states

    def _parse_statuses(self, text: str) -> list[tuple[int, JobStatus]]:
        """Give the jobs in a text, each with its place; what many are told is understood once."""
        number = self._pattern.group_names["id"] - 1
        understood: dict[tuple[str | None, ...], tuple[Any, ...]] = {}
        found = []
        for place, groups in self._pattern.find_groups(text):
            told = groups[:number] + groups[number + 1 :] if number else groups[1:]
            rest = understood.get(told)
            if rest is None:
                rest = understood[told] = self._convert_groups(groups)
            # JobStatus(...) takes twice as long: a poll may bring thousands
            found.append((place, tuple.__new__(JobStatus, (groups[number] or "", *rest))))
        return found

    def _convert_groups(self, texts: Sequence[str | None]) -> tuple[Any, ...]:
        """Give what a JobStatus holds behind the job's id."""
        groups = {name: texts[number - 1] for name, number in self._group_numbers}
        state, substate = groups["state"] or "", groups.get("substate")
        word = f"{state}/{substate}" if substate else state
        tag = self._tags.get(word) or self._tags.get(state)
        hosts = tuple(filter(None, _HOST_SEPARATOR.split(groups.get("host") or "")))
        reason = (groups.get("reason") or "").strip()
        found, limit = parse_state_tag(tag) if tag else (JobState.UNKNOWN, False)
        code, signal = _parse_number(groups.get("exit")), _parse_number(groups.get("signal"))
        found, code, signal = interpret_exit(found, limit_exceeded=limit, code=code, signal=signal)
        queue, elapsed = groups.get("queue") or "", _parse_number(groups.get("elapsed"))
        return JobStatus(
            "", found, word, code, signal, limit, hosts, reason, queue=queue, elapsed=elapsed
        )[1:]


def _read_state_tags(profile: Profile) -> dict[str, str]:
    """Give what the tags of the field STATE say; `InvalidProfileError` for what is no state."""
    field = profile.find_field(profile.get_template("GET_JOB_STATUS"), "STATE")
    if field is None:
        return {}
    for tag in field.tags:
        if tag.value not in JOB_STATE_TAGS:
            message = f"tag {quote_value(tag.name)} of STATE gives {quote_value(tag.value)}, which is no state"
            hint = f"one of {', '.join(JOB_STATE_TAGS)}"
            raise InvalidProfileError([Problem("OSP404", message, field.location, hint)])
    return {tag.name: tag.value for tag in field.tags}


def _parse_number(text: str | None) -> int | None:
    try:
        number = int(text) if text else None
    except ValueError:
        return None
    return number if number is not None and abs(number) < _NUMBER_LIMIT else None


def interpret_exit(
    state: JobState, *, limit_exceeded: bool, code: int | None, signal: int | None
) -> tuple[JobState, int | None, int | None]:
    """Give state, exit code and signal of a job, of which the batch system told these.

    A known exit code decides between DONE and FAILED. 129 to 192 is how a shell tells signal
    n-128, and 256+n how some batch systems do, unless the signal is told beside it (0: by none).
    What is negative is a failure of the batch system's own. A limit, a removal and a loss stand.
    """
    if state not in {JobState.DONE, JobState.FAILED}:
        return state, None, None
    if signal is None and code is not None:
        signal = next((code - base for base in (128, 256) if base < code <= base + 64), None)
    if limit_exceeded or signal:
        return JobState.FAILED, None, signal or None
    if code is not None and 0 <= code <= 255:
        return JobState.DONE, code, None
    return state, None, None
