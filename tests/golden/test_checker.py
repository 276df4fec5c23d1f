"""Cases against golden files: same, different, missing, refused, accepted, stale."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from osprofile.errors import CasesError, InvalidProfileError, ValueRefusedError
from osprofile.golden.cases import CaseSuite, load_cases, parse_cases
from osprofile.golden.checker import CaseOutcome, check_cases, incarnate_case
from osprofile.golden.writer import update_files
from tests.strategies import default, field, fixed, profile, template

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from osprofile.golden.checker import CaseOutput, CaseResult
    from osprofile.profile.model import Profile

PLAIN = """\
[context]
USER_NAME = "alice"
WORKING_DIRECTORY = "/w"
[case.plain]
template = "GREET"
variation = "PLAIN"
[case.bad]
template = "GREET"
refused = true
fields = { NAME = "ABC" }
"""


def written(folder: Path, text: str) -> CaseSuite:
    (folder / "golden").mkdir(exist_ok=True)
    (folder / "golden/cases.toml").write_text(text)
    return load_cases(str(folder))


def made(profile: Profile, content: str) -> CaseOutput:
    cases = parse_cases("f", f"[case.a]\ntemplate = 'GREET'\n{content}".encode())
    return incarnate_case(profile, cases.cases["a"])


def test_what_a_case_gives(small: Profile) -> None:
    found = made(small, "fields.TEXT = \"it's\\r\\n\\u2028é\"\nfields.NAME = 'abc'")
    assert found.data == "echo 'it'\\''s\r\n\u2028é' 3 abc\n".encode()
    assert (found.error, found.wrongly_accepted, found.warnings) == (None, False, ())
    not_refused = made(small, "fields.NAME = 'ABC'")
    assert (type(not_refused.error), not_refused.data) == (ValueRefusedError, b"")
    error = made(small, "variation = 'PLAIN'").error  # nothing of the machine goes in
    assert error is not None
    assert error.message == "field USER_NAME has no value: template GREET, variation PLAIN uses it"


# The words without a place; a request is judged strictly.
REFUSED = {
    "TIMES = '6'": "field TIMES: '6' is above the Max of 5\n    hint: allowed: 2 to 5\n",
    "NMAE = '6'": "field NMAE is not used by template GREET of profile small\n    hint: did you mean NAME?\n",
}


@pytest.mark.parametrize(("field", "told"), REFUSED.items())
def test_a_case_that_is_refused_gives_the_words_without_a_place(
    small: Profile, field: str, told: str
) -> None:
    found = made(small, f"refused = true\nfields = {{ NAME = 'abc', {field} }}")
    assert (found.data.decode(), found.error, found.wrongly_accepted) == (told, None, False)


def outcomes(results: Iterable[CaseResult]) -> dict[str, CaseOutcome]:
    return {result.name: result.outcome for result in results}


def test_the_fate_of_cases(small: Profile, folder: Path) -> None:
    cases = written(folder, PLAIN)
    first = check_cases(small, cases)
    assert outcomes(first) == {"plain": CaseOutcome.MISSING, "bad": CaseOutcome.MISSING}
    assert update_files(first) == first
    assert (folder / "golden/plain.txt").read_text() == "echo alice in /w"
    same = {"plain": CaseOutcome.SAME, "bad": CaseOutcome.SAME}
    assert outcomes(check_cases(small, cases)) == same
    assert update_files(check_cases(small, cases)) == []
    (folder / "golden/plain.txt").write_text("echo alice in /w\n")  # one line end is a difference
    for name in ("old.txt", "no case's.txt", "notes"):
        (folder / "golden" / name).write_text("")
    second = check_cases(small, cases)
    assert outcomes(second) == {
        "plain": CaseOutcome.DIFFERENT, "bad": CaseOutcome.SAME, "old": CaseOutcome.STALE,
    }  # fmt: skip
    update_files(second)
    assert outcomes(check_cases(small, cases)) == same
    left = sorted(p.name for p in (folder / "golden").iterdir())
    assert left == ["bad.txt", "cases.toml", "no case's.txt", "notes", "plain.txt"]


def test_what_people_have_to_judge_is_not_written(small: Profile, folder: Path) -> None:
    text = PLAIN.replace("refused = true\n", "").replace("[case.plain]", "[case.plain]\nrefused = true")
    results = check_cases(small, written(folder, text))
    assert outcomes(results) == {"plain": CaseOutcome.ACCEPTED, "bad": CaseOutcome.REFUSED}
    assert update_files(results) == []
    assert [p.name for p in (folder / "golden").iterdir()] == ["cases.toml"]


def test_some_cases(small: Profile, folder: Path) -> None:
    cases = written(folder, PLAIN)
    (folder / "golden/pold.txt").write_text("")
    (folder / "golden/old.txt").write_text("")
    found = check_cases(small, cases, lambda name: name.startswith("p"))
    assert outcomes(found) == {"plain": CaseOutcome.MISSING, "pold": CaseOutcome.STALE}


def test_what_the_profile_lacks_is_all_told(small: Profile, folder: Path) -> None:
    text = """\
[case.a]
template = "GRET"
[case.b]
template = "GREET"
variation = "PLANE"
[case.c]
template = "GREET"
application = "None"
[case.d]
template = "GREET"
fields.NAME = "abc"
"""
    cases = written(folder, text)
    (folder / "golden/d.txt").symlink_to("/etc/passwd")
    with pytest.raises(CasesError) as caught:
        check_cases(small, cases)
    assert [str(e).partition("\n")[0].replace(str(folder), "F") for e in caught.value.errors] == [
        "F/golden/cases.toml:1:7: case a: profile small has no template 'GRET'",
        "F/golden/cases.toml:3:7: case b: template GREET has no variation 'PLANE'",
        "F/golden/cases.toml:6:7: case c: profile small has no application 'None'",
        "F/golden/d.txt is a symbolic link",
    ]


def test_a_fault_in_a_body(folder: Path) -> None:
    made = profile(template("T", "<A/(/>", field("A", default(""))))
    cases = written(folder, '[case.a]\ntemplate = "T"')
    with pytest.raises(InvalidProfileError, match="OSP401"):
        check_cases(made, cases)


def test_a_fixed_value_gives_a_warning(folder: Path) -> None:
    made = profile(template("T", "<A>", field("A", fixed("1"))))
    (result,) = check_cases(made, written(folder, '[case.a]\ntemplate = "T"\nfields.A = "2"'))
    assert result.output.data == b"1"
    assert "which overrides the request" in result.output.warnings[0]
