"""Bodies and replacements: OS Profile 0.3, 2.1; docs/language.md, Bodies and replacements."""

from __future__ import annotations

import re
import time
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osprofile.errors import InvalidProfileError
from osprofile.incarnation import body
from osprofile.incarnation.body import compile_replacement, parse_body
from osprofile.profile.reader import load_document
from osprofile.source import Source, SourceText
from tests.strategies import bodies, document, invocation, static, template, template_of

if TYPE_CHECKING:
    from osprofile.profile.model import Document

# A replacement in a table: (name,) or (name, FROM, TO).
Short = tuple[str, ...]


def source_text(text: str) -> SourceText:
    return SourceText(text, Source("body", text.encode("utf-8", "surrogatepass")), ((0, 0),))


def segments(text: str) -> list[str | Short]:
    found: list[str | Short] = []
    for segment in parse_body(source_text(text)).segments:
        if isinstance(segment, str):
            found.append(segment)
        elif segment.pattern is None or segment.replacement is None:
            found.append((segment.name,))
        else:
            found.append((segment.name, segment.pattern, segment.replacement))
    return found


CASES: dict[str, tuple[str, list[str | Short]]] = {
    # OS Profile 0.3, 2.1
    "OS Profile 0.3, 2.1": (
        "cp <SOURCE> <DESTINATION/\\.log/>",
        ["cp ", ("SOURCE",), " ", ("DESTINATION", "\\.log", "")],
    ),
    "empty": ("", []),
    "literal": ("echo", ["echo"]),
    "alone": ("<A>", [("A",)]),
    "side by side": ("<A><B><A>", [("A",), ("B",), ("A",)]),
    # Names
    "letters of a name": ("<a_B9.-z>", [("a_B9.-z",)]),
    "underscore first": ("<_>", [("_",)]),
    "one colon": ("<SSH:HOST>", [("SSH:HOST",)]),
    "digits after the colon": ("<TargetSystemInfo:2x>", [("TargetSystemInfo:2x",)]),
    "blanks in a property's name": (
        "<TargetSystemInfo:Max wall  time><TargetSystemInfo:a b/c/d>",
        [("TargetSystemInfo:Max wall  time",), ("TargetSystemInfo:a b", "c", "d")],
    ),
    "blanks around a property's name": (
        "<TargetSystemInfo: a><TargetSystemInfo:a ><TargetSystemInfo:a\nb>",
        ["<TargetSystemInfo: a><TargetSystemInfo:a ><TargetSystemInfo:a\nb>"],
    ),
    "blanks behind another prefix": ("<SSH:HOST NAME>", ["<SSH:HOST NAME>"]),
    "two colons": ("<A:B:C>", ["<A:B:C>"]),
    "nothing after the colon": ("<A:>", ["<A:>"]),
    "nothing before the colon": ("<:A>", ["<:A>"]),
    "digit first": ("<2A>", ["<2A>"]),
    "hyphen first": ("<-A>", ["<-A>"]),
    "no name": ("<>", ["<>"]),
    "letter beyond ASCII": ("<é>", ["<é>"]),
    "letter beyond ASCII inside": ("<Aé>", ["<Aé>"]),
    "digit beyond ASCII": ("<A\u0661>", ["<A\u0661>"]),
    "blank inside": ("<A B>", ["<A B>"]),
    "blank first": ("< A>", ["< A>"]),
    "blank last": ("<A >", ["<A >"]),
    "line end inside": ("<A\n>", ["<A\n>"]),
    # What a shell writes with `<` and `>`
    "redirections": ("cmd < in > out", ["cmd < in > out"]),
    "here-document": ("cat <<EOF>x\nEOF\n", ["cat <<EOF>x\nEOF\n"]),
    "here-string": ("cat <<<WORD>x", ["cat <<<WORD>x"]),
    "comparison": ("[ $a <= b ] && [ c > d ]", ["[ $a <= b ] && [ c > d ]"]),
    "a < b > c": ("a < b > c", ["a < b > c"]),
    "doubled": ("<<A>", ["<<A>"]),
    "doubled, then one": ("<<A><B>", ["<<A>", ("B",)]),
    "descriptor": ("<&3 >&2 <>f", ["<&3 >&2 <>f"]),
    "process substitution": ("diff <(a) >(b)", ["diff <(a) >(b)"]),
    "path after <": ("sort <data/in.txt", ["sort <data/in.txt"]),
    "path after < and a later >": ("sort <data/in/x.txt >y", ["sort ", ("data", "in", "x.txt "), "y"]),
    "redirection without blanks": ("sort <in>out", ["sort ", ("in",), "out"]),
    # FROM and TO
    "empty FROM and TO": ("<A//>", [("A", "", "")]),
    "FROM only": ("<A/x/>", [("A", "x", "")]),
    "one slash": ("<A/x>", ["<A/x>"]),
    "slash in TO": ("<A/x/y/z>", [("A", "x", "y/z")]),
    "escaped slash in FROM": (r"<A/a\/b/c>", [("A", r"a\/b", "c")]),
    "escaped backslash ends FROM": (r"<A/a\\/b>", [("A", r"a\\", "b")]),
    "three backslashes in FROM": (r"<A/a\\\/b/c>", [("A", r"a\\\/b", "c")]),
    "> in FROM": ("<A/>/x>", [("A", ">", "x")]),
    "< in FROM": ("<A/</x>", [("A", "<", "x")]),
    "named group in FROM": ("<A/(?<id>x)/${id}>", [("A", "(?<id>x)", "${id}")]),
    "< in TO": ("<A/x/<>", [("A", "x", "<")]),
    "escaped > in TO": (r"<A/x/a\>b>", [("A", "x", r"a\>b")]),
    "escaped backslash ends TO": (r"<A/x/\\>y>", [("A", "x", r"\\"), "y>"]),
    "three backslashes in TO": (r"<A/x/\\\>y>", [("A", "x", r"\\\>y")]),
    "quoting": ("'<A/'/'\\\\''>'", ["'", ("A", "'", r"'\\''"), "'"]),
    "several of them": ("<A/a/b><A/c/d>", [("A", "a", "b"), ("A", "c", "d")]),
    "TO without end": ("<A/x/y", ["<A/x/y"]),
    "FROM without end": ("<A/x", ["<A/x"]),
    "end escaped": (r"<A/x/y\>", [r"<A/x/y\>"]),
    "backslash last": ("<A/x/y\\", ["<A/x/y\\"]),
    "FROM over a line end": ("<A/x\ny/z>", ["<A/x\ny/z>"]),
    "TO over a line end": ("<A/x/y\nz>", ["<A/x/y\nz>"]),
    "escaped line end": ("<A/x/y\\\nz>", ["<A/x/y\\\nz>"]),
    "over a carriage return": ("<A/x/y\rz>", ["<A/x/y\rz>"]),
    "over what only Java takes for a line end": ("<A/x/y\u2028\x85z>", [("A", "x", "y\u2028\x85z")]),
    "broken, then whole on the next line": ("<A/x/y\n<B/x/y>", ["<A/x/y\n", ("B", "x", "y")]),
    "broken, with a short one behind": ("<A/x<B>", ["<A/x", ("B",)]),
    "broken, and all behind it broken": ("<A/x/y<B/x/y", ["<A/x/y<B/x/y"]),
    "one inside another's FROM": ("<A/<B/x>/y>", [("A", "<B", "x"), "/y>"]),
    "one inside another's TO": ("<A/x/<B>>", [("A", "x", "<B"), ">"]),
    "after CR LF": ("a\r\n<A>\r\n", ["a\r\n", ("A",), "\r\n"]),
    "beyond the BMP": ("\U0001f40d<A>\U0001f40d", ["\U0001f40d", ("A",), "\U0001f40d"]),
}


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES)
def test_parse(text: str, expected: list[str | Short]) -> None:
    assert segments(text) == expected


