"""The way of a value: OS Profile 0.3, 2.1 to 2.5; docs/language.md, Fields; each told as the engine did it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from osprofile import IncarnationError, OSProfileError, Repository, incarnate
from osprofile.authoring.trace import FieldTrace, trace_fields
from osprofile.incarnation.body import parse_body
from osprofile.incarnation.plan import get_plan
from osprofile.incarnation.static_scripts import compute_folder_name
from osprofile.profile.data_directories import get_bundled_directory
from osprofile.source import Source, SourceText
from tests.incarnation.parts import EXECUTABLE, bin_template, job_parts
from tests.strategies import (
    bodies,
    default,
    field,
    fixed,
    profile,
    static,
    tag,
    template,
    template_of,
    values,
)

if TYPE_CHECKING:
    from osprofile.incarnation.incarnate import Incarnation
    from osprofile.source import Location

LIMITS = "<idb:Min>1</idb:Min><idb:Max>10</idb:Max>"


def traced(
    body: str, *fields: str, context: dict[str, str] | None = None, **request: str
) -> tuple[FieldTrace, ...]:
    """Return the trace of a template of that body."""
    made = profile(template("T", body, *fields))
    return trace_fields(incarnate(made, "T", fields=request, context=context))


def one(body: str, *fields: str, context: dict[str, str] | None = None, **request: str) -> FieldTrace:
    """Return the trace of the only field."""
    (found,) = traced(body, *fields, context=context, **request)
    return found


def source_line(place: Location) -> str:
    """Return what stands in the document from a place on."""
    line, column = place.line, place.column
    return place.source.get_line_text(line)[column - 1 :]


# Sources, in the order of precedence (OS Profile 0.3, 2.3)

SOURCES: dict[str, Any] = {
    # declared, request, context: [(origin, value, what stands at its place)], the value
    "the example of OS Profile 0.3, 2.4": (default("Hello"), {}, {}, [("default", "Hello", "Hello<")], "Hello"),
    "request": (default("Hello"), {"F": "r"}, {}, [("request", "r", None), ("default", "Hello", "Hello<")], "r"),
    "context": (default("d"), {}, {"F": "c"}, [("context", "c", None), ("default", "d", "d<")], "c"),
    "all": (default("d"), {"F": "r"}, {"F": "c"}, [("request", "r", None), ("context", "c", None), ("default", "d", "d<")], "r"),
    "fixed": (fixed("v"), {}, {"F": "c"}, [("fixed", "v", "v<"), ("context", "c", None)], "v"),
    "fixed and default": (default("d") + fixed("v"), {}, {}, [("fixed", "v", "v<")], "v"),
    "fixed and request": (fixed("v"), {"F": "r"}, {}, [("fixed", "v", "v<")], "v"),
    "empty": (default(""), {"F": ""}, {}, [("request", "", None), ("default", "", "<")], ""),
}  # fmt: skip


@pytest.mark.parametrize("case", SOURCES)
def test_sources(case: str) -> None:
    content, request, context, offers, value = SOURCES[case]
    found = one("<F>", field("F", content), context=context, **request)
    assert [(o.origin, o.value) for o in found.sources] == [o[:2] for o in offers]
    for offer, (_origin, _value, at) in zip(found.sources, offers, strict=True):
        assert (offer.location is None) == (at is None)
        if offer.location is not None and at is not None:
            assert source_line(offer.location).startswith(at)
    assert (found.origin, found.raw_value, found.value) == (offers[0][0], offers[0][1], value)
    assert found.location is not None
    assert source_line(found.location).startswith('<idb:Field name="F"')


def test_a_field_that_only_the_context_knows() -> None:  # 2.3.1
    found = one("<TargetSystemInfo:Queue>", context={"TargetSystemInfo:Queue": "q"})
    assert (found.name, found.origin, found.value, found.location) == (
        "TargetSystemInfo:Queue", "context", "q", None,
    )  # fmt: skip
    assert (found.tag, found.checks) == (None, ())


# Tags, limits, type, pattern (OS Profile 0.3, 2.3)


def test_a_tag() -> None:
    found = one("<F>", field("F", tag("fast", "-O1") + tag("best", "-O3") + tag("best", "no")), F="best")
    assert (found.raw_value, found.value) == ("best", "-O3")
    assert found.tag is not None
    assert (found.tag.name, found.tag.value) == ("best", "-O3")  # of two of one name, the first
    assert source_line(found.tag.location).startswith('<idb:Tag name="best">-O3')
    assert one("<F>", field("F", tag("a", "a")), F="a").tag is not None  # its own value, and it acted too
    assert one("<F>", field("F", tag("a", "a")), F="b").tag is None


CHECKS: dict[str, Any] = {
    "none": ("", "", "x", []),
    "limits": (LIMITS, "", "10", [("type", "number", "<idb:Field"), ("Min", "1", "1<"), ("Max", "10", "10<")]),
    "integer": ("", 'ext:type="integer"', "7", [("type", "integer", 'integer"')]),
    "number": ("", 'ext:type="number"', "7.5", [("type", "number", 'number"')]),
    "text": ("", 'ext:type="text"', "x", []),
    "pattern": ("", 'ext:pattern="[a-z]+"', "x", [("pattern", "[a-z]+", '[a-z]+"')]),
    "all": (
        LIMITS, 'ext:pattern="[0-9]" ext:type="integer"', "7",
        [("type", "integer", 'integer"'), ("Min", "1", "1<"), ("Max", "10", "10<"), ("pattern", "[0-9]", '[0-9]"')],
    ),
    "the empty value is not checked": ("", 'ext:pattern="[0-9]"', "", []),
}  # fmt: skip


@pytest.mark.parametrize("case", CHECKS)
def test_checks(case: str) -> None:
    content, attributes, value, checks = CHECKS[case]
    found = one("<F>", field("F", content + default("1"), attributes), F=value)
    assert [(c.name, c.constraint) for c in found.checks] == [c[:2] for c in checks]
    for check, (_name, _allows, at) in zip(found.checks, checks, strict=True):
        assert source_line(check.location).startswith(at)


@pytest.mark.parametrize(
    ("content", "attributes", "bad"),
    [(LIMITS, "", "11"), (LIMITS, "", "x"), ("", 'ext:type="integer"', "01"), ("", 'ext:pattern="[a-z]+"', "X")],
)  # fmt: skip
def test_the_checks_told_are_those_that_refuse(content: str, attributes: str, bad: str) -> None:
    made = one("<F>", field("F", content + default("1" if "pattern" not in attributes else "x"), attributes))

    def enforce() -> None:
        for check in made.checks:
            check.enforce(bad, "it")

    with pytest.raises(IncarnationError) as told:
        enforce()
    with pytest.raises(IncarnationError) as refused:
        incarnate(profile(template("T", "<F>", field("F", content, attributes))), "T", fields={"F": bad})
    assert refused.value.message.endswith(told.value.message.removeprefix("it"))


# Replacements (OS Profile 0.3, 2.1) and derived fields

USES: dict[str, Any] = {
    # body, request: (written, derived, before, after, line, column, content of the line)
    "echo <F>\n": ("a", ("<F>", None, "a", "a", 1, 6, "echo a")),
    "x\n  <F/a/b>c\ny": ("aa", ("<F/a/b>", None, "aa", "bb", 2, 3, "  bbc")),
    "'<F/'/'\\\\''>'": ("it's", ("<F/'/'\\\\''>", None, "it's", "it'\\''s", 1, 2, "'it'\\''s'")),
    "'<F/'/'\\\\''>' ": ("its", ("<F/'/'\\\\''>", None, "its", "its", 1, 2, "'its' ")),
    "<F/(?s)^(.+)\\z/#PBS -q $1>": ("q", ("<F/(?s)^(.+)\\z/#PBS -q $1>", None, "q", "#PBS -q q", 1, 1, "#PBS -q q")),
    "-<F/x/>-": ("x", ("<F/x/>", None, "x", "", 1, 2, "--")),
    "t=<F:HMS>": ("90", ("<F:HMS>", "00:01:30", "00:01:30", "00:01:30", 1, 3, "t=00:01:30")),
    "<F:MINUTES/^/-t >": ("90", ("<F:MINUTES/^/-t >", "2", "2", "-t 2", 1, 1, "-t 2")),
    "a <F>\nb": ("1\n2", ("<F>", None, "1\n2", "1\n2", 1, 3, "a 1")),
}  # fmt: skip


@pytest.mark.parametrize("body", USES)
def test_uses(body: str) -> None:
    value, expected = USES[body]
    found = one(body, field("F"), F=value)
    (use,) = found.uses
    landing = use.position
    told = use.source_form, use.derived_value, use.before, use.after
    assert (*told, landing.line, landing.column, landing.line_text) == expected
    assert source_line(use.location).startswith(use.source_form)
    assert (use.template, use.variation, landing.text) == ("T", "", "")
    assert landing.script_position == (landing.line, landing.column)
    assert found.value == value


def test_each_use_is_told_in_the_order_of_the_script() -> None:
    found = traced("<A> <B> <A/x/y>", field("A"), field("B"), A="x", B="b")
    forms = {t.name: [u.source_form for u in t.uses] for t in found}
    assert list(forms.items()) == [("A", ["<A>", "<A/x/y>"]), ("B", ["<B>"])]
    assert [u.position.column for u in found[0].uses] == [1, 5]


# What the engine supplies: START's job script (OS Profile 0.3, 2.5), static scripts (OS Profile 0.3, 2.2)

STARTED = profile(
    template("START", "cd /d\nrun '<JOB_SCRIPT/'/'\\\\''>' <Q>", field("Q", default("q"))),
    template("JOB_PROLOGUE", "#PBS <Q/^/-q >\n", field("Q", default("q"))),
    template("RUN", "'<EXE/'/'\\\\''>' <EXE>\n", field("EXE")),
    template("JOB_EPILOGUE", "exit\n"),
    EXECUTABLE,
)


def test_what_is_nested_in_the_job_script() -> None:
    made = incarnate(STARTED, "START", fields={"EXE": "it's"})
    assert made.text == "cd /d\nrun '#PBS -q q\n'\\''it'\\''\\'\\'''\\''s'\\'' it'\\''s\nexit' q"
    job, queue, executable = trace_fields(made)
    assert (job.name, job.origin, job.sources, job.value) == ("JOB_SCRIPT", "engine", (), made.job_script)
    assert [
        (u.template, u.position.text, u.position.line, u.position.column, u.position.script_position)
        for u in queue.uses
    ] == [("JOB_PROLOGUE", "JOB_SCRIPT", 1, 6, (2, 11)), ("START", "", 4, 7, (4, 7))]
    assert [(u.position.line, u.position.column, u.position.script_position) for u in executable.uses] == [
        (2, 2, (3, 5)),
        (2, 11, (3, 26)),
    ]


def test_directives_that_are_not_given() -> None:
    body = "#!\n<A/^(.+)/#A $1>\n<B/^(.+)/#B $1>\n<C><A>\n<B>\n"
    directives = template("JOB_DIRECTIVES", body, *(field(n, default("")) for n in "ABC"))
    incarnation = incarnate(profile(job_parts(directives)), "START", fields={"B": "b", "C": "c\n"})
    assert incarnation.text == "#!\n#B b\nc\n\nb\np\nr\ne"
    uses = {
        t.name: [
            (u.before, u.after, u.position.line, u.position.column, u.position.line_text) for u in t.uses
        ]
        for t in trace_fields(incarnation)
    }
    assert uses["A"] == [("", "", 2, 1, "#B b"), ("", "", 4, 1, "")]
    assert uses["B"] == [("b", "#B b", 2, 1, "#B b"), ("b", "b", 5, 1, "b")]
    assert uses["C"] == [("c\n", "c\n", 3, 1, "c")]


def test_no_position_is_told_behind_a_regular_expression() -> None:
    globals_ = template_of("", field("A", default("a")))
    made = profile(job_parts(globals_, start="<JOB_SCRIPT/(?m)^/> >", prologue="<A>"))
    _job, found = trace_fields(incarnate(made, "START"))
    assert found.uses[0].position.script_position is None
    assert (found.uses[0].position.line, found.uses[0].position.column) == (1, 1)


def test_static_scripts() -> None:
    name = compute_folder_name({"s.sh": "#!/bin/sh\n"}) + "/s.sh"
    home = "/home/<USER_NAME>/bin"
    made = profile(
        template_of("T", static("#!/bin/sh\n", "s.sh", "-x <TARGET> y"), field("TARGET", default("t"))),
        bin_template(f"{home}\n", f"{home}/<FILE_NAME>\n", "sh <TARGET> <ARGUMENTS>\n"),
    )
    found = trace_fields(incarnate(made, "T", context={"USER_NAME": "u"}))
    told = [
        (t.name, t.origin, t.value, [(u.position.text, u.position.script_position) for u in t.uses])
        for t in found
    ]
    assert told == [
        ("TARGET", "engine", f"/home/u/bin/{name}", [("", (1, 4))]),
        ("USER_NAME", "context", "u", [("TARGET", (1, 10)), ("directory of s.sh", None)]),
        ("FILE_NAME", "engine", name, [("TARGET", (1, 16))]),
        ("ARGUMENTS", "engine", "-x t y", [("", (1, 38))]),
        ("TARGET", "default", "t", [("ARGUMENTS", (1, 41))]),
    ]


# Laws


def offset_of(text: str, line: int, column: int) -> int:
    """Return the offset of a line and column, both from 1."""
    return sum(len(part) + 1 for part in text.split("\n")[: line - 1]) + column - 1


def rebuilt(made: Incarnation, body: str) -> str:
    """Put the text together again: the body's own literals, and what the trace says of each slot."""
    told = sorted(
        ((u.location.offset, u) for t in trace_fields(made) for u in t.uses), key=lambda pair: pair[0]
    )
    parts, at = list[str](), 0
    uses = iter(told)
    for segment in parse_body(SourceText(body, Source("b", body.encode()), ((0, 0),))).segments:
        if isinstance(segment, str):
            parts.append(segment)
        else:
            use = next(uses)[1]
            at = sum(map(len, parts))
            assert offset_of(made.text, use.position.line, use.position.column) == at
            parts.append(use.after)
    assert next(uses, None) is None
    return "".join(parts)


