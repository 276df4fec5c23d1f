"""Kept patterns: the same answers, without the parser for usual values; and whatever is wrong with the file, the parser."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from osprofile.javaregex import kept

if TYPE_CHECKING:
    from pathlib import Path

PATTERNS = (
    r"[1-9][0-9]*", r"(?<id>[0-9]+)\.(?<host>\w+)?", r"a*", "", r"(?i)true|false", r"(?:'[^']*+'|x)++", r"x{2,3}?y",
)  # fmt: skip
VALUES = (
    "", "1", "12.n1", "12.", "aaa", "TRUE", "'a b'x", "xxy", "\u0663", "e\u0301", "a\r", "1" * 5000, "y 7.b z",
)  # fmt: skip
CODE = f"""
import sys
from osprofile import javaregex
from osprofile.javaregex.kept import keep_patterns, use_kept_patterns
from osprofile import files
files.SETTLING_TIME = -1e9
patterns, values = {PATTERNS!r}, {VALUES!r}[:int(sys.argv[2])]
if sys.argv[1] == "use":
    use_kept_patterns()
for pattern in map(javaregex.compile, patterns):
    print(pattern.pattern, pattern.group_count, dict(pattern.group_names), pattern.min_length)
    for value in values:
        whole, found = pattern.matches(value), pattern.find(value)
        replaced = pattern.replace_all(value, "<$0>")
        print(pattern.accepts(value), whole and whole.groupdict(), found and found.spans, replaced)
    if sys.argv[1] == "use":
        source = pattern.get_re_source()
try:
    javaregex.compile("(")
except javaregex.JavaRegexError as error:
    print(error.message, error.index)
keep_patterns()
print("osprofile.javaregex.parser" in sys.modules, file=sys.stderr)
"""


def run(*words: str) -> tuple[str, str]:
    done = subprocess.run([sys.executable, "-c", CODE, *words], capture_output=True, text=True, check=False)
    return done.stdout, done.stderr


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of the cache, which is empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "osprofile"


def test_the_answers_are_the_same(cache: Path) -> None:
    expected, _ = run("leave", "100")
    assert not cache.exists()
    assert [run("use", "100") for _ in range(2)] == [(expected, "True\n")] * 2
    assert len(list(cache.iterdir())) == 1


def test_usual_values_need_no_parser() -> None:
    code = CODE.replace('javaregex.compile("(")', "pass").replace(repr(PATTERNS), repr(PATTERNS[:2]))
    outputs = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code, "use", "8"], capture_output=True, text=True, check=True
        )
        outputs.append((done.stdout, done.stderr))
    assert outputs == [(outputs[0][0], "True\n"), (outputs[0][0], "False\n")]


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "readable by others", "a folder"])
def test_another_file_is_none(cache: Path, damage: str) -> None:
    expected, _ = run("use", "100")
    (path,) = cache.iterdir()
    data = path.read_bytes()
    if damage == "a folder":
        path.unlink()
        path.mkdir()
    elif damage == "readable by others":
        path.chmod(0o644)
    else:
        path.write_bytes({"cut": data[:-1], "flipped": data[:100] + b"\0" + data[101:], "empty": b""}[damage])
    assert run("use", "100") == (expected, "True\n")


def test_code_that_has_just_changed_keeps_nothing(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    monkeypatch.setattr(kept, "_noted", {"a": (None, -1, -1, 1, 0, {})})
    monkeypatch.setattr(kept, "_kept", {})
    monkeypatch.setattr(kept, "_begin", 0.0)
    kept.keep_patterns()
    assert not cache.exists()


def test_a_full_cache_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str, data: bytes) -> None:
        raise OSError(name, data)

    monkeypatch.setattr(kept, "write_cached_data", fail)
    monkeypatch.setattr(kept, "_noted", {"a": (None, -1, -1, 1, 0, {})})
    monkeypatch.setattr(kept, "_begin", 1e12)
    kept.keep_patterns()
