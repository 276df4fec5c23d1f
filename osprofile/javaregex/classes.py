"""Character classes of Java's patterns, `[a-z&&[^b]]`, and what a literal character matches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from osprofile.javaregex import charset
from osprofile.javaregex.charset import EMPTY, CharSet
from osprofile.javaregex.reader import NUL, Flags

if TYPE_CHECKING:
    from osprofile.javaregex.escapes import EscapeReader
    from osprofile.javaregex.reader import PatternReader

# The Latin-1 characters that have another case outside of Latin-1: under (?iu) the JDK does not add
# them to the `bits` of a class (Pattern.bitsOrSingle).
_CASE_EXCEPTIONS = frozenset("\xff\xb5IiSsKk\xc5\xe5")


def make_literal_set(char: str, flags: Flags) -> CharSet:
    """Return what a single literal character matches."""
    if Flags.CASE_INSENSITIVE not in flags:
        return CharSet.from_chars(char)
    if Flags.UNICODE_CASE in flags:
        from osprofile.javaregex import unicode13

        upper = unicode13.to_upper(ord(char))
        lower = unicode13.to_lower(upper)
        return CharSet.from_chars(char) if upper == lower else unicode13.get_fold_set(lower)
    return CharSet.from_chars({char, char.lower(), char.upper()} if char.isascii() else char)


def make_slice_set(char: str, flags: Flags) -> CharSet:
    """Return what a literal character in a run of several matches.

    Under `(?iu)` the JDK compares a run by folded forms (`SliceU`), but lets a single character
    without two cases of its own, such as U+00DF, match only itself (`Single`).
    """
    if not (Flags.CASE_INSENSITIVE in flags and Flags.UNICODE_CASE in flags):
        return make_literal_set(char, flags)
    from osprofile.javaregex import unicode13

    return unicode13.get_fold_set(unicode13.to_folded(ord(char)))


class ClassReader:
    """Reads the character class at the cursor of a pattern."""

    def __init__(self, reader: PatternReader, escapes: EscapeReader) -> None:
        self._reader, self._escapes = reader, escapes

    def read_class(self, *, closes: bool = True) -> CharSet:
        """Read a class from its `[` on, or (not `closes`) a right operand of `&&` without brackets."""
        reader = self._reader
        reader.enter_level()
        char = reader.next_char()
        negated = char == "^" and reader.char_at(-1) == "["
        if negated:
            char = reader.next_char()
        found = _ClassBuilder(self, reader).read_items(char, closes=closes)
        reader.depth -= 1
        return ~found if negated else found

    def read_class_item(self) -> tuple[CharSet, bool]:
        """Return the set of an item that is not a class, and whether it belongs to the `bits`."""
        reader = self._reader
        char = reader.peek_char()
        if char == "\\":
            if reader.char_at(1) in "pP":
                reader.cursor += 1
                return self._escapes.read_property(), False
            in_range = reader.char_at(2) == "-"
            escaped = self._escapes.read_escape(in_class=True, in_range=in_range)
            if isinstance(escaped, CharSet):
                return escaped, False
            if not isinstance(escaped, str):
                reader.raise_error("Illegal/unsupported escape sequence")
            char = escaped
        else:
            reader.next_char()
        if reader.peek_char() == "-":
            after = reader.char_at(1)
            if after not in "[]":
                reader.next_char()
                return self._make_range_set(char, self._read_range_end()), False
        return self._make_item_set(char)

    def _read_range_end(self) -> str:
        reader = self._reader
        char = reader.peek_char()
        if char != "\\":
            reader.next_char()
            return char
        escaped = self._escapes.read_escape(in_class=True, in_range=True)
        return escaped if isinstance(escaped, str) else reader.raise_error("Illegal character range")

    def _make_range_set(self, first: str, last: str) -> CharSet:
        reader = self._reader
        if last < first:
            reader.raise_error("Illegal character range")
        plain = CharSet.from_ranges((ord(first), ord(last)))
        if not reader.has_flag(Flags.CASE_INSENSITIVE):
            return plain
        if not reader.has_flag(Flags.UNICODE_CASE):
            cased = (*(plain & charset.UPPER).ranges, *(plain & charset.LOWER).ranges)
            return plain | CharSet.from_ranges(*((a ^ 0x20, b ^ 0x20) for a, b in cased))
        from osprofile.javaregex import unicode13

        more = (
            c
            for c in unicode13.list_cased_points()
            if chr(unicode13.to_upper(c)) in plain or chr(unicode13.to_folded(c)) in plain
        )
        return plain | CharSet.from_chars(more)

    def _make_item_set(self, char: str) -> tuple[CharSet, bool]:
        reader = self._reader
        unicode = reader.has_flag(Flags.CASE_INSENSITIVE) and reader.has_flag(Flags.UNICODE_CASE)
        if char > "\xff" or (unicode and char in _CASE_EXCEPTIONS):
            return make_literal_set(char, self._reader.flags), False
        if unicode and not char.isascii():
            from osprofile.javaregex import unicode13

            point = ord(char)
            return CharSet.from_chars([point, unicode13.to_lower(point), unicode13.to_upper(point)]), True
        return make_literal_set(char, self._reader.flags), True


class _ClassBuilder:
    """The state of the class that is being read.

    The JDK keeps what single Latin-1 characters add up to (`bits`) apart from the rest
    (`previous`), and joins the two late: at `&&` and at the end. What an `&&` means depends on
    which of the two it finds, so both are kept here, under the JDK's names.
    """

    def __init__(self, classes: ClassReader, reader: PatternReader) -> None:
        self.classes, self.reader = classes, reader
        self.bits = EMPTY
        self.has_bits = False
        self.previous: CharSet | None = None
        self.current: CharSet | None = None

    def read_items(self, char: str, *, closes: bool) -> CharSet:
        """Read items up to the `]`; with `closes`, read the `]` too."""
        classes, reader = self.classes, self.reader
        while True:
            if char == "[":
                self._add_set(classes.read_class())
            elif char == "&" and reader.next_char() == "&":
                self._read_intersection()
                char = reader.peek_char()
                continue
            else:
                if char == "&":
                    reader.unread_char()
                elif char == NUL and reader.at_end:
                    reader.raise_error("Unclosed character class")
                elif char == "]" and (self.previous is not None or self.has_bits):
                    if closes:
                        reader.next_char()
                    return self._get_result()
                self._read_item()
            char = reader.peek_char()

    def _get_result(self) -> CharSet:
        if self.previous is None:
            return self.bits
        return self.previous | self.bits if self.has_bits else self.previous

    def _add_set(self, more: CharSet) -> None:
        self.current = more
        self.previous = more if self.previous is None else self.previous | more

    def _read_item(self) -> None:
        found, in_bits = self.classes.read_class_item()
        if in_bits:
            self.bits |= found
            self.has_bits = True
            self.current = None
        else:
            self._add_set(found)

    def _read_intersection(self) -> None:
        right = self._read_right_side()
        if self.has_bits:
            if self.previous is None:
                self.previous = self.current = self.bits
            else:
                self.previous |= self.bits
            self.has_bits = False
        if right is not None:
            self.current = right
        if self.previous is None:
            self.previous = right
            if right is None:
                self.reader.raise_error("Bad class syntax")
        elif self.current is None:  # Java compiles this, and fails when it matches
            self.reader.raise_error("nothing on the right of && in a character class")
        else:
            self.previous &= self.current

    def _read_right_side(self) -> CharSet | None:
        """Read the right operand of `&&`: all up to the `]` or the next `&`."""
        classes, reader = self.classes, self.reader
        right: CharSet | None = None
        char = reader.next_char()
        while char not in "]&":
            if char == "[":
                more = classes.read_class()
            else:
                reader.unread_char()
                more = classes.read_class(closes=False)
            right = more if right is None else right | more
            char = reader.peek_char()
        return right
