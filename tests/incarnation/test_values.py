"""What value a field has: OS Profile 0.3, 2.3; docs/language.md, Fields."""

from __future__ import annotations

import random
import subprocess
from decimal import Decimal
from itertools import product
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osprofile import InvalidProfileError, MissingValueError, ValueRefusedError, incarnate
from osprofile.incarnation import field_rules as rules
from osprofile.incarnation import lengths
from tests.strategies import default, field, fixed, profile, tag, template, values


def text_of(content: str, attributes: str = "", **sources: str) -> str:
    """Return what `<F>` becomes; `request` and `context` give it a value."""
    made = profile(template("T", "<F>", field("F", content, attributes)))
    found = {name: {"F": value} for name, value in sources.items()}
    return incarnate(made, "T", fields=found.get("request"), context=found.get("context")).text


# The examples of OS Profile 0.3, 2.1, 2.3 and 2.4


EXAMPLES = [
    # section, body, fields, request, text
    (
        "2.1", r"cp <SOURCE> <DESTINATION/\.log/>", [field("SOURCE"), field("DESTINATION")],
        {"SOURCE": "x.log", "DESTINATION": "y.log"}, "cp x.log y",
    ),
    ("2.3", "echo <X>", [field("X")], {"X": "Hello"}, "echo Hello"),
    ("2.4: its example, a fixed Value", "echo <TEXT>", [field("TEXT", fixed("Hello"))], {}, "echo Hello"),
    ("2.4: if text was not provided", "echo <TEXT>", [field("TEXT", default("Hello"))], {}, "echo Hello"),
    ("2.4: text is provided", "echo <TEXT>", [field("TEXT", default("Hello"))], {"TEXT": "Bye"}, "echo Bye"),
]  # fmt: skip


@pytest.mark.parametrize(("_section", "body", "fields", "request_fields", "text"), EXAMPLES)
def test_an_example_of_os_profile(
    _section: str, body: str, fields: list[str], request_fields: dict[str, str], text: str
) -> None:
    assert incarnate(profile(template("T", body, *fields)), "T", fields=request_fields).text == text


def test_a_fixed_value_overrides_the_request() -> None:
    found = incarnate(
        profile(template("T", "<TEXT>", field("TEXT", fixed("Hello")))), "T", fields={"TEXT": "x"}
    )
    assert found.text == "Hello"
    assert found.warnings == ("p.xml:4:131: field TEXT has a fixed Value, which overrides the request",)


# Precedence: fixed Value, request, context, Default. All sixteen ways to have them.


@pytest.mark.parametrize("given_by", list(product([False, True], repeat=4)))
def test_precedence(given_by: tuple[bool, ...]) -> None:
    has_fixed, has_request, has_context, has_default = given_by
    content = (default("default") if has_default else "") + (fixed("fixed") if has_fixed else "")
    made = profile(template("T", "<F>", field("F", content)))
    request = {"F": "request"} if has_request else {}
    context = {"F": "context"} if has_context else {}
    order = ("fixed", "request", "context", "default")
    expected = next((o for o, is_given in zip(order, given_by, strict=True) if is_given), None)
    if expected is None:
        with pytest.raises(MissingValueError):
            incarnate(made, "T")
        return
    found = incarnate(made, "T", fields=request, context=context)
    assert found.text == expected
    assert (found.fields["F"].origin, found.fields["F"].value) == (expected, expected)
    assert bool(found.warnings) is (has_fixed and has_request)


# Tags, then checks

TAGS = tag("fast", "-O3") + tag("none", "") + tag("fast", "second") + tag("-O3", "no chain")
TAGGED = [
    ("fast", "-O3"),  # the first of two; and its value is not looked up again
    ("none", ""),
    ("-O3", "no chain"),
    ("Fast", "Fast"),
    ("fast ", "fast "),
    ("", ""),
    ("-O2", "-O2"),
]


@pytest.mark.parametrize(("given_value", "value"), TAGGED)
def test_tags(given_value: str, value: str) -> None:  # 2.3
    assert text_of(TAGS + default(""), request=given_value) == value
    assert text_of(TAGS + default(""), context=given_value) == value
    assert text_of(TAGS + default(given_value)) == value
    assert text_of(TAGS + fixed(given_value)) == value


