"""Explain where each value of a script comes from: `trace_fields`.

No rule is applied here again. The source that won, the tag, the checks, the result of a regular
expression and the positions in the script are read from the incarnation: its plan, the plan's
rules, the values by key, and the text that was filled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, final

from osprofile.authoring.outline import is_directive
from osprofile.incarnation import body as bodies
from osprofile.incarnation.compiled_text import locate_joined_slots
from osprofile.incarnation.field_rules import list_checks
from osprofile.late import NamedTuple
from osprofile.profile.model import REQUIRES_ATTRIBUTE, WHEN_ATTRIBUTE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from osprofile.incarnation.compiled_text import TextSlot
    from osprofile.incarnation.evaluate import Values
    from osprofile.incarnation.field_rules import FieldRule, ValueCheck
    from osprofile.incarnation.incarnate import Incarnation, ValueOrigin
    from osprofile.incarnation.plan import Plan
    from osprofile.profile.model import Field, Tag
    from osprofile.source import Location

    LocatedSlots = Iterable[tuple[TextSlot, int, str | None]]
    OffsetMapping = Callable[[int], int | None]

SCRIPT_NAME = ""
"""The name of the script itself in `ValuePosition.text`."""


@final
class ValueSource(NamedTuple):
    """A value that a field could have had; `location` is that of a Value or Default, else None."""

    origin: ValueOrigin
    value: str
    location: Location | None


@final
class ValuePosition(NamedTuple):
    """The position of a value: a text, and line and column (from 1) in it.

    `text` is empty for the script itself, else the name of what the engine supplies (JOB_SCRIPT,
    ARGUMENTS) or of a static script's directory. `script_position` is line and column in the
    script; None if a regular expression was applied to that text, which loses positions, or if it
    is not part of the script. `line_text` is the line of the text in which the value begins.
    """

    text: str
    line: int
    column: int
    script_position: tuple[int, int] | None
    line_text: str


@final
class UseTrace(NamedTuple):
    """One replacement that used the field: `source_form` is its text in the profile, at `location`.

    `derived_value` is the value of `<X:HMS>` or `<X:MINUTES>`, else None. FROM and TO (`pattern`,
    `replacement`; None in `<X>`) turned `before` into `after`. `is_directive`: it is in a line that
    the batch system reads. `is_omitted`: its line has no value and is not in the text.
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
    is_directive: bool
    is_omitted: bool


@final
class FieldLink(NamedTuple):
    """A field that `name` makes depend on `other`, by `ext:when` or `ext:requires`, at `location`.

    `is_met`: the other field has a value.
    """

    kind: Literal["when", "requires"]
    name: str
    other: str
    is_met: bool
    location: Location


