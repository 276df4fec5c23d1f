"""The package's interface, with the patterns that profiles have."""

from __future__ import annotations

import subprocess
import sys

import pytest

from osprofile import javaregex
from osprofile.javaregex import parse_literal_pattern, parse_literal_replacement

ARGUMENTS = r"(?:(?:'[^']*+'|\\'|[A-Za-z0-9_./:=@%+,-])++(?: ++|\z))*+"
ENVIRONMENT = r"(?:export [A-Za-z_][A-Za-z0-9_]*+='(?:[^']++|'\\''|'')*+'(?:\n|\z))*+"
STATUS = r"(?m)^(?<id>\S+) (?<state>\w)(?:/(?<substate>\d+))?(?: exit=(?<exit>-?\d+))?$"


@pytest.mark.parametrize(
    ("value", "pattern", "replacement", "result"),
    [
        ("it's", "'", r"'\\''", r"'it'\''s'"[1:-1]),
        ("ab", "a*?", "-", "-a-b-"),
        ("ab", "a*", "-", "--b-"),
        ("queue", r"(?s)^(.+)\z", "#PBS -q $1", "#PBS -q queue"),
        ("", r"(?s)^(.+)\z", "#PBS -q $1", ""),
        ("a/b", r"\/", r"\>", "a>b"),
        ("aab", "(?<x>a+)(b)", "$2${x}$12", "baaaa2"),
        ("ab", "(a)|(b)", "<$1|$2>", "<a|><|b>"),
        ("a\r\nb", "$", "!", "a\r\nb!"),
        ("a\r\n", "$", "!", "a!\r\n!"),
        ("x😀y", "", "-", "-x-😀-y-"),
        ("K\u212a", "(?i)k", "-", "-\u212a"),
    ],
)
def test_replace_all(value: str, pattern: str, replacement: str, result: str) -> None:
    assert javaregex.replace_all(value, pattern, replacement) == result
    replace = javaregex.compile(pattern).compile_replacement(replacement)
    assert (replace(value), replace(value)) == (result, result)


def test_groups_of_a_match() -> None:
    pattern = javaregex.compile(STATUS)
    assert pattern.group_count == 4
    assert dict(pattern.group_names) == {"id": 1, "state": 2, "substate": 3, "exit": 4}
    first, second = pattern.find_iter("12.pbs F/91 exit=-1\n13.pbs R\nnoise\n")
    assert first.groupdict() == {"id": "12.pbs", "state": "F", "substate": "91", "exit": "-1"}
    assert (second.start, second.end, second.span) == (20, 28, (20, 28))
    assert (second.group(), second.group(1), second.group("exit")) == ("13.pbs R", "13.pbs", None)
    with pytest.raises(IndexError):
        second.group(5)
    with pytest.raises(IndexError):
        second.group(-1)
    with pytest.raises(KeyError):
        second.group("job")


@pytest.mark.parametrize(
    ("pattern", "good", "bad"),
    [
        (ARGUMENTS, ["", "a b", "'x y' z", r"'it'\''s'", "--a=b '$(c)'"], ["a;b", "'", "a\nb", "$x", "a'b", " a"]),
        (ENVIRONMENT, ["", "export A='b'", "export A='b\nc'\nexport D='it'\\''s'\n"],
         ["export A=b", "export A='b' ; c", "A='b'", "export A='b''", "export A='b'\n\n"]),
        ("[A-Za-z0-9_.@:+-]*", ["", "workq", "a@b.c:1"], ["a b", "a\n", "é"]),
        (r"[0-9]+(\[[0-9]*\])?(\.[A-Za-z0-9.-]+)?", ["1", "1[]", "1[2].host"], ["", "1.", "1;ls", "1\n"]),
    ],
)  # fmt: skip
def test_the_patterns_of_profiles(pattern: str, good: list[str], bad: list[str]) -> None:
    compiled = javaregex.compile(pattern)
    assert all(compiled.matches(value) for value in good)
    assert not any(compiled.matches(value) for value in bad)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("'", "'"), (r"\/", "/"), (r"\.\>", ".>"), (r"a\tb", "a\tb"), ("]}", "]}"), (r"\\", "\\"), ("é-#", "é-#"),
        ("", None), ("a.", None), ("a+", None), (r"\d", None), (r"\Qa\E", None), ("a{2}", None), ("(a)", None),
        ("a\\", None), ("^a", None), (r"\x41", None), ("a\ud800", None), ("[a]", None), ("a|b", None),
    ],
)  # fmt: skip
def test_parse_literal_pattern(pattern: str, text: str | None) -> None:
    assert parse_literal_pattern(pattern) == text


