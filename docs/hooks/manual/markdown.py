"""Writes Markdown in which values are shown literally, whatever characters they contain."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from osprofile.text import escape_unprintable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_SPECIAL_CHARS = re.compile(r"[^A-Za-z0-9 .,;:'?()/%=-]")


def escape_text(value: str) -> str:
    """Return text for a paragraph or a cell, with character references for Markdown's syntax."""
    return _SPECIAL_CHARS.sub(_escape_character, " ".join(value.split()))


def format_code(value: str) -> str:
    """Return a value as inline code; control characters are written as Python escapes."""
    shown = escape_unprintable(value)
    # HTML and Markdown drop blanks at the ends and repeated ones.
    safe = re.sub(r"[^A-Za-z0-9.,;]", _escape_character, shown).replace("&#32;", " ")
    kept = re.sub(r"^ | (?= )| $", "&#160;", safe)
    return f"<code>{kept}</code>"


def _escape_character(match: re.Match[str]) -> str:
    character = match[0]
    # No letter of any alphabet is Markdown syntax.
    return character if character.isalpha() else f"&#{ord(character)};"


def format_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of cells, which are Markdown already; the empty string if there are no rows."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    if not lines:
        return ""
    rule = "|".join(["", *("---" for _ in head), ""])
    return "\n".join([f"| {' | '.join(head)} |", rule, *lines]) + "\n"


def format_block(content: str, language: str = "text", title: str = "") -> str:
    """Return a fenced block, whose fence is longer than any in its content."""
    longest = max((len(run) for run in re.findall("`+", content)), default=0)
    fence = "`" * max(3, longest + 1)
    attribute = f' title="{title}"' if title else ""
    body = content if content.endswith("\n") else f"{content}\n"
    return f"{fence}{language}{attribute}\n{body}{fence}\n"


def indent_content(content: str) -> str:
    """Return content indented, as part of the list item or admonition before it."""
    return "".join(f"    {line}\n" if line else "\n" for line in content.splitlines())


def format_details(title: str, content: str) -> str:
    """Return a collapsed block of content."""
    return f'??? note "{title}"\n\n{indent_content(content)}'
