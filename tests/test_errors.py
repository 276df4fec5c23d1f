"""The tree of errors, and each one as a command prints it."""

from __future__ import annotations

import pytest

import osprofile
from osprofile import errors
from osprofile.errors import (
    AlreadyRegisteredError,
    ApplicationNotFoundError,
    CasesError,
    IncarnationError,
    InvalidProfileError,
    JavaRegexError,
    JavaRegexTimeoutError,
    JobNotFoundError,
    MissingValueError,
    NoResultError,
    NotFoundError,
    NotRegisteredError,
    NotSettableError,
    OSProfileError,
    OutcomeUnknownError,
    OutputError,
    Problem,
    ProfileNotFoundError,
    RequestError,
    ScriptError,
    ScriptFailedError,
    ScriptTimeoutError,
    SettingError,
    StorageNotFoundError,
    StoreError,
    SubmissionBusyError,
    SubmissionElsewhereError,
    SubmissionsFailedError,
    TargetError,
    TemplateNotFoundError,
    UnknownFieldError,
    ValueRefusedError,
    format_message,
)
from osprofile.source import Location, Source
from osprofile.text import escape_unprintable, quote_name, quote_value, replace_unprintable, suggest_names

# docs/commands/index.md, What they share: 1 could not be incarnated; 2 unknown profile or template; 3 bad profile.
TREE: list[tuple[type[OSProfileError], type[Exception], int]] = [
    (OSProfileError, Exception, 1),
    (NotFoundError, OSProfileError, 2),
    (ProfileNotFoundError, NotFoundError, 2),
    (TemplateNotFoundError, NotFoundError, 2),
    (ApplicationNotFoundError, NotFoundError, 2),
    (StorageNotFoundError, NotFoundError, 2),
    (JobNotFoundError, NotFoundError, 2),
    (InvalidProfileError, OSProfileError, 3),
    (CasesError, OSProfileError, 3),
    (IncarnationError, OSProfileError, 1),
    (MissingValueError, IncarnationError, 1),
    (NotSettableError, IncarnationError, 1),
    (UnknownFieldError, IncarnationError, 1),
    (ValueRefusedError, IncarnationError, 1),
    (JavaRegexError, OSProfileError, 3),
    (JavaRegexTimeoutError, JavaRegexError, 1),
    (TargetError, OSProfileError, 1),
    (ScriptError, TargetError, 1),
    (OutcomeUnknownError, ScriptError, 1),
    (ScriptTimeoutError, OutcomeUnknownError, 1),
    (SubmissionElsewhereError, OutcomeUnknownError, 1),
    (ScriptFailedError, TargetError, 1),
    (OutputError, TargetError, 1),
    (StoreError, TargetError, 1),
    (SubmissionBusyError, StoreError, 1),
    (SubmissionsFailedError, TargetError, 1),
    (NoResultError, TargetError, 1),
    (AlreadyRegisteredError, TargetError, 1),
    (NotRegisteredError, TargetError, 1),
    (RequestError, OSProfileError, 1),
    (SettingError, OSProfileError, 2),
]
PLACE = Location(Source("f.xml", b"<a>\n  <b/>"), 6)


@pytest.mark.parametrize(("error", "parent", "code"), TREE)
def test_tree(error: type[OSProfileError], parent: type[Exception], code: int) -> None:
    assert error.__bases__ == (parent,)
    assert error.exit_code == code
    assert (getattr(osprofile, error.__name__, None) is error) == (
        error not in {CasesError, RequestError, SettingError}
    )


def test_the_tree_is_whole_and_its_drawing_too() -> None:
    found = [e for e in vars(errors).values() if isinstance(e, type) and issubclass(e, Exception)]
    assert found == [error for error, *_ in TREE]
    drawn = errors.__doc__ or ""
    assert [e.__name__ for e in found if f" {e.__name__} " not in drawn.replace("\n", " ")] == []


