"""Formats: golden texts, nothing that breaks out of one, and what SARIF 2.1.0 requires."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osprofile.errors import Problem
from osprofile.lint import RULES, Findings, examine_file, formats
from osprofile.lint.rules import complete_example
from osprofile.lint.rules.rule import format_field, format_template
from osprofile.lint.waivers import WaivedProblem, Waiver
from osprofile.profile.repository import Repository
from osprofile.source import Location, Source

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TEXT = "<a>\n  <é b='x'/>\n</a>\n"
SOURCE = Source("site/pbs.xml", TEXT.encode())
PLACE = Location(SOURCE, TEXT.encode().index(b"b="))
FOUND = Problem("OSP601", "the value of WHY is used unquoted", PLACE, "quote it")
WAIVED = WaivedProblem(
    Problem("OSP302", "nothing uses WHO", PLACE, severity="warning"),
    Waiver(("OSP302",), "read elsewhere", PLACE, 0, 9),
)


def findings(*problems: Problem, file: str = "site/pbs.xml") -> list[Findings]:
    return [Findings(file, [*problems], [])]


FOUND_IN_THREE = [
    Findings("site/pbs.xml", [FOUND], [WAIVED]),
    Findings("nope.xml", [Problem("OSP101", "there is no file nope.xml")], []),
    Findings("c.xml", [FOUND._replace(code="SC2034", severity="warning", hint="")], []),
]


def test_github() -> None:
    assert formats.format_github(FOUND_IN_THREE) == (
        "::error file=site/pbs.xml,line=2,col=6,title=OSP601::the value of WHY is used unquoted%0Aquote it\n"
        "::error file=nope.xml,title=OSP101::there is no file nope.xml\n"
        "::warning file=site/pbs.xml,line=2,col=6,title=SC2034::the value of WHY is used unquoted"
    )
    assert formats.format_github([]) == ""


HOSTILE = [
    "a\n::error::pwned",
    "a\r::stop-commands::x",
    "\u2028::add-mask::x",
    "%0A::error::pwned",
    "\x1b[31m\x9b2J\x07",
    "x,line=1,title=y::pwned",
    "##[error]pwned",
    "\udcff\ud800",
]


def undo(text: str, *, is_property: bool) -> str:
    """Do what the runner does with a command's message or property."""
    pairs = [("%0D", "\r"), ("%0A", "\n")]
    pairs += [("%3A", ":"), ("%2C", ",")] if is_property else []
    for escaped, char in [*pairs, ("%25", "%")]:
        text = text.replace(escaped, char)
    return text


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_breaks_out_of_a_github_command(text: str) -> None:
    """Decode the output: one problem is one command, with the same texts."""
    source = Source(text, b"<a/>")
    found = Problem("OSP601", text, Location(source, 0), text)
    line = formats.format_github(findings(found))
    assert len(line.splitlines()) == 1
    assert line.isprintable()
    match = re.fullmatch(r"::error file=([^,:]*),line=1,col=1,title=OSP601::(.*)", line)
    assert match
    shown = "".join(c if c == "\n" or c.isprintable() else "\ufffd" for c in text)
    assert undo(match[1], is_property=True) == shown
    expected = f"{shown}\n{shown}" if text else shown
    assert undo(match[2], is_property=False) == expected


@given(st.text(st.characters() | st.sampled_from(":%,\r\n\x1b\x85")))
def test_no_text_breaks_out_of_a_github_command(text: str) -> None:
    test_nothing_breaks_out_of_a_github_command(text)


