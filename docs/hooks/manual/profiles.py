"""The page of each bundled profile: all fields, templates, applications and states."""

from __future__ import annotations

import re
from os import path
from typing import TYPE_CHECKING, NamedTuple, final

from manual.markdown import (
    escape_text,
    format_block,
    format_code,
    format_details,
    format_table,
    indent_content,
)
from osprofile.incarnation import body as bodies
from osprofile.incarnation.field_rules import format_range, get_derived_base, is_special_field
from osprofile.incarnation.plan import get_plan
from osprofile.profile.data_directories import get_bundled_directory
from osprofile.profile.repository import Repository

if TYPE_CHECKING:
    from collections.abc import Iterator

    from osprofile.profile.model import Field, Invocation, Profile, Template
    from osprofile.source import Location

PROFILES_ROOT = get_bundled_directory()
STATE_TITLES = {"STATE": "States of jobs", "NODE_STATE": "States of nodes", "QUEUE_STATE": "States of queues"}
START = "START"


def list_profiles() -> list[str]:
    """Return the names of the bundled profiles; first `linux`, which the others extend."""
    names = [n for n in Repository([PROFILES_ROOT]).list_names() if path.isdir(path.join(PROFILES_ROOT, n))]
    return sorted(names, key=lambda name: (name != "linux", name))


def load_profile(name: str) -> Profile:
    """Return a bundled profile."""
    return Repository([PROFILES_ROOT]).load(name)


def format_profile_page(name: str) -> str:
    """Return the page of a bundled profile: its README, then all its items."""
    with open(path.join(PROFILES_ROOT, name, "README.md"), encoding="utf-8") as file:
        readme = re.sub(r"\]\(\.\./(\w+)/README\.md", r"](\1.md", file.read())
    readme = readme.replace("](../../docs/", "](../")
    return f"{readme}\n{format_profile(load_profile(name))}"


def format_profile(profile: Profile) -> str:
    """Return all items of a resolved profile."""
    return _ProfilePage(profile).format_page()


@final
class DeclaredField(NamedTuple):
    """A field and the template that declares it, which is None for a global field."""

    field: Field
    template: Template | None


def list_fields(profile: Profile) -> list[DeclaredField]:
    """Return all fields of a resolved profile, global fields first."""
    fields = [DeclaredField(field, None) for field in profile.global_fields.values()]
    for template in profile.templates.values():
        fields += [DeclaredField(field, template) for field in template.fields.values()]
    return fields


def list_scripts(profile: Profile, entry: DeclaredField) -> list[str]:
    """Return the scripts that use a field, as TEMPLATE or TEMPLATE/VARIATION."""
    return [
        f"{template.name}/{invocation.name}" if invocation.name else template.name
        for template in profile.templates.values()
        for invocation in template.invocations.values()
        if profile.find_field(template, entry.field.name) is entry.field
        and entry.field.name in _list_used_names(profile, template, invocation)
    ]


def _list_used_names(profile: Profile, template: Template, invocation: Invocation) -> set[str]:
    script = invocation.static_script
    sources = [invocation.body] if script is None else [script.arguments]
    used = {r.name for s in sources if s is not None for r in bodies.parse_body(s).replacements}
    # <X:HMS> is derived from X, unless there is a field with the name X:HMS.
    bases = {n: get_derived_base(n) for n in used if profile.find_field(template, n) is None}
    return used | {base for base in bases.values() if base}


