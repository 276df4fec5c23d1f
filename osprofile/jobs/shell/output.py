"""Parse the output of the templates' scripts by the patterns of the profile.

Everything about a batch system's output is in the profile: JOB_ID_PATTERN, STATUS_PATTERN and STATE of
GET_JOB_STATUS, ENTRY_PATTERN of LIST. See docs/language-jobs.md, Output that the engine parses.

The nodes and queues of a machine are those that LIST_NODES and LIST_QUEUES print. Both templates are optional. As for
GET_JOB_STATUS, the profile says how the output is read: by a pattern with the groups name and state (optional: substate,
cpus and memory of nodes, default and limits of queues), and by the tags of NODE_STATE and QUEUE_STATE, where
`STATE/SUBSTATE` takes precedence over `STATE`.
"""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, final

from osprofile import javaregex
from osprofile.errors import InvalidProfileError, JavaRegexError, OSProfileError, OutputError, Problem
from osprofile.jobs.state import (
    JOB_STATE_TAGS,
    LIVE_STATE_TAGS,
    NODE_STATE_TAGS,
    OTHER_WORD_TAG,
    QUEUE_STATE_TAGS,
    SUSPENDED_TAG,
    EndCause,
    JobState,
    JobStatus,
    NodeState,
    QueueState,
    parse_state_tag,
)
from osprofile.late import NamedTuple, compile_late
from osprofile.text import quote_value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from osprofile.javaregex.pattern import Match, Pattern
    from osprofile.profile.model import Profile


START_TEMPLATE: Final = "START"
STATUS_TEMPLATE: Final = "GET_JOB_STATUS"
USAGE_TEMPLATE: Final = "USAGE"
BATCH_SYSTEM_FIELD: Final = "BATCH_SYSTEM"
POLL_INTERVAL_FIELD: Final = "POLL_INTERVAL"
MAX_POLL_INTERVAL_FIELD: Final = "MAX_POLL_INTERVAL"
END_FILES_FIELD: Final = "END_FILES"
"""The names of the files that a job's end writes in its working directory."""
STATUS_COMMANDS_FIELD: Final = "STATUS_COMMANDS"
"""The programs whose output GET_JOB_STATUS ALL reads."""
STATUS_END_FIELD: Final = "STATUS_END"
"""The last line of GET_JOB_STATUS ALL, which shows that no job is missing."""
SEVERAL_OPTION_FIELD: Final = "SEVERAL_OPTION"
"""The option by which START's command takes further jobs, with which it does for several what it does for one."""
PREPARED_OPTION_FIELD: Final = "PREPARED_OPTION"
"""The option, beside that one, by which it is told that the directories are made and locked, and the scripts written."""
_PROGRAM_NAME: Final = compile_late(r"(?<!\S)[A-Za-z0-9][A-Za-z0-9._-]*(?!\S)")
POLL_INTERVAL_FORM: Final = compile_late(r"[1-9][0-9]{0,5}|(?:0|[1-9][0-9]{0,5})\.[0-9]{0,3}[1-9]")
"""A number of seconds greater than 0."""
_STATUS_AFTER_ID: Final = (
    r" (?<state>[^\s/]+)(?:/(?<substate>[^\s]+))?(?: exit=(?<exit>-?[0-9]+))?(?: signal=(?<signal>[0-9]+))?"
    r"(?: host=(?<host>[^\s]+))?(?: queue=(?<queue>[^\s]+))?(?: elapsed=(?<elapsed>[0-9]+(?:\.[0-9]+)?))?"
    r"(?: cpu=(?<cpu>[0-9]+(?:\.[0-9]+)?))?(?: memory=(?<memory>[0-9]+))?(?: energy=(?<energy>[0-9]+(?:\.[0-9]+)?))?"
    r"(?: cpus=(?<cpus>[0-9]+))?(?: allocated=(?<allocated>[0-9]+))?"
    r"(?: ended=(?<ended>[0-9]+(?:\.[0-9]+)?))?"
    r"(?: reason=(?<reason>[^\n]*))?(?![^\n])"
)
"""The standard line of a job after its id; it matches within lines, so that only new lines are read."""
_HOST_SEPARATOR: Final = compile_late(r"[,+\s]+")
_NO_STATUSES: Final[Mapping[str, JobStatus]] = {}
ENTRY_GROUPS: Final = ("type", "mode", "size", "mtime", "name")
_NUMBER_LIMIT: Final = 2**31
"""Exit codes and signals are smaller; larger numbers are ignored."""
_SECONDS_LIMIT: Final = 2**33
"""Seconds, also since 1970, are smaller; larger numbers are ignored."""
_MAX_SIZE_DIGITS: Final = 18  # the integers of SQLite have 63 bits
_SIGXCPU: Final = 24  # on Linux, where the jobs run
_LINES_PER_CALL: Final = 1000
"""How many lines one call of the pattern reads. Each call has a time limit, which would be reached on a busy machine
if it read the lines of a hundred thousand jobs."""
NODES_TEMPLATE: Final = "LIST_NODES"
QUEUES_TEMPLATE: Final = "LIST_QUEUES"
T = TypeVar("T")
_LIMIT: Final = compile_late(r"([A-Z_]+)([<>]?=)(\S+)")


