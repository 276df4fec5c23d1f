"""Findings in files that a profile names by ext:src: their locations, their order, their waivers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from osprofile.lint import Findings, examine_file, shellcheck
from osprofile.lint.rules import complete_example
from osprofile.lint.rules.rule import format_field
from osprofile.profile.repository import Repository
from tests.lint.conftest import PARENTS

if TYPE_CHECKING:
    from pathlib import Path

WAIVER = "\n<!-- lint-waive {}: known -->\n"
BODY = '<idb:Template name="HOLD">{}<idb:Invocation>{}\n<idb:Body ext:src="{}"/></idb:Invocation>{}</idb:Template>'
FIELD = format_field("WHY", "<idb:Default/>")
VALUE = '<idb:Field name="WHY" isSettable="false"><idb:Value ext:src="a.sh"/></idb:Field>'
STATIC = (
    '<idb:Template name="HOLD"><idb:Invocation><idb:StaticScript fileName="s.sh" arguments=""'
    ' ext:src="a.sh"/></idb:Invocation></idb:Template>'
)


def examine(folder: Path, content: str, text: str = "", *, run_shellcheck: bool = False) -> Findings:
    (folder / "a.sh").write_text(text, newline="")
    file = folder / "example.xml"
    file.write_text(complete_example(content))
    rule = shellcheck.create_shellcheck_rule(shellcheck.find_shellcheck())
    extra = {shellcheck.CODE_PREFIX: rule} if run_shellcheck else {}
    return examine_file(file, Repository([folder, PARENTS], use_standard_path=False), extra)


def places(findings: Findings) -> list[tuple[str, str]]:
    return [(p.code, str(p.location).rpartition("/")[2]) for p in findings.problems]


BODY_CASES = {
    # what: (text of the file, fields, what is found)
    "an undeclared name": ("true\r\n  true <WYH>\n", FIELD,
                           [("OSP301", "a.sh:2:8"), ("OSP302", "example.xml:8:61"), ("OSP109", "a.sh:1:5")]),
    "a bad regex": ("é '<WHY/(/x>'\n", FIELD, [("OSP401", "a.sh:1:10"), ("OSP603", "a.sh:1:4")]),
    "a value that is not quoted": ("true\n\n\tqhold -- <WHY>\n", FIELD, [("OSP601", "a.sh:3:11")]),
    "an open quote": ("true\necho 'x\n", "", [("OSP612", "a.sh:2:6")]),
}  # fmt: skip


@pytest.mark.parametrize(("text", "fields", "found"), BODY_CASES.values(), ids=BODY_CASES)
def test_a_finding_is_located_in_the_file(
    tmp_path: Path, text: str, fields: str, found: list[tuple[str, str]]
) -> None:
    inside = places(examine(tmp_path, BODY.format("", "", "a.sh", fields), text))
    assert sorted(inside) == sorted(found)


def test_findings_of_a_static_script_and_of_a_value(tmp_path: Path) -> None:
    assert places(examine(tmp_path, STATIC, "true\n\n'\n")) == [("OSP612", "a.sh:3:1")]
    (tmp_path / "b.sh").write_text("<WHY>\ntrue\n")
    found = examine(tmp_path, BODY.format("", "", "b.sh", VALUE), "true\n  echo 'x\n")
    assert places(found) == [("OSP612", "a.sh:2:8")]


def test_shellcheck_reports_in_the_file(tmp_path: Path) -> None:
    text = "#!/bin/sh\né=1\nif true; then\n\tcd /x\nfi\n"
    found = places(examine(tmp_path, STATIC, text, run_shellcheck=True))
    assert ("SC2164", "a.sh:4:2") in found
    (tmp_path / "b.sh").write_text("hold\n  cd /y\n<WHY>\n")
    found = places(
        examine(tmp_path, BODY.format("", "", "b.sh", VALUE), "true;\tcd /x\n", run_shellcheck=True)
    )
    assert found == [("SC2164", "b.sh:2:3"), ("SC2164", "a.sh:1:7")]


@pytest.mark.parametrize(
    "content",
    [
        BODY.format("", WAIVER.format("OSP601"), "a.sh", FIELD),
        BODY.format(WAIVER.format("OSP601"), "", "a.sh", FIELD),
        WAIVER.format("OSP601") + BODY.format("", "", "a.sh", FIELD),
        BODY.format("", "", "a.sh", FIELD).replace(
            'sh"/>', 'sh"/> ' + WAIVER.format("OSP601").strip() + "\n"
        ),
    ],
    ids=["before the Body", "before the Invocation", "before the Template", "on the line"],
)
def test_a_waiver_of_the_element_covers_its_file(tmp_path: Path, content: str) -> None:
    found = examine(tmp_path, content, "\n" * 1000 + "qhold -- <WHY>\n")
    assert places(found) == []
    assert [str(w.problem.location).rpartition("/")[2] for w in found.waived] == ["a.sh:1001:10"]


def test_a_waiver_covers_the_file_of_no_other_element(tmp_path: Path) -> None:
    text = "qhold -- <WHY>\n"
    # The file's locations are beyond the waived element's, and before it, if they were offsets of the document.
    (tmp_path / "b.sh").write_text(" " * 700 + text)
    other = BODY.format("", "", "b.sh", FIELD).replace('"HOLD"', '"RESUME"')
    content = BODY.format("", WAIVER.format("OSP601"), "a.sh", FIELD) + other
    assert places(examine(tmp_path, content, text)) == [("OSP601", "b.sh:1:710")]
    content = (
        WAIVER.format("OSP601")
        + '<idb:Template name="X"><idb:Invocation><idb:Body/></idb:Invocation></idb:Template>'
    )
    assert {c for c, _ in places(examine(tmp_path, content + other, text))} == {"OSP601", "OSP701"}


def test_findings_are_in_the_order_of_the_document(tmp_path: Path) -> None:
    (tmp_path / "b.sh").write_text(" " * 700 + "qhold -- <WHY> <WHY>\n")
    first = BODY.format("", "", "b.sh", FIELD)
    inline = (
        '<idb:Template name="RESUME"><idb:Invocation><idb:Body>qrls &lt;WHY></idb:Body></idb:Invocation>'
        + FIELD
    )
    last = BODY.format("", "", "a.sh", FIELD).replace('"HOLD"', '"ABORT"')
    found = examine(tmp_path, f"{first}\n{inline}</idb:Template>\n{last}", "qdel -- <WHY>\n")
    assert [place for _, place in places(found)] == [
        "b.sh:1:710",
        "b.sh:1:716",
        "example.xml:9:60",
        "a.sh:1:9",
    ]


def test_a_file_that_cannot_be_used_is_the_only_problem(tmp_path: Path) -> None:
    assert places(examine(tmp_path, BODY.format("", "", "gone.sh", FIELD))) == [
        ("OSP111", "example.xml:8:20")
    ]
    waived = WAIVER.format("OSP111") + BODY.format("", "", "gone.sh", FIELD)
    assert [c for c, _ in places(examine(tmp_path, waived))] == ["OSP702", "OSP111"]


def test_a_child_is_not_told_of_its_parents_files(tmp_path: Path) -> None:
    examine(tmp_path, BODY.format("", "", "a.sh", FIELD), "qhold -- <WHY>\n")
    (tmp_path / "child").mkdir()
    child = tmp_path / "child" / "profile.xml"
    child.write_text(
        complete_example("").replace('name="example" extends="base"', 'name="child" extends="example"')
    )
    found = examine_file(child, Repository([tmp_path, PARENTS], use_standard_path=False))
    assert places(found) == []
