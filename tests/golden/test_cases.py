"""Reading `cases.toml`, and the location of each of its errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from osprofile.errors import CasesError, OSProfileError
from osprofile.golden.cases import CASE_NAME, Case, load_cases, parse_cases

if TYPE_CHECKING:
    from pathlib import Path

FILE = "golden/cases.toml"
WHOLE = """\
# a comment
[context]
USER_NAME = "alice"
"SSH:HOST" = "h"

[case."GREET.long"]  # one
template = "GREET"
variation = "PLAIN"
application = "A/1"
fields.TEXT = "a\\r\\nb"
fields.TIMES = '''
3'''
context = { USER_NAME = "bob", WORKING_DIRECTORY = "/w" }
refused = true

[case.short]
template = "GREET"
"""


def test_all_that_a_case_can_say() -> None:
    cases = parse_cases(FILE, WHOLE.encode())
    assert (cases.folder, cases.cases_path) == ("golden", FILE)
    assert cases.get_golden_path("short") == "golden/short.txt"
    assert cases.context == {"USER_NAME": "alice", "SSH:HOST": "h"}
    long, short = cases.cases.values()
    assert long == Case(
        name="GREET.long",
        template="GREET",
        variation="PLAIN",
        application="A/1",
        fields={"TEXT": "a\r\nb", "TIMES": "3"},
        context={"USER_NAME": "bob", "SSH:HOST": "h", "WORKING_DIRECTORY": "/w"},
        must_be_refused=True,
        location=long.location,
    )
    assert str(long.location) == "golden/cases.toml:6:7"
    assert short == Case("short", "GREET", "", None, {}, cases.context, False, short.location)


def case(content: str, name: str = "a") -> str:
    return f'[case.{name}]\ntemplate = "T"\n{content}\n'


BAD: dict[str, tuple[Any, ...]] = {
    # what: (content, line:column message, piece of a hint), ...
    "no value": ("[case.a]\ntemplate =\n", ("2:11: invalid TOML: Invalid value", "TOML 1.0")),
    "an open string": ('[case.a]\ntemplate = "', ("2:13: invalid TOML: Unterminated string", "TOML 1.0")),
    "behind a letter of two bytes": ("é = é", ("1:1: invalid TOML: Invalid statement", "")),
    "far in a line of letters of two bytes": ('"é" = "é" é', ("1:11: invalid TOML: Expected newline", "")),
    "CR LF lines": ("a = 1\r\n\r\nb\r\n", ("3:2: invalid TOML: Expected '=' after a key", "")),
    "a case twice": (case("") + case(""), ("4:8: invalid TOML: Cannot declare ('case', 'a') twice", "")),
    "a byte order mark": ("\ufeff" + case(""), ("1:1: invalid TOML: Invalid statement", "without a byte order mark")),
    "no UTF-8": (b"a = '\xc3\xa9\xe9'", ("1:7: the file is not UTF-8", "save the file as UTF-8")),
    "a NUL": ("a = '\0'", ("1:6: invalid TOML: Found invalid character '\\x00'", "")),
    "a deep nest": ("a = " + "[" * 10000, ("1:1: the values are nested too deeply", "")),
    "an endless number": ("a = " + "1" * 5000, ("1:1: invalid TOML: Exceeds the limit", "TOML 1.0")),
    "empty": ("", ("golden/cases.toml has no case", "incarnate check --add")),
    "comments alone": ("# [case.a]\n", ("golden/cases.toml has no case", "incarnate check --add")),
    "context alone": ("[context]\nA = 'a'\n", ("golden/cases.toml has no case", "")),
    "an unknown key at the top": ("[contxt]\nA = '1'\n" + case(""), ("1:2: unknown key contxt", "did you mean context?")),
    "a case at the top": ("['a.b']\ntemplate = 'T'\n", ("1:2: unknown key a.b", 'write [case."a.b"]')),
    "an unknown key": (case("fieds.A = 'a'"), ("3:1: unknown key fieds", "did you mean fields?")),
    "an unknown key with a value": (case("refuse = true"), ("3:1: unknown key refuse", "did you mean refused?")),
    "an odd key": (case('"\\u001b[31m" = 1'), ("3:1: unknown key '\\x1b[31m'", "known: application")),
    "a dot outside of quotes": (
        case("", "START.long"), ("1:7: case START has no template", "add a template"),
        ("1:13: unknown key long", 'with a dot: [case."START.long"]'),
    ),
    "case is no table": ("case = 1", ("1:1: case is not a table", "")),
    "a case is no table": ("case.a = 1", ("1:6: case.a is not a table", "")),
    "cases as an array": ("[[case]]\ntemplate = 'T'", ("1:3: case is not a table", "")),
    "context is no table": ("context = 'a'\n" + case(""), ("1:1: context is not a table", "")),
    "no template": ("[case.a]\n", ("1:7: case a has no template", 'template = "START"')),
    "template is no string": ("[case.a]\ntemplate = ['T']", ("2:1: template is not a string", "")),
    "refused is no boolean": (case("refused = 1"), ("3:1: refused is not true or false", "")),
    "a boolean is no string": (case("variation = true"), ("3:1: variation is not a string", "")),
    "a number": (case("fields.N = 10"), ("3:8: fields.N is not a string", 'write fields.N = "10"')),
    "a number in an inline table": (case("fields = { 'S:H' = 1.5 }"), ('3:1: fields."S:H" is not a string', '= "1.5"')),
    "a number in a table of its own": (
        case("[case.a.fields]\nA = '1'\n N = -1"), ("5:2: fields.N is not a string", 'write fields.N = "-1"'),
    ),
    "a long number": (case(f"fields.N = 0x{'f' * 5000}"), ("3:8: fields.N is not a string", "")),
    "a number in the context": ("[context]\nA = 1\n" + case(""), ("2:1: context.A is not a string", 'write context.A = "1"')),
    "a date": (case("fields.A = 2026-11-21"), ("3:8: fields.A is not a string", "")),
    "a table for a value": (case("fields.A.B = 'a'"), ("3:8: fields.A is not a string", "")),
    "a value that no script can carry": (
        case('fields.A = "a\\u0000"'), ("3:8: field A: 'a\\x00' has a NUL character", "remove it"),
    ),
    "a path for a name": (case("", "'../a'"), ("1:7: the name '../a' is not allowed", "it names a file")),
    "an absolute path for a name": (case("", "'/etc/passwd'"), ("1:7: the name '/etc/passwd' is not allowed", "")),
    "a hidden file": (case("", "'.a'"), ("1:7: the name '.a' is not allowed", "")),
    "two dots": (case("", "'..'"), ("1:7: the name '..' is not allowed", "")),
    "an empty name": (case("", "''"), ("1:7: the name '' is not allowed", "")),
    "an option for a name": (case("", "-a"), ("1:7: the name '-a' is not allowed", "")),
    "a line end in a name": (case("", '"a\\n"'), ("1:7: the name 'a\\n' is not allowed", "")),
    "letters of other alphabets": (case("", '"é"'), ("1:7: the name 'é' is not allowed", "")),
    "a long name": (case("", "a" * 201), ("1:7: the name 'aaaa", "at most 200")),
    "upper and lower case": (
        case("", "A.b".join("''")) + case("", "a.B".join("''")), ("4:7: the names A.b and a.B differ only in", "same file"),
    ),
    "several things, in order": (
        "x = 1\n" + case("fields.A = 1\nrefused = 0") + case("y = 1", "'b c'"),
        ("1:1: unknown key x", ""), ("4:8: fields.A is not a string", ""), ("5:1: refused is not", ""),
        ("6:7: the name 'b c' is not", ""),
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_what_is_wrong(what: str) -> None:
    text, *expected = BAD[what]
    with pytest.raises(CasesError) as caught:
        parse_cases(FILE, text if isinstance(text, bytes) else text.encode())
    errors = caught.value.errors
    assert len(errors) == len(expected), str(caught.value)
    for error, (begin, hint) in zip(errors, expected, strict=True):
        message = str(error).replace(f"{FILE}:", "", 1)
        assert message.startswith(begin)
        assert hint in error.hint
    assert caught.value.exit_code == 3


def test_load(tmp_path: Path) -> None:
    assert load_cases(str(tmp_path)).source is None
    golden = tmp_path / "golden"
    golden.mkdir()
    with pytest.raises(CasesError, match=f"there is no file {golden}/cases.toml"):
        load_cases(str(tmp_path))
    assert load_cases(str(tmp_path), allow_missing=True).source is None
    assert parse_cases(FILE, b"", allow_missing=True).cases == {}
    with pytest.raises(CasesError):
        parse_cases(FILE, b"x = 1", allow_missing=True)
    (golden / "cases.toml").write_text(WHOLE)
    found = load_cases(str(tmp_path))
    assert list(found.cases) == ["GREET.long", "short"]
    assert found.get_golden_path("short") == str(golden / "short.txt")


PIECES = [
    "[case.a]", "[case.'a.b']", "[case.a.fields]", "[context]", "[[case]]", "template", "variation",
    "application", "fields", "context", "refused", "case", ".", "=", "'T'", '"é\\u2028"', "true", "1", "1.5",
    "[", "]", "{", "}", ",", "\n", "\r\n", " ", "#", "'''", '"""', "\\", "\x1b", "2026-11-21", "a", "é",
]  # fmt: skip