@final
@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file of the target system, as the template LIST prints it."""

    name: str
    """The name; bytes that are not UTF-8 are surrogates, as in Python's `os`."""
    type: str
    """The type: f, d, l, or another letter of `ls`."""
    mode: int
    """The permission bits."""
    size: int
    """The size in bytes."""
    mtime: int
    """When it was changed."""


def get_output_pattern(profile: Profile, template: str, name: str, groups: Sequence[str]) -> Pattern:
    """Return the compiled pattern in a fixed field of a template; it must have these groups.

    Raises `TemplateNotFoundError`, `JavaRegexError`, and `InvalidProfileError` if the field or a group
    is missing.
    """
    declaration = profile.get_template(template)
    field = profile.find_field(declaration, name)
    if field is None or not field.value:
        message = f"template {template} has no fixed field {name}, which is needed to read its output"
        hint = "run incarnate lint to see what it must contain"
        raise InvalidProfileError([Problem("OSP403", message, declaration.location, hint)])
    try:
        pattern = javaregex.compile(field.value)
    except JavaRegexError as error:
        error.location = field.locate_child("Value")
        raise
    missing = [group for group in groups if group not in pattern.group_names]
    if missing:
        message = f"{name} of template {template} has no group (?<{missing[0]}>...)"
        hint = f"the groups {', '.join(groups)} are needed to read its output"
        raise InvalidProfileError([Problem("OSP402", message, field.locate_child("Value"), hint)])
    return pattern


def get_batch_system_name(profile: Profile) -> str:
    """Return the name of the batch system in messages, by the field BATCH_SYSTEM; empty if there is none."""
    template = profile.templates.get(START_TEMPLATE)
    field = template and profile.find_field(template, BATCH_SYSTEM_FIELD)
    return "the batch system" if field is None else field.value or ""


def get_job_id_pattern(profile: Profile) -> Pattern:
    """Return the pattern of START's output, with the group `id`.

    It is JOB_ID_PATTERN if that has the group; else JOB_ID_PATTERN is the form of an id alone, and the
    pattern finds an id on the last line. Raises what `get_output_pattern` raises.
    """
    pattern = get_output_pattern(profile, START_TEMPLATE, "JOB_ID_PATTERN", ())
    if "id" in pattern.group_names:
        return pattern
    return javaregex.compile(rf"(?<![^\n])(?<id>{pattern.pattern})\n*\z")


def get_status_pattern(profile: Profile) -> Pattern:
    """Return the pattern of GET_JOB_STATUS's output, with the groups `id` and `state`.

    It is STATUS_PATTERN, else that of the standard line. Raises what `get_output_pattern` raises.
    """
    status = profile.find_field(profile.get_template(STATUS_TEMPLATE), "STATUS_PATTERN")
    id_form = find_id_form(profile)
    if status is not None or id_form is None:
        return get_output_pattern(profile, STATUS_TEMPLATE, "STATUS_PATTERN", ("id", "state"))
    return javaregex.compile(rf"(?<![^\n])(?<id>{id_form}){_STATUS_AFTER_ID}")


def find_id_form(profile: Profile) -> str | None:
    """Return the JOB_ID_PATTERN that is the form of an id alone, without a group `id`; None if none is."""
    start = profile.templates.get(START_TEMPLATE)
    for fields in (start.fields if start is not None else {}, profile.global_fields):
        field = fields.get("JOB_ID_PATTERN")
        if field is not None and field.value and "id" not in javaregex.compile(field.value).group_names:
            return field.value
    return None