@final
class _ProfilePage:
    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        plan = get_plan(profile, START, "", None)
        self.job_fields = [f for name, f in sorted(plan.declarations.items()) if name in plan.settable]

    def format_page(self) -> str:
        return "\n".join(
            [
                self._format_head(),
                *self._format_job_fields(),
                *self._format_templates(),
                *self._format_other_items(),
            ]
        )

    def _format_head(self) -> str:
        chain = " extends ".join(d.name for d in self.profile.documents)
        return (
            f"## Reference\n\n{escape_text(chain)}. UspaceRoot is {format_code(self.profile.uspace_root)}.\n"
        )

    # Fields

    def _format_job_fields(self) -> Iterator[str]:
        yield "## Fields that a job request may set\n"
        for field in self.job_fields:
            yield self._format_field(
                next(d for d in list_fields(self.profile) if d.field.element is field.element)
            )
        rest = [
            d
            for d in list_fields(self.profile)
            if not any(d.field.element is f.element for f in self.job_fields)
        ]
        yield "## Fields shared by all templates\n"
        yield self._format_field_list([entry for entry in rest if entry.template is None])

    def _format_field(self, entry: DeclaredField) -> str:
        title = f"### {format_code(entry.field.name)} {{ #field-{entry.field.name.lower()} }}"
        facts = "\n".join(f"- {name}: {value}" for name, value in self._list_facts(entry))
        return f"{title}\n\n{escape_text(entry.field.description)}\n\n{facts}\n"

    def _list_facts(self, entry: DeclaredField) -> Iterator[tuple[str, str]]:
        field = entry.field
        scripts = list_scripts(self.profile, entry)
        pattern = "" if field.pattern_text is None else format_code(field.pattern_text)
        facts = [
            (*_format_value(field),),
            ("type", field.type or ""),
            ("limits", format_range(field)),
            ("pattern", pattern),
            ("tags", "" if _maps_states(field) else _format_tags(field)),
            ("used in", ", ".join(map(format_code, scripts)) or "no script; the engine reads it"),
            ("defined in", _format_location(field.location)),
        ]
        yield from (fact for fact in facts if fact[1])

    def _format_field_list(self, fields: list[DeclaredField]) -> str:
        """Return a list of fields; a value of several lines follows as a block."""
        return "\n".join(map(self._format_field_item, fields)) or "None.\n"

    def _format_field_item(self, entry: DeclaredField) -> str:
        field = entry.field
        facts = "; ".join(f"{name}: {value}" for name, value in self._list_facts(entry))
        description = f"{escape_text(field.description)}\n\n    " if field.description else ""
        item = f"{format_code(field.name)}\n:   {description}{facts}\n"
        if field.value is None or "\n" not in field.value:
            return item
        return f"{item}\n{indent_content(format_details(field.name, format_block(field.value, 'sh')))}"

    # Templates

    def _format_templates(self) -> Iterator[str]:
        yield "## Templates\n"
        for template in self.profile.templates.values():
            yield f"### {template.name} {{ #template-{template.name.lower()} }}\n"
            yield f"{escape_text(template.description)}\n"
            yield self._format_origin(template)
            shown = [i for i in template.invocations.values() if i.name or i.description]
            rows = [(format_code(i.name) if i.name else "default", escape_text(i.description)) for i in shown]
            yield format_table(["variation", ""], rows)
            yield self._format_own_fields(template)
            for invocation in template.invocations.values():
                yield _format_script(template, invocation)

    def _format_origin(self, template: Template) -> str:
        overridden = [_format_location(entity.location) for entity in self.profile.list_overridden(template)]
        suffix = f"; overrides {', '.join(overridden)}" if overridden else ""
        return f"Defined in {_format_location(template.location)}{suffix}.\n"

    def _format_own_fields(self, template: Template) -> str:
        own = [d for d in list_fields(self.profile) if d.template is template]
        return self._format_field_list(own) if own else ""

    # Applications, storages, states

    def _format_other_items(self) -> Iterator[str]:
        yield "## Applications\n"
        yield format_table(
            ["application", "version", "description", "template", "defined in"],
            [
                (
                    format_code(a.application_name),
                    escape_text(a.application_version),
                    escape_text(a.description),
                    f"[{escape_text(a.template)}](#template-{a.template.lower()})",
                    _format_location(a.location),
                )
                for a in self.profile.applications.values()
            ],
        )
        if self.profile.storages:
            rows = [(format_code(s.name), format_code(s.template)) for s in self.profile.storages.values()]
            yield "## Storages\n"
            yield format_table(["storage", "template"], rows)
        for field, template in list_fields(self.profile):
            if _maps_states(field):
                place = f" in {template.name}" if template else ""
                yield f"## {STATE_TITLES[field.name]}\n"
                yield f"From the tags of {format_code(field.name)}{place}.\n"
                yield format_table(
                    ["in the batch system", "in osprofile"],
                    [(format_code(t.name), format_code(t.value)) for t in field.tags],
                )


def _maps_states(field: Field) -> bool:
    """Return whether a field's tags map the batch system's states to osprofile's."""
    return field.name in STATE_TITLES and not field.settable


def _format_value(field: Field) -> tuple[str, str]:
    if field.value is not None:
        return "fixed value", "below" if "\n" in field.value else format_code(field.value)
    if is_special_field(field.name):
        return "value", "from the engine"
    if field.default is None:
        return "value", "the states below" if _maps_states(field) else "required"
    return "default", format_code(field.default) if field.default else "empty"


def _format_tags(field: Field) -> str:
    return ", ".join(f"{format_code(tag.name)} is {format_code(tag.value)}" for tag in field.tags)


def _format_location(location: Location) -> str:
    return f"{escape_text(path.relpath(location.file, PROFILES_ROOT))}:{location.line}"


def _format_script(template: Template, invocation: Invocation) -> str:
    script = invocation.static_script
    title = f"{template.name} {invocation.name}".strip()
    if script is not None:
        return format_details(
            f"{title}: static script {script.file_name}", format_block(script.body.text, "sh")
        )
    return format_details(title, format_block(invocation.body.text if invocation.body else "", "sh"))
