"""ext:directive: the value of a global field adds a line to JOB_DIRECTIVES; docs/language.md, Global fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from osprofile import InvalidProfileError, Profile, Repository, ValueRefusedError, incarnate
from osprofile.authoring.trace import trace_fields
from osprofile.authoring.writer import profile_to_xml
from tests.incarnation.parts import job_parts
from tests.strategies import default, document, field, profile, template, template_of

if TYPE_CHECKING:
    from pathlib import Path

LICENSES = field("LICENSES", default(""), 'ext:pattern="[a-z]+(:[0-9]+)?" ext:directive="#S -l $1"')


def parts(*more: str) -> str:
    return job_parts(*more, prologue="(", run="run", epilogue=")")


def batch_system(*global_fields: str, directives: str = "#!/bin/sh\n#S -q\nid=7\n") -> Profile:
    return profile(parts(template("JOB_DIRECTIVES", directives), template_of("", *global_fields)))


def render_directives(made: Profile, **fields: str) -> list[str]:
    script = incarnate(made, "START", fields=fields).job_script or ""
    return script.removesuffix("\n(\nrun\n)").split("\n")


def test_the_line_follows_the_first_one_and_is_omitted_without_a_value() -> None:
    made = batch_system(LICENSES)
    assert render_directives(made, LICENSES="a:2") == ["#!/bin/sh", "#S -l a:2", "#S -q", "id=7"]
    assert render_directives(made) == ["#!/bin/sh", "#S -q", "id=7"]
    with pytest.raises(ValueRefusedError, match="does not match the pattern"):
        render_directives(made, LICENSES="a\n#S -x")


@pytest.mark.parametrize("directives", ["#!/bin/sh", "#!/bin/sh\n"])
def test_job_directives_of_one_line(directives: str) -> None:
    made = batch_system(LICENSES, directives=directives)
    assert render_directives(made, LICENSES="a") == ["#!/bin/sh", "#S -l a"]
    assert render_directives(made) == ["#!/bin/sh"]


def test_several_fields_in_the_order_of_their_declarations() -> None:
    other = field("GPUS", default("1"), 'ext:type="integer" ext:directive="#S -g gpu:$1 \\&gt; \\$1"')
    lines = render_directives(batch_system(other, LICENSES), LICENSES="a")
    assert lines[1:3] == ["#S -g gpu:1 > $1", "#S -l a"]


def test_a_child_adds_a_directive_and_its_child_removes_it(tmp_path: Path) -> None:
    chain = {
        "system": (None, parts(template("JOB_DIRECTIVES", "#!/bin/sh\n#S -q\n"))),
        "site": ("system", template_of("", LICENSES)),
        "other": ("site", template_of("", field("LICENSES", default("")))),
    }
    for name, (extends, content) in chain.items():
        (tmp_path / f"{name}.xml").write_text(document(content, name=name, extends=extends))
    repository = Repository([tmp_path], use_standard_path=False)
    assert render_directives(repository.load("site"), LICENSES="a") == ["#!/bin/sh", "#S -l a", "#S -q"]
    assert render_directives(repository.load("other")) == ["#!/bin/sh", "#S -q"]


def test_its_trace_and_its_errors_are_at_the_attribute() -> None:
    made = batch_system(LICENSES)
    found = {t.name: t for t in trace_fields(incarnate(made, "START", fields={"LICENSES": "a"}))}
    (use,) = found["LICENSES"].uses
    attribute = made.global_fields["LICENSES"].element.locate_attribute("urn:osprofile:extension}directive")
    assert use.location == attribute
    assert (use.after, use.position.script_position) == ("#S -l a", (2, 1))
    bad = batch_system(field("X", default(""), 'ext:directive="#S $2"'))
    with pytest.raises(InvalidProfileError) as caught:
        render_directives(bad, X="a")
    (problem,) = caught.value.problems
    assert problem.code == "OSP401"
    assert problem.location is not None
    text = bad.documents[0].element.source.data
    assert text[problem.location.offset :].startswith((b"$2", b"2"))


def test_the_rest_of_the_body_keeps_its_locations() -> None:
    made = batch_system(LICENSES, directives="#!/bin/sh\n#S <Q>\n")
    body = made.get_template("JOB_DIRECTIVES").get_invocation().body
    assert body is not None
    source = made.documents[0].element.source.data
    for word in ("#!/bin", "#S <Q>"):
        assert source[body.get_location(body.text.index(word)).offset :].startswith(word.encode())


def test_a_flat_document_has_the_same_line() -> None:
    flat = Repository(use_standard_path=False).load_bytes(
        profile_to_xml(batch_system(LICENSES)).encode(), "f.xml"
    )
    assert render_directives(flat, LICENSES="a:2") == ["#!/bin/sh", "#S -l a:2", "#S -q", "id=7"]


@pytest.mark.parametrize("directive", ["", "#S &lt;$1> x", "#S $1&#10;rm", "#S $1\\"])
def test_what_is_no_directive(directive: str) -> None:
    declared = field("X", default(""), f'ext:directive="{directive}"')
    refuse(template_of("", declared), "is not one line")


def test_a_directive_in_a_template() -> None:
    refuse(template("RUN", "<LICENSES>", LICENSES), "belongs to template RUN")


def refuse(content: str, message: str) -> None:
    with pytest.raises(InvalidProfileError, match=message) as caught:
        profile(content)
    assert "OSP212" in {problem.code for problem in caught.value.problems}
