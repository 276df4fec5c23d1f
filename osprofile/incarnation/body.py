r"""Bodies of invocations: literal text and replacements (OS Profile 0.3, 2.1).

    body         = { literal | replacement }
    replacement  = "<" NAME ">"  |  "<" NAME "/" FROM "/" TO ">"
    NAME         = ( letter | "_" ) { letter | digit | "_" | "." | "-" } [ ":" { the same } ]
                 | "TargetSystemInfo:" WORD { blanks WORD }, a WORD being { the same }
    FROM         = up to the first "/" without a backslash before it, in one line
    TO           = up to the first ">" without a backslash before it, in one line

A backslash and the character after it are one pair. A `<` that begins no replacement is literal
text, and so is a `<` after another one (`<<EOF>`, `<<<WORD>`). FROM is a Java regular expression
and TO a Java replacement, both as written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from osprofile import javaregex
from osprofile.errors import InvalidProfileError, JavaRegexError, Problem
from osprofile.javaregex.replacement import parse_replacement
from osprofile.late import NamedTuple, compile_late
from osprofile.profile.model import FIELD_NAME_PATTERN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from osprofile.source import Location, SourceText

# No possessive quantifiers: the first releases of Python 3.11 match too much with them.

_REPLACEMENT_START: Final = compile_late(rf"(?<!<)<({FIELD_NAME_PATTERN})([>/])")
_FROM_AND_TO: Final = compile_late(r"((?:[^\\/\r\n]|\\[^\r\n])*)/((?:[^\\>\r\n]|\\[^\r\n])*)>")
_LINE_END: Final = compile_late(r"[\r\n]")
_OPTIONAL_VALUE: Final = (r"(?s)^(.+)\z", "$1")
_WHOLE_VALUES: Final = {r"(?s)^(.+)\z": 1, r"(?s)^.+\z": 0}
"""Patterns that match each whole value, except for the empty one, and their numbers of groups."""
_OPTIONAL: Final = compile_late(r"(?:\(\?[a-zA-Z]+\))?\^")


@final
class Replacement(NamedTuple):
    r"""One `<NAME>` or `<NAME/FROM/TO>`; `start` and `end` are its offsets in the body's text.

    `pattern` (FROM) and `replacement` (TO) are None in the short form, and if they give the value itself, as
    FROM `(?s)^(.+)\z` and TO `$1`. `is_optional` says that FROM begins with `^`: whether there is a value decides.
    """

    name: str
    pattern: str | None
    replacement: str | None
    start: int
    end: int
    is_optional: bool = False

    @property
    def pattern_start(self) -> int:
        """The offset of FROM in the body's text."""
        return self.start + len(self.name) + 2

    @property
    def replacement_start(self) -> int:
        """The offset of TO in the body's text."""
        return self.pattern_start + len(self.pattern or "") + 1


@final
class TemplateBody(NamedTuple):
    """A parsed body: literal strings, none of them empty, and replacements, in order."""

    source: SourceText
    segments: tuple[str | Replacement, ...]

    @property
    def replacements(self) -> Iterator[Replacement]:
        """The replacements, in order."""
        return (s for s in self.segments if isinstance(s, Replacement))

    def locate_replacement(self, replacement: Replacement) -> Location:
        """Return the location of a replacement's first character."""
        return self.source.get_location(replacement.start)


def parse_body(source: SourceText) -> TemplateBody:
    """Return the parsed body. Every text is valid."""
    text, segments, position = source.text, list[str | Replacement](), 0
    for replacement in _find_replacements(text):
        if replacement.start > position:
            segments.append(text[position : replacement.start])
        segments.append(replacement)
        position = replacement.end
    if position < len(text):
        segments.append(text[position:])
    return TemplateBody(source, tuple(segments))


def get_literal_pair(replacement: Replacement) -> tuple[str, str] | None:
    """Return the arguments of `str.replace` for a replacement that does no more than that.

    None for `<NAME>`, and if FROM or TO have special characters.
    """
    if replacement.pattern is None or replacement.replacement is None:
        return None
    return javaregex.parse_literal_pair(replacement.pattern, replacement.replacement)


def get_inserted_texts(body: TemplateBody, replacement: Replacement) -> tuple[str, ...] | None:
    """Return the texts between which a replacement of a whole value, whatever it is, puts the value.

    None for a replacement of anything else. Raises `InvalidProfileError` if Java refuses TO.
    """
    group_count = _WHOLE_VALUES.get(replacement.pattern or "")
    if group_count is None:
        return None
    texts = [""]
    try:
        for part in parse_replacement(replacement.replacement or "", group_count, {}):
            texts[len(texts) :] = [""] if isinstance(part, int) else []
            texts[-1] += "" if isinstance(part, int) else part
    except JavaRegexError as error:
        raise InvalidProfileError([describe_regex_error(body, replacement, error)]) from None
    return tuple(texts)


def _find_replacements(text: str) -> Iterator[Replacement]:
    position = searched_until = 0
    while start_match := _REPLACEMENT_START.search(text, position):
        start, position = start_match.span()
        if start_match[2] == ">":
            yield Replacement(start_match[1], None, None, start, position)
        elif position > searched_until and (end_match := _FROM_AND_TO.match(text, position)):
            pair: tuple[str | None, str | None] = (end_match[1], end_match[2])
            is_optional = _OPTIONAL.match(end_match[1]) is not None
            if pair == _OPTIONAL_VALUE:
                pair = None, None
            yield Replacement(start_match[1], *pair, start, position := end_match.end(), is_optional)
        elif position > searched_until:
            # If one TO has no end, no later one on the line has: searching again would take quadratic time.
            line_end = _LINE_END.search(text, position)
            searched_until = line_end.start() if line_end else len(text)


def compile_replacement(body: TemplateBody, replacement: Replacement) -> Callable[[str], str]:
    """Return the function that a replacement applies to its field's value: Java's `replaceAll`.

    The function may raise `JavaRegexTimeoutError`. For `<NAME>` it is the identity. Raises
    `InvalidProfileError` with the location of the error if Java refuses FROM or TO.
    """
    pair = get_literal_pair(replacement)
    if pair is not None:
        return javaregex.make_replacer(*pair)
    if replacement.pattern is None or replacement.replacement is None:
        return str
    try:
        return javaregex.compile(replacement.pattern).compile_replacement(replacement.replacement)
    except JavaRegexError as error:
        raise InvalidProfileError([describe_regex_error(body, replacement, error)]) from None


def describe_regex_error(body: TemplateBody, replacement: Replacement, error: JavaRegexError) -> Problem:
    """Return the problem for an error of FROM or TO, with its location in the document."""
    # If FROM equals TO, the error is in FROM, which is compiled first.
    in_replacement = error.text == replacement.replacement != replacement.pattern
    start = replacement.replacement_start if in_replacement else replacement.pattern_start
    part = "replacement" if in_replacement else "regular expression"
    message = f"in <{replacement.name}/...>: bad Java {part}: {error.message}"
    return Problem("OSP401", message, body.source.get_location(start + error.index), error.hint)
