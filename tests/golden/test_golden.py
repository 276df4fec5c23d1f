"""Every template and variation of every bundled profile, as text: a change of a script is seen.

`make golden` writes the files anew; read the difference before it is committed. `hostile` holds
values that a shell, a batch system or a careless script could take for something else; of each
field the most hostile one that its pattern lets pass.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from osprofile.errors import IncarnationError
from osprofile.incarnation.fields import Rule
from osprofile.incarnation.incarnate import incarnate
from osprofile.incarnation.plan import plan_of
from osprofile.profile.data import bundled_profiles_directory
from osprofile.profile.repository import Repository

if TYPE_CHECKING:
    from pytest_regressions.file_regression import FileRegressionFixture

    from osprofile.profile.model import Field

HERE = Path(__file__).parent
BUNDLED = Repository([bundled_profiles_directory()], standard=False)
CASES = [
    (name, template.name, variation, kind)
    for name in BUNDLED.names()
    for template in BUNDLED.load(name).templates.values()
    for variation in template.invocations
    for kind in ("default", "hostile")
    if kind == "default" or plan_of(BUNDLED.load(name), template.name, variation, None).settable
]
CONTEXT = {
    "USER_NAME": "alice",
    "WORKING_DIRECTORY": "/var/tmp/alice/20261121-094512-0011223344556677",
    "SSH:HOST": "login.example.org",
}
PLAIN = {"JOB_ID": ["4711", "4711-304973-7d90afd1"], "SIGNAL": ["10"], "PATH": ["results/out.txt"]}
HOSTILE = [
    "-rf 'it''s' \"$HOME\" $(touch pwned) `id` * ; & | < > \\ \r\n\t\u0085\u2028é😀\nEOF",
    "a 'it''s' \"$HOME\" $(touch pwned) `id` * ; & | < > \\ \r\n\t\u0085\u2028é😀\nEOF",
    "'two words' '$(touch pwned)' '`id`' '\n' \\' '' '-x' 'é\u2028'",
    "export A='$(touch pwned)'\nexport B='it'\\''s\n\u2028'\n",
    "_@:+-.a",
    "999999",
    "9",
    "4711",
    "4711-304973-7d90afd1",
]


def accepted(field: Field, candidates: list[str]) -> str | None:
    """Give the first candidate that the field's rules let pass."""
    for value in candidates:
        try:
            Rule(field).resolve(value)
        except IncarnationError:
            continue
        return value
    return None


def values(profile: str, template: str, variation: str, *, hostile: bool) -> dict[str, str]:
    """Give a request: what has no default, or every settable field as hostile as it may be."""
    plan = plan_of(BUNDLED.load(profile), template, variation, None)
    names = sorted(plan.settable if hostile else plan.settable & {*plan.required})
    found = {
        name: accepted(plan.declared[name], HOSTILE if hostile else PLAIN.get(name, ["x"]))
        for name in names
    }
    return {name: value for name, value in found.items() if value is not None}


@pytest.mark.parametrize(("profile", "template", "variation", "kind"), CASES)
def test_golden(
    profile: str, template: str, variation: str, kind: str, file_regression: FileRegressionFixture
) -> None:
    request = values(profile, template, variation, hostile=kind == "hostile")
    plan = plan_of(BUNDLED.load(profile), template, variation, None)
    context = CONTEXT | {n: f"of.{n}" for n in plan.required if n not in request | CONTEXT}
    incarnation = incarnate(
        BUNDLED.load(profile),
        template,
        variation=variation,
        fields=request,
        context=context,
        strict=True,
    )
    name = f"{template}.{variation}.{kind}" if variation else f"{template}.{kind}"
    file_regression.check(
        incarnation.text.encode(), binary=True, fullpath=HERE / profile / f"{name}.txt"
    )
