"""The tables of docs/facility.md are those of the code."""

from __future__ import annotations

import re
import tomllib
from dataclasses import fields
from pathlib import Path

from osprofile.executors.facility.filesystem import OPERATIONS
from osprofile.executors.facility.job_spec import MEMBER_BY_FIELD
from osprofile.executors.facility.settings import ResourceSettings, Settings, read_settings

DOCS = Path(__file__).parents[3] / "docs"
TEXT, CENTRE = (DOCS / "facility.md").read_text(), DOCS / "tasks" / "centre.md"


def rows(title: str) -> list[list[str]]:
    """Return the cells of the tables of a section, without their heads."""
    section = TEXT.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    found = [row.split(" | ") for row in re.findall(r"^\| (.*) \|$", section, re.MULTILINE)]
    return [row for row in found if row[0] not in {"setting", "member", "operation", "setting of a resource"}]


def test_every_setting_stands_there_with_its_default() -> None:
    table = rows("Settings")
    settings, of_resource = [row for row in table if len(row) == 3], [row for row in table if len(row) == 2]
    assert [name.strip("`") for name, *_ in settings] == [f.name for f in fields(Settings)]
    for name, default, _ in settings:
        value, known = tomllib.loads(f"x = {default.strip('`')}")["x"], getattr(Settings(), name.strip("`"))
        assert (type(known)(value) if isinstance(value, list) else value) == known or name == "`resources`"
    names = [name for row in of_resource for name in re.findall(r"`(\w+)`", row[0])]
    assert names == [f.name for f in fields(ResourceSettings)]


def test_every_member_stands_there_with_its_field() -> None:
    table = {field.strip("`"): member.strip("`") for member, field in rows("What a JobSpec becomes")}
    assert table | {"SETUP": "pre_launch"} == MEMBER_BY_FIELD


def test_every_operation_of_the_filesystem_stands_there() -> None:
    table = {name: text for names, text in rows("Operations") for name in re.findall(r"`(\w+)`", names)}
    assert {*OPERATIONS, "upload"} <= table.keys()


def test_the_settings_for_many_users_are_valid(tmp_path: Path) -> None:
    blocks = re.findall(r"^```toml\n(.*?)^```", CENTRE.read_text(), re.MULTILINE | re.DOTALL)
    whole, asking, table = blocks
    by_table = whole.replace('users_claim = "preferred_username"\n', "")
    for text in (whole, asking + whole, f"{by_table}\n{table}"):
        (tmp_path / "facility.toml").write_text(text)
        settings = read_settings(str(tmp_path / "facility.toml"), Settings())
        settings.check()
        assert settings.is_shared
