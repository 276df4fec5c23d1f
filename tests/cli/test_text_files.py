"""The commands over a profile with texts in files (ext:src): they show the file, or its text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from osprofile import Repository
from osprofile.page.labels import build_labels
from tests.page.conftest import served
from tests.strategies import document

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Incarnate

CONTENT = """\
<idb:Template><idb:Field name="PLACE"><idb:Value ext:src="place.txt"/></idb:Field></idb:Template>
<idb:Template name="GREET">
  <idb:Invocation><idb:Body ext:src="scripts/greet.sh"/></idb:Invocation>
  <idb:Field name="NAME" ext:pattern="[a-z]+"><idb:Default>you</idb:Default></idb:Field>
</idb:Template>
<idb:Template name="COUNT"><idb:Invocation>
  <idb:StaticScript fileName="count.sh" arguments="" ext:src="scripts/count.sh"/>
</idb:Invocation></idb:Template>
"""
GREET = "# greets\necho '<NAME/'/'\\\\''>' '<PLACE>'\n"


@pytest.fixture(autouse=True)
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in the folder above that of the profile `site`, which extends linux."""
    folder = tmp_path / "site"
    (folder / "scripts").mkdir(parents=True)
    (folder / "profile.xml").write_text(document(CONTENT, name="site", extends="linux"))
    (folder / "place.txt").write_text("here\n")
    (folder / "scripts/greet.sh").write_text(GREET)
    (folder / "scripts/count.sh").write_text("#!/bin/sh\nwc -l\n")
    monkeypatch.chdir(tmp_path)
    return folder


def test_the_script_is_rendered_and_traced_to_the_file(incarnate: Incarnate) -> None:
    assert incarnate("GREET", "-p", "site/").out == "# greets\necho 'you' 'here'\n"
    ended = incarnate("render", "--trace", "GREET", "-p", "site/", "--json")
    assert (ended.code, ended.err) == (0, "")
    fields = {f["name"]: f for f in json.loads(ended.out)["fields"]}
    assert [use["place"] for use in fields["NAME"]["uses"]] == ["site/scripts/greet.sh:2:7"]
    assert [use["place"] for use in fields["PLACE"]["uses"]] == ["site/scripts/greet.sh:2:24"]
    assert [source["place"] for source in fields["PLACE"]["offers"]] == ["site/place.txt:1:1"]
    assert "site/scripts/greet.sh:2:7" in incarnate("render", "--trace", "GREET", "-p", "site/").out


def test_errors_of_a_body_are_in_the_file(incarnate: Incarnate, site: Path) -> None:
    (site / "scripts/greet.sh").write_text("true\n  <NAME/(/x>\n")
    ended = incarnate("GREET", "-p", "site/")
    assert (ended.code, ended.out) == (3, "")
    assert ended.err.startswith("site/scripts/greet.sh:2:10: error OSP401 ")
    (site / "scripts/greet.sh").write_text("true\n  <NMAE>\n")
    ended = incarnate("GREET", "-p", "site/")
    assert "site/scripts/greet.sh:2:3: " in ended.err
    assert ended.code == 1
    assert "site/scripts/greet.sh:2:3: error OSP301 " in incarnate("lint", "site").out


def test_a_missing_file_is_reported_by_each_command(incarnate: Incarnate, site: Path) -> None:
    (site / "place.txt").unlink()
    for words in (
        ["GREET", "-p"],
        ["show", "-p"],
        ["render", "--trace", "GREET", "-p"],
        ["lint"],
        ["check"],
        ["page", "-p"],
    ):
        ended = incarnate(*words, "site/")
        assert "site/profile.xml:4:59: error OSP111 site/place.txt cannot be read" in ended.out + ended.err
        assert ended.code != 0


