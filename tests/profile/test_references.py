"""What a profile takes from its chain by name: patterns (`ext:patternField`), and removals (`ext:absent`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from osprofile import (
    ApplicationNotFoundError,
    InvalidProfileError,
    Profile,
    Repository,
    TemplateNotFoundError,
    ValueRefusedError,
    incarnate,
)
from osprofile.authoring.difference import compare_profiles
from osprofile.authoring.writer import profile_to_xml
from osprofile.incarnation.field_rules import list_checks
from osprofile.incarnation.plan import get_plan
from osprofile.lint.value_sets import get_field_values
from tests.strategies import application, default, document, field, fixed, template, template_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Load = Callable[..., Profile]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Return a function that makes a profile of documents: the profile's own first, each extends the next."""

    def make(*contents: str) -> Profile:
        for number, content in enumerate(contents):
            parent = f"d{number + 1}" if number + 1 < len(contents) else None
            text = document(content, name=f"d{number}", extends=parent)
            (tmp_path / f"d{number}.xml").write_text(text)
        return Repository([tmp_path], use_standard_path=False).load("d0")

    return make


def form(pattern: str) -> str:
    """Return the global fields of a profile whose ids have this form."""
    return template_of("", field("FORM", fixed(pattern), 'isSettable="false"'))


PARENT = template_of(
    "",
    field("FORM", fixed("[0-9]+"), 'isSettable="false"'),
    field("ID", "", 'ext:patternField="FORM"'),
) + template("T", "<ID> <N>", field("N", default("1"), 'ext:patternField="FORM"'))


def test_the_pattern_is_that_of_the_named_field(load: Load) -> None:
    found = load(PARENT)
    assert incarnate(found, "T", fields={"ID": "17", "N": "2"}).text == "17 2"
    with pytest.raises(ValueRefusedError) as caught:
        incarnate(found, "T", fields={"ID": "x"})
    assert caught.value.message == "field ID: 'x' does not match the pattern [0-9]+"
    assert caught.value.location is not None
    line, caret = caught.value.location.format_excerpt().splitlines()
    assert caret.index("^") == line.index("[0-9]+")


def test_a_child_declares_another_form(load: Load) -> None:
    for found in (load(form("[a-z]+"), PARENT), load("", form("[a-z]+"), PARENT)):
        assert incarnate(found, "T", fields={"ID": "x", "N": "y"}).text == "x y"
        with pytest.raises(ValueRefusedError, match=r"d[01]\.xml:4:\d+: field N: '1' does not match"):
            incarnate(found, "T", fields={"ID": "x"})
        for declared in (found.global_fields["ID"], found.templates["T"].fields["N"]):
            assert declared.pattern is not None
            assert declared.pattern.text == declared.pattern_text == "[a-z]+"
            assert declared.pattern_field == "FORM"
            assert [c.constraint for c in list_checks(declared)] == ["[a-z]+"]
            assert get_field_values(declared).chars.ranges == ((97, 122),)
    assert Repository([]).load_bytes(document(PARENT).encode()).global_fields["ID"].pattern_text == "[0-9]+"


def test_it_merges_like_a_pattern(load: Load) -> None:
    plain = field("N", default("1"), 'ext:pattern="[0-9]+"')
    parts = (
        template("START", "<JOB_SCRIPT>"),
        template("JOB_PROLOGUE", "<N>", plain),
        template("JOB_EPILOGUE", "e"),
    )
    run = template("RUN", "<N>", field("N", default("1"), 'ext:patternField="FORM"'))
    content = "".join([form("[0-9]+"), *parts, run, application("e", "Executable", "1", "RUN")])
    merged = get_plan(load(content), "START", "", None).declarations["N"]
    assert merged.pattern_text == "[0-9]+"
    with pytest.raises(InvalidProfileError, match="field N is declared differently"):
        get_plan(load(form("[1-9]+"), content), "START", "", None)


def test_a_bad_regular_expression_is_told_at_the_value(load: Load) -> None:
    found = load(form("a[b"), PARENT)
    with pytest.raises(InvalidProfileError, match=r"d0\.xml:4:\d+: error OSP401 field ID: bad Java"):
        incarnate(found, "T", fields={"ID": "x"})


def test_it_is_written_and_compared(load: Load) -> None:
    found = load(form("[a-z]+"), PARENT)
    text = profile_to_xml(found)
    assert text.count('ext:patternField="FORM"') == 2
    assert "ext:pattern=" not in text
    again = Repository([]).load_bytes(text.encode())
    assert again.global_fields["ID"].comparison_key() == found.global_fields["ID"].comparison_key()
    changes = compare_profiles(load(PARENT), found)
    assert {".".join(filter(None, (p.name or p.kind for p in c.path))) for c in changes} == {
        "FORM.Value", "ID.pattern", "T.N.pattern",
    }  # fmt: skip


def test_it_overrides_nothing_by_itself(load: Load) -> None:
    found = load("", form("[a-z]+"), PARENT)
    assert found.list_overridden(found.get_template("T")) == []


BAD_PATTERNS = {  # the attributes of a field, the message
    'ext:patternField="FROM"': "field F takes its pattern from 'FROM', which is no global field",
    'ext:patternField=""': "field F takes its pattern from '', which is no global field",
    'ext:patternField="ID"': "field F takes its pattern from 'ID', which has no fixed",
    'ext:patternField="FORM" ext:pattern="x"': "field F has both ext:pattern and ext:patt",
}


