r"""Check that `grep -Ex` reads the form of an id as Java does.

The engine matches ids with JOB_ID_PATTERN, and scripts give it to grep. What both read alike:

    literal characters, \ before one of . [ ] ( ) { } * + ? ^ $ | \
    brackets without \ [ & and without ] at their beginning
    ( ), |, and one of * + ? {n} {n,} {n,m} after an item
"""

from __future__ import annotations

import re
from typing import Final

_COMMON_SYNTAX: Final = re.compile(
    r"""  \\[.\[\](){}*+?^$|\\]
        | \[\^?[^]\[\\&^][^]\[\\&]*\]
        | (?:[*+?]|\{[0-9]+(?:,[0-9]*)?\})(?![*+?{])
        | \((?!\?) | [)|.]
        | [^\\\[\](){}*+?^$|.]
    """,
    re.VERBOSE,
)


def find_difference(form: str) -> int | None:
    """Return the offset of what `grep -Ex` may read differently from Java; None if there is nothing."""
    offset = 0
    while offset < len(form):
        match = _COMMON_SYNTAX.match(form, offset)
        if match is None:
            return offset
        offset = match.end()
    return None
