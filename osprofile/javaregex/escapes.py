r"""Escapes of Java's patterns: `\n`, `\x41`, `\d`, `\1`, `\p{L}`. The order of the reads follows the JDK's."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from osprofile.javaregex import charset
from osprofile.javaregex.charset import CharSet
from osprofile.javaregex.reader import NUL, Flags
from osprofile.javaregex.syntax import Assertion, AssertionKind, BackRef, Cluster, LineBreak, Node

if TYPE_CHECKING:
    from collections.abc import Mapping

    from osprofile.javaregex.reader import PatternReader

_HEX_DIGITS = frozenset("0123456789abcdefABCDEF")
_OCTAL_DIGITS = frozenset("01234567")
_DIGITS = frozenset("0123456789")
_CHAR_ESCAPES: Mapping[str, str] = {
    "a": "\a", "e": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t",
}  # fmt: skip
_CLASS_ESCAPES: Mapping[str, CharSet] = {
    "d": charset.DIGIT, "s": charset.SPACE, "w": charset.WORD,
    "h": charset.HORIZONTAL_SPACE, "v": charset.VERTICAL_SPACE,
}  # fmt: skip
_CLASS_LETTERS = frozenset("dDhHsSvVwW")
_ASSERTION_ESCAPES: Mapping[str, AssertionKind] = {
    "A": AssertionKind.BEGIN,
    "G": AssertionKind.LAST_MATCH,
    "z": AssertionKind.END,
}
_JAVA_TRIMMED = "".join(map(chr, range(0x21)))  # what Java's String.trim() takes off
_Escape = str | CharSet | Node


@dataclass(slots=True)
class Groups:
    """The capturing groups that were opened so far."""

    count: int = 0
    names: dict[str, int] = field(default_factory=dict)
    are_referenced: bool = False
    """Whether the pattern has a back reference."""


class EscapeReader:
    """Reads the escape at the cursor of a pattern."""

    def __init__(self, reader: PatternReader, groups: Groups) -> None:
        self._reader, self._groups = reader, groups

    def read_escape(self, *, in_class: bool, in_range: bool = False) -> _Escape:
        """Read an escape from its backslash on: a character, a set, or another node."""
        reader = self._reader
        char = reader.skip_char()
        if char in _CHAR_ESCAPES:
            return _CHAR_ESCAPES[char]
        if char == "v" and in_range:
            return "\x0b"
        if char in _CLASS_LETTERS:
            return self._make_class_set(char)
        readers = {"0": self._read_octal, "c": self._read_control, "u": self._read_utf16, "x": self._read_hex,
                   "N": self._read_character_name}  # fmt: skip
        if char in readers:
            return self._check_surrogate(readers[char]())
        if not in_class:
            found = self._read_node_escape(char)
            if found:
                return found
        if char.isascii() and char.isalnum():
            reader.raise_error("Illegal/unsupported escape sequence")
        return char

    def _check_surrogate(self, char: str) -> str:
        reader = self._reader
        if "\ud800" <= char <= "\udfff":
            reader.raise_error("a pattern cannot match half of a surrogate pair")
        return char

    def _make_class_set(self, char: str) -> CharSet:
        reader = self._reader
        unicode = reader.has_flag(Flags.UNICODE_CLASSES)
        kind = char.lower()
        found = _get_unicode_class(kind) if unicode and kind in "dsw" else _CLASS_ESCAPES[kind]
        return ~found if char.isupper() else found

    def _read_node_escape(self, char: str) -> Node | None:  # noqa: PLR0911  # one for each letter
        if char in _ASSERTION_ESCAPES:
            return Assertion(_ASSERTION_ESCAPES[char])
        if char in "123456789":
            return self._read_backref(int(char))
        match char:
            case "Z":
                return Assertion(resolve_last_line_end(self._reader.flags))
            case "b" | "B":
                return self._read_boundary(char)
            case "R":
                return LineBreak()
            case "X":
                return Cluster()
            case "k":
                return self._read_named_backref()
        return None

    def _read_boundary(self, char: str) -> Node:
        reader = self._reader
        unicode = reader.has_flag(Flags.UNICODE_CLASSES)
        if char == "B":
            return Assertion(AssertionKind.UNICODE_NO_WORD_EDGE if unicode else AssertionKind.NO_WORD_EDGE)
        if reader.peek_char() == "{":
            if reader.skip_char() == "g":
                if reader.read_char() == "}":
                    return Assertion(AssertionKind.CLUSTER_EDGE)
                reader.raise_error("Illegal/unsupported escape sequence")
            reader.unread_char()
            reader.unread_char()
        return Assertion(AssertionKind.UNICODE_WORD_EDGE if unicode else AssertionKind.WORD_EDGE)

    def _read_backref(self, number: int) -> Node:
        """Read digits as long as the number is that of a group that has been opened."""
        reader = self._reader
        while (char := reader.peek_char()) in _DIGITS:
            longer = number * 10 + int(char)
            if self._groups.count < longer:
                break
            number = longer
            reader.read_char()
        return self._make_backref(number)

    def _read_named_backref(self) -> Node:
        reader = self._reader
        if reader.read_char() != "<":
            reader.raise_error("\\k is not followed by '<' for named capturing group")
        name = self.read_group_name(reader.read_char())
        if name not in self._groups.names:
            reader.raise_error(f"named capturing group <{name}> does not exist")
        return self._make_backref(self._groups.names[name])

    def _make_backref(self, number: int) -> Node:
        reader = self._reader
        self._groups.are_referenced = True
        if not reader.has_flag(Flags.CASE_INSENSITIVE):
            return BackRef(number, "")
        return BackRef(number, "unicode" if reader.has_flag(Flags.UNICODE_CASE) else "ascii")

    def read_group_name(self, char: str) -> str:
        """Read the rest of a group's name, and the `>` after it."""
        reader = self._reader
        name = ""
        if not (char.isascii() and char.isalpha()):
            reader.raise_error("capturing group name does not start with a Latin letter")
        while char.isascii() and char.isalnum():
            name += char
            char = reader.read_char()
        if char != ">":
            reader.raise_error("named capturing group is missing trailing '>'")
        return name

    def _read_control(self) -> str:
        reader = self._reader
        if reader.at_end:
            reader.raise_error("Illegal control escape sequence")
        return chr(ord(reader.read_char()) ^ 64)

    def _read_octal(self) -> str:
        reader = self._reader
        digits = reader.read_char()
        if digits not in _OCTAL_DIGITS:
            reader.raise_error("Illegal octal escape sequence")
        for longest in (2, 3):
            char = reader.read_char()
            if char not in _OCTAL_DIGITS or (longest == 3 and digits[0] > "3"):
                reader.unread_char()
                break
            digits += char
        return chr(int(digits, 8))

    def _read_hex(self) -> str:
        reader = self._reader
        char = reader.read_char()
        if char in _HEX_DIGITS:
            second = reader.read_char()
            if second in _HEX_DIGITS:
                return chr(int(char + second, 16))
        elif char == "{" and reader.peek_char() in _HEX_DIGITS:
            point = 0
            while (char := reader.read_char()) in _HEX_DIGITS:
                point = point * 16 + int(char, 16)
                if point > charset.LAST_CODE_POINT:
                    reader.raise_error("Hexadecimal codepoint is too big")
            if char != "}":
                reader.raise_error("Unclosed hexadecimal escape sequence")
            return chr(point)
        return reader.raise_error("Illegal hexadecimal escape sequence")

    def _read_utf16(self) -> str:
        reader = self._reader
        unit = self._read_four_digits()
        if 0xD800 <= unit < 0xDC00:
            back = reader.cursor
            if reader.read_char() == "\\" and reader.read_char() == "u":
                low = self._read_four_digits()
                if 0xDC00 <= low < 0xE000:
                    return chr(0x10000 + ((unit - 0xD800) << 10) + low - 0xDC00)
            reader.cursor = back
        return chr(unit)

    def _read_four_digits(self) -> int:
        reader = self._reader
        digits = ""
        for _ in range(4):
            char = reader.read_char()
            if char not in _HEX_DIGITS:
                reader.raise_error("Illegal Unicode escape sequence")
            digits += char
        return int(digits, 16)

    def _read_character_name(self) -> str:
        reader = self._reader
        if reader.read_char() != "{":
            reader.raise_error("Illegal character name escape sequence")
        start = reader.cursor
        while reader.read_char() != "}":
            if reader.at_end:
                reader.raise_error("Unclosed character name escape sequence")
        name = reader.slice_text(start, reader.cursor - 1)
        return _find_named_char(name) or reader.raise_error(
            f"Unknown character name [{name}]",
            hint="the names of controls, Hangul and ideographs are not known: write \\x{...}",
        )

    def read_property(self) -> CharSet:
        """Read a property from its `p` or `P` on: `pL`, `P{L}`, `p{IsLatin}`, ..."""
        reader = self._reader
        negated = reader.char_at() == "P"
        braced = reader.next_char() == "{"
        if not braced:
            reader.unread_char()
        reader.next_char()
        name = self._read_braced_name() if braced else self._read_property_letter()
        found = self._resolve_property(name)
        return ~found if negated else found

    def _read_property_letter(self) -> str:
        reader = self._reader
        name = reader.char_at()
        reader.read_char()
        return name

    def _read_braced_name(self) -> str:
        reader = self._reader
        start = reader.cursor
        while (char := reader.read_char()) != "}":
            if char == NUL and reader.cursor > reader.length:
                reader.raise_error("Unclosed character family")
        if reader.cursor > reader.length:
            reader.raise_error("Unclosed character family")
        if start + 1 >= reader.cursor:
            reader.raise_error("Empty character family")
        return reader.slice_text(start, reader.cursor - 1)

    def _resolve_property(self, name: str) -> CharSet:
        reader = self._reader
        from osprofile.javaregex import unicode13

        folds = reader.has_flag(Flags.CASE_INSENSITIVE)
        key, equals, value = name.partition("=")
        found: CharSet | None = None
        if equals:
            match key.lower():
                case "sc" | "script":
                    found = unicode13.find_script(value)
                case "blk" | "block":
                    found = unicode13.find_block(value)
                case "gc" | "general_category":
                    found = unicode13.find_named_property(value, fold_case=folds)
        elif name.isascii():
            found = self._find_property(name, fold_case=folds)
        if found is None:
            reader.raise_error(f"Unknown character property name {{{name}}}")
        return found

    def _find_property(self, name: str, *, fold_case: bool) -> CharSet | None:
        reader = self._reader
        from osprofile.javaregex import unicode13

        if name.startswith("In"):
            return unicode13.find_block(name[2:])
        if name.startswith("Is"):
            return (
                unicode13.find_binary_property(name[2:], fold_case=fold_case)
                or unicode13.find_named_property(name[2:], fold_case=fold_case)
                or unicode13.find_script(name[2:])
            )
        found = None
        if reader.has_flag(Flags.UNICODE_CLASSES):
            found = unicode13.find_posix_class(name, fold_case=fold_case)
        return found or unicode13.find_named_property(name, fold_case=fold_case)