@pytest.mark.parametrize(("attributes", "message"), BAD_PATTERNS.items())
def test_bad_pattern_fields(load: Load, attributes: str, message: str) -> None:
    with pytest.raises(InvalidProfileError) as caught:
        load(template("X", "<F>", field("F", "", attributes)), PARENT)
    (problem,) = caught.value.problems
    assert (problem.code, problem.message[: len(message)]) == ("OSP209", message)
    assert problem.location is not None
    assert problem.location.file.endswith("d0.xml")
    assert problem.hint


# Removals

BASE = (
    template("A", "a")
    + template("B", "b")
    + '<osp:Storage name="S" template="A"/><osp:Storage name="R" template="B"/>'
    + application("one", "ONE", "1", "A")
    + application("two", "ONE", "2", "B")
)
NO_B = '<idb:Template name="B" ext:absent="true"><idb:Description>Not here.</idb:Description></idb:Template>'
NO_REST = '<osp:Storage name="R" ext:absent="1"/><osp:Application name="two" ext:absent="true"/>'


def test_what_is_removed_is_as_if_never_inherited(load: Load) -> None:
    for found in (load(NO_B + NO_REST, BASE), load("", NO_B + NO_REST, BASE)):
        assert [*found.templates, *found.storages, *found.applications] == ["A", "S", "one"]
        assert found.get_application("ONE").application_version == "1"
        with pytest.raises(TemplateNotFoundError) as caught:
            found.get_template("B")
        assert caught.value.hint.startswith("the inherited one is removed at ")
        with pytest.raises(ApplicationNotFoundError):
            found.get_application("ONE", "2")
        again = Repository([]).load_bytes(profile_to_xml(found).encode())
        assert compare_profiles(found, again) == ()


def test_a_grandchild_defines_it_again(load: Load) -> None:
    found = load(template("B", "new"), NO_B + NO_REST, BASE)
    assert incarnate(found, "B").text == "new"
    assert found.list_overridden(found.get_template("B")) == []
    assert load(NO_B, template("B", "new"), NO_B + NO_REST, BASE).templates.keys() == {"A"}


def test_it_is_a_difference(load: Load) -> None:
    changes = compare_profiles(load(BASE), load(NO_B + NO_REST, BASE))
    told = [(c.kind, c.path[0].name) for c in changes]
    assert told == [("removed", "B"), ("removed", "R"), ("removed", "two")]


def test_absent_false_is_nothing(load: Load) -> None:
    found = load(template("A", "new").replace("<idb:Template", '<idb:Template ext:absent="false"'), BASE)
    assert incarnate(found, "A").text == "new"


BAD_REMOVALS = {  # the child, its parent being BASE, and the beginning of the message
    "not inherited": (
        '<idb:Template name="C" ext:absent="true"/>',
        "OSP210", "profile d0 removes template 'C', which it does not inherit",
    ),
    "storage": ('<osp:Storage name="C" ext:absent="true"/>', "OSP210", "profile d0 removes storage 'C', which it does not inherit"),
    "application by its request name": (
        '<osp:Application name="ONE" ext:absent="true"/>',
        "OSP210", "profile d0 removes application 'ONE', which",
    ),
    "global fields": ('<idb:Template ext:absent="true"/>', "OSP210", "this Template removes the inherited one, but has no name"),
    "a body": (
        template("A", "x").replace("<idb:Template", '<idb:Template ext:absent="true"'),
        "OSP210", "this Template removes the inherited one, but has <Invocation>",
    ),
    "a template": (
        '<osp:Storage name="S" template="A" ext:absent="true"/>',
        "OSP210", "this Storage removes the inherited one, but has a template",
    ),
    "a name": (
        application("one", "ONE", "1", "A").replace(' template="A"', ' ext:absent="true"'),
        "OSP210", "this Application removes the inherited one, but has <ApplicationName>",
    ),
    "in use": (NO_B, "OSP203", "Storage R names template 'B', which profile d0"),
    "storage without template": (
        '<osp:Storage name="S" ext:absent="false"/>',
        "OSP104", "in <Storage>: missing required attribute 'template'",
    ),
    "application without template": (
        '<osp:Application name="one"/>', "OSP104", "in <Application>: missing required attribute 'template'",
    ),
    "application without name": ('<osp:Application name="one" template="A"/>', "OSP104", "<Application> ends too early"),
}  # fmt: skip


@pytest.mark.parametrize(("bad", "code", "message"), BAD_REMOVALS.values(), ids=BAD_REMOVALS)
def test_bad_removals(load: Load, bad: str, code: str, message: str) -> None:
    with pytest.raises(InvalidProfileError) as caught:
        load(bad, BASE)
    problem = caught.value.problems[0]
    assert (problem.code, problem.message[: len(message)]) == (code, message)
    assert problem.location is not None


def test_the_hint_tells_where_a_template_was_removed(load: Load, tmp_path: Path) -> None:
    with pytest.raises(InvalidProfileError) as caught:
        load("", NO_B, BASE)
    hint = f"the inherited one is removed at {tmp_path}/d1.xml:4:1"
    assert [(p.code, p.hint) for p in caught.value.problems] == [("OSP203", hint)] * 2


def test_removed_twice(load: Load) -> None:
    with pytest.raises(
        InvalidProfileError, match="profile d0 removes template 'B', which it does not inherit"
    ):
        load(NO_B, NO_B + NO_REST, BASE)
