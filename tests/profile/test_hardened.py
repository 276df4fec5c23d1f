"""Reading is bounded, and touches nothing but the document: docs/language-differences.md, Limits for documents."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from osprofile import InvalidProfileError, Repository
from osprofile.profile import tree
from osprofile.profile.reader import load_document
from tests.strategies import calls, default, document, field, template, template_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BIG = 100_000_000


def test_a_document_of_100_mb_is_refused_without_being_read(tmp_path: Path) -> None:
    path = tmp_path / "big.xml"
    with path.open("wb") as file:  # sparse: a hundred million NULs after the start of a profile
        file.write(document().encode())
        file.truncate(BIG)
    start = time.process_time()
    with pytest.raises(InvalidProfileError) as caught:
        Repository(use_standard_path=False).load_file(path)
    assert time.process_time() - start < 0.5
    assert str(caught.value) == (
        f"error OSP101 {path}: the document has more than 8388608 bytes; a profile has some ten "
        "thousand\n    hint: is this the right file?"
    )


def test_no_more_is_read_of_an_endless_file() -> None:
    with pytest.raises(InvalidProfileError, match="more than 8388608 bytes"):
        Repository(use_standard_path=False).load_file("/dev/zero")


def test_the_largest_document_is_read() -> None:
    text = document(template("T", "X"))
    body = "x" * (tree.MAX_BYTES - len(text.encode()) + 1)
    found = load_document("f", text.replace("X", body).encode()).templates["T"].invocations[""].body
    assert found is not None
    assert found.text == body


def nested(depth: int) -> str:
    return document("<idb:Template>" * depth + "</idb:Template>" * depth)


TOO_DEEP = "f:4:435: error OSP101 elements nest more than 32 deep"
HOSTILE: dict[str, tuple[Callable[[], str], str]] = {
    "one level too deep": (lambda: nested(32), TOO_DEEP),
    "10^5 deep": (lambda: nested(100_000), TOO_DEEP),
    "10^5 deep, never closed": (lambda: document("<idb:Template>" * 100_000), TOO_DEEP),
    "10^5 attributes": (
        lambda: document("<idb:Template " + " ".join(f"a{i}='x'" for i in range(100_000)) + "/>"),
        "f:4:1: error OSP101 an element has more than 64 attributes",
    ),
    "an attribute of a megabyte": (
        lambda: document(f"<idb:Template nome='{'x' * 1_000_000}'/>"),
        "f:4:21: error OSP104 <Template> has no attribute nome",
    ),
    "a name of a megabyte": (
        lambda: document(f"<{'x' * 1_000_000}/>"),
        "f:4:1: error OSP102 not readable by libxml2: Name too long: ",
    ),
    "a field's name of a megabyte": (
        lambda: document(template("T", "", field("é" * 1_000_000))),
        f"f:4:107: error OSP108 field name '{'é' * 80}'... (1000000 characters) is not allowed",
    ),
    "19,000 elements and one that is wrong": (
        lambda: document(
            template_of("T", field("F", "".join(f"<idb:Tag name='{i}'/>" for i in range(19_000)) + "<idb:Bad/>"))
        ),
        "f:4:425935: error OSP104 <Bad> is not expected here, in <Field>",
    ),
    "three thousand wrong elements in one line": (
        lambda: document(template_of("T", "<idb:Field/>" * 3_000)),
        "f:4:24: error OSP104 in <Field>: missing required attribute 'name'",
    ),
    "a megabyte of blanks in a tag": (
        lambda: document(f"<idb:Template {' ' * 1_000_000} nome='x'/>"),
        "f:4:1000022: error OSP104 <Template> has no attribute nome",
    ),
    "a megabyte of entities": (
        lambda: document(template("T", "x") + "&lt;" * 250_000),
        "f:4:106: error OSP104 in <Profile>: character data between child elements not allowed",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("make", "told"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_document_is_refused_soon(make: Callable[[], str], told: str) -> None:
    data = make().encode()
    start = time.process_time()
    with pytest.raises(InvalidProfileError) as caught:
        load_document("f", data)
    text = str(caught.value)
    assert time.process_time() - start < 4
    assert text.startswith(told)
    assert max(map(len, text.split("\n"))) < 400


def test_a_long_line_is_read() -> None:
    text = document(template("T", "<A>" * 100_000, field("A", default("x"))))
    assert len(load_document("f", text.encode()).templates) == 1


def test_a_deep_but_allowed_tree_is_judged_by_the_schema() -> None:
    with pytest.raises(InvalidProfileError, match="OSP104 <Template> is not expected here"):
        load_document("f", nested(30).encode())


def test_a_document_has_so_many_elements() -> None:
    most = "<idb:Template/>\n" * (tree.MAX_ELEMENTS - 3)  # beside the root, UspaceRoot, Delimiter
    with pytest.raises(InvalidProfileError, match="OSP105 duplicate template without a name"):
        load_document("f", document(most).encode())
    with pytest.raises(InvalidProfileError) as caught:
        load_document("f", document(most + "<idb:Template/>").encode())
    assert str(caught.value).startswith("f:20001:1: error OSP101 the document has more than 20000 elements\n")


MANY = {
    "attributes that are none": '<idb:Template name="T{}" nome="x"/>',
    "limits that are no numbers": template_of("T{}", field("F", "<idb:Min>x</idb:Min>")),
    "elements that are none": '<idb:Template name="T{}"><idb:Nope/></idb:Template>',
    "text where none may stand": '<idb:Template name="T{}">x</idb:Template>',
    "second templates": '<idb:Template name="T"/>',
}


@pytest.mark.parametrize("case", MANY)
def test_the_work_of_telling_errors_grows_with_their_number(case: str) -> None:
    def judge(number: int) -> None:
        text = document("\n".join(MANY[case].format(n) for n in range(number)))
        with pytest.raises(InvalidProfileError) as caught:
            load_document("f", text.encode())
        assert len(caught.value.problems) >= number - 1
        assert str(caught.value)

    judge(10)  # the schemas are read
    assert calls(lambda: judge(200)) < 2.5 * calls(lambda: judge(100))


def test_of_very_many_errors_the_schemas_tell_the_first_ones() -> None:
    text = document("\n".join(MANY["attributes that are none"].format(n) for n in range(600)))
    with pytest.raises(InvalidProfileError) as caught:
        load_document("f", text.encode())
    assert [p.location and p.location.line for p in caught.value.problems] == [*range(4, 504)]


# What would have a careless reader open files or sockets, in a process that watches.
OUTSIDE = {
    "external entity": '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/hostname">]>\n' + document("&e;"),
    "external subset": '<!DOCTYPE x SYSTEM "http://127.0.0.1:9/x.dtd">\n' + document("<Bad/>"),
    "schema location": document('<idb:Bad xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
    'xsi:schemaLocation="urn:x /etc/hostname urn:y http://127.0.0.1:9/y.xsd"/>'),
    "schema without namespace": document('<Bad xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
    'xsi:noNamespaceSchemaLocation="/etc/hostname"/>'),
    "stylesheet": '<?xml-stylesheet type="text/xsl" href="/etc/hostname"?>' + document("<Bad/>"),
    "XInclude": document('<x:include xmlns:x="http://www.w3.org/2001/XInclude" href="/etc/hostname" parse="text"/>'),
    "xml:base": document('<Bad xml:base="/etc/hostname"/>'),
}  # fmt: skip
WATCHED = """
import json, sys
from osprofile import InvalidProfileError
from osprofile.profile.reader import load_document
warm, documents = json.load(sys.stdin)
def judge(text):
    try:
        load_document("f", text.encode())
    except InvalidProfileError as error:
        return str(error)
    return ""
judge(warm)  # loads the schemas and the engine that explains
seen = []
def hook(event, arguments):
    if event == "open" or event.startswith(("socket.", "urllib.", "subprocess.", "os.")):
        seen.append((event, str(arguments)))
sys.addaudithook(hook)
answers = {name: judge(text) for name, text in documents.items()}
told = list(seen)
print(json.dumps([answers, told]))
"""


def test_reading_opens_nothing() -> None:
    sent = json.dumps([document("<Bad/>"), OUTSIDE])
    done = subprocess.run(
        [sys.executable, "-c", WATCHED], input=sent, capture_output=True, text=True, check=True
    )
    answers, seen = json.loads(done.stdout)
    assert seen == []
    assert all(answers.values())
    assert not any("root:" in answer for answer in answers.values())


BILLION = (
    '<!DOCTYPE lolz [<!ENTITY l0 "lol">'
    + "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
    + "]>\n"
    + document("&l9;")
)


def test_nobody_laughs() -> None:
    start = time.process_time()
    with pytest.raises(InvalidProfileError) as caught:
        load_document("f", BILLION.encode())
    assert time.process_time() - start < 0.2
    assert [(p.code, str(p.location)) for p in caught.value.problems] == [("OSP103", "f:1:1")]
