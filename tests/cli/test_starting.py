"""`incarnate new`, `show --schemas` and `lint --explain`: what those who write a profile begin with."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from osprofile.lint import RULES
from osprofile.profile.data_directories import get_bundled_directory
from tests.cli.conftest import Ended, run_process

if TYPE_CHECKING:
    from tests.cli.conftest import Incarnate

BUNDLED = sorted(p.parent.name for p in Path(get_bundled_directory()).glob("*/profile.xml"))


@pytest.mark.hunt(7)
@pytest.mark.parametrize(("parent", "name"), [*((name, "mysite") for name in BUNDLED), ("slurm", "slurm")])
def test_new_lints_clean_and_renders(tmp_path: Path, parent: str, name: str) -> None:
    """As processes, in an empty home: new, lint, START."""
    run = partial(run_process, cwd=tmp_path, HOME=str(tmp_path))
    profiles = ".config/osprofile/profiles"
    made = run("new", name, "--extends", parent, "-o", f"~/{profiles}")
    assert made == Ended(0, f"{tmp_path}/{profiles}/{name}/profile.xml\n", "")
    assert run("lint", name) == Ended(0, "", "")
    shown = run("show", "-p", name).out.splitlines()
    assert shown[0].startswith(f"profile {name}  {tmp_path}")
    assert shown[1].startswith(f"extends {parent}  {get_bundled_directory()}")
    started = run("START", "-p", name, "--self-contained")
    assert (started.code, started.err) == (0, "")
    assert "hostname" in started.out
    again = run("new", name, "--extends", parent, "-o", profiles)
    assert (again.code, again.out) == (2, "")
    assert again.err == (
        f"incarnate: {profiles}/{name}/profile.xml exists\n"
        "    hint: it was not changed: choose another name or directory\n"
    )


def test_new_without_a_directory_writes_no_file(incarnate: Incarnate, home: Path) -> None:
    assert incarnate("new", "mysite", "-e", "pbs").code == 0
    assert [*home.iterdir()] == []


def test_schemas_in_json(incarnate: Incarnate) -> None:
    """The text is in tests/cli/test_outputs."""
    text = incarnate("show", "--schemas").out
    parsed = json.loads(incarnate("show", "--schemas", "--json").out)
    assert all(Path(file).is_file() for file in [parsed["catalog"], *parsed["schemas"]])
    assert parsed["vs_code"] in text
    assert parsed["emacs"] in text


def test_all_codes_are_explained(incarnate: Incarnate) -> None:
    assert [r["code"] for r in json.loads(incarnate("lint", "--explain", "--json").out)] == list(RULES)
