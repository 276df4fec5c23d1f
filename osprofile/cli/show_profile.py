"""What `incarnate show` prints: a resolved profile, the fields of a template, the profiles there are, the schemas."""

from __future__ import annotations

import textwrap
from os import path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, Final

from osprofile.authoring import editors, outline
from osprofile.authoring.outline import count_lines, is_shell
from osprofile.cli import common
from osprofile.cli.terminal import escape_script_line
from osprofile.errors import OSProfileError
from osprofile.incarnation.body import parse_body
from osprofile.incarnation.cases import format_case
from osprofile.incarnation.field_rules import format_range, get_derived_base
from osprofile.profile import data_directories
from osprofile.profile.model import EXPERIMENTAL
from osprofile.text import escape_unprintable, format_grid

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from osprofile.authoring.outline import Directive
    from osprofile.incarnation.plan import Plan
    from osprofile.profile.model import Application, Field, Profile, Storage, Template
    from osprofile.profile.repository import Repository

_MAX_BODY_LINES: Final = 20
"""Lines of a body that are shown without `--full`."""


def print_profile(profile: Profile, template: str | None, *, full: bool, json: bool) -> None:
    """Print a profile, or one of its templates."""
    shown = None if template is None else profile.get_template(template)
    if json:
        common.print_json(_encode_profile(profile, template))
        return
    lines = (
        _format_profile(profile, full=full) if shown is None else _format_template(profile, shown, full=full)
    )
    common.print_result("\n".join(map(escape_script_line, lines)))


def print_schemas(*, json: bool) -> None:
    """Print the files of the schemas, and the settings with which editors use them."""
    where = data_directories.get_schemas_directory()
    catalog = path.join(where, editors.CATALOG_NAME)
    namespaces = {path.join(where, name): namespace for name, namespace in editors.SCHEMA_NAMESPACES.items()}
    vs_code, emacs = editors.format_vs_code_settings(catalog), editors.format_emacs_settings(catalog)
    if json:
        common.print_json({"catalog": catalog, "schemas": namespaces, "vs_code": vs_code, "emacs": emacs})
        return
    files = "".join(f"{file}  {namespace}\n" for file, namespace in namespaces.items())
    common.print_result(
        f"{files}{catalog}\n\n"
        f"VS Code, with the extension XML by Red Hat, in settings.json:\n\n{vs_code}\n\n"
        f"Emacs, with the package lsp-mode, in its init file:\n\n{emacs}"
    )


def _format_profile(profile: Profile, *, full: bool) -> Iterator[str]:
    """Yield the overview: what a site's administrator and a user look for comes first."""
    for number, document in enumerate(profile.documents):
        relation = "extends" if number else "profile"
        yield f"{relation} {document.name}  {document.location}"
    yield f"UspaceRoot {profile.uspace_root}   Delimiter {profile.delimiter}"
    yield from _format_section("directives", map(_format_directive, outline.list_directives(profile)))
    fields = list(profile.global_fields.values())
    used_names = {f.name for t in profile.templates.values() for f in _list_used_fields(profile, t)}
    settable = [f for f in fields if f.settable and f.name in used_names]
    cases = (f"field {c.name} {format_case(c)}  {c.location}" for c in profile.cases)
    yield from _format_section("limits and defaults for a value of another field", cases)
    fixed = [f for f in fields if not f.settable]
    yield from _format_section("fields that a request may set", _format_fields(settable, full=full))
    yield from _format_section("fields that only a profile sets", _format_fields(fixed, full=full))
    for purpose, templates in outline.group_templates(profile).items():
        heads = (line for t in templates for line in _format_template_head(profile, t, full=full))
        yield from _format_section(f"templates for {purpose}", heads)
    entities: list[Storage | Application] = [*profile.applications.values(), *profile.storages.values()]
    lines = (
        f"{type(e).__name__.lower()} {e.name}  by {e.template}  {e.location}{_format_overrides(profile, e)}"
        for e in entities
    )
    yield from _format_section("applications and storages", lines)


def _format_section(title: str, lines: Iterable[str]) -> Iterator[str]:
    indented = [f"  {line}" for line in lines]
    if indented:
        yield from ("", title, *indented)


