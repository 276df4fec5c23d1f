"""Character classes: `[a-z&&[^bc]]`, as the JDK's compiler reads them.

    class   "[" "^"? item* "]"
    item    class | "&&" right | range | char | escape | property

In the JDK, what single Latin-1 characters add up to (`bits`) is kept apart from the rest (`sofar`)
and is joined to it late, at `&&` and at the end; which of the two an `&&` finds decides what it
means. Hence the two of them here.
"""

from __future__ import annotations

from osprofile.language.javaregex import charset
from osprofile.language.javaregex.charset import EMPTY, CharSet
from osprofile.language.javaregex.escapes import Escapes
from osprofile.language.javaregex.reader import NUL, Flags

DEEPEST = 64
_SLOW_CASES = frozenset(map(chr, (0xFF, 0xB5, 0x49, 0x69, 0x53, 0x73, 0x4B, 0x6B, 0xC5, 0xE5)))


class Classes(Escapes):
    """Reads character classes, and says what one character matches under the flags."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.depth = 0

    def deeper(self) -> None:
        """Count one level of nesting; refuse too many."""
        self.depth += 1
        if self.depth > DEEPEST:
            self.fail(f"more than {DEEPEST} levels of nesting", hint="write the pattern flatter")

    def single(self, char: str) -> CharSet:
        """Give what a literal character matches."""
        if not self.has(Flags.CASE_INSENSITIVE):
            return CharSet.chars(char)
        if self.has(Flags.UNICODE_CASE):
            from osprofile.language.javaregex import unicode13 as known

            upper = known.upper(ord(char))
            lower = known.lower(upper)
            return CharSet.chars(char) if upper == lower else known.folding_to(lower)
        return CharSet.chars({char, char.lower(), char.upper()} if char.isascii() else char)

    def sliced(self, char: str) -> CharSet:
        """Give what a literal character matches that has others beside it."""
        if not (self.has(Flags.CASE_INSENSITIVE) and self.has(Flags.UNICODE_CASE)):
            return self.single(char)
        from osprofile.language.javaregex import unicode13 as known

        return known.folding_to(known.fold(ord(char)))

    def char_class(self, *, closes: bool = True) -> CharSet:
        """Read a class, its `[` being the next; or the right side of an `&&` without brackets."""
        self.deeper()
        char = self.next()
        negated = char == "^" and self.char(-1) == "["
        if negated:
            char = self.next()
        found = _Class(self).read(char, closes=closes)
        self.depth -= 1
        return ~found if negated else found

    def range_or_char(self) -> tuple[CharSet, bool]:
        """Read one item that is no class; and tell whether it belongs to the `bits`."""
        char = self.peek()
        if char == "\\":
            if self.char(1) in "pP":
                self.cursor += 1
                return self.property(), False
            in_range = self.char(2) == "-"
            escaped = self.escape(in_class=True, in_range=in_range)
            if isinstance(escaped, CharSet):
                return escaped, False
            if not isinstance(escaped, str):
                self.fail("Illegal/unsupported escape sequence")
            char = escaped
        else:
            self.next()
        if self.peek() == "-":
            after = self.char(1)
            if after not in "[]":
                self.next()
                return self._range(char, self._range_end()), False
        return self._alone(char)

    def _range_end(self) -> str:
        char = self.peek()
        if char != "\\":
            self.next()
            return char
        escaped = self.escape(in_class=True, in_range=True)
        return escaped if isinstance(escaped, str) else self.fail("Illegal character range")

    def _range(self, first: str, last: str) -> CharSet:
        if last < first:
            self.fail("Illegal character range")
        plain = CharSet.of((ord(first), ord(last)))
        if not self.has(Flags.CASE_INSENSITIVE):
            return plain
        if not self.has(Flags.UNICODE_CASE):
            letters = plain & charset.ALPHA
            return plain | CharSet.of(*((a ^ 0x20, b ^ 0x20) for a, b in _by_case(letters)))
        from osprofile.language.javaregex import unicode13 as known

        more = (
            c for c in known.cased() if chr(known.upper(c)) in plain or chr(known.fold(c)) in plain
        )
        return plain | CharSet.chars(more)

    def _alone(self, char: str) -> tuple[CharSet, bool]:
        folds = self.has(Flags.CASE_INSENSITIVE)
        unicode = folds and self.has(Flags.UNICODE_CASE)
        if char > "\xff" or (unicode and char in _SLOW_CASES):
            return self.single(char), False
        if unicode and not char.isascii():
            from osprofile.language.javaregex import unicode13 as known

            point = ord(char)
            return CharSet.chars([point, known.lower(point), known.upper(point)]), True
        return (CharSet.chars({char, char.lower(), char.upper()})
                if folds and char.isascii() else CharSet.chars(char)), True  # fmt: skip


class _Class:
    """One class being read."""

    def __init__(self, reader: Classes) -> None:
        self.reader = reader
        self.bits = EMPTY
        self.fresh_bits = False
        self.sofar: CharSet | None = None
        self.latest: CharSet | None = None

    def read(self, char: str, *, closes: bool) -> CharSet:
        """Read items up to the `]`, and that too if the class has one of its own."""
        reader = self.reader
        while True:
            if char == "[":
                self._join(reader.char_class())
            elif char == "&" and reader.next() == "&":
                self._intersect()
                char = reader.peek()
                continue
            else:
                if char == "&":
                    reader.unread()
                elif char == NUL and reader.at_end:
                    reader.fail("Unclosed character class")
                elif char == "]" and (self.sofar is not None or self.fresh_bits):
                    if closes:
                        reader.next()
                    return self._whole()
                self._item()
            char = reader.peek()

    def _whole(self) -> CharSet:
        if self.sofar is None:
            return self.bits
        return self.sofar | self.bits if self.fresh_bits else self.sofar

    def _join(self, more: CharSet) -> None:
        self.latest = more
        self.sofar = more if self.sofar is None else self.sofar | more

    def _item(self) -> None:
        found, in_bits = self.reader.range_or_char()
        if in_bits:
            self.bits |= found
            self.fresh_bits = True
            self.latest = None
        else:
            self._join(found)

    def _intersect(self) -> None:
        right = self._right()
        if self.fresh_bits:
            if self.sofar is None:
                self.sofar = self.latest = self.bits
            else:
                self.sofar |= self.bits
            self.fresh_bits = False
        if right is not None:
            self.latest = right
        if self.sofar is None:
            self.sofar = right
            if right is None:
                self.reader.fail("Bad class syntax")
        elif self.latest is None:  # Java compiles this, and fails when it matches
            self.reader.fail("nothing on the right of && in a character class")
        else:
            self.sofar &= self.latest

    def _right(self) -> CharSet | None:
        """Read what an `&&` intersects with: all up to the `]` or the next `&`."""
        reader = self.reader
        right: CharSet | None = None
        char = reader.next()
        while char not in "]&":
            if char == "[":
                more = reader.char_class()
            else:
                reader.unread()
                more = reader.char_class(closes=False)
            right = more if right is None else right | more
            char = reader.peek()
        return right


def _by_case(letters: CharSet) -> list[tuple[int, int]]:
    """Split ranges of ASCII letters where upper case ends, so that each can be shifted whole."""
    halves = (letters & charset.UPPER, letters & charset.LOWER)
    return [r for half in halves for r in half.ranges]