# Laws

# The grammar in one expression, to compare with: slower on hostile texts.
REFERENCE = re.compile(
    r"(?<!<)<([A-Za-z_][A-Za-z0-9_.-]*(?::[A-Za-z0-9_.-]+)?)"
    r"(?:/((?:[^\\/\r\n]|\\[^\r\n])*)/((?:[^\\>\r\n]|\\[^\r\n])*))?>"
)


@given(bodies)
def test_parse_finds_what_the_grammar_says(text: str) -> None:
    found = [
        (r.start, r.end, r.name, r.pattern, r.replacement) for r in parse_body(source_text(text)).replacements
    ]
    assert found == [(*m.span(), *m.groups()) for m in REFERENCE.finditer(text)]


@given(bodies)
def test_the_segments_are_the_text(text: str) -> None:
    parsed, at, rebuilt = parse_body(source_text(text)), 0, ""
    for segment in parsed.segments:
        if isinstance(segment, str):
            assert segment
            rebuilt, at = rebuilt + segment, at + len(segment)
        else:
            assert (segment.start, segment.end) == (at, at + segment.end - segment.start)
            rebuilt, at = rebuilt + text[segment.start : segment.end], segment.end
    assert rebuilt == text
    kinds = [isinstance(segment, str) for segment in parsed.segments]
    assert (True, True) not in pairwise(kinds)


