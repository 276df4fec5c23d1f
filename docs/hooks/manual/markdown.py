"""Markdown written from values: whatever stands in a value, it is shown as that."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_PLAIN = re.compile(r"[^A-Za-z0-9 .,;:'?()/%=-]")


def text(value: str) -> str:
    """Give text for a paragraph or a cell: every character that Markdown might read is a reference."""
    return _PLAIN.sub(_reference, " ".join(value.split()))


def code(value: str) -> str:
    """Give a value as code within a line; what cannot stand in a line is written as Python does."""
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in value)
    # Blanks, too, where HTML or Markdown would drop them.
    safe = re.sub(r"[^A-Za-z0-9.,;]", _reference, shown).replace("&#32;", " ")
    kept = re.sub(r"^ | (?= )| $", "&#160;", safe)
    return f"<code>{kept}</code>"


def _reference(found: re.Match[str]) -> str:
    character = found[0]
    # Letters of other alphabets are never Markdown.
    return character if character.isalpha() else f"&#{ord(character)};"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Give a table of cells that are Markdown already; without rows, the empty string."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    if not lines:
        return ""
    rule = "|".join(["", *("---" for _ in head), ""])
    return "\n".join([f"| {' | '.join(head)} |", rule, *lines]) + "\n"


def block(content: str, language: str = "text", title: str = "") -> str:
    """Give a fenced block, with a fence that its content does not have."""
    longest = max((len(run) for run in re.findall("`+", content)), default=0)
    fence = "`" * max(3, longest + 1)
    named = f' title="{title}"' if title else ""
    body = content if content.endswith("\n") else f"{content}\n"
    return f"{fence}{language}{named}\n{body}{fence}\n"


def indented(content: str) -> str:
    """Give content as a part of what stands before it."""
    return "".join(f"    {line}\n" if line else "\n" for line in content.splitlines())


def folded(title: str, content: str) -> str:
    """Give content that a reader opens."""
    return f'??? note "{title}"\n\n{indented(content)}'
