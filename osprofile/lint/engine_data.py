"""What a profile tells the engine about a program's output: patterns and states.

Fixed fields hold Java regular expressions with named groups (design: "conventions").
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import JavaRegexError, nearest, shown
from osprofile.events.event import STATE_WORDS
from osprofile.language import javaregex
from osprofile.lint.declarations import declared_fields
from osprofile.lint.rules import problem
from osprofile.profile.words import NODE_WORDS, QUEUE_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from osprofile.errors import Problem
    from osprofile.lint.script import View
    from osprofile.profile.model import Field, Template


@final
@dataclass(frozen=True, slots=True)
class EngineField:
    """A field that the engine reads: the groups that its pattern must and may have.

    `words` are what its tags may give, where it says what a batch system's words mean.
    """

    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    must_exist: bool = True
    words: tuple[str, ...] = ()

    @property
    def is_pattern(self) -> bool:
        """Say whether the field holds a regular expression."""
        return bool(self.required)


ENGINE_FIELDS: Final[dict[str, dict[str, EngineField]]] = {
    "START": {"JOB_ID_PATTERN": EngineField(("id",))},
    "GET_JOB_STATUS": {
        "STATUS_PATTERN": EngineField(
            ("id", "state"),
            ("substate", "exit", "signal", "host", "queue", "elapsed", "reason"),
        ),
        "STATE": EngineField(words=STATE_WORDS),
    },
    "LIST_NODES": {
        "NODE_PATTERN": EngineField(("name", "state"), ("substate",)),
        "NODE_STATE": EngineField(words=NODE_WORDS),
    },
    "LIST_QUEUES": {
        "QUEUE_PATTERN": EngineField(("name", "state"), ("substate", "default")),
        "QUEUE_STATE": EngineField(words=QUEUE_WORDS),
    },
    "LIST": {"ENTRY_PATTERN": EngineField(("type", "mode", "size", "mtime", "name"))},
    "EVENTS": {"EVENT_ID_PATTERN": EngineField(("id",), must_exist=False)},
    "JOB_PROLOGUE": {"DIRECTIVE_PREFIX": EngineField(must_exist=False)},
}
"""By template, the fields that the engine reads; no body needs to use them."""

TIME_LIMIT: Final = "TIME_LIMIT"
"""How long a template's script may take, in seconds; any template may have it, or all (global)."""


def engine_data(view: View) -> Iterator[Problem]:
    """Judge the fields that the engine reads."""
    for _template, declared in declared_fields(view):
        if declared.name == TIME_LIMIT and not _is_seconds(declared.value):
            message = "field TIME_LIMIT has no fixed Value that is a number of seconds"
            yield problem("OSP406", message, declared.place, "as in <Value>120</Value>")
    for name, fields in ENGINE_FIELDS.items():
        template = view.profile.templates.get(name)
        if template is None:
            continue
        for field_name, wanted in fields.items():
            field = view.profile.field(template, field_name)
            if field is not None:
                yield from _judge(field, wanted)
            elif wanted.must_exist:
                yield _missing(template, field_name, wanted)


def _is_seconds(value: str | None) -> bool:
    return value is not None and value.isascii() and value.isdigit() and int(value) > 0


def _missing(template: Template, name: str, wanted: EngineField) -> Problem:
    message = f"template {template.name} has no field {name}, by which the engine reads its output"
    groups = ", ".join(f"(?<{group}>...)" for group in wanted.required)
    hint = f'declare it with isSettable="false" and a Value with {groups}'
    if not wanted.is_pattern:
        hint = f'declare it with isSettable="false" and tags with values {", ".join(wanted.words)}'
    return problem("OSP403", message, template.place, hint)


def _judge(field: Field, wanted: EngineField) -> Iterator[Problem]:
    if wanted.words:
        yield from _states(field, wanted.words)
    elif field.value is None or (wanted.is_pattern and not field.value):
        message = f"field {field.name} has no fixed Value, by which the engine reads an output"
        yield problem("OSP403", message, field.place, "give it a <Value>, not a Default")
    elif wanted.is_pattern:
        yield from _pattern(field, field.value, wanted)


def _states(field: Field, words: tuple[str, ...]) -> Iterator[Problem]:
    if not field.tags:
        message = f"field {field.name} has no tags: every word of the batch system would be UNKNOWN"
        hint = f'as in <Tag name="...">{words[0]}</Tag>; the states are {", ".join(words)}'
        yield problem("OSP403", message, field.place, hint)
    for tag in field.tags:
        if tag.value not in words:
            name = field.name
            message = f"tag {shown(tag.name)} of {name} gives {shown(tag.value)}, which is no state"
            hint = f"one of {', '.join(words)}; a word without a tag is UNKNOWN"
            yield problem("OSP404", message, tag.element.source_text.place(), hint)


def _pattern(field: Field, value: str, wanted: EngineField) -> Iterator[Problem]:
    try:
        groups = set(javaregex.compile(value).group_names)
    except JavaRegexError as error:
        child = field.element.child("Value")
        place = child.source_text.place(error.index) if child else field.place
        message = f"Value of field {field.name}: bad Java regular expression: {error.message}"
        yield problem("OSP401", message, place, error.hint)
        return
    place = field.place_of("Value")
    for group in wanted.required:
        if group not in groups:
            message = f"field {field.name} has no group (?<{group}>...), which the engine reads"
            yield problem("OSP402", message, place, nearest(group, groups))
    known = {*wanted.required, *wanted.optional}
    for group in sorted(groups - known):
        if not re.search(rf"\\k<{group}>", value):
            message = f"the engine does not read group (?<{group}>...) of field {field.name}"
            hint = nearest(group, known) + "; a group for the pattern's own use is (?:...)"
            yield problem("OSP405", message, place, hint)
