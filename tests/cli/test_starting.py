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
from osprofile.profile.data_directories import get_bundled_directory, get_schemas_directory

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


def test_new_to_stdout(incarnate: Incarnate, home: Path) -> None:
    ended = incarnate("new", "mysite", "-e", "pbs")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        "<!-- mysite: what is particular to this site; all else is inherited from pbs\n"
    )
    assert 'name="mysite" extends="pbs">' in ended.out
    assert [*home.iterdir()] == []
    parsed = json.loads(incarnate("new", "mysite", "-e", "pbs", "--json").out)
    assert parsed == {"name": "mysite", "extends": "pbs", "file": None, "text": ended.out}


def test_new_of_a_profile_of_ones_own(incarnate: Incarnate, site: Path) -> None:
    ended = incarnate("new", "x", "--extends", "site", "--profiles", str(site.parent))
    assert ended.code == 0
    assert 'name="x" extends="site">' in ended.out


@pytest.mark.parametrize(
    ("words", "code", "err"),
    [
        (["new", "x", "-e", "pbz"], 2, "incarnate: there is no profile 'pbz'\n    hint: did you mean pbs?"),
        (["new", "../x", "-e", "pbs"], 2, "incarnate: profile name '../x' is not allowed\n    hint: a name begins"),
        (["new", "x", "-e", "../pbs"], 2, "incarnate: there is no profile '../pbs'\n"),
        (["new", "x", "-e", "bad", "--profiles", "{tmp}"], 3, "{tmp}/bad.xml:1:9: error OSP102"),
        (["new", "x", "-e", "pbs", "-o", "{tmp}/bad.xml"], 1, "incarnate: {tmp}/bad.xml/x: Not a directory\n"),
        (["new", "x"], 2, ""),
        (["new", "-e", "pbs"], 2, ""),
        (["new", "x", "y", "-e", "pbs"], 2, ""),
        (["lint", "--explain", "OSP606x"], 2, "incarnate: there is no code 'OSP606x'\n    hint: did you mean OSP606"),
        (["lint", "--explain", "OSP601", "SC2086"], 2,
         "incarnate: SC2086 is not a code of this linter\n    hint: it belongs to shellcheck"),
    ],
)  # fmt: skip
def test_bad_words(incarnate: Incarnate, tmp_path: Path, words: list[str], code: int, err: str) -> None:
    (tmp_path / "bad.xml").write_text("<a><b></a>")
    (tmp_path / "catalog.xml").write_text("mine")
    ended = incarnate(*(w.format(tmp=tmp_path) for w in words))
    assert (ended.code, ended.out) == (code, "")
    assert ended.err.startswith(err.format(tmp=tmp_path))
    assert "Traceback" not in ended.err
    assert (tmp_path / "catalog.xml").read_text() == "mine"


def lines(directory: str) -> str:
    return f"""\
{directory}/osprofile.xsd  http://gpe.intel.com/osprs/profile
{directory}/idb.xsd  http://gpe.intel.com/idb
{directory}/jsdl.xsd  http://schemas.ggf.org/jsdl/2005/06/jsdl
{directory}/extension.xsd  urn:osprofile:extension
{directory}/catalog.xml

VS Code, with the extension XML by Red Hat, in settings.json:

"xml.catalogs": ["{directory}/catalog.xml"],
"xml.validation.enabled": true,
"xml.validation.schema.enabled": "always",

Emacs, with the package lsp-mode, in its init file:

(require 'lsp-mode)
(setq lsp-xml-catalogs ["{directory}/catalog.xml"])
(add-hook 'nxml-mode-hook #'lsp-deferred)
"""


def test_schema(incarnate: Incarnate) -> None:
    ended = incarnate("show", "--schemas")
    assert (ended.code, ended.out, ended.err) == (0, lines(get_schemas_directory()), "")


def test_schema_in_json(incarnate: Incarnate) -> None:
    parsed = json.loads(incarnate("show", "--schemas", "--json").out)
    assert parsed["catalog"] == f"{get_schemas_directory()}/catalog.xml"
    assert all(Path(file).is_file() for file in [parsed["catalog"], *parsed["schemas"]])
    assert parsed["vs_code"] in lines(get_schemas_directory())
    assert parsed["emacs"] in lines(get_schemas_directory())


def test_explain(incarnate: Incarnate) -> None:
    ended = incarnate("lint", "--explain", "605")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(f"OSP605 error: {RULES['OSP605'].summary}\n\nA value that")
    both = incarnate("lint", "--explain", "OSP605", "osp601").out
    assert both.startswith(ended.out)
    assert f"\n\n\nOSP601 error: {RULES['OSP601'].summary}\n" in both


def test_explain_lists_the_codes(incarnate: Incarnate) -> None:
    out = incarnate("lint", "--explain").out
    assert out.startswith("OSP101  error    the file cannot be read as a profile\n")
    assert len(out.splitlines()) == len(RULES)


def test_explain_in_json(incarnate: Incarnate) -> None:
    [parsed] = json.loads(incarnate("lint", "--explain", "OSP605", "--json").out)
    rule = RULES["OSP605"]
    assert parsed == {
        "code": "OSP605",
        "severity": "error",
        "summary": rule.summary,
        "why": rule.why,
        "wrong": rule.wrong,
        "right": rule.right,
    }
    assert [r["code"] for r in json.loads(incarnate("lint", "--explain", "--json").out)] == list(RULES)
