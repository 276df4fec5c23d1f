"""Validate documents against the schemas and explain the errors.

libxml2 (through lxml) validates, since it is fast. xmlschema, which is slow to import, explains the
errors of an invalid document, since its messages are better. Only libxml2 says which elements are
allowed at a position.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import islice
from os import path
from typing import TYPE_CHECKING, Final

from osprofile.errors import Problem
from osprofile.profile.data_directories import get_schemas_directory
from osprofile.profile.model import EXTENSION_NAMESPACE, IDB_NAMESPACE, JSDL_NAMESPACE, PROFILE_NAMESPACE
from osprofile.source import Location
from osprofile.text import describe_number, quote_value, suggest_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lxml import etree
    from xmlschema import XMLSchema, XMLSchemaValidationError

    from osprofile.profile.tree import Element

SCHEMA_CODE: Final = "OSP104"
MAX_EXPLAINED_ERRORS: Final = 500
"""The most errors of a document that are explained: finding the element of an error takes time in
proportion to the size of the document, and nobody reads more."""
_NAMESPACE_PREFIXES: Final = {
    PROFILE_NAMESPACE: "osp:",
    IDB_NAMESPACE: "idb:",
    JSDL_NAMESPACE: "jsdl:",
    EXTENSION_NAMESPACE: "ext:",
}
_ALLOWED_ATTRIBUTES: Final = {
    "Profile": ("name", "extends"),
    "Template": ("name", "ext:absent"),
    "Invocation": ("name",),
    "Body": ("ext:src",),
    "StaticScript": ("fileName", "arguments", "ext:src"),
    "Field": (
        "name", "isSettable", "ext:directive", "ext:pattern", "ext:patternField", "ext:requires", "ext:type",
        "ext:when",
    ),
    "Tag": ("name",),
    "Value": ("ext:src",),
    "Storage": ("name", "template", "ext:absent"),
    "Application": ("name", "template", "ext:absent"),
}  # fmt: skip
_CHILD_ORDER: Final = {
    "Field": ("idb:Description", "idb:Min", "idb:Max", "idb:Tag", "idb:Default", "idb:Value"),
    "Template": ("idb:Description", "idb:Invocation", "idb:Field"),
    "Profile": ("osp:UspaceRoot", "osp:Delimiter", "idb:Template", "osp:Storage", "osp:Application"),
}
"""The children of an element in the order that the schema demands."""
_CLARK_NAMESPACE: Final = r"\{([^}]*)\}"
_EXPECTED_ELEMENTS: Final = r"Expected is (?:one of )?\( (.*) \)"
_BAD_ATTRIBUTE_VALUE: Final = r"attribute (?:(\w+):)?([\w.-]+)=(.*)"
_ATTRIBUTE_NOT_ALLOWED: Final = r"'(?:\{([^}]*)\})?([^']+)' attribute not allowed"


@cache
def _load_lxml_schema() -> etree.XMLSchema:
    from lxml import etree

    return etree.XMLSchema(etree.parse(_get_schema_path(), _create_parser()))


@cache
def _load_xmlschema() -> XMLSchema:
    from pathlib import Path

    import xmlschema

    return xmlschema.XMLSchema(Path(_get_schema_path()).as_uri(), allow="sandbox")


def _get_schema_path() -> str:
    return path.join(get_schemas_directory(), "osprofile.xsd")


def _create_parser() -> etree.XMLParser:
    from lxml import etree

    return etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)


def validate_document(root: Element) -> list[Problem]:
    """Return the schema errors of a document that `tree.parse_xml` accepted; empty if valid."""
    from lxml import etree

    if (root.namespace, root.name) != (PROFILE_NAMESPACE, "Profile"):
        message = f"the root element is <{root.name}> of namespace {quote_value(root.namespace)}"
        hint = f'a profile begins <osp:Profile xmlns:osp="{PROFILE_NAMESPACE}" ...'
        return [Problem(SCHEMA_CODE, message, root.location, hint)]
    try:
        document = etree.fromstring(root.source.data, _create_parser())
    except etree.XMLSyntaxError as error:  # a limit of libxml2: expat has already parsed it
        reason = re.sub(r", line \d+, column \d+$", "", " ".join(str(error.msg).split()))
        location = Location(root.source, root.source.get_line_offset(error.lineno or 1))
        return [Problem("OSP102", f"not readable by libxml2: {reason}", location)]
    schema = _load_lxml_schema()
    if schema.validate(document):
        return []
    return _explain_errors(root, _collect_errors(root, document, schema))


def _collect_errors(
    root: Element, document: etree._Element, schema: etree.XMLSchema
) -> list[tuple[Element, str]]:
    """Return the messages of libxml2 with the elements that they are about."""
    # Both trees have the same elements in the same order.
    element_by_node = dict(zip(document.iter("*"), root.iter_elements(), strict=True))
    prefixes = {p: uri for node in element_by_node for p, uri in node.nsmap.items() if p}
    xpath = document.getroottree().xpath
    errors = []
    for entry in islice(schema.error_log, MAX_EXPLAINED_ERRORS):
        nodes = xpath(entry.path, namespaces=prefixes) if entry.path else []
        errors.append((element_by_node.get(nodes[0], root) if nodes else root, entry.message))
    return errors


def _explain_errors(root: Element, errors: list[tuple[Element, str]]) -> list[Problem]:
    expected_children = {}
    for element, message in errors:
        if match := re.search(_EXPECTED_ELEMENTS, message):
            expected_children[element] = _shorten_namespaces(match[1])
        elif "is not expected" in message:
            expected_children[element] = "nothing else"
    problem_by_key: dict[tuple[int, str], Problem] = {}
    for problem in islice(_explain_by_xmlschema(root, expected_children), MAX_EXPLAINED_ERRORS):
        location = problem.location or root.location
        # xmlschema reports some errors twice, in messages that begin alike.
        problem_by_key.setdefault((location.offset, problem.message[:20]), problem)
    # xmlschema accepts some documents that libxml2 refuses (no-break spaces, an unknown xsi:type).
    return list(problem_by_key.values()) or [
        Problem(
            SCHEMA_CODE,
            _shorten_namespaces(message),
            _locate_stray_text(element) if "Character content" in message else element.location,
        )
        for element, message in errors
    ]


def _explain_by_xmlschema(root: Element, expected_children: Mapping[Element, str]) -> Iterator[Problem]:
    import xmlschema

    schema = _load_xmlschema()
    resource = xmlschema.XMLResource(root.source.data.decode(), defuse="always", allow="none")
    element_by_node = dict(zip(resource.root.iter(), root.iter_elements(), strict=True))
    try:
        for error in schema.iter_errors(resource):
            element = element_by_node.get(error.elem, root) if error.elem is not None else root
            yield _convert_error(element, error, expected_children)
    except xmlschema.XMLSchemaException:  # it cannot process the document: libxml2's messages must do
        return


def _convert_error(
    element: Element, error: XMLSchemaValidationError, expected_children: Mapping[Element, str]
) -> Problem:
    """Return the problem for an error of xmlschema, at the element or attribute that it is about."""
    reason = " ".join(str(error.reason or error).split())
    index = getattr(error, "index", None)
    if index is not None:
        return _describe_unexpected_child(element, index, reason, expected_children)
    if match := re.match(_BAD_ATTRIBUTE_VALUE, reason, re.DOTALL):
        namespace = EXTENSION_NAMESPACE + "}" if match[1] else ""
        location = element.locate_attribute(f"{namespace}{match[2]}")
        value = match[3].removeprefix(f"{error.obj!r}: ")
        message = f"attribute {match[2]}={quote_value(str(error.obj))}: {value}"
        hint = "write true or false" if "boolean" in value else ""
        return Problem(SCHEMA_CODE, message, location, hint)
    if match := re.match(_ATTRIBUTE_NOT_ALLOWED, reason):
        return _describe_unknown_attribute(element, match[1], match[2])
    if "could not convert" in reason or "doesn't match any pattern" in reason:
        return describe_invalid_limit(element)
    location = _locate_stray_text(element) if "character data" in reason else element.location
    return Problem(SCHEMA_CODE, f"in <{element.name}>: {_shorten_namespaces(reason)}", location)


def describe_invalid_limit(element: Element) -> Problem:
    """Return the problem for a limit that is not a number."""
    message = f"<{element.name}> is {quote_value(element.text)}, which is not a number"
    hint = describe_number(element.text.strip())
    return Problem(SCHEMA_CODE, message, element.source_text.get_location(), hint)


def _locate_stray_text(element: Element) -> Location:
    """Return the location of the first character of an element's text that is not XML white space."""
    text = element.source_text
    return text.get_location(len(text.text) - len(text.text.lstrip(" \t\r\n")))


