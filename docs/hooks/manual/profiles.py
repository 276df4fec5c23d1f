"""A page for each bundled profile: every field, template, application and state word."""

from __future__ import annotations

import re
from os import path
from typing import TYPE_CHECKING, NamedTuple, final

from manual.markdown import block, code, folded, indented, table, text
from osprofile.incarnation.fields import derived_base, is_special, range_text
from osprofile.incarnation.plan import plan_of
from osprofile.language import body as bodies
from osprofile.profile.data import bundled_profiles_directory
from osprofile.profile.repository import Repository

if TYPE_CHECKING:
    from collections.abc import Iterator

    from osprofile.profile.model import Field, Invocation, Profile, Template
    from osprofile.source import Place

ROOT = bundled_profiles_directory()
STATES = {
    "STATE": "States of jobs",
    "NODE_STATE": "States of nodes",
    "QUEUE_STATE": "States of queues",
}
START = "START"


def names() -> list[str]:
    """Give the names of the bundled profiles: `linux`, which the others extend, first."""
    found = [n for n in Repository([ROOT]).names() if path.isdir(path.join(ROOT, n))]
    return sorted(found, key=lambda name: (name != "linux", name))


def load(name: str) -> Profile:
    """Give a bundled profile."""
    return Repository([ROOT]).load(name)


def profile_page(name: str) -> str:
    """Give the page of a bundled profile: its README, then what it says, item by item."""
    with open(path.join(ROOT, name, "README.md"), encoding="utf-8") as file:
        readme = re.sub(r"\]\(\.\./(\w+)/README\.md", r"](\1.md", file.read())
    return f"{readme}\n{items(load(name))}"


def items(profile: Profile) -> str:
    """Give all that a resolved profile says."""
    return _Page(profile).markdown()


@final
class Declared(NamedTuple):
    """A field, and the template that declares it; None for a global one."""

    field: Field
    template: Template | None


def declared(profile: Profile) -> list[Declared]:
    """Give all fields of a resolved profile, the global ones first."""
    found = [Declared(field, None) for field in profile.global_fields.values()]
    for template in profile.templates.values():
        found += [Declared(field, template) for field in template.fields.values()]
    return found


def scripts_of(profile: Profile, one: Declared) -> list[str]:
    """Give the scripts that a field's value enters: a template's name, with the variation's."""
    return [
        f"{template.name}/{invocation.name}" if invocation.name else template.name
        for template in profile.templates.values()
        for invocation in template.invocations.values()
        if profile.field(template, one.field.name) is one.field
        and one.field.name in _used(profile, template, invocation)
    ]


def _used(profile: Profile, template: Template, invocation: Invocation) -> set[str]:
    script = invocation.static_script
    sources = [invocation.body] if script is None else [script.arguments]
    used = {r.name for s in sources if s is not None for r in bodies.parse(s).replacements}
    # <X:HMS> is made from X, unless there is a field of that very name.
    bases = {n: derived_base(n) for n in used if profile.field(template, n) is None}
    return used | {base for base in bases.values() if base}


