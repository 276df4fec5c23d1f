"""Rules for the fields that tell the engine how to read a script's output: patterns and states.

These fields have fixed values: Java regular expressions with named groups, or tags. See
docs/language-jobs.md, "Output that the engine parses".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

from osprofile import javaregex
from osprofile.errors import JavaRegexError
from osprofile.javaregex.charset import CharSet
from osprofile.jobs.profiles import CONFIRM_EXAMPLE, CONFIRM_WORDS, ENERGY_PRICE_FORM, parse_confirmation
from osprofile.jobs.shell.output import (
    BATCH_SYSTEM_FIELD,
    END_FILES_FIELD,
    MAX_POLL_INTERVAL_FIELD,
    POLL_INTERVAL_FIELD,
    POLL_INTERVAL_FORM,
    PREPARED_OPTION_FIELD,
    SEVERAL_OPTION_FIELD,
    STATUS_COMMANDS_FIELD,
    STATUS_END_FIELD,
    find_id_form,
)
from osprofile.jobs.state import (
    JOB_STATE_TAGS,
    LIVE_STATE_TAGS,
    NODE_STATE_TAGS,
    OTHER_WORD_TAG,
    QUEUE_STATE_TAGS,
)
from osprofile.jobs.submit.attempts import RETRY_FIELD
from osprofile.jobs.submit.throttle import (
    MAX_QUEUED_FIELD,
    MAX_QUEUED_FORM,
    QUEUE_FULL_FIELD,
    SUBMIT_RATE_FIELD,
    SUBMIT_RATE_FORM,
)
from osprofile.lint.declarations import find_regex_problem, list_declared_fields
from osprofile.lint.id_forms import find_difference
from osprofile.lint.profile_view import DIRECTIVE_TEMPLATES
from osprofile.lint.rules import make_problem
from osprofile.lint.value_sets import get_pattern_values
from osprofile.profile.model import (
    DIRECTIVE_PREFIX,
    ENERGY_PRICE,
    EXPERIMENTAL,
    PASSED_OPTIONS,
    SITE_CONFIRM,
    SITE_CONTACT,
    SITE_NAME,
    SUBMIT_COMMAND,
    SUBMIT_DIRECTORY,
    TEST_COMMAND,
)
from osprofile.text import quote_value, suggest_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from osprofile.errors import Problem
    from osprofile.javaregex import Pattern
    from osprofile.lint.profile_view import ProfileView
    from osprofile.profile.model import Field, Template
    from osprofile.source import SourceText


@final
@dataclass(frozen=True, slots=True)
class EngineField:
    """A field that the engine reads: the groups that its pattern must have and may have.

    A pattern without required groups is the form of an id.
    A field with `allowed_words` has tags instead, which map a batch system's words to these.
    """

    required_groups: tuple[str, ...] = ()
    optional_groups: tuple[str, ...] = ()
    must_exist: bool = True
    allowed_words: tuple[str, ...] = ()
    has_no_groups: bool = False
    """Whether it is a regular expression of which nothing is read but whether it matches."""

    @property
    def is_pattern(self) -> bool:
        """Whether the field holds a regular expression."""
        return bool(self.required_groups or self.optional_groups or self.has_no_groups)


_NO_ID_CHARS: Final = CharSet.from_ranges((0, 0x20), (0x7F, 0x7F))

ENGINE_FIELDS: Final[dict[str, dict[str, EngineField]]] = {
    "START": {
        "JOB_ID_PATTERN": EngineField(optional_groups=("id",)),
        BATCH_SYSTEM_FIELD: EngineField(must_exist=False),
        EXPERIMENTAL: EngineField(must_exist=False),
        SUBMIT_RATE_FIELD: EngineField(must_exist=False),
        MAX_QUEUED_FIELD: EngineField(must_exist=False),
        QUEUE_FULL_FIELD: EngineField(must_exist=False, has_no_groups=True),
        RETRY_FIELD: EngineField(must_exist=False),
        SEVERAL_OPTION_FIELD: EngineField(must_exist=False),
        PREPARED_OPTION_FIELD: EngineField(must_exist=False),
        SITE_NAME: EngineField(must_exist=False),
        SITE_CONTACT: EngineField(must_exist=False),
        SITE_CONFIRM: EngineField(must_exist=False),
        ENERGY_PRICE: EngineField(must_exist=False),
    },
    "GET_JOB_STATUS": {
        "STATUS_PATTERN": EngineField(
            ("id", "state"),
            (
                "substate",
                "exit",
                "signal",
                "host",
                "queue",
                "elapsed",
                "cpu",
                "memory",
                "energy",
                "cpus",
                "allocated",
                "ended",
                "reason",
            ),
        ),
        "STATE": EngineField(allowed_words=JOB_STATE_TAGS),
        POLL_INTERVAL_FIELD: EngineField(must_exist=False),
        MAX_POLL_INTERVAL_FIELD: EngineField(must_exist=False),
        END_FILES_FIELD: EngineField(must_exist=False),
        STATUS_COMMANDS_FIELD: EngineField(must_exist=False),
        STATUS_END_FIELD: EngineField(must_exist=False),
    },
    "LIST_NODES": {
        "NODE_PATTERN": EngineField(("name", "state"), ("substate", "cpus", "memory")),
        "NODE_STATE": EngineField(allowed_words=NODE_STATE_TAGS),
    },
    "LIST_QUEUES": {
        "QUEUE_PATTERN": EngineField(("name", "state"), ("substate", "default", "limits")),
        "QUEUE_STATE": EngineField(allowed_words=QUEUE_STATE_TAGS),
    },
    "LIST": {"ENTRY_PATTERN": EngineField(("type", "mode", "size", "mtime", "name"))},
    "EVENTS": {"EVENT_ID_PATTERN": EngineField(("id",), must_exist=False)},
    **{
        name: dict.fromkeys(
            (DIRECTIVE_PREFIX, PASSED_OPTIONS, SUBMIT_COMMAND, SUBMIT_DIRECTORY, TEST_COMMAND),
            EngineField(must_exist=False),
        )
        for name in DIRECTIVE_TEMPLATES
    },
}
"""The fields that the engine reads, by template; the template's scripts need not use them."""