def get_time_limit(profile: Profile, template: str, default: float) -> float:
    """Return the seconds that a template's script may take: its field TIME_LIMIT, or the default."""
    field = profile.find_field(profile.get_template(template), "TIME_LIMIT")
    value = field.value if field is not None else None
    return float(value) if value and value.isascii() and value.isdigit() else default


def get_poll_intervals(profile: Profile) -> tuple[float | None, float | None]:
    """Return the shortest and the longest time in seconds between two polls; None without a field of GET_JOB_STATUS."""

    def get_seconds(name: str) -> float | None:
        value = profile.get_value(STATUS_TEMPLATE, name)
        return float(value) if POLL_INTERVAL_FORM.fullmatch(value) else None

    return get_seconds(POLL_INTERVAL_FIELD), get_seconds(MAX_POLL_INTERVAL_FIELD)


def get_end_files(profile: Profile) -> list[str]:
    """Return the names of the files that a job's end writes in its working directory."""
    return profile.get_value(STATUS_TEMPLATE, END_FILES_FIELD).split()


def get_status_commands(profile: Profile) -> list[str]:
    """Return the names of the programs whose output GET_JOB_STATUS ALL reads: first the one that prints the states."""
    return _PROGRAM_NAME.findall(profile.get_value(STATUS_TEMPLATE, STATUS_COMMANDS_FIELD))


def parse_job_id(pattern: Pattern, text: str) -> str | None:
    """Return the job id in the output of START; None if there is none."""
    match = pattern.find(text)
    return match.group("id") or None if match else None


def parse_entries(pattern: Pattern, text: str) -> list[FileEntry]:
    """Return the files in the output of LIST.

    Raises `OutputError` for a text that is not empty but has no file, and for malformed numbers.
    """
    entries = [_parse_entry(match) for match in pattern.find_iter(text)]
    if not entries and text.strip():
        raise build_output_error("LIST", "ENTRY_PATTERN", text)
    return entries


def build_output_error(template: str, pattern: str, text: str) -> OutputError:
    """Return the error for a script's output in which a pattern finds nothing."""
    lines = text.strip().splitlines()
    what = quote_value(lines[0][:200]) if lines else "nothing"
    message = f"{template} printed {what}, in which {pattern} of the profile finds nothing"
    return OutputError(message, hint="run the template by itself to see all of its output")


def _parse_entry(match: Match) -> FileEntry:
    values = {name: value or "" for name, value in match.groupdict().items()}
    from urllib.parse import unquote_to_bytes  # late: it is slow to import

    name = os.fsdecode(unquote_to_bytes(values["name"]))
    try:
        mode, size, mtime = int(values["mode"], 8), int(values["size"]), int(values["mtime"])
    except ValueError:
        message = f"LIST printed {quote_value(match.group() or '')}, which has no valid mode, size and mtime"
        hint = "ENTRY_PATTERN of the profile must match octal digits for the mode, and numbers"
        raise OutputError(message, hint=hint) from None
    return FileEntry(name, values["type"], mode, size, mtime)


