"""Parsers for attribute values: arguments, environments, file lists, output remaps, submit options, requirements.

Source: docs/protocols/blah.md, 4.3 to 4.5. Nothing is expanded. A malformed value raises ValueError
with what is wrong and where; `split_v1_arguments` and `split_file_list` accept every text.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Final

from osprofile.executors.blah.classad import (
    Evaluator,
    Expression,
    Literal,
    OperatorChain,
    Reference,
    format_constant,
    unparse,
)
from osprofile.text import quote_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_BLANKS: Final = " \t\r\n"
_UNQUOTED_RUN: Final = re.compile(r"[^ \t\r\n']+")
_QUOTED_RUN: Final = re.compile(r"[^']*")
_SHELL_WORD: Final = re.compile(  # (?!): see tests/test_patterns.py
    r"""[ \t\r\n]++|(?P<word>(?:[^ \t\r\n'"\\]++|'[^']*+'|"(?:[^"\\]|\\.)*+"|\\(?:.|\Z)|(?!))++)(?=[ \t\r\n]|\Z)""",
    re.DOTALL,
)
_SHELL_QUOTED: Final = re.compile(
    r"""'(?P<single>[^']*)'|"(?P<double>(?:[^"\\]|\\.)*)"|\\(?P<escaped>.)""", re.DOTALL
)
_DOUBLE_QUOTED_ESCAPE: Final = re.compile(r"""\\([$`"\\])""")


def split_v2_arguments(text: str) -> list[str]:
    """Return the words of the new syntax, V2.

    Blanks separate words; `'` begins and ends a quoted part anywhere in a word, and `''` inside it is
    one `'`. Double quotes, backslashes and dollar signs have no special meaning. `''` alone is an
    empty word.
    """
    words: list[str] = []
    word: list[str] | None = None
    index = 0
    while index < len(text):
        if text[index] in _BLANKS:
            if word is not None:
                words.append("".join(word))
            word, index = None, index + 1
            continue
        word = [] if word is None else word
        if text[index] == "'":
            piece, index = _read_quoted(text, index)
        else:
            unquoted = _UNQUOTED_RUN.match(text, index)
            piece, index = (unquoted[0], unquoted.end()) if unquoted else (text[index], index + 1)
        word.append(piece)
    return words if word is None else [*words, "".join(word)]


def _read_quoted(text: str, start: int) -> tuple[str, int]:
    """Return the text of the quoted part that begins at `start`, and the index after it."""
    pieces: list[str] = []
    index = start + 1
    while True:
        quoted = _QUOTED_RUN.match(text, index)
        end = quoted.end() if quoted else index
        pieces.append(text[index:end])
        if end == len(text):
            message = f"the quote at character {start + 1} is not closed: {quote_value(text[start:], 40)}"
            raise ValueError(message)
        if not text.startswith("''", end):
            return "".join(pieces), end + 1
        pieces.append("'")
        index = end + 2


def split_v1_arguments(text: str) -> list[str]:
    """Return the words of the old syntax, V1, which blahpd hands to two shells: its quotes and backslashes are theirs.

    The first shell gets the text in single quotes, the second one the words of the first with blanks between
    them. Nothing is expanded; a backslash at the end stands for itself, as in dash and bash. What a shell cannot
    read, as a quote that is not closed, is split at blanks.
    """
    try:
        return _split_shell_words(" ".join(_split_shell_words(f"'{text}'")))
    except ValueError:
        return [word for word in re.split(f"[{_BLANKS}]+", text) if word]


def _split_shell_words(text: str) -> list[str]:
    """Return the words of a shell's text, without expansion. Raises ValueError for an unclosed quote."""
    words, index = [], 0
    while index < len(text):
        match = _SHELL_WORD.match(text, index)
        if match is None:
            raise ValueError(text)
        if match["word"]:
            words.append(_SHELL_QUOTED.sub(_unquote_shell_part, match["word"]))
        index = match.end()
    return words


def _unquote_shell_part(match: re.Match[str]) -> str:
    if match["double"] is not None:
        return _DOUBLE_QUOTED_ESCAPE.sub(r"\1", match["double"])
    return match["single"] or match["escaped"] or ""


def parse_v2_environment(text: str) -> dict[str, str]:
    """Return the variables of V2, words `NAME=value`. If a name is repeated, the last value wins."""
    return dict(map(_split_assignment, split_v2_arguments(text)))


def parse_v1_environment(text: str) -> dict[str, str]:
    """Return the variables of V1, `NAME=value;NAME=value`. If a name is repeated, the last value wins.

    In `NAME = value` the blanks around `=` are dropped; in `NAME= value` the blank is part of the value.
    """
    variables = {}
    for entry in text.split(";"):
        if entry.strip(_BLANKS):
            name, value = _split_assignment(entry.strip(_BLANKS))
            variables[name.rstrip(_BLANKS)] = value.lstrip(_BLANKS) if name[-1] in _BLANKS else value
    return variables


def _split_assignment(entry: str) -> tuple[str, str]:
    name, equals, value = entry.partition("=")
    if not equals or not name.strip(_BLANKS):
        message = f"{quote_value(entry, 40)} is not NAME=value"
        raise ValueError(message)
    return name, value


def split_file_list(text: str) -> list[str]:
    """Return the comma-separated names, stripped, without empty ones or duplicates."""
    names = [name.strip(_BLANKS) for name in text.split(",")]
    return list(dict.fromkeys(name for name in names if name))


def parse_output_remaps(text: str) -> dict[str, str]:
    """Return the new names in `name = new name; ...`; a backslash makes the next character literal."""
    remaps = {}
    for entry in _split_unescaped(text, ";"):
        if entry.strip(_BLANKS):
            name, *targets = _split_unescaped(entry, "=", max_splits=1)
            source, target = _strip_and_unescape(name), _strip_and_unescape("".join(targets))
            if not source or not target:
                message = f"{quote_value(entry.strip(_BLANKS), 40)} is not NAME = NEW NAME"
                raise ValueError(message)
            remaps[source] = target
    return remaps


def _split_unescaped(text: str, separator: str, max_splits: int = 0) -> list[str]:
    """Split at separators without a backslash before them, `max_splits` times (0: at all of them)."""
    parts, start, index = [], 0, 0
    while index < len(text):
        if text[index] == "\\":
            index += 1
        elif text[index] == separator:
            parts.append(text[start:index])
            start = index + 1
            if len(parts) == max_splits:
                break
        index += 1
    return [*parts, text[start:]]


def _strip_and_unescape(text: str) -> str:
    """Return a name without its backslashes and without the blanks around it that none precedes."""
    stripped = text.strip(_BLANKS)
    if (len(stripped) - len(stripped.rstrip("\\"))) % 2:  # the last backslash escapes a blank
        stripped = text.lstrip(_BLANKS)[: len(stripped) + 1]
    return re.sub(r"\\(.)", r"\1", stripped, flags=re.DOTALL)


# BatchExtraSubmitArgs


def parse_submit_options(text: str, accepted: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return the field and the value of each option in BatchExtraSubmitArgs, which is split as by a shell.

    `accepted` is a site's setting, as `{ "--qos" = "QOS", "--exclusive" = "EXCLUSIVE=true" }`: an option maps to
    the field of the profile that gets its value, an option without a value to FIELD=VALUE. So a value is checked
    like that of any other field, and the profile decides where it stands in a script. A value follows `=` or
    a blank, or directly an option of one letter. Raises ValueError for an option that is not accepted, and
    for a missing or superfluous value.
    """
    options = {}
    words = iter(shlex.split(text))
    for word in words:
        option, value = _split_option(word, accepted)
        field, equals, fixed_value = accepted[option].partition("=")
        if equals and value is not None:
            message = f"the option {option} takes no value, but {quote_value(word, 40)} has one"
            raise ValueError(message)
        if not equals and value is None and (value := next(words, None)) is None:
            message = f"the option {option} needs a value"
            raise ValueError(message)
        options[option] = (field, fixed_value if equals else str(value))
    return options


def _split_option(word: str, accepted: Mapping[str, str]) -> tuple[str, str | None]:
    """Return an option, and the value in the same word (None: there is none)."""
    name, equals, value = word.partition("=")
    if name in accepted:
        return name, value if equals else None
    if word[:2] in accepted:
        return word[:2], word[2:]
    message = f"{quote_value(word, 40)} is not an option"
    if word.startswith("-"):
        message = f"the option {name} is not accepted here"
    raise ValueError(message)


# CERequirements

_FIELD_SUFFIXES: Final = {"==": "", "=?=": "", "is": "", ">=": "_MIN", ">": "_MIN", "<=": "_MAX", "<": "_MAX"}
_MIRRORED_OPERATORS: Final = {">=": "<=", "<=": ">=", ">": "<", "<": ">"}
_STRICT_BOUND_OFFSETS: Final = {">": 1, "<": -1}


def translate_requirements(node: Expression, evaluator: Evaluator) -> tuple[dict[str, str], list[str]]:
    """Return the values that CERequirements demands, by field name, and warnings for the log.

    Of the conjuncts, `a == v` gives A, `a >= v` gives A_MIN and `a <= v` gives A_MAX; `>` and `<` of a whole
    number give the next one. Any other conjunct is left out, with a warning.
    """
    values: dict[str, str] = {}
    warnings = []
    for conjunct in _split_conjuncts(node):
        comparison = _translate_comparison(conjunct, evaluator)
        if comparison is None:
            if conjunct != Literal(value=True):
                warnings.append(f"CERequirements: {unparse(conjunct)!r} cannot be translated")
            continue
        name, value = comparison
        if values.setdefault(name, value) != value:
            warnings.append(f"CERequirements: {unparse(conjunct)!r} contradicts what is before it")
    return values, warnings


def _split_conjuncts(node: Expression) -> Iterator[Expression]:
    if isinstance(node, OperatorChain) and node.operations[0][0] == "&&":
        for part in (node.first, *(operand for _, operand in node.operations)):
            yield from _split_conjuncts(part)
    else:
        yield node


def _translate_comparison(node: Expression, evaluator: Evaluator) -> tuple[str, str] | None:
    """Return the field and the value of one comparison; None for any other expression."""
    if not isinstance(node, OperatorChain) or len(node.operations) != 1:
        return None
    left, (operator, right) = node.first, node.operations[0]
    if not isinstance(left, Reference):
        left, operator, right = right, _MIRRORED_OPERATORS.get(operator, operator), left
    if not isinstance(left, Reference) or operator not in _FIELD_SUFFIXES:
        return None
    text = _evaluate_bound(operator, right, evaluator)
    return None if text is None else (left.name.upper() + _FIELD_SUFFIXES[operator], text)


def _evaluate_bound(operator: str, node: Expression, evaluator: Evaluator) -> str | None:
    value = evaluator.evaluate(node)
    if operator in _STRICT_BOUND_OFFSETS:
        if isinstance(value, bool) or not isinstance(value, int):
            return None
        return str(value + _STRICT_BOUND_OFFSETS[operator])
    if isinstance(value, str):
        return value
    return format_constant(value) if isinstance(value, bool | int | float) else None