def test_a_tag_may_stand_for_the_empty_string() -> None:
    assert text_of(tag("", "nothing") + default("")) == "nothing"


def test_what_a_tag_stands_for_is_checked() -> None:
    limits = "<idb:Min>1</idb:Min><idb:Max>9</idb:Max>"
    tags = tag("few", "2") + tag("many", "99") + tag("any", "")
    assert text_of(limits + tags, request="few") == "2"
    assert text_of(limits + tags, request="any") == ""
    with pytest.raises(ValueRefusedError) as caught:
        text_of(limits + tags, request="many")
    assert caught.value.message == "field F: '99' (the value of tag 'many') is above the Max of 9"


def test_incarnation_tells_where_values_came_from() -> None:
    fields = field("A", tag("a", "1") + default("a")), field("B"), field("C", fixed("c"))
    made = profile(template("T", "<A><B><C><USER_NAME>", *fields))
    found = incarnate(made, "T", fields={"B": "b"}, context={"USER_NAME": "u", "X": "unused"})
    told = [(v.name, v.value, v.raw_value, v.origin) for v in found.fields.values()]
    assert told == [
        ("A", "1", "a", "default"),
        ("B", "b", "b", "request"),
        ("C", "c", "c", "fixed"),
        ("USER_NAME", "u", "u", "context"),
    ]
    places = [v.location for v in found.fields.values()]
    stands = [p and p.source.data[p.offset :].split(b" ")[1] for p in places]
    assert stands == [b'name="A"', b'name="B"', b'name="C"', None]
    assert (found.template, found.variation) == ("T", "")
    assert str(found) == found.text
    assert repr(found) == "<Incarnation of T, 4 characters>"


# Numbers

NUMBERS = [
    "0", "1", "-1", "+3", "007", "1.", "1.5", ".5", "-.5", "1e3", "1E3", "1e+3", "1e-3", "+1.5e3",
    "9" * 300, "0." + "1" * 300, "1e308", "1e-400", "0e999999999999999999999", "1e-99999999999999999999",
    "00000000000000000000000000001",
]  # fmt: skip
NO_NUMBERS = [
    ".", "-", "+", "e", "e3", ".e3", "1e", "1e+", "1.5.", "--1", "+-1", "1,5", "1_000", "1 000", " 1",
    "1 ", "1\n", "\n1", "\t1", "0x10", "1h", "1d", "1f", "1L", "0b1", "NaN", "nan", "inf", "INF",
    "Infinity", "-inf", "\u0661", "\uff11", "\u00bd", "\u00b2", "1\u0660", "one", "1e3.5", "1\u00a0", "١٢",
]  # fmt: skip
NOT_FINITE = ["1e309", "-1e309", "1e400", "9" * 400, "1e99999999999999999999"]
INTEGERS = ["0", "1", "10", "9223372036854775807", "999999999999999999"]
NO_INTEGERS = [
    ("-1", "is negative"),
    *((value, "begins with 0") for value in ("01", "00", "007")),  # `$((010))` is 8
    *((value, "is not an integer") for value in (
        "+1", "1.0", "1e3", " 1", "1 ", "1\n", "0x10", "1_000", "\u0661", "\uff11", "\u00b2", "a",
    )),
]  # fmt: skip


@pytest.mark.parametrize("value", NUMBERS)
def test_numbers(value: str) -> None:
    assert text_of("", 'ext:type="number"', request=value) == value  # as it was written
    assert text_of("<idb:Min>-INF</idb:Min>", request=value) == value


@pytest.mark.parametrize("value", NO_NUMBERS)
def test_no_numbers(value: str) -> None:
    for rule in ("", 'ext:type="number"'), ("<idb:Min>-1e308</idb:Min>", ""), ("<idb:Max>INF</idb:Max>", ""):
        with pytest.raises(ValueRefusedError) as caught:
            text_of(*rule, request=value)
        assert caught.value.message == f"field F: {value!r} is not a number"
        with_unit = {
            "1h": "a number without a unit; 1h is 3600",
            "1d": "a number without a unit; 1d is 86400",
        }
        assert caught.value.hint.startswith(with_unit.get(value, "as in 10, -3, 1.5 or 2e6"))