@final
class StatusOutputReader:
    """Reads the output of GET_JOB_STATUS.

    The same text is not read again. If the pattern matches within lines, only new lines are read. A job
    whose text has not changed is the same object as before.
    """

    def __init__(self, profile: Profile) -> None:
        self._pattern = get_status_pattern(profile)
        self._end = profile.get_value(STATUS_TEMPLATE, STATUS_END_FIELD) or ""
        self._tags = read_state_tags(
            profile, STATUS_TEMPLATE, "STATE", JOB_STATE_TAGS, other_words=LIVE_STATE_TAGS
        )
        self._by_line = self._pattern.is_line_based
        self._last_text = ""
        self._last_statuses = _NO_STATUSES
        self._statuses_by_line: dict[str, list[JobStatus]] = {}
        self._match_count = 0
        self._group_numbers = tuple(self._pattern.group_names.items())

    def is_whole(self, text: str) -> bool:
        """Return whether a list of all jobs has the line that ends it; true if the profile has none (STATUS_END)."""
        return f"\n{text.rstrip()}".endswith(f"\n{self._end}" if self._end else "")

    def read_statuses(self, text: str) -> Mapping[str, JobStatus]:
        """Return the jobs by id; if two have the same id, the last one counts. The line of STATUS_END is no job.

        Raises `OutputError` for a text that is not empty but has no job.
        """
        if self._end and self.is_whole(text):
            text = text.rstrip().removesuffix(self._end)
        if text == self._last_text:
            return self._last_statuses
        try:
            by_line = self._by_line and "\r" not in text
            statuses = self._read_lines(text.split("\n")) if by_line else self._read_whole_text(text)
            if not statuses and text.strip():
                raise build_output_error(STATUS_TEMPLATE, "STATUS_PATTERN", text)
        except OSProfileError:  # some lines of this text may have been added already
            self._statuses_by_line, self._match_count = {}, 0
            raise
        self._last_text, self._last_statuses = text, statuses
        return statuses

    def _read_whole_text(self, text: str) -> dict[str, JobStatus]:
        last_statuses = {status: status for status in self._last_statuses.values()}
        statuses = [status for _, status in self._parse_statuses(text)]
        self._statuses_by_line, self._match_count = {}, 0
        return {status.job_id: last_statuses.get(status, status) for status in statuses}

    def _read_lines(self, lines: Sequence[str]) -> dict[str, JobStatus]:
        # Unchanged lines cost only set and dict operations: a poll may bring many thousands.
        statuses_by_line = self._statuses_by_line
        by_id = dict(self._last_statuses) if statuses_by_line else {}
        for line in statuses_by_line.keys() - set(lines):
            for status in statuses_by_line.pop(line):
                by_id.pop(status.job_id, None)
                self._match_count -= 1
        new_lines = [line for line in lines if line not in statuses_by_line]
        statuses_by_line.update((line, []) for line in new_lines)
        for start in range(0, len(new_lines), _LINES_PER_CALL):
            self._read_new_lines(new_lines[start : start + _LINES_PER_CALL], by_id)
        if len(by_id) != self._match_count:  # two lines have the same id: the last one counts
            by_id = {status.job_id: status for line in lines for status in statuses_by_line[line]}
        return by_id

    def _read_new_lines(self, lines: Sequence[str], by_id: dict[str, JobStatus]) -> None:
        remaining_lines = iter(lines)
        end = -1
        statuses: list[JobStatus] = []
        for position, status in self._parse_statuses("\n".join(lines)):
            while position > end:
                line = next(remaining_lines)
                end += len(line) + 1
                statuses = self._statuses_by_line[line]
            statuses.append(status)
            by_id[status.job_id] = status
            self._match_count += 1

    def _parse_statuses(self, text: str) -> list[tuple[int, JobStatus]]:
        """Return the jobs in a text, each with its position.

        Many jobs differ only in their ids: equal values of the other groups are converted once.
        """
        names = self._pattern.group_names
        id_index = names["id"] - 1
        rest_index = id_index + 1  # after the id and the groups without names that it consists of
        while rest_index < self._pattern.group_count and rest_index + 1 not in names.values():
            rest_index += 1
        values_by_groups: dict[tuple[str | None, ...], tuple[Any, ...]] = {}
        statuses = []
        for position, groups in self._pattern.find_groups(text):
            other_groups = groups[:id_index] + groups[rest_index:] if id_index else groups[rest_index:]
            values = values_by_groups.get(other_groups)
            if values is None:
                values = values_by_groups[other_groups] = self._convert_groups(groups)
            # JobStatus(...) takes twice as long, and a poll may bring thousands of jobs.
            status = tuple.__new__(JobStatus, (groups[id_index] or "", *values))
            statuses.append((position, status))
        return statuses

    def _convert_groups(self, texts: Sequence[str | None]) -> tuple[Any, ...]:
        """Return the values of a JobStatus after the job id."""
        groups = {name: texts[number - 1] for name, number in self._group_numbers}
        native_state, tag = find_state_tag(self._tags, groups)
        unknown_word = tag is None
        tag = tag or self._tags.get(OTHER_WORD_TAG)
        hosts = tuple(filter(None, _HOST_SEPARATOR.split(groups.get("host") or "")))
        reason = (groups.get("reason") or "").strip()
        state, cause = parse_state_tag(tag) if tag else (JobState.UNKNOWN, None)
        code, signal = _parse_number(groups.get("exit")), _parse_number(groups.get("signal"))
        state, code, signal, cause = interpret_exit(state, cause=cause, code=code, signal=signal)
        elapsed = _parse_seconds(groups.get("elapsed"))
        if state is JobState.HELD:  # of a job that waits again, it is that of an earlier run
            elapsed = (elapsed or 0.0) if tag == SUSPENDED_TAG else None
        status = JobStatus("", state, native_state, code, signal, cause, hosts, reason)
        ended = _parse_seconds(groups.get("ended")) if state.is_terminal else None
        return status._replace(
            ended=ended,
            end_reported=ended is not None,
            queue=groups.get("queue") or "",
            elapsed=elapsed,
            cpu_time=_parse_seconds(groups.get("cpu")),
            max_memory=_parse_size(groups.get("memory")),
            energy=_parse_seconds(groups.get("energy")),
            allocated_cpus=_parse_number(groups.get("cpus")),
            allocated_memory=_parse_size(groups.get("allocated")),
            unknown_word=unknown_word,
        )[1:]


