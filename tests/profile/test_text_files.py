"""The texts that a document keeps in files: ext:src."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from osprofile import InvalidProfileError, Repository, incarnate
from osprofile.authoring.writer import profile_to_xml
from osprofile.profile import tree
from osprofile.profile.reader import parse_with_problems
from tests.strategies import document, field, invocation, read_with_texts, template_of

if TYPE_CHECKING:
    from pathlib import Path

    from osprofile import Profile
    from osprofile.profile.model import Invocation


def body_in(src: str, content: str = "", name: str = "") -> str:
    return f'<idb:Invocation name="{name}"><idb:Body ext:src="{src}">{content}</idb:Body></idb:Invocation>'


def value_in(src: str) -> str:
    return f'<idb:Value ext:src="{src}"/>'


def script_in(src: str) -> str:
    attributes = f'fileName="s.sh" arguments="" ext:src="{src}"'
    return f"<idb:Invocation><idb:StaticScript {attributes}/></idb:Invocation>"


def load(folder: Path, content: str) -> Profile:
    (folder / "p.xml").write_text(document(content))
    return Repository(use_standard_path=False).load_file(folder / "p.xml")


def load_body(folder: Path, src: str = "a.sh") -> Invocation:
    return load(folder, template_of("T", body_in(src))).templates["T"].invocations[""]


def refuse(folder: Path, content: str) -> str:
    with pytest.raises(InvalidProfileError) as caught:
        load(folder, content)
    (problem,) = caught.value.problems
    assert problem.hint
    return str(problem).replace(f"{folder}/", "")


def refuse_body(folder: Path, src: str = "a.sh", content: str = "") -> str:
    return refuse(folder, template_of("T", body_in(src, content)))


def test_each_element_takes_its_text_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts/hold.sh").write_text("hold <F>\n\n")
    (tmp_path / "value").write_text("one\ntwo\n\n")
    (tmp_path / "s.sh").write_text("#!/bin/sh\n<no field>\n")
    of_files = template_of("T", body_in("scripts/hold.sh"), field("F", value_in("value")))
    found = load(tmp_path, of_files + template_of("S", script_in("s.sh")))
    assert incarnate(found, "T").text == "hold one\ntwo\n\n\n"
    static_script = found.templates["S"].invocations[""].static_script
    assert static_script is not None
    assert static_script.body.text == "#!/bin/sh\n<no field>\n"


ODD = "ü\ufeff\t\x7f\x85\U0001f600"


@pytest.mark.parametrize(
    ("data", "value", "body"),
    [
        (b"", "", ""),
        (b"\n", "", "\n"),
        (b"\n\n", "\n", "\n\n"),
        (b"a", "a", "a"),
        (b"a\r\n", "a", "a\n"),
        (b"a\r\nb\rc\n\r\n", "a\nb\nc\n", "a\nb\nc\n\n"),
        (b"\xef\xbb\xbfa", "a", "a"),
        (ODD.encode(), ODD, ODD),
        (b"&lt;]]>", "&lt;]]>", "&lt;]]>"),
    ],
)
def test_line_ends_are_those_that_xml_reads(tmp_path: Path, data: bytes, value: str, body: str) -> None:
    (tmp_path / "a.sh").write_bytes(data)
    found = load(tmp_path, template_of("T", body_in("a.sh"), field("F", value_in("a.sh")))).templates["T"]
    assert (found.fields["F"].value, str(found.invocations[""].body)) == (value, body)


def test_each_character_has_its_location_in_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_bytes("\ufeffé&lt;\r\n\rb<F>\n".encode())
    body = load(tmp_path, template_of("T", body_in("a.sh"), field("F", "<idb:Default/>"))).templates["T"]
    text = body.invocations[""].body
    assert text is not None
    assert text.text == "é&lt;\n\nb<F>\n"
    places = [str(text.get_location(i)).rpartition("/")[2] for i in (0, 1, 5, 6, 7, 8, 12)]
    assert places == ["a.sh:1:1", "a.sh:1:2", "a.sh:1:6", "a.sh:2:1", "a.sh:3:1", "a.sh:3:2", "a.sh:4:1"]
    assert str(text.get_location(0).in_document).endswith("p.xml:4:48")


@pytest.mark.parametrize(
    "src",
    ["", "/etc/passwd", "../a.sh", "b/../a.sh", "./a.sh", "b//a.sh", "b/", ".", "..", ".a.sh", "b\\a.sh", "a.sh ../a.sh",
     "../../p/a.sh", "../p", "../p/../a.sh", ".../p/a.sh", "ä.sh", "~/a.sh", "$HOME/a.sh", "-a.sh", "http://localhost/a.sh"],
)  # fmt: skip
def test_other_names_are_refused(tmp_path: Path, src: str) -> None:
    assert refuse_body(tmp_path, src).startswith("p.xml:4:67: error OSP111 ")
    assert "is not the name of a file in the profile's folder" in refuse_body(tmp_path, src)


def test_only_white_space_may_stand_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_text("true\n")
    found = load(tmp_path, template_of("T", body_in("a.sh", "\n  <!-- a comment -->\n")))
    assert incarnate(found, "T").text == "true\n"
    assert "<Body> has a text of its own beside" in refuse_body(tmp_path, content="<![CDATA[x]]>")


UNREADABLE = {
    "folder": "folder is not a regular file",
    "pipe": "pipe is not a regular file",
    "loop": "loop cannot be read: ",
    "submti.sh": "submti.sh cannot be read: No such file or directory",
    "p.xml/a.sh": "a.sh cannot be read: Not a directory",
    "x" * 5000: "cannot be read: File name too long",
}


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "submit.sh").write_text("true\n")
    for src, message in UNREADABLE.items():
        assert message in refuse_body(tmp_path, src)
    assert "did you mean" in refuse_body(tmp_path, "submti.sh")


def test_several_files_are_joined(tmp_path: Path) -> None:
    for name, text in (("a.sh", "é1\r\n"), ("b.sh", "2"), ("c.sh", "3\n4\n")):
        (tmp_path / name).write_bytes(text.encode())
    content = template_of("T", body_in("a.sh b.sh\n  c.sh"), field("F", value_in("c.sh a.sh")))
    template = load(tmp_path, content).templates["T"]
    text = template.invocations[""].body
    assert text is not None
    assert text.text == "é1\n23\n4\n"
    places = [str(text.get_location(i)).rpartition("/")[2] for i in range(len(text.text) + 1)]
    assert places == [
        "a.sh:1:1", "a.sh:1:2", "a.sh:1:3", "b.sh:1:1", "c.sh:1:1", "c.sh:1:2", "c.sh:2:1", "c.sh:2:2", "c.sh:3:1",
    ]  # fmt: skip
    value = template.fields["F"].value_source
    assert value is not None
    assert value.text == template.fields["F"].value == "3\n4\né1"
    assert str(value.get_location(6)).endswith("a.sh:1:3")
    assert str(template.fields["F"].locate_child("Value")) == f"{tmp_path}/c.sh:1:1"


def test_a_file_may_be_that_of_a_profile_beside_it(tmp_path: Path) -> None:
    for name in ("p", "other", "other/below"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.sh").write_text(f"{name}\n")
    found = load(tmp_path / "p", template_of("T", body_in("../other/a.sh a.sh ../other/below/a.sh")))
    assert incarnate(found, "T").text == "other\np\nother/below\n"
    (tmp_path / "other/out.sh").symlink_to("../p/a.sh")
    assert "out.sh is a link out of the profile's folder, to " in refuse_body(
        tmp_path / "p", "../other/out.sh"
    )


def test_links_stay_in_the_folder(tmp_path: Path) -> None:
    folder, outside = tmp_path / "p", tmp_path / "p2"
    folder.mkdir()
    outside.mkdir()
    (outside / "a.sh").write_text("true\n")
    (folder / "b.sh").write_text("true\n")
    (folder / "a.sh").symlink_to("b.sh")
    (folder / "out.sh").symlink_to(outside / "a.sh")
    (folder / "out").symlink_to("../p2")
    (tmp_path / "linked").symlink_to("p")
    for src in ("out.sh", "out/a.sh"):
        assert f"{src} is a link out of the profile's folder, to " in refuse_body(folder, src)
    for found in (load_body(folder), load_body(tmp_path / "linked")):
        assert str(found.body) == "true\n"


def test_a_document_in_memory_has_no_files() -> None:
    text = document(template_of("T", body_in("a.sh")))
    with pytest.raises(InvalidProfileError, match="in memory") as caught:
        Repository(use_standard_path=False).load_bytes(text.encode())
    assert str(caught.value.problems[0]).startswith("<memory>:4:67: error OSP111 ")


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b"a\nb\xff", "a.sh:2:2: error OSP111 a profile is UTF-8"),
        (b"\xff\xfea\x00", "a.sh:1:1: error OSP111 a profile is UTF-8"),
        (b"a\n\0", "a.sh:2:1: error OSP111 a profile is UTF-8 text, and this is a NUL byte"),
        (b"a\n\xed\xa0\x80", "a.sh:2:1: error OSP111 a profile is UTF-8"),
        (b"ab\x1bc\x01", "a.sh:1:3: error OSP111 a profile cannot contain the character U+001B"),
        ("é\uffff".encode(), "a.sh:1:2: error OSP111 a profile cannot contain the character U+FFFF"),
    ],
)
def test_a_wrong_byte_is_reported_in_the_file(tmp_path: Path, data: bytes, place: str) -> None:
    (tmp_path / "a.sh").write_bytes(data)
    assert refuse_body(tmp_path).startswith(place)


def test_the_files_of_a_document_are_bounded_together(tmp_path: Path) -> None:
    (tmp_path / "half").write_bytes(b"x" * (tree.MAX_BYTES // 2))
    (tmp_path / "rest").write_bytes(b"x" * (tree.MAX_BYTES // 2 + 1))
    invocations = body_in("half"), body_in("half", name="A")
    assert len(load(tmp_path, template_of("T", *invocations)).templates["T"].invocations) == 2
    told = refuse(tmp_path, template_of("T", body_in("half"), body_in("rest", name="A")))
    assert "with rest, the files of this document have more than 8388608 bytes" in told
    (tmp_path / "endless").write_bytes(b"")
    os.truncate(tmp_path / "endless", 2**40)  # sparse
    assert "more than 8388608 bytes" in refuse_body(tmp_path, "endless")


def test_problems_are_in_the_order_of_the_document(tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_bytes(b"x" * 5000 + b"\xff")
    first = template_of("T", body_in("a.sh"), body_in("b.sh", name="A"))
    with pytest.raises(InvalidProfileError) as caught:
        load(tmp_path, first + "\n" + template_of("T", invocation("true")))
    places = [str(problem).partition(" error")[0].rpartition("/")[2] for problem in caught.value.problems]
    assert places == ["a.sh:1:5001:", "p.xml:4:145:", "p.xml:5:21:"]


def test_files_belong_to_the_folder_of_their_document(tmp_path: Path) -> None:
    for name, extends in (("base", None), ("child", "base")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.sh").write_text(f"{name}\n")
        content = template_of(name.upper(), body_in("a.sh"))
        (tmp_path / name / "profile.xml").write_text(document(content, name=name, extends=extends))
    found = Repository([tmp_path], use_standard_path=False).load("child")
    assert [incarnate(found, t).text for t in ("BASE", "CHILD")] == ["base\n", "child\n"]


def test_the_working_directory_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.sh").write_text("true\n")
    (tmp_path / "p.xml").write_text(document(template_of("T", body_in("a.sh"))))
    monkeypatch.chdir(tmp_path)
    for path in ("p.xml", "./p.xml", f"../{tmp_path.name}/p.xml"):
        found = Repository(use_standard_path=False).load_file(path).templates["T"].invocations[""].body
        assert found is not None
        assert found.source.name == path.replace("p.xml", "a.sh")


def test_a_written_profile_has_all_texts(tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_bytes(b"x ]]> <F>\r\n&\n\n")
    content = template_of("T", body_in("a.sh"), field("F", value_in("a.sh")))
    written = profile_to_xml(load(tmp_path, content + template_of("S", script_in("a.sh"))))
    assert "ext:src" not in written
    read_again = Repository(use_standard_path=False).load_bytes(written.encode())
    assert profile_to_xml(read_again) == written
    assert read_again.templates["T"].fields["F"].value == "x ]]> <F>\n&\n"
    included = read_with_texts(tmp_path / "p.xml")
    assert "ext:src" not in included
    assert profile_to_xml(Repository(use_standard_path=False).load_bytes(included.encode())) == written


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(src=st.text(st.sampled_from("ab./\\~ \t\n\0é-_$"), max_size=12))
@example("b/out/a")
@example("out/../b/a")
@example("outer/secret")
def test_no_name_leads_out_of_the_folder(tmp_path: Path, src: str) -> None:
    folder = tmp_path / "p"
    if not folder.exists():
        (folder / "b").mkdir(parents=True)
        for secret in (tmp_path / "a", tmp_path / "b"):
            secret.write_text("secret")
        for name in ("a", "b/a", "b/b"):
            (folder / name).write_text("open")
        (folder / "b/out").symlink_to("../..")
        (folder / "outer").symlink_to(tmp_path)
    shown = src.replace("\0", "").replace("\n", "&#10;").replace("\t", "&#9;")
    (folder / "p.xml").write_text(document(template_of("T", body_in(shown))))
    document_read, problems = parse_with_problems("p.xml", (folder / "p.xml").read_bytes(), str(folder))
    body = document_read.templates["T"].invocations[""].body
    outcome = ([p.code for p in problems], str(body))
    files = len(shown.replace("&#10;", " ").replace("&#9;", " ").split())
    assert outcome in ((["OSP111"], ""), ([], "open" * files))
