"""Is a document valid by the schemas, and if not, why?

libxml2 (through lxml) decides, since it is fast; xmlschema, which is slow to import and has the
better words, explains and is loaded only for that.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from osprofile.errors import Problem
from osprofile.profile.data import schemas_directory
from osprofile.source import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml import etree

    from osprofile.profile.tree import Element


@cache
def _compiled() -> etree.XMLSchema:
    from lxml import etree

    path = schemas_directory() / "osprofile.xsd"
    return etree.XMLSchema(etree.parse(str(path), _parser()))


def _parser() -> etree.XMLParser:
    from lxml import etree

    return etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)


def problems(root: Element) -> list[Problem]:
    """Give what the schemas say against a document that `tree.parse` accepted; empty if valid."""
    from lxml import etree

    try:
        document = etree.fromstring(root.source.data, _parser())
    except etree.XMLSyntaxError as error:  # a limit of libxml2's: expat has read it before
        return [Problem("OSP102", f"not readable by libxml2: {error.msg}", root.place)]
    schema = _compiled()
    if schema.validate(document):
        return []
    found = list(_explained(root, document))
    # The two libraries agree on every document we know of; should they not, libxml2 decides.
    return found or [
        Problem("OSP104", entry.message, _line_place(root, entry.line)) for entry in schema.error_log
    ]


def _line_place(root: Element, line: int) -> Place:
    return next((e.place for e in root.walk() if e.place.line >= line), root.place)


def _explained(root: Element, document: etree._Element) -> Iterator[Problem]:
    """Give xmlschema's errors with our places: both trees have the same elements in order."""
    import xmlschema

    schema = xmlschema.XMLSchema(str(schemas_directory() / "osprofile.xsd"), allow="sandbox")
    ours = dict(zip(document.iter("*"), root.walk(), strict=True))
    for error in schema.iter_errors(document):
        element = ours.get(error.elem, root)
        reason = " ".join((error.reason or str(error)).split())
        yield Problem("OSP104", *_told(element, error, reason))


def _told(element: Element, error: object, reason: str) -> tuple[str, Place, str]:
    """Give message, place and hint of one error of xmlschema's."""
    expected = getattr(error, "particle", None)
    place = element.place
    return f"in <{element.name}>: {reason}", place, f"expected {expected}" if expected is None else ""
