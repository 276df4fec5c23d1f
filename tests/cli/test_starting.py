"""`incarnate new`, `show --schemas` and `lint --explain`: what those who write a profile begin with."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from osprofile.lint import RULES
from osprofile.profile.data_directories import get_bundled_directory

if TYPE_CHECKING:
    from tests.cli.conftest import Incarnate

BUNDLED = sorted(p.parent.name for p in Path(get_bundled_directory()).glob("*/profile.xml"))


@pytest.mark.hunt(3)
@pytest.mark.parametrize("parent", BUNDLED)
@pytest.mark.parametrize("own_name", [False, True])
def test_new_lints_clean_and_renders(tmp_path: Path, parent: str, own_name: bool) -> None:
    """As processes, in an empty home: new, lint, START."""
    name = parent if own_name else "mysite"

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "osprofile", *words],
            cwd=tmp_path,
            env={k: v for k, v in os.environ.items() if not k.startswith("OSPROFILE")}
            | {"HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )

    profiles = ".config/osprofile/profiles"
    made = run("new", name, "--extends", parent, "-o", f"~/{profiles}")
    assert (made.returncode, made.stderr) == (0, "")
    assert made.stdout == f"{tmp_path}/{profiles}/{name}/profile.xml\n"
    linted = run("lint", name)
    assert (linted.returncode, linted.stdout, linted.stderr) == (0, "", "")
    shown = run("show", "-p", name).stdout.splitlines()
    assert shown[0].startswith(f"profile {name}  {tmp_path}")
    assert shown[1].startswith(f"extends {parent}  {get_bundled_directory()}")
    started = run("START", "-p", name, "--self-contained")
    assert (started.returncode, started.stderr) == (0, "")
    assert "hostname" in started.stdout
    again = run("new", name, "--extends", parent, "-o", profiles)
    assert (again.returncode, again.stdout) == (2, "")
    assert again.stderr == (
        f"incarnate: {profiles}/{name}/profile.xml exists\n"
        "    hint: it was not changed: choose another name or directory\n"
    )


def test_new_of_a_profile_of_ones_own(incarnate: Incarnate, site: Path) -> None:
    ended = incarnate("new", "x", "--extends", "site", "--profiles", str(site.parent))
    assert ended.code == 0
    assert 'name="x" extends="site">' in ended.out


def test_schemas_in_json(incarnate: Incarnate) -> None:
    """The text is in tests/cli/test_outputs."""
    text = incarnate("show", "--schemas").out
    parsed = json.loads(incarnate("show", "--schemas", "--json").out)
    assert all(Path(file).is_file() for file in [parsed["catalog"], *parsed["schemas"]])
    assert parsed["vs_code"] in text
    assert parsed["emacs"] in text


def test_all_codes_are_explained(incarnate: Incarnate) -> None:
    assert [r["code"] for r in json.loads(incarnate("lint", "--explain", "--json").out)] == list(RULES)
