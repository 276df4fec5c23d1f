"""Random patterns, values and replacements, and the comparison with Java's answers."""

from __future__ import annotations

import json
import subprocess
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from osprofile import javaregex
from osprofile.javaregex import JavaRegexError, JavaRegexTimeoutError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from random import Random

PROGRAM = Path(__file__).with_name("RecordVectors.java")
LITERALS = [
    *"aaabbbcABk01 -_'&/",
    "\n",
    "\r",
    "\t",
    "é",
    "É",
    "ſ",
    "ß",
    "Σ",
    "\u0301",
    "\u2028",
    "\x85",
    "😀",
    "𝐀",
]
ESCAPES = [
    r"\.", r"\t", r"\n", r"\r", r"\x41", r"\u0061", r"\x{61}", r"\0101", r"\cA", r"\e", r"\/",
    r"\-", r"\N{LATIN SMALL LETTER A}", r"\Qa.b\E", r"\Q1\E", r"\Q\E",
]  # fmt: skip
SETS = [
    r"\d", r"\D", r"\s", r"\S", r"\w", r"\W", r"\h", r"\H", r"\v", r"\V", r"\p{L}", r"\pL",
    r"\P{L}", r"\PN", r"\p{Lu}", r"\p{Ll}", r"\p{Lower}", r"\p{Upper}", r"\p{Punct}", r"\p{Alpha}",
    r"\p{IsLatin}", r"\p{InGreek}", r"\p{IsAlphabetic}", r"\p{javaLowerCase}", r"\p{Space}",
    r"\p{IsUppercase}", r"\p{script=Greek}", r"\p{blk=BasicLatin}", r"\p{gc=Mn}", r"\P{IsLower}",
    r"\p{ASCII}", r"\p{XDigit}", r"\p{Cntrl}", r"\p{Graph}", r"\p{Digit}", r"\p{all}", r"\p{LC}",
]  # fmt: skip
PLACES = ["^", "$", r"\b", r"\B", r"\A", r"\G", r"\Z", r"\z", r"\b{g}"]
QUANTIFIERS = ["?", "*", "+", "{2}", "{1,2}", "{0,1}", "{2,}", "{0}", "{1,3}", "{0,2}"]
FLAGS = "idmsuxU"
VALUES = [*"aaaaabbbbbccABK01 -_'&/", "\n", "\n", "\r", "\r\n", "\t", "é", "É", "ſ", "ß", "ς", "σ",
          "\u0301", "\u0308", "\u2028", "\u2029", "\x85", "\x0b", "\x1b"]  # fmt: skip
WIDE = ["😀", "𝐀", "\U0001d167", "\U0001f1e6", "\u200d"]
REPLACEMENTS = ["", "-", "<$0>", "[$1]", "$2$1", "${n}", r"\$\\", "$12", "x$1y"]


class Case(NamedTuple):
    """A question to Java and to us."""

    pattern: str
    value: str
    replacement: str


