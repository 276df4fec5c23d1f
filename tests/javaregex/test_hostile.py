"""Patterns and values made to hang, exhaust or crash."""

from __future__ import annotations

import hashlib
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from time import thread_time
from typing import TYPE_CHECKING

import pytest

from osprofile import javaregex
from osprofile.javaregex import JavaRegexError, JavaRegexTimeoutError
from osprofile.javaregex import pattern as pattern_module
from osprofile.javaregex.engines import Engines
from osprofile.javaregex.parser import parse_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TIME_LIMIT = 20.0  # seconds of processor time


@pytest.fixture
def short_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pattern_module, "_compute_deadline", lambda _value: thread_time() + 0.02)


def _bounded(call: Callable[[], object]) -> object:
    start = thread_time()
    try:
        return call()
    except JavaRegexTimeoutError as error:
        return error
    finally:
        assert thread_time() - start < TIME_LIMIT


@pytest.mark.usefixtures("short_deadline")
@pytest.mark.parametrize(
    "pattern",
    ["(a+)+$", "(a|a)*b", "(.*)*x", "(?:a+)+b", "(a*)*b", "(?:a|a)*b", "(a|aa)+$", r"(a*)*\1b", "(?:a?){40}a{40}",
     ".*.*.*.*x", "(?=(a+)+$)b", "((a+)*)*b", "(?:(?:a|a)*){2}b", "(?<!a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?x)b", "(a{1,40}){1,40}b"],
)  # fmt: skip
@pytest.mark.parametrize("length", [30, 20_000])
def test_every_call_ends(pattern: str, length: int) -> None:
    compiled = javaregex.compile(pattern)
    value = "a" * length + "!"
    _bounded(lambda: compiled.matches(value))
    _bounded(lambda: compiled.find(value))
    _bounded(lambda: compiled.replace_all(value, "x"))


@pytest.mark.usefixtures("short_deadline")
@pytest.mark.parametrize("length", [40, 5000])
def test_a_timeout_has_a_hint(length: int) -> None:
    with pytest.raises(JavaRegexTimeoutError) as caught:
        javaregex.compile(r"(a*)*\1b").matches("a" * length + "!")
    assert f"on a value of {length + 1} characters" in caught.value.message
    assert r"(a*)*\\1b" in caught.value.message
    assert "possessive" in caught.value.hint


@pytest.mark.usefixtures("short_deadline")
def test_one_deadline_covers_all_matches_of_a_call() -> None:
    compiled = javaregex.compile(r"(?:(a)|a|b\1)*?c|a")
    assert isinstance(_bounded(lambda: compiled.replace_all("a" * 3000, "")), str | JavaRegexError)


@pytest.fixture
def busy_threads() -> Iterator[None]:
    """Other threads use the processor meanwhile, without Python's lock."""
    data, stopping = bytes(1 << 20), threading.Event()

    def work() -> None:
        while not stopping.is_set():
            hashlib.sha256(data)

    with ThreadPoolExecutor(4) as pool:
        for _ in range(4):
            pool.submit(work)
        yield
        stopping.set()


def _measure_search(value: str, budget: float) -> float:
    """Return the processor time of a long search with `regex`."""
    engine = Engines(parse_pattern("a*a*é")).get_regex_engine(is_simple=False)
    assert engine
    start = thread_time()
    assert len([*engine.find_all(value, start + budget)]) == 1
    return thread_time() - start


@pytest.mark.usefixtures("busy_threads")
def test_the_time_of_other_threads_does_not_count() -> None:
    value = "a" * 400 + "!é"
    needed = _measure_search(value, 60)
    _measure_search(value, 3 * needed)
    with pytest.raises(JavaRegexTimeoutError):
        _measure_search(value, needed / 3)


CHILD = """
import sys
from osprofile import javaregex
pattern = javaregex.compile(sys.argv[1])
value = sys.argv[2] * int(sys.argv[3]) + "c"
print("begins", flush=True)
print(len([*pattern.find_iter(value)]), flush=True)
"""


