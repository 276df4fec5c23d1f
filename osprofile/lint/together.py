"""What is wrong between templates that are used together: those of START (design: "Values")."""

from __future__ import annotations

from typing import TYPE_CHECKING

from osprofile.incarnation import fields as engine
from osprofile.incarnation.plan import BIN, DEFAULT_APPLICATION, START_PARTS
from osprofile.lint.rules import problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from osprofile.errors import Problem
    from osprofile.lint.script import View
    from osprofile.profile.model import Field, Template

START = "START"


def together(view: View) -> Iterator[Problem]:
    """Judge the fields of templates that make one script."""
    for group in _groups(view):
        yield from _differences(view, group)
    yield from _without_default(view)


def _groups(view: View) -> Iterator[list[Template]]:
    """Give the templates that are used together; one whose script is static also needs BIN."""
    templates = view.profile.templates
    applications = view.profile.applications.values()
    for name in dict.fromkeys(a.template for a in applications) or {"": None}:
        names = dict.fromkeys([START, *(part or name for part in START_PARTS)])
        yield _with_bin(view, [templates[n] for n in names if n in templates])
    for template in templates.values():
        if template.name not in {START, BIN}:
            yield _with_bin(view, [template])


def _with_bin(view: View, group: list[Template]) -> list[Template]:
    bin_template = view.profile.templates.get(BIN)
    static = any(i.static_script for t in group for i in t.invocations.values())
    return [*group, bin_template] if static and bin_template is not None else group


def _differences(view: View, group: list[Template]) -> Iterator[Problem]:
    first = dict[str, tuple["Field", "Template"]]()
    for template in group:
        for field in _fields(view, template):
            before, where = first.setdefault(field.name, (field, template))
            if before is field:
                continue
            joined = before.narrowed(field)
            if joined is not None:
                first[field.name] = (joined, where)
                continue
            own = field if field.name in template.fields else before
            message = f"field {field.name} is declared differently in templates {where.name} and "
            message += f"{template.name}, which are used together"
            other = before if own is field else field
            hint = f"the other declaration stands at {other.place}; only limits and type "
            hint += "may differ, of which the strictest count"
            yield problem("OSP304", message, own.element.attribute_place("name"), hint)


def _fields(view: View, template: Template) -> Iterator[Field]:
    """Give the fields that a template declares, and the global ones that it uses."""
    yield from template.fields.values()
    for field in _used(view, template):
        if field.name not in template.fields:
            yield field


def _used(view: View, template: Template) -> list[Field]:
    found = (
        view.field(text, replacement.name)
        for text in view.of(template)
        for replacement in text.body.replacements
        if replacement.name not in text.engine_fields
    )
    return list({field.name: field for field in found if field is not None}.values())


def _without_default(view: View) -> Iterator[Problem]:
    """Find settable fields that START needs and that have no Default."""
    default = (
        a.template
        for a in view.profile.applications.values()
        if a.application_name == DEFAULT_APPLICATION
    )
    names = dict.fromkeys([START, *filter(None, START_PARTS), *default])
    templates = [view.profile.templates[n] for n in names if n in view.profile.templates]
    used = {field.name for template in templates for field in _used(view, template)}
    fields = dict[str, "Field"]()
    for field in (field for template in templates for field in _fields(view, template)):
        before = fields.setdefault(field.name, field)
        fields[field.name] = before.narrowed(field) or before  # else it is OSP304
    for field in (fields[name] for name in fields if name in used):
        given = field.default is not None or field.value is not None
        if given or not field.settable or engine.is_special(field.name):
            continue
        message = f"START needs settable field {field.name}, which has no Default"
        hint = "give it a <Default> (it may be empty), so that START alone makes a script"
        yield problem("OSP313", message, field.place, hint)
