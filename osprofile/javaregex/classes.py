"""Character classes: `[a-z&&[^bc]]`, as the JDK's compiler reads them.

    class   "[" "^"? item* "]"
    item    class | "&&" right | range | char | escape | property

In the JDK, what single Latin-1 characters add up to (`bits`) is kept apart from the rest (`previous`)
and is joined to it late, at `&&` and at the end; which of the two an `&&` finds decides what it
means. Hence the two of them here.
"""

from __future__ import annotations

from osprofile.javaregex import charset
from osprofile.javaregex.charset import EMPTY, CharSet
from osprofile.javaregex.escapes import EscapeReader
from osprofile.javaregex.reader import NUL, Flags

MAX_NESTING = 64
_CASE_EXCEPTIONS = frozenset(map(chr, (0xFF, 0xB5, 0x49, 0x69, 0x53, 0x73, 0x4B, 0x6B, 0xC5, 0xE5)))


class ClassReader(EscapeReader):
    """Reads character classes, and says what one character matches under the flags."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.depth = 0

    def enter_level(self) -> None:
        """Count one level of nesting; refuse too many."""
        self.depth += 1
        if self.depth > MAX_NESTING:
            self.raise_error(
                f"more than {MAX_NESTING} levels of nesting", hint="write the pattern flatter"
            )

    def make_literal_set(self, char: str) -> CharSet:
        """Give what a literal character matches."""
        if not self.has_flag(Flags.CASE_INSENSITIVE):
            return CharSet.from_chars(char)
        if self.has_flag(Flags.UNICODE_CASE):
            from osprofile.javaregex import unicode13 as known

            upper = known.to_upper(ord(char))
            lower = known.to_lower(upper)
            return CharSet.from_chars(char) if upper == lower else known.get_fold_set(lower)
        return CharSet.from_chars({char, char.lower(), char.upper()} if char.isascii() else char)

    def make_slice_set(self, char: str) -> CharSet:
        """Give what a literal character matches that has others beside it."""
        if not (self.has_flag(Flags.CASE_INSENSITIVE) and self.has_flag(Flags.UNICODE_CASE)):
            return self.make_literal_set(char)
        from osprofile.javaregex import unicode13 as known

        return known.get_fold_set(known.to_folded(ord(char)))

    def read_class(self, *, closes: bool = True) -> CharSet:
        """Read a class, its `[` being the next; or the right side of an `&&` without brackets."""
        self.enter_level()
        char = self.next_char()
        negated = char == "^" and self.char_at(-1) == "["
        if negated:
            char = self.next_char()
        found = _ClassBuilder(self).read_items(char, closes=closes)
        self.depth -= 1
        return ~found if negated else found

    def read_class_item(self) -> tuple[CharSet, bool]:
        """Read one item that is no class; and tell whether it belongs to the `bits`."""
        char = self.peek_char()
        if char == "\\":
            if self.char_at(1) in "pP":
                self.cursor += 1
                return self.read_property(), False
            in_range = self.char_at(2) == "-"
            escaped = self.read_escape(in_class=True, in_range=in_range)
            if isinstance(escaped, CharSet):
                return escaped, False
            if not isinstance(escaped, str):
                self.raise_error("Illegal/unsupported escape sequence")
            char = escaped
        else:
            self.next_char()
        if self.peek_char() == "-":
            after = self.char_at(1)
            if after not in "[]":
                self.next_char()
                return self._make_range_set(char, self._read_range_end()), False
        return self._make_item_set(char)

    def _read_range_end(self) -> str:
        char = self.peek_char()
        if char != "\\":
            self.next_char()
            return char
        escaped = self.read_escape(in_class=True, in_range=True)
        return escaped if isinstance(escaped, str) else self.raise_error("Illegal character range")

    def _make_range_set(self, first: str, last: str) -> CharSet:
        if last < first:
            self.raise_error("Illegal character range")
        plain = CharSet.from_ranges((ord(first), ord(last)))
        if not self.has_flag(Flags.CASE_INSENSITIVE):
            return plain
        if not self.has_flag(Flags.UNICODE_CASE):
            letters = plain & charset.ALPHA
            return plain | CharSet.from_ranges(
                *((a ^ 0x20, b ^ 0x20) for a, b in _split_by_case(letters))
            )
        from osprofile.javaregex import unicode13 as known

        more = (
            c
            for c in known.list_cased_points()
            if chr(known.to_upper(c)) in plain or chr(known.to_folded(c)) in plain
        )
        return plain | CharSet.from_chars(more)

    def _make_item_set(self, char: str) -> tuple[CharSet, bool]:
        folds = self.has_flag(Flags.CASE_INSENSITIVE)
        unicode = folds and self.has_flag(Flags.UNICODE_CASE)
        if char > "\xff" or (unicode and char in _CASE_EXCEPTIONS):
            return self.make_literal_set(char), False
        if unicode and not char.isascii():
            from osprofile.javaregex import unicode13 as known

            point = ord(char)
            return CharSet.from_chars([point, known.to_lower(point), known.to_upper(point)]), True
        return (CharSet.from_chars({char, char.lower(), char.upper()})
                if folds and char.isascii() else CharSet.from_chars(char)), True  # fmt: skip


class _ClassBuilder:
    """One class being read."""

    def __init__(self, reader: ClassReader) -> None:
        self.reader = reader
        self.bits = EMPTY
        self.has_bits = False
        self.previous: CharSet | None = None
        self.current: CharSet | None = None

    def read_items(self, char: str, *, closes: bool) -> CharSet:
        """Read items up to the `]`, and that too if the class has one of its own."""
        reader = self.reader
        while True:
            if char == "[":
                self._add_set(reader.read_class())
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
        found, in_bits = self.reader.read_class_item()
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
        """Read what an `&&` intersects with: all up to the `]` or the next `&`."""
        reader = self.reader
        right: CharSet | None = None
        char = reader.next_char()
        while char not in "]&":
            if char == "[":
                more = reader.read_class()
            else:
                reader.unread_char()
                more = reader.read_class(closes=False)
            right = more if right is None else right | more
            char = reader.peek_char()
        return right


def _split_by_case(letters: CharSet) -> list[tuple[int, int]]:
    """Split ranges of ASCII letters where upper case ends, so that each can be shifted whole."""
    halves = (letters & charset.UPPER, letters & charset.LOWER)
    return [r for half in halves for r in half.ranges]
