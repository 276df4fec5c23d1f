"""Fields that depend on other fields: `ext:when` and `ext:requires`; docs/language.md, Fields."""

from __future__ import annotations

import pytest

from osprofile import MissingValueError, NotSettableError, UnknownFieldError, ValueRefusedError, incarnate
from osprofile.authoring.comparison import collect_scope
from osprofile.authoring.trace import FieldTrace, trace_fields
from osprofile.incarnation.plan import get_plan
from tests.incarnation.parts import EXECUTABLE, job_parts
from tests.strategies import default, field, fixed, profile, tag, template, template_of


def piece(name: str, text: str, when: str, more: str = "") -> str:
    return field(name, more + fixed(text), f'isSettable="false" ext:when="{when}"')


FLAG = field("FLAG", tag("false", "") + default(""), 'ext:pattern="[a-z]+"')
MADE = profile(template_of("", piece("PIECE", "it's <FLAG>", "FLAG"), FLAG), template("T", "[<PIECE>]"))
OFF, ON = "[]", "[it's <FLAG>]"  # a fixed Value is not scanned for replacements


# The condition's value by the usual rules: request over context over Default, tags, checks.
CONDITIONS = [
    ({}, {}, OFF),
    ({"FLAG": "yes"}, {}, ON),
    ({"FLAG": ""}, {}, OFF),
    ({"FLAG": "false"}, {}, OFF),  # its tag's value is empty
    ({}, {"FLAG": "yes"}, ON),
    ({}, {"FLAG": "false"}, OFF),
    ({"FLAG": ""}, {"FLAG": "yes"}, OFF),
    ({"FLAG": "yes"}, {"FLAG": ""}, ON),
]


@pytest.mark.parametrize(("request_fields", "context", "text"), CONDITIONS)
def test_a_value_applies_on_its_condition(
    request_fields: dict[str, str], context: dict[str, str], text: str
) -> None:
    found = incarnate(MADE, "T", fields=request_fields, context=context, strict=True)
    assert found.text == text
    assert (found.fields["PIECE"].value, found.fields["PIECE"].origin) == (text[1:-1], "fixed")
    assert set(found.fields) == {"PIECE", "FLAG"}


def test_the_named_field_is_checked_although_no_body_has_it() -> None:
    with pytest.raises(ValueRefusedError, match=r"field FLAG: 'Yes!' does not match the pattern \[a-z\]\+"):
        incarnate(MADE, "T", fields={"FLAG": "Yes!"})
    with pytest.raises(ValueRefusedError, match="NUL"):
        incarnate(MADE, "T", fields={"FLAG": "\0"})
    with pytest.raises(NotSettableError):
        incarnate(MADE, "T", fields={"PIECE": "x"})
    assert get_plan(MADE, "T", "", None).settable == {"FLAG"}


def test_a_template_without_the_piece_does_not_use_the_named_field() -> None:
    made = profile(template_of("", piece("PIECE", "p", "FLAG"), FLAG), template("T", "x"))
    with pytest.raises(UnknownFieldError) as caught:
        incarnate(made, "T", fields={"FLAG": "yes"}, strict=True)
    assert caught.value.message == "field FLAG is not used by template T of profile p"


def test_a_condition_without_default_need_not_have_a_value() -> None:
    kind = field("KIND", "", 'ext:requires="MORE"')
    made = profile(
        template_of("", piece("PIECE", "p", "FLAG"), field("FLAG"), kind, field("MORE")),
        template("T", "[<PIECE>]"), template("BOTH", "[<PIECE><FLAG>]"), template("KINDS", "[<KIND>]"),
    )  # fmt: skip
    assert incarnate(made, "T").text == "[]"
    assert incarnate(made, "T", fields={"FLAG": "x"}).text == "[p]"
    assert incarnate(made, "BOTH", fields={"FLAG": "x"}).text == "[px]"
    with pytest.raises(MissingValueError, match="field FLAG has no value"):
        incarnate(made, "BOTH")
    with pytest.raises(ValueRefusedError, match="field KIND needs field MORE"):
        incarnate(made, "KINDS", fields={"KIND": "x"})


def test_conditions_in_a_chain_in_any_order() -> None:
    chain = [piece("A", "a", "B"), piece("B", "b", "C"), piece("C", "c", "FLAG")]
    for fields in (chain, chain[::-1]):
        for body in ("<A><B><C>", "<C><B><A>", "<A>"):
            made = profile(template("T", body, *fields, FLAG))
            letters = body.lower().replace("<", "").replace(">", "")
            assert incarnate(made, "T").text == ""
            assert incarnate(made, "T", fields={"FLAG": "x"}).text == letters


def test_quoting_tags_and_replacements_come_after_the_condition() -> None:
    made = profile(
        template("T", "'<A/'/'\\\\''>' <A/^\\z/none>", piece("A", "o", "FLAG", tag("o", "it's")), FLAG)
    )
    assert incarnate(made, "T", fields={"FLAG": "x"}).text == "'it'\\''s' it's"
    assert incarnate(made, "T").text == "'' none"