@pytest.mark.parametrize("value", NOT_FINITE)
def test_numbers_are_finite(value: str) -> None:
    for rule in (("", 'ext:type="number"'), ("<idb:Max>INF</idb:Max>",)):
        with pytest.raises(ValueRefusedError, match="is not a finite number"):
            text_of(*rule, request=value)


@pytest.mark.parametrize("value", INTEGERS)
def test_integers(value: str) -> None:
    assert text_of("", 'ext:type="integer"', request=value) == value


@pytest.mark.parametrize(("value", "fault"), NO_INTEGERS)
def test_no_integers(value: str, fault: str) -> None:
    with pytest.raises(ValueRefusedError) as caught:
        text_of("", 'ext:type="integer"', request=value)
    assert caught.value.message == f"field F: {value!r} {fault}"


@pytest.mark.parametrize("value", ["9223372036854775808", "1" + "0" * 19, "9" * 5000])
def test_integers_that_no_shell_computes_with(value: str) -> None:
    with pytest.raises(ValueRefusedError, match="is too large") as caught:
        text_of("", 'ext:type="integer"', request=value)
    assert caught.value.hint == "a shell computes up to 9223372036854775807"


@pytest.mark.parametrize("value", ["x", "-1", " ", "1e309", "é\n"])
def test_text_is_any_text(value: str) -> None:
    assert text_of("", 'ext:type="text"', request=value) == value


@pytest.mark.parametrize("attributes", ['ext:type="number"', 'ext:type="integer"', 'ext:pattern="x"'])
def test_the_empty_string_is_not_given_and_passes_every_check(attributes: str) -> None:
    assert text_of(default("1"), attributes, request="") == ""
    assert text_of(default(""), attributes) == ""
    assert text_of(fixed(""), attributes, request="1") == ""
    assert text_of(default("1"), attributes, context="") == ""


@pytest.mark.parametrize("limit", ["<idb:Min>1</idb:Min>", "<idb:Max>2</idb:Max>"])
def test_the_default_takes_the_place_of_an_empty_value_that_no_limit_allows(limit: str) -> None:
    """As of a value that is not given (OS Profile 0.3, 2.3); a tag of the empty name is a value."""
    for source in ("request", "context"):
        assert text_of(limit + default("1"), **{source: ""}) == "1"
        assert text_of(limit + default(""), **{source: ""}) == ""
        assert text_of(limit + tag("", "2") + default("1"), **{source: ""}) == "2"
        assert text_of(limit + tag("", "") + default("1"), **{source: ""}) == ""
    assert text_of(limit + fixed(""), request="1") == ""
    with pytest.raises(MissingValueError):
        text_of(limit, request="")


# Limits: minimum, maximum, value, whether it lies inside. Both ends belong to the range.
LIMITS = [
    ("1", "10", "1", True), ("1", "10", "10", True), ("1", "10", "0", False), ("1", "10", "11", False),
    ("1", "10", "10.0", True), ("1", "10", "1e1", True), ("1", "10", "10.0000001", False),
    ("1", "10", "0.9999999999999999999999999", False), ("1", "10", "10.00000000000000000000000001", False),
    ("1", "10", "1.00000000000000000000000000", True), ("1", "10", "-5", False),
    (None, "10", "-1e300", True), ("-5", None, "-5", True), ("-5", None, "-6", False),
    ("0.1", "0.1", "0.1", True), ("0.1", "0.1", "0.10000000000000000000", True), ("0.1", "0.3", "1e-1", True),
    ("0.1", None, "0.09999999999999999999", False), ("0", None, "-1e-400", False), (None, "0", "1e-400", False),
    ("0", "0", "0e99999999999999999999", True), ("0", None, "1e-99999999999999999999", True),
    (None, "1e23", "1e23", True), (None, "1e23", "100000000000000000000000", True),
    (None, "1e23", "100000000000000000000001", False), ("1e23", None, "99999999999999999999999", False),
    (None, "9007199254740992", "9007199254740992", True), (None, "9007199254740992", "9007199254740993", False),
    (None, "1e308", "1e308", True), ("-INF", "INF", "1e308", True), ("INF", None, "1", False),
    ("1", "10", "+5", True), ("1", "10", "005", True),
]  # fmt: skip


