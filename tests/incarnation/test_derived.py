"""Derived and global fields: docs/language.md, Derived fields, and Global fields."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osprofile import MissingValueError, UnknownFieldError, ValueRefusedError, incarnate
from osprofile.incarnation import field_rules as rules
from osprofile.text import format_clock
from tests.strategies import default, field, profile, tag, template, template_of

# Derived fields: `<X:HMS>`, `<X:MINUTES>`

DERIVED = [
    ("0", "00:00:00", "0"), ("1", "00:00:01", "1"), ("59", "00:00:59", "1"), ("60", "00:01:00", "1"),
    ("61", "00:01:01", "2"), ("90", "00:01:30", "2"), ("3599", "00:59:59", "60"), ("3600", "01:00:00", "60"),
    ("86399", "23:59:59", "1440"), ("86400", "24:00:00", "1440"), ("360000", "100:00:00", "6000"),
    ("9223372036854775807", "2562047788015215:30:07", "153722867280912931"), ("", "", ""),
]  # fmt: skip


@pytest.mark.parametrize(("value", "hms", "minutes"), DERIVED)
def test_derived(value: str, hms: str, minutes: str) -> None:
    walltime = field("W", default(""), 'ext:type="integer"')
    made = profile(template("T", "<W>|<W:HMS>|<W:MINUTES>|<W:HMS/:/->", walltime))
    found = incarnate(made, "T", fields={"W": value})
    assert found.text == f"{value}|{hms}|{minutes}|{hms.replace(':', '-')}"
    assert list(found.fields) == ["W"]


@pytest.mark.parametrize(
    ("value", "word"),
    [("a b", "'a b'"), ("it's", r"'it'\''s'"), ("x\ny", "'x\ny'"), ("$(id)", "'$(id)'"), ("", "")],
)
def test_quoted_is_one_word_or_nothing(value: str, word: str) -> None:
    text = r"a <W:QUOTED>|<W:QUOTED/(?s)^(.+)\z/--w $1 >" + "\n<W:QUOTED>\nend"
    made = profile(template("T", text, field("W", tag("tag", "x") + default(""))))
    option = f"--w {word} " if word else ""
    assert incarnate(made, "T", fields={"W": value}).text == f"a {word}|{option}\n{word}\nend"
    assert incarnate(made, "T", fields={"W": "tag"}).text.startswith("a 'x'|")


def test_derived_alone_is_a_use_of_its_base() -> None:
    limited = "<idb:Max>3600</idb:Max>"
    made = profile(template("T", "<W:HMS>", field("W", limited + tag("hour", "3600") + default("60"))))
    assert incarnate(made, "T").text == "00:01:00"
    assert incarnate(made, "T", fields={"W": "hour"}, strict=True).text == "01:00:00"  # tags first
    with pytest.raises(ValueRefusedError, match="above the Max"):
        incarnate(made, "T", fields={"W": "3601"})
    required = profile(template("T", "<W:HMS>", field("W")))
    with pytest.raises(MissingValueError, match="field W has no value"):
        incarnate(required, "T")


@pytest.mark.parametrize("value", ["1.5", "-1", "ten", " 60", "1e3", "9" * 30])
def test_derived_needs_whole_seconds(value: str) -> None:
    made = profile(template("T", "<W:HMS>", f"\n{field('W')}"))
    with pytest.raises(ValueRefusedError) as caught:
        incarnate(made, "T", fields={"W": value})
    assert str(caught.value) == (
        f"p.xml:5:1: <W:HMS> needs whole seconds, and field W has the value {value!r}\n"
        '    <idb:Field name="W" ></idb:Field></idb:Template>\n    ^\n'
        '    hint: give field W ext:type="integer"'
    )


def test_a_field_of_exactly_that_name_goes_first() -> None:
    fields = field("W", default("60")), field("W:HMS", default("own"))
    made = profile(template("T", "<W:HMS> <W:MINUTES>", *fields))
    assert incarnate(made, "T").text == "own 1"
    assert incarnate(made, "T", fields={"W:HMS": "set"}).text == "set 1"


def test_a_derived_field_is_not_settable() -> None:
    made = profile(template("T", "<WALLTIME:HMS>", field("WALLTIME", default("60"))))
    found = incarnate(made, "T", fields={"WALLTIME:HMS": "x"}, strict=False)
    assert found.text == "00:01:00"
    assert found.warnings == ("field WALLTIME:HMS is not used by template T of profile p",)
    with pytest.raises(UnknownFieldError) as caught:
        incarnate(made, "T", fields={"WALLTIME:HMS": "x"})
    assert caught.value.hint == "did you mean WALLTIME?"


@given(st.integers(0, 10**12))
def test_derived_values_say_the_same(seconds: int) -> None:
    hours, minutes, rest = map(int, format_clock(seconds).split(":"))
    assert (hours * 60 + minutes) * 60 + rest == seconds
    assert 0 <= int(rules.DERIVED_FORMATS["MINUTES"](seconds)) * 60 - seconds < 60


# Global fields


def test_global_fields_act_as_if_declared_in_each_template() -> None:
    made = profile(
        template_of("", field("A", default("ga")), field("B", default("gb"))),
        template("T", "<A><B>", field("B", default("tb"))),
        template("U", "<A><B>"),
    )
    assert incarnate(made, "T").text == "gatb"
    assert incarnate(made, "U", fields={"B": "x"}).text == "gax"


def test_an_own_declaration_replaces_the_global_one_whole() -> None:
    made = profile(
        template_of("", field("A", "<idb:Max>1</idb:Max>" + tag("t", "1") + default("1"))),
        template("T", "<A>", field("A")),
    )
    assert incarnate(made, "T", fields={"A": "t"}).text == "t"
    with pytest.raises(MissingValueError):
        incarnate(made, "T")