def test_fields_of_other_parts_of_the_job_script() -> None:
    made = profile(
        template_of("", piece("PIECE", "piece", "DEPENDENCY"), piece("MINE", "mine", "LEVEL")),
        template("START", "'<JOB_SCRIPT/'/'\\\\''>'"),
        template("JOB_PROLOGUE", "<PIECE>\n<MINE>\np"),
        template("RUN", "run", field("DEPENDENCY", default("")), field("LEVEL", default("1"))),
        template("JOB_EPILOGUE", "e"),
        EXECUTABLE,
    )
    assert incarnate(made, "START").text == "'mine\np\nrun\ne'"
    assert incarnate(made, "START", fields={"DEPENDENCY": "x", "LEVEL": ""}).text == "'piece\np\nrun\ne'"
    scope = collect_scope(made, made, "START", None)
    assert scope.global_fields == {"PIECE", "MINE", "DEPENDENCY", "LEVEL"}
    # In another text nobody declares them: only the context can give them.
    assert incarnate(made, "JOB_PROLOGUE", context={"LEVEL": "1"}).text == "mine\np"
    with pytest.raises(NotSettableError, match="only the context can give it"):
        incarnate(made, "JOB_PROLOGUE", fields={"LEVEL": "1"})


# ext:requires

GPUS = field("GPUS", tag("none", "") + default(""))
KIND = field("GPU_TYPE", tag("any", "") + default(""), 'ext:requires="GPUS"')
NODES = profile(template("T", "<GPUS><GPU_TYPE>", f"\n{KIND}", GPUS))

REQUIREMENTS = [
    ({}, {}, ""),
    ({"GPUS": "2"}, {}, "2"),
    ({"GPUS": "2", "GPU_TYPE": "a"}, {}, "2a"),
    ({"GPU_TYPE": ""}, {}, ""),
    ({"GPU_TYPE": "any"}, {}, ""),
    ({"GPU_TYPE": "a"}, {"GPUS": "1"}, "1a"),
    ({}, {"GPUS": "1", "GPU_TYPE": "a"}, "1a"),
    ({"GPU_TYPE": "a"}, {}, None),
    ({"GPU_TYPE": "a", "GPUS": ""}, {}, None),
    ({"GPU_TYPE": "a", "GPUS": "none"}, {}, None),
    ({}, {"GPU_TYPE": "a"}, None),
    ({"GPUS": ""}, {"GPUS": "1", "GPU_TYPE": "a"}, None),
]


@pytest.mark.parametrize(("request_fields", "context", "text"), REQUIREMENTS)
def test_a_value_requires_another(
    request_fields: dict[str, str], context: dict[str, str], text: str | None
) -> None:
    if text is not None:
        assert incarnate(NODES, "T", fields=request_fields, context=context).text == text
        return
    with pytest.raises(ValueRefusedError) as caught:
        incarnate(NODES, "T", fields=request_fields, context=context)
    assert (caught.value.message, caught.value.field) == ("field GPU_TYPE needs field GPUS", "GPU_TYPE")
    assert caught.value.hint == "give GPUS a value, too, or leave GPU_TYPE out"
    assert str(caught.value.location) == "p.xml:5:42"


def test_a_default_requires_nothing() -> None:
    made = profile(
        template("T", "<GPUS><GPU_TYPE>", KIND.replace("<idb:Default></", "<idb:Default>d</"), GPUS)
    )
    assert incarnate(made, "T").text == "d"
    with pytest.raises(ValueRefusedError, match="field GPU_TYPE needs field GPUS"):
        incarnate(made, "T", fields={"GPU_TYPE": "d"})


def test_a_required_field_may_be_set_by_a_request_although_no_body_has_it() -> None:
    made = profile(template_of("", GPUS, KIND), template("T", "<GPU_TYPE>"))
    assert incarnate(made, "T", fields={"GPUS": "2", "GPU_TYPE": "a"}, strict=True).text == "a"


# Trace


def find_trace(name: str, **fields: str) -> FieldTrace:
    made = profile(
        template_of("", piece("PIECE", "p", "FLAG"), FLAG, GPUS, KIND),
        template("T", "<PIECE><GPUS><GPU_TYPE>"),
    )
    return next(t for t in trace_fields(incarnate(made, "T", fields=fields)) if t.name == name)


def test_the_trace_says_why_a_field_is_empty() -> None:
    for fields, value, is_met in (({}, "", False), ({"FLAG": "yes"}, "p", True)):
        found = find_trace("PIECE", **fields)
        assert (found.value, found.raw_value, found.is_switched_off) == (value, "p", not is_met)
        (link,) = found.links
        assert link[:4] == ("when", "PIECE", "FLAG", is_met)
        assert str(link.location) == "p.xml:4:68"
        assert [k[:4] for k in find_trace("FLAG", **fields).links] == [link[:4]]
        assert (find_trace("FLAG").uses, find_trace("FLAG").is_switched_off) == ((), False)
    (link,) = find_trace("GPU_TYPE", GPUS="2").links
    assert link[:4] == ("requires", "GPU_TYPE", "GPUS", True)
    assert not find_trace("GPU_TYPE").is_switched_off


def test_a_part_of_the_job_script_decides_about_a_piece_of_another() -> None:
    """Without the part's own declaration, the piece is off, and a request with the field is refused."""
    has = field("HAS", fixed(""), 'isSettable="false"')
    shared = template_of("", FLAG, has, piece("PIECE", "piece", "HAS"))
    own = template("JOB_DIRECTIVES", "<HAS>\nd", piece("HAS", "has", "FLAG"))
    can = profile(job_parts(shared, own, prologue="<PIECE>\np"))
    assert incarnate(can, "START").text == "d\np\nr\ne"
    assert incarnate(can, "START", fields={"FLAG": "x"}, strict=True).text == "has\nd\npiece\np\nr\ne"
    cannot = profile(job_parts(shared, template("JOB_DIRECTIVES", "d"), prologue="<PIECE>\np"))
    assert incarnate(cannot, "START").text == "d\np\nr\ne"
    with pytest.raises(UnknownFieldError, match="field FLAG is not used by template START of profile p"):
        incarnate(cannot, "START", fields={"FLAG": "x"}, strict=True)