@pytest.mark.parametrize(("minimum", "maximum", "value", "inside"), LIMITS)
def test_limits(minimum: str | None, maximum: str | None, value: str, inside: bool) -> None:
    content = f"<idb:Min>{minimum}</idb:Min>" if minimum else ""
    content += f"<idb:Max>{maximum}</idb:Max>" if maximum else ""
    is_integer = rules.is_integer(value) and int(value) <= rules.MAX_INTEGER
    for attributes in ("", 'ext:type="integer"') if is_integer else ("",):
        if inside:
            assert text_of(content, attributes, request=value) == value
            continue
        with pytest.raises(ValueRefusedError, match=r"is (below the Min|above the Max) of "):
            text_of(content, attributes, request=value)


@given(st.from_regex(r"\A[+-]?[0-9]{1,25}(\.[0-9]{0,25})?(e[+-]?[0-9]{1,2})?\Z"), st.floats(-1e30, 1e30))
def test_limits_are_exact(value: str, limit: float) -> None:
    exact, written = Decimal(value), Decimal(repr(limit))
    assert rules.is_within_limits(value, limit, None) is (exact >= written)
    assert rules.is_within_limits(value, None, limit) is (exact <= written)


@pytest.mark.parametrize("attributes", ["", 'ext:type="integer"'])
@pytest.mark.parametrize("value", ["1", "6", "9"])
def test_limits_without_any_number_are_the_profiles_fault(attributes: str, value: str) -> None:
    field = f'<idb:Field name="N" {attributes}><idb:Min>8</idb:Min>\n<idb:Max>4</idb:Max><idb:Default/></idb:Field>'
    made = profile(template("T", "<N>", "\n" + field))
    assert incarnate(made, "T").text == ""
    with pytest.raises(InvalidProfileError) as caught:
        incarnate(made, "T", fields={"N": value})
    [problem] = caught.value.problems
    assert (problem.code, problem.message) == ("OSP307", "field N: Min 8 is above Max 4")
    assert problem.hint == "raise the Max, at p.xml:6:10, or lower the Min: now no number is allowed"


# What is told: the field's content and attributes, the value, and the text of the error.
REFUSED = {
    "below": (
        "\n<idb:Min>1</idb:Min><idb:Max>64</idb:Max>", "", "0",
        """
p.xml:8:10: field F: '0' is below the Min of 1
    <idb:Min>1</idb:Min><idb:Max>64</idb:Max></idb:Field>
             ^
    hint: allowed: 1 to 64
""",
    ),
    "above, with the field's own words": (
        "<idb:Description>In seconds; at most an hour.</idb:Description>\n<idb:Max>0.5</idb:Max>", "", "0.6",
        """
p.xml:8:10: field F: '0.6' is above the Max of 0.5
    <idb:Max>0.5</idb:Max></idb:Field>
             ^
    hint: allowed: at most 0.5. In seconds; at most an hour.
""",
    ),
    "at least": (
        "\n<idb:Min>1e3</idb:Min>", "", "-1",
        """
p.xml:8:10: field F: '-1' is below the Min of 1000
    <idb:Min>1e3</idb:Min></idb:Field>
             ^
    hint: allowed: at least 1000
""",
    ),
    "number": (
        "", 'ext:type="number"', "ten",
        """
p.xml:7:1: field F: 'ten' is not a number
    <idb:Field name="F" ext:type="number"></idb:Field>
    ^
    hint: as in 10, -3, 1.5 or 2e6
""",
    ),
    "integer": (
        "", 'ext:type="integer"', "010",
        """
p.xml:7:1: field F: '010' begins with 0
    <idb:Field name="F" ext:type="integer"></idb:Field>
    ^
    hint: leave the 0 out: a shell takes such a number for an octal one
""",
    ),
    "pattern": (
        "<idb:Description>Letters only.</idb:Description>", 'ext:pattern="[a-z]+"', "a\n",
        r"""
p.xml:7:34: field F: 'a\n' does not match the pattern [a-z]+
    <idb:Field name="F" ext:pattern="[a-z]+"><idb:Description>Letters only.</idb:Description></idb:Field...
                                     ^
    hint: Letters only.
""",
    ),
    "pattern without description": (
        "", 'ext:pattern="[a-z]+"', "x" * 100 + "1",
        f"""
p.xml:7:34: field F: '{"x" * 80}'... (101 characters) does not match the pattern [a-z]+
    <idb:Field name="F" ext:pattern="[a-z]+"></idb:Field>
                                     ^
""",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("content", "attributes", "value", "told"), REFUSED.values(), ids=REFUSED)
def test_what_is_told_about_a_refused_value(content: str, attributes: str, value: str, told: str) -> None:
    made = profile(template("T", "\n<F>\n", f"\n{field('F', content, attributes)}\n"))
    with pytest.raises(ValueRefusedError) as caught:
        incarnate(made, "T", fields={"F": value})
    assert (str(caught.value), caught.value.field, caught.value.exit_code) == (told[1:-1], "F", 1)


# ext:pattern: the whole value, by Java's rules (Java's String.matches)
PATTERNS = [
    ("[a-z]+", "abc", True), ("[a-z]+", "abc1", False), ("[a-z]+", "abc\n", False), ("a|ab", "ab", True),
    (".*", "a\nb", False), ("(?s).*", "a\nb", True), ("", "", True), ("", "x", False), ("^a$", "a", True),
    (r"\d+", "12", True), (r"\d+", "\u0661", False), (r"(?i)ABC", "abc", True), (r"[^'\r\n]*", "a b", True),
    ("[A-Za-z0-9_.@:+-]*", "a;b", False), (r"[0-9]+(\[[0-9]*\])?", "12[]", True), ("a&amp;&lt;", "a&<", True),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "value", "matches"), PATTERNS)