class CaseGenerator:
    """Makes random cases."""

    def __init__(self, chance: Random) -> None:
        self.chance = chance
        self.groups = 0
        self.named = False

    def make_case(self) -> Case:
        self.groups, self.named = 0, False
        pattern = self.make_expression(self.chance.choice([1, 2, 2, 3, 3, 4]))
        if self.chance.random() < 0.25:
            pattern = f"(?{self._some(FLAGS, 1, 2)}){pattern}"
        if self.chance.random() < 0.02:
            place = self.chance.randrange(len(pattern) + 1)
            pattern = pattern[:place] + self.chance.choice("()[]{}*+?\\&^-|,") + pattern[place:]
        return Case(pattern, self.make_value(), self.chance.choice(REPLACEMENTS))

    def make_value(self) -> str:
        source = VALUES if self.chance.random() < 0.85 else VALUES + WIDE * 2
        if self.chance.random() < 0.5:
            source = ["a", "b", "a", "b", "c", "ab", "\n"]
        return "".join(self.chance.choices(source, k=self.chance.randrange(11)))

    def _some(self, items: str, least: int, most: int) -> str:
        return "".join(self.chance.choices(items, k=self.chance.randint(least, most)))

    def make_expression(self, depth: int) -> str:
        """Make alternatives."""
        count = self.chance.choices([1, 2, 3], [6, 3, 1])[0]
        return "|".join(self.make_sequence(depth) for _ in range(count))

    def make_sequence(self, depth: int) -> str:
        """Make items one after the other."""
        count = self.chance.choices([0, 1, 2, 3, 4], [1, 5, 6, 3, 1])[0]
        return "".join(self.make_item(depth) for _ in range(count))

    def make_item(self, depth: int) -> str:
        """Make one item, perhaps with a quantifier."""
        chance = self.chance
        kind = chance.random()
        if depth > 0 and kind < 0.4:
            item = self.make_group(depth - 1)
        elif kind < 0.5:
            item = self.make_char_class(2)
        elif kind < 0.57:
            item = chance.choice(PLACES)
        elif kind < 0.64:
            item = chance.choice([*SETS, r"\R", r"\X"])
        elif kind < 0.69:
            item = chance.choice(ESCAPES)
        elif kind < 0.74:
            item = f"\\{chance.randint(1, max(1, self.groups + 1))}" if not self.named else r"\k<n>"
        elif kind < 0.8:
            item = "."
        elif kind < 0.95:
            item = chance.choice("abc")
        else:
            item = chance.choice(LITERALS)
        if chance.random() < 0.4:
            item += chance.choice(QUANTIFIERS) + chance.choice(["", "", "?", "+"])
        return item

    def make_group(self, depth: int) -> str:
        """Make a group of any kind."""
        kind = self.chance.random()
        if kind < 0.45:
            if not self.named and self.chance.random() < 0.15:
                self.groups += 1
                self.named = True
                return f"(?<n>{self.make_expression(depth)})"
            self.groups += 1
            return f"({self.make_expression(depth)})"
        if kind < 0.65:
            return f"(?:{self.make_expression(depth)})"
        if kind < 0.8:
            look = self.chance.choice(["?=", "?!", "?<=", "?<!"])
            return f"({look}{self.make_expression(depth)})"
        if kind < 0.92:
            return f"(?>{self.make_expression(depth)})"
        off = f"-{self._some(FLAGS, 1, 1)}" if self.chance.random() < 0.3 else ""
        return f"(?{self._some(FLAGS, 0, 2)}{off}:{self.make_expression(depth)})"

    def make_char_class(self, depth: int) -> str:
        negation = "^" if self.chance.random() < 0.25 else ""
        count = self.chance.choices([1, 2, 3, 4], [3, 4, 2, 1])[0]
        return f"[{negation}{''.join(self._make_class_item(depth) for _ in range(count))}]"

    def _make_class_item(self, depth: int) -> str:
        chance = self.chance
        kind = chance.random()
        if kind < 0.35:
            return chance.choice(["a", "b", "c", *LITERALS])
        if kind < 0.55:
            return chance.choice(["a-c", "b-z", "A-Z", "0-9", "à-ö", "Α-Ω", "a-k", " -/", "\x00-\x7f", "K-ſ"])
        if kind < 0.65:
            return chance.choice(SETS)
        if kind < 0.75:
            return chance.choice([*ESCAPES, r"\]", r"\[", r"\^", "]", "-", "^", "&", "#", " ", r"\b"])
        if kind < 0.85 and depth > 0:
            return self.make_char_class(depth - 1)
        right = (
            self.make_char_class(depth - 1)
            if depth > 0 and chance.random() < 0.6
            else chance.choice(["a-c", "ab", "^b", "", r"\w"])
        )
        return f"&&{right}"


def ask_java(cases: Iterable[Case]) -> list[list[Any]]:
    """Return Java's answers, in the order of the cases."""
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    command = ["java", "-Xss4m", str(PROGRAM)]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


@lru_cache(4)
def _find_spans(pattern: str, value: str) -> tuple[Any, Any]:
    compiled = javaregex.compile(pattern)
    numbers = range(compiled.group_count + 1)
    found = [[list(m.spans[n]) for n in numbers] for m in compiled.find_iter(value)]
    whole = compiled.matches(value)
    return found, whole and [list(whole.spans[n]) for n in numbers]


def run_case(case: Case) -> list[Any]:
    """Return our answer in Java's form; `["refused"]` if it is refused while matching."""
    try:
        compiled = javaregex.compile(case.pattern)
    except JavaRegexError as error:
        return ["bad pattern", error.index, error.message]
    try:
        found, whole = _find_spans(case.pattern, case.value)
    except JavaRegexTimeoutError:
        return ["slow"]
    except JavaRegexError:
        return ["refused"]
    try:
        replaced = compiled.replace_all(case.value, case.replacement)
    except JavaRegexError as error:
        return ["bad replacement", error.message]
    return ["ok", replaced, found, whole]


def compare_answers(case: Case, java: list[Any]) -> str:
    """Return "equal", "refused" (by us, not by Java), "left out", "halves" or "DIFFERENT".

    "halves": different, on a value with characters outside the BMP, where Java sometimes steps by
    half a character, and we never do.
    """
    if java[0] in {"slow", "overflow", "split", "crash"}:
        return "left out"
    ours = run_case(case)
    if ours[0] == java[0] == "ok":
        return "equal" if ours == java else _different(case)
    if ours[0] == java[0]:
        return "equal"
    if ours[0] == "bad replacement" and java[0] == "ok" and not java[2]:
        return "equal"  # Java parses a replacement when something matches, we always do
    return "refused" if ours[0] in {"bad pattern", "slow", "refused"} else _different(case)


def _different(case: Case) -> str:
    return "halves" if max(case.value, default="") > "\uffff" else "DIFFERENT"
