r"""The outline of a profile, for people: its directives, the purposes of its templates, its long shell texts.

A directive is a line of the job script that the batch system reads. A template with directives declares
how they begin, in the field DIRECTIVE_PREFIX; they are in the lines before its first command.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Final, Literal, final

from osprofile.errors import OSProfileError
from osprofile.incarnation.body import compile_replacement, parse_body
from osprofile.incarnation.field_rules import apply_tags, derive_value, get_derived_base
from osprofile.incarnation.plan import BIN_TEMPLATE, JOB_SCRIPT_PARTS
from osprofile.late import NamedTuple, compile_late
from osprofile.source import SourceText

if TYPE_CHECKING:
    from collections.abc import Iterator

    from osprofile.incarnation.body import Replacement, TemplateBody
    from osprofile.profile.model import Profile, Template
    from osprofile.source import Location

Purpose = Literal["jobs", "files", "the machine", "other purposes"]

MAX_SHORT_LINES: Final = 3
"""A value with more lines is shell: it is folded to one line."""

_UNLESS_EMPTY: Final = r"(?s)^(.+)\z"
_IF_EMPTY: Final = r"^\z"
_GROUP_OR_ESCAPE: Final = compile_late(r"\$1|\\(.)")
_JOB_TEMPLATES: Final = frozenset(
    {
        "START", "FIND_JOB", "GET_JOB_STATUS", "USAGE", "HOLD", "RESUME", "SIGNAL", "ABORT", "EVENTS", "TASK_ID",
        "SUBMIT", "FIND", "JOB", "JOB_CONTAINER", "JOB_PARALLEL", "JOB_NAMES", "JOB_SIGNAL", "JOB_STAGING",
        "JOB_ARRAY", "JOB_WAITING", "COMMANDS", "CHANGE_JOB",
        *filter(None, JOB_SCRIPT_PARTS),
    }
)  # fmt: skip
_PURPOSES: Final[dict[str, Purpose]] = {
    **dict.fromkeys(_JOB_TEMPLATES, "jobs"),
    **dict.fromkeys(("LIST", "DELETE"), "files"),
    **dict.fromkeys(("LIST_NODES", "LIST_QUEUES", "QSTAT", BIN_TEMPLATE, "SHELL"), "the machine"),
}


@final
class Directive(NamedTuple):
    """A line of directives: in `text`, `<QUEUE>` is the field's value, and without one the line is empty.

    A value that the profile fixes is in `text` itself.
    """

    text: str
    location: Location


def list_directives(profile: Profile) -> Iterator[Directive]:
    """Return the directives of all templates."""
    return (directive for t in profile.templates.values() for directive in list_own_directives(profile, t))


def list_own_directives(profile: Profile, template: Template) -> Iterator[Directive]:
    """Return the directives of a template; none if it does not declare how they begin."""
    prefix, invocation = template.directive_prefix, template.invocations.get("")
    if not prefix or invocation is None or invocation.body is None:
        return
    lines = _fill_lines(profile, template, invocation.body)
    for directive in takewhile(lambda line: _is_before_commands(line.text), lines):
        if directive.text.startswith((prefix, "<")):  # such a value may become any directives
            yield directive


def _fill_lines(profile: Profile, template: Template, body: SourceText) -> Iterator[Directive]:
    """Yield the lines of a body up to its first command, with the values that the profile fixes."""
    offset = 0
    for line in takewhile(_is_before_commands, body.text.split("\n")):
        parsed = parse_body(SourceText(line, body.source, ()))
        alone = parsed.segments[0] if len(parsed.segments) == 1 else ""
        field = None
        if not isinstance(alone, str) and alone.pattern is None:
            field = profile.find_field(template, alone.name)
        source = field.value_source if field is not None and not field.tags else None
        if source is not None:
            start, condition = (
                0,
                f" (when {field.when} has a value)" if field is not None and field.when else "",
            )
            for text in source.text.split("\n"):
                yield Directive(text + condition, source.get_location(start))
                start += len(text) + 1
        else:
            segments = [
                s if isinstance(s, str) else _fill_replacement(profile, template, parsed, s)
                for s in parsed.segments
            ]
            yield Directive("".join(segments), body.get_location(offset))
        offset += len(line) + 1


def is_directive(template: Template, line: str) -> bool:
    """Return whether a line that a template made is a directive."""
    return bool(template.directive_prefix) and line.startswith(template.directive_prefix)


def group_templates(profile: Profile) -> dict[Purpose, list[Template]]:
    """Return the templates by purpose, in the order of the profile."""
    groups: dict[Purpose, list[Template]] = {"jobs": [], "files": [], "the machine": [], "other purposes": []}
    purposes = dict(_PURPOSES)
    purposes |= dict.fromkeys((a.template for a in profile.applications.values()), "jobs")
    purposes |= dict.fromkeys((s.template for s in profile.storages.values()), "files")
    for template in profile.templates.values():
        groups[purposes.get(template.name, "other purposes")].append(template)
    return {purpose: templates for purpose, templates in groups.items() if templates}


def count_lines(text: str) -> int:
    """Return the number of lines of a text; a line end at its end begins no further one."""
    return text.count("\n") + (text[-1:] not in {"", "\n"})


def is_shell(value: str | None) -> bool:
    """Return whether a field's value is so long that it is folded to one line."""
    return value is not None and count_lines(value) > MAX_SHORT_LINES


def _is_before_commands(line: str) -> bool:
    return not line or line.startswith(("#", "<"))


def _fill_replacement(
    profile: Profile, template: Template, body: TemplateBody, replacement: Replacement
) -> str:
    """Return the value of a replacement if the profile fixes it, else a text for people."""
    name = replacement.name
    field = profile.find_field(template, name) or profile.find_field(template, get_derived_base(name) or "")
    if field is not None and field.value is not None and field.when is None:
        try:
            value = apply_tags(field, field.value)
            value = value if field.name == name else derive_value(field, name, value)
            return compile_replacement(body, replacement)(value)
        except OSProfileError:
            pass  # `lint` reports it
    return _format_replacement(replacement, body.source.text)


def _format_replacement(replacement: Replacement, line: str) -> str:
    """Return a replacement as people read it, if it is of a form that the profiles use for directives."""
    name, result = f"<{replacement.name}>", replacement.replacement or ""
    if replacement.pattern is None:
        return name
    if replacement.pattern == _UNLESS_EMPTY:
        return _GROUP_OR_ESCAPE.sub(lambda match: match[1] or name, result)
    if replacement.pattern == _IF_EMPTY and not {"$", "\\"} & {*result}:
        return f"<{replacement.name} or {result}>"
    return line[replacement.start : replacement.end]
