"""The inheritance as a drawing: one box per document, the profile on top, arrows to the parents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from osprofile.page.markup import Node, make_node
from osprofile.text import pluralize, replace_unprintable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from osprofile.page.model import Count, Level

DRAWING_WIDTH: Final = 340
"""Units of the drawing, about a pixel each on a phone's screen."""
BOX_GAP: Final = 44
LINE_HEIGHT: Final = 20
BOX_PADDING: Final = 14
MAX_NAME_LENGTH: Final = 38
"""Characters of a name that fit; the table beside the drawing has the whole name."""


def draw_levels(levels: Sequence[Level]) -> Node:
    """Return the chain as SVG, with a title and a description."""
    total = sum(count.in_force for level in levels for count in level.counts)
    children, top = list[Node](), 1
    for index, level in enumerate(levels):
        if index:
            children.append(_draw_arrow(top))
            top += BOX_GAP
        height = _box_height(level)
        children.append(make_node("g", *_draw_box(level, top, height, total), class_="box"))
        top += height
    names = " extends ".join(level.name for level in levels)
    return make_node(
        "svg",
        make_node("title", f"Inheritance: {names}", id="drawing-title"),
        make_node("desc", " ".join(map(describe_level, levels)), id="drawing-words"),
        *children,
        viewBox=f"0 0 {DRAWING_WIDTH} {top + 1}",
        width=DRAWING_WIDTH,
        height=top + 1,
        role="img",
        aria_labelledby="drawing-title drawing-words",
        class_="drawing",
    )


def describe_level(level: Level) -> str:
    """Return a sentence about what a document of the chain declares."""
    counts = [f"{format_count(c)}, {c.in_force} in force" for c in _nonzero_counts(level)]
    return f"{level.name}: {'; '.join(counts) or 'nothing of its own'}."


def format_count(count: Count) -> str:
    """Return a count in words: `3 fields: 1 new, 2 replaced`."""
    number = count.new + count.replacing
    parts = [(count.new, "new"), (count.replacing, "replaced")]
    details = ", ".join(f"{n} {word}" for n, word in parts if n)
    return f"{pluralize(number, count.kind)}: {details}"


def _nonzero_counts(level: Level) -> list[Count]:
    return [count for count in level.counts if count.new + count.replacing]


def _box_height(level: Level) -> int:
    return 2 * BOX_PADDING + LINE_HEIGHT * (2 + max(len(_nonzero_counts(level)), 1)) + 14


def _draw_box(level: Level, top: int, height: int, total: int) -> Iterator[Node]:
    room = DRAWING_WIDTH - 2 - 2 * BOX_PADDING
    yield make_node("rect", x=1, y=top, width=DRAWING_WIDTH - 2, height=height, rx=8)
    at = top + BOX_PADDING + 14
    yield _draw_text(level.name, at, "name")
    yield _draw_text(level.label, at + LINE_HEIGHT, "file")
    at += 2 * LINE_HEIGHT
    for line in map(format_count, _nonzero_counts(level)):
        yield _draw_text(line, at, "said")
        at += LINE_HEIGHT
    if not _nonzero_counts(level):
        yield _draw_text("nothing of its own", at, "said")
        at += LINE_HEIGHT
    share = sum(count.in_force for count in level.counts) / max(total, 1)
    bar = {"x": BOX_PADDING + 1, "y": at - 8, "height": 8, "rx": 4}
    yield make_node("rect", **bar, width=room, class_="all")
    if share:
        yield make_node("rect", **bar, width=max(round(room * share), 8), class_="share")


def _draw_text(text: str, y: int, class_: str) -> Node:
    shown = replace_unprintable(text)
    shown = shown if len(shown) <= MAX_NAME_LENGTH else shown[: MAX_NAME_LENGTH - 3] + "..."
    return make_node("text", shown, x=BOX_PADDING + 1, y=y, class_=class_)


def _draw_arrow(top: int) -> Node:
    middle, end = DRAWING_WIDTH // 2, top + BOX_GAP - 3
    path = f"M{middle} {top + 2}V{end}M{middle - 6} {end - 7}L{middle} {end}L{middle + 6} {end - 7}"
    label = make_node("text", "extends", x=middle + 12, y=top + BOX_GAP // 2 + 4, class_="said")
    return make_node("g", make_node("path", d=path), label, class_="arrow")