@given(bodies)
def test_places_go_forward_and_point_at_their_characters(text: str) -> None:
    parsed, last = parse_body(source_text(text)), -1
    for replacement in parsed.replacements:
        offset = parsed.locate_replacement(replacement).offset
        assert offset > last
        last = offset
        assert text.encode()[offset:].startswith(f"<{replacement.name}".encode())
        if replacement.pattern is not None and replacement.replacement is not None:
            start = replacement.pattern_start
            assert text[start : start + len(replacement.pattern)] == replacement.pattern
            start = replacement.replacement_start
            assert text[start : start + len(replacement.replacement)] == replacement.replacement


@pytest.mark.parametrize("unit", ["<A/", "<A/x/", r"<A/\/", "<A", "<", "<<A>", r"<A/x/\>", "\\"])
def test_a_hostile_body_is_parsed_in_linear_time(unit: str) -> None:
    text = source_text(unit * 100_000)
    start = time.process_time()
    assert parse_body(text).segments == (text.text,)
    assert time.process_time() - start < 2


# Places in documents


def places(read_document: Document, name: str = "T") -> list[str]:
    found = []
    for invocation_ in read_document.templates[name].invocations.values():
        script = invocation_.static_script
        source = script.arguments if script else invocation_.body
        assert source is not None
        parsed = parse_body(source)
        found += [str(parsed.locate_replacement(replacement)) for replacement in parsed.replacements]
    return found


def in_body(body_: str) -> str:
    content = f"<idb:Invocation>\n<idb:Body>{body_}</idb:Body></idb:Invocation>"
    return document(template_of("T", content))


# What stands between the tags of a Body on line 5, in column 11, and where each `<A...` is.
PLACES = {
    "CDATA": ("<![CDATA[<A>]]>", ["5:20"]),
    "entities": ("x &lt;A> &lt;A>", ["5:13", "5:20"]),
    "character references": ("&#60;A> &#x3c;A>", ["5:11", "5:19"]),
    "after other entities": ("&amp;&amp;é&quot;&lt;A>", ["5:28"]),
    "on later lines": ("<![CDATA[\n\n <A>\n<A>]]>", ["7:2", "8:1"]),
    "several CDATA sections": ("<![CDATA[a]]>b<![CDATA[<A>]]>", ["5:34"]),
    "over the end of a CDATA section": ("<![CDATA[<A]]>&gt;", ["5:20"]),
    "after two bytes": ("<![CDATA[éé<A>]]>", ["5:22"]),
    "after three and four bytes": ("<![CDATA[\u20ac\U0001f40d<A>]]>", ["5:22"]),
    "after a tab": ("<![CDATA[\t<A>]]>", ["5:21"]),
    "after a comment": ("a<!-- <A> --><![CDATA[<A>]]>", ["5:33"]),
    "after an instruction": ("a<?x <A> ?><![CDATA[<A>]]>", ["5:31"]),
    "CR LF": ("<![CDATA[\r\nx <A>\r\n<A>]]>", ["6:3", "7:1"]),
    "CR": ("<![CDATA[\rx <A>\r<A>]]>", ["6:3", "7:1"]),
}


@pytest.mark.parametrize(("between", "expected"), PLACES.values(), ids=PLACES)
def test_place_in_a_body(between: str, expected: list[str]) -> None:
    found = places(load_document("f", in_body(between).encode()))
    assert found == [f"f:{place}" for place in expected]


def test_places_of_a_whole_document_in_other_bytes() -> None:
    text = in_body("<![CDATA[<A>\n<A>]]>")
    assert places(load_document("f", text.replace("\n", "\r\n").encode())) == ["f:5:20", "f:6:1"]
    one_line = document(template_of("T", invocation("<A>"))).replace("\n", "")
    column = one_line.index("<A>") + 1
    assert places(load_document("f", b"\xef\xbb\xbf" + one_line.encode())) == [f"f:1:{column}"]