@pytest.mark.parametrize(
    ("replacement", "text"),
    [
        ("", ""),
        ("a", "a"),
        (r"\$\\", "$\\"),
        (r"\n", "n"),
        (r"'\\''", r"'\''"),
        ("$1", None),
        ("a\\", None),
        ("${n}", None),
    ],
)
def test_parse_literal_replacement(replacement: str, text: str | None) -> None:
    assert parse_literal_replacement(replacement) == text


@pytest.mark.parametrize(
    ("pattern", "min_length"),
    [
        ("", 0),
        ("a", 1),
        ("ab|c", 1),
        ("(?:ab){3}c?", 6),
        (r"\R\X", 2),
        ("a*+", 0),
        ("(?=ab)", 0),
        (r"(ab)\1", 2),
    ],
)
def test_min_length(pattern: str, min_length: int) -> None:
    assert javaregex.compile(pattern).min_length == min_length


def test_patterns_are_cached() -> None:
    assert javaregex.compile("a+b") is javaregex.compile("a+b")


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        getattr(javaregex, "nothing")  # noqa: B009  # a type checker would not have it otherwise


def _modules_after(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return set(done.stdout.split())


def test_importing_is_light() -> None:
    loaded = _modules_after(
        "from osprofile import javaregex\n"
        "javaregex.parse_literal_pattern('a'), javaregex.parse_literal_replacement('a'), javaregex.JavaRegexError"
    )
    inside = {name.rpartition(".")[2] for name in loaded if "javaregex." in name}
    assert inside == {"literals"}
    assert "regex" not in loaded


def test_the_patterns_of_profiles_need_no_other_engine() -> None:
    loaded = _modules_after(
        "from osprofile import javaregex\n"
        f"for p in {[ARGUMENTS, ENVIRONMENT, STATUS, '[A-Za-z0-9_.@:+-]*']!r}:\n"
        "    javaregex.compile(p).matches('a b'); javaregex.compile(p).find('a b')\n"
        "javaregex.replace_all('q', r'(?s)^(.+)\\z', '-q $1')"
    )
    mine = {name.rpartition(".")[2] for name in loaded if "javaregex." in name}
    assert not mine & {"machine", "program", "unicode13", "clusters"}
    assert "regex" not in loaded


LINE_PATTERN = r"(?<![^\n])(?<id>[0-9]+) (?<state>\w+)(?: reason=(?<reason>[^\n]*))?(?![^\n])"


@pytest.mark.parametrize(
    ("pattern", "line_based"),
    [
        (LINE_PATTERN, True),
        (r"(?m)^(?<id>\S+) (?<state>\w)$", True),
        (r"(?dm)^a.*$", True),
        (r"\b(a)\1(?>b|c)\B", True),
        (r"a[^\s]", True),
        ("a*", False),  # the empty text between two newlines is a match more
        (r"a\s", False),
        (r"a[^b]", False),
        (r"(?s)a.", False),
        (r"a(?=\n)", False),
        (r"a(?!\s)", False),
        (r"\Aa", False),
        (r"a$", False),
        (r"a\z", False),
        (r"a\Z", False),
        (r"\Ga", False),
        (r"a\R", False),
        (r"a\X", False),
        (r"^a", False),
    ],
)
def test_is_line_based(pattern: str, *, line_based: bool) -> None:
    assert javaregex.compile(pattern).is_line_based is line_based
