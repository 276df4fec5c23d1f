"""The values of expressions: operators, functions, scopes, and hostile ads."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osprofile.executors.blah.classad import (
    UNDEFINED,
    Evaluator,
    Failure,
    Scope,
    Value,
    describe_type,
    parse_ad,
    parse_expression,
    unparse,
    write_ad,
)
from osprofile.executors.blah.classad.operations import FUNCTIONS
from osprofile.executors.blah.classad.syntax import PRECEDENCE
from osprofile.executors.errors import ClassAdError

ERROR = Failure()
OPERATORS = [operator for row in PRECEDENCE for operator in row]
AD = parse_ad('[ One = 1; s = "Str"; list = { 1, "b", undefined }; inner = [ x = y; y = 2; One = 3 ] ]')


def value(text: str) -> Value:
    return Evaluator(AD).evaluate(parse_expression(text))


VALUES: dict[str, Value] = {
    # arithmetic
    "7 / 2": 3, "-7 / 2": -3, "7 / -2": -3, "-7 % 3": -1, "7 % -3": 1, "7.0 / 2": 3.5,
    "7.5 % 2": 1.5, "1.5 % 0": ERROR, "0 % 3": 0,
    'real("INF") % 2': ERROR, "1 + 2.5": 3.5, "true + 1": 2, "1 / 0": ERROR, "1.0 / 0": ERROR, "1 % 0": ERROR,
    "9223372036854775807 + 1": -(2**63), "-9223372036854775808 - 1": 2**63 - 1,
    "-9223372036854775808 / -1": -(2**63), '"a" + 1': ERROR, "1e308 * 10": float("inf"),
    "1 - 2 - 3": -4, "2 + 3 * 4": 14, "-(3)": -3, "+true": 1,
    # bits
    "6 & 3": 2, "6 | 3": 7, "6 ^ 3": 5, "~0": -1, "1 << 3": 8, "1 << 64": 1, "1 << 999999999": -(2**63),
    "-8 >> 1": -4, "-1 >>> 63": 1, "true & false": False, "1.5 & 1": ERROR, "~1.5": ERROR,
    # comparison
    "1 == 1.0": True, '"abc" == "ABC"': True, '"abc" =?= "ABC"': False, '"abc" =!= "ABC"': True,
    '"a" < "B"': True, '1 == "1"': ERROR, "true == 1": True, "1 =?= 1.0": False, "1 is 1": True,
    "undefined == 1": UNDEFINED, "undefined =?= undefined": True, "nowhere isnt undefined": False,
    "error == 1": ERROR, "error =?= error": True, "{1} =?= {1}": True, "{1} == {1}": ERROR,
    "inner =?= inner": True, "inner =?= [ x = y ]": False, "2 <= 2": True, "3 != 3": False,
    # conditions
    "true ? 1 : 2": 1, "0 ? 1 : 2": 2, "undefined ? 1 : 2": UNDEFINED, '"x" ? 1 : 2': ERROR,
    "nowhere ?: 4": 4, "5 ?: 4": 5, "!true": False, "!0": True, '!"x"': ERROR, "!undefined": UNDEFINED,
    "2 && 0.5": True, '"x" && true': ERROR,
    # names
    "one": 1, "ONE": 1, "nowhere": UNDEFINED, "MY.one": 1, "my.S": "Str", "TARGET.one": UNDEFINED,
    "inner.x": 2, "inner.one": 3, "inner.nowhere": UNDEFINED, "s.x": ERROR, "[ a = one; b = .one ].b": 1,
    "[ one = 5; a = .one ].a": 1, "[ one = 5; a = one ].a": 5, "[ a = PARENT.one ].a": 1,
    "[ a = 4; b = SELF.a ].b": 4, "[ a = MY.one ].a": 1, "PARENT": UNDEFINED,
    'inner["Y"]': 2, "list[0]": 1, "list[1]": "b", "list[2]": UNDEFINED, "list[3]": ERROR,
    "list[-1]": ERROR, 'list["x"]': ERROR, "nowhere[0]": UNDEFINED, "list[nowhere]": UNDEFINED,
    "one[0]": ERROR,
    # functions
    'strcat("a", 1, true, 2.5)': "a1true2.5", "strcat()": "", 'strcat("a", nowhere)': UNDEFINED,
    'strcat("a", error)': ERROR, "strcat({1})": ERROR, 'Member("B", list)': True,
    'member("c", list)': False, "MEMBER(1.0, {1})": True, 'identicalMember("B", list)': False,
    "member(1, 2)": ERROR, "member({1}, {1})": ERROR, "member(1, nowhere)": UNDEFINED,
    'substr("abcdef", 2)': "cdef", 'substr("abcdef", 0, 2)': "ab", 'substr("abcdef", 1, 2)': "bc", 'substr("abcdef", -2)': "ef",
    'substr("abcdef", 1, -1)': "bcde", 'substr("abc", 5)': "", 'substr("abc", 0, -9)': "",
    'toUpper("aé")': "AÉ", "toLower(s)": "str", "size(s)": 3, "size(list)": 3, "size(inner)": 3,
    "size(1)": ERROR, 'int("12")': 12, "int(-2.9)": -2, 'int("x")': ERROR, "int(true)": 1,
    'int(" 7 ")': 7, 'int(real("INF"))': ERROR, 'real("1.5")': 1.5, 'real("INF")': float("inf"),
    "string(1.5)": "1.5", 'string("x")': "x", 'bool("TRUE")': True, 'bool("x")': ERROR, "bool(0)": False,
    "ifThenElse(true, 1, error)": 1, "ifThenElse(nowhere, 1, 2)": UNDEFINED, "isUndefined(nowhere)": True,
    "isUndefined(one)": False, "isError(1/0)": True, "isError(nowhere)": False, "isString(s)": True,
    "isInteger(true)": False, "isReal(1.0)": True, "isBoolean(true)": True, "isList(list)": True,
    "isClassAd(inner)": True, 'regexp("^s.r$", s, "i")': True, 'regexp("^s", s)': False,
    'regexp("t", s, "f")': False, 'regexp("(", s)': ERROR, 'regexp("s", s, "q")': ERROR,
    "min({3, 1.5})": 1.5, "max({3, 1.5})": 3, "sum({1, 2})": 3, "avg({1, 2})": 1.5, "min({})": UNDEFINED,
    'sum({1, "x"})': ERROR, "max(1)": ERROR, 'join("-", {"a", 1})': "a-1", 'join(",", "a", "b")': "a,b",
    'join({"a", "b"})': "ab", 'split("a, b c")': ("a", "b", "c"), 'split("a:b", ":")': ("a", "b"),
    'stringListMember("b", "a, b")': True, 'stringListMember("B", "a, b")': False,
    'stringListIMember("B", "a, b")': True, 'stringListMember("b", "a:b", ":")': True,
    'stringListSize("a, b,,c")': 3, 'strcmp("a", "b")': -1, 'stricmp("A", "a")': 0,
    "floor(1.5)": 1, "ceiling(1.5)": 2, "round(2.5)": 3, "round(-2.5)": -3, "floor(7)": 7,
    "pow(2, 10)": 1024, "pow(2, -1)": 0.5, "pow(9999, 9999)": ERROR, "quantize(5, 4)": 8,
    "quantize(4.5, 2)": 6, "quantize(1, 0)": ERROR, "nosuch(1)": ERROR, "size()": ERROR, "time()": ERROR,
    # wrong types
    'substr("abc", "1")': ERROR, "substr(1, 1)": ERROR, 'pow("2", 1)': ERROR, 'quantize(1, "2")': ERROR,
    'regexp("a", 1)': ERROR, "split(1)": ERROR, 'stringListMember("a", "a", 1)': ERROR, "sum(1)": ERROR,
    "toUpper({1})": ERROR, "string({1})": ERROR, "int({1})": ERROR, "real({1})": ERROR, 'floor("x")': ERROR,
    "stringListSize({1})": ERROR, 'join(1, "a")': ERROR, 'stringListIMember("B", "axB", "x")': True,
    # errors and undefined come before a wrong type
    "strcat(nowhere, error)": ERROR, "size(nowhere)": UNDEFINED,
}  # fmt: skip


@pytest.mark.parametrize("text", VALUES)
def test_value(text: str) -> None:
    found = value(text)
    assert found == VALUES[text]
    assert type(found) is type(VALUES[text])


SAMPLES = ("1", "-2.5", "true", '"a,B"', '""', "{1, 2}", "{}", "inner", "nowhere", "error", 'real("NaN")')


@pytest.mark.parametrize("name", [*FUNCTIONS, *OPERATORS])
def test_any_values(name: str) -> None:
    """Whatever a function or an operator gets, the result is a value, and one that can be told."""
    is_function = name in FUNCTIONS
    for count in range(4) if is_function else (2,):
        for arguments in itertools.product(SAMPLES[:: max(1, count - 1)], repeat=count):
            text = f"{name}({', '.join(arguments)})" if is_function else f" {name} ".join(arguments)
            found = value(text)
            assert describe_type(found)
            strict = is_function and FUNCTIONS[name].is_strict and name != "ifthenelse"
            if strict and "error" in arguments:
                assert found == ERROR, text


def test_three_values_and_error() -> None:
    """The whole table of `&&` and `||`; a left operand that decides hides an error on the right."""
    names = {"true": True, "false": False, "undefined": UNDEFINED, "error": ERROR}
    for (a, left), (b, right) in itertools.product(names.items(), repeat=2):
        for operator, decides in (("&&", False), ("||", True)):
            expected: Value
            if left is decides or isinstance(left, Failure):
                expected = left
            elif right is decides or isinstance(right, Failure):
                expected = right
            else:
                expected = UNDEFINED if UNDEFINED in (left, right) else not decides
            assert value(f"{a} {operator} {b}") == expected, (a, operator, b)


WHY = {
    "1 / 0": "division by zero",
    "quantise(1)": "there is no function quantise (did you mean quantize?)",
    "qqqqqq(1)": "there is no function qqqqqq",
    "size()": "size takes 1 arguments, not 0",
    "substr(1)": "substr takes 2 to 3 arguments, not 1",
    "join()": "join takes 1 or more arguments, not 0",
    '"a" + 1': "+ cannot be applied to a string and an integer",
    "s.x": "a string has no attribute x",
    "list[9]": "a list of 3 has no element 9",
    '"x" ? 1 : 2': "a string is not a condition",
    "member(1, s)": "member looks in a list, not in a string",
}


@pytest.mark.parametrize("text", WHY)
def test_an_error_says_why(text: str) -> None:
    found = value(text)
    assert isinstance(found, Failure)
    assert found.reason == WHY[text]


CIRCLES = {
    "itself": "[ a = a ]",
    "two": "[ a = b; b = a ]",
    "through a function": "[ a = strcat(b); b = size(a) ]",
    "through an ad": "[ a = [ b = a ].b ]",
    "through a scope": "[ a = MY.a ]",
    "in a list": "[ a = { a }[0] ]",
}


@pytest.mark.parametrize("text", CIRCLES.values(), ids=CIRCLES)
def test_circles_are_errors(text: str) -> None:
    found = Evaluator(parse_ad(text)).evaluate_attribute("a")
    assert isinstance(found, Failure)
    assert "is defined by itself" in found.reason


def doubling(pattern: str, count: int) -> str:
    lines = (f"a{i} = {pattern.replace('X', f'a{i - 1}')};" for i in range(1, count))
    return '[ a0 = strcat("x", 1); ' + " ".join(lines) + f" a = a{count - 1} ]"


HOSTILE = {
    "a long way": (doubling("X", 1000), "it is nested too deeply"),
    "text that doubles": (doubling("strcat(X, X)", 60), ""),
    "ads that double": (doubling("[ p = X; q = X ].p", 30), None),
    "lists that double": (doubling("{ X, X }", 60), ""),
    "lists that double, and are compared": (
        doubling("{ X, X }", 18).replace("a = a17", "a = a17 =?= a16"),
        None,
    ),
    "many regular expressions": (
        "[ a = " + " || ".join(f'regexp("(x+x+)+y{i}", "{"x" * 60}")' for i in range(50)) + "]",
        "",
    ),
    "ads inside of ads": ("[ a = " + "[ p = " * 30 + "1" + "; q = p + p ].q" * 30 + " ]", None),
}


@pytest.mark.parametrize(("text", "why"), HOSTILE.values(), ids=HOSTILE)
def test_evaluating_ends(text: str, why: str | None) -> None:
    found = Evaluator(parse_ad(text)).evaluate_attribute("a")
    if why is not None:
        assert isinstance(found, Failure)
        assert why in found.reason


def test_the_steps_are_for_the_whole_ad() -> None:
    evaluator = Evaluator(parse_ad("[ a = " + "1 + " * 50 + "1; b = " + "1 + " * 50 + "1 ]"), steps=200)
    assert evaluator.evaluate_attribute("a") == 51
    assert evaluator.evaluate_attribute("b") == Failure()


def test_an_ad_is_a_value() -> None:
    found = value("inner")
    assert isinstance(found, Scope)
    assert unparse(found.ad) == "[ x = y; y = 2; One = 3 ]"


def test_a_status_ad_to_the_byte() -> None:
    # docs/protocols/blah.md, 2.4: the ads of a finished and of a running job.
    assert write_ad({"ExitCode": 0, "JobStatus": 4, "BatchJobId": "1"}) == (
        '[ ExitCode = 0; JobStatus = 4; BatchJobId = "1" ]'
    )
    assert write_ad({}) == "[ ]"


CONSTANTS = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
    st.just(UNDEFINED),
    st.just(ERROR),
)
NAMES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)


@given(st.dictionaries(NAMES, CONSTANTS, max_size=5))
def test_written_constants_are_parsed_again(attributes: dict[str, bool | int | float | str]) -> None:
    evaluator = Evaluator(parse_ad(write_ad(attributes)))
    last = {name.lower(): constant for name, constant in attributes.items()}
    for name, constant in last.items():
        found = evaluator.evaluate_attribute(name)
        assert found == constant
        assert type(found) is type(constant)


@pytest.mark.parametrize("char", ["\u00b2", "\u0663", "\u2460", "\U0001d7d9"])
def test_digits_of_other_scripts(char: str) -> None:
    """They are no digits of a ClassAd: text in a string, and without meaning outside of one."""
    assert value(f'"a\\{char}"') == f"a{char}"
    for text in (char, f".{char}"):
        with pytest.raises(ClassAdError, match="has no meaning here"):
            parse_expression(text)


def test_a_nul_is_replaced() -> None:
    assert write_ad({"a": "b\0c"}) == '[ a = "b\ufffdc" ]'
    assert Evaluator(parse_ad(write_ad({"a": float("nan")}))).evaluate_attribute("a") != 0
