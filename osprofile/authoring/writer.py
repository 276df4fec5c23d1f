"""Write the documents of profiles: a resolved one that extends nothing (`show --xml`), and a new one that extends another.

Reading the document of a resolved profile gives the same one; only white space in descriptions is folded.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from osprofile.profile.model import EXTENSION_NAMESPACE, IDB_NAMESPACE, PROFILE_NAMESPACE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from osprofile.profile.model import Application, Field, Invocation, Profile, Template

_ATTRIBUTE_ESCAPES = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "\r": "&#13;",
    "\n": "&#10;",
    "\t": "&#9;",
}


def profile_to_xml(profile: Profile) -> str:
    """Return the document of a resolved profile, including all that it inherits."""
    return "\n".join([*_document_lines(profile), ""])


def format_new_document(
    names: tuple[str, str],
    introduction: str,
    content: Iterable[str],
    *,
    root: str = "~/.gpe/work",
    delimiter: str = "/",
    notes: tuple[str, str] = ("", ""),
) -> str:
    """Return the document of a profile and the one that it extends, which are `names`.

    `introduction` is the comment at its beginning; `notes` are comments before UspaceRoot and Delimiter.
    """
    places = {"UspaceRoot": root, "Delimiter": delimiter}
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f"<!-- {introduction} -->",
        f'<osp:Profile xmlns:osp="{PROFILE_NAMESPACE}"',
        f'             xmlns:idb="{IDB_NAMESPACE}"',
        f'             xmlns:ext="{EXTENSION_NAMESPACE}"',
        f'             name="{names[0]}" extends="{names[1]}">',
    ]
    for (place, text), note in zip(places.items(), notes, strict=True):
        lines += [f"  <!-- {note} -->"] if note else []
        lines.append(f"  <osp:{place}>{escape_text(text)}</osp:{place}>")
    return "\n".join([*lines, *content, "</osp:Profile>", ""])


def _document_lines(profile: Profile) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield "<!-- Flattened: all that the profile inherits is in it. -->"
    namespaces = (
        f'xmlns:osp="{PROFILE_NAMESPACE}" xmlns:idb="{IDB_NAMESPACE}" xmlns:ext="{EXTENSION_NAMESPACE}"'
    )
    yield f'<osp:Profile {namespaces} name="{escape_attribute(profile.name)}">'
    yield f"  <osp:UspaceRoot>{escape_text(profile.uspace_root)}</osp:UspaceRoot>"
    yield f"  <osp:Delimiter>{escape_text(profile.delimiter)}</osp:Delimiter>"
    if profile.global_fields:
        yield "  <idb:Template>"
        yield from format_fields((*profile.global_fields.values(), *profile.cases))
        yield "  </idb:Template>"
    for name in profile.templates:  # as they are declared, without the lines of ext:directive
        yield from _template_lines(next(d.templates[name] for d in profile.documents if name in d.templates))
    for s in profile.storages.values():
        yield f'  <osp:Storage name="{escape_attribute(s.name)}" template="{escape_attribute(s.template)}"/>'
    for application in profile.applications.values():
        yield from _application_lines(application)
    yield "</osp:Profile>"


def _template_lines(template: Template) -> Iterator[str]:
    yield f'  <idb:Template name="{escape_attribute(template.name)}">'
    yield from _description_lines(template.description, "    ")
    for invocation in template.invocations.values():
        yield from _invocation_lines(invocation)
    yield from format_fields(template.fields.values())
    yield "  </idb:Template>"


def _invocation_lines(invocation: Invocation) -> Iterator[str]:
    yield f'    <idb:Invocation name="{escape_attribute(invocation.name)}">'
    yield from _description_lines(invocation.description, "      ")
    if invocation.body is not None:
        yield f"      <idb:Body>{escape_text(invocation.body.text)}</idb:Body>"
    if invocation.static_script is not None:
        script = invocation.static_script
        names = f'fileName="{escape_attribute(script.file_name)}" arguments="{escape_attribute(script.arguments.text)}"'
        yield f"      <idb:StaticScript {names}>{escape_text(script.body.text)}</idb:StaticScript>"
    yield "    </idb:Invocation>"


def format_fields(fields: Iterable[Field]) -> Iterator[str]:
    """Yield the lines of fields in a template; a case (`ext:for`) is one line."""
    for field in fields:
        if field.selection is None:
            yield from _format_field(field)
        else:
            first, *rest = _format_field(field)
            yield first + "".join(line.strip() for line in rest)


def _format_field(field: Field) -> Iterator[str]:
    attributes = f'name="{escape_attribute(field.name)}"'
    if not field.settable:
        attributes += ' isSettable="false"'
    pattern = field.pattern_text if field.pattern_field is None else None
    extensions = {
        "for": f"{field.selection.field}={field.selection.value}" if field.selection is not None else None,
        "type": field.type,
        "pattern": pattern,
        "patternField": field.pattern_field,
        "directive": field.directive,
        "when": field.when,
        "requires": field.requires,
    }
    for name, text in extensions.items():
        if text is not None:
            attributes += f' ext:{name}="{escape_attribute(text)}"'
    yield f"    <idb:Field {attributes}>"
    yield from _description_lines(field.description, "      ")
    for name, limit in (("Min", field.minimum), ("Max", field.maximum)):
        if limit is not None:
            yield f"      <idb:{name}>{_format_double(limit)}</idb:{name}>"
    for tag in field.tags:
        yield f'      <idb:Tag name="{escape_attribute(tag.name)}">{escape_text(tag.value)}</idb:Tag>'
    for name, value in (("Default", field.default), ("Value", field.value)):
        if value is not None:
            yield f"      <idb:{name}>{escape_text(value)}</idb:{name}>"
    yield "    </idb:Field>"


def _application_lines(application: Application) -> Iterator[str]:
    names = f'name="{escape_attribute(application.name)}" template="{escape_attribute(application.template)}"'
    yield f"  <osp:Application {names}>"
    yield f"    <osp:ApplicationName>{escape_text(application.application_name)}</osp:ApplicationName>"
    version = escape_text(application.application_version)
    yield f"    <osp:ApplicationVersion>{version}</osp:ApplicationVersion>"
    yield from _description_lines(application.description, "    ", "osp")
    yield "  </osp:Application>"


def _description_lines(text: str, indent: str, prefix: str = "idb") -> Iterator[str]:
    if text:
        yield f"{indent}<{prefix}:Description>{escape_text(text)}</{prefix}:Description>"


def _format_double(number: float) -> str:
    if number.is_integer() and abs(number) < 1e15:
        return f"{number:.0f}"
    return {"inf": "INF", "-inf": "-INF"}.get(repr(number), repr(number))


def escape_attribute(value: str) -> str:
    """Return a value as the text of an attribute in double quotes."""
    return re.sub('[&<>"\r\n\t]', lambda m: _ATTRIBUTE_ESCAPES[m[0]], value)


def escape_text(value: str) -> str:
    """Return a value as character data: in CDATA, which cannot contain `]]>` and CR, if it needs escapes."""
    if not re.search("[&<>\r]", value):
        return value
    parts = re.split("(\r|(?<=]])(?=>))", value)
    return "".join("&#13;" if p == "\r" else f"<![CDATA[{p}]]>" for p in parts if p)
