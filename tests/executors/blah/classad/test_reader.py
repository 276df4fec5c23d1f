"""Parsing ClassAds: every construct, every error with its place, hostile text."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from osprofile.executors.blah.classad import (
    UNDEFINED,
    Evaluator,
    Failure,
    Literal,
    parse_ad,
    parse_ad_prefix,
    parse_expression,
    unparse,
)
from osprofile.executors.blah.classad.syntax import MAX_TOKENS
from osprofile.executors.errors import ClassAdError

# docs/protocols/blah.md, 4.1: a text, and how it is written again.
CONSTRUCTS = {
    "last semicolon": ("[ a = 1; ]", "[ a = 1 ]"),
    "no last semicolon": ("[a=1;b=2]", "[ a = 1; b = 2 ]"),
    "empty": ("[]", "[ ]"),
    "only semicolons": ("[;;]", "[ ]"),
    "quoted name": ("['a b' = 1; 'true' = 2; 'x' = 3]", "[ 'a b' = 1; 'true' = 2; x = 3 ]"),
    "quote in a quoted name": (r"['it\'s' = 1]", r"[ 'it\'s' = 1 ]"),
    "the last duplicate wins": ("[a = 1; b = 2; A = 3]", "[ b = 2; A = 3 ]"),
    "comments": ("/* x */[ // ]\n a = /* ; */ 1 ]//", "[ a = 1 ]"),
    "comment with stars": ("[/***/a=1/*/ */]", "[ a = 1 ]"),
    "string escapes": (r'[a = "\"\\\n\t\r\b\f\'\q"]', r"""[ a = "\"\\\n\t\r\b\f'q" ]"""),
    "octal escapes": (r'[a = "\101\60\0071\477"]', '[ a = "A0\\0071\'7" ]'),
    "octal escapes are bytes": (r'[a = "\303\251t\303\251"]', '[ a = "été" ]'),
    "the first byte above ASCII": (r'[a = "\302\200"]', '[ a = "\x80" ]'),
    "adjacent strings": ('[a = "b" /* */ "c"]', '[ a = "bc" ]'),
    "a line end in a string": ('[a = "b\nc"]', r'[ a = "b\nc" ]'),
    "integers": ("[a={0, 7, 01234567, 0x1f, 0XFF}]", "[ a = { 0, 7, 342391, 31, 255 } ]"),
    "suffixes": ("[a={1B, 2k, 3M, 1G, 1T}]", "[ a = { 1, 2048, 3145728, 1073741824, 1099511627776 } ]"),
    "reals": ("[a={1.5, .5, 2., 1e3, 1.5E-3, 1.5K}]", "[ a = { 1.5, 0.5, 2.0, 1000.0, 0.0015, 1536.0 } ]"),
    "the least integer": ("[a=-9223372036854775808]", "[ a = -9223372036854775808 ]"),
    "constants in any case": ("[a={TRUE, False, Undefined, ERROR}]", "[ a = { true, false, undefined, error } ]"),
    "list with a last comma": ("[a={1,}]", "[ a = { 1 } ]"),
    "nested ad": ("[a=[b=[c=1]]]", "[ a = [ b = [ c = 1 ] ] ]"),
    "scopes": ("[a=MY.b; c=TARGET.d.e; f=.g]", "[ a = MY.b; c = TARGET.d.e; f = .g ]"),
    "selection of a keyword": ("[a=b.true]", "[ a = b.'true' ]"),
    "subscripts": ("[a=b[1][2].c]", "[ a = b[1][2].c ]"),
    "subscripts of a minus": ('[a="-x"[0]; b=-1[0]]', '[ a = "-x"[0]; b = (-1)[0] ]'),
    "calls": ('[a=strcat("x",f( ),Member(1,{1}))]', '[ a = strcat("x", f(), Member(1, { 1 })) ]'),
    "precedence": ("[a=1+2*3<<1<2==3&4^5|6&&7||8?9:10]", "[ a = 1 + 2 * 3 << 1 < 2 == 3 & 4 ^ 5 | 6 && 7 || 8 ? 9 : 10 ]"),
    "parentheses that are needed": ("[a=((1+2))*3-(4-5)]", "[ a = (1 + 2) * 3 - (4 - 5) ]"),
    "left to right": ("[a=1-2-3]", "[ a = 1 - 2 - 3 ]"),
    "meta comparison": ("[a=b=?=c; d=e=!=f; g=h is i; j=k isnt l]", "[ a = b =?= c; d = e =!= f; g = h is i; j = k isnt l ]"),
    "shifts": ("[a=1<<2>>3>>>4]", "[ a = 1 << 2 >> 3 >>> 4 ]"),
    "unary": ("[a=-b; c=!~-d; e=--1]", "[ a = -b; c = !~-d; e = --1 ]"),
    "conditionals": ("[a=b?c:d?e:f; g=h?:i]", "[ a = b ? c : d ? e : f; g = h ?: i ]"),
    "a conditional inside": ("[a=(b?c:d)+1]", "[ a = (b ? c : d) + 1 ]"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "written"), CONSTRUCTS.values(), ids=CONSTRUCTS)
def test_parse_and_unparse(text: str, written: str) -> None:
    ad = parse_ad(text)
    assert unparse(ad) == written
    assert parse_ad(written) == ad


# Wrong texts, the line and column of the error, and a part of the message.
WRONG = {
    "nothing": ("", 1, 1, "there is no ad, but [ was expected"),
    "old syntax": ('Cmd = "x"\n', 1, 1, "an ad is in brackets, as in [ a = 1; b = 2 ]; the old syntax is not supported"),
    "old syntax later": ("\n  'a' = 1", 2, 3, "an ad is in brackets"),
    "no ad": ("{1}", 1, 1, "there is '{', but [ was expected"),
    "no value": ("[ a = ]", 1, 7, "there is ']', but an expression was expected"),
    "no equals": ("[ a 1 ]", 1, 5, "there is '1', but = was expected"),
    "no semicolon": ("[ a = 1\n b = 2 ]", 2, 2, "there is 'b', but ; or ] was expected"),
    "no end": ("[ a = 1", 1, 8, "the text ends, but ; or ] was expected"),
    "no end of nothing": ("[", 1, 2, "the text ends, but the name of an attribute, or ] was expected"),
    "a string as a name": ('["a"=1]', 1, 2, "there is the string 'a', but the name of an attribute, or ] was expected"),
    "a keyword as a name": ("[true=1]", 1, 2, "there is 'true', but the name"),
    "string without end": ('[ a = "x ]', 1, 7, 'the string has no end, but " was expected'),
    "string that ends in a backslash": (r'[ a = "x\" ]', 1, 7, "the string has no end"),
    "name without end": ("[ 'a = 1 ]", 1, 3, "the quoted name has no end, but ' was expected"),
    "comment without end": ("[ a = 1 /* ]", 1, 9, "the comment has no end, but */ was expected"),
    "NUL": ('["\0"]', 1, 3, "a string must not contain NUL"),
    "NUL as an escape": ('[a="x\\0y"]', 1, 6, "a string must not contain NUL"),
    "too large": ("[a=9223372036854775808]", 1, 4, "this integer does not fit 64 bits"),
    "too large by its suffix": ("[a=9999999T]", 1, 4, "this integer does not fit 64 bits"),
    "much too large": (f"[a={'9' * 100_000}]", 1, 4, "this integer does not fit 64 bits"),
    "octal": ("[a=089]", 1, 4, "a number with a leading 0 is octal: digits below 8"),
    "no number": ("[a=12x]", 1, 4, "this is not a number, but 12, 0x1F, 1.5 or 10M was expected"),
    "an unknown character": ("[a=é]", 1, 4, "'é' has no meaning here"),
    "text behind": ("[a=1] b", 1, 7, "there is more text after the ad, but nothing was expected"),
    "parenthesis": ("[a=(1]", 1, 6, "there is ']', but ) was expected"),
    "list": ("[a={1 2}]", 1, 7, "there is '2', but , or } was expected"),
    "arguments": ("[a=f(1,)]", 1, 8, "there is ')', but an expression was expected"),
    "conditional": ("[a=1?2;]", 1, 7, "there is ';', but : was expected"),
    "selection": ("[a=b.1]", 1, 5, "there is '0.1', but ; or ] was expected"),
    "selection of nothing": ("[a=b.;]", 1, 6, "there is ';', but the name of an attribute was expected"),
    "two operators": ("[a=1 * / 2]", 1, 8, "there is '/', but an expression was expected"),
    "is alone": ("[a=is]", 1, 4, "there is 'is', but an expression was expected"),
    "brackets": (f"[a={'(' * 100}", 1, 67, "expressions are nested more than 64 deep here"),
    "ads": ("[a=" * 100, 1, 193, "expressions are nested more than 64 deep here"),
    "signs": (f"[a={'-' * 1000}b]", 1, 67, "expressions are nested more than 64 deep here"),
    "selections": (f"[a=b{'.c' * 100}]", 1, 133, "too many selections in a row"),
    "a high tree": (f"[a={'1||2&&3|4^5&6==7<8<<9+1*(' * 20}1{')' * 20}]", 1, 1, "nested too deeply"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "line", "column", "message"), WRONG.values(), ids=WRONG)
def test_errors_have_the_place_and_what_was_expected(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(ClassAdError) as caught:
        parse_ad(text)
    error = caught.value
    assert (error.line, error.column) == (line, column)
    assert error.message.startswith(f"line {line}, column {column}: ")
    assert message in error.message


def test_the_error_knows_its_parts() -> None:
    with pytest.raises(ClassAdError) as caught:
        parse_ad("[\n a = ]")
    assert (caught.value.offset, caught.value.expected) == (7, "an expression")


def test_text_after_an_ad_can_be_kept() -> None:
    # The example of the draft ends in ]' (docs/protocols/blah.md, 2.3).
    ad, rest = parse_ad_prefix("[ a = 1 ]' ~")
    assert (unparse(ad), rest) == ("[ a = 1 ]", "' ~")


def test_an_expression_stands_alone() -> None:
    assert parse_expression(" 1 ") == Literal(1)
    with pytest.raises(ClassAdError, match="column 3: there is '2', but an operator, or the end"):
        parse_expression("1 2")


def test_attributes_are_found_in_any_case() -> None:
    ad = parse_ad("[ GridType = 1 ]")
    assert "gridtype" in ad
    assert ad["GRIDTYPE"] == Literal(1)


SIGNS = "[]{}()=;,.?:<>!&|^~+-*/%\"'\\ \n/*aA1_eEx0.#\0é"


@given(st.text(SIGNS, max_size=60))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    for candidate in (text, f"[{text}]", f"[a={text}]"):
        try:
            ad = parse_ad(candidate)
        except ClassAdError as error:
            assert 0 <= error.offset <= len(candidate)  # noqa: PT017  # most texts are refused
            continue
        assert parse_ad(unparse(ad)) == ad


TOKENS = st.sampled_from(
    ["a", "b", "MY", "1", "0", "-1", "2.5", '"s"', "true", "undefined", "error", "(", ")", "[", "]",
     "{", "}", ",", ";", "=", ".", "?", ":", "?:", "==", "=?=", "is", "&&", "||", "+", "-", "*", "/",
     "%", "<<", ">>>", "!", "~", "strcat", "member", "ifThenElse", "regexp", "size", "int"]
)  # fmt: skip


@example([".", "MY"])  # all attributes of the ad, with their places in the text
@given(st.lists(TOKENS, max_size=25))
def test_any_tokens_are_evaluated_or_refused(tokens: list[str]) -> None:
    try:
        ad = parse_ad(f"[ a = {' '.join(tokens)}; b = a ]")
    except ClassAdError:
        return
    evaluator, again = Evaluator(ad), Evaluator(parse_ad(unparse(ad)))
    for name in ad.attributes:
        values = (repr(e.evaluate_attribute(name)) for e in (evaluator, again))
        one, other = (re.sub(r"offset=\d+", "", value) for value in values)
        assert one == other


HOSTILE = {
    "backslashes": '[a = "' + "\\\\" * 400_000 + '"]',
    "quotes": '[a = "' + '\\"' * 400_000 + '"]',
    "strings without end": "[" + "a='" * 200_000,
    "comments": "[" + "/**/" * 200_000 + "]",
    "a long sum": "[a = " + "1 + " * 200_000 + "1]",
    "brackets": "[" * 900_000,
    "semicolons": "[" + ";" * 900_000 + "]",
    "names": "[" + "a=1;" * 100_000 + "]",
    "digits": "[a=" + "1" * 900_000 + "]",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_megabyte_of_hostile_text_is_parsed_or_refused(text: str) -> None:
    try:
        value = Evaluator(parse_ad(text)).evaluate_attribute("a")
        assert value is UNDEFINED or isinstance(value, str | int | Failure)
    except ClassAdError:
        pass


FLOODS = {"names": ("a=1;", 4), "semicolons": (";", 1), "quoted names": ("'a'=b;", 4)}


@pytest.mark.parametrize("what", FLOODS)
def test_the_number_of_tokens_is_limited(what: str) -> None:
    text, tokens = FLOODS[what]
    most = (MAX_TOKENS - 2) // tokens  # without the brackets
    parse_ad(f"[{text * most}]")
    for many in (text * (most + 1), f"a = {{{'1,' * MAX_TOKENS}1}}", f"a = f({'1,' * MAX_TOKENS}1)"):
        with pytest.raises(ClassAdError, match=f"more than {MAX_TOKENS} tokens"):
            parse_ad(f"[{many}]")
    with pytest.raises(ClassAdError, match="more than"):
        parse_expression(" + ".join("1" * MAX_TOKENS))