def read_state_tags(
    profile: Profile,
    template: str,
    name: str,
    allowed_states: Sequence[str],
    *,
    other_words: Sequence[str] = (),
) -> dict[str, str]:
    """Return the states in the tags of a field, by the batch system's words.

    `other_words`: the allowed states of OTHER_WORD_TAG, if the field may have it. Raises `InvalidProfileError` for a
    tag whose value is not an allowed state.
    """
    field = profile.find_field(profile.get_template(template), name)
    if field is None:
        return {}
    for tag in field.tags:
        allowed = other_words if tag.name == OTHER_WORD_TAG and other_words else allowed_states
        if tag.value not in allowed:
            kind = "a state" if allowed is allowed_states else "a state that has not ended"
            message = f"tag {quote_value(tag.name)} of {name} has the value {quote_value(tag.value)}, which is not {kind}"
            hint = f"one of {', '.join(allowed)}"
            raise InvalidProfileError([Problem("OSP404", message, tag.location, hint)])
    return {tag.name: tag.value for tag in field.tags}


def find_state_tag(tags: Mapping[str, str], groups: Mapping[str, str | None]) -> tuple[str, str | None]:
    """Return the batch system's word (STATE or STATE/SUBSTATE), and its tag's value if it has one."""
    state, substate = groups["state"] or "", groups.get("substate")
    native_state = f"{state}/{substate}" if substate else state
    return native_state, tags.get(native_state) or tags.get(state)


def _parse_number(text: str | None) -> int | None:
    try:
        number = int(text) if text else None
    except ValueError:
        return None
    return number if number is not None and abs(number) < _NUMBER_LIMIT else None


def _parse_seconds(text: str | None) -> float | None:
    """Return a number of seconds; None for what is none, and from _SECONDS_LIMIT on."""
    try:
        seconds = float(text) if text else None
    except ValueError:
        return None
    return seconds if seconds is not None and 0 <= seconds < _SECONDS_LIMIT else None


def _parse_size(text: str | None) -> int | None:
    """Return a number of bytes; None for what is none, and for more than an exbibyte."""
    if not text or not text.isascii() or not text.isdigit() or len(text) > _MAX_SIZE_DIGITS:
        return None
    return int(text)


def interpret_exit(
    state: JobState, *, cause: EndCause | None, code: int | None, signal: int | None
) -> tuple[JobState, int | None, int | None, EndCause | None]:
    """Return the state, exit code, signal and cause of a job from those that the batch system reports.

    With a cause, the job is FAILED; else a known exit code decides between DONE and FAILED. Without a
    separate signal (0: none), 129 to 192 is signal n-128 as in a shell, and 257 to 320 is signal n-256, as
    some batch systems report it. SIGXCPU is how a kernel ends what has used up its processor time. A
    negative exit code is a failure of the batch system itself. Other states have neither code nor signal.
    """
    if state not in {JobState.DONE, JobState.FAILED}:
        return state, None, None, cause or (EndCause.USER if state is JobState.REMOVED else None)
    if signal is None and code is not None:
        signal = next((code - base for base in (128, 256) if base < code <= base + 64), None)
    if cause or signal:
        by_signal = EndCause.TIME if signal == _SIGXCPU else EndCause.SIGNAL
        return JobState.FAILED, None, signal or None, cause or by_signal
    if code is not None and 0 <= code <= 255:
        return JobState.DONE, code, None, None
    return state, None, None, None


