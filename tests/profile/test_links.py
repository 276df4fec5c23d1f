"""Fields that depend on other fields: `ext:when` and `ext:requires`; docs/language.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from osprofile import InvalidProfileError, Repository
from osprofile.authoring.difference import compare_profiles
from osprofile.authoring.writer import profile_to_xml
from tests.strategies import default, document, field, fixed, profile, template, template_of

if TYPE_CHECKING:
    from pathlib import Path

PIECE = field("PIECE", fixed("piece"), 'isSettable="false" ext:when="FLAG"')
FLAG = field("FLAG", default(""))
KIND = field("KIND", default(""), 'ext:requires="FLAG"')


def test_they_are_read_written_and_compared() -> None:
    found = profile(template_of("", PIECE, FLAG, KIND), template("T", "<PIECE><KIND>"))
    assert (found.global_fields["PIECE"].when, found.global_fields["PIECE"].requires) == ("FLAG", None)
    assert (found.global_fields["KIND"].when, found.global_fields["KIND"].requires) == (None, "FLAG")
    text = profile_to_xml(found)
    assert (text.count('ext:when="FLAG"'), text.count('ext:requires="FLAG"')) == (1, 1)
    again = Repository([]).load_bytes(text.encode())
    assert again.global_fields["PIECE"].comparison_key() == found.global_fields["PIECE"].comparison_key()
    assert compare_profiles(found, again) == ()
    plain = profile(
        template_of("", PIECE.replace(' ext:when="FLAG"', ""), FLAG, KIND.replace("FLAG", "PIECE")),
        template("T", "<PIECE><KIND>"),
    )
    changes = compare_profiles(plain, found)
    assert [(c.kind, [p.name or p.kind for p in c.path]) for c in changes] == [
        ("added", ["PIECE", "when"]),
        ("changed", ["KIND", "requires"]),
    ]
    assert str(changes[0].new.location if changes[0].new else "") == "p.xml:4:68"


def test_a_child_declares_what_the_parent_names(tmp_path: Path) -> None:
    parent = document(template_of("", PIECE, FLAG) + template("T", "<PIECE>"), name="parent")
    (tmp_path / "parent.xml").write_text(parent)
    own = FLAG.replace("<idb:Default", "<idb:Tag name='no'/><idb:Default")
    (tmp_path / "p.xml").write_text(document(template_of("", own), extends="parent"))
    found = Repository([tmp_path], use_standard_path=False).load("p")
    assert found.global_fields["PIECE"].when == "FLAG"
    assert found.list_linked_names(found.templates["T"], "PIECE") == ["FLAG"]


UNSET = 'isSettable="false"'
BAD = {
    "when of a settable field": (field("F", default(""), 'ext:when="FLAG"'), "OSP213 field F has an ext:when, but is settable"),
    "when without a Value": (field("F", default(""), f'{UNSET} ext:when="FLAG"'), "OSP213 field F has an ext:when, but has no Value"),
    "when of an unknown field": (
        field("F", fixed("x"), f'{UNSET} ext:when="FLAK"'),
        "OSP213 field F depends, by ext:when, on 'FLAK', which is no field of profile p",
    ),
    "when of nothing": (
        field("F", fixed("x"), f'{UNSET} ext:when=""'),
        "OSP213 field F depends, by ext:when, on '', which is no field of profile p",
    ),
    "when of itself": (field("F", fixed("x"), f'{UNSET} ext:when="F"'), "OSP213 field F depends on itself: its ext:when names 'F'"),
    "when in a circle": (
        field("F", fixed("x"), f'{UNSET} ext:when="G"') + field("G", fixed("x"), f'{UNSET} ext:when="F"'),
        "OSP213 field F depends on itself: its ext:when names 'G'",
    ),
    "requires of a field that is not settable": (
        field("F", default(""), f'{UNSET} ext:requires="FLAG"'),
        "OSP214 field F has an ext:requires, but is not settable",
    ),
    "requires of a fixed field": (
        field("F", fixed("x"), 'ext:requires="FLAG"'),
        "OSP214 field F has an ext:requires, but has a fixed Value",
    ),
    "requires of an unknown field": (
        field("F", default(""), 'ext:requires="FLAK"'),
        "OSP214 field F depends, by ext:requires, on 'FLAK', which is no field of profile p",
    ),
}  # fmt: skip


@pytest.mark.parametrize("owner", ["", "T"])
@pytest.mark.parametrize(("bad", "message"), BAD.values(), ids=BAD)
def test_bad_links(bad: str, message: str, owner: str) -> None:
    parts = [template("T", "<F>", bad, FLAG)] if owner else [template_of("", bad, FLAG), template("T", "<F>")]
    with pytest.raises(InvalidProfileError) as caught:
        profile(*parts)
    problem = caught.value.problems[0]
    assert f"{problem.code} {problem.message}" == message
    assert problem.location is not None
    assert problem.hint


def test_several_declarations_must_agree() -> None:
    for other in (PIECE.replace(' ext:when="FLAG"', ""), PIECE.replace('"FLAG"', '"KIND"')):
        found = profile(
            template("START", "<JOB_SCRIPT><PIECE>", other, FLAG, KIND),
            template("JOB_PROLOGUE", "<PIECE>", PIECE, FLAG),
            template("JOB_EPILOGUE", ""),
        )
        fields = [found.templates[n].fields["PIECE"] for n in ("START", "JOB_PROLOGUE")]
        assert fields[0].merge_declaration(fields[1]) is None
    strict = profile(template("A", "<KIND>", KIND, FLAG), template("B", "<KIND>", field("KIND", default(""))))
    joined = strict.templates["B"].fields["KIND"].merge_declaration(strict.templates["A"].fields["KIND"])
    assert joined is not None
    assert joined.requires == "FLAG"
    assert joined.find_declaration("requires") is strict.templates["A"].fields["KIND"]
