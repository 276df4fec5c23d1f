"""The scripts of two profiles for the same request."""

from __future__ import annotations

import pytest

from osprofile import ApplicationNotFoundError, Profile, TemplateNotFoundError, UnknownFieldError
from osprofile.authoring.comparison import (
    ComparisonRequest,
    ProfileInContext,
    ScriptPair,
    collect_scope,
    compare_scripts,
    find_common_variations,
)
from tests.incarnation.parts import EXECUTABLE, bin_template
from tests.strategies import default, field, profile, static, template, template_of

BASE = (template("START", "<JOB_SCRIPT>"), template("JOB_EPILOGUE", "e"))


def started(prologue: str, run: str = "r", more: str = "") -> Profile:
    parts = template("JOB_PROLOGUE", prologue, field("Q", default("q"))), template("RUN", run)
    return profile(*BASE, *parts, more, EXECUTABLE)


def compared(
    old: Profile, new: Profile, template_: str | None = None, application_: str | None = None, **fields: str
) -> list[ScriptPair]:
    wanted = find_common_variations(old, new, template_, None)
    sides = (ProfileInContext(side, {"USER_NAME": "u"}) for side in (old, new))
    return list(compare_scripts(*sides, wanted, ComparisonRequest(fields, application_)))


def test_the_parts_of_start_are_told_with_start() -> None:
    pairs = compared(started("p <Q>"), started("p -<Q>"))
    assert [(p.template, p.differs, p.both_failed) for p in pairs] == [("START", True, False)]
    assert (pairs[0].old.text, pairs[0].new.text) == ("p q\nr\ne", "p -q\nr\ne")


def test_the_parts_are_told_by_themselves_where_start_is_not() -> None:
    old, new = (started(body, more=template_of("", field("N"))) for body in ("p <N>", "q <N>"))
    pairs = compared(old, new)
    assert [(p.template, p.differs, p.both_failed) for p in pairs] == [
        ("START", False, True), ("JOB_EPILOGUE", False, False), ("JOB_PROLOGUE", False, True), ("RUN", False, False),
    ]  # fmt: skip
    assert [p.differs for p in compared(old, new, N="1")] == [True]


def test_one_side_alone_that_refuses_is_a_difference() -> None:
    old = profile(template("T", "<N>", field("N")))
    new = profile(template("T", "<N>", field("N", "<idb:Max>1</idb:Max>")))
    (pair,) = compared(old, new, N="2")
    assert (pair.differs, pair.both_failed, pair.old.error, pair.new.text) == (True, False, None, "")
    assert pair.new.error is not None
    assert "above the Max" in pair.new.error.message


def test_static_scripts_count() -> None:
    old, new = (profile(template_of("T", static(body)), bin_template()) for body in "ab")
    pairs = compared(old, new)
    assert [(p.template, p.variation, p.differs) for p in pairs] == [("T", "", True), ("BIN", "", False)]


def test_a_part_that_is_missing_is_a_refusal() -> None:
    (pair,) = compared(profile(BASE[0]), profile(BASE[0]))
    assert pair.both_failed


def test_what_neither_side_knows_is_a_slip() -> None:
    old, new = started("p"), started("p <N>", more=template_of("", field("N", default("1"))))
    with pytest.raises(UnknownFieldError, match=r"(?s)field M is used by neither profile.*known: N"):
        compared(old, new, M="1")
    assert [p.differs for p in compared(old, new, N="2")] == [True]
    with pytest.raises(ApplicationNotFoundError):
        compared(old, new, application_="Exe")
    with pytest.raises(TemplateNotFoundError, match="STRAT"):
        find_common_variations(old, new, "STRAT", None)
    with pytest.raises(TemplateNotFoundError, match="variation 'V'"):
        find_common_variations(old, new, "START", "V")


def test_a_template_that_one_side_has() -> None:
    old, new = profile(template("T", "a")), profile(template("T", "a"), template("U", "a"))
    assert find_common_variations(old, new, None, None) == (("T", ""),)
    assert find_common_variations(old, new, "U", None) == ()
    assert find_common_variations(new, old, "U", None) == ()
    assert find_common_variations(new, old, "U", "") == ()


def test_the_scope_of_start() -> None:
    old, new = started("p <Q>"), started("p", more=template("U", "u"))
    found = collect_scope(old, new, "START", None)
    assert found.templates == {"START", "JOB_PROLOGUE", "RUN", "JOB_EPILOGUE"}
    assert found.global_fields == {"Q"}
    assert not found.uses_uspace_root
    assert collect_scope(old, new, "U", None).templates == {"U"}
    assert collect_scope(started("<WORKING_DIRECTORY>"), new, "START", None).uses_uspace_root