TIME_LIMIT_FIELD: Final = "TIME_LIMIT"
"""The field that limits the time of a template's script, in seconds; a global one is for all templates."""
_INTERVAL: Final = (
    "OSP406",
    POLL_INTERVAL_FORM,
    "a number of seconds, more than 0",
    "2</Value> or <Value>0.5",
)
_VALUE_FORMS: Final = {
    POLL_INTERVAL_FIELD: _INTERVAL,
    MAX_POLL_INTERVAL_FIELD: _INTERVAL,
    TIME_LIMIT_FIELD: ("OSP406", re.compile("0*[1-9][0-9]*"), "a number of seconds", "120"),
    SUBMIT_RATE_FIELD: (
        "OSP408", SUBMIT_RATE_FORM, "a number of submissions a minute", "60/min</Value> or <Value>60/min, 10 at once",
    ),
    MAX_QUEUED_FIELD: ("OSP408", MAX_QUEUED_FORM, "a number of jobs, more than 0", "100"),
    ENERGY_PRICE: ("OSP408", ENERGY_PRICE_FORM, "the price of a kWh and its currency", "0.30 EUR"),
}  # fmt: skip
"""Fields whose fixed Value has a form: the code of the problem, the form, what it is, and an example."""


def check_engine_fields(view: ProfileView) -> Iterator[Problem]:
    """Check the fields that the engine reads."""
    for _template, declared in list_declared_fields(view):
        if declared.name == SITE_CONFIRM:
            yield from _check_confirmation(view, declared)
        if declared.name not in _VALUE_FORMS:
            continue
        code, form, words, example = _VALUE_FORMS[declared.name]
        if not form.fullmatch(declared.value or ""):
            message = f"field {declared.name} needs a fixed Value that is {words}"
            yield make_problem(code, message, declared.location, f"as in <Value>{example}</Value>")
    for name, fields in ENGINE_FIELDS.items():
        template = view.profile.templates.get(name)
        if template is None:
            continue
        for field_name, expected in fields.items():
            field = view.profile.find_field(template, field_name)
            if field is not None:
                yield from _check_field(field, expected)
            elif expected.must_exist and not (field_name == "STATUS_PATTERN" and _has_id_form(view)):
                yield _make_missing_problem(template, field_name, expected)


def _check_confirmation(view: ProfileView, declared: Field) -> Iterator[Problem]:
    """Check SITE_CONFIRM: a limit of a field that is misspelt would never ask."""
    limits = parse_confirmation(declared.value or "")
    if limits is None:
        message = f"field {SITE_CONFIRM} needs a fixed Value that is {CONFIRM_WORDS}"
        hint = f"as in <Value>{CONFIRM_EXAMPLE}</Value>, with WALLTIME in seconds and MEMORY in MiB"
        yield make_problem("OSP408", message, declared.location, hint)
    known = {field.name for _, field in list_declared_fields(view) if field.settable}
    for name in (limits or {}).keys() - known:
        message = f"{SITE_CONFIRM} has a limit of {quote_value(name)}, which is no field that a job sets"
        yield make_problem("OSP408", message, declared.location, suggest_names(name, known))