@st.composite
def with_slips(draw: st.DrawFn) -> str:
    """Draw a whole file with some slips."""
    text = WHOLE
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(text)))
        end = at + draw(st.integers(0, 12))
        text = text[:at] + draw(st.sampled_from(["", *PIECES])) + text[end:]
    return text


@given(
    st.binary(max_size=200)
    | (st.lists(st.sampled_from(PIECES), max_size=40).map("".join) | with_slips()).map(str.encode)
)
@example(b"[case.a]\ntemplate='T'\nfields={'a'='b'}")
def test_any_bytes_pieces_or_slips(data: bytes) -> None:
    """Any text is either read to valid cases or refused with a location."""
    cases, errors = None, tuple[OSProfileError, ...]()
    try:
        cases = parse_cases(FILE, data)
    except CasesError as error:
        errors = error.errors
    assert bool(cases) != bool(errors)
    for one in errors:
        assert FILE in str(one)
        assert one.location is None or 0 <= one.location.offset <= len(data)
        assert all(c.isprintable() or c in "\n\ufffd" for c in str(one))
    for name, found in cases.cases.items() if cases else ():
        assert CASE_NAME.fullmatch(name)
        values = [*found.fields.values(), *found.context.values()]
        assert all(isinstance(v, str) and "\0" not in v for v in values)
        assert isinstance(found.must_be_refused, bool)
        assert found.location is not None