# SARIF 2.1.0 (OASIS, errata 01), the objects that the log uses: property: (type, required). No
# object may have another property.
OBJECTS: dict[str, dict[str, tuple[str, bool]]] = {
    "sarifLog": {"$schema": ("uri", False), "version": ("2.1.0", True), "runs": ("[run", True)},
    "run": {"tool": ("tool", True), "columnKind": ("columnKind", False), "results": ("[result", False)},
    "tool": {"driver": ("toolComponent", True)},
    "toolComponent": {"name": ("str", True), "version": ("str", False), "rules": ("[reportingDescriptor", False)},
    "reportingDescriptor": {
        "id": ("str", True), "shortDescription": ("multiformat", False), "fullDescription": ("multiformat", False),
        "help": ("multiformat", False), "helpUri": ("uri", False), "defaultConfiguration": ("configuration", False),
    },
    "multiformat": {"text": ("str", True)},
    "configuration": {"level": ("level", False)},
    "result": {
        "ruleId": ("str", False), "ruleIndex": ("index", False), "level": ("level", False), "message": ("message", True),
        "locations": ("[location", False), "suppressions": ("[suppression", False),
    },
    "message": {"text": ("str", True)},
    "location": {"physicalLocation": ("physicalLocation", False)},
    "physicalLocation": {"artifactLocation": ("artifactLocation", True), "region": ("region", False)},
    "artifactLocation": {"uri": ("reference", True)},
    "region": {"startLine": ("positive", True), "startColumn": ("positive", False)},
    "suppression": {"kind": ("suppressionKind", True), "justification": ("str", False)},
}  # fmt: skip
REFERENCE = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/?#-]|%[0-9A-F]{2})*")  # RFC 3986, 4.1
CHECKS: dict[str, Callable[[Any], object]] = {
    "2.1.0": lambda v: v == "2.1.0",
    "str": lambda v: isinstance(v, str) and v != "",
    "uri": lambda v: REFERENCE.fullmatch(v) and urlsplit(v).scheme in {"https", "file"},
    "reference": lambda v: REFERENCE.fullmatch(v) and v and ":" not in v.partition("/")[0].replace("file:", ""),
    "level": lambda v: v in {"none", "note", "warning", "error"},
    "columnKind": lambda v: v in {"utf16CodeUnits", "unicodeCodePoints"},
    "suppressionKind": lambda v: v in {"inSource", "external"},
    "positive": lambda v: type(v) is int and v >= 1,
    "index": lambda v: type(v) is int and v >= 0,
}  # fmt: skip


def check(kind: str, value: Any, at: str = "$") -> None:  # noqa: ANN401  # JSON
    """Hold a value against the standard."""
    if kind.startswith("["):
        assert isinstance(value, list), at
        for number, item in enumerate(value):
            check(kind[1:], item, f"{at}[{number}]")
    elif kind in OBJECTS:
        assert isinstance(value, dict), at
        known = OBJECTS[kind]
        assert value.keys() <= known.keys(), at
        assert {name for name, (_, required) in known.items() if required} <= value.keys(), at
        for name, item in value.items():
            check(known[name][0], item, f"{at}.{name}")
    else:
        assert CHECKS[kind](value), f"{at}: {value!r}"


def check_log(log: dict[str, Any]) -> None:
    """Hold a log against the standard, with what no schema can say."""
    log = json.loads(json.dumps(log))
    check("sarifLog", log)
    for run in log["runs"]:
        rules = run["tool"]["driver"]["rules"]
        ids = [rule["id"] for rule in rules]
        assert len({*ids}) == len(ids)  # 3.19.23: unique
        for rule in rules:
            for name in ("shortDescription", "fullDescription"):
                assert rule.get(name, {"text": "."})["text"].strip()
        for result in run["results"]:
            assert ids[result["ruleIndex"]] == result["ruleId"]  # 3.27.6
            assert len(result["locations"]) == 1


def test_sarif() -> None:
    log = formats.format_sarif(iter(FOUND_IN_THREE), "1.2.3")
    check_log(log)
    assert log["$schema"].endswith("/sarif-schema-2.1.0.json")
    [run] = log["runs"]
    driver = run["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("osprofile", "1.2.3")
    assert [rule["id"] for rule in driver["rules"]] == ["OSP101", "OSP302", "OSP601", "SC2034"]
    assert driver["rules"][3]["helpUri"] == "https://www.shellcheck.net/wiki/SC2034"
    assert driver["rules"][1]["defaultConfiguration"] == {"level": "warning"}
    first, missed, of_shell, waived = run["results"]
    assert first == {
        "ruleId": "OSP601",
        "ruleIndex": 2,
        "level": "error",
        "message": {"text": "the value of WHY is used unquoted\nquote it"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": "site/pbs.xml"},
                    "region": {"startLine": 2, "startColumn": 6},
                }
            }
        ],
    }
    assert missed["locations"] == [{"physicalLocation": {"artifactLocation": {"uri": "nope.xml"}}}]
    assert of_shell["level"] == "warning"
    assert waived["suppressions"] == [{"kind": "inSource", "justification": "read elsewhere"}]
    assert all("suppressions" not in result for result in (first, missed, of_shell))


