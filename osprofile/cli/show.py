"""`incarnate show`: shows a resolved profile, and where each part of it is defined."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

from osprofile.cli import common
from osprofile.cli.options import Argument, JsonOption, Option, ProfileOption, ProfilesOption
from osprofile.cli.terminal import escape_script_line

if TYPE_CHECKING:
    from osprofile.profile.model import Application, Field, Profile, Storage, Template


def show(
    *,
    template: Annotated[
        str | None, Argument("Show only this template, with its bodies.", "[TEMPLATE]", "templates")
    ] = None,
    profile: ProfileOption = None,
    profiles: ProfilesOption = [],
    xml: Annotated[
        bool, Option(("--xml",), "Print one XML document that includes what is inherited.")
    ] = False,
    json: JsonOption = False,
) -> int:
    """Show a resolved profile: each item, where it is defined, and what it overrides.

    Examples:
      incarnate show --profile torque
      incarnate show START --profile torque
      incarnate show --profile torque --xml > flat.xml
    """
    if xml and json:
        raise common.UsageError("--xml and --json cannot be used together")
    resolved = common.open_profile(profile, profiles)
    if template is not None:
        resolved.get_template(template)
    if xml:
        from osprofile.profile.writer import profile_to_xml

        common.print_result(profile_to_xml(resolved))
    elif json:
        common.print_json(_encode_profile(resolved, template))
    else:
        common.print_result("\n".join(map(escape_script_line, _format_lines(resolved, template))))
    return 0


def _format_lines(profile: "Profile", template_name: str | None) -> Iterator[str]:
    if template_name is not None:
        yield from _format_template(profile, profile.get_template(template_name), bodies=True)
        return
    for number, document in enumerate(profile.documents):
        relation = "extends" if number else "profile"
        yield f"{relation} {document.name}  {document.location}"
    yield f"UspaceRoot {profile.uspace_root}   Delimiter {profile.delimiter}"
    if profile.global_fields:
        yield "global fields"
        for field in profile.global_fields.values():
            yield _format_field(field)
    for template in profile.templates.values():
        yield from _format_template(profile, template)
    entities: list[Storage | Application] = [*profile.storages.values()]
    entities += profile.applications.values()
    for entity in entities:
        kind = type(entity).__name__.lower()
        yield f"{kind} {entity.name}  by {entity.template}  {entity.location}{_format_overrides(profile, entity)}"


def _format_template(profile: "Profile", template: "Template", *, bodies: bool = False) -> Iterator[str]:
    yield f"template {template.name}  {template.location}{_format_overrides(profile, template)}"
    for invocation in template.invocations.values():
        script = invocation.static_script
        kind = f"static script {script.file_name}" if script else "body"
        yield f"  variation {invocation.name!r}  {kind}  {invocation.location}"
        if bodies:
            text = invocation.body or (script.body if script else None)
            yield from (f"    | {line}" for line in str(text or "").split("\n"))
    for field in template.fields.values():
        yield _format_field(field)


def _format_field(field: "Field") -> str:
    from osprofile.incarnation.field_rules import format_range

    value = "" if field.default is None else f" default {field.default!r}"
    value = value if field.value is None else f" = {field.value!r}"
    settable = "" if field.settable else " (not settable)"
    limits = f", {format_range(field)}" if format_range(field) else ""
    return f"  field {field.name}{settable}{value}{limits}  {field.location}"


def _format_overrides(profile: "Profile", entity: "Template | Storage | Application") -> str:
    locations = [str(e.location) for e in profile.list_overridden(entity)]
    return f"  overrides {', '.join(locations)}" if locations else ""


def _encode_profile(profile: "Profile", template_name: str | None) -> dict[str, Any]:
    def encode_entity(e: "Template | Storage | Application") -> dict[str, Any]:
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
