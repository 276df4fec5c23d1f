"""Every template and variation of every bundled profile, as text: a change of a script is seen.

The cases and their golden files lie in the profiles' own folders. `incarnate check PROFILE` shows what differs, and
`make golden` writes the files anew; read the difference before it is committed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from osprofile.errors import ValueRefusedError
from osprofile.golden.cases import load_cases
from osprofile.golden.checker import CaseOutcome, check_cases
from osprofile.golden.generator import HOSTILE_VALUES, add_generated_cases, generate_cases
from osprofile.incarnation.field_rules import check_value
from osprofile.incarnation.plan import PROGRAM_VARIATION, get_plan
from osprofile.profile.data_directories import get_bundled_directory
from osprofile.profile.repository import Repository

if TYPE_CHECKING:
    from osprofile.profile.model import Field

DIRECTORY = Path(get_bundled_directory())
BUNDLED = Repository([DIRECTORY], use_standard_path=False)


def accepts_hostile(field: Field) -> bool:
    """Return whether a field takes any of the hostile values."""
    for value in HOSTILE_VALUES:
        try:
            check_value(field, value)
        except ValueRefusedError:
            continue
        return True
    return False


@pytest.mark.parametrize("name", BUNDLED.list_names())
def test_golden(name: str) -> None:
    """Each script has a default case, and a hostile one where a request can set something; all are as they were."""
    profile = BUNDLED.load(name)
    suite = add_generated_cases(profile, load_cases(str(DIRECTORY / name)))
    results = check_cases(profile, suite)
    assert [(r.file, r.outcome) for r in results if r.outcome is not CaseOutcome.SAME] == []
    assert [r.file for r in results if r.is_inherited and r.golden_data is not None] == []
    generated = generate_cases(profile, suite)
    assert (generated.cases, generated.skipped) == ((), {})
    cases = suite.cases.values()
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
