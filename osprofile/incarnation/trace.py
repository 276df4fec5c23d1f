"""How each value came into a script: `trace_fields` explains an incarnation that was made.

Nothing is decided here. Which source won, which tag and which checks a value met, what a regular
expression made of it and where it landed is read from what the engine worked with: the plan, its
rules, the values by key, and the text that was filled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, final

from osprofile.incarnation import body as bodies

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from osprofile.incarnation.compiled_text import TextSlot, Values, ValueStep
    from osprofile.incarnation.field_rules import FieldRule, ValueCheck
    from osprofile.incarnation.incarnate import Incarnation, ValueOrigin
    from osprofile.incarnation.plan import Plan
    from osprofile.profile.model import Field, Tag
    from osprofile.source import Location

    LocatedSlots = Iterable[tuple[TextSlot, int, str]]
    OffsetMapping = Callable[[int], int | None]

SCRIPT_NAME = ""
"""The name of the text that is the result itself."""


@final
class ValueSource(NamedTuple):
    """A value that a field could have had; `location` is that of a Value or Default, else None."""

    origin: ValueOrigin
    value: str
    location: Location | None


@final
class ValuePosition(NamedTuple):
    """Where a value stands: in which text, and at which line and column (from 1) of it.

    `walk_text` is empty for the script itself, else the name of what the engine supplies (JOB_SCRIPT,
    ARGUMENTS) or of a static script's directory. `script_position` is line and column in the script, None
    where that text went through a regular expression, which keeps no positions, or is no part of
    the script. `line_text` is the line of `walk_text` that the value begins in.
    """

    text: str
    line: int
    column: int
    script_position: tuple[int, int] | None
    line_text: str


@final
class UseTrace(NamedTuple):
    """One replacement that used the field: `source_form` as it stands in the profile, at `location`.

    `derived_value` is the value of `<X:HMS>` or `<X:MINUTES>`, None elsewhere. FROM and TO (`pattern`,
    `replacement`; None in `<X>`) made `after` of `input_key`.
    """

    template: str
    variation: str
    source_form: str
    location: Location
    derived_value: str | None
    pattern: str | None
    replacement: str | None
    before: str
    after: str
    position: ValuePosition


@final
class FieldTrace(NamedTuple):
    """The way of one field's value from where it came from to each place in the script.

    `sources` are all sources that had a value, the winner first; none for what the engine supplies.
    `raw_value` is the winner's value, `find_tag` the tag that replaced it, `value` what it became, and
    `value_checks` are the rules that `value` was held against: none for the empty value, which means
    "not given".
    """

    name: str
    origin: ValueOrigin | Literal["engine"]
    raw_value: str
    value: str
    declaration: Field | None
    sources: tuple[ValueSource, ...]
    tag: Tag | None
    checks: tuple[ValueCheck, ...]
    uses: tuple[UseTrace, ...]

    @property
    def location(self) -> Location | None:
        """Where the profile declares the field; None where it does not."""
        return self.declaration.location if self.declaration is not None else None


def trace_fields(incarnation: Incarnation) -> tuple[FieldTrace, ...]:
    """Give the way of each field that the text uses, in the order in which a reader meets them.

    What the engine supplies (JOB_SCRIPT; a static script's TARGET, ARGUMENTS and FILE_NAME) is
    among them, with the origin `engine_keys`.
    """
    plan, _used, values = incarnation.trace_inputs
    rules = {name: rule for name, _known, rule in (*plan.checked_fields, *plan.tagged_fields)}
    found: dict[tuple[str, str], list[UseTrace]] = {}
    for slot, use in _TextWalker(incarnation).walk_all_texts():
        # Two fields may have one name: a template's TARGET, and BIN's.
        found.setdefault((slot.field_name, slot.field_name or slot.input_key), []).append(use)
    traces = []
    for (name, key), uses in found.items():
        if name:
            traces.append(_trace_field(incarnation, name, rules.get(name), tuple(uses)))
        else:
            told, value = key.partition(" ")[0], values[key]
            traces.append(FieldTrace(told, "engine", value, value, None, (), None, (), tuple(uses)))
    return tuple(traces)


def _trace_field(
    incarnation: Incarnation, name: str, rule: FieldRule | None, uses: tuple[UseTrace, ...]
) -> FieldTrace:
    plan, _used, values = incarnation.trace_inputs
    declared, value = plan.declarations.get(name), values[name]
    offers = tuple(
        ValueSource(origin, offered, _find_source_location(declared, origin))
        for origin, offered in incarnation.list_sources(name)
    )
    tag = rule.find_tag(offers[0].value) if rule is not None else None
    checks = rule.value_checks if rule is not None and value else ()
    origin, given, _place = offers[0]
    return FieldTrace(name, origin, given, value, declared, offers, tag, checks, uses)


_ORIGIN_ELEMENTS: dict[ValueOrigin, str] = {"fixed": "Value", "default": "Default"}


def _find_source_location(declared: Field | None, origin: ValueOrigin) -> Location | None:
    if declared is None or origin not in _ORIGIN_ELEMENTS:
        return None
    return declared.locate_child(_ORIGIN_ELEMENTS[origin])


@final
class _TextWalker:
    """A walk over the filled text and all that is nested in it."""

    def __init__(self, incarnation: Incarnation) -> None:
        self.plan: Plan
        self.values: Values
        self.plan, self.compiled_text, self.values = incarnation.trace_inputs
        self.script = incarnation.text
        self.steps = {step.key: step for step in self.plan.steps if step.parts}

    def walk_all_texts(self) -> Iterator[tuple[TextSlot, UseTrace]]:
        yield from self.walk_text(
            SCRIPT_NAME, self.script, self.compiled_text.locate_slots(self.values), lambda at: at
        )
        for script, _path, directory in self.plan.static_scripts:
            name, text = f"directory of {script.file_name}", directory.fill_slots(self.values)
            yield from self.walk_text(
                name, text, directory.locate_slots(self.values), lambda _at: None
            )

    def walk_text(
        self, name: str, text: str, spans: LocatedSlots, map_offset: OffsetMapping
    ) -> Iterator[tuple[TextSlot, UseTrace]]:
        """Give the uses in one text, and then those in what is nested there."""
        for slot, offset, value in spans:
            yield (
                slot,
                self.trace_use(
                    slot, value, self.find_position(name, text, offset, map_offset(offset))
                ),
            )
            step = self.steps.pop(slot.input_key, None)  # what stands twice is told once
            if step is not None:
                yield from self.walk_nested_text(
                    slot, step, _map_nested_offset(slot, step, self.values, offset, map_offset)
                )

    def walk_nested_text(
        self, slot: TextSlot, step: ValueStep, map_offset: OffsetMapping
    ) -> Iterator[tuple[TextSlot, UseTrace]]:
        return self.walk_text(
            slot.use.name, self.values[step.key], step.locate_slots(self.values), map_offset
        )

    def trace_use(self, slot: TextSlot, after: str, position: ValuePosition) -> UseTrace:
        use, before = slot.use, self.values[slot.input_key]
        replacement = use.replacement
        return UseTrace(
            template=use.template.name,
            variation=use.invocation.name,
            source_form=use.body.source.text[replacement.start : replacement.end],
            location=use.location,
            derived_value=before if slot.field_name not in {"", slot.input_key} else None,
            pattern=replacement.pattern,
            replacement=replacement.replacement,
            before=before,
            after=after,
            position=position,
        )

    def find_position(
        self, name: str, text: str, offset: int, in_script: int | None
    ) -> ValuePosition:
        script = None if in_script is None else _line_and_column(self.script, in_script)
        end = text.find("\n", offset)
        content = text[text.rfind("\n", 0, offset) + 1 : end if end >= 0 else len(text)]
        return ValuePosition(name, *_line_and_column(text, offset), script, content)


def _map_nested_offset(
    slot: TextSlot, step: ValueStep, values: Values, offset: int, map_offset: OffsetMapping
) -> OffsetMapping:
    """Give the function from an offset in a nested text to the one in the script, where it is known.

    A replacement of one character by others (quoting) moves what is behind it, and no more.
    """
    replacement, whole = slot.use.replacement, values[step.key]
    pair = bodies.get_literal_pair(replacement)
    if replacement.pattern is None:
        return lambda at: map_offset(offset + at)
    if pair is None or len(pair[0]) != 1:
        return lambda _at: None
    return lambda at: map_offset(offset + len(whole[:at].replace(*pair)))


def _line_and_column(text: str, offset: int) -> tuple[int, int]:
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)