@final
class NodeStatus(NamedTuple):
    """The status of a node."""

    name: str
    """The name of the node."""
    state: NodeState
    """Its state."""
    native_state: str = ""
    """The batch system's word for the state (STATE or STATE/SUBSTATE)."""
    cpus: int | None = None
    """The number of its processors, if the profile tells it."""
    memory: int | None = None
    """Its memory in MiB, if the profile tells it."""


@final
class QueueLimit(NamedTuple):
    """A limit of a queue for a field (`<=`, `>=`), or its default, or the groups that may use it (`=`)."""

    field: str
    """WALLTIME (s), NODES, MEMORY (MiB a node), GPUS (a node), or USER_GROUPS (names with | between them)."""
    relation: str
    """`<=`, `>=` or `=`."""
    value: str
    """The value, as the profile's field has it."""


@final
class QueueStatus(NamedTuple):
    """The status of a queue."""

    name: str
    """The name of the queue."""
    state: QueueState
    """Its state."""
    native_state: str = ""
    """The batch system's word for the state."""
    is_default: bool = False
    """Whether it has the jobs that do not name a queue."""
    limits: tuple[QueueLimit, ...] = ()
    """What the batch system tells of its limits."""


@final
class MachineOutputReader:
    """Reads the output of one profile's two templates.

    Entries are in the order of the output; if two have the same name, the last one counts. The same
    text is not read again. Methods raise `TemplateNotFoundError` if the profile does not have the
    template, `InvalidProfileError` if its fields are missing or wrong, and `OutputError` for a text
    that is not empty but has no entry.
    """

    def __init__(self, profile: Profile) -> None:
        self._profile = profile

    def read_nodes(self, text: str) -> Sequence[NodeStatus]:
        """Return the nodes in the output of LIST_NODES."""
        return self._nodes.read_entries(text)

    def read_queues(self, text: str) -> Sequence[QueueStatus]:
        """Return the queues in the output of LIST_QUEUES."""
        return self._queues.read_entries(text)

    @cached_property
    def _nodes(self) -> _ListingReader[NodeStatus]:
        return _ListingReader(
            self._profile,
            NODES_TEMPLATE,
            "NODE",
            NODE_STATE_TAGS,
            lambda name, tag, native_state, groups: NodeStatus(
                name,
                NodeState(tag),
                native_state,
                int(groups.get("cpus") or 0) or None,
                int(groups.get("memory") or 0) or None,
            ),
        )

    @cached_property
    def _queues(self) -> _ListingReader[QueueStatus]:
        return _ListingReader(
            self._profile,
            QUEUES_TEMPLATE,
            "QUEUE",
            QUEUE_STATE_TAGS,
            lambda name, tag, native_state, groups: QueueStatus(
                name,
                QueueState(tag),
                native_state,
                bool(groups.get("default")),
                tuple(itertools.starmap(QueueLimit, _LIMIT.findall(groups.get("limits") or ""))),
            ),
        )


@final
class _ListingReader(Generic[T]):
    """Reads the output of one template; `make_entry(name, tag, native_state, groups)` makes an entry."""

    def __init__(
        self,
        profile: Profile,
        template: str,
        kind: str,
        allowed_states: Sequence[str],
        make_entry: Callable[[str, str, str, Mapping[str, str | None]], T],
    ) -> None:
        self._template, self._pattern_field = template, f"{kind}_PATTERN"
        groups = ("name", "state")
        self._pattern = get_output_pattern(profile, template, self._pattern_field, groups)
        self._tags = read_state_tags(profile, template, f"{kind}_STATE", allowed_states)
        self._make_entry = make_entry
        self._last_text: str | None = None
        self._last_entries: Sequence[T] = ()

    def read_entries(self, text: str) -> Sequence[T]:
        if text != self._last_text:
            entries: dict[str, T] = {}
            for match in self._pattern.find_iter(text):
                groups = match.groupdict()
                name = groups["name"] or ""
                native_state, tag = find_state_tag(self._tags, groups)
                entries[name] = self._make_entry(name, tag or "UNKNOWN", native_state, groups)
            if not entries and text.strip():
                raise build_output_error(self._template, self._pattern_field, text)
            self._last_text, self._last_entries = text, tuple(entries.values())
        return self._last_entries
