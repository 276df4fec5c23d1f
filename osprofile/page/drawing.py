"""The inheritance as a drawing: a box a document, its own profile on top, an arrow to what it extends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from osprofile.page.markup import Node, node

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from osprofile.page.model import Count, Level

WIDTH: Final = 340
"""Units of the drawing: on a phone's screen one is about a pixel."""
GAP: Final = 44
LINE: Final = 20
EDGE: Final = 14
MOST: Final = 38
"""How many characters of a name there is room for; the table beside the drawing has all of it."""
PLURAL: Final = {
    "field": "fields",
    "template": "templates",
    "application": "applications",
    "storage": "storages",
}


def drawing(levels: Sequence[Level]) -> Node:
    """Give the chain as SVG with a title and a description in words."""
    total = sum(count.in_force for level in levels for count in level.counts)
    children, top = list[Node](), 1
    for index, level in enumerate(levels):
        if index:
            children.append(_arrow(top))
            top += GAP
        height = _height(level)
        children.append(node("g", *_box(level, top, height, total), class_="box"))
        top += height
    names = " extends ".join(level.name for level in levels)
    return node(
        "svg",
        node("title", f"Inheritance: {names}", id="drawing-title"),
        node("desc", " ".join(map(sentence, levels)), id="drawing-words"),
        *children,
        viewBox=f"0 0 {WIDTH} {top + 1}",
        width=WIDTH,
        height=top + 1,
        role="img",
        aria_labelledby="drawing-title drawing-words",
        class_="drawing",
    )


def sentence(level: Level) -> str:
    """Say in words what a document of the chain says."""
    told = [f"{told_count(c)}, {c.in_force} in force" for c in _said(level)]
    return f"{level.name}: {'; '.join(told) or 'nothing of its own'}."


def told_count(count: Count) -> str:
    """Give a count in words: `3 fields: 1 new, 2 replaced`."""
    number = count.new + count.replacing
    parts = [(count.new, "new"), (count.replacing, "replaced")]
    told = ", ".join(f"{n} {word}" for n, word in parts if n)
    return f"{number} {count.kind if number == 1 else PLURAL[count.kind]}: {told}"


def _said(level: Level) -> list[Count]:
    return [count for count in level.counts if count.new + count.replacing]


def _height(level: Level) -> int:
    return 2 * EDGE + LINE * (2 + max(len(_said(level)), 1)) + 14


def _box(level: Level, top: int, height: int, total: int) -> Iterator[Node]:
    room = WIDTH - 2 - 2 * EDGE
    yield node("rect", x=1, y=top, width=WIDTH - 2, height=height, rx=8)
    at = top + EDGE + 14
    yield _text(level.name, at, "name")
    yield _text(level.label, at + LINE, "file")
    at += 2 * LINE
    for told in map(told_count, _said(level)):
        yield _text(told, at, "said")
        at += LINE
    if not _said(level):
        yield _text("nothing of its own", at, "said")
        at += LINE
    share = sum(count.in_force for count in level.counts) / max(total, 1)
    bar = {"x": EDGE + 1, "y": at - 8, "height": 8, "rx": 4}
    yield node("rect", **bar, width=room, class_="all")
    if share:
        yield node("rect", **bar, width=max(round(room * share), 8), class_="share")


def _text(text: str, y: int, class_: str) -> Node:
    plain = "".join(c if c.isprintable() else "\ufffd" for c in text)
    plain = plain if len(plain) <= MOST else plain[: MOST - 3] + "..."
    return node("text", plain, x=EDGE + 1, y=y, class_=class_)


def _arrow(top: int) -> Node:
    middle, end = WIDTH // 2, top + GAP - 3
    path = f"M{middle} {top + 2}V{end}M{middle - 6} {end - 7}L{middle} {end}L{middle + 6} {end - 7}"
    label = node("text", "extends", x=middle + 12, y=top + GAP // 2 + 4, class_="said")
    return node("g", node("path", d=path), label, class_="arrow")
