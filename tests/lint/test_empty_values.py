"""What lint says of a pattern that an empty value of a request bypasses (OSP316)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from osprofile.lint.rules.rule import format_field, format_global_fields, format_profile, format_template
from tests.lint.conftest import lint_site

if TYPE_CHECKING:
    from pathlib import Path

HOUR = "<idb:Default>3600</idb:Default>"
MAX = "<idb:Max>7200</idb:Max>"
INTEGER = ' ext:type="integer"'
BY_PATTERN = ' ext:pattern="3600|7200"'


def find_hints(tmp_path: Path, content: str, parent: str = "slurm") -> list[str]:
    problems = lint_site(tmp_path, content, parent)
    assert {(p.code, p.severity) for p in problems} <= {("OSP316", "warning")}
    assert all(p.location and p.location.file == str(tmp_path / "mysite.xml") for p in problems)
    return [p.hint for p in problems]


def redeclare(content: str, attributes: str = INTEGER, name: str = "WALLTIME") -> str:
    return format_global_fields(format_field(name, content, attributes))


@pytest.mark.parametrize(
    ("content", "attributes", "value"),
    [
        (HOUR, INTEGER + BY_PATTERN, "3600"),
        ('<idb:Tag name="hour">3600</idb:Tag><idb:Default>hour</idb:Default>', INTEGER + BY_PATTERN, "3600"),
    ],
)
def test_a_site_limits_an_inherited_field_and_gives_it_a_default(
    tmp_path: Path, content: str, attributes: str, value: str
) -> None:
    [hint] = find_hints(tmp_path, redeclare(content, attributes))
    tag = f'<idb:Tag name="">{value}</idb:Tag>'
    assert tag in hint
    with_tag = content.replace("<idb:Default>", f"{tag}<idb:Default>")
    assert find_hints(tmp_path, redeclare(with_tag, attributes)) == []


def test_the_tag_of_the_hint_is_xml(tmp_path: Path) -> None:
    field = redeclare("<idb:Default>a&amp;b</idb:Default>", ' ext:pattern="a&amp;b"', "OPTIONS")
    [hint] = find_hints(tmp_path, field)
    assert '<idb:Tag name=""><![CDATA[a&b]]></idb:Tag>' in hint


@pytest.mark.parametrize(
    ("content", "attributes"),
    [
        ("<idb:Default/>", INTEGER + BY_PATTERN),
        ('<idb:Tag name="any"/><idb:Default>any</idb:Default>', INTEGER + BY_PATTERN),
        (HOUR, INTEGER),
        (MAX + HOUR, INTEGER + BY_PATTERN),
        (MAX + HOUR, INTEGER),
        (HOUR, INTEGER + ' ext:pattern="[1-9][0-9]+"'),
        (HOUR, INTEGER + ' ext:pattern="(?:3600|7200)?"'),
        ("<idb:Value>3600</idb:Value>", INTEGER + BY_PATTERN + ' isSettable="false"'),
        ('<idb:Tag name=""/>' + HOUR, INTEGER + BY_PATTERN),
    ],
    ids=["no default", "a tag for nothing", "no pattern", "also a limit", "a limit", "an open pattern",
         "a pattern that accepts it", "fixed", "a tag that keeps it"],
)  # fmt: skip
def test_a_field_that_may_be_empty(tmp_path: Path, content: str, attributes: str) -> None:
    assert find_hints(tmp_path, redeclare(content, attributes)) == []


def test_a_field_that_the_profile_does_not_inherit(tmp_path: Path) -> None:
    assert (
        find_hints(tmp_path, format_template("x <N>", format_field("N", MAX + HOUR, INTEGER), name="X")) == []
    )


def test_the_profile_that_limits_the_field_is_told_and_no_heir(tmp_path: Path) -> None:
    (tmp_path / "department.xml").write_text(
        format_profile(redeclare(HOUR, BY_PATTERN), 'name="department" extends="slurm"')
    )
    assert find_hints(tmp_path, "", "department") == []
    assert find_hints(tmp_path, redeclare(HOUR, BY_PATTERN), "department") == []
    assert len(find_hints(tmp_path, redeclare(HOUR, BY_PATTERN.replace("7200", "1800")), "department")) == 1


def test_an_invalid_pattern_is_reported_alone(tmp_path: Path) -> None:
    problems = lint_site(tmp_path, redeclare(HOUR, INTEGER + ' ext:pattern="["'))
    assert [p.code for p in problems] == ["OSP401"]
