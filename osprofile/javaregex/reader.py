r"""The cursor over a pattern, with the JDK's own functions for reading characters.

Quoting (`\Q..\E`) is resolved before anything else. Under `(?x)` most functions skip white space
and comments, but not all, and some differ in where they leave the cursor: oddities of Java come
from that. So each has its counterpart in `java.util.regex.Pattern`: `peek_char` is `peek`,
`read_char` is `read`, `next_char` is `next`, `skip_char` is `skip`, `unread_char` is `unread`,
`_peek_past_comments` is `peekPastWhitespace`, `_read_past_comments` is `parsePastWhitespace`.
"""

from __future__ import annotations

from enum import Flag, auto
from typing import Final, NoReturn

from osprofile.errors import JavaRegexError
from osprofile.javaregex.charset import LINE_ENDS

NUL = "\0"
# The parser and all that walks the tree are recursive: this keeps them far from Python's limit.
MAX_NESTING = 64
_BLANKS = frozenset(" \t\n\x0b\f\r")
_LINE_END_CHARS = frozenset(LINE_ENDS.list_chars())
_REMEDIES: Final = {
    "Unclosed group": r"end the group by ), or write \( for the character",
    "Unmatched closing": r"open the group by (, or write \) for the character",
    "Unclosed character class": r"end the list by ], or write \[ for the character",
    "Dangling meta character": r"it repeats what is before it: write .* for any text, or \* for the character (\+, \?)",
    "Illegal repetition": r"as in [0-9]{1,3}; write \{ for the character",
    "Unclosed counted closure": "as in [0-9]{1,3}",
    "Illegal character range": r"the first character of a range comes first, as in [a-z]; write \- for the character",
    "Illegal/unsupported escape": r"write the character without \; for a backslash write \\",
    "a lone backslash": r"write \\ for a backslash",
    "Unknown inline modifier": "as in (?s) or (?i); a group without a number is (?:...)",
    "Unknown group type": "a group without a number is (?:...), one with a name (?<name>...)",
    "named capturing group <": "the group must stand before its reference, as in (?<name>...)",
    "capturing group name": "a name is letters and digits, as in (?<id>...)",
    "Unknown character property": r"as in \p{L} for letters, \p{Alpha} for those of ASCII",
}
"""What to do, by how the message of a fault begins, which is Java's."""


class Flags(Flag):
    """The flags that a pattern can turn on and off."""

    CASE_INSENSITIVE = auto()
    MULTILINE = auto()
    DOTALL = auto()
    UNICODE_CASE = auto()
    UNIX_LINES = auto()
    COMMENTS = auto()
    UNICODE_CLASSES = auto()


