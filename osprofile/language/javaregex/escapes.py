r"""Escapes (`\n`, `\x41`, `\d`, `\1`, ...) and properties (`\p{L}`) of a pattern."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from osprofile.language.javaregex import charset
from osprofile.language.javaregex.charset import CharSet
from osprofile.language.javaregex.reader import NUL, Flags, Reader
from osprofile.language.javaregex.syntax import (
    Assertion,
    BackRef,
    Cluster,
    LineBreak,
    Node,
    Where,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_HEX = frozenset("0123456789abcdefABCDEF")
_OCTAL = frozenset("01234567")
_PLAIN: Mapping[str, str] = {
    "a": "\a", "e": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t",
}  # fmt: skip
_SETS: Mapping[str, CharSet] = {
    "d": charset.DIGIT, "s": charset.SPACE, "w": charset.WORD,
    "h": charset.HORIZONTAL, "v": charset.VERTICAL,
}  # fmt: skip
_CLASSES = frozenset("dDhHsSvVwW")
_PLACES: Mapping[str, Where] = {"A": Where.BEGIN, "G": Where.LAST_MATCH, "z": Where.END}
_TRIMMED = "".join(map(chr, range(0x21)))  # what Java's String.trim() takes off
Escape = str | CharSet | Node


class Escapes(Reader):
    """Reads what begins with a backslash."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.groups = 0
        self.names: dict[str, int] = {}
        self.has_backrefs = False

    def escape(self, *, in_class: bool, in_range: bool = False) -> Escape:
        """Read an escape from its backslash on: a character, a set, or a node of its own."""
        char = self.skip()
        if char in _PLAIN:
            return _PLAIN[char]
        if char == "v" and in_range:
            return "\x0b"
        if char in _CLASSES:
            return self._class(char)
        readers = {"0": self._octal, "c": self._control, "u": self._utf16, "x": self._hex,
                   "N": self._name}  # fmt: skip
        if char in readers:
            return self._whole(readers[char]())
        if not in_class:
            found = self._place(char)
            if found:
                return found
        if char.isascii() and char.isalnum():
            self.fail("Illegal/unsupported escape sequence")
        return char

    def _whole(self, char: str) -> str:
        if "\ud800" <= char <= "\udfff":
            self.fail("a pattern cannot match half of a surrogate pair")
        return char

    def _class(self, char: str) -> CharSet:
        unicode = self.has(Flags.UNICODE_CLASSES)
        kind = char.lower()
        found = _unicode(kind) if unicode and kind in "dsw" else _SETS[kind]
        return ~found if char.isupper() else found

    def _place(self, char: str) -> Node | None:
        if char in _PLACES:
            return Assertion(_PLACES[char])
        if char in "123456789":
            return self._backref(int(char))
        reader = self._nodes.get(char)
        return reader(self, char) if reader else None

    def _last_line_end(self, _: str) -> Node:
        unix = self.has(Flags.UNIX_LINES)
        return Assertion(Where.UNIX_LAST_LINE_END if unix else Where.LAST_LINE_END)

    def _edge(self, char: str) -> Node:
        unicode = self.has(Flags.UNICODE_CLASSES)
        if char == "B":
            return Assertion(Where.UNICODE_NO_WORD_EDGE if unicode else Where.NO_WORD_EDGE)
        if self.peek() == "{":
            if self.skip() == "g":
                if self.read() == "}":
                    return Assertion(Where.CLUSTER_EDGE)
                self.fail("Illegal/unsupported escape sequence")
            self.unread()
            self.unread()
        return Assertion(Where.UNICODE_WORD_EDGE if unicode else Where.WORD_EDGE)

    def _backref(self, number: int) -> Node:
        """Read a number as long as there are that many groups already."""
        while (char := self.peek()) in _HEX and char.isdigit():
            longer = number * 10 + int(char)
            if self.groups < longer:
                break
            number = longer
            self.read()
        return self._reference(number)

    def _named_backref(self, _: str) -> Node:
        if self.read() != "<":
            self.fail("\\k is not followed by '<' for named capturing group")
        name = self.group_name(self.read())
        if name not in self.names:
            self.fail(f"named capturing group <{name}> does not exist")
        return self._reference(self.names[name])

    def _reference(self, number: int) -> Node:
        self.has_backrefs = True
        if not self.has(Flags.CASE_INSENSITIVE):
            return BackRef(number, "")
        return BackRef(number, "unicode" if self.has(Flags.UNICODE_CASE) else "ascii")

    def group_name(self, char: str) -> str:
        """Read the rest of a group's name, and the `>` after it."""
        name = ""
        if not (char.isascii() and char.isalpha()):
            self.fail("capturing group name does not start with a Latin letter")
        while char.isascii() and char.isalnum():
            name += char
            char = self.read()
        if char != ">":
            self.fail("named capturing group is missing trailing '>'")
        return name

    _nodes: ClassVar[Mapping[str, Callable[[Escapes, str], Node]]] = {
        "Z": _last_line_end,
        "b": _edge,
        "B": _edge,
        "R": lambda _reader, _char: LineBreak(),
        "X": lambda _reader, _char: Cluster(),
        "k": _named_backref,
    }

    def _control(self) -> str:
        if self.at_end:
            self.fail("Illegal control escape sequence")
        return chr(ord(self.read()) ^ 64)

    def _octal(self) -> str:
        digits = self.read()
        if digits not in _OCTAL:
            self.fail("Illegal octal escape sequence")
        for longest in (2, 3):
            char = self.read()
            if char not in _OCTAL or (longest == 3 and digits[0] > "3"):
                self.unread()
                break
            digits += char
        return chr(int(digits, 8))

    def _hex(self) -> str:
        char = self.read()
        if char in _HEX:
            second = self.read()
            if second in _HEX:
                return chr(int(char + second, 16))
        elif char == "{" and self.peek() in _HEX:
            point = 0
            while (char := self.read()) in _HEX:
                point = point * 16 + int(char, 16)
                if point > charset.LAST:
                    self.fail("Hexadecimal codepoint is too big")
            if char != "}":
                self.fail("Unclosed hexadecimal escape sequence")
            return chr(point)
        return self.fail("Illegal hexadecimal escape sequence")

    def _utf16(self) -> str:
        unit = self._four()
        if 0xD800 <= unit < 0xDC00:
            back = self.cursor
            if self.read() == "\\" and self.read() == "u":
                low = self._four()
                if 0xDC00 <= low < 0xE000:
                    return chr(0x10000 + ((unit - 0xD800) << 10) + low - 0xDC00)
            self.cursor = back
        return chr(unit)

    def _four(self) -> int:
        digits = ""
        for _ in range(4):
            char = self.read()
            if char not in _HEX:
                self.fail("Illegal Unicode escape sequence")
            digits += char
        return int(digits, 16)

    def _name(self) -> str:
        if self.read() != "{":
            self.fail("Illegal character name escape sequence")
        start = self.cursor
        while self.read() != "}":
            if self.at_end:
                self.fail("Unclosed character name escape sequence")
        name = self.slice(start, self.cursor - 1)
        return _named(name) or self.fail(
            f"Unknown character name [{name}]",
            hint="the names of controls, Hangul and ideographs are not known: write \\x{...}",
        )

    def property(self) -> CharSet:
        """Read a property from behind its backslash on: `pL`, `P{L}`, `p{IsLatin}`, ..."""
        negated = self.char() == "P"
        braced = self.next() == "{"
        if not braced:
            self.unread()
        self.next()
        name = self._braced_name() if braced else self._letter()
        found = self._property(name)
        return ~found if negated else found

    def _letter(self) -> str:
        name = self.char()
        self.read()
        return name

    def _braced_name(self) -> str:
        start = self.cursor
        while (char := self.read()) != "}":
            if char == NUL and self.cursor > self.length:
                self.fail("Unclosed character family")
        if self.cursor > self.length:
            self.fail("Unclosed character family")
        if start + 1 >= self.cursor:
            self.fail("Empty character family")
        return self.slice(start, self.cursor - 1)

    def _property(self, name: str) -> CharSet:
        from osprofile.language.javaregex import unicode13 as known

        folds = self.has(Flags.CASE_INSENSITIVE)
        key, equals, value = name.partition("=")
        found: CharSet | None = None
        if equals:
            match key.lower():
                case "sc" | "script":
                    found = known.script(value)
                case "blk" | "block":
                    found = known.block(value)
                case "gc" | "general_category":
                    found = known.named(value, fold_case=folds)
        elif not name.isascii():
            found = None
        elif name.startswith("In"):
            found = known.block(name[2:])
        elif name.startswith("Is"):
            short = name[2:]
            found = known.binary(short, fold_case=folds) or known.named(short, fold_case=folds)
            found = found or known.script(short)
        else:
            if self.has(Flags.UNICODE_CLASSES):
                found = known.posix(name, fold_case=folds)
            found = found or known.named(name, fold_case=folds)
        if found is None:
            self.fail(f"Unknown character property name {{{name}}}")
        return found


def _unicode(char: str) -> CharSet:
    from osprofile.language.javaregex import unicode13 as known

    match char:
        case "d":
            return known.categories("Nd")
        case "s":
            return known.white_space()
        case _:
            return known.word()


def _named(name: str) -> str | None:
    """Give the character of a name, where Java's names and Unicode's are known to agree.

    Java has its own for controls and for what Unicode names by rule; names are never changed once
    given, so what version 13 has, under its own name, is the same in any later version.
    """
    import unicodedata

    from osprofile.language.javaregex import unicode13 as known

    name = name.strip(_TRIMMED).upper()
    try:
        char = unicodedata.lookup(name)
    except KeyError:
        return None
    by_rule = name.startswith(("HANGUL SYLLABLE ", "CJK ", "TANGUT ", "NUSHU ", "KHITAN "))
    if len(char) != 1 or by_rule or unicodedata.name(char, "") != name:
        return None
    return None if char in known.categories("Cn Cc") else char