def resolve_last_line_end(flags: Flags) -> AssertionKind:
    r"""Return what `$` or `\Z` means at the end of the text."""
    unix = Flags.UNIX_LINES in flags
    return AssertionKind.UNIX_LAST_LINE_END if unix else AssertionKind.LAST_LINE_END


def _get_unicode_class(char: str) -> CharSet:
    from osprofile.javaregex import unicode13

    match char:
        case "d":
            return unicode13.get_categories("Nd")
        case "s":
            return unicode13.get_white_space()
        case _:
            return unicode13.get_word_chars()


def _find_named_char(name: str) -> str | None:
    """Return the character of a name, or None where Java's name for it may differ from Unicode's.

    Java has names of its own for controls and for characters that Unicode names by rule. Unicode
    never changes a name, so a character of version 13 has the same name in any later version.
    """
    import unicodedata

    from osprofile.javaregex import unicode13

    name = name.strip(_JAVA_TRIMMED).upper()
    try:
        char = unicodedata.lookup(name)
    except KeyError:
        return None
    by_rule = name.startswith(("HANGUL SYLLABLE ", "CJK ", "TANGUT ", "NUSHU ", "KHITAN "))
    if len(char) != 1 or by_rule or unicodedata.name(char, "") != name:
        return None
    return None if char in unicode13.get_categories("Cn Cc") else char
