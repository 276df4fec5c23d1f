"""Tables that become cards on a narrow screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from osprofile.page.markup import Node, make_node, mark_invisible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MAX_WHOLE_LENGTH: Final = 36
"""Characters of a word that is never broken: a line of a phone has room for them."""


def build_table(caption: str, columns: Sequence[str], rows: Iterable[tuple[str, list[Node]]]) -> Node:
    """Return a table; in a card, each cell has its column's name. A row has an id, or the empty string."""
    heads = [make_node("th", column, scope="col", role="columnheader") for column in columns]
    body = [
        make_node("tr", *map(_label_cell, cells, columns), id=key or None, role="row") for key, cells in rows
    ]
    return make_node(
        "table",
        make_node("caption", caption, class_="unseen"),
        make_node("thead", make_node("tr", *heads, role="row"), role="rowgroup"),
        make_node("tbody", *body, role="rowgroup"),
        role="table",
    )


def build_cell(*children: Node | str | None, class_: str | None = None) -> Node:
    """Return a cell of a row."""
    return make_node("td", *children, class_=class_)


def build_row_head(text: str, *, is_code: bool = False) -> Node:
    """Return the cell with a row's name."""
    shown = mark_invisible(text)
    content = (make_node("code", *shown),) if is_code else shown
    return make_node("th", *content, scope="row", class_=get_name_class(text))


def get_name_class(name: str, *, spaces: bool = False) -> str | None:
    """Return the class of a name whose words are not broken: none if one is longer than a line.

    With `spaces`, it is not broken at spaces, either.
    """
    words = [name] if spaces else name.split()
    return "whole" if max(map(len, words), default=0) <= MAX_WHOLE_LENGTH else None


def build_code(text: str) -> Node:
    """Return a short text as code on one line; a longer one may be broken."""
    return make_node("code", *mark_invisible(text), class_=get_name_class(text, spaces=True))


def _label_cell(cell: Node, column: str) -> Node:
    # On a narrow screen the style makes cells blocks, which takes their role from them: restore it.
    role = "rowheader" if cell.name == "th" else "cell"
    return Node(cell.name, (*cell.attributes, ("data-column", column), ("role", role)), cell.children)
