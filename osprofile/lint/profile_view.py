"""The texts of a resolved profile, as the rules look at them: parsed once, with their fields.

A `ShellScript` is a text as the shell's lexer takes it: characters, and a `Placeholder` for each replacement.
Where a field has a fixed value the value itself stands there: a profile's own text is trusted, and
may well hold the quote or the `--` that matters.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from osprofile.errors import InvalidProfileError, JavaRegexError
from osprofile.incarnation import body as bodies
from osprofile.incarnation import field_rules as values
from osprofile.incarnation.plan import BIN_FIELDS, BIN_TEMPLATE, JOB_SCRIPT_PARTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from osprofile.incarnation.body import Replacement, TemplateBody
    from osprofile.profile.model import Field, Invocation, Profile, Template
    from osprofile.source import Location, SourceText


@final
@dataclass(frozen=True, slots=True)
class TemplateText:
    """A text with replacements: an invocation's body, or its static script's arguments."""

    template: Template
    invocation: Invocation
    body: TemplateBody

    @property
    def is_arguments(self) -> bool:
        """Say whether it is the arguments of a static script."""
        return self.invocation.static_script is not None

    @property
    def engine_fields(self) -> frozenset[str]:
        """The fields that the engine supplies to just this text."""
        known = BIN_FIELDS.get(self.invocation.name, frozenset[str]())
        return known if self.template.name == BIN_TEMPLATE else frozenset()


@final
@dataclass(frozen=True, slots=True, eq=False)
class Placeholder:
    """A replacement as a script has it."""

    text: TemplateText
    replacement: Replacement

    @property
    def location(self) -> Location:
        """Where the replacement stands."""
        return self.text.body.locate_replacement(self.replacement)


@final
class ShellScript:
    """Texts one after the other, as items; see `osprofile.lint.shell`."""

    __slots__ = ("_parts", "items")

    def __init__(self) -> None:
        self.items: list[str | Placeholder] = []
        self._parts: list[tuple[int, SourceText, int]] = []

    def append_literal(self, text: str, source: SourceText, offset: int) -> None:
        """Add characters that stand at an offset of a source."""
        self._parts.append((len(self.items), source, offset))
        self.items += text

    def append_placeholder(self, placeholder: Placeholder) -> None:
        """Add a hole."""
        self.items.append(placeholder)

    def locate_item(self, index: int) -> Location:
        """Give the place of the literal item at an index."""
        item = self.items[index] if index < len(self.items) else ""
        if not isinstance(item, str):
            return item.location
        start, source, offset = self._parts[bisect_right(self._parts, index, key=_part_start) - 1]
        return source.get_location(min(offset + index - start, len(source.text)))


def _part_start(part: tuple[int, SourceText, int]) -> int:
    return part[0]


@final
class ProfileView:
    """A resolved profile with all its texts parsed."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.own_document = profile.documents[0]
        self.texts = [
            TemplateText(template, invocation, bodies.parse_body(source))
            for template in profile.templates.values()
            for invocation in template.invocations.values()
            if (source := replaceable_text(invocation)) is not None
        ]

    def template_texts(self, template: Template) -> Iterator[TemplateText]:
        """Give the texts of a template."""
        return (text for text in self.texts if text.template is template)

    def list_replacements(self) -> Iterator[tuple[TemplateText, Replacement]]:
        """Give every replacement of every text."""
        return ((text, found) for text in self.texts for found in text.body.replacements)

    def find_field(self, text: TemplateText, name: str) -> Field | None:
        """Give the field that a replacement in a text names: declared, global or a base's."""
        found = self.profile.find_field(text.template, name)
        base = values.get_derived_base(name)
        return self.profile.find_field(text.template, base) if found is None and base else found

    def is_path_template(self, template: Template) -> bool:
        """Say whether a template makes paths and no scripts: only storages name it."""
        in_storages = any(s.template == template.name for s in self.profile.storages.values())
        in_applications = any(
            a.template == template.name for a in self.profile.applications.values()
        )
        return in_storages and not in_applications

    def related_templates(self, template: Template) -> list[Template]:
        """Return the templates that share their fields with one: of START, its parts and itself."""
        job = {"START", *filter(None, JOB_SCRIPT_PARTS)}
        runs = {a.template for a in self.profile.applications.values()}
        if template.name not in job | runs:
            return [template]
        names = job | runs if template.name in job else job | {template.name}
        return [t for t in self.profile.templates.values() if t.name in names]

    def job_script_texts(self) -> list[list[TemplateText]]:
        """Give, for each application's template, the texts that make the job script."""
        names = dict.fromkeys(a.template for a in self.profile.applications.values())
        wanted = [[n or name for n in JOB_SCRIPT_PARTS] for name in names or {"": None}]
        return [[t for n in parts for t in self._default_texts(n)] for parts in wanted]

    def _default_texts(self, name: str) -> list[TemplateText]:
        named = (t for t in self.texts if t.template.name == name and not t.invocation.name)
        return list(named)

    def assemble_script(self, texts: Sequence[TemplateText]) -> ShellScript:
        """Put texts together, each ending its last line."""
        script = ShellScript()
        for text in texts:
            if text.is_arguments:  # what runs a static script takes no options
                script.append_literal(": ", text.body.source, 0)
            self._append_text(script, text)
        return script

    def assemble_static_script(self, text: TemplateText) -> ShellScript:
        """Put a static script behind its arguments, as its positional parameters."""
        script = ShellScript()
        script.append_literal("set -- ", text.body.source, 0)
        self._append_text(script, text)
        if text.invocation.static_script is not None:
            body = text.invocation.static_script.body
            script.append_literal(body.text + "\n", body, 0)
        return script

    def _append_text(self, script: ShellScript, text: TemplateText) -> None:
        """Add a text, ending its last line."""
        source, at = text.body.source, 0
        for segment in text.body.segments:
            if isinstance(segment, str):
                script.append_literal(segment, source, at)
                at += len(segment)
            else:
                self._append_replacement(script, text, segment)
                at = segment.end
        script.append_literal("\n", source, at)

    def _append_replacement(
        self, script: ShellScript, text: TemplateText, replacement: Replacement
    ) -> None:
        fixed = self._fixed_text(text, replacement)
        if fixed is None:
            script.append_placeholder(Placeholder(text, replacement))
            return
        for char in fixed:  # each of them stands where the replacement does
            script.append_literal(char, text.body.source, replacement.start)

    def _fixed_text(self, text: TemplateText, replacement: Replacement) -> str | None:
        """Give what always stands for a replacement, None where that may vary."""
        declared = self.profile.find_field(text.template, replacement.name)
        if declared is None or declared.value is None or replacement.name in text.engine_fields:
            return None
        try:
            value = values.apply_tags(declared, declared.value)
            return bodies.compile_replacement(text.body, replacement)(value)
        except (InvalidProfileError, JavaRegexError):
            return None


def replaceable_text(invocation: Invocation) -> SourceText | None:
    """Give the text of an invocation that can hold replacements."""
    script = invocation.static_script
    return script.arguments if script is not None else invocation.body
