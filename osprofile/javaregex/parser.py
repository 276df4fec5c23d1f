r"""The parser of Java's patterns (java.util.regex.Pattern, JDK 17), one function for each rule.

    pattern     expression end
    expression  sequence ("|" sequence)*
    sequence    (group | class | property | "^" | "$" | "." | atom, each with a quantifier)*
    atom        a run of literals, or one escape that is not a literal
    group       "(" [?:] expression ")" | "(?=" ... | "(?" flags ")" | ...
    quantifier  ("?" | "*" | "+" | "{" n ["," [m]] "}") ["?" | "+"]
    class       "[" "^"? item* "]"
    item        class | "&&" right | range | char | escape | property

From top to bottom: expressions, groups, quantifiers, escapes (`\n`, `\x41`, `\d`, `\1`), properties
(`\p{L}`) and character classes. The order of the reads follows the JDK's, because its errors and
its oddities depend on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from osprofile.javaregex import charset
from osprofile.javaregex.charset import EMPTY, CharSet
from osprofile.javaregex.reader import NUL, Flags, PatternReader
from osprofile.javaregex.syntax import (
    UNBOUNDED,
    Alt,
    Assertion,
    AssertionKind,
    Atomic,
    BackRef,
    Chars,
    Cluster,
    Group,
    LineBreak,
    Look,
    Node,
    ParsedPattern,
    Repeat,
    RepeatForm,
    RepeatKind,
    Seq,
)
from osprofile.javaregex.tree_info import TreeInfo

if TYPE_CHECKING:
    from collections.abc import Mapping

# The parser and all that walks the tree are recursive: this keeps them far from Python's limit.
MAX_NESTING = 64
_FLAG_LETTERS: Mapping[str, Flags] = {
    "i": Flags.CASE_INSENSITIVE, "m": Flags.MULTILINE, "s": Flags.DOTALL,
    "d": Flags.UNIX_LINES, "u": Flags.UNICODE_CASE, "x": Flags.COMMENTS,
    "U": Flags.UNICODE_CLASSES | Flags.UNICODE_CASE,
}  # fmt: skip
_KIND_SUFFIXES: Mapping[str, RepeatKind] = {"?": "lazy", "+": "possessive"}
_DIGITS = frozenset("0123456789")
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
_Escape = str | CharSet | Node
# The Latin-1 characters that have another case outside of Latin-1: under (?iu) the JDK does not add
# them to the `bits` of a class (Pattern.bitsOrSingle).
_CASE_EXCEPTIONS = frozenset("\xff\xb5IiSsKk\xc5\xe5")


def parse_pattern(text: str) -> ParsedPattern:
    """Parse a pattern.

    JavaRegexError, with the place, where Java refuses it or it cannot be honoured exactly.
    """
    return _PatternParser(text).parse_pattern()


class _PatternParser(PatternReader):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.depth = 0
        self.group_count = 0
        self.group_names: dict[str, int] = {}
        self.has_backrefs = False

    def parse_pattern(self) -> ParsedPattern:
        tree = self._parse_expression()
        if self.cursor != self.length:
            if self.peek_char() == ")":
                self.cursor += 1
                self.raise_error("Unmatched closing ')'")
            self.raise_error("a lone backslash ends the pattern")
        return ParsedPattern(self.text, tree, self.group_count, self.group_names, self.has_backrefs)

    def _enter_level(self) -> None:
        self.depth += 1
        if self.depth > MAX_NESTING:
            self.raise_error(f"more than {MAX_NESTING} levels of nesting", hint="write the pattern flatter")

    def _parse_expression(self) -> Node:
        branches = [self._parse_sequence()]
        while self.peek_char() == "|":
            self.next_char()
            branches.append(self._parse_sequence())
        return branches[0] if len(branches) == 1 else Alt(tuple(branches))

    def _parse_sequence(self) -> Node:
        nodes: list[Node] = []
        while True:
            char = self.peek_char()
            if char in "|)" or (char == NUL and self.at_end):
                break
            if char == "(":
                group = self._parse_group()
                if group:
                    nodes.append(group)
            elif char in "?*+":
                self.next_char()
                self.raise_error(f"Dangling meta character '{char}'")
            else:
                nodes.append(self._parse_item(char))
        return nodes[0] if len(nodes) == 1 else Seq(tuple(nodes))

    def _parse_item(self, char: str) -> Node:
        match char:
            case "[":
                return self._parse_quantifier(Chars(self.read_class()))
            case "\\" if self.char_at(1) in "pP":
                self.cursor += 1
                return self._parse_quantifier(Chars(self._read_property()))
            case "^":
                self.next_char()
                return self._parse_quantifier(Assertion(self._resolve_caret()))
            case "$":
                self.next_char()
                return self._parse_quantifier(Assertion(self._resolve_dollar()))
            case ".":
                self.next_char()
                return self._parse_quantifier(Chars(self._resolve_dot()))
        return self._parse_atom()

    def _resolve_caret(self) -> AssertionKind:
        if not self.has_flag(Flags.MULTILINE):
            return AssertionKind.BEGIN
        unix = self.has_flag(Flags.UNIX_LINES)
        return AssertionKind.UNIX_LINE_BEGIN if unix else AssertionKind.LINE_BEGIN

    def _resolve_dollar(self) -> AssertionKind:
        if not self.has_flag(Flags.MULTILINE):
            return self._resolve_last_line_end()
        unix = self.has_flag(Flags.UNIX_LINES)
        return AssertionKind.UNIX_LINE_END if unix else AssertionKind.LINE_END

    def _resolve_last_line_end(self) -> AssertionKind:
        unix = self.has_flag(Flags.UNIX_LINES)
        return AssertionKind.UNIX_LAST_LINE_END if unix else AssertionKind.LAST_LINE_END

    def _resolve_dot(self) -> CharSet:
        if self.has_flag(Flags.DOTALL):
            return charset.ANY
        return charset.UNIX_DOT if self.has_flag(Flags.UNIX_LINES) else charset.DOT

    def _parse_atom(self) -> Node:
        """Read a run of literals, or one other escape, with its quantifier.

        A quantifier applies to the last literal only: that one is then left for the next atom.
        """
        chars: list[str] = []
        before = -1
        char = self.peek_char()
        while True:
            if char in "*+?{":
                if len(chars) > 1:
                    self.cursor = before
                    chars.pop()
                break
            if char in "$.^([|)" or (char == NUL and self.at_end):
                break
            if char != "\\":
                before = self.cursor
                chars.append(char)
                char = self.next_char()
                continue
            if self.char_at(1) in "pP":  # not the first of the run: _parse_item reads that one
                break
            before = self.cursor
            escaped = self._read_escape(in_class=False)
            if not isinstance(escaped, str):
                if chars:
                    self.cursor = before
                    break
                node = Chars(escaped) if isinstance(escaped, CharSet) else escaped
                return self._parse_quantifier(node)
            chars.append(escaped)
            char = self.peek_char()
        if len(chars) == 1:
            return self._parse_quantifier(Chars(self._make_literal_set(chars[0])))
        return self._parse_quantifier(Seq(tuple(Chars(self._make_slice_set(c)) for c in chars)))

    def _parse_group(self) -> Node | None:
        """Read a group with its quantifier; return None for `(?flags)`, which stay in force."""
        self._enter_level()
        outside = self.flags
        self.next_char()
        node: Node | None
        if self.peek_char() != "?":
            self.group_count += 1
            number = self.group_count
            node = Group(self._parse_expression(), number)
        else:
            node = self._parse_special_group()
            if node is None:
                self.depth -= 1
                return None
        self._expect_group_end()
        self.flags = outside
        self.depth -= 1
        return self._parse_quantifier(node)

    def _expect_group_end(self) -> None:
        if self.read_char() != ")":
            self.raise_error("Unclosed group")

    def _parse_special_group(self) -> Node | None:
        kind = self.skip_char()
        match kind:
            case ":":
                return Group(self._parse_expression(), 0)
            case "=" | "!":
                body = Group(self._parse_expression(), 0)
                return Look(body, behind=False, negative=kind == "!")
            case ">":
                return Atomic(Group(self._parse_expression(), 0))
            case "<":
                return self._parse_behind_or_named()
            case "$" | "@":
                self.raise_error("Unknown group type")
        self.unread_char()
        self._parse_flags()
        after = self.read_char()
        if after == ")":
            return None
        if after != ":":
            self.raise_error("Unknown inline modifier")
        return Group(self._parse_expression(), 0)

    def _parse_behind_or_named(self) -> Node:
        char = self.read_char()
        if char in "=!":
            start = self.cursor
            body = Group(self._parse_expression(), 0)
            info = TreeInfo.from_node(body)
            if not info.max_valid:
                self.raise_error("Look-behind group does not have an obvious maximum length")
            wide = max(self.slice_text(start, self.length), default="") > "\uffff"
            return Look(body, True, char == "!", info.min_length, info.max_length, wide)
        name = self._read_group_name(char)
        if name in self.group_names:
            self.raise_error(f"Named capturing group <{name}> is already defined")
        self.group_count += 1
        self.group_names[name] = number = self.group_count
        return Group(self._parse_expression(), number)

    def _parse_flags(self) -> None:
        on = True
        char = self.peek_char()
        while True:
            if char == "-" and on:
                on = False
            elif char in _FLAG_LETTERS:
                self.flags = self.flags | _FLAG_LETTERS[char] if on else self.flags & ~_FLAG_LETTERS[char]
            elif char == "c":
                if on:
                    self.cursor += 1
                    self.raise_error("canonical equivalence is not supported")
            else:
                return
            char = self.next_char()

    def _parse_quantifier(self, node: Node) -> Node:
        """Return the node with the quantifier that follows, or the node alone."""
        match self.peek_char():
            case "?":
                least, most = 0, 1
            case "*":
                least, most = 0, UNBOUNDED
            case "+":
                least, most = 1, UNBOUNDED
            case "{":
                least, most = self._parse_counts()
            case _:
                return node
        return _make_repeat(node, least, most, self._parse_repeat_kind())

    def _parse_repeat_kind(self) -> RepeatKind:
        kind = _KIND_SUFFIXES.get(self.next_char(), "greedy")
        if kind != "greedy":
            self.next_char()
        return kind

    def _parse_counts(self) -> tuple[int, int]:
        """Read `{n}`, `{n,}` or `{n,m}`, and leave the cursor at its `}`."""
        char = self.skip_char()
        if char not in _DIGITS:
            self.raise_error("Illegal repetition")
        least, char = self._parse_number(char)
        most = least
        if char == ",":
            char = self.read_char()
            if char == "}":
                self.unread_char()
                return least, UNBOUNDED
            most, char = self._parse_number(char)
        if char != "}":
            self.raise_error("Unclosed counted closure")
        if most < least:
            self.raise_error("Illegal repetition range")
        self.unread_char()
        return least, most

    def _parse_number(self, char: str) -> tuple[int, str]:
        number = 0
        while char in _DIGITS:
            number = number * 10 + int(char)
            if number > UNBOUNDED:
                self.raise_error("Illegal repetition range")
            char = self.read_char()
        return number, char

    # Escapes

    def _read_escape(self, *, in_class: bool, in_range: bool = False) -> _Escape:
        """Read an escape from its backslash on: a character, a set, or another node."""
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

    def _read_node_escape(self, char: str) -> Node | None:  # noqa: PLR0911  # one for each letter
        if char in _ASSERTION_ESCAPES:
            return Assertion(_ASSERTION_ESCAPES[char])
        if char in "123456789":
            return self._read_backref(int(char))
        match char:
            case "Z":
                return Assertion(self._resolve_last_line_end())
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
        unicode = self.has_flag(Flags.UNICODE_CLASSES)
        if char == "B":
            return Assertion(AssertionKind.UNICODE_NO_WORD_EDGE if unicode else AssertionKind.NO_WORD_EDGE)
        if self.peek_char() == "{":
            if self.skip_char() == "g":
                if self.read_char() == "}":
                    return Assertion(AssertionKind.CLUSTER_EDGE)
                self.raise_error("Illegal/unsupported escape sequence")
            self.unread_char()
            self.unread_char()
        return Assertion(AssertionKind.UNICODE_WORD_EDGE if unicode else AssertionKind.WORD_EDGE)

    def _read_backref(self, number: int) -> Node:
        """Read digits as long as the number is that of a group that has been opened."""
        while (char := self.peek_char()) in _DIGITS:
            longer = number * 10 + int(char)
            if self.group_count < longer:
                break
            number = longer
            self.read_char()
        return self._make_backref(number)

    def _read_named_backref(self) -> Node:
        if self.read_char() != "<":
            self.raise_error("\\k is not followed by '<' for named capturing group")
        name = self._read_group_name(self.read_char())
        if name not in self.group_names:
            self.raise_error(f"named capturing group <{name}> does not exist")
        return self._make_backref(self.group_names[name])

    def _make_backref(self, number: int) -> Node:
        self.has_backrefs = True
        if not self.has_flag(Flags.CASE_INSENSITIVE):
            return BackRef(number, "")
        return BackRef(number, "unicode" if self.has_flag(Flags.UNICODE_CASE) else "ascii")

    def _read_group_name(self, char: str) -> str:
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

    def _read_property(self) -> CharSet:
        """Read a property from its `p` or `P` on: `pL`, `P{L}`, `p{IsLatin}`, ..."""
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
        from osprofile.javaregex import unicode13

        folds = self.has_flag(Flags.CASE_INSENSITIVE)
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
            self.raise_error(f"Unknown character property name {{{name}}}")
        return found

    def _find_property(self, name: str, *, fold_case: bool) -> CharSet | None:
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
        if self.has_flag(Flags.UNICODE_CLASSES):
            found = unicode13.find_posix_class(name, fold_case=fold_case)
        return found or unicode13.find_named_property(name, fold_case=fold_case)

    # Character classes

    def _make_literal_set(self, char: str) -> CharSet:
        if not self.has_flag(Flags.CASE_INSENSITIVE):
            return CharSet.from_chars(char)
        if self.has_flag(Flags.UNICODE_CASE):
            from osprofile.javaregex import unicode13

            upper = unicode13.to_upper(ord(char))
            lower = unicode13.to_lower(upper)
            return CharSet.from_chars(char) if upper == lower else unicode13.get_fold_set(lower)
        return CharSet.from_chars({char, char.lower(), char.upper()} if char.isascii() else char)

    def _make_slice_set(self, char: str) -> CharSet:
        """Return what a literal character in a run of several matches.

        Under `(?iu)` the JDK compares a run by folded forms (`SliceU`), but lets a single character
        without two cases of its own, such as U+00DF, match only itself (`Single`).
        """
        if not (self.has_flag(Flags.CASE_INSENSITIVE) and self.has_flag(Flags.UNICODE_CASE)):
            return self._make_literal_set(char)
        from osprofile.javaregex import unicode13

        return unicode13.get_fold_set(unicode13.to_folded(ord(char)))

    def read_class(self, *, closes: bool = True) -> CharSet:
        """Read a class from its `[` on, or (not `closes`) a right operand of `&&` without brackets."""
        self._enter_level()
        char = self.next_char()
        negated = char == "^" and self.char_at(-1) == "["
        if negated:
            char = self.next_char()
        found = _ClassBuilder(self).read_items(char, closes=closes)
        self.depth -= 1
        return ~found if negated else found

    def read_class_item(self) -> tuple[CharSet, bool]:
        """Return the set of an item that is not a class, and whether it belongs to the `bits`."""
        char = self.peek_char()
        if char == "\\":
            if self.char_at(1) in "pP":
                self.cursor += 1
                return self._read_property(), False
            in_range = self.char_at(2) == "-"
            escaped = self._read_escape(in_class=True, in_range=in_range)
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
        escaped = self._read_escape(in_class=True, in_range=True)
        return escaped if isinstance(escaped, str) else self.raise_error("Illegal character range")

    def _make_range_set(self, first: str, last: str) -> CharSet:
        if last < first:
            self.raise_error("Illegal character range")
        plain = CharSet.from_ranges((ord(first), ord(last)))
        if not self.has_flag(Flags.CASE_INSENSITIVE):
            return plain
        if not self.has_flag(Flags.UNICODE_CASE):
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
        unicode = self.has_flag(Flags.CASE_INSENSITIVE) and self.has_flag(Flags.UNICODE_CASE)
        if char > "\xff" or (unicode and char in _CASE_EXCEPTIONS):
            return self._make_literal_set(char), False
        if unicode and not char.isascii():
            from osprofile.javaregex import unicode13

            point = ord(char)
            return CharSet.from_chars([point, unicode13.to_lower(point), unicode13.to_upper(point)]), True
        return self._make_literal_set(char), True


class _ClassBuilder:
    """The state of the class that is being read.

    The JDK keeps what single Latin-1 characters add up to (`bits`) apart from the rest
    (`previous`), and joins the two late: at `&&` and at the end. What an `&&` means depends on
    which of the two it finds, so both are kept here, under the JDK's names.
    """

    def __init__(self, parser: _PatternParser) -> None:
        self.parser = parser
        self.bits = EMPTY
        self.has_bits = False
        self.previous: CharSet | None = None
        self.current: CharSet | None = None

    def read_items(self, char: str, *, closes: bool) -> CharSet:
        """Read items up to the `]`; with `closes`, read the `]` too."""
        parser = self.parser
        while True:
            if char == "[":
                self._add_set(parser.read_class())
            elif char == "&" and parser.next_char() == "&":
                self._read_intersection()
                char = parser.peek_char()
                continue
            else:
                if char == "&":
                    parser.unread_char()
                elif char == NUL and parser.at_end:
                    parser.raise_error("Unclosed character class")
                elif char == "]" and (self.previous is not None or self.has_bits):
                    if closes:
                        parser.next_char()
                    return self._get_result()
                self._read_item()
            char = parser.peek_char()

    def _get_result(self) -> CharSet:
        if self.previous is None:
            return self.bits
        return self.previous | self.bits if self.has_bits else self.previous

    def _add_set(self, more: CharSet) -> None:
        self.current = more
        self.previous = more if self.previous is None else self.previous | more

    def _read_item(self) -> None:
        found, in_bits = self.parser.read_class_item()
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
                self.parser.raise_error("Bad class syntax")
        elif self.current is None:  # Java compiles this, and fails when it matches
            self.parser.raise_error("nothing on the right of && in a character class")
        else:
            self.previous &= self.current

    def _read_right_side(self) -> CharSet | None:
        """Read the right operand of `&&`: all up to the `]` or the next `&`."""
        parser = self.parser
        right: CharSet | None = None
        char = parser.next_char()
        while char not in "]&":
            if char == "[":
                more = parser.read_class()
            else:
                parser.unread_char()
                more = parser.read_class(closes=False)
            right = more if right is None else right | more
            char = parser.peek_char()
        return right


def _make_repeat(node: Node, least: int, most: int, kind: RepeatKind) -> Repeat:
    """Return a repetition in the form in which the JDK runs it."""
    group = isinstance(node, Group)
    if (least, most) == (0, 1):
        form = RepeatForm.OPTION if group and kind != "possessive" else RepeatForm.QUESTION
    elif not group:
        run = isinstance(node, Chars) and kind == "greedy" and most == UNBOUNDED
        form = RepeatForm.RUN if run else RepeatForm.CURLY
    elif kind == "possessive":
        form = RepeatForm.CURLY
    else:
        form = RepeatForm.GROUP_CURLY if TreeInfo.from_node(node).deterministic else RepeatForm.LOOP
    return Repeat(node, least, most, kind, form)


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
