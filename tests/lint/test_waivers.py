"""Waivers: what each covers, and the problems of unused and malformed ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osprofile.errors import Problem
from osprofile.lint import RULES, examine_file, waivers
from osprofile.lint.rules import UNLOADABLE
from osprofile.lint.rules.rule import complete_example, format_field, format_profile, format_template
from osprofile.profile.repository import Repository
from osprofile.source import Location, Source
from tests.lint.conftest import PARENTS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.lint.conftest import Lint

WAIVER = "<!-- lint-waive OSP302: read elsewhere -->"
UNUSED = format_field("WHY")
OTHER = format_field("WHO")


def codes(problems: list[Problem]) -> list[str]:
    return [p.code for p in problems]


def with_fields(*lines: str) -> str:
    """Return a profile with one template that uses none of its fields."""
    return complete_example(format_template("true", *lines))


COVERED = {
    # where: (document, codes that are reported)
    "before the element": (with_fields(WAIVER, UNUSED), []),
    "before the template": (format_profile(f"{WAIVER}\n{format_template('true', UNUSED, OTHER)}"), []),
    "before the root": (f"<?xml version='1.0'?>\n{WAIVER}\n" + with_fields(UNUSED, OTHER), []),
    "first of all": (f"{WAIVER}\n" + with_fields(UNUSED), []),
    "behind the element": (with_fields(f"{UNUSED} {WAIVER}"), []),
    "behind, on a line of its own": (with_fields(UNUSED, WAIVER, OTHER), ["OSP302"]),
    "the next element alone": (with_fields(WAIVER, UNUSED, OTHER), ["OSP302"]),
    "the line alone": (with_fields(f"{UNUSED} {WAIVER}", OTHER), ["OSP302"]),
    "two of them": (with_fields(WAIVER, UNUSED, f"{OTHER} {WAIVER}"), []),
    "another comment between": (with_fields(WAIVER, "<!-- lint: no waiver -->", UNUSED), []),
    "over two lines": (with_fields(WAIVER.replace(": ", ":\n  "), UNUSED), []),
    "two codes, a comma": (with_fields(WAIVER.replace("302", "302, OSP312"), '<idb:Field name="N" ext:type="integer"/>'), []),
    "two codes, blanks": (with_fields(WAIVER.replace("302", "302 OSP312"), '<idb:Field name="N" ext:type="integer"/>'), []),
    "an empty element's attribute": (
        complete_example(
            format_template("true", "<!-- lint-waive OSP302 OSP312: x -->", '<idb:Field name="N"/>')
        ),
        [],
    ),
    "no comment: in CDATA": (complete_example(format_template(f"true\n: '{WAIVER}'", UNUSED)), ["OSP302"]),
    "no comment: in an attribute": (
        with_fields(f'<idb:Field name="N" ext:pattern="{WAIVER.replace("<", "&lt;")}"/>'),
        ["OSP312", "OSP302"],
    ),
    "in a script, before its Body": (
        complete_example(
            format_template("hold -w<WHY>\nhold", UNUSED).replace(
                "<idb:Body>", "\n<!-- lint-waive OSP601: WHY is ours -->\n<idb:Body>"
            )
        ),
        [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", COVERED)
def test_what_a_waiver_covers(lint: Lint, case: str) -> None:
    text, expected = COVERED[case]
    assert codes(lint(text)) == sorted(expected, key=expected.index)


REASONLESS = "say why, for later readers: a waiver is written <!-- lint-waive CODE ...: REASON -->"
FORM = "a waiver is written <!-- lint-waive CODE ...: REASON -->"
BAD = {
    # what: (waiver, message, begin of the hint)
    "no code": ("<!-- lint-waive: because -->", "a waiver that names no code", FORM),
    "nothing": ("<!--lint-waive-->", "a waiver that names no code", FORM),
    "no reason": ("<!-- lint-waive OSP302 -->", "a waiver without a reason", REASONLESS),
    "an empty one": ("<!-- lint-waive OSP302: \n -->", "a waiver without a reason", REASONLESS),
    "no such code": ("<!-- lint-waive OSP32: because -->", "a waiver of OSP32, which is not a code", "did you mean OSP"),
    "a part of a code": ("<!-- lint-waive OSP3: because -->", "a waiver of OSP3, which is not a code", ""),
    "a terminal's escape": ("<!-- lint-waive \u009b31m: because -->", r"a waiver of '\x9b31m', which is not a code", ""),
    "what does not load": (
        "<!-- lint-waive OSP104: because -->",
        "OSP104 cannot be waived: no command would load the profile",
        RULES["OSP104"].why,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_with_a_waiver(lint: Lint, case: str) -> None:
    waiver, message, hint = BAD[case]
    found = lint(with_fields(waiver, UNUSED))
    assert codes(found) == ["OSP702", "OSP302"]
    assert found[0].message == message
    assert found[0].hint.startswith(hint)
    assert found[0].location
    assert (found[0].location.line, found[0].location.column) == (9, 3)


def test_a_waiver_before_no_element(lint: Lint) -> None:
    for text in (
        with_fields(WAIVER),
        format_profile(format_template("true") + f"\n{WAIVER}\n"),
        complete_example(format_template("true")) + WAIVER,
    ):
        [found] = lint(text)
        assert found.code == "OSP702"
        assert found.message == "a waiver that covers nothing"


def test_an_unused_waiver_is_reported(lint: Lint) -> None:
    [found] = lint(with_fields(WAIVER.replace("302", "302 OSP601"), UNUSED))
    assert found.code == "OSP701"
    assert found.severity == "warning"
    assert found.message == "a waiver of OSP601, and what it covers has no such problem"
    assert found.location
    assert (found.location.line, found.location.column) == (9, 3)


def test_of_two_waivers_the_inner_one_counts(lint: Lint) -> None:
    [found] = lint(f"{WAIVER}\n" + with_fields(WAIVER, UNUSED))
    assert (found.code, found.message) == (
        "OSP701",
        "a waiver of OSP302, and the profile has no such problem",
    )
    outer = WAIVER.replace("read", "outer: read")
    [found] = lint(format_profile(f"{outer}\n{format_template('true', WAIVER, UNUSED)}"))
    assert (found.code, found.location and found.location.line) == ("OSP701", 7)
    assert lint(format_profile(f"{outer}\n{format_template('true', OTHER, WAIVER, UNUSED)}")) == []


def test_waivers_of_shellcheck_are_judged_by_its_run_only(lint: Lint) -> None:
    assert lint(with_fields("<!-- lint-waive SC2034: no variable is unused -->", "")) != []
    text = format_profile("<!-- lint-waive SC2034: it is used -->\n" + format_template("true"))
    assert lint(text) == []


def test_where_not_every_rule_ran_no_waiver_is_useless(lint: Lint) -> None:
    text = format_profile(f"{WAIVER}\n{format_template('true')}\n<osp:Nope/>")
    assert codes(lint(text)) == ["OSP104"]


def test_what_does_not_load_stays(lint: Lint) -> None:
    for code in sorted(UNLOADABLE):
        waiver = f"<!-- lint-waive {code}: because -->\n"
        wrong = complete_example(RULES[code].wrong)
        if code in {"OSP101", "OSP103"}:  # the first line must be the first
            continue
        text = waiver + wrong
        assert code in codes(lint(text))


def test_the_waived_ones_are_kept_with_their_reason(tmp_path: Path) -> None:
    file = tmp_path / "example.xml"
    file.write_text(with_fields(WAIVER, UNUSED))
    found = examine_file(file, Repository([tmp_path, PARENTS], use_standard_path=False))
    assert (found.file, found.problems) == (str(file), [])
    [waived] = found.waived
    assert waived.problem.code == "OSP302"
    assert (waived.waiver.codes, waived.waiver.reason) == (("OSP302",), "read elsewhere")


def test_a_parents_problem_is_covered_by_the_whole_childs_waiver_only(tmp_path: Path) -> None:
    """The child makes a settable field of what its parent has fixed, and unsafe in its script."""
    parent = format_template("hold -w<WHY>").replace('"HOLD"', '"HOLDS"')
    fields = '<idb:Template><idb:Field name="WHY" isSettable="{}">{}</idb:Field></idb:Template>\n'
    fixed = fields.format("false", "<idb:Value>a</idb:Value>")
    free = fields.format("true", "<idb:Description>x</idb:Description>")
    waiver = "<!-- lint-waive OSP601: nobody sets it -->\n"
    (tmp_path / "parent.xml").write_text(
        format_profile(fixed + waiver + parent, 'name="parent" extends="base"')
    )
    child = tmp_path / "child.xml"
    repository = Repository([tmp_path, PARENTS], use_standard_path=False)
    text = format_profile(free, 'name="child" extends="parent"')
    for document_, expected in ((text, ["OSP601"]), (waiver + text, [])):
        child.write_text(document_)
        assert codes(examine_file(child, repository).problems) == expected


LEAVES = [
    "<b/>", "<!-- lint-waive OSP302: x -->", "<!-- x -->", "\n", " ", "t", "<?p?>", "é",
    "<![CDATA[<!-- lint-waive OSP601: x -->]]>", "<b a='>'/>", "<!-- lint-waive OSP601: y -->",
]  # fmt: skip
CONTENT = st.recursive(
    st.lists(st.sampled_from(LEAVES), max_size=8).map("".join),
    lambda inner: st.lists(inner.map("<a>{}</a>".format) | inner, max_size=5).map("".join),
    max_leaves=12,
)


@given(CONTENT)
def test_ranges_are_those_of_elements_or_lines(content: str) -> None:
    """Whatever well-formed document: a range ends behind its begin, and holds a whole thing."""
    data = f"<r>{content}</r>".encode()
    source = Source("x", data)
    found, problems = waivers.read_waivers(source)
    comments = content.count("<!-- lint") - content.count("[<!-- lint")
    assert len(found) + len(problems) == comments
    for waiver in found:
        assert 0 <= waiver.start < waiver.end <= len(data)
        covered = data[waiver.start : waiver.end]
        if waiver.start > waiver.location.offset:
            assert covered.startswith((b"<a>", b"<b"))
            assert covered.endswith((b"</a>", b"/>"))
            assert waiver.covers(Location(source, waiver.end - 1))
            assert not waiver.covers(Location(source, waiver.end))
        else:
            assert waiver.start <= waiver.location.offset < waiver.end
            assert b"\n" not in covered


@given(CONTENT, st.data())
def test_settling_is_what_the_waivers_say_one_by_one(content: str, data: st.DataObject) -> None:
    """The one walk gives what trying each waiver for each problem gives."""
    text = f"<!-- lint-waive OSP601: x --><r>{content}</r>".encode()
    source, other = Source("x", text), Source("y", text)
    places = st.builds(Location, st.sampled_from([source, other]), st.integers(0, len(text)))
    codes_ = st.sampled_from(["OSP302", "OSP601", "OSP605"])
    problems = data.draw(st.lists(st.builds(Problem, codes_, st.just(""), st.none() | places), unique=True))
    found, bad = waivers.read_waivers(source)
    kept, waived = waivers.apply_waivers(problems, source, active_prefixes=())
    assert len(kept) + len(waived) == len(problems) + len(bad)
    covering = {w.problem: w.waiver for w in waived}
    for problem in problems:
        fitting = [w for w in found if problem.code in w.codes and w.covers(problem.location)]
        assert (problem in covering) == bool(fitting)
        if fitting:
            assert covering[problem] == min(
                fitting, key=lambda w: (w.covers_parents, w.end - w.start, w.location.offset)
            )


def test_many_waivers_take_no_square_of_their_number() -> None:
    """2,000 of them, all used; each is looked at a few times, which is counted."""
    source = Source("x", ("<r>\n" + "<!-- lint-waive OSP302: x -->\n<a/>\n" * 2000 + "</r>").encode())
    at, problems = -1, []
    while (at := source.data.find(b"<a/>", at + 1)) >= 0:
        problems.append(Problem("OSP302", "", Location(source, at)))
    calls = list[int]()
    original = waivers.Waiver.covers

    def covers(self: waivers.Waiver, place: Location | None) -> bool:
        calls.append(1)
        return original(self, place)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(waivers.Waiver, "covers", covers)
        kept, waived = waivers.apply_waivers(problems, source, active_prefixes=["OSP"])
    assert (kept, len(waived)) == ([], 2000)
    assert len(calls) <= 3 * 2000
