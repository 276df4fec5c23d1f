"""How each value came into a script: `trace` explains an incarnation that was made.

Nothing is decided here. Which source won, which tag and which checks a value met, what a regular
expression made of it and where it landed is read from what the engine worked with: the plan, its
rules, the values by key, and the text that was filled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, final

from osprofile.language import body as bodies

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from osprofile.incarnation.fields import Check, Rule
    from osprofile.incarnation.incarnate import Incarnation, Origin
    from osprofile.incarnation.plan import Plan
    from osprofile.incarnation.text import Slot, Step, Values
    from osprofile.profile.model import Field, Tag
    from osprofile.source import Place

    Spans = Iterable[tuple[Slot, int, str]]
    Position = Callable[[int], int | None]

SCRIPT = ""
"""The name of the text that is the result itself."""


@final
class Offer(NamedTuple):
    """A value that a field could have had; `place` is that of a Value or Default, else None."""

    origin: Origin
    value: str
    place: Place | None


@final
class Landing(NamedTuple):
    """Where a value stands: in which text, and at which line and column (from 1) of it.

    `text` is empty for the script itself, else the name of what the engine supplies (JOB_SCRIPT,
    ARGUMENTS) or of a static script's directory. `script` is line and column in the script, None
    where that text went through a regular expression, which keeps no positions, or is no part of
    the script. `content` is the line of `text` that the value begins in.
    """

    text: str
    line: int
    column: int
    script: tuple[int, int] | None
    content: str


@final
class UseTrace(NamedTuple):
    """One replacement that used the field: `written` as it stands in the profile, at `place`.

    `derived` is the value of `<X:HMS>` or `<X:MINUTES>`, None elsewhere. FROM and TO (`pattern`,
    `replacement`; None in `<X>`) made `after` of `before`.
    """

    template: str
    variation: str
    written: str
    place: Place
    derived: str | None
    pattern: str | None
    replacement: str | None
    before: str
    after: str
    landing: Landing


@final
class FieldTrace(NamedTuple):
    """The way of one field's value from where it came from to each place in the script.

    `offers` are all sources that had a value, the winner first; none for what the engine supplies.
    `given` is the winner's value, `tag` the tag that replaced it, `value` what it became, and
    `checks` are the rules that `value` was held against: none for the empty value, which means
    "not given".
    """

    name: str
    origin: Origin | Literal["engine"]
    given: str
    value: str
    declared: Field | None
    offers: tuple[Offer, ...]
    tag: Tag | None
    checks: tuple[Check, ...]
    uses: tuple[UseTrace, ...]

    @property
    def place(self) -> Place | None:
        """Where the profile declares the field; None where it does not."""
        return self.declared.place if self.declared is not None else None


def trace(incarnation: Incarnation) -> tuple[FieldTrace, ...]:
    """Give the way of each field that the text uses, in the order in which a reader meets them.

    What the engine supplies (JOB_SCRIPT; a static script's TARGET, ARGUMENTS and FILE_NAME) is
    among them, with the origin `engine`.
    """
    plan, _used, values = incarnation.made_of
    rules = {name: rule for name, _known, rule in (*plan.checked, *plan.tagged)}
    found: dict[tuple[str, str], list[UseTrace]] = {}
    for slot, use in _Walk(incarnation).all():
        # Two fields may have one name: a template's TARGET, and BIN's.
        found.setdefault((slot.field, slot.field or slot.before), []).append(use)
    traces = []
    for (name, key), uses in found.items():
        if name:
            traces.append(_field(incarnation, name, rules.get(name), tuple(uses)))
        else:
            told, value = key.partition(" ")[0], values[key]
            traces.append(FieldTrace(told, "engine", value, value, None, (), None, (), tuple(uses)))
    return tuple(traces)


def _field(
    incarnation: Incarnation, name: str, rule: Rule | None, uses: tuple[UseTrace, ...]
) -> FieldTrace:
    plan, _used, values = incarnation.made_of
    declared, value = plan.declared.get(name), values[name]
    offers = tuple(
        Offer(origin, offered, _source_place(declared, origin))
        for origin, offered in incarnation.sources(name)
    )
    tag = rule.tag(offers[0].value) if rule is not None else None
    checks = rule.checks if rule is not None and value else ()
    origin, given, _place = offers[0]
    return FieldTrace(name, origin, given, value, declared, offers, tag, checks, uses)


_ELEMENTS: dict[Origin, str] = {"fixed": "Value", "default": "Default"}


def _source_place(declared: Field | None, origin: Origin) -> Place | None:
    if declared is None or origin not in _ELEMENTS:
        return None
    return declared.place_of(_ELEMENTS[origin])


@final
class _Walk:
    """A walk over the filled text and all that is nested in it."""

    def __init__(self, incarnation: Incarnation) -> None:
        self.plan: Plan
        self.values: Values
        self.plan, self.used, self.values = incarnation.made_of
        self.script = incarnation.text
        self.steps = {step.key: step for step in self.plan.steps if step.parts}

    def all(self) -> Iterator[tuple[Slot, UseTrace]]:
        yield from self.text(SCRIPT, self.script, self.used.spans(self.values), lambda at: at)
        for script, _path, directory in self.plan.scripts:
            name, text = f"directory of {script.file_name}", directory.fill(self.values)
            yield from self.text(name, text, directory.spans(self.values), lambda _at: None)

    def text(
        self, name: str, text: str, spans: Spans, position: Position
    ) -> Iterator[tuple[Slot, UseTrace]]:
        """Give the uses in one text, and then those in what is nested there."""
        for slot, offset, value in spans:
            yield slot, self.use(slot, value, self.landing(name, text, offset, position(offset)))
            step = self.steps.pop(slot.before, None)  # what stands twice is told once
            if step is not None:
                yield from self.nested(
                    slot, step, _within(slot, step, self.values, offset, position)
                )

    def nested(self, slot: Slot, step: Step, position: Position) -> Iterator[tuple[Slot, UseTrace]]:
        return self.text(slot.use.name, self.values[step.key], step.spans(self.values), position)

    def use(self, slot: Slot, after: str, landing: Landing) -> UseTrace:
        use, before = slot.use, self.values[slot.before]
        replacement = use.replacement
        return UseTrace(
            template=use.template.name,
            variation=use.invocation.name,
            written=use.body.source.text[replacement.start : replacement.end],
            place=use.place,
            derived=before if slot.field not in {"", slot.before} else None,
            pattern=replacement.pattern,
            replacement=replacement.replacement,
            before=before,
            after=after,
            landing=landing,
        )

    def landing(self, name: str, text: str, offset: int, in_script: int | None) -> Landing:
        script = None if in_script is None else _line_and_column(self.script, in_script)
        end = text.find("\n", offset)
        content = text[text.rfind("\n", 0, offset) + 1 : end if end >= 0 else len(text)]
        return Landing(name, *_line_and_column(text, offset), script, content)


def _within(slot: Slot, step: Step, values: Values, offset: int, position: Position) -> Position:
    """Give the function from an offset in a nested text to the one in the script, where it is known.

    A replacement of one character by others (quoting) moves what is behind it, and no more.
    """
    replacement, whole = slot.use.replacement, values[step.key]
    pair = bodies.literal(replacement)
    if replacement.pattern is None:
        return lambda at: position(offset + at)
    if pair is None or len(pair[0]) != 1:
        return lambda _at: None
    return lambda at: position(offset + len(whole[:at].replace(*pair)))


def _line_and_column(text: str, offset: int) -> tuple[int, int]:
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)
