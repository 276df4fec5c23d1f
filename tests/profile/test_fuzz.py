"""Whatever the bytes, a document is read or refused: nothing else comes out."""

from __future__ import annotations

from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from osprofile import InvalidProfileError, Repository
from osprofile.profile.data_directories import get_bundled_directory
from osprofile.profile.tree import decode_source, parse_xml
from tests.hunting import rounds
from tests.strategies import application, default, document, field, invocation, static, tag, template_of

VALID = document(
    template_of("", field("G", default("x")))
    + template_of(
        "T",
        "<idb:Description>d \u00e9</idb:Description>",
        invocation("echo <F> '<G/'/'\\\\''>'\n\u00e9 <G:HMS>"),
        static("x", "a.sh", "<F>", "V"),
        field("F", "<idb:Min>1</idb:Min>" + tag("t", "2") + default("1"), "ext:pattern='.*'"),
    )
    + '<osp:Storage name="s" template="T"/>'
    + application("a", "A", "1")
).encode()
PIECES = [
    b"<", b">", b"/", b"&", b"&lt;", b"&#0;", b"]]>", b"<![CDATA[", b"<!--", b"-->", b"<?x?>", b'"',
    b"'", b"=", b" ", b"\n", b"\r", b"\0", b"\xff", b"\xc3", b"\xef\xbf\xbe", b"\xef\xbb\xbf",
    b"osp:", b"idb:", b"ext:", b"xmlns=", b'xmlns:osp="urn:x"', b"<idb:Field/>", b"<osp:Template>",
    b"</idb:Template>", b'name=""', b'name="T"', b"xsi:type", b"<!DOCTYPE x>", b"<x:y/>",
    b"1e", b"INF", b"NaN", b"true", b"extends='p'", b"\xc2\xa0", b"xml:space='preserve'",
]  # fmt: skip


def judge(data: bytes) -> None:
    """Read a document; where it is refused, look at what is told."""
    try:
        Repository(use_standard_path=False).load_bytes(data, "f.xml")
    except InvalidProfileError as error:
        told, problems = str(error), error.problems
    else:
        return
    assert all(line.isprintable() for line in told.split("\n"))
    for problem in problems:
        assert problem.code.startswith("OSP")
        assert problem.message
        assert problem.location is None or 0 <= problem.location.offset <= len(data)


@st.composite
def mutations(draw: st.DrawFn) -> bytes:
    """Return a valid document with pieces cut out, doubled, or put in."""
    data = VALID
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        end = draw(st.integers(at, min(len(data), at + 40)))
        kind = draw(st.integers(0, 3))
        put = draw(st.sampled_from(PIECES) | st.binary(max_size=4))
        if kind == 0:
            data = data[:at] + data[end:]
        elif kind == 1:
            data = data[:at] + put + data[at:]
        elif kind == 2:
            data = data[:at] + put + data[end:]
        else:
            data = data[:end] + data[at:]
    return data


@given(st.binary(max_size=200))
@example(b"")
@example(VALID)
def test_random_bytes(data: bytes) -> None:
    judge(data)


@settings(max_examples=rounds(400, 100))
@given(mutations())
def test_mutated_documents(data: bytes) -> None:
    judge(data)


@given(st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join))
def test_pieces_inside_a_document(data: bytes) -> None:
    judge(document("X").encode().replace(b"X", data))
    judge(VALID.replace(b"echo ", data))
    judge(VALID.replace(b' name="T"', b" " + data))


@given(st.integers(0, len(VALID)))
def test_a_document_that_is_cut_off(end: int) -> None:
    judge(VALID[:end])


def test_places_of_a_whole_tree() -> None:
    """Where each character of each text is, in every bundled profile: the law of `SourceText`."""
    for path in Path(get_bundled_directory()).glob("*/profile.xml"):
        data = path.read_bytes()
        for element in parse_xml(decode_source(str(path), data)).iter_elements():
            assert data[element.offset :].startswith(b"<")
            text = element.source_text
            for at in range(0, len(text.text), 7):
                char, offset = text.text[at].encode(), text.get_location(at).offset
                assert data[offset:].startswith(char) or data[offset : offset + 1] == b"&"
            for key, value in element.attributes.items():
                place = element.locate_attribute(key)
                name = key.rpartition("}")[2].encode()
                assert name in data[element.offset : place.offset]
                start = data[place.offset : place.offset + 1].decode("latin-1")
                assert not value or start in (value[0], "&")