def _format_template(profile: Profile, template: Template, *, full: bool) -> Iterator[str]:
    """Yield a template with all that it has; the fields are its own and the global ones in its bodies."""
    yield from _format_template_head(profile, template, full=True)
    fields = [*template.fields.values(), *_list_used_fields(profile, template)]
    fields.sort(key=lambda f: (not f.settable, outline.is_shell(f.value)))
    yield from _format_section("fields", _format_fields(fields, full=full))
    directives = outline.list_own_directives(profile, template)
    yield from _format_section("directives", map(_format_directive, directives))
    for invocation in template.invocations.values():
        script = invocation.static_script
        text = script.body if script else invocation.body
        kind = f"static script {script.file_name}" if script else "body"
        location = text.get_location() if text else invocation.location
        yield ""
        yield f"variation {invocation.name!r}  {kind}  {location}"
        yield from _format_description(invocation.description, full=True)
        if script:
            yield f"  arguments {script.arguments}"
        yield from _format_text(str(text or ""), max_lines=None if full else _MAX_BODY_LINES)


def _list_used_fields(profile: Profile, template: Template) -> Iterator[Field]:
    """Yield the global fields in the bodies of a template, each once."""
    texts = [i.static_script.arguments if i.static_script else i.body for i in template.invocations.values()]
    names = dict.fromkeys(r.name for text in texts if text for r in parse_body(text).replacements)
    declared = (n if n in profile.global_fields else get_derived_base(n) for n in names)
    for name in dict.fromkeys(n for d in declared if d for n in (d, *profile.list_linked_names(template, d))):
        if name in profile.global_fields and name not in template.fields:
            yield profile.global_fields[name]


def _format_text(text: str, *, max_lines: int | None) -> Iterator[str]:
    """Yield the lines of a text; of a longer one the first `max_lines`, and how many more there are."""
    lines = text.removesuffix("\n").split("\n")
    shown = lines if max_lines is None or len(lines) <= max_lines + 1 else lines[:max_lines]
    yield from (f"    | {line}" for line in shown)
    if len(shown) < len(lines):
        yield f"    ... {len(lines) - len(shown)} more lines (--full shows them)"


def _format_template_head(profile: Profile, template: Template, *, full: bool) -> Iterator[str]:
    names = ", ".join(filter(None, template.invocations))
    variations = f"  variations {names}" if names else ""
    yield f"template {template.name}  {template.location}{_format_overrides(profile, template)}{variations}"
    yield from _format_description(template.description, full=full)


def _format_description(text: str, *, full: bool) -> Iterator[str]:
    """Yield a description, or its first sentence."""
    first, separator, _ = text.partition(". ")
    if text:
        yield f"    {text if full else first + separator.strip()}"


def _format_directive(directive: Directive) -> str:
    return f"{directive.text}  {directive.location}"


def _format_fields(fields: Iterable[Field], *, full: bool) -> Iterator[str]:
    for field in fields:
        yield _format_field(field)
        yield from _format_description(field.description, full=full)
        if field.value and "\n" in field.value:
            is_folded = is_shell(field.value) and not full
            yield from _format_text(field.value, max_lines=1 if is_folded else None)


def _format_field(field: Field) -> str:
    location = field.location
    value = "" if field.default is None else f" default {field.default!r}"
    if field.value is not None and "\n" in field.value:
        value, location = f": {count_lines(field.value)} lines", field.locate_child("Value")
    elif field.value is not None:
        value = f" = {field.value!r}"
    settable = "" if field.settable else " (not settable)"
    limits = f", {format_range(field)}" if format_range(field) else ""
    pattern = f", pattern {field.pattern_text}" if field.pattern_text is not None else ""
    tags = f", tags {common.format_tag_names(field)}" if field.tags else ""
    links = f", when {field.when} has a value" if field.when else ""
    links += f", requires {field.requires}" if field.requires else ""
    return f"field {field.name}{settable}{value}{limits}{pattern}{tags}{links}  {location}"


def _format_overrides(profile: Profile, entity: Template | Storage | Application) -> str:
    locations = [str(e.location) for e in profile.list_overridden(entity)]
    return f"  overrides {', '.join(locations)}" if locations else ""


def _encode_profile(profile: Profile, template_name: str | None) -> dict[str, Any]:
    def encode_entity(e: Template | Storage | Application) -> dict[str, Any]:
        overrides = [str(o.location) for o in profile.list_overridden(e)]
        return {"name": e.name, "place": str(e.location), "overrides": overrides}

    templates = [t for t in profile.templates.values() if template_name in {None, t.name}]
    encoded = [
        {
            **encode_entity(t),
            "description": t.description,
            "variations": {i.name: str(i.location) for i in t.invocations.values()},
            "fields": {f.name: str(f.location) for f in t.fields.values()},
        }
        for t in templates
    ]
    if template_name is not None:
        return encoded[0]
    return {
        "name": profile.name,
        "chain": [{"name": d.name, "place": str(d.location)} for d in profile.documents],
        "uspace_root": profile.uspace_root,
        "delimiter": profile.delimiter,
        "cases": [
            {"field": c.name, "for": str(c.selection), "place": str(c.location)} for c in profile.cases
        ],
        "global_fields": {f.name: str(f.location) for f in profile.global_fields.values()},
        "templates": encoded,
        "storages": [{**encode_entity(s), "template": s.template} for s in profile.storages.values()],
        "applications": [
            {
                **encode_entity(a),
                "application_name": a.application_name,
                "application_version": a.application_version,
                "description": a.description,
                "template": a.template,
            }
            for a in profile.applications.values()
        ],
    }


