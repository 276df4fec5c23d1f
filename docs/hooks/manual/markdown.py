"""Markdown written from values: whatever stands in a value, it is shown as that."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from osprofile.errors import escape_unprintable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_SPECIAL_CHARS = re.compile(r"[^A-Za-z0-9 .,;:'?()/%=-]")


def escape_text(value: str) -> str:
    """Give text for a paragraph or a cell: every character that Markdown might read is a reference."""
    return _SPECIAL_CHARS.sub(_escape_character, " ".join(value.split()))


def format_code(value: str) -> str:
    """Give a value as code within a line; what cannot stand in a line is written as Python does."""
    shown = escape_unprintable(value)
    # Blanks, too, where HTML or Markdown would drop them.
    safe = re.sub(r"[^A-Za-z0-9.,;]", _escape_character, shown).replace("&#32;", " ")
    kept = re.sub(r"^ | (?= )| $", "&#160;", safe)
    return f"<code>{kept}</code>"


def _escape_character(match: re.Match[str]) -> str:
    character = match[0]
    # Letters of other alphabets are never Markdown.
    return character if character.isalpha() else f"&#{ord(character)};"


def format_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Give a table of cells that are Markdown already; without rows, the empty string."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    if not lines:
        return ""
    rule = "|".join(["", *("---" for _ in head), ""])
    return "\n".join([f"| {' | '.join(head)} |", rule, *lines]) + "\n"


def format_block(content: str, language: str = "text", title: str = "") -> str:
    """Give a fenced block, with a fence that its content does not have."""
    longest = max((len(run) for run in re.findall("`+", content)), default=0)
    fence = "`" * max(3, longest + 1)
    named = f' title="{title}"' if title else ""
    body = content if content.endswith("\n") else f"{content}\n"
    return f"{fence}{language}{named}\n{body}{fence}\n"


def indent_content(content: str) -> str:
    """Give content as a part of what stands before it."""
    return "".join(f"    {line}\n" if line else "\n" for line in content.splitlines())


def format_details(title: str, content: str) -> str:
    """Give content that a reader opens."""
    return f'??? note "{title}"\n\n{indent_content(content)}'
