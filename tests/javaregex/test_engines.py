"""Every engine that may match a pattern matches as the machine does."""

from __future__ import annotations

import os
from collections import Counter
from random import Random
from time import thread_time
from typing import TYPE_CHECKING

import pytest

from osprofile.errors import JavaRegexError, JavaRegexTimeoutError
from osprofile.javaregex.engines import STEP_BUDGET, Engine, Engines, is_simple_value
from osprofile.javaregex.parser import parse_pattern
from tests.hunting import rounds
from tests.javaregex.generator import CaseGenerator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SEED = int(os.environ.get("OSPROFILE_SEED", "1"))
ROUNDS = int(os.environ.get("OSPROFILE_ROUNDS", rounds(1500, 300)))
ATOMS = ["a", "b", "c", "'", r"\\", "[ab]", "[^a]", "[^']", "[bc]", " ", r"\n", ".", "[a-c]", r"\w"]
PLACES = [r"\z", "$", "^", "(?!a)", "(?=b)", r"\b", "(?<=a)"]
COUNTS = ["*", "+", "?", "{1,2}", "{0,3}", "{2,}"]


class TranslatableGenerator:
    """Makes patterns most of which can be translated for other engines."""

    def __init__(self, chance: Random) -> None:
        self.chance = chance

    def make_pattern(self) -> str:
        flags = self.chance.choice(["", "", "", "(?m)", "(?s)"])
        return flags + self.make_alternatives(3)

    def make_value(self) -> str:
        return "".join(self.chance.choices("aaabbbcc'\\ \n\ré", k=self.chance.randrange(9)))

    def make_alternatives(self, depth: int) -> str:
        chance = self.chance
        return "|".join(
            "".join(self.make_item(depth) for _ in range(chance.choice([1, 1, 2, 3])))
            for _ in range(chance.choice([1, 1, 2, 3]))
        )

    def make_item(self, depth: int) -> str:
        chance = self.chance
        kind = chance.random()
        if depth and kind < 0.45:
            opening = chance.choice(["(?:", "(?:", "(?:", "(?>", "("])
            item = f"{opening}{self.make_alternatives(depth - 1)})"
        else:
            item = chance.choice(PLACES if kind > 0.94 else ATOMS)
        if chance.random() < 0.5:
            item += chance.choice(COUNTS) + chance.choice(["", "", "+", "+", "?"])
        return item


def _others(engines: Engines, value: str) -> Iterator[Engine]:
    for is_simple in {False, is_simple_value(value)}:
        for engine in (
            engines.get_re_engine(is_simple=is_simple),
            engines.get_regex_engine(is_simple=is_simple),
        ):
            if engine:
                yield engine


def _compare(pattern: str, values: list[str], comparisons: Counter[str]) -> None:
    try:
        engines = Engines(parse_pattern(pattern))
    except JavaRegexError:
        return
    for value in values:
        deadline = thread_time() + 60
        try:
            expected = (
                engines.get_machine().match_whole(value, deadline),
                [*engines.get_machine().find_all(value, deadline)],
            )
        except JavaRegexError:
            continue
        for engine in _others(engines, value):
            try:
                found = (engine.match_whole(value, deadline), [*engine.find_all(value, deadline)])
            except JavaRegexTimeoutError:
                continue
            assert found == expected, (pattern, value, engine)
            comparisons[type(engine).__name__] += 1


@pytest.mark.parametrize("generator_class", [TranslatableGenerator, CaseGenerator])
def test_engines_agree(generator_class: Callable[[Random], TranslatableGenerator | CaseGenerator]) -> None:
    generator = generator_class(Random(SEED))
    comparisons: Counter[str] = Counter()
    for _ in range(ROUNDS):
        pattern = (
            generator.make_pattern()
            if isinstance(generator, TranslatableGenerator)
            else generator.make_case().pattern
        )
        _compare(pattern, [generator.make_value() for _ in range(4)], comparisons)
    assert min(comparisons["ReEngine"], comparisons["RegexEngine"]) >= ROUNDS


@pytest.mark.parametrize(
    ("pattern", "full", "find"),
    [
        (r"[a-z]*", STEP_BUDGET, 1000),
        (r"\A[a-z]*", STEP_BUDGET, STEP_BUDGET),
        (r"abc", STEP_BUDGET, STEP_BUDGET),
        (r"(?m)^(\S+) (\w)$", STEP_BUDGET, 1000),
        (r"(?:'[^']*+'|[a-z])++", STEP_BUDGET, 1000),
        (r"(?<![^\n])a*(?: b=[^\n]*)?(?![^\n])", STEP_BUDGET, 1000),
        (r"(?<![^\n])a*(?: b=[^\n]*)?(?![^\na])", 707, 79),
        (r".*x", STEP_BUDGET, 1000),
        (r".*.*x", 1000, 100),
        (r"a*+a", -1, -1),
        (r"(?:a|a)*b", -1, -1),
        (r"(?:a+)+b", -1, -1),
        (r"(?>a|ab)c", -1, -1),
        (r"(?:[^a]++|a)*+ab", -1, -1),
        (r"(?![\s\S]*(?:\r\n|\n#[A-Z$]))(?:(?:'[^']*+'|\\'|[a-z])++(?: ++|\z))*+", STEP_BUDGET // 3, 577),
        (r"(?!x)(?!.*y)(?:'[^']*+'|[a-z])++", STEP_BUDGET // 3, 577),
        (r"(?!a*+a)b", -1, -1),
        (r"(?!b*c)a*+a", -1, -1),
        (r"(?!b*c)(?:a+)+b", -1, -1),
    ],
)
def test_length_limits_of_re(pattern: str, full: int, find: int) -> None:
    limits = Engines(parse_pattern(pattern)).length_limits
    assert (limits.whole, limits.find) == pytest.approx((full, find), abs=2)


def test_negated_sets_in_alternatives_of_the_regex_package() -> None:
    engine = Engines(parse_pattern("[^']|[^a]")).get_regex_engine(is_simple=False)
    assert engine
    assert len([*engine.find_all("'a'a", thread_time() + 60)]) == 4


@pytest.mark.parametrize(
    ("pattern", "whole"),
    [
        (r"(?<![^\n])[0-9]+ [a-z]*(?![^\n])", True),
        (r"(?<![^\r])[0-9]+ [a-z]*(?![^\n])", False),
        (r"(?<![^\n])[0-9]+ [^a]*(?![^\n])", False),
        (r"(?<![0-9])[0-9]+ [a-z]*(?![^\n])", False),
    ],
)
def test_a_pattern_that_stays_in_a_line_needs_no_limit(pattern: str, whole: bool) -> None:
    assert (Engines(parse_pattern(pattern)).length_limits.find_simple == STEP_BUDGET) is whole