@given(
    st.lists(
        st.sampled_from(["<A>", "<B>", "<A/'/'\\\\''>", "<B/x+/[$0]>", "\n", "'", " ", "x", "<", ">"]),
        max_size=12,
    ).map("".join),
    values,
    values,
)
def test_a_trace_gives_the_text_again(body: str, a: str, b: str) -> None:
    assume("<x" not in body)  # the use of a field that is not there
    made = profile(template("T", body, field("A", default("d")), field("B", default(""))))
    found = incarnate(made, "T", fields={"A": a, "B": b}, strict=False)
    assert rebuilt(found, made.templates["T"].invocations[""].body.text) == found.text  # type: ignore[union-attr]


@given(bodies)
def test_whatever_can_be_incarnated_can_be_traced(body: str) -> None:
    made = profile(template("T", body, field("A", default("it's"))))
    try:
        found = incarnate(made, "T", context={"B:C": "x"})
    except OSProfileError:
        return
    told = trace_fields(found)
    parsed = made.templates["T"].invocations[""].body
    assert parsed is not None
    assert sum(len(t.uses) for t in told) == len([*parse_body(parsed).replacements])
    assert {t.name for t in told if t.origin != "engine"} == set(found.fields)


@given(values, values)
def test_a_position_in_the_script_is_where_the_quoted_value_stands(a: str, b: str) -> None:
    found = incarnate(STARTED, "START", fields={"EXE": a or "x", "Q": b})
    for told in trace_fields(found):
        for use in told.uses:
            assert use.position.script_position is not None
            after = use.after if use.position.text == "" else use.after.replace("'", "'\\''")
            assert found.text.startswith(after, offset_of(found.text, *use.position.script_position))