# The attribute `arguments` as it stands in line 5, and where each `<A...` is.
ATTRIBUTES = {
    "plain": ("""<idb:StaticScript fileName="s" arguments="-x &lt;A> &lt;A>">""", ["5:46", "5:53"]),
    "single quotes": ("""<idb:StaticScript arguments='"&lt;A>"' fileName="s">""", ["5:31"]),
    "blanks around =": ("""<idb:StaticScript  arguments =\t "&lt;A>" fileName="s">""", ["5:34"]),
    "after >": ("""<idb:StaticScript fileName='s' arguments=">é&lt;A>">""", ["5:45"]),
    "reference": ("""<idb:StaticScript fileName="s" arguments="&#x9;&#60;A>">""", ["5:48"]),
    "its name in a value": (
        """<idb:StaticScript fileName="s" xmlns:arguments="urn:A" arguments="&lt;A>">""",
        ["5:67"],
    ),
}


@pytest.mark.parametrize(("tag", "expected"), ATTRIBUTES.values(), ids=ATTRIBUTES)
def test_place_in_an_attribute(tag: str, expected: list[str]) -> None:
    content = f"<idb:Invocation>\n{tag}x</idb:StaticScript></idb:Invocation>"
    found = places(load_document("f", document(template_of("T", content)).encode()))
    assert found == [f"f:{place}" for place in expected]


def test_place_in_an_attribute_over_line_ends() -> None:
    text = document(template_of("T", static("x", arguments="LINE")))
    for end in ("\n", "\r\n", "\r"):
        spread = text.replace("LINE", f"a{end}b{end}{end} &lt;A>")
        assert places(load_document("f", spread.encode())) == ["f:7:2"]


# Regular expressions: FROM and TO go to the engine as written


APPLIED = [
    # replacement, value, result
    (r"<A/\.log/>", "y.log", "y"),
    (r"<A/\.log/>", "ylog", "ylog"),
    (r"<A/\//|>", "a/b/c", "a|b|c"),
    (r"<A/x/\>>", "axb", "a>b"),
    (r"<A/'/'\\''>", "it's", r"it'\''s"),
    (r"<A/x/\\>", "axb", "a\\b"),
    (r"<A/(?<id>[0-9]+).*/${id}>", "12.srv", "12"),
    (r"<QUEUE/(?s)^(.+)\z/#PBS -q $1>", "", ""),
    (r"<QUEUE/(?s)^(.+)\z/#PBS -q $1>", "a\nb", "#PBS -q a\nb"),
    (r"<A/x/\n>", "axb", "anb"),
    (r"<A//->", "ab", "-a-b-"),
]


@pytest.mark.parametrize(("text", "value", "result"), APPLIED)
def test_a_replacement_does_what_java_does(text: str, value: str, result: str) -> None:
    parsed = parse_body(source_text(text))
    (found,) = parsed.replacements
    assert compile_replacement(parsed, found)(value) == result


LITERAL = {
    r"<A/'/'\\''>": ("'", r"'\''"), r"<A/\.log/>": (".log", ""),
    "<A/./>": None, "<A/x/$0>": None, "<A//x>": None, "<A>": None,
}  # fmt: skip


@pytest.mark.parametrize(("text", "pair"), LITERAL.items())
def test_literal_replacements_need_no_engine(text: str, pair: tuple[str, str] | None) -> None:
    (found,) = parse_body(source_text(text)).replacements
    assert body.get_literal_pair(found) == pair


def test_a_bad_regular_expression_is_told_at_its_character() -> None:
    text = document(template("T", "\necho é <A/a(b/x>\n"))
    source = load_document("f.xml", text.encode()).templates["T"].invocations[""].body
    assert source is not None
    parsed = parse_body(source)
    (found,) = parsed.replacements
    with pytest.raises(InvalidProfileError) as caught:
        compile_replacement(parsed, found)
    assert str(caught.value) == (
        "f.xml:5:14: error OSP401 in <A/...>: bad Java regular expression: Unclosed group\n"
        "    echo é <A/a(b/x>\n"
        "                 ^\n"
        "    hint: end the group by ), or write \\( for the character"
    )


def test_a_bad_java_replacement_is_told_at_its_character() -> None:
    parsed = parse_body(source_text("<A/a/x$2>"))
    (found,) = parsed.replacements
    with pytest.raises(InvalidProfileError) as caught:
        compile_replacement(parsed, found)
    (problem,) = caught.value.problems
    assert (problem.code, str(problem.location)) == ("OSP401", "body:1:8")
    assert problem.message.startswith("in <A/...>: bad Java replacement: ")


@given(st.text(max_size=20))
def test_a_text_without_angle_brackets_is_its_own_segment(text: str) -> None:
    literal = text.replace("<", "")
    assert segments(literal) == ([literal] if literal else [])
