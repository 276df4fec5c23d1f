"""Whether a document is valid by the schemas, and if not, why.

libxml2 (through lxml) decides, since it is fast. Where it says no, xmlschema, which is slow to
import and has the better words, explains; what would be allowed at a place libxml2 knows again.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import islice
from os import path
from typing import TYPE_CHECKING, Final

from osprofile.errors import Problem, nearest, shown
from osprofile.profile.data import schemas_directory
from osprofile.profile.model import EXTENSION, IDB, JSDL, OSP
from osprofile.source import Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lxml import etree
    from xmlschema import XMLSchema, XMLSchemaValidationError

    from osprofile.profile.tree import Element

CODE: Final = "OSP104"
MOST: Final = 500
"""Errors of one document that are explained: to find the element of each takes the longer the more
elements there are, and nobody reads on."""
_PREFIXES: Final = {OSP: "osp:", IDB: "idb:", JSDL: "jsdl:", EXTENSION: "ext:"}
_ATTRIBUTES: Final = {
    "Profile": ("name", "extends"),
    "Template": ("name",),
    "Invocation": ("name",),
    "StaticScript": ("fileName", "arguments"),
    "Field": ("name", "isSettable", "ext:pattern", "ext:type"),
    "Tag": ("name",),
    "Storage": ("name", "template"),
    "Application": ("name", "template"),
}
_CLARK: Final = r"\{([^}]*)\}"
_EXPECTED: Final = r"Expected is (?:one of )?\( (.*) \)"
_BAD_VALUE: Final = r"attribute (?:(\w+):)?([\w.-]+)=(.*)"
_NOT_ALLOWED: Final = r"'(?:\{([^}]*)\})?([^']+)' attribute not allowed"


@cache
def _compiled() -> etree.XMLSchema:
    from lxml import etree

    return etree.XMLSchema(etree.parse(_path(), _parser()))


@cache
def _explaining() -> XMLSchema:
    from pathlib import Path

    import xmlschema

    return xmlschema.XMLSchema(Path(_path()).as_uri(), allow="sandbox")


def _path() -> str:
    return path.join(schemas_directory(), "osprofile.xsd")


def _parser() -> etree.XMLParser:
    from lxml import etree

    return etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)


def problems(root: Element) -> list[Problem]:
    """Give what the schemas say against a document that `tree.parse` accepted; empty if valid."""
    from lxml import etree

    if (root.namespace, root.name) != (OSP, "Profile"):
        message = f"the root element is <{root.name}> of namespace {shown(root.namespace)}"
        hint = f'a profile begins <osp:Profile xmlns:osp="{OSP}" ...'
        return [Problem(CODE, message, root.place, hint)]
    try:
        document = etree.fromstring(root.source.data, _parser())
    except etree.XMLSyntaxError as error:  # a limit of libxml2's: expat has read it before
        reason = re.sub(r", line \d+, column \d+$", "", " ".join(str(error.msg).split()))
        place = Place(root.source, root.source.line_offset(error.lineno or 1))
        return [Problem("OSP102", f"not readable by libxml2: {reason}", place)]
    schema = _compiled()
    if schema.validate(document):
        return []
    return _explain(root, _blamed(root, document, schema))


def _blamed(
    root: Element, document: etree._Element, schema: etree.XMLSchema
) -> list[tuple[Element, str]]:
    """Give what libxml2 says, each with our element: both trees have the same ones in order."""
    order = dict(zip(document.iter("*"), root.walk(), strict=True))
    prefixes = {p: uri for node in order for p, uri in node.nsmap.items() if p}
    find = document.getroottree().xpath
    found = []
    for entry in islice(schema.error_log, MOST):
        nodes = find(entry.path, namespaces=prefixes) if entry.path else []
        found.append((order.get(nodes[0], root) if nodes else root, entry.message))
    return found


def _explain(root: Element, blamed: list[tuple[Element, str]]) -> list[Problem]:
    allowed = {}
    for element, message in blamed:
        if match := re.search(_EXPECTED, message):
            allowed[element] = _readable(match[1])
        elif "is not expected" in message:
            allowed[element] = "nothing more"
    found: dict[tuple[int, str], Problem] = {}
    for problem in islice(_by_xmlschema(root, allowed), MOST):
        place = problem.place or root.place
        found.setdefault((place.offset, problem.message[:20]), problem)
    # On some documents xmlschema is content (no-break spaces, an unknown xsi:type): libxml2 decides.
    return list(found.values()) or [
        Problem(
            CODE,
            _readable(message),
            _stray_text(element) if "Character content" in message else element.place,
        )
        for element, message in blamed
    ]


def _by_xmlschema(root: Element, allowed: Mapping[Element, str]) -> Iterator[Problem]:
    import xmlschema

    schema = _explaining()
    resource = xmlschema.XMLResource(root.source.data.decode(), defuse="always", allow="none")
    ours = dict(zip(resource.root.iter(), root.walk(), strict=True))
    try:
        for error in schema.iter_errors(resource):
            element = ours.get(error.elem, root) if error.elem is not None else root
            yield _problem(element, error, allowed)
    except xmlschema.XMLSchemaException:
        return


def _problem(
    element: Element, error: XMLSchemaValidationError, allowed: Mapping[Element, str]
) -> Problem:
    """Tell one validation error of xmlschema's, at the element or attribute that it is about."""
    reason = " ".join(str(error.reason or error).split())
    index = getattr(error, "index", None)
    if index is not None:
        return _children_problem(element, index, reason, allowed)
    if match := re.match(_BAD_VALUE, reason, re.DOTALL):
        namespace = EXTENSION + "}" if match[1] else ""
        place = element.attribute_place(f"{namespace}{match[2]}")
        value = match[3].removeprefix(f"{error.obj!r}: ")
        return Problem(CODE, f"attribute {match[2]}={shown(str(error.obj))}: {value}", place)
    if match := re.match(_NOT_ALLOWED, reason):
        return _unknown_attribute(element, match[1], match[2])
    if "could not convert" in reason or "doesn't match any pattern" in reason:
        return no_number(element)
    place = _stray_text(element) if "character data" in reason else element.place
    return Problem(CODE, f"in <{element.name}>: {_readable(reason)}", place)


