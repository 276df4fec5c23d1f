"""What a document says, read: OS Profile 0.3, 1 to 4; docs/language.md, A document."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from osprofile.profile.model import TYPE_ATTRIBUTE, Field
from osprofile.profile.reader import load_document
from tests.strategies import (
    IDB,
    OSP,
    application,
    default,
    document,
    field,
    fixed,
    invocation,
    static,
    tag,
    template,
    template_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

MY_LINUX = """<osp:Profile
    xmlns:osp="http://gpe.intel.com/osprs/profile"
    name="my-linux"
    extends="linux">

  <osp:UspaceRoot>/var/tmp/gpe/uspaces</osp:UspaceRoot>

  <osp:Delimiter>/</osp:Delimiter>

</osp:Profile>
"""


def test_the_simplest_example_of_os_profile() -> None:  # 1
    found = load_document("f.xml", MY_LINUX.encode())
    assert (found.name, found.extends) == ("my-linux", "linux")
    assert (found.uspace_root, found.delimiter) == ("/var/tmp/gpe/uspaces", "/")
    assert [found.templates, found.global_fields, found.storages, found.applications] == [{}] * 4
    assert str(found.location) == "f.xml:1:1"


def test_everything_that_a_document_can_say() -> None:
    text = document(
        template_of(
            "T",
            "<idb:Description> All\n of it </idb:Description>",
            invocation("echo <F>"),
            static("#!/bin/sh\n<F>\n", "a.sh", "<F>", "V"),
            field(
                "F",
                "<idb:Description>d</idb:Description><idb:Min>1</idb:Min><idb:Max>1e3</idb:Max>"
                + tag("a", "10") + tag("b", "") + default("a") + fixed(" 20\n"),
                'isSettable="false" ext:type="integer" ext:pattern="[0-9]+&lt;&#10;"',
            ),
            field("G"),
        )
        + '<osp:Storage name="HOME" template="T"/>'
        + application("blast-2", "BLAST", "2.15"),
        extends="linux",
    )  # fmt: skip
    found = load_document("f.xml", text.encode())
    made = found.templates["T"]
    assert made.description == "All of it"  # blanks folded: it is for people
    first, second = made.invocations[""], made.invocations["V"]
    assert first.body is not None
    assert (first.body.text, first.static_script) == ("echo <F>", None)
    script = second.static_script
    assert script is not None
    assert (script.file_name, script.arguments.text) == ("a.sh", "<F>")
    assert script.body.text == "#!/bin/sh\n<F>\n"  # as it is
    full, bare = made.fields["F"], made.fields["G"]
    assert (full.minimum, full.maximum, full.type) == (1.0, 1000.0, "integer")
    assert [(t.name, t.value) for t in full.tags] == [("a", "10"), ("b", "")]
    assert (full.default, full.value, full.settable) == ("a", " 20\n", False)  # never trimmed
    assert full.pattern_text == "[0-9]+<\n"
    assert full.pattern is not None
    assert full.pattern.text == full.pattern_text
    nothing = (None, None, (), None, None, True, None, None)
    assert bare[3:11] == nothing
    storage = found.storages["HOME"]
    assert (storage.name, storage.template) == ("HOME", "T")
    runs = found.applications["blast-2"]
    assert runs[:-1] == ("blast-2", "BLAST", "2.15", "", "T")


def read_field(content: str = "", attributes: str = "") -> Field:
    text = document(template("T", "", field("F", content, attributes)))
    return load_document("f", text.encode()).templates["T"].fields["F"]


BOOLEANS = [("true", True), ("1", True), ("false", False), ("0", False), (" false ", False)]


@pytest.mark.parametrize(("written", "settable"), BOOLEANS)
def test_is_settable(written: str, settable: bool) -> None:
    assert read_field("", f'isSettable="{written}"').settable is settable


LIMITS = [
    ("1", 1.0), (" -1.5\n", -1.5), ("1e3", 1000.0), (".5", 0.5), ("INF", float("inf")),
    ("-INF", float("-inf")), ("1e400", float("inf")), ("0", 0.0), ("+3", 3.0),
]  # fmt: skip


@pytest.mark.parametrize(("written", "limit"), LIMITS)
def test_limits(written: str, limit: float) -> None:
    assert read_field(f"<idb:Min>{written}</idb:Min>").minimum == limit


EMPTY = ["<idb:Default/>", "<idb:Default></idb:Default>", "<idb:Default><![CDATA[]]></idb:Default>"]


@pytest.mark.parametrize("written", EMPTY)
def test_an_empty_default_is_a_default(written: str) -> None:
    assert read_field(written).default == ""


# An absent name and an empty one are equal (docs/language.md, Names).
@pytest.mark.parametrize("name", ["", ' name=""'])
def test_what_is_unnamed(name: str) -> None:
    """The unnamed template has the global fields, the unnamed invocation is the default variation."""
    globals_ = f"<idb:Template{name}>{field('F', default('x'))}</idb:Template>"
    content = f"<idb:Invocation{name}><idb:Body>x</idb:Body></idb:Invocation>"
    found = load_document("f", document(globals_ + template_of("T", content)).encode())
    assert list(found.templates) == ["T"]
    assert found.global_fields["F"].default == "x"
    assert list(found.templates["T"].invocations) == [""]


FULL = document(
    template("T", "echo <F>", field("F", default("x"), 'ext:type="text"'))
    + '<osp:Storage name="s" template="T"/>'
    + application("a", "A", "1")
)


def renamed(text: str, **prefixes: str) -> str:
    """Return a document with other prefixes for the same namespaces."""
    return re.sub(rf"\b({'|'.join(prefixes)})(?=[:=])", lambda match: prefixes[match[1]], text)


# The same document, its namespaces written differently.
SPELLINGS = {
    "as it is": FULL,
    "other prefixes": renamed(FULL, osp="a", idb="b", ext="c"),
    "prefixes exchanged": renamed(FULL, osp="idb", idb="osp"),
    "no prefix for osp": FULL.replace("osp:", "").replace("xmlns:osp=", "xmlns="),
    "no prefix at all": FULL.replace("osp:", "").replace("xmlns:osp=", "xmlns=")
    .replace("<idb:Template", f'<idb:Template xmlns="{IDB}"').replace("idb:", ""),
    "osp:Template": FULL.replace("idb:Template", "osp:Template"),
    "jsdl names": FULL.replace("osp:ApplicationName", "jsdl:ApplicationName")
    .replace("osp:ApplicationVersion", "jsdl:ApplicationVersion"),
    "byte order mark": "\ufeff" + FULL,
    "declaration": "<?xml version='1.0' encoding='utf-8' standalone='yes'?>\n" + FULL,
    "ASCII declared": "<?xml version='1.0' encoding='US-ASCII'?>" + FULL,
    "comments and instructions": "<?xml-stylesheet href='nowhere'?><!-- a -->"
    + FULL.replace("<idb:Field", "<!-- <idb:Field/> --><?x y?><idb:Field") + "<!-- b -->",
    "CR LF": FULL.replace("\n", "\r\n"),
    "CR": FULL.replace("\n", "\r"),
    "a comment inside a text": FULL.replace("echo <F>", "ec]]><!-- x -->ho <![CDATA[<F>"),
    "entities": FULL.replace("<![CDATA[echo <F>]]>", "echo &lt;F&gt;"),
}  # fmt: skip


@pytest.mark.parametrize("text", SPELLINGS.values(), ids=SPELLINGS)
def test_how_it_is_spelled_does_not_matter(text: str) -> None:
    found = load_document("f", text.encode())
    body = found.templates["T"].invocations[""].body
    assert body is not None
    assert body.text == "echo <F>"
    assert found.templates["T"].fields["F"].comparison_key() == (
        (None, None), (), "x", None, True, None, "text", None, None,
    )  # fmt: skip
    assert found.storages["s"].template == "T"
    assert found.applications["a"].application_name == "A"


ENCODINGS = {
    "UTF-16": lambda text: text.encode("utf-16"),
    "UTF-16, the other order": lambda text: ("\ufeff" + text).encode("utf-16-be"),
    "UTF-16, declared": lambda text: f"<?xml version='1.0' encoding='UTF-16'?>{text}".encode("utf-16"),
    "Latin 1": lambda text: f"<?xml version='1.0' encoding=\"iso-8859-1\"?>{text}".encode("latin-1"),
    "Windows": lambda text: f"<?xml version='1.0' encoding='windows-1252' ?>{text}".encode("cp1252"),
    "doctype": lambda text: f"<!DOCTYPE osp:Profile>{text}".encode(),
    "doctype in another file": lambda text: (
        "<?xml version='1.0'?><!-- <!DOCTYPE x [ --><!DOCTYPE osp:Profile\n  PUBLIC \"[>\" 'http://example.org/[>'\n>"
        f"<!-- b -->{text}"
    ).encode(),
}  # fmt: skip


@pytest.mark.parametrize("encode", ENCODINGS.values(), ids=ENCODINGS)
def test_other_encodings_and_a_document_type_that_is_not_read(encode: Callable[[str], bytes]) -> None:
    text = document("\n<!-- é --><idb:Template name='é'><idb:Field name='F'/></idb:Template>")
    plain, found = (load_document("f", data).templates["é"] for data in (text.encode(), encode(text)))
    lines = encode("").count(b"\n")
    assert str(found.location) == f"f:{5 + lines}:11"
    assert str(plain.fields["F"].location.column) == str(found.fields["F"].location.column)


def test_line_ends_of_a_body_are_those_of_unix() -> None:  # XML 1.0, 2.11
    text = document(template("T", "a\nb\n")).replace("\n", "\r\n")
    body = load_document("f", text.encode()).templates["T"].invocations[""].body
    assert body is not None
    assert body.text == "a\nb\n"


def test_where_everything_stands() -> None:
    text = f"""<osp:Profile xmlns:osp="{OSP}" xmlns:idb="{IDB}" name="p">
  <osp:UspaceRoot>/u</osp:UspaceRoot><osp:Delimiter>/</osp:Delimiter>
  <idb:Template name="T">
    <idb:Invocation name="V">
      <idb:Body>x</idb:Body></idb:Invocation>
    <idb:Invocation>
      <idb:StaticScript
          arguments="" fileName="a">x</idb:StaticScript></idb:Invocation>
    <idb:Field name="F">
      <idb:Min> 1</idb:Min>
      <idb:Tag name="t">x</idb:Tag>
    </idb:Field>
  </idb:Template>
  <osp:Storage name="s" template="T"/>
