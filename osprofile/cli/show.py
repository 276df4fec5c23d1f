"""`incarnate show`: a resolved profile, and where each part of it comes from."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

from osprofile.cli import common
from osprofile.cli.options import Argument, JsonOption, Option, ProfileOption, ProfilesOption

if TYPE_CHECKING:
    from osprofile.profile.model import Application, Field, Profile, Storage, Template


def show(
    *,
    template: Annotated[
        str | None,
        Argument("Show this template alone, with its bodies.", "[TEMPLATE]", "templates"),
    ] = None,
    profile: ProfileOption = None,
    profiles: ProfilesOption = [],
    xml: Annotated[
        bool, Option(("--xml",), "Print one document with everything inherited in it.")
    ] = False,
    json: JsonOption = False,
) -> int:
    """Show a resolved profile: each item, where it stands, and what it overrides.

    Examples:
      incarnate show --profile torque
      incarnate show START --profile torque
      incarnate show --profile torque --xml > flat.xml
    """
    if xml and json:
        raise common.UsageError("--xml and --json do not fit together")
    resolved = common.open_profile(profile, profiles)
    if template is not None:
        resolved.template(template)
    if xml:
        from osprofile.profile.writer import to_xml

        common.put(to_xml(resolved))
    elif json:
        common.put_json(_told(resolved, template))
    else:
        from osprofile.cli.terminal import printable

        common.put("\n".join(map(printable, _lines(resolved, template))))
    return 0


def _lines(profile: "Profile", only: str | None) -> Iterator[str]:
    if only is not None:
        yield from _template_lines(profile, profile.template(only), bodies=True)
        return
    for number, document in enumerate(profile.documents):
        word = "extends" if number else "profile"
        yield f"{word} {document.name}  {document.place}"
    yield f"UspaceRoot {profile.uspace_root}   Delimiter {profile.delimiter}"
    if profile.global_fields:
        yield "global fields"
        for field in profile.global_fields.values():
            yield _field_line(field)
    for template in profile.templates.values():
        yield from _template_lines(profile, template)
    entities: list[Storage | Application] = [*profile.storages.values()]
    entities += profile.applications.values()
    for entity in entities:
        kind = type(entity).__name__.lower()
        yield f"{kind} {entity.name}  by {entity.template}  {entity.place}{_overrides(profile, entity)}"


def _template_lines(
    profile: "Profile", template: "Template", *, bodies: bool = False
) -> Iterator[str]:
    yield f"template {template.name}  {template.place}{_overrides(profile, template)}"
    for invocation in template.invocations.values():
        script = invocation.static_script
        what = f"static script {script.file_name}" if script else "body"
        yield f"  variation {invocation.name!r}  {what}  {invocation.place}"
        if bodies:
            text = invocation.body or (script.body if script else None)
            yield from (f"    | {line}" for line in str(text or "").split("\n"))
    for field in template.fields.values():
        yield _field_line(field)


def _field_line(field: "Field") -> str:
    from osprofile.incarnation.fields import range_text

    value = "" if field.default is None else f" default {field.default!r}"
    value = value if field.value is None else f" = {field.value!r}"
    settable = "" if field.settable else " (not settable)"
    limits = f", {range_text(field)}" if range_text(field) else ""
    return f"  field {field.name}{settable}{value}{limits}  {field.place}"


def _overrides(profile: "Profile", entity: "Template | Storage | Application") -> str:
    places = [str(e.place) for e in profile.overridden(entity)]
    return f"  overrides {', '.join(places)}" if places else ""


def _told(profile: "Profile", only: str | None) -> dict[str, Any]:
    def entity(e: "Template | Storage | Application") -> dict[str, Any]:
        overrides = [str(o.place) for o in profile.overridden(e)]
        return {"name": e.name, "place": str(e.place), "overrides": overrides}

    templates = [t for t in profile.templates.values() if only in {None, t.name}]
    told_templates = [
        {
            **entity(t),
            "description": t.description,
            "variations": {i.name: str(i.place) for i in t.invocations.values()},
            "fields": {f.name: str(f.place) for f in t.fields.values()},
        }
        for t in templates
    ]
    if only is not None:
        return told_templates[0]
    return {
        "name": profile.name,
        "chain": [{"name": d.name, "place": str(d.place)} for d in profile.documents],
        "uspace_root": profile.uspace_root,
        "delimiter": profile.delimiter,
        "global_fields": {f.name: str(f.place) for f in profile.global_fields.values()},
        "templates": told_templates,
        "storages": [{**entity(s), "template": s.template} for s in profile.storages.values()],
        "applications": [
            {
                **entity(a),
                "application_name": a.application_name,
                "application_version": a.application_version,
                "description": a.description,
                "template": a.template,
            }
            for a in profile.applications.values()
        ],
    }