def test_pattern(pattern: str, value: str, matches: bool) -> None:
    attributes = f'ext:pattern="{pattern}"'
    if matches:
        assert text_of(default("-"), attributes, request=value) == value
        return
    with pytest.raises(ValueRefusedError, match="does not match the pattern"):
        text_of("", attributes, request=value)


# Bounds of what a value is

UNCARRIABLE: list[tuple[object, str]] = [
    ("a\0b", r"field F: 'a\x00b' has a NUL character"),
    ("\ud800", r"field F: '\ud800' is not valid UTF-8"),
    ("é\udc80", r"field F: 'é\x80' is not valid UTF-8"),
    (1, "field F: a value is a string, not int"),
    (None, "field F: a value is a string, not NoneType"),
    (b"x", "field F: a value is a string, not bytes"),
    (["x"], "field F: a value is a string, not list"),
]


@pytest.mark.parametrize(("value", "told"), UNCARRIABLE)
@pytest.mark.parametrize("source", ["fields", "context"])
def test_what_no_script_can_carry(value: object, told: str, source: str) -> None:
    made = profile(template("T", "<F>", field("F", default("x"))))
    with pytest.raises(ValueRefusedError) as caught:
        incarnate(made, "T", **{source: {"F": value}})  # type: ignore[arg-type]
    assert str(caught.value) == told
    assert caught.value.field == "F"


