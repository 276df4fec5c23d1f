"""Every template and variation of every bundled profile, as text: a change of a script is seen.

The cases and their golden files lie in the profiles' own folders. `make golden` writes the files
anew; read the difference before it is committed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from osprofile.errors import ValueRefusedError
from osprofile.golden.cases import load_cases
from osprofile.golden.checker import (
    CaseOutcome,
    check_cases,
    compare_case,
    incarnate_case,
    list_inherited_folders,
    read_inherited_file,
    read_states_case,
)
from osprofile.golden.files import read_file
from osprofile.golden.generator import HOSTILE_VALUES, add_generated_cases, generate_cases
from osprofile.incarnation.field_rules import check_value
from osprofile.incarnation.plan import PROGRAM_VARIATION, get_plan
from osprofile.profile.data_directories import get_bundled_directory
from osprofile.profile.repository import Repository

if TYPE_CHECKING:
    from osprofile.profile.model import Field

DIRECTORY = Path(get_bundled_directory())
BUNDLED = Repository([DIRECTORY], use_standard_path=False)
CASES = {
    name: add_generated_cases(BUNDLED.load(name), load_cases(str(DIRECTORY / name)))
    for name in BUNDLED.list_names()
}


@pytest.mark.parametrize(("profile", "case"), [(n, c) for n in CASES for c in CASES[n].cases])
def test_golden(profile: str, case: str) -> None:
    cases = CASES[profile]
    golden, asked = cases.get_golden_path(case), cases.cases[case]
    loaded = BUNDLED.load(profile)
    made = read_states_case(loaded, cases, asked) if asked.states else incarnate_case(loaded, asked)
    inherited = read_inherited_file(list_inherited_folders(loaded, cases), case)
    result = compare_case(asked, golden, made, read_file(golden), inherited)
    assert made.error is None
    expected = inherited if result.golden_data is None else result.golden_data
    assert (expected or b"").decode().splitlines() == made.data.decode().splitlines()  # shows a short diff
    assert result.outcome is CaseOutcome.SAME


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_left_over(name: str) -> None:
    results = check_cases(BUNDLED.load(name), CASES[name])
    assert {r.outcome for r in results} == {CaseOutcome.SAME}
    assert [r.file for r in results if r.is_inherited and r.golden_data is not None] == []


def accepts_hostile(field: Field) -> bool:
    """Return whether a field takes any of the hostile values."""
    for value in HOSTILE_VALUES:
        try:
            check_value(field, value)
        except ValueRefusedError:
            continue
        return True
    return False


@pytest.mark.parametrize("name", CASES)
def test_each_script_has_a_default_case_and_a_hostile_one_where_a_request_can_set_something(
    name: str,
) -> None:
    profile, cases = BUNDLED.load(name), CASES[name].cases.values()
    having = {(c.template, c.variation, c.name.rpartition(".")[2]): c for c in cases}
    for template in profile.templates.values():
        for variation in template.invocations.keys() - {PROGRAM_VARIATION}:
            plan = get_plan(profile, template.name, variation, None)
            default = having[template.name, variation, "default"]
            assert set(default.fields) == plan.settable & {*plan.required}
            if any(accepts_hostile(plan.declarations[field]) for field in plan.settable):
                hostile = having[template.name, variation, "hostile"]
                assert set(hostile.fields) <= plan.settable
                assert set(hostile.fields.values()) & {*HOSTILE_VALUES}, hostile.name


@pytest.mark.parametrize("name", CASES)
def test_there_is_nothing_to_add(name: str) -> None:
    generated = generate_cases(BUNDLED.load(name), CASES[name])
    assert (generated.cases, generated.skipped) == ((), {})