# The fields of a template


def print_fields(plan: Plan, *, include_fixed: bool, json: bool) -> None:
    """Print the fields that a request may set, or all fields of a plan, with the values that they allow."""
    shown = [f for name, f in sorted(plan.declarations.items()) if include_fixed or name in plan.settable]
    if json:
        common.print_json([_encode_request_field(plan, f) for f in shown])
    else:
        common.print_result(_wrap_fields([_format_request_field(plan, f) for f in shown]))


def _encode_request_field(plan: Plan, field: Field) -> dict[str, Any]:
    return {
        "name": field.name,
        "settable": field.name in plan.settable,
        "description": field.description,
        "default": field.default,
        "value": field.value,
        "required": field.name in plan.required,
        "minimum": field.minimum,
        "maximum": field.maximum,
        "type": field.type,
        "pattern": field.pattern_text,
        "when": field.when,
        "requires": field.requires,
        "tags": {tag.name: tag.value for tag in field.tags},
        "cases": [_encode_case(case) for case in plan.cases if case.name == field.name],
        "place": str(field.location),
    }


def _encode_case(case: Field) -> dict[str, Any]:
    selection = case.selection
    return {
        "field": selection and selection.field,
        "value": selection and selection.value,
        "default": case.default,
        "minimum": case.minimum,
        "maximum": case.maximum,
        "pattern": case.pattern_text,
        "place": str(case.location),
    }


def _format_request_field(plan: Plan, field: Field) -> tuple[str, str, str]:
    if field.value is not None:
        value = f"= {field.value!r} (fixed{f', when {field.when} has a value' if field.when else ''})"
    elif field.name in plan.required:
        value = "must be given"
    else:
        value = f"= {field.default or ''!r}"
    allowed = [field.type or "", format_range(field)]
    allowed += [f"tags: {common.format_tag_names(field)}"] if field.tags else []
    if field.pattern_text is not None:
        allowed.append(f"pattern: {field.pattern_text}")
    if field.requires is not None:
        allowed.append(f"requires {field.requires}")
    allowed += [format_case(case) for case in plan.cases if case.name == field.name]
    return f"{field.name} {value}", "; ".join(filter(None, allowed)), field.description


def _wrap_fields(rows: list[tuple[str, str, str]]) -> str:
    """Return a block per field: the name and value, then the description, then what is allowed."""
    width = max(get_terminal_size().columns, 40)
    lines = []
    for name, allowed, description in rows:
        lines.append(escape_unprintable(name))
        for text in map(escape_unprintable, filter(None, (description, allowed))):
            lines += textwrap.wrap(
                text, width, initial_indent="    ", subsequent_indent="    ", break_long_words=False
            )
    return "\n".join(lines)


# The profiles of the search path


def print_profiles(repository: Repository, *, json: bool) -> None:
    """Print the name, the parents and the file of each profile, and whether it is experimental."""
    entries = [_encode_entry(repository, name) for name in repository.list_names()]
    if json:
        common.print_json(entries)
        return
    grid = [(e["name"], _format_chain(e), f"{e['file']}{_format_experimental(e)}") for e in entries]
    common.print_result("\n".join(format_grid(grid)))


def _encode_entry(repository: Repository, name: str) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": name, "file": str(repository.find_file(name))}
    try:
        profile = repository.load(name)
        entry["chain"] = [d.name for d in profile.documents]
        if words := profile.get_value("START", EXPERIMENTAL):
            entry["experimental"] = words
    except OSProfileError as error:  # the other profiles are listed all the same
        entry["error"] = str(error).partition("\n")[0]
    return entry


def _format_experimental(entry: dict[str, Any]) -> str:
    return f"  (experimental, {entry['experimental']})" if "experimental" in entry else ""


def _format_chain(entry: dict[str, Any]) -> str:
    if "error" in entry:
        return "(invalid: incarnate lint says why)"
    return " -> ".join(["", *entry["chain"][1:]]).strip() if entry["chain"][1:] else "-"