def check_id_forms(view: ProfileView) -> Iterator[Problem]:
    """Check a JOB_ID_PATTERN that is the form of an id alone: scripts give it to grep."""
    fields = view.profile.global_fields
    start = view.profile.templates.get("START")
    own = start.fields.get("JOB_ID_PATTERN") if start is not None else None
    is_named = any(f.pattern_field == "JOB_ID_PATTERN" for _, f in list_declared_fields(view))
    for field, is_form in ((own, False), (fields.get("JOB_ID_PATTERN"), is_named)):
        source = field.value_source if field is not None else None
        if source is None or find_regex_problem("", source):
            continue
        pattern = javaregex.compile(source.text)
        if is_form or "id" not in pattern.group_names:
            yield from _check_id_form(source, pattern)


def _check_id_form(source: SourceText, pattern: Pattern) -> Iterator[Problem]:
    hint = (
        r"use characters, \ before special ones, [...] without \, (...), |, *, +, ? and {n,m}: [0-9] for \d"
    )
    offset = find_difference(source.text)
    if offset is not None:
        message = f"JOB_ID_PATTERN has {quote_value(source.text[offset : offset + 8])}, which grep -E reads differently"
        yield make_problem("OSP407", message, source.get_location(offset), hint)
    elif pattern.min_length == 0 or get_pattern_values(source.text).chars.intersects(_NO_ID_CHARS):
        message = "JOB_ID_PATTERN allows an id that is empty, or has a blank or a line end"
        hint = "an id is one word: list its characters, as in [A-Za-z0-9._-]+"
        yield make_problem("OSP407", message, source.get_location(), hint)


def _has_id_form(view: ProfileView) -> bool:
    """Return whether JOB_ID_PATTERN is the form of an id, from which the pattern of a status follows."""
    try:
        return find_id_form(view.profile) is not None
    except JavaRegexError:
        return True  # reported already


def _make_missing_problem(template: Template, name: str, expected: EngineField) -> Problem:
    message = f"template {template.name} has no field {name}, which the engine needs to read its output"
    groups = ", ".join(f"(?<{group}>...)" for group in expected.required_groups)
    hint = f'declare it with isSettable="false" and a Value {f"with {groups}" if groups else "as in [1-9][0-9]*"}'
    if not expected.is_pattern:
        hint = f'declare it with isSettable="false" and tags with values {", ".join(expected.allowed_words)}'
    return make_problem("OSP403", message, template.location, hint)


def _check_field(field: Field, expected: EngineField) -> Iterator[Problem]:
    if expected.allowed_words:
        yield from _check_states(field, expected.allowed_words)
    elif field.value is None or (expected.is_pattern and not field.value):
        message = f"field {field.name} has no fixed Value, which the engine needs to read an output"
        yield make_problem("OSP403", message, field.location, "give it a <Value>, not a Default")
    elif expected.is_pattern:
        yield from _check_pattern(field, field.value, expected)


def _check_states(field: Field, allowed_words: tuple[str, ...]) -> Iterator[Problem]:
    if not field.tags:
        message = f"field {field.name} has no tags: every word of the batch system would be UNKNOWN"
        hint = f'as in <Tag name="...">{allowed_words[0]}</Tag>; the states are {", ".join(allowed_words)}'
        yield make_problem("OSP403", message, field.location, hint)
    for tag in field.tags:
        is_other = tag.name == OTHER_WORD_TAG and allowed_words is JOB_STATE_TAGS
        allowed = LIVE_STATE_TAGS if is_other else allowed_words
        if tag.value not in allowed:
            kind = "a state that has not ended" if is_other else "a state"
            message = f"tag {quote_value(tag.name)} of {field.name} gives {quote_value(tag.value)}, which is not {kind}"
            hint = f"one of {', '.join(allowed)}"
            if not is_other:
                hint += "; a word without a tag is UNKNOWN"
            yield make_problem("OSP404", message, tag.element.source_text.get_location(), hint)


def _check_pattern(field: Field, value: str, expected: EngineField) -> Iterator[Problem]:
    source = field.value_source
    if source is not None and (problem := find_regex_problem(f"Value of field {field.name}", source)):
        yield problem
        return
    groups = set(javaregex.compile(value).group_names)
    location = field.locate_child("Value")
    for group in expected.required_groups:
        if group not in groups:
            message = f"field {field.name} has no group (?<{group}>...), which the engine reads"
            yield make_problem("OSP402", message, location, suggest_names(group, groups))
    known_groups = {*expected.required_groups, *expected.optional_groups}
    for group in sorted(groups - known_groups):
        if not re.search(rf"\\k<{group}>", value):
            message = f"the engine does not read group (?<{group}>...) of field {field.name}"
            hint = suggest_names(group, known_groups) + "; write a group of your own as (?:...)"
            yield make_problem("OSP405", message, location, hint)
