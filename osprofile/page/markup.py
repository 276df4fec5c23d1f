"""Nodes of HTML and SVG, and their rendering; the only place where text is escaped.

The children of a node are nodes and strings. A string is always text, never markup; only the content
of `style` and `script`, which comes from this package's own files, is not escaped.
"""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, Final, NamedTuple, final

if TYPE_CHECKING:
    from collections.abc import Iterator

Attribute = str | int | bool | None

VOID_ELEMENTS: Final = frozenset({"meta", "link", "input"})
"""Elements that have no end tag (HTML 13.1.2)."""
EMPTY_SVG_ELEMENTS: Final = frozenset({"path", "rect"})
"""Elements of SVG without content, which are written as self-closing tags."""
RAW_TEXT_ELEMENTS: Final = frozenset({"style", "script"})
"""Elements whose content is not markup and not escaped; it comes only from our own files."""
INLINE_ELEMENTS: Final = frozenset(
    {"a", "b", "button", "code", "dd", "dt", "label", "option", "span", "td", "text", "textarea", "th"}
)  # fmt: skip
"""Elements within a line; after all others a line ends, so that pages can be compared line by line."""

_FORBIDDEN_CHARS: Final = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]")
"""Characters that HTML does not allow, either directly or as a reference."""
_INVISIBLE_CHARS: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]"
)
"""Control characters and those that change the direction of text; values show their code points."""


@final
class Node(NamedTuple):
    """An element: its name, its attributes in order, its children in order."""

    name: str
    attributes: tuple[tuple[str, str], ...]
    children: tuple[Node | str, ...]


def make_node(name: str, /, *children: Node | str | None, **attributes: Attribute) -> Node:
    """Return an element. Children and attributes that are None are omitted.

    `_` in an attribute's name becomes `-`, and a trailing one is dropped (`class_`, `for_`). True is an
    attribute without a value; False omits the attribute.
    """
    encoded = []
    for key, value in attributes.items():
        if value is not None and value is not False:
            text = "" if value is True else str(value)
            encoded.append((key.removesuffix("_").replace("_", "-"), text))
    return Node(name, tuple(encoded), tuple(c for c in children if c is not None))


def mark_invisible(text: str) -> tuple[Node | str, ...]:
    """Return a value as children of a node; invisible characters are shown as `U+202E`.

    A reader must see what a shell would get; a U+202E, if it took effect, would hide that.
    """
    parts: list[Node | str] = []
    at = 0
    for found in _INVISIBLE_CHARS.finditer(text):
        parts += [text[at : found.start()], make_node("span", f"U+{ord(found[0]):04X}", class_="odd")]
        at = found.end()
    parts.append(text[at:])
    return tuple(part for part in parts if part)


def render_node(top: Node) -> str:
    """Return the text of an element."""
    return "".join(_render_parts(top))


def _render_parts(top: Node) -> Iterator[str]:
    name, end = top.name, "" if top.name in INLINE_ELEMENTS else "\n"
    attributes = "".join(f' {k}="{_escape_text(v)}"' if v else f" {k}" for k, v in top.attributes)
    if name in VOID_ELEMENTS or name in EMPTY_SVG_ELEMENTS:
        yield f"<{name}{attributes}{'/' if name in EMPTY_SVG_ELEMENTS else ''}>{end}"
        return
    # An HTML parser drops the first line end of a pre or textarea: add one for that.
    yield f"<{name}{attributes}>" + ("\n" if name in {"pre", "textarea"} else "")
    for child in top.children:
        if isinstance(child, Node):
            yield from _render_parts(child)
        else:
            yield child if name in RAW_TEXT_ELEMENTS else _escape_text(child)
    yield f"</{name}>{end}"


def _escape_text(text: str) -> str:
    return escape(_FORBIDDEN_CHARS.sub("\ufffd", text)).replace("\r", "&#13;")
