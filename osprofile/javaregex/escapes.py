r"""Escapes (`\n`, `\x41`, `\d`, `\1`, ...) and properties (`\p{L}`) of a pattern."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from osprofile.javaregex import charset
from osprofile.javaregex.charset import CharSet
from osprofile.javaregex.reader import NUL, Flags, PatternReader
from osprofile.javaregex.syntax import (
    Assertion,
    AssertionKind,
    BackRef,
    Cluster,
    LineBreak,
    Node,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_HEX_DIGITS = frozenset("0123456789abcdefABCDEF")
_OCTAL_DIGITS = frozenset("01234567")
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
Escape = str | CharSet | Node


class EscapeReader(PatternReader):
    """Reads what begins with a backslash."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.group_count = 0
        self.group_names: dict[str, int] = {}
        self.has_backrefs = False

    def read_escape(self, *, in_class: bool, in_range: bool = False) -> Escape:
        """Read an escape from its backslash on: a character, a set, or a node of its own."""
        char = self.skip_char()
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
            self.raise_error("Illegal/unsupported escape sequence")
        return char

    def _check_surrogate(self, char: str) -> str:
        if "\ud800" <= char <= "\udfff":
            self.raise_error("a pattern cannot match half of a surrogate pair")
        return char

    def _make_class_set(self, char: str) -> CharSet:
        unicode = self.has_flag(Flags.UNICODE_CLASSES)
        kind = char.lower()
        found = _get_unicode_class(kind) if unicode and kind in "dsw" else _CLASS_ESCAPES[kind]
        return ~found if char.isupper() else found

    def _read_node_escape(self, char: str) -> Node | None:
        if char in _ASSERTION_ESCAPES:
            return Assertion(_ASSERTION_ESCAPES[char])
        if char in "123456789":
            return self._read_backref(int(char))
        reader = self._node_readers.get(char)
        return reader(self, char) if reader else None

    def _make_last_line_end(self, _: str) -> Node:
        unix = self.has_flag(Flags.UNIX_LINES)
        return Assertion(AssertionKind.UNIX_LAST_LINE_END if unix else AssertionKind.LAST_LINE_END)

    def _read_boundary(self, char: str) -> Node:
        unicode = self.has_flag(Flags.UNICODE_CLASSES)
        if char == "B":
            return Assertion(
                AssertionKind.UNICODE_NO_WORD_EDGE if unicode else AssertionKind.NO_WORD_EDGE
            )
        if self.peek_char() == "{":
            if self.skip_char() == "g":
                if self.read_char() == "}":
                    return Assertion(AssertionKind.CLUSTER_EDGE)
                self.raise_error("Illegal/unsupported escape sequence")
            self.unread_char()
            self.unread_char()
        return Assertion(AssertionKind.UNICODE_WORD_EDGE if unicode else AssertionKind.WORD_EDGE)

    def _read_backref(self, number: int) -> Node:
        """Read a number as long as there are that many groups already."""
        while (char := self.peek_char()) in _HEX_DIGITS and char.isdigit():
            longer = number * 10 + int(char)
            if self.group_count < longer:
                break
            number = longer
            self.read_char()
        return self._make_backref(number)

    def _read_named_backref(self, _: str) -> Node:
        if self.read_char() != "<":
            self.raise_error("\\k is not followed by '<' for named capturing group")
        name = self.read_group_name(self.read_char())
        if name not in self.group_names:
            self.raise_error(f"named capturing group <{name}> does not exist")
        return self._make_backref(self.group_names[name])

    def _make_backref(self, number: int) -> Node:
        self.has_backrefs = True
        if not self.has_flag(Flags.CASE_INSENSITIVE):
            return BackRef(number, "")
        return BackRef(number, "unicode" if self.has_flag(Flags.UNICODE_CASE) else "ascii")

    def read_group_name(self, char: str) -> str:
        """Read the rest of a group's name, and the `>` after it."""
        name = ""
        if not (char.isascii() and char.isalpha()):
            self.raise_error("capturing group name does not start with a Latin letter")
        while char.isascii() and char.isalnum():
            name += char
            char = self.read_char()
        if char != ">":
            self.raise_error("named capturing group is missing trailing '>'")
        return name

    _node_readers: ClassVar[Mapping[str, Callable[[EscapeReader, str], Node]]] = {
        "Z": _make_last_line_end,
        "b": _read_boundary,
        "B": _read_boundary,
        "R": lambda _reader, _char: LineBreak(),
        "X": lambda _reader, _char: Cluster(),
        "k": _read_named_backref,
    }

    def _read_control(self) -> str:
        if self.at_end:
            self.raise_error("Illegal control escape sequence")
        return chr(ord(self.read_char()) ^ 64)

    def _read_octal(self) -> str:
        digits = self.read_char()
        if digits not in _OCTAL_DIGITS:
            self.raise_error("Illegal octal escape sequence")
        for longest in (2, 3):
            char = self.read_char()
            if char not in _OCTAL_DIGITS or (longest == 3 and digits[0] > "3"):
                self.unread_char()
                break
            digits += char
        return chr(int(digits, 8))

    def _read_hex(self) -> str:
        char = self.read_char()
        if char in _HEX_DIGITS:
            second = self.read_char()
            if second in _HEX_DIGITS:
                return chr(int(char + second, 16))
        elif char == "{" and self.peek_char() in _HEX_DIGITS:
            point = 0
            while (char := self.read_char()) in _HEX_DIGITS:
                point = point * 16 + int(char, 16)
                if point > charset.LAST_CODE_POINT:
                    self.raise_error("Hexadecimal codepoint is too big")
            if char != "}":
                self.raise_error("Unclosed hexadecimal escape sequence")
            return chr(point)
        return self.raise_error("Illegal hexadecimal escape sequence")

    def _read_utf16(self) -> str:
        unit = self._read_four_digits()
        if 0xD800 <= unit < 0xDC00:
            back = self.cursor
            if self.read_char() == "\\" and self.read_char() == "u":
                low = self._read_four_digits()
                if 0xDC00 <= low < 0xE000:
                    return chr(0x10000 + ((unit - 0xD800) << 10) + low - 0xDC00)
            self.cursor = back
        return chr(unit)

    def _read_four_digits(self) -> int:
        digits = ""
        for _ in range(4):
            char = self.read_char()
            if char not in _HEX_DIGITS:
                self.raise_error("Illegal Unicode escape sequence")
            digits += char
        return int(digits, 16)

    def _read_character_name(self) -> str:
        if self.read_char() != "{":
            self.raise_error("Illegal character name escape sequence")
        start = self.cursor
        while self.read_char() != "}":
            if self.at_end:
                self.raise_error("Unclosed character name escape sequence")
        name = self.slice_text(start, self.cursor - 1)
        return _find_named_char(name) or self.raise_error(
            f"Unknown character name [{name}]",
            hint="the names of controls, Hangul and ideographs are not known: write \\x{...}",
        )

    def read_property(self) -> CharSet:
        """Read a property from behind its backslash on: `pL`, `P{L}`, `p{IsLatin}`, ..."""
        negated = self.char_at() == "P"
        braced = self.next_char() == "{"
        if not braced:
            self.unread_char()
        self.next_char()
        name = self._read_braced_name() if braced else self._read_property_letter()
        found = self._resolve_property(name)
        return ~found if negated else found

    def _read_property_letter(self) -> str:
        name = self.char_at()
        self.read_char()
        return name

    def _read_braced_name(self) -> str:
        start = self.cursor
        while (char := self.read_char()) != "}":
            if char == NUL and self.cursor > self.length:
                self.raise_error("Unclosed character family")
        if self.cursor > self.length:
            self.raise_error("Unclosed character family")
        if start + 1 >= self.cursor:
            self.raise_error("Empty character family")
        return self.slice_text(start, self.cursor - 1)

    def _resolve_property(self, name: str) -> CharSet:
        from osprofile.javaregex import unicode13 as known

        folds = self.has_flag(Flags.CASE_INSENSITIVE)
        key, equals, value = name.partition("=")
        found: CharSet | None = None
        if equals:
            match key.lower():
                case "sc" | "script":
                    found = known.find_script(value)
                case "blk" | "block":
                    found = known.find_block(value)
                case "gc" | "general_category":
                    found = known.find_named_property(value, fold_case=folds)
        elif not name.isascii():
            found = None
        elif name.startswith("In"):
            found = known.find_block(name[2:])
        elif name.startswith("Is"):
            short = name[2:]
            found = known.find_binary_property(short, fold_case=folds) or known.find_named_property(
                short, fold_case=folds
            )
            found = found or known.find_script(short)
        else:
            if self.has_flag(Flags.UNICODE_CLASSES):
                found = known.find_posix_class(name, fold_case=folds)
            found = found or known.find_named_property(name, fold_case=folds)
        if found is None:
            self.raise_error(f"Unknown character property name {{{name}}}")
        return found


def _get_unicode_class(char: str) -> CharSet:
    from osprofile.javaregex import unicode13 as known

    match char:
        case "d":
            return known.get_categories("Nd")
        case "s":
            return known.get_white_space()
        case _:
            return known.get_word_chars()


def _find_named_char(name: str) -> str | None:
    """Give the character of a name, where Java's names and Unicode's are known to agree.

    Java has its own for controls and for what Unicode names by rule; names are never changed once
    given, so what version 13 has, under its own name, is the same in any later version.
    """
    import unicodedata

    from osprofile.javaregex import unicode13 as known

    name = name.strip(_JAVA_TRIMMED).upper()
    try:
        char = unicodedata.lookup(name)
    except KeyError:
        return None
    by_rule = name.startswith(("HANGUL SYLLABLE ", "CJK ", "TANGUT ", "NUSHU ", "KHITAN "))
    if len(char) != 1 or by_rule or unicodedata.name(char, "") != name:
        return None
    return None if char in known.get_categories("Cn Cc") else char