IDS = {"linux": "4711-304973-7d90afd1", "flux": "f4711", "loadleveler": "node1.12.0"}
BUNDLED = Repository([get_bundled_directory()], use_standard_path=False)


@pytest.mark.parametrize("name", BUNDLED.list_names())
def test_every_template_of_the_bundled_profiles(name: str) -> None:
    loaded = BUNDLED.load(name)
    for of in loaded.templates.values():
        for variation in of.invocations:
            plan = get_plan(loaded, of.name, variation, None)
            values = {"WORKING_DIRECTORY": "/w", "JOB_ID": IDS.get(name, "1")}
            required = {n: values.get(n, "1") for n in plan.required}
            context = {"USER_HOME": "/h"} | {
                n: value for n, value in required.items() if n not in plan.settable
            }
            request = {n: value for n, value in required.items() if n in plan.settable}
            made = incarnate(loaded, of.name, variation=variation, fields=request, context=context)
            told = trace_fields(made)
            fields = {t.name: t for t in told if t.origin != "engine"}
            assert fields.keys() == made.fields.keys()
            for field_name, value in made.fields.items():
                t = fields[field_name]
                assert (t.value, t.raw_value, t.origin, t.location) == value[1:]


def test_a_line_that_is_omitted_has_no_directive() -> None:
    """The line of an empty value is left out of JOB_DIRECTIVES: the next line is not its own."""
    body = r"<A/^./#X a=$0>|#X b=1|<B/^./#X b=$0><C/^./ c=$0>|<C/^./#X c=$0><D/^./ d=$0>|#X <A>|echo|"
    prefix = field("DIRECTIVE_PREFIX", fixed("#X"), 'isSettable="false"')
    fields = [prefix, *(field(name, default("")) for name in "ABCD")]
    made = profile(template("JOB_DIRECTIVES", body.replace("|", "\n"), *fields))
    uses = [
        (t.name, use.is_omitted, use.is_directive)
        for t in trace_fields(incarnate(made, "JOB_DIRECTIVES", fields={"D": "4"}))
        for use in t.uses
    ]
    assert uses == [  # in the line of C and D, only D has a value
        ("A", True, False), ("A", False, True),
        ("B", True, False), ("C", True, False),
        ("C", False, False), ("D", False, False),
    ]  # fmt: skip