</osp:Profile>"""
    found = load_document("f", text.encode())
    made = found.templates["T"]
    script, one = made.invocations[""].static_script, made.fields["F"]
    assert script is not None
    assert [
        str(place)
        for place in (
            found.location, made.location, made.invocations["V"].location, script.location,
            script.body.get_location(), script.element.locate_attribute("fileName"),
            one.location, one.locate_child("Min"), one.locate_child("Max"), one.tags[0].location,
            found.storages["s"].location, found.storages["s"].element.locate_attribute("template"),
        )
    ] == [
        "f:1:1", "f:3:3", "f:4:5", "f:7:7",
        "f:8:37", "f:8:34",
        "f:9:5", "f:10:16", "f:9:5", "f:11:7",
        "f:14:3", "f:14:35",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["p", "my-linux", "a.b_c-1", "1", "A" * 200, "a..b"])
def test_names_that_a_profile_may_have(name: str) -> None:
    assert load_document("f", document(name=name).encode()).name == name


ROOTS = [("/u", "/"), ("/", "/"), ("/a b/é", "/"), ("C:\\gpe", "\\"), ("\\\\server\\gpe", "\\")]


@pytest.mark.parametrize(("root", "delimiter"), ROOTS)
def test_absolute_roots(root: str, delimiter: str) -> None:
    found = load_document("f", document(root=root, delimiter=delimiter).encode())
    assert (found.uspace_root, found.delimiter) == (root, delimiter)


def test_two_attributes_of_one_local_name() -> None:
    xsi = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="idb:FieldType"'
    text = document(template_of("T", "\n" + field("F", "", f'{xsi} ext:type="integer"')))
    found = load_document("f", text.encode()).templates["T"].fields["F"]
    assert found.type == "integer"
    place = found.element.locate_attribute(TYPE_ATTRIBUTE)
    assert text.encode()[place.offset :].startswith(b'integer"')
