"""Limits on the length of values: Linux limits the arguments and the environment of a program."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from osprofile.errors import ValueRefusedError
from osprofile.incarnation.evaluate import ALWAYS_SHORT_ENOUGH, MAX_ARGUMENT_SIZE
from osprofile.text import quote_value

if TYPE_CHECKING:
    from osprofile.profile.model import Field

MAX_WORDS_SIZE: Final = 960 * 1024
"""Bytes that all words of a value may take, with a pointer to each: with the usual stack of 8 MiB
Linux passes on 2 MiB, arguments and environment together."""

NO_DIRECTIVES_PATTERN: Final = r"(?![\s\S]*(?:\r\n|\n#[A-Z$]))"
"""At the beginning of a pattern: no line of the value looks like a directive of a batch system, and none
ends with CR LF, with which some batch systems refuse a script."""

ARGUMENTS_PATTERN: Final = r"(?:(?:'[^']*+'|\\'|[A-Za-z0-9_./:=@%+,-])++(?: ++|\z))*+"
"""Only well-quoted shell words match (docs/language.md, Quoting): the value may stand unquoted."""

ENVIRONMENT_PATTERN: Final = r"(?:export [A-Za-z_][A-Za-z0-9_]*+='(?:[^']++|'\\''|'')*+'(?:\n|\z))*+"
"""Only `export NAME='value'` lines match. They become words for `env`, and are never run as commands."""

_SHELL_WORD: Final = rb"(?:'[^']*'|\\'|[^'\\\s]+)+"
_QUOTED_PART: Final = rb"'([^']*)'|\\(')"
_POINTER_SIZE: Final = 8


def check_length(name: str, value: str, declaration: Field | None) -> None:
    """Raise `ValueRefusedError` if a value is too long to be an argument or a variable.

    For a field that takes shell words, check each word, and all of them together.
    """
    if len(value) <= ALWAYS_SHORT_ENOUGH:
        return
    data = value.encode()
    pattern_text = (declaration.pattern_text or "") if declaration is not None else ""
    if pattern_text.removeprefix(NO_DIRECTIVES_PATTERN) in {ARGUMENTS_PATTERN, ENVIRONMENT_PATTERN}:
        _check_word_lengths(name, value, data)
        return
    # The bundled profiles pass it to the job as the variable GPE_NAME.
    limit = MAX_ARGUMENT_SIZE - len(f"GPE_{name}=".encode())
    if len(data) > limit:
        message = f"field {name}: {quote_value(value)} is too long for a program: {len(data)} bytes"
        raise ValueRefusedError(message, field=name, hint=f"at most {limit}; put it into a file")


def _check_word_lengths(name: str, value: str, data: bytes) -> None:
    words = re.findall(_SHELL_WORD, data) if len(data) <= MAX_WORDS_SIZE else [data]
    for number, word in enumerate(words, 1):
        size = len(word) if len(word) <= MAX_ARGUMENT_SIZE else len(re.sub(_QUOTED_PART, rb"\1\2", word))
        if size > MAX_ARGUMENT_SIZE and len(data) <= MAX_WORDS_SIZE:
            message = (
                f"field {name}: word {number} of {quote_value(value)} is too long for a program: {size} bytes"
            )
            hint = f"at most {MAX_ARGUMENT_SIZE}; put it into a file"
            raise ValueRefusedError(message, field=name, hint=hint)
    total_size = sum(map(len, words)) + len(words) * (1 + _POINTER_SIZE)
    if total_size > MAX_WORDS_SIZE:
        message = (
            f"field {name}: {quote_value(value)} is too long for a program: its words take {total_size} bytes"
        )
        raise ValueRefusedError(message, field=name, hint=f"at most {MAX_WORDS_SIZE}; use a file")
