"""What differs between two profiles, item by item: OS Profile 0.3, 1 to 4."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osprofile import Repository
from osprofile.authoring.difference import ProfileChange, compare_profiles
from osprofile.profile.data_directories import get_bundled_directory
from tests.strategies import (
    application,
    default,
    document,
    field,
    fixed,
    invocation,
    profile,
    static,
    tag,
    template,
    template_of,
)

if TYPE_CHECKING:
    from pathlib import Path

T = template("T", "a")
STORAGE = '<osp:Storage name="S" template="{}"/>'


def told(change: ProfileChange) -> tuple[str, str, str | None, str | None]:
    """Return a change in words: kind, path, old and new value."""
    path = ", ".join(f"{what} {name}".strip() for what, name in change.path)
    old, new = (item.value if item is not None else None for item in (change.old, change.new))
    return change.kind, path, old, new


def of_field(old: str, new: str, attributes: str = "", others: str = "") -> tuple[str, str]:
    return template("T", "a", field("F", old, attributes)), template("T", "a", field("F", new, others))


CASES: dict[str, Any] = {
    "nothing": (T, T, []),
    "template added": (T, T + template("U", "a"), [("added", "template U", None, None)]),
    "template removed": (T + template("U", "a"), T, [("removed", "template U", None, None)]),
    "body": (T, template("T", "b"), [("changed", "template T, variation, body", "a", "b")]),
    "variation added": (T, template_of("T", invocation("a"), invocation("b", "V")), [("added", "template T, variation V", None, None)]),
    "variation's body": (
        template_of("T", invocation("a"), invocation("b", "V")), template_of("T", invocation("a"), invocation("c", "V")),
        [("changed", "template T, variation V, body", "b", "c")],
    ),
    "a body becomes a static script": (
        T, template_of("T", static("b", "f")),
        [
            ("removed", "template T, variation, body", "a", None),
            ("added", "template T, variation, static script", None, "b"),
            ("added", "template T, variation, file name", None, "f"),
            ("added", "template T, variation, arguments", None, ""),
        ],
    ),
    "a static script's parts": (
        template_of("T", static("a", "f", "x")), template_of("T", static("b", "g", "y")),
        [
            ("changed", "template T, variation, static script", "a", "b"),
            ("changed", "template T, variation, file name", "f", "g"),
            ("changed", "template T, variation, arguments", "x", "y"),
        ],
    ),
    "field added, told once": (T, template("T", "a", field("F", default("x"))), [("added", "template T, field F", None, None)]),
    "default": (*of_field(default("x"), default("y")), [("changed", "template T, field F, Default", "x", "y")]),
    "no default is not an empty one": (*of_field("", default("")), [("added", "template T, field F, Default", None, "")]),
    "a default becomes fixed": (
        *of_field(default("x"), fixed("x")),
        [("removed", "template T, field F, Default", "x", None), ("added", "template T, field F, Value", None, "x")],
    ),
    "limits": (
        *of_field("<idb:Min>1</idb:Min>", "<idb:Min>2.5</idb:Min><idb:Max>1e3</idb:Max>"),
        [("changed", "template T, field F, limit Min", "1", "2.5"), ("added", "template T, field F, limit Max", None, "1000")],
    ),
    "a limit written in another way": (*of_field("<idb:Min>10</idb:Min>", "<idb:Min>1e1</idb:Min>"), []),
    "tags": (
        *of_field(tag("a", "1") + tag("b", "2"), tag("b", "3") + tag("c", "1")),
        [
            ("removed", "template T, field F, tag a", "1", None),
            ("changed", "template T, field F, tag b", "2", "3"),
            ("added", "template T, field F, tag c", None, "1"),
        ],
    ),
    "the order of tags": (*of_field(tag("a", "1") + tag("b", "2"), tag("b", "2") + tag("a", "1")), []),
    "of two tags the first": (*of_field(tag("a", "1") + tag("a", "2"), tag("a", "1")), []),
    "pattern and type": (
        *of_field("", "", 'ext:pattern="a" ext:type="text"', 'ext:pattern="b"'),
        [("removed", "template T, field F, type", "text", None), ("changed", "template T, field F, pattern", "a", "b")],
    ),
    "settable": (
        *of_field(default("x"), default("x"), "", 'isSettable="false"'),
        [("changed", "template T, field F, settable", "yes", "no")],
    ),
    "settable, said or not": (*of_field("", "", "", 'isSettable="true"'), []),
    "description": (*of_field("<idb:Description>a</idb:Description>", ""), [("removed", "template T, field F, description", "a", None)]),
    "global field": (
        T + template_of("", field("G", default("1"))), T + template_of("", field("G", default("2"))),
        [("changed", "global field G, Default", "1", "2")],
    ),
    "storage": (
        T + template("U", "a") + STORAGE.format("T"), T + template("U", "a") + STORAGE.format("U"),
        [("changed", "storage S, made by template", "T", "U")],
    ),
    "application": (
        T + application("x", "X", "1", "T"), T + application("x", "Y", "2", "T"),
        [("changed", "application x, ApplicationName", "X", "Y"), ("changed", "application x, ApplicationVersion", "1", "2")],
    ),
    "what is new stands with its like": (
        template("A", "a") + template("C", "c"), template("A", "b") + template("B", "b") + template("C", "d"),
        [
            ("changed", "template A, variation, body", "a", "b"),
            ("added", "template B", None, None),
            ("changed", "template C, variation, body", "c", "d"),
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_difference(case: str) -> None:
    old, new, expected = CASES[case]
    assert [told(c) for c in compare_profiles(profile(old), profile(new))] == expected


def test_the_head_of_a_profile() -> None:
    old, new = profile(T, root="/a"), profile(T, root=":b", delimiter=":")
    assert [told(c) for c in compare_profiles(old, new)] == [
        ("changed", "UspaceRoot", "/a", ":b"),
        ("changed", "Delimiter", "/", ":"),
    ]


def test_each_change_tells_both_places() -> None:
    old, new, _expected = CASES["limits"]
    first, second = compare_profiles(profile(old), profile("\n" + new))
    assert first.old is not None
    assert first.new is not None
    places = [first.old.location, first.new.location]
    assert [p.source.get_line_text(p.line)[p.column - 1 :].partition("<")[0] for p in places] == ["1", "2.5"]
    assert places[1].line == places[0].line + 1
    assert second.old is None


def test_what_is_inherited_counts_and_where_it_stands_does_not(tmp_path: Path) -> None:
    texts = {
        "base": document(T + template("U", "u"), name="base"),
        "child": document(template("T", "a"), name="child", extends="base"),
        "other": document(template("U", "v"), name="other", extends="base"),
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.xml").write_text(text)
    found = Repository([str(tmp_path)], use_standard_path=False)
    base, child, other = (found.load(name) for name in texts)
    assert compare_profiles(base, child) == ()
    (change,) = compare_profiles(child, other)
    assert told(change) == ("changed", "template U, variation, body", "u", "v")
    assert change.old is not None
    assert change.old.location.file.endswith("base.xml")


def test_a_part_of_a_profile() -> None:
    globals_ = template_of("", field("G", default("1")), field("H", default("1")))
    old = profile(T, template("U", "u"), globals_, root="/a")
    new = profile(template("T", "b"), template("U", "v"), globals_.replace(">1<", ">2<"), root="/b")
    found = compare_profiles(old, new, templates={"T"}, global_fields={"H"}, include_uspace_root=False)
    assert [told(c)[1] for c in found] == ["global field H, Default", "template T, variation, body"]
    with_root = compare_profiles(old, new, templates={"T"}, global_fields={"H"})
    assert next(told(c)[1] for c in with_root) == "UspaceRoot"
    assert with_root[1:] == found


BUNDLED = Repository([get_bundled_directory()], use_standard_path=False)
OPPOSITE = {"added": "removed", "removed": "added", "changed": "changed"}


@pytest.mark.hunt(7)
@pytest.mark.parametrize(
    ("one", "other"), list(itertools.combinations_with_replacement(BUNDLED.list_names(), 2))
)
def test_the_other_way_round_it_is_the_opposite(one: str, other: str) -> None:
    there = compare_profiles(BUNDLED.load(one), BUNDLED.load(other))
    back = compare_profiles(BUNDLED.load(other), BUNDLED.load(one))
    turned = {(OPPOSITE[c.kind], c.path, c.new, c.old) for c in back}
    assert {tuple(c) for c in there} == turned
    assert len(turned) == len(back)
    assert bool(there) == (one != other)
    changed = {c.path for c in there}
    assert all(c.path[:n] not in changed for c in there for n in range(1, len(c.path)))


pieces = st.lists(
    st.sampled_from([default("1"), default("2"), fixed("1"), tag("a", "1"), tag("a", "2"), tag("b", "1")]),
    max_size=1,
).map("".join)
fields = st.dictionaries(st.sampled_from("FGH"), pieces, max_size=3)


@given(fields, fields)
def test_no_change_is_no_difference_in_rules(one: dict[str, str], other: dict[str, str]) -> None:
    profiles = [
        profile(template("T", "x", *(field(n, c) for n, c in content.items()))) for content in (one, other)
    ]
    rules = [{n: f.comparison_key() for n, f in p.templates["T"].fields.items()} for p in profiles]
    assert (compare_profiles(*profiles) == ()) == (rules[0] == rules[1])