@final
class _Page:
    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        plan = plan_of(profile, START, "", None)
        self.job = [f for name, f in sorted(plan.declared.items()) if name in plan.settable]

    def markdown(self) -> str:
        return "\n".join([self._head(), *self._fields(), *self._templates(), *self._rest()])

    def _head(self) -> str:
        chain = " extends ".join(d.name for d in self.profile.documents)
        return f"## In full\n\n{text(chain)}. UspaceRoot is {code(self.profile.uspace_root)}.\n"

    # Fields

    def _fields(self) -> Iterator[str]:
        yield "## What a request for a job may set\n"
        for field in self.job:
            yield self._field(
                next(d for d in declared(self.profile) if d.field.element is field.element)
            )
        rest = [
            d
            for d in declared(self.profile)
            if not any(d.field.element is f.element for f in self.job)
        ]
        yield "## The fields that all templates share\n"
        yield self._others([one for one in rest if one.template is None])

    def _field(self, one: Declared) -> str:
        title = f"### {code(one.field.name)} {{ #field-{one.field.name.lower()} }}"
        facts = "\n".join(f"- {name}: {value}" for name, value in self._facts(one))
        return f"{title}\n\n{text(one.field.description)}\n\n{facts}\n"

    def _facts(self, one: Declared) -> Iterator[tuple[str, str]]:
        field = one.field
        enters = scripts_of(self.profile, one)
        pattern = "" if field.pattern_text is None else code(field.pattern_text)
        facts = [
            (*_value(field),),
            ("type", field.type or ""),
            ("limits", range_text(field)),
            ("pattern", pattern),
            ("tags", "" if _maps(field) else _tags(field)),
            ("enters", ", ".join(map(code, enters)) or "no script; the engine reads it"),
            ("stands in", _place(field.place)),
        ]
        yield from (fact for fact in facts if fact[1])

    def _others(self, fields: list[Declared]) -> str:
        """Give fields as a list; a value of several lines is a text of its own behind it."""
        return "\n".join(map(self._other, fields)) or "None.\n"

    def _other(self, one: Declared) -> str:
        field = one.field
        facts = "; ".join(f"{name}: {value}" for name, value in self._facts(one))
        described = f"{text(field.description)}\n\n    " if field.description else ""
        item = f"{code(field.name)}\n:   {described}{facts}\n"
        if field.value is None or "\n" not in field.value:
            return item
        return f"{item}\n{indented(folded(field.name, block(field.value, 'sh')))}"

    # Templates

    def _templates(self) -> Iterator[str]:
        yield "## Templates\n"
        for template in self.profile.templates.values():
            yield f"### {template.name} {{ #template-{template.name.lower()} }}\n"
            yield f"{text(template.description)}\n"
            yield self._origin(template)
            shown = [i for i in template.invocations.values() if i.name or i.description]
            rows = [
                (code(i.name) if i.name else "the default one", text(i.description)) for i in shown
            ]
            yield table(["variation", ""], rows)
            yield self._own_fields(template)
            for invocation in template.invocations.values():
                yield _text_of(template, invocation)

    def _origin(self, template: Template) -> str:
        above = [_place(entity.place) for entity in self.profile.overridden(template)]
        instead = f", in the place of {', '.join(above)}" if above else ""
        return f"Stands in {_place(template.place)}{instead}.\n"

    def _own_fields(self, template: Template) -> str:
        own = [d for d in declared(self.profile) if d.template is template]
        return self._others(own) if own else ""

    # Applications, storages, states

    def _rest(self) -> Iterator[str]:
        yield "## Applications\n"
        yield table(
            ["application", "version", "meaning", "template", "stands in"],
            [
                (
                    code(a.application_name),
                    text(a.application_version),
                    text(a.description),
                    f"[{text(a.template)}](#template-{a.template.lower()})",
                    _place(a.place),
                )
                for a in self.profile.applications.values()
            ],
        )
        if self.profile.storages:
            rows = [(code(s.name), code(s.template)) for s in self.profile.storages.values()]
            yield "## Storages\n"
            yield table(["storage", "template"], rows)
        for one in declared(self.profile):
            if one.template and _maps(one.field):
                yield f"## {STATES[one.field.name]}\n"
                yield f"What a word of the system means, by {code(one.field.name)} of {one.template.name}.\n"
                yield table(
                    ["word", "state"], [(code(t.name), code(t.value)) for t in one.field.tags]
                )


def _maps(field: Field) -> bool:
    """Say whether a field's tags tell what the system's words mean."""
    return field.name in STATES and not field.settable


def _value(field: Field) -> tuple[str, str]:
    if field.value is not None:
        return "fixed value", "below" if "\n" in field.value else code(field.value)
    if is_special(field.name):
        return "value", "from the engine"
    if field.default is None:
        return "value", "the states below" if _maps(field) else "must be given"
    return "default", code(field.default) if field.default else "empty"


def _tags(field: Field) -> str:
    return ", ".join(f"{code(tag.name)} is {code(tag.value)}" for tag in field.tags)


def _place(place: Place) -> str:
    return f"{text(path.relpath(place.file, ROOT))}:{place.line}"


def _text_of(template: Template, invocation: Invocation) -> str:
    script = invocation.static_script
    title = f"{template.name} {invocation.name}".strip()
    if script is not None:
        return folded(f"{title}: static script {script.file_name}", block(script.body.text, "sh"))
    return folded(title, block(invocation.body.text if invocation.body else "", "sh"))
