"""Every template and variation of every bundled profile, as text: a change of a script is seen.

The cases and their golden files lie in the profiles' own folders. `make golden` writes the files
anew; read the difference before it is committed.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from osprofile.golden.cases import load
from osprofile.golden.check import Kind, check, judge, make
from osprofile.golden.files import read
from osprofile.golden.generate import HOSTILE, generate
from osprofile.golden.write import document
from osprofile.incarnation.plan import plan_of
from osprofile.profile.data import bundled_profiles_directory
from osprofile.profile.repository import Repository

DIRECTORY = Path(bundled_profiles_directory())
BUNDLED = Repository([DIRECTORY], standard=False)
CASES = {name: load(str(DIRECTORY / name)) for name in BUNDLED.names()}


@pytest.mark.parametrize(("profile", "case"), [(n, c) for n in CASES for c in CASES[n].cases])
def test_golden(profile: str, case: str) -> None:
    cases = CASES[profile]
    golden, asked = cases.golden(case), cases.cases[case]
    made = make(BUNDLED.load(profile), asked)
    result = judge(asked, golden, made, read(golden))
    assert made.error is None
    assert (result.old or b"").decode().splitlines() == made.data.decode().splitlines()  # told well
    assert result.kind is Kind.SAME


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_left_over(name: str) -> None:
    assert {r.kind for r in check(BUNDLED.load(name), CASES[name])} == {Kind.SAME}


@pytest.mark.parametrize("name", CASES)
def test_each_script_has_a_default_case_and_a_hostile_one_where_a_request_can_set_something(
    name: str,
) -> None:
    profile, cases = BUNDLED.load(name), CASES[name].cases.values()
    having = {(c.template, c.variation, c.name.rpartition(".")[2]): c for c in cases}
    for template in profile.templates.values():
        for variation in template.invocations:
            plan = plan_of(profile, template.name, variation, None)
            default = having[template.name, variation, "default"]
            assert set(default.fields) == plan.settable & {*plan.required}
            if plan.settable:
                hostile = having[template.name, variation, "hostile"]
                assert set(hostile.fields) <= plan.settable
                assert set(hostile.fields.values()) & {*HOSTILE}, hostile.name


@pytest.mark.parametrize("name", CASES)
def test_there_is_nothing_to_add(name: str) -> None:
    generated = generate(BUNDLED.load(name), CASES[name])
    assert (generated.cases, generated.left_out) == ((), {})


@pytest.mark.parametrize("name", CASES)
def test_the_cases_are_those_that_would_be_made_from_nothing(name: str, tmp_path: Path) -> None:
    profile = BUNDLED.load(name)
    generated = generate(profile, load(str(tmp_path)))
    made = {case.name: case._replace(place=None) for case in generated.cases}
    assert made == {n: c._replace(place=None) for n, c in CASES[name].cases.items()}
    assert document(profile, generated) == (DIRECTORY / name / "golden/cases.toml").read_text()