def test_sarif_of_nothing_and_of_every_rule() -> None:
    for problems in ([], [Problem(code, rule.summary) for code, rule in RULES.items()]):
        log = formats.format_sarif(findings(*problems), "1")
        check_log(log)
        assert [result["ruleId"] for result in log["runs"][0]["results"]] == [p.code for p in problems]


@given(st.text(), st.text())
def test_sarif_of_any_text(text: str, name: str) -> None:
    found = Problem("OSP601", text or "x", Location(Source(name or "x", b"<a/>"), 0), text)
    log = formats.format_sarif(findings(found), "1")
    check_log(log)
    text = log["runs"][0]["results"][0]["message"]["text"]
    assert all(c == "\n" or c.isprintable() for c in text)


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("pbs.xml", "pbs.xml"),
        ("./site/pbs.xml", "site/pbs.xml"),
        ("a b/é%.xml", "a%20b/%C3%A9%25.xml"),
        ("a:b.xml", "a%3Ab.xml"),
        ("/x/y z.xml", "file:///x/y%20z.xml"),
        ("site/../pbs.xml", "pbs.xml"),
        ("\udcff.xml", "%FF.xml"),
    ],
)
def test_paths(path: str, uri: str) -> None:
    assert formats.format_uri(path) == uri


def test_a_path_that_leads_upwards_is_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()
    monkeypatch.chdir(tmp_path / "a")
    assert unquote(formats.format_uri("../b.xml")) == f"file://{tmp_path}/b.xml"


@pytest.mark.parametrize(
    ("select", "ignore", "expected"),
    [
        ([], [], ["OSP104", "OSP302", "OSP601", "SC2034"]),
        (["OSP6"], [], ["OSP104", "OSP601"]),
        (["OSP6", "SC"], [], ["OSP104", "OSP601", "SC2034"]),
        (["OSP601", "OSP302"], ["OSP6"], ["OSP104", "OSP302"]),
        ([], ["OSP"], ["OSP104", "SC2034"]),
        (["OSP999"], [], ["OSP104"]),
        ([], ["OSP104", "SC2034"], ["OSP104", "OSP302", "OSP601"]),
    ],
)
def test_selection(select: list[str], ignore: list[str], expected: list[str]) -> None:
    problems = [Problem(code, "x") for code in ("OSP104", "OSP302", "OSP601", "SC2034")]
    [kept] = formats.select_findings(findings(*problems), select, ignore)
    assert [p.code for p in kept.problems] == expected
    [of_waived] = formats.select_findings([Findings("x", [], [WAIVED])], select, ignore)
    assert bool(of_waived.waived) == (WAIVED.problem.code in expected)


def test_a_hostile_profile_in_every_format(tmp_path: Path) -> None:
    """A profile's own texts reach messages: they stay inside."""
    name = "X\u009b31m::error file=a,line=1::pwned&#10;::error::pwned"
    file = tmp_path / "example.xml"
    text = format_template("x <NOPE>", format_field("N\n::error::x"), name="HOLDX").replace("HOLDX", name)
    file.write_text(complete_example(text))
    found = [examine_file(file, Repository([tmp_path], use_standard_path=False))]
    assert found[0].problems
    lines = formats.format_github(found).splitlines()
    assert len(lines) == len(found[0].problems)
    assert all(re.match(r"::(error|warning) file=[^,:]*,line=\d+,col=\d+,title=OSP\d+::", x) for x in lines)
    assert "\u009b" not in formats.format_github(found)
    log = formats.format_sarif(found, "1")
    check_log(log)
    assert "\u009b" not in json.dumps(log, ensure_ascii=False)