class PatternReader:
    """A cursor over a pattern; `flags` are those that are on at the cursor."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.flags = Flags(0)
        for index, char in enumerate(text):
            if "\ud800" <= char <= "\udfff":
                self.raise_error("a pattern cannot hold half of a surrogate pair", index=index)
        quoted = _expand_quotes(text)
        self.length = len(quoted)
        # Two NULs end the pattern, as in the JDK, so that one character past the end can be read.
        self._chars = [char for char, _ in quoted] + [NUL, NUL]
        self._offsets = [index for _, index in quoted] + [len(text)] * 2
        self.cursor = 0
        self.depth = 0

    def raise_error(self, message: str, *, index: int | None = None, hint: str = "") -> NoReturn:
        """Raise JavaRegexError at the last character read, or at `index` of the original text."""
        if index is None:
            index = self._offsets[max(0, min(self.cursor - 1, self.length))]
        hint = hint or next((remedy for fault, remedy in _REMEDIES.items() if message.startswith(fault)), "")
        raise JavaRegexError(message, text=self.text, index=index, hint=hint)

    def enter_level(self) -> None:
        """Enter one level of nesting, of which `depth` is the number."""
        self.depth += 1
        if self.depth > MAX_NESTING:
            self.raise_error(f"more than {MAX_NESTING} levels of nesting", hint="write the pattern flatter")

    def has_flag(self, flag: Flags) -> bool:
        """Return whether a flag is on."""
        return flag in self.flags

    @property
    def at_end(self) -> bool:
        """Whether the whole pattern has been read."""
        return self.cursor >= self.length

    def char_at(self, ahead: int = 0) -> str:
        """Return the character at the cursor, or some way ahead; NUL past the end."""
        index = self.cursor + ahead
        return self._chars[index] if 0 <= index < len(self._chars) else NUL

    def slice_text(self, start: int, end: int) -> str:
        """Return the text between two positions of the cursor."""
        return "".join(self._chars[start:end])

    def peek_char(self) -> str:
        """Return the next character; under `(?x)`, move to one that is not skipped."""
        char = self.char_at()
        return self._peek_past_comments(char) if Flags.COMMENTS in self.flags else char

    def read_char(self) -> str:
        """Return the next character and move past it; under `(?x)`, the next not skipped."""
        char = self.read_raw_char()
        return self._read_past_comments(char) if Flags.COMMENTS in self.flags else char

    def read_raw_char(self) -> str:
        """Return the next character and move past it; under `(?x)` too."""
        char = self.char_at()
        self.cursor += 1
        return char

    def next_char(self) -> str:
        """Move past one character and return the next, as `peek_char` does."""
        self.cursor += 1
        return self.peek_char()

    def next_raw_char(self) -> str:
        """Move past one character and return the next; under `(?x)` too."""
        self.cursor += 1
        return self.char_at()

    def skip_char(self) -> str:
        """Return the character after the next, and move past both."""
        char = self.char_at(1)
        self.cursor += 2
        return char

    def unread_char(self) -> None:
        """Move back by one."""
        self.cursor -= 1

    def _ends_comment(self, char: str) -> bool:
        return char == "\n" if self.has_flag(Flags.UNIX_LINES) else char in _LINE_END_CHARS

    def _peek_past_comments(self, char: str) -> str:
        while char in _BLANKS or char == "#":
            while char in _BLANKS:
                char = self.next_raw_char()
            if char == "#":
                char = self.next_raw_char()
                while char != NUL and not self._ends_comment(char):
                    char = self.next_raw_char()
                if char == NUL and self.cursor > self.length:
                    self.cursor = self.length
                    char = self.char_at()
        return char

    def _read_past_comments(self, char: str) -> str:
        while char in _BLANKS or char == "#":
            while char in _BLANKS:
                char = self.read_raw_char()
            if char == "#":
                char = self.read_raw_char()
                while char != NUL and not self._ends_comment(char):
                    char = self.read_raw_char()
                if char == NUL and self.cursor > self.length:
                    self.cursor = self.length
                    char = self.read_raw_char()
        return char


def _expand_quotes(text: str) -> list[tuple[str, int]]:
    r"""Replace `\Q..\E` by escaped characters; return each character with its index in the text."""
    start = 0
    while start < len(text) - 1 and text[start : start + 2] != "\\Q":
        start += 2 if text[start] == "\\" else 1
    if start >= len(text) - 1:
        return list(zip(text, range(len(text)), strict=True))
    out = list(zip(text[:start], range(start), strict=True))
    index, quoting, first = start + 2, True, True
    while index < len(text):
        char, at = text[index], index
        index += 1
        after = text[index : index + 1]
        if char != "\\":
            out += [(c, at) for c in _escape_quoted(char, quoting=quoting, first=first)]
        elif quoting:
            if after == "E":
                index, quoting = index + 1, False
            else:
                out += [("\\", at), ("\\", at)]
        elif after == "Q":
            index, quoting, first = index + 1, True, True
            continue
        else:
            out.append((char, at))
            if after:
                out.append((after, index))
                index += 1
        first = False
    return out


def _escape_quoted(char: str, *, quoting: bool, first: bool) -> str:
    if not char.isascii() or char.isalpha():
        return char
    if char.isdigit():  # after an escape such as \0, a bare digit would be read as a part of it
        return f"\\x3{char}" if first else char
    return f"\\{char}" if quoting else char
