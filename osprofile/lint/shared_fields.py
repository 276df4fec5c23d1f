"""Rules for the fields of templates that form one script: the parts of the job script, and BIN.

See docs/language-jobs.md, "Applications and the job script".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from osprofile.incarnation import field_rules
from osprofile.incarnation.plan import (
    BIN_TEMPLATE,
    DEFAULT_APPLICATION,
    JOB_SCRIPT_PARTS,
    PROGRAM_VARIATION,
    merge_declaration,
)
from osprofile.lint.rules import make_problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from osprofile.errors import Problem
    from osprofile.lint.profile_view import ProfileView
    from osprofile.profile.model import Field, Template

START = "START"


def check_shared_fields(view: ProfileView) -> Iterator[Problem]:
    """Check the fields of templates that form one script."""
    for group in _group_templates(view):
        yield from _check_differences(view, group)
    yield from _check_defaults(view)


def _group_templates(view: ProfileView) -> Iterator[list[Template]]:
    """Yield the templates of each script; a static script needs BIN, too."""
    templates = view.profile.templates
    applications = view.profile.applications.values()
    for name in dict.fromkeys(a.template for a in applications) or {"": None}:
        names = dict.fromkeys([START, *(part or name for part in JOB_SCRIPT_PARTS)])
        yield _append_bin(view, [templates[n] for n in names if n in templates])
    for template in templates.values():
        if template.name not in {START, BIN_TEMPLATE}:
            yield _append_bin(view, [template])


def _append_bin(view: ProfileView, group: list[Template]) -> list[Template]:
    bin_template = view.profile.templates.get(BIN_TEMPLATE)
    # A program's path has none of BIN's fields but FILE_NAME, which the engine supplies.
    has_static_script = any(
        i.static_script for t in group for n, i in t.invocations.items() if n != PROGRAM_VARIATION
    )
    return [*group, bin_template] if has_static_script and bin_template is not None else group


def _check_differences(view: ProfileView, group: list[Template]) -> Iterator[Problem]:
    declarations = dict[str, tuple["Field", "Template"]]()
    for template in group:
        for field in _list_fields(view, template, group):
            problem = merge_declaration(declarations, field, template)
            if problem is not None:
                yield problem


def _list_fields(view: ProfileView, template: Template, group: list[Template]) -> Iterator[Field]:
    """Yield the fields that a template declares, and the global fields that it uses.

    Of those that only decide about others (`ext:when`), a declaration in the group has priority.
    """
    yield from template.fields.values()
    used_names = [field.name for field in _list_used_fields(view, template)]
    linked_names = {n for name in used_names for n in view.profile.list_linked_names(template, name)}
    linked_names -= {name for t in group for name in t.fields}
    for name in dict.fromkeys([*used_names, *sorted(linked_names)]):
        if name in view.profile.global_fields and name not in template.fields:
            yield view.profile.global_fields[name]


def _list_used_fields(view: ProfileView, template: Template) -> list[Field]:
    fields = (
        view.find_field(text, replacement.name)
        for text in view.list_template_texts(template)
        for replacement in text.body.replacements
        if replacement.name not in text.engine_fields
    )
    return list({field.name: field for field in fields if field is not None}.values())


def _check_defaults(view: ProfileView) -> Iterator[Problem]:
    """Find settable fields that START needs and that have no Default."""
    default_templates = (
        a.template for a in view.profile.applications.values() if a.application_name == DEFAULT_APPLICATION
    )
    names = dict.fromkeys([START, *filter(None, JOB_SCRIPT_PARTS), *default_templates])
    templates = [view.profile.templates[n] for n in names if n in view.profile.templates]
    used_names = {field.name for template in templates for field in _list_used_fields(view, template)}
    declarations = dict[str, tuple["Field", "Template"]]()
    for template in templates:
        for field in _list_fields(view, template, templates):
            # `_check_differences` reports what it returns.
            merge_declaration(declarations, field, template)
    for field, _template in (declarations[name] for name in declarations if name in used_names):
        has_value = field.default is not None or field.value is not None
        if has_value or not field.settable or field_rules.is_special_field(field.name):
            continue
        message = f"START needs settable field {field.name}, which has no Default"
        hint = "give it a <Default> (it may be empty), so that START alone makes a script; if each job must give it, waive this"
        yield make_problem("OSP313", message, field.location, hint)