@final
class FieldTrace(NamedTuple):
    """One field's value, from its source to each position in the script.

    `sources` are all sources that had a value, the winner first; none if the engine supplies it.
    `raw_value` is the winner's value, `tag` the tag that replaced it, `value` the result, and
    `checks` are the rules that were checked: none for the empty value, which means "not given".
    `links` are the fields that it depends on, and those that depend on it. `choice` is what was taken for `auto`.
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
    links: tuple[FieldLink, ...] = ()
    choice: str = ""

    @property
    def is_switched_off(self) -> bool:
        """Whether the field is empty because that of its `ext:when` is."""
        return any(k.kind == "when" and k.name == self.name and not k.is_met for k in self.links)

    @property
    def is_in_directive(self) -> bool:
        """Whether a directive uses the field."""
        return any(use.is_directive for use in self.uses)

    @property
    def location(self) -> Location | None:
        """Where the profile declares the field; None if it does not."""
        return self.declaration.location if self.declaration is not None else None


def trace_fields(incarnation: Incarnation) -> tuple[FieldTrace, ...]:
    """Return the trace of each field that the text uses, in the order of their first uses.

    What the engine supplies (JOB_SCRIPT; a static script's TARGET, ARGUMENTS and FILE_NAME) is
    among them, with the origin `engine`.
    """
    plan, _text, values = incarnation.trace_inputs
    rules = {name: rule for name, _cache, rule in (*plan.checked_fields, *plan.tagged_fields)}
    uses_by_field: dict[tuple[str, str], list[UseTrace]] = {}
    for slot, use in _TextWalker(incarnation).walk_all_texts():
        # Two fields may have one name: a template's TARGET, and BIN's.
        uses_by_field.setdefault((slot.field_name, slot.field_name or slot.input_key), []).append(use)
    links = list(_list_links(plan, values))
    traced = {name for name, _key in uses_by_field}
    for name in dict.fromkeys(link.other for link in links):
        if name not in traced:  # it only decides about others
            uses_by_field[name, name] = []
    traces = []
    for (name, key), uses in uses_by_field.items():
        if name:
            traces.append(_trace_field(incarnation, name, rules.get(name), tuple(uses), links))
        else:
            engine_name, value = key.partition(" ")[0], values[key]
            traces.append(FieldTrace(engine_name, "engine", value, value, None, (), None, (), tuple(uses)))
    return tuple(traces)


def _trace_field(
    incarnation: Incarnation,
    name: str,
    rule: FieldRule | None,
    uses: tuple[UseTrace, ...],
    links: Iterable[FieldLink],
) -> FieldTrace:
    plan, _text, values = incarnation.trace_inputs
    declaration, value = plan.declarations.get(name), values[name]
    sources = tuple(
        ValueSource(origin, source_value, _find_source_location(declared, origin))
        for origin, source_value, declared in incarnation.list_sources(name)
    )
    origin, raw_value, _location = sources[0]
    tag = rule.find_tag(raw_value) if rule is not None else None
    checks = rule.value_checks if rule is not None and value else ()
    if value:
        checks += tuple(
            check for case in incarnation.cases if case.name == name for check in list_checks(case)
        )
    own_links = tuple(link for link in links if name in {link.name, link.other})
    choice = incarnation.choices.get(name, "")
    return FieldTrace(
        name, origin, raw_value, value, declaration, sources, tag, checks, uses, own_links, choice
    )


def _list_links(plan: Plan, values: Values) -> Iterator[FieldLink]:
    kinds: tuple[tuple[Literal["when", "requires"], str, tuple[tuple[str, str], ...]], ...] = (
        ("when", WHEN_ATTRIBUTE, plan.conditions),
        ("requires", REQUIRES_ATTRIBUTE, plan.requirements),
    )
    for kind, attribute, pairs in kinds:
        for name, other in pairs:
            location = plan.declarations[name].find_declaration(kind).element.locate_attribute(attribute)
            yield FieldLink(kind, name, other, bool(values[other]), location)


_ORIGIN_ELEMENTS: dict[ValueOrigin, str] = {"fixed": "Value", "default": "Default"}


def _find_source_location(declaration: Field | None, origin: ValueOrigin) -> Location | None:
    if declaration is None or origin not in _ORIGIN_ELEMENTS:
        return None
    return declaration.locate_child(_ORIGIN_ELEMENTS[origin])


@final
class _TextWalker:
    """A walk over the filled text and all texts nested in it."""

    def __init__(self, incarnation: Incarnation) -> None:
        self.plan: Plan
        self.values: Values
        self.plan, self.compiled_text, self.values = incarnation.trace_inputs
        self.script = incarnation.text
        self.joined_texts = dict(self.plan.joined_texts)

    def walk_all_texts(self) -> Iterator[tuple[TextSlot, UseTrace]]:
        yield from self.walk_text(
            SCRIPT_NAME, self.script, self.compiled_text.locate_slots(self.values), lambda at: at
        )
        for script, _path, directory in self.plan.static_scripts:
            if script.file_name not in self.plan.used_scripts:
                continue
            name, text = f"directory of {script.file_name}", directory.fill_slots(self.values)
            yield from self.walk_text(name, text, directory.locate_slots(self.values), lambda _at: None)

    def walk_text(
        self, name: str, text: str, located_slots: LocatedSlots, map_offset: OffsetMapping
    ) -> Iterator[tuple[TextSlot, UseTrace]]:
        """Yield the uses in one text and in the texts nested there."""
        for slot, offset, value in located_slots:
            position = self.find_position(name, text, offset, map_offset(offset))
            yield slot, self.trace_use(slot, value, position)
            texts = self.joined_texts.pop(slot.input_key, None)  # a text that is nested twice is walked once
            if texts is not None:
                nested_text, nested_slots = (
                    self.values[slot.input_key],
                    locate_joined_slots(texts, self.values),
                )
                map_nested = _map_nested_offset(slot, nested_text, offset, map_offset)
                yield from self.walk_text(slot.use.name, nested_text, nested_slots, map_nested)

    def trace_use(self, slot: TextSlot, after: str | None, position: ValuePosition) -> UseTrace:
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
            after=after or "",
            position=position,
            is_directive=after is not None and is_directive(use.template, position.line_text),
            is_omitted=after is None,
        )

    def find_position(self, name: str, text: str, offset: int, script_offset: int | None) -> ValuePosition:
        script_position = None if script_offset is None else _line_and_column(self.script, script_offset)
        end = text.find("\n", offset)
        line_text = text[text.rfind("\n", 0, offset) + 1 : end if end >= 0 else len(text)]
        return ValuePosition(name, *_line_and_column(text, offset), script_position, line_text)


def _map_nested_offset(
    slot: TextSlot, nested_text: str, offset: int, map_offset: OffsetMapping
) -> OffsetMapping:
    """Return the function that maps an offset in a nested text to the one in the script, or None.

    The replacement of a single character (quoting) shifts the offsets after it; after any other
    replacement, they are unknown.
    """
    replacement = slot.use.replacement
    literal_pair = bodies.get_literal_pair(replacement)
    if replacement.pattern is None:
        return lambda at: map_offset(offset + at)
    if literal_pair is None or len(literal_pair[0]) != 1:
        return lambda _at: None
    return lambda at: map_offset(offset + len(nested_text[:at].replace(*literal_pair)))


def _line_and_column(text: str, offset: int) -> tuple[int, int]:
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)