def test_a_process_that_is_stopped_in_a_match_finds_the_same() -> None:
    calls = [
        ("(?:(a)|b\\1)*+c", "a", "100000", "1"),  # the machine
        ("[^ ]+ é", "a é", "100000", "100000"),  # the package regex
    ]
    with ExitStack() as stack:
        processes = [
            stack.enter_context(
                subprocess.Popen([sys.executable, "-c", CHILD, *words], stdout=subprocess.PIPE, text=True)
            )
            for *words, _ in calls
        ]
        for process in processes:
            assert process.stdout
            assert process.stdout.readline() == "begins\n"
            process.send_signal(signal.SIGSTOP)
        time.sleep(2)  # longer than the limit
        for process in processes:
            process.send_signal(signal.SIGCONT)
        found = [process.communicate()[0] for process in processes]
    assert found == [f"{count}\n" for *_, count in calls]


@pytest.mark.parametrize(
    "text",
    ["(" * 10_000, "(?:" * 10_000, "[" * 10_000, "(?=" * 10_000, "(" * 5000 + ")" * 5000, "[^" * 10_000],
)
def test_deep_nesting_is_refused(text: str) -> None:
    with pytest.raises(JavaRegexError, match="levels of nesting"):
        javaregex.compile(text)


@pytest.mark.usefixtures("short_deadline")
@pytest.mark.parametrize(
    "around", ["({})", "(?:{})*", "(?:{}|b)", "(?>{})", "(?={})a?", "(?:{})?", "(?:b|{})+?"]
)
def test_nesting_up_to_the_limit_works(around: str) -> None:
    text = "a"
    for _ in range(60):
        text = around.format(text)
    compiled = javaregex.compile(text)
    assert _bounded(lambda: compiled.find("ba"))
    _bounded(lambda: compiled.matches("aab" * 300))


@pytest.mark.parametrize(
    "pattern",
    ["a{1000000000}", "(a){1000000000}", "(?:ab|a){1000000000}", "(?:a{1000000000}){1000000000}", "[ab]{0,2147483647}", "a{2147483647}+",
     "(?:a|b){1000000000,}?", "(?<=a{1000000000})b", "(?>a{5000})b"],
)  # fmt: skip
def test_large_counts_do_no_harm(pattern: str) -> None:
    compiled = javaregex.compile(pattern)
    for value in ("", "aab", "ab" * 1000):
        _bounded(lambda value=value: compiled.find(value))


def test_long_patterns_and_values() -> None:
    many = "|".join(f"word{n}" for n in range(2000))
    assert javaregex.compile(f"(?:{many})").matches("word1999")
    assert javaregex.compile("(a)" * 500).matches("a" * 500)
    assert javaregex.compile("(a|b)" * 500).matches("ab" * 250)
    assert javaregex.replace_all("ab" * 50_000, "(?:a|ba)(b)", "$1") == "b" * 50_000
    assert javaregex.replace_all("it's " * 50_000, "'", r"'\\''").count("'\\''") == 50_000
    long = "(?s)^(.+)\\z"
    assert javaregex.replace_all("é\n" * 50_000, long, "<$1>").startswith("<é")


def test_syntax_of_other_engines_has_no_meaning() -> None:
    for text in (
        "(?P<n>a)",
        "(?#x)",
        "(?R)",
        r"\L<x>",
        r"\K",
        r"(?|a)",
        "(?&n)",
        "(?V1)a",
        "(?(1)a)",
        r"\m",
        "(?r)a",
        "(?b)a",
    ):
        with pytest.raises(JavaRegexError):
            javaregex.compile(text)
    for text in ("(?:a){e<=1}", "a{e}", "a{i<=1}"):
        with pytest.raises(JavaRegexError):
            javaregex.compile(text)
    assert javaregex.replace_all("a:lph]", "[[:alpha:]]", "-") == "-----]"
    assert javaregex.replace_all("a|-~b", "[a||b]", ".") == "..-~."
    assert javaregex.replace_all("a-~b", "[a~~b]", ".") == ".-.."
    with pytest.raises(JavaRegexError, match="Illegal character range"):
        javaregex.compile("[a--b]")