WORDS = f'ext:pattern="{escape(lengths.ARGUMENTS_PATTERN)}"'
EXPORTS = f'ext:pattern="{escape(lengths.ENVIRONMENT_PATTERN)}"'
LONGEST = lengths.MAX_ARGUMENT_SIZE
ROOM = LONGEST - len("GPE_F=")
TOO_LONG = {
    # a field's attributes: values that fit just so, values that do not, and what they are said to be
    "text": ("", ["x" * ROOM, "é" * (ROOM // 2)], {
        "x" * (ROOM + 1): f"... ({ROOM + 1} characters) is too long for a program: {ROOM + 1} bytes",
        "é" * (ROOM // 2 + 1): f"is too long for a program: {ROOM // 2 * 2 + 2} bytes",
    }),
    "words": (WORDS, ["x" * LONGEST, "'" + "é " * (LONGEST // 3) + "'", f"{'x' * LONGEST} " * 7, "'a'" * LONGEST], {
        "a " + "x" * (LONGEST + 1): f"is too long for a program: {LONGEST + 1} bytes",
        r"\'" * (LONGEST + 1): f"is too long for a program: {LONGEST + 1} bytes",
        f"{'x' * LONGEST} " * 8: "its words take 1048585 bytes",
        "a " * 100_000: "its words take 1000000 bytes",
        "x" * (lengths.MAX_WORDS_SIZE + 1): "its words take",
    }),
    "exports": (EXPORTS, [f"export A='{'x' * (LONGEST - 2)}'", "export A='a\nb'\n" * 30_000], {
        f"export A='{'x' * (LONGEST - 1)}'": f"is too long for a program: {LONGEST + 1} bytes",
        "export A='a\nb'\n" * 40_000: "its words take",
    }),
}  # fmt: skip


@pytest.mark.parametrize("case", TOO_LONG)
def test_what_no_program_can_be_given_is_refused_by_name(case: str) -> None:
    attributes, fitting, refused = TOO_LONG[case]
    for value in fitting:
        assert text_of("", attributes, request=value) == value
    for value, told in refused.items():
        with pytest.raises(ValueRefusedError, match="field F: ") as caught:
            text_of("", attributes, request=value)
        assert told in caught.value.message
        assert caught.value.field == "F"
        assert len(caught.value.message) < 500
        assert caught.value.hint.startswith("at most ")


def test_what_the_engine_lets_through_is_what_linux_passes_on() -> None:
    """A word, a variable, and as many of both as are allowed."""
    words = ["x" * LONGEST] * 7
    room = lengths.MAX_WORDS_SIZE - sum(len(word) + 9 for word in words)
    words += ["x"] * (room // 10)
    assert text_of("", WORDS, request=" ".join(words))
    environment = {f"A{n}": "x" * (LONGEST - 3) for n in range(7)}
    assert text_of("", EXPORTS, request="".join(f"export {n}='{v}'\n" for n, v in environment.items()))
    named = {"GPE_F": "x" * ROOM}
    assert subprocess.run(["/bin/true", *words], env=environment | named, check=False).returncode == 0
    for too_long in (["x" * (LONGEST + 1)], ["x"] * 300_000):
        with pytest.raises(OSError, match="Argument list too long"):
            subprocess.run(["/bin/true", *too_long], check=False)


@pytest.mark.parametrize(("value", "_told"), UNCARRIABLE)
def test_unused_context_never_matters(value: object, _told: str) -> None:
    made = profile(template("T", "<F>", field("F", default("x")), field("G", default("y"))))
    context = {"OTHER": value, "G": value, "F": "é"}
    assert incarnate(made, "T", context=context).text == "é"  # type: ignore[arg-type]


@given(values)
def test_a_value_is_never_changed_nor_scanned_again(value: str) -> None:
    found = incarnate(SCANNED, "T", fields={"F": value, "A": "<F>", "X": value})
    assert found.text == f"[{value}|<F>|{value}]"


SCANNED = profile(
    template("T", "[<F>|<A>|<X/no such text/>]", field("F", default("")), field("A"), field("X", default("")))
)  # fmt: skip


# body, fields, request, text
ONCE = {
    "values of the profile are not scanned": (
        "<A><B><C>",
        [field("A", fixed("<B>")), field("B", default("<A>")), field("C", tag("c", "<A>") + default("c"))],
        {}, "<B><A><A>",
    ),
    "what a replacement makes is not scanned": (r"<A/x/<B\>>", [field("A"), field("B", default("no"))], {"A": "x"}, "<B>"),
    "a replacement sees the value behind the tag": ("<A/-O/+>", [field("A", tag("fast", "-O3"))], {"A": "fast"}, "+3"),
}  # fmt: skip


@pytest.mark.parametrize(("body", "fields", "request_fields", "text"), ONCE.values(), ids=ONCE)
def test_each_step_is_done_once(
    body: str, fields: list[str], request_fields: dict[str, str], text: str
) -> None:
    assert incarnate(profile(template("T", body, *fields)), "T", fields=request_fields).text == text


# Remembered values


def test_what_is_remembered_is_bounded_and_right() -> None:
    content = "<idb:Min>0</idb:Min>" + tag("t", "7")
    made = profile(template("T", "<F>", field("F", content, 'ext:type="integer"')))
    generator = random.Random(1)
    for _ in range(3000):
        value = str(generator.randrange(2000))
        assert incarnate(made, "T", fields={"F": value}).text == value
        assert incarnate(made, "T", fields={"F": "t"}).text == "7"
    for _ in range(2):  # a refused value is refused again
        with pytest.raises(ValueRefusedError):
            incarnate(made, "T", fields={"F": "-1"})