def test_a_shown_profile_has_the_texts(incarnate: Incarnate, tmp_path: Path) -> None:
    written = incarnate("show", "--xml", "-p", "site/").out
    assert "ext:src" not in written
    (tmp_path / "alone.xml").write_text(written)
    assert incarnate("GREET", "-p", "alone.xml").out == "# greets\necho 'you' 'here'\n"
    ended = incarnate("diff", "site/", "alone.xml")
    assert ended.out.startswith("site/ -> alone.xml: no difference\n")


def test_diff_names_the_files(incarnate: Incarnate, site: Path, tmp_path: Path) -> None:
    (tmp_path / "alone.xml").write_text(incarnate("show", "--xml", "-p", "site/").out)
    (site / "place.txt").write_text("there\n")
    (site / "scripts/count.sh").write_text("#!/bin/sh\nwc -c\n")
    out = incarnate("diff", "alone.xml", "site/").out
    assert "site/place.txt:1:1" in out
    assert "site/scripts/count.sh:1:1" in out


def test_check_sees_a_change_of_a_file(incarnate: Incarnate, site: Path) -> None:
    assert incarnate("check", "site", "--add").code == 0
    assert incarnate("check", "site").code == 0
    (site / "scripts/greet.sh").write_text(GREET.replace("echo", "printf"))
    ended = incarnate("check", "site")
    assert ended.code == 1
    assert "printf" in ended.out


def test_a_static_script_is_deployed_from_its_file(incarnate: Incarnate, site: Path) -> None:
    first = incarnate("COUNT", "-p", "site/").out
    (site / "scripts/count.sh").write_text("#!/bin/sh\nwc -c\n")
    second = incarnate("COUNT", "-p", "site/").out
    assert first != second
    assert "wc -c" in incarnate("render", "--deploy", "-p", "site/").out


def test_a_profile_may_extend_one_with_files(incarnate: Incarnate, tmp_path: Path) -> None:
    ended = incarnate("new", "mine", "--extends", "site", "--profiles", ".", "--directory", ".")
    assert ended.code == 0, ended.err
    assert incarnate("GREET", "-p", "mine", "--profiles", str(tmp_path)).out.endswith("echo 'you' 'here'\n")


def test_a_page_names_a_file_by_its_profile(site: Path) -> None:
    profile = Repository().load_file(site)
    body = profile.templates["GREET"].invocations[""].body
    assert body is not None
    labels = build_labels(profile)
    assert labels.format_location(body.get_location(10)) == "site/scripts/greet.sh:2"
    assert labels.replace_paths(f"at {body.get_location()}") == "at site/scripts/greet.sh:1:1"


def test_the_page_is_made_again_when_a_file_changes(site: Path, tmp_path: Path) -> None:
    with served("-p", str(site)) as running:
        first = running.ask(template="GREET")
        assert first["text"] == "# greets\necho 'you' 'here'\n"
        (site / "place.txt").write_text("there\n")
        second = running.ask(template="GREET")
        assert second["text"] == "# greets\necho 'you' 'there'\n"
        assert second["version"] != first["version"]

        (site / "scripts/greet.sh").write_bytes(b"true\n\xff\n")
        error = running.ask(template="GREET")["error"]
        assert error.startswith("the profile does not load: site/scripts/greet.sh:2:1: error OSP111")
        page = running.request("GET / HTTP/1.1")[1].decode()
        assert "site/scripts/greet.sh:2:1" in page
        assert str(tmp_path) not in page

        # a file that the last profile that was loaded did not have
        (site / "scripts/greet.sh").unlink()
        text = (site / "profile.xml").read_text()
        (site / "profile.xml").write_text(text.replace("scripts/greet.sh", "scripts/new.sh"))
        assert "error OSP111 site/scripts/new.sh cannot be read" in running.ask(template="GREET")["error"]
        (site / "scripts/new.sh").write_text("echo '<NAME>'\n")
        assert running.ask(template="GREET")["text"] == "echo 'you'\n"
        refusal = running.ask(template="GREET", fields={"NAME": "You"})["refusal"]
        assert refusal["place"] == "site/profile.xml:7"