def _describe_unexpected_child(
    parent: Element, index: int, reason: str, expected_children: Mapping[Element, str]
) -> Problem:
    if index < len(parent.children):
        child = parent.children[index]
        expected = expected_children.get(child, "")
        message = f"<{child.name}> is not expected here, in <{parent.name}>"
        if child.name in re.findall(r":(\w+)", expected):
            message += f": its namespace is {quote_value(child.namespace)}"
        hint = _format_order_hint(parent, index) or _format_allowed_hint(child.name, expected)
        return Problem(SCHEMA_CODE, message, child.location, hint)
    expected = expected_children.get(parent, "")
    message = f"<{parent.name}> ends too early" if expected else f"in <{parent.name}>: {reason}"
    return Problem(SCHEMA_CODE, message, parent.location, expected and f"it needs {expected}")


def _format_order_hint(parent: Element, index: int) -> str:
    """Return a hint for a child that comes too late, empty for any other child."""
    order = _CHILD_ORDER.get(parent.name, ())
    prefixed = [_NAMESPACE_PREFIXES.get(c.namespace or "", "") + c.name for c in parent.children[: index + 1]]
    if prefixed[-1] not in order:
        return ""
    position = order.index(prefixed[-1])
    later = next((name for name in prefixed if name in order and order.index(name) > position), "")
    return f"the order is wrong: {prefixed[-1]} comes before {later}" if later else ""


def _format_allowed_hint(name: str, expected: str) -> str:
    if not expected:
        return ""
    names = {word.rpartition(":")[2]: word for word in expected.split(", ")}
    similar = suggest_names(name, names) if name not in names else ""
    suggestion = f"{similar} " if similar.startswith("did you mean") else ""
    return f"{suggestion}allowed here: {expected}"


def _describe_unknown_attribute(element: Element, namespace: str | None, name: str) -> Problem:
    location: Location = element.locate_attribute(f"{namespace}}}{name}" if namespace else name)
    prefix = _NAMESPACE_PREFIXES.get(namespace or "", f"{{{namespace}}}" if namespace else "")
    message = f"<{element.name}> has no attribute {prefix}{name}"
    return Problem(
        SCHEMA_CODE,
        message,
        location,
        suggest_names(prefix + name, _ALLOWED_ATTRIBUTES.get(element.name, ())),
    )


def _shorten_namespaces(message: str) -> str:
    """Replace each `{namespace}` of a profile by its usual prefix."""
    return re.sub(_CLARK_NAMESPACE, lambda m: _NAMESPACE_PREFIXES.get(m[1], m[0]), message)
