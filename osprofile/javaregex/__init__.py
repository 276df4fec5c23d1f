r"""Java's regular expressions (java.util.regex, JDK 17), with code points as characters.

A replacement `<NAME/FROM/TO>` in a profile has the result of Java's `value.replaceAll(FROM, TO)`;
`ext:pattern` and the fields that hold patterns have those of Java's `matches()` and `find()`.

    replace_all("it's", "'", "'\\\\''")      the text with every match replaced
    compile(pattern)                        a `Pattern`: matches, find, find_iter, replace_all, ...
    parse_literal_pattern(pattern)          the only text that it matches, or None
    parse_literal_replacement(replacement)  the text that it stands for, or None

A pattern that Java refuses is refused, by `JavaRegexError` with the place; so is one that cannot
be honoured exactly. Nothing is approximated. These are refused although Java accepts them: the
flag `c` (canonical equivalence), halves of surrogate pairs, names of controls and of characters
named by rule in `\N{..}`, more than 64 levels of nesting, and `&&` with nothing on its right where
Java fails when it matches. Values with lone surrogates are refused too. Outside the BMP Java
sometimes steps by halves of a character; here a code point is always one step.

Importing this package loads neither the parser nor an engine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from osprofile.errors import JavaRegexError, JavaRegexTimeoutError
from osprofile.javaregex.literals import (
    make_replacer,
    parse_literal_pair,
    parse_literal_pattern,
    parse_literal_replacement,
)

if TYPE_CHECKING:
    from osprofile.javaregex.pattern import (
        Match,
        Pattern,
        compile,  # noqa: A004  # as in the module re
        replace_all,
    )

__all__ = [
    "JavaRegexError",
    "JavaRegexTimeoutError",
    "Match",
    "Pattern",
    "compile",
    "make_replacer",
    "parse_literal_pair",
    "parse_literal_pattern",
    "parse_literal_replacement",
    "replace_all",
]


def __getattr__(name: str) -> object:
    """Import `Pattern` and the like on first use (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from osprofile.javaregex import pattern

    found: object = getattr(pattern, name)
    globals()[name] = found
    return found
