"""A resolved profile as one document that extends nothing: what `show --xml` prints.

Read again, it is the same profile; its descriptions have their blanks folded.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from osprofile.profile.model import EXTENSION, IDB, OSP

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from osprofile.profile.model import Application, Field, Invocation, Profile, Template

_ESCAPES = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "\r": "&#13;",
    "\n": "&#10;",
    "\t": "&#9;",
}


def to_xml(profile: Profile) -> str:
    """Give the document of a resolved profile, everything inherited in it."""
    return "\n".join([*_document(profile), ""])


def _document(profile: Profile) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield "<!-- Flattened: all that the profile inherits is in it. -->"
    yield f'<osp:Profile xmlns:osp="{OSP}" xmlns:idb="{IDB}" xmlns:ext="{EXTENSION}" name="{_attribute(profile.name)}">'
    yield f"  <osp:UspaceRoot>{text_of(profile.uspace_root)}</osp:UspaceRoot>"
    yield f"  <osp:Delimiter>{text_of(profile.delimiter)}</osp:Delimiter>"
    if profile.global_fields:
        yield "  <idb:Template>"
        yield from field_lines(profile.global_fields.values())
        yield "  </idb:Template>"
    for template in profile.templates.values():
        yield from _template(template)
    for s in profile.storages.values():
        yield f'  <osp:Storage name="{_attribute(s.name)}" template="{_attribute(s.template)}"/>'
    for application in profile.applications.values():
        yield from _application(application)
    yield "</osp:Profile>"


def _template(template: Template) -> Iterator[str]:
    yield f'  <idb:Template name="{_attribute(template.name)}">'
    yield from _description(template.description, "    ")
    for invocation in template.invocations.values():
        yield from _invocation(invocation)
    yield from field_lines(template.fields.values())
    yield "  </idb:Template>"


def _invocation(invocation: Invocation) -> Iterator[str]:
    yield f'    <idb:Invocation name="{_attribute(invocation.name)}">'
    yield from _description(invocation.description, "      ")
    if invocation.body is not None:
        yield f"      <idb:Body>{text_of(invocation.body.text)}</idb:Body>"
    if invocation.static_script is not None:
        script = invocation.static_script
        names = f'fileName="{_attribute(script.file_name)}" arguments="{_attribute(script.arguments.text)}"'
        yield f"      <idb:StaticScript {names}>{text_of(script.body.text)}</idb:StaticScript>"
    yield "    </idb:Invocation>"


def field_lines(fields: Iterable[Field]) -> Iterator[str]:
    """Give the lines of fields, as they stand in a template."""
    for field in fields:
        attributes = f'name="{_attribute(field.name)}"'
        if not field.settable:
            attributes += ' isSettable="false"'
        if field.type is not None:
            attributes += f' ext:type="{field.type}"'
        if field.pattern_text is not None:
            attributes += f' ext:pattern="{_attribute(field.pattern_text)}"'
        yield f"    <idb:Field {attributes}>"
        yield from _description(field.description, "      ")
        for name, limit in (("Min", field.minimum), ("Max", field.maximum)):
            if limit is not None:
                yield f"      <idb:{name}>{_double(limit)}</idb:{name}>"
        for tag in field.tags:
            yield f'      <idb:Tag name="{_attribute(tag.name)}">{text_of(tag.value)}</idb:Tag>'
        for name, value in (("Default", field.default), ("Value", field.value)):
            if value is not None:
                yield f"      <idb:{name}>{text_of(value)}</idb:{name}>"
        yield "    </idb:Field>"


def _application(application: Application) -> Iterator[str]:
    names = f'name="{_attribute(application.name)}" template="{_attribute(application.template)}"'
    yield f"  <osp:Application {names}>"
    yield f"    <osp:ApplicationName>{text_of(application.application_name)}</osp:ApplicationName>"
    version = text_of(application.application_version)
    yield f"    <osp:ApplicationVersion>{version}</osp:ApplicationVersion>"
    yield from _description(application.description, "    ", "osp")
    yield "  </osp:Application>"


def _description(text: str, indent: str, prefix: str = "idb") -> Iterator[str]:
    if text:
        yield f"{indent}<{prefix}:Description>{text_of(text)}</{prefix}:Description>"


def _double(number: float) -> str:
    return {"inf": "INF", "-inf": "-INF"}.get(repr(number), repr(number))


def _attribute(value: str) -> str:
    return re.sub('[&<>"\r\n\t]', lambda m: _ESCAPES[m[0]], value)


def text_of(value: str) -> str:
    """Give character data; scripts go into CDATA, where `]]>` and CR cannot stand."""
    if not re.search("[&<>\r]", value):
        return value
    parts = re.split("(\r|(?<=]])(?=>))", value)
    return "".join("&#13;" if p == "\r" else f"<![CDATA[{p}]]>" for p in parts if p)