def no_number(element: Element) -> Problem:
    """Tell that a limit is none."""
    message = f"<{element.name}> is {shown(element.text)}, which is no number"
    return Problem(CODE, message, element.source_text.place(), "as in 10, -3, 1.5 or 2e6")


def _stray_text(element: Element) -> Place:
    """Give the place of the first character that is no white space of XML's."""
    text = element.source_text
    return text.place(len(text.text) - len(text.text.lstrip(" \t\r\n")))


def _children_problem(
    parent: Element, index: int, reason: str, allowed: Mapping[Element, str]
) -> Problem:
    if index < len(parent.children):
        child = parent.children[index]
        expected = allowed.get(child, "")
        message = f"<{child.name}> is not expected here, in <{parent.name}>"
        if child.name in re.findall(r":(\w+)", expected):
            message += f": its namespace is {shown(child.namespace)}"
        return Problem(CODE, message, child.place, _allowed_hint(child.name, expected))
    expected = allowed.get(parent, "")
    message = f"<{parent.name}> ends too early" if expected else f"in <{parent.name}>: {reason}"
    return Problem(CODE, message, parent.place, expected and f"it needs {expected}")


def _allowed_hint(name: str, expected: str) -> str:
    if not expected:
        return ""
    names = {word.rpartition(":")[2]: word for word in expected.split(", ")}
    close = nearest(name, names) if name not in names else ""
    meant = f"{close} " if close.startswith("did you mean") else ""
    return f"{meant}allowed here: {expected}"


def _unknown_attribute(element: Element, namespace: str | None, name: str) -> Problem:
    place: Place = element.attribute_place(f"{namespace}}}{name}" if namespace else name)
    prefix = _PREFIXES.get(namespace or "", f"{{{namespace}}}" if namespace else "")
    message = f"<{element.name}> has no attribute {prefix}{name}"
    return Problem(CODE, message, place, nearest(prefix + name, _ATTRIBUTES.get(element.name, ())))


def _readable(message: str) -> str:
    """Write `{namespace}name` of our namespaces with the customary prefix."""
    return re.sub(_CLARK, lambda m: _PREFIXES.get(m[1], m[0]), message)