TOLD = {
    "message": (format_message("no"), "no"),
    "hint": (format_message("no", hint="do"), "no\n    hint: do"),
    "place": (format_message("no", PLACE), "f.xml:2:3: no\n      <b/>\n      ^"),
    "all": (format_message("no", PLACE, "do"), "f.xml:2:3: no\n      <b/>\n      ^\n    hint: do"),
    "what a terminal acts on": (format_message("a\x1b[31m\x9bb\n", hint="\t"), "a\ufffd[31m\ufffdb\n\n    hint: \ufffd"),
    "what a terminal acts on in a document": (
        format_message("no", Location(Source("f", "\x1b[31m<\x9b".encode()), 5)),
        "f:1:6: no\n    \ufffd[31m<\ufffd\n         ^",
    ),
    "problem": (str(Problem("OSP101", "no")), "error OSP101 no"),
    "problem with all": (
        str(Problem("OSP9", "no", PLACE, "do", "warning")),
        "f.xml:2:3: warning OSP9 no\n      <b/>\n      ^\n    hint: do",
    ),
    "error": (str(OSProfileError("no", location=PLACE, hint="do")), format_message("no", PLACE, "do")),
    "all that is wrong": (str(InvalidProfileError([Problem("OSP1", "a"), Problem("OSP2", "b")])), "error OSP1 a\nerror OSP2 b"),
    "all that is wrong with cases": (
        str(CasesError([OSProfileError("a", location=PLACE, hint="h"), OSProfileError("b")])),
        "f.xml:2:3: a\n      <b/>\n      ^\n    hint: h\nb",
    ),
    "pattern": (str(JavaRegexError("bad", text="a(b", index=1, hint="do")), "bad\n    a(b\n     ^\n    hint: do"),
    "pattern without hint": (str(JavaRegexError("bad", text="a(b", index=1)), "bad\n    a(b\n     ^"),
    "pattern that no line can show": (str(JavaRegexError("bad", text="a\n(", index=2, hint="do")), "bad\n    hint: do"),
    "no pattern": (str(JavaRegexTimeoutError("slow")), "slow"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), TOLD.values(), ids=TOLD)
def test_text(text: str, expected: str) -> None:
    assert text == expected


UNPRINTABLE = {
    "": ("", ""),
    "é\n": ("é\ufffd", "é\\n"),
    "a\tb": ("a\tb", "a\tb"),
    "\x1b[31m\x9b\u2028": ("\ufffd[31m\ufffd\ufffd", "\\x1b[31m\\x9b\\u2028"),
    "\udc80\\": ("\ufffd\\", "\\udc80\\"),
}


@pytest.mark.parametrize(("text", "shown"), UNPRINTABLE.items(), ids=map(ascii, UNPRINTABLE))
def test_unprintable_characters(text: str, shown: tuple[str, str]) -> None:
    assert (replace_unprintable(text, "\t"), escape_unprintable(text, "\t")) == shown


def test_an_error_of_a_profile_has_the_first_problem_as_its_own() -> None:
    error = InvalidProfileError([Problem("OSP1", "a", PLACE, "h"), Problem("OSP2", "b")])
    assert (error.message, error.location, error.hint) == ("a", PLACE, "h")
    assert [p.code for p in error.problems] == ["OSP1", "OSP2"]


def test_an_error_of_a_request_names_its_field() -> None:
    assert ValueRefusedError("no", field="QUEUE").field == "QUEUE"
    assert IncarnationError("no").field == ""


NEAREST = [
    ("STRAT", ["START", "LIST"], "did you mean START?"),
    ("start", ["START", "LIST"], "did you mean START?"),
    ("HOLDS", ["HOLD", "HOLDX", "LIST"], "did you mean HOLD or HOLDX?"),
    ("abcd", ["abce", "abcf", "abcg", "abch"], "did you mean abch, abcg or abcf?"),
    ("xyz", ["START", "LIST"], "known: LIST, START"),
    ("x", [], ""),
    ("", ["A"], "known: A"),
    ("zzzz", [f"n{i:02}" for i in range(31)], "there are 31: " + ", ".join(f"n{i:02}" for i in range(30)) + ", ..."),
]  # fmt: skip


@pytest.mark.parametrize(("name", "known", "hint"), NEAREST)
def test_nearest(name: str, known: list[str], hint: str) -> None:
    assert suggest_names(name, known) == hint


def test_nearest_of_a_hostile_name_is_quick() -> None:
    assert suggest_names("A" * 1_000_000, [f"FIELD_{i}" for i in range(20)]).startswith("known: ")


SHOWN = [
    ("a", "'a'"),
    ("it's", '"it\'s"'),
    ("a\n\x1b[31m", "'a\\n\\x1b[31m'"),
    ("\udc80", "'\\x80'"),
    ("gr\udcf6\\\udcff", "'gr\\xf6\\\\\\xff'"),
    ("\\udcf6", "'\\\\udcf6'"),
    ("x" * 80, f"'{'x' * 80}'"),
    ("x" * 81, f"'{'x' * 80}'... (81 characters)"),
]


@pytest.mark.parametrize(("value", "text"), SHOWN)
def test_shown(value: str, text: str) -> None:
    assert quote_value(value) == text


NAMED = [
    ("QUEUE", "QUEUE"),
    ("SSH:HOST", "SSH:HOST"),
    ("été", "été"),
    ("", "''"),
    ("a b", "'a b'"),
    ("a\nb", "'a\\nb'"),
    ("x" * 81, f"'{'x' * 80}'... (81 characters)"),
]


@pytest.mark.parametrize(("name", "text"), NAMED)
def test_a_name_is_told_plainly_only_where_it_is_plain(name: str, text: str) -> None:
    assert quote_name(name) == text
