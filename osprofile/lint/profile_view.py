"""The resolved profile as the rules see it: its texts are parsed once, with their fields.

A `ShellScript` is the input of the shell's lexer: characters, and a `Placeholder` for each
replacement. A field with a fixed value is replaced by that value: a profile trusts its own text, which
may contain the quote or the `--` that makes another value safe.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import InvalidProfileError, JavaRegexError, ValueRefusedError
from osprofile.incarnation import body as bodies
from osprofile.incarnation import field_rules
from osprofile.incarnation.body import Replacement
from osprofile.incarnation.plan import BIN_FIELDS, BIN_TEMPLATE, JOB_SCRIPT_PARTS
from osprofile.javaregex import parse_literal_replacement
from osprofile.profile.model import DIRECTIVE_PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from osprofile.incarnation.body import TemplateBody
    from osprofile.profile.model import Field, Invocation, Profile, Template
    from osprofile.source import Location, SourceText


DIRECTIVE_TEMPLATES: Final = JOB_SCRIPT_PARTS[:2]
_TASK_ID_TEMPLATE: Final = "TASK_ID"
_WHOLE_VALUE_PATTERNS: Final = (r"(?s)^(.+)\z", r"(?s)^.+\z")
"""The FROM of text that stands in a script only if the field has a value."""


@final
@dataclass(frozen=True, slots=True)
class TemplateText:
    """A text with replacements: an invocation's body, or its static script's arguments."""

    template: Template
    invocation: Invocation
    body: TemplateBody

    @property
    def is_arguments(self) -> bool:
        """Whether the text is the arguments of a static script."""
        return self.invocation.static_script is not None

    @property
    def engine_fields(self) -> frozenset[str]:
        """The fields that the engine supplies to this text alone."""
        fields = BIN_FIELDS.get(self.invocation.name, frozenset[str]())
        return fields if self.template.name == BIN_TEMPLATE else frozenset()


@final
@dataclass(frozen=True, slots=True, eq=False)
class Placeholder:
    """A replacement in a script."""

    text: TemplateText
    replacement: Replacement

    @property
    def location(self) -> Location:
        """The location of the replacement."""
        return self.text.body.locate_replacement(self.replacement)


@final
class ShellScript:
    """The items of one or more texts; see `osprofile.lint.shell`.

    `has_optional_text`: the text that TO puts around a value is in it, as if each value was given.
    """

    def __init__(self, *, has_optional_text: bool = True) -> None:
        self.has_optional_text = has_optional_text
        self.items: list[str | Placeholder] = []
        # Of each literal: its first index in `items`, its source, and its offset there.
        self._literal_starts: list[tuple[int, SourceText, int]] = []
        self._fixed_values = list[range]()

    def append_literal(self, text: str, source: SourceText, offset: int) -> None:
        """Add text from an offset of a source."""
        self._literal_starts.append((len(self.items), source, offset))
        self.items += text

    def append_fixed_value(self, value: SourceText) -> None:
        """Add the Value of a field."""
        self._fixed_values.append(range(len(self.items), len(self.items) + len(value.text)))
        self.append_literal(value.text, value, 0)

    def is_fixed_value(self, index: int) -> bool:
        """Return whether the item at an index is of the Value of a field."""
        return any(index in indices for indices in self._fixed_values)

    def append_text_at(self, text: str, source: SourceText, offset: int) -> None:
        """Add text whose characters all have the location of one offset: that of a replacement."""
        for char in text:
            self.append_literal(char, source, offset)

    def append_placeholder(self, placeholder: Placeholder) -> None:
        """Add a placeholder."""
        self.items.append(placeholder)

    def locate_item(self, index: int) -> Location:
        """Return the location of the item at an index."""
        item = self.items[index] if index < len(self.items) else ""
        if not isinstance(item, str):
            return item.location
        start, source, offset = self._literal_starts[
            bisect_right(self._literal_starts, index, key=_part_start) - 1
        ]
        return source.get_location(min(offset + index - start, len(source.text)))


def _part_start(part: tuple[int, SourceText, int]) -> int:
    return part[0]


@final
class ProfileView:
    """A resolved profile with all its texts parsed: the argument of each rule."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.own_document = profile.documents[0]
        self.texts = [
            TemplateText(template, invocation, bodies.parse_body(source))
            for template in profile.templates.values()
            for invocation in template.invocations.values()
            if (source := get_replaceable_text(invocation)) is not None
        ]

    def list_template_texts(self, template: Template) -> Iterator[TemplateText]:
        """Return the texts of a template."""
        return (text for text in self.texts if text.template is template)

    def list_replacements(self) -> Iterator[tuple[TemplateText, Replacement]]:
        """Return the replacements of all texts."""
        return ((text, replacement) for text in self.texts for replacement in text.body.replacements)

    def find_field(self, text: TemplateText, name: str) -> Field | None:
        """Return the field that a replacement in a text names, for `<X:HMS>` the field X."""
        field = self.profile.find_field(text.template, name)
        base = field_rules.get_derived_base(name)
        return self.profile.find_field(text.template, base) if field is None and base else field

    def list_fixed_lines(
        self, text: TemplateText, end: int | None = None
    ) -> Iterator[tuple[Field, SourceText]]:
        """Yield the fields, with their fixed values, that are alone on a line of a text (`<NAME>`) before `end`."""
        source = text.body.source.text
        for replacement in text.body.replacements:
            if end is not None and replacement.start >= end:
                return
            if is_alone_on_line(source, replacement) and replacement.pattern is None:
                field = self.find_field(text, replacement.name)
                if field is not None and (value := field.value_source) is not None:
                    yield field, value

    def is_path_template(self, template: Template) -> bool:
        """Return whether a template makes paths or ids, not scripts: only storages name it, or it is TASK_ID."""
        in_storages = any(s.template == template.name for s in self.profile.storages.values())
        in_applications = any(a.template == template.name for a in self.profile.applications.values())
        return template.name == _TASK_ID_TEMPLATE or (in_storages and not in_applications)

    def list_related_templates(self, template: Template) -> list[Template]:
        """Return the templates that share their fields with this one: the parts of the job script."""
        job_parts = {"START", *filter(None, JOB_SCRIPT_PARTS)}
        application_templates = {a.template for a in self.profile.applications.values()}
        if template.name not in job_parts | application_templates:
            return [template]
        others = application_templates if template.name in job_parts else {template.name}
        return [t for t in self.profile.templates.values() if t.name in job_parts | others]

    def find_directive_prefix(self) -> str:
        """Return the fixed value of DIRECTIVE_PREFIX; without one, the empty string."""
        fields = (self.profile.find_field(t, DIRECTIVE_PREFIX) for t in self.list_directive_templates())
        return next((f.value for f in fields if f is not None and f.value), "")

    def list_directive_templates(self) -> list[Template]:
        """Return the templates with the directives: JOB_DIRECTIVES, if the profile has it, and JOB_PROLOGUE."""
        templates = self.profile.templates
        return [templates[name] for name in DIRECTIVE_TEMPLATES if name in templates]

    def list_job_script_texts(self) -> list[list[TemplateText]]:
        """Return the texts of each job script; there is one for each application's template."""
        names = dict.fromkeys(a.template for a in self.profile.applications.values())
        scripts = [[n or name for n in JOB_SCRIPT_PARTS] for name in names or {"": None}]
        return [[t for n in parts for t in self._list_default_texts(n)] for parts in scripts]

    def list_script_texts(self) -> Iterator[tuple[list[TemplateText], bool]]:
        """Yield the texts of each script that a shell reads, and whether it is a job script."""
        job_texts = set[int]()
        for texts in self.list_job_script_texts():
            job_texts.update(map(id, texts))
            yield texts, True
        for text in self.texts:
            if id(text) not in job_texts and not self.is_path_template(text.template):
                yield [text], False

    def _list_default_texts(self, name: str) -> list[TemplateText]:
        return [t for t in self.texts if t.template.name == name and not t.invocation.name]

    def assemble_script(
        self, texts: Sequence[TemplateText], *, has_optional_text: bool = True
    ) -> ShellScript:
        """Join texts; each ends with a line end."""
        script = ShellScript(has_optional_text=has_optional_text)
        for text in texts:
            if text.is_arguments:  # alone they are no command; `:` reads none of them as an option
                script.append_literal(": ", text.body.source, 0)
            self._append_text(script, text)
        return script

    def assemble_static_script(self, text: TemplateText) -> ShellScript:
        """Return a static script, after its arguments as positional parameters."""
        script = ShellScript()
        script.append_literal("set -- ", text.body.source, 0)
        self._append_text(script, text)
        if text.invocation.static_script is not None:
            body = text.invocation.static_script.body
            script.append_literal(body.text + "\n", body, 0)
        return script

    def _append_text(self, script: ShellScript, text: TemplateText) -> None:
        source, offset = text.body.source, 0
        for segment in text.body.segments:
            if isinstance(segment, str):
                script.append_literal(segment, source, offset)
                offset += len(segment)
            else:
                self._append_replacement(script, text, segment)
                offset = segment.end
        script.append_literal("\n", source, offset)

    def _append_replacement(self, script: ShellScript, text: TemplateText, replacement: Replacement) -> None:
        if (replacement.name, replacement.pattern) == (field_rules.JOB_SCRIPT_END, None):
            # It stands for itself: the lexer needs one text for the delimiter and for the line that ends the text.
            script.append_literal(f"<{replacement.name}>", text.body.source, replacement.start)
            return
        fixed_text = self._get_fixed_text(text, replacement)
        if fixed_text is None:
            self._append_variable_text(script, text, replacement)
            return
        declared = self.profile.find_field(text.template, replacement.name)
        value = declared.find_child("Value") if declared is not None else None
        if value is not None and value.text == fixed_text:
            script.append_fixed_value(value.source_text)
            return
        script.append_text_at(fixed_text, text.body.source, replacement.start)

    def _append_variable_text(
        self, script: ShellScript, text: TemplateText, replacement: Replacement
    ) -> None:
        """Add the placeholder of a value, with the text that TO puts around it if there is a value."""
        around = ["", ""] if replacement.pattern is None else _split_conditional_text(replacement)
        if around is None or not script.has_optional_text:
            script.append_placeholder(Placeholder(text, replacement))
            return
        value, quote = replacement._replace(pattern=None, replacement=None), ""
        declared = self.find_field(text, value.name)
        if field_rules.is_quoted_form(value.name) and declared is not None and declared.name != value.name:
            pattern, target = field_rules.QUOTE_ESCAPE
            value, quote = Replacement(declared.name, pattern, target, value.start, value.end), "'"
        place = text.body.source, replacement.start
        script.append_text_at(around[0], *place)
        for literal in around[1:]:
            script.append_text_at(quote, *place)
            script.append_placeholder(Placeholder(text, value))
            script.append_text_at(quote + literal, *place)

    def _get_fixed_text(self, text: TemplateText, replacement: Replacement) -> str | None:
        """Return the fixed text of a replacement, or None if it may vary."""
        declared = self.profile.find_field(text.template, replacement.name)
        if declared is None or declared.value is None or replacement.name in text.engine_fields:
            return None
        try:
            value = field_rules.apply_tags(declared, declared.value)
            if declared.name != replacement.name:
                value = field_rules.derive_value(declared, replacement.name, value)
            return bodies.compile_replacement(text.body, replacement)(value)
        except (InvalidProfileError, JavaRegexError, ValueRefusedError):
            return None


def is_alone_on_line(text: str, replacement: Replacement) -> bool:
    """Return whether a line of a body's text is one replacement."""
    begins = not replacement.start or text[replacement.start - 1] == "\n"
    return begins and text[replacement.end : replacement.end + 1] in {"", "\n"}


def _split_conditional_text(replacement: Replacement) -> list[str] | None:
    r"""Return the texts around the value in `<X/(?s)^(.+)\z/text $1 text>`; None for any other replacement.

    Only shell text that is complete in itself: no directive, and as many quotes in it as close.
    """
    target = replacement.replacement or ""
    if replacement.pattern not in _WHOLE_VALUE_PATTERNS or target.startswith("#"):
        return None
    texts = [parse_literal_replacement(part) for part in target.split("$1")]
    whole = "".join(part or "" for part in texts)
    if None in texts or whole.count("'") % 2 or whole.count('"') % 2:
        return None
    return [part or "" for part in texts]


def get_replaceable_text(invocation: Invocation) -> SourceText | None:
    """Return the text of an invocation in which fields are replaced."""
    script = invocation.static_script
    return script.arguments if script is not None else invocation.body
