"""How long a value may be: what a job hands over to a program is bounded by the system."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from osprofile.errors import ValueRefusedError, shown

if TYPE_CHECKING:
    from osprofile.profile.model import Field

LONGEST: Final = 128 * 1024 - 1
"""Bytes that Linux passes on to a program as one argument, or as one variable with its name."""

MOST_WORDS: Final = 960 * 1024
"""Bytes that all words of a value may take, with a pointer to each: with the usual stack Linux passes
on 2 MiB, arguments and environment together."""

ARGUMENTS_PATTERN: Final = r"(?:(?:'[^']*+'|\\'|[A-Za-z0-9_./:=@%+,-])++(?: ++|\z))*+"
"""Only well-quoted shell words match (design: "Quoting"): a value may stand unquoted."""

ENVIRONMENT_PATTERN: Final = r"(?:export [A-Za-z_][A-Za-z0-9_]*+='(?:[^']++|'\\'')*+'(?:\n|\z))*+"
"""Only `export NAME='value'` lines match. They become words for `env`, and are never run as commands."""

_WORD: Final = rb"(?:'[^']*'|\\'|[^'\\\s]+)+"
_QUOTING: Final = rb"'([^']*)'|\\(')"
_POINTER: Final = 8


def is_plainly_short(text: str) -> bool:
    """Return whether text is so short that no part of it can be too long for a program."""
    return len(text) <= LONGEST // 8


def check_length(name: str, value: str, declared: Field | None) -> None:
    """Raise where a value is too long for any program, as an argument or a variable.

    Of a field that takes shell words each word counts, and all of them together.
    """
    if is_plainly_short(value):
        return
    data = value.encode()
    if declared is not None and declared.pattern_text in {ARGUMENTS_PATTERN, ENVIRONMENT_PATTERN}:
        _check_words(name, value, data)
        return
    # A job may find it as a variable GPE_NAME, as it does with the bundled profiles.
    most = LONGEST - len(f"GPE_{name}=".encode())
    if len(data) > most:
        message = f"field {name}: {shown(value)} is too long for a program: {len(data)} bytes"
        raise ValueRefusedError(message, field=name, hint=f"at most {most}; put it into a file")


def _check_words(name: str, value: str, data: bytes) -> None:
    """Raise where shell words are too long for a program, one of them or all together."""
    words = re.findall(_WORD, data) if len(data) <= MOST_WORDS else [data]
    for number, word in enumerate(words, 1):
        size = len(word) if len(word) <= LONGEST else len(re.sub(_QUOTING, rb"\1\2", word))
        if size > LONGEST and len(data) <= MOST_WORDS:
            message = f"field {name}: word {number} of {shown(value)} is too long for a program: {size} bytes"
            hint = f"at most {LONGEST}; put it into a file"
            raise ValueRefusedError(message, field=name, hint=hint)
    taken = sum(map(len, words)) + len(words) * (1 + _POINTER)
    if taken > MOST_WORDS:
        message = (
            f"field {name}: {shown(value)} is too long for a program: its words take {taken} bytes"
        )
        raise ValueRefusedError(message, field=name, hint=f"at most {MOST_WORDS}; use a file")
