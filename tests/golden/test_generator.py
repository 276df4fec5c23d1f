"""Generating cases for templates without cases, and appending them to a file."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osprofile.errors import CasesError
from osprofile.golden.cases import CASE_NAME, Case, CaseSuite, load_cases, parse_cases
from osprofile.golden.checker import CaseOutcome, check_cases
from osprofile.golden.generator import HOSTILE_VALUES, GeneratedCases, generate_cases
from osprofile.golden.writer import add_cases, format_cases_file
from tests.strategies import default, field, fixed, invocation, profile, template, template_of

if TYPE_CHECKING:
    from pathlib import Path

    from osprofile.profile.model import Profile

NONE = CaseSuite("golden", {}, {})


def by_name(generated: GeneratedCases) -> dict[str, Case]:
    return {case.name: case for case in generated.cases}


def test_what_is_made(small: Profile) -> None:
    generated = generate_cases(small, NONE)
    made = by_name(generated)
    assert list(made) == [
        "GREET.PLAIN.default",
        "BIN.default", "BIN.STATIC_SCRIPT.default", "BIN.RUN_STATIC_SCRIPT.default",
        "COUNT.default", "COUNT.hostile",
    ]  # fmt: skip
    assert generated.context == {
        "USER_NAME": "alice",
        "WORKING_DIRECTORY": "/u/alice/20261121-094512-0011223344556677",
        "SSH:HOST": "login.example.org",
        "SUDO:USER": "alice",
    }
    # a tag is tried where no value that is tried for all fields is allowed
    assert made["COUNT.default"].fields == made["COUNT.hostile"].fields == {"WHAT": "all"}
    assert made["BIN.RUN_STATIC_SCRIPT.default"].context["TARGET"] == "of.TARGET"


def test_what_cannot_be_made_is_told(small: Profile) -> None:
    message = "field NAME has no value: template GREET uses it"
    generated = generate_cases(small, NONE)
    assert generated.skipped == {"GREET.default": message, "GREET.hostile": message}
    selected = generated.select_cases(lambda n: n == "GREET.hostile")
    assert selected == GeneratedCases((), generated.context, {"GREET.hostile": message})


def test_values() -> None:
    """The most hostile value that each field takes; the required ones have an ordinary one."""
    resolved = profile(
        template(
            "T",
            "<TEXT><NUMBER><SMALL><WORD><JOB_ID><FIXED><HIDDEN><TIMED:HMS><NEEDED><PAID_BY>",
            field("TEXT", default("")),
            field("NUMBER", default("1"), 'ext:type="integer"'),
            field("SMALL", "<idb:Min>2</idb:Min><idb:Max>5</idb:Max><idb:Default>3</idb:Default>"),
            field("WORD", default(""), 'ext:pattern="[a-z.]*"'),
            field("JOB_ID", attributes='ext:pattern="[0-9]+-[0-9]+-[0-9a-f]{8}"'),
            field("FIXED", fixed("f")),
            field("HIDDEN", default("h"), 'isSettable="false"'),
            field("TIMED", default("60"), 'ext:type="integer"'),
            field("NEEDED", "<idb:Min>70</idb:Min><idb:Max>80</idb:Max>"),
            field("PAID_BY", attributes='ext:pattern="phys|chem"'),
        )
    )
    made = by_name(generate_cases(resolved, NONE))
    needed = {"JOB_ID": "4711-304973-7d90afd1", "NEEDED": "70", "PAID_BY": "phys"}
    assert made["T.default"].fields == needed
    hostile = {"TEXT": HOSTILE_VALUES[0], "NUMBER": "999999", "TIMED": "999999"}
    assert made["T.hostile"].fields == needed | hostile


def test_the_context_that_a_profile_wants() -> None:
    resolved = profile(
        template(
            "T",
            "<SECRET><TargetSystemInfo:Queue><QUEUE_KIND><SSH:HOST>",
            field("SECRET", attributes='isSettable="false"'),
            field("QUEUE_KIND", attributes='isSettable="false" ext:pattern="[0-9]"'),
        )
    )
    (case,) = generate_cases(resolved, NONE).cases
    assert {n: v for n, v in case.context.items() if v != "alice" and "/" not in v} == {
        "SECRET": "of.SECRET",
        "QUEUE_KIND": "1",
        "TargetSystemInfo:Queue": "of.TargetSystemInfo:Queue",
        "SSH:HOST": "login.example.org",
    }


@pytest.mark.parametrize(
    ("have", "missing"),
    [
        ("[case.'T.default']\ntemplate = 'T'", ["T.V.default", "U.default"]),
        ("[case.'mine.default']\ntemplate = 'T'", ["T.V.default", "U.default"]),
        ("[case.default]\ntemplate = 'U'", ["T.default", "T.V.default"]),
        # the name is taken by another, or means the same file
        ("[case.'T.V.default']\ntemplate = 'T'", ["T.V-2.default", "U.default"]),
        ("[case.'u.default']\ntemplate = 'T'", ["T.V.default", "U-2.default"]),
        # of another application, or refused: not what is meant
        ("[case.'T.default']\ntemplate='T'\nrefused=true", ["T-2.default", "T.V.default", "U.default"]),
    ],
)  # fmt: skip
def test_what_there_is_is_not_made_again(have: str, missing: list[str]) -> None:
    resolved = profile(template_of("T", invocation("a"), invocation("b", "V")), template("U", "c"))
    generated = generate_cases(resolved, parse_cases("golden/cases.toml", have.encode()))
    assert [case.name for case in generated.cases] == missing


def test_odd_names() -> None:
    odd = profile(*(template(n, "x") for n in ("../a", ".b", "c d", "é", "C D", "-", "t" * 300)))
    names = [case.name for case in generate_cases(odd, NONE).cases]
    assert names == [
        "_a.default", "b.default", "c_d.default", "_.default", "C_D-2.default", "_-2.default",
        "t" * 150 + ".default",
    ]  # fmt: skip
    assert all(CASE_NAME.fullmatch(name) for name in names)


def test_a_profile_without_the_default_application() -> None:
    resolved = profile(template("START", "<JOB_SCRIPT>"), template("T", "x"))
    generated = generate_cases(resolved, NONE)
    assert list(by_name(generated)) == ["T.default"]
    assert "no application 'Executable'" in generated.skipped["START.default"]


# Writing


def added(small: Profile, folder: Path) -> CaseSuite:
    have = load_cases(str(folder), allow_missing=True)
    return add_cases(small, have, generate_cases(small, have))


def test_a_new_file_is_read_back(small: Profile, folder: Path) -> None:
    cases = added(small, folder)
    generated = generate_cases(small, NONE)
    assert {n: c._replace(location=None) for n, c in cases.cases.items()} == by_name(generated)
    assert (folder / "golden/cases.toml").read_text() == format_cases_file(small, generated)
    assert {r.outcome for r in check_cases(small, cases)} == {CaseOutcome.MISSING}
    assert generate_cases(small, cases).cases == ()


def test_what_a_file_has_stays_as_it_is(small: Profile, folder: Path) -> None:
    (folder / "golden").mkdir()
    file = folder / "golden/cases.toml"
    for old in (
        b"# mine\r\n[context]\r\nUSER_NAME = 'me'\r\n\r\n[case.mine]\r\ntemplate = 'BIN' # why",
        b"# nothing yet",
        b"",
        b"[case.mine] # none\ntemplate = 'BIN'\n",
        b"[case]\nmine.template = 'BIN'\n",
        b"case.mine.template = 'BIN'\n",
    ):
        file.write_bytes(old)
        cases = added(small, folder)
        new = file.read_bytes()
        assert new.startswith(old)
        assert (b"\r\n" in new) == (b"\r\n" in old)
        further = new.removeprefix(old).replace(b"\r\n", b"\n")
        gap = b"\n" * ((old[-1:] not in {b"", b"\n"}) + 1)  # one empty line
        assert further.startswith(gap + b"[case.")
        assert new.count(b"\n") == new.count(b"\r\n") or b"\r\n" not in old
        assert all(r.output.error is None for r in check_cases(small, cases))
        assert added(small, folder).cases.keys() == cases.cases.keys()


def test_the_context_that_a_file_lacks_stands_in_the_case(small: Profile, folder: Path) -> None:
    (folder / "golden").mkdir()
    (folder / "golden/cases.toml").write_text("[context]\nUSER_NAME = 'me'\n")
    cases = added(small, folder).cases
    assert cases["GREET.PLAIN.default"].context == {
        "USER_NAME": "me",
        "WORKING_DIRECTORY": "/u/alice/20261121-094512-0011223344556677",
    }


def test_where_nothing_can_be_added(small: Profile, folder: Path) -> None:
    (folder / "golden").mkdir()
    file = folder / "golden/cases.toml"
    file.write_text("case = { mine = { template = 'BIN' } }\n")
    with pytest.raises(CasesError, match="no table can be appended") as caught:
        added(small, folder)
    assert caught.value.hint == "write its cases as separate tables: [case.NAME]"
    assert file.read_text() == "case = { mine = { template = 'BIN' } }\n"


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
TABLES = st.dictionaries(TEXTS, TEXTS, max_size=3)


@given(
    st.dictionaries(st.from_regex(CASE_NAME, fullmatch=True), st.tuples(TEXTS, TEXTS, TABLES, TABLES), min_size=1),
    TABLES,
)  # fmt: skip
def test_whatever_is_written_is_read_back(
    content: dict[str, tuple[str, str, dict[str, str], dict[str, str]]], context: dict[str, str]
) -> None:
    names = {name.casefold(): name for name in content}.values()
    cases = tuple(
        Case(n, t, v, None, f, context | c, False, None) for n in names for t, v, f, c in [content[n]]
    )
    text = format_cases_file(profile(), GeneratedCases(cases, context, {}))
    found = parse_cases("golden/cases.toml", text.encode())
    assert [c._replace(location=None) for c in found.cases.values()] == [*cases]
    assert found.context == context == tomllib.loads(text)["context"]
