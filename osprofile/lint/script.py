"""The texts of a resolved profile, as the rules look at them: parsed once, with their fields.

A `Script` is a text as the shell's lexer takes it: characters, and a `Hole` for each replacement.
Where a field has a fixed value the value itself stands there: a profile's own text is trusted, and
may well hold the quote or the `--` that matters.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from osprofile.errors import InvalidProfileError, JavaRegexError
from osprofile.incarnation import fields as values
from osprofile.incarnation.plan import BIN, BIN_FIELDS, START_PARTS
from osprofile.language import body as bodies

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from osprofile.language.body import Body, Replacement
    from osprofile.profile.model import Field, Invocation, Profile, Template
    from osprofile.source import Place, SourceText


@final
@dataclass(frozen=True, slots=True)
class Text:
    """A text with replacements: an invocation's body, or its static script's arguments."""

    template: Template
    invocation: Invocation
    body: Body

    @property
    def is_arguments(self) -> bool:
        """Say whether it is the arguments of a static script."""
        return self.invocation.static_script is not None

    @property
    def engine_fields(self) -> frozenset[str]:
        """The fields that the engine supplies to just this text."""
        known = BIN_FIELDS.get(self.invocation.name, frozenset[str]())
        return known if self.template.name == BIN else frozenset()


@final
@dataclass(frozen=True, slots=True, eq=False)
class Hole:
    """A replacement as a script has it."""

    text: Text
    replacement: Replacement

    @property
    def place(self) -> Place:
        """Where the replacement stands."""
        return self.text.body.place(self.replacement)


@final
class Script:
    """Texts one after the other, as items; see `osprofile.lint.shell`."""

    __slots__ = ("_parts", "items")

    def __init__(self) -> None:
        self.items: list[str | Hole] = []
        self._parts: list[tuple[int, SourceText, int]] = []

    def literal(self, text: str, source: SourceText, offset: int) -> None:
        """Add characters that stand at an offset of a source."""
        self._parts.append((len(self.items), source, offset))
        self.items += text

    def hole(self, hole: Hole) -> None:
        """Add a hole."""
        self.items.append(hole)

    def place(self, index: int) -> Place:
        """Give the place of the literal item at an index."""
        item = self.items[index] if index < len(self.items) else ""
        if not isinstance(item, str):
            return item.place
        start, source, offset = self._parts[bisect_right(self._parts, index, key=_start) - 1]
        return source.place(min(offset + index - start, len(source.text)))


def _start(part: tuple[int, SourceText, int]) -> int:
    return part[0]


@final
class View:
    """A resolved profile with all its texts parsed."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.own = profile.documents[0]
        self.texts = [
            Text(template, invocation, bodies.parse(source))
            for template in profile.templates.values()
            for invocation in template.invocations.values()
            if (source := source_of(invocation)) is not None
        ]

    def of(self, template: Template) -> Iterator[Text]:
        """Give the texts of a template."""
        return (text for text in self.texts if text.template is template)

    def uses(self) -> Iterator[tuple[Text, Replacement]]:
        """Give every replacement of every text."""
        return ((text, found) for text in self.texts for found in text.body.replacements)

    def field(self, text: Text, name: str) -> Field | None:
        """Give the field that a replacement in a text names: declared, global or a base's."""
        found = self.profile.field(text.template, name)
        base = values.derived_base(name)
        return self.profile.field(text.template, base) if found is None and base else found

    def is_path(self, template: Template) -> bool:
        """Say whether a template makes paths and no scripts: only storages name it."""
        in_storages = any(s.template == template.name for s in self.profile.storages.values())
        in_applications = any(
            a.template == template.name for a in self.profile.applications.values()
        )
        return in_storages and not in_applications

    def partners(self, template: Template) -> list[Template]:
        """Return the templates that share their fields with one: of START, its parts and itself."""
        job = {"START", *filter(None, START_PARTS)}
        runs = {a.template for a in self.profile.applications.values()}
        if template.name not in job | runs:
            return [template]
        names = job | runs if template.name in job else job | {template.name}
        return [t for t in self.profile.templates.values() if t.name in names]

    def job_scripts(self) -> list[list[Text]]:
        """Give, for each application's template, the texts that make the job script."""
        names = dict.fromkeys(a.template for a in self.profile.applications.values())
        wanted = [[n or name for n in START_PARTS] for name in names or {"": None}]
        return [[t for n in parts for t in self._default(n)] for parts in wanted]

    def _default(self, name: str) -> list[Text]:
        named = (t for t in self.texts if t.template.name == name and not t.invocation.name)
        return list(named)

    def script(self, texts: Sequence[Text]) -> Script:
        """Put texts together, each ending its last line."""
        script = Script()
        for text in texts:
            if text.is_arguments:  # what runs a static script takes no options
                script.literal(": ", text.body.source, 0)
            self._add(script, text)
        return script

    def static_script(self, text: Text) -> Script:
        """Put a static script behind its arguments, as its positional parameters."""
        script = Script()
        script.literal("set -- ", text.body.source, 0)
        self._add(script, text)
        if text.invocation.static_script is not None:
            body = text.invocation.static_script.body
            script.literal(body.text + "\n", body, 0)
        return script

    def _add(self, script: Script, text: Text) -> None:
        """Add a text, ending its last line."""
        source, at = text.body.source, 0
        for segment in text.body.segments:
            if isinstance(segment, str):
                script.literal(segment, source, at)
                at += len(segment)
            else:
                self._replacement(script, text, segment)
                at = segment.end
        script.literal("\n", source, at)

    def _replacement(self, script: Script, text: Text, found: Replacement) -> None:
        fixed = self._fixed(text, found)
        if fixed is None:
            script.hole(Hole(text, found))
            return
        for char in fixed:  # each of them stands where the replacement does
            script.literal(char, text.body.source, found.start)

    def _fixed(self, text: Text, found: Replacement) -> str | None:
        """Give what always stands for a replacement, None where that may vary."""
        declared = self.profile.field(text.template, found.name)
        if declared is None or declared.value is None or found.name in text.engine_fields:
            return None
        try:
            value = values.apply_tags(declared, declared.value)
            return bodies.compile_replacement(text.body, found)(value)
        except (InvalidProfileError, JavaRegexError):
            return None


def source_of(invocation: Invocation) -> SourceText | None:
    """Give the text of an invocation that can hold replacements."""
    script = invocation.static_script
    return script.arguments if script is not None else invocation.body
