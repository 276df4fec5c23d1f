"""`incarnate show`: directives and fields come first, and shell is folded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from osprofile.jobs.fields import JOB_FIELDS
from osprofile.profile.data_directories import get_bundled_directory
from osprofile.profile.repository import Repository

if TYPE_CHECKING:
    from tests.cli.conftest import Incarnate

BUNDLED = [path.parent.name for path in sorted(Path(get_bundled_directory()).glob("*/profile.xml"))]
PROFILE = r"""<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" xmlns:idb="http://gpe.intel.com/idb"
 xmlns:ext="urn:osprofile:extension" name="p" extends="linux">
<osp:UspaceRoot>/w</osp:UspaceRoot><osp:Delimiter>/</osp:Delimiter>
<idb:Template>
<idb:Field name="LICENSES" ext:pattern="[a-z]*"><idb:Description>What to buy. Or not.</idb:Description><idb:Default/></idb:Field>
<idb:Field name="EXTRA" isSettable="false"><idb:Value>#TOY -x</idb:Value></idb:Field>
<idb:Field name="ACCOUNT" isSettable="false"><idb:Value>phys</idb:Value></idb:Field>
<idb:Field name="LONG" isSettable="false"><idb:Value>one
two
three
four</idb:Value></idb:Field>
</idb:Template>
<idb:Template name="JOB_PROLOGUE"><idb:Description>The beginning. And more.</idb:Description>
<idb:Invocation><idb:Body><![CDATA[#!/bin/sh
#TOY -A <ACCOUNT>
<LICENSES/(?s)^(.+)\z/#TOY -L $1>
<EXTRA>
<LONG>
@]]></idb:Body></idb:Invocation>
<idb:Field name="DIRECTIVE_PREFIX" isSettable="false"><idb:Value>#TOY</idb:Value></idb:Field>
<idb:Field name="NUMBER"><idb:Min>1</idb:Min><idb:Default>3</idb:Default></idb:Field>
</idb:Template>
</osp:Profile>
""".replace("@", "".join(f"echo {n}\n" for n in range(30)))


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("p.xml").write_text(PROFILE)
    return "p.xml"


def read_sections(out: str) -> dict[str, list[str]]:
    """Return the lines of each section, by its title."""
    return {lines[0]: lines[1:] for lines in (block.split("\n") for block in out.rstrip("\n").split("\n\n"))}


def test_overview(incarnate: Incarnate, toy: str) -> None:
    sections = read_sections(incarnate("show", "-p", toy).out)
    assert [*sections][1:] == [
        "directives",
        "fields that a request may set",
        "fields that only a profile sets",
        "templates for jobs",
        "templates for files",
        "templates for the machine",
        "applications and storages",
    ]
    assert sections["directives"] == [
        "  #TOY -A phys  p.xml:15:1",
        "  #TOY -L <LICENSES>  p.xml:16:1",
        "  #TOY -x  p.xml:6:55",
    ]
    assert (
        "  field LICENSES default '', pattern [a-z]*  p.xml:5:1" in sections["fields that a request may set"]
    )
    assert "      What to buy." in sections["fields that a request may set"]
    assert "  field ACCOUNT (not settable) = 'phys'  p.xml:7:1" in sections["fields that only a profile sets"]
    assert "  field LONG (not settable): 4 lines  p.xml:8:54" in sections["fields that only a profile sets"]
    full = incarnate("show", "-p", toy, "--full").out
    assert "  field LONG (not settable): 4 lines  p.xml:8:54\n      | one\n      | two\n" in full
    assert "      What to buy. Or not.\n" in full


def test_template(incarnate: Incarnate, toy: str) -> None:
    out = incarnate("show", "JOB_PROLOGUE", "-p", toy).out
    head, fields, directives, body = out.rstrip("\n").split("\n\n")
    assert head.split("\n")[1] == "    The beginning. And more."
    assert fields.split("\n") == [
        "fields",
        "  field NUMBER default '3', at least 1  p.xml:51:1",
        "  field LICENSES default '', pattern [a-z]*  p.xml:5:1",
        "      What to buy.",
        "  field DIRECTIVE_PREFIX (not settable) = '#TOY'  p.xml:50:1",
        "  field ACCOUNT (not settable) = 'phys'  p.xml:7:1",
        "  field EXTRA (not settable) = '#TOY -x'  p.xml:6:1",
        "  field LONG (not settable): 4 lines  p.xml:8:54",
        "      | one",
        "      ... 3 more lines (--full shows them)",
    ]
    assert directives.split("\n")[0] == "directives"
    title, *lines = body.split("\n")
    assert title == "variation ''  body  p.xml:14:36"
    assert lines[0] == "    | #!/bin/sh"
    assert lines[-1] == "    ... 15 more lines (--full shows them)"
    assert len(lines) == 21
    full = incarnate("show", "JOB_PROLOGUE", "-p", toy, "--full").out
    assert full.endswith("    | echo 28\n    | echo 29\n")


def test_a_sites_own_shell_is_folded_to_its_first_line(incarnate: Incarnate, toy: str) -> None:
    setup = '<idb:Field name="SITE_SETUP" isSettable="false"><idb:Value>ulimit -c 0\none\ntwo\nthree</idb:Value></idb:Field>'
    Path(toy).write_text(PROFILE.replace("<idb:Template>\n", f"<idb:Template>\n{setup}\n", 1))
    lines = read_sections(incarnate("show", "-p", toy).out)["fields that only a profile sets"]
    start = lines.index("  field SITE_SETUP (not settable): 4 lines  p.xml:5:60")
    assert lines[start + 1 : start + 3] == [
        "      | ulimit -c 0",
        "      ... 3 more lines (--full shows them)",
    ]
    assert "      | three\n" in incarnate("show", "-p", toy, "--full").out


def test_a_field_that_no_template_uses_is_left_out(incarnate: Incarnate, toy: str) -> None:
    title = "fields that a request may set"
    before = read_sections(incarnate("show", "-p", toy).out)[title]
    Path(toy).write_text(
        PROFILE.replace("</osp:Profile>", '<idb:Template name="SIGNAL" ext:absent="true"/></osp:Profile>')
    )
    after = read_sections(incarnate("show", "-p", toy).out)[title]
    left_out = [line.split()[1] for line in before if line not in after and line.startswith("  field ")]
    assert left_out == ["SIGNAL,"]


@pytest.mark.parametrize("name", BUNDLED)
def test_a_bundled_profiles_shell_is_folded(incarnate: Incarnate, name: str) -> None:
    """Each field is on one line, and no line of a long value is in the overview."""
    lines = incarnate("show", "-p", name).out.splitlines()
    fields = Repository([]).load(name).global_fields
    shown_fields = [line.split()[1].rstrip(",") for line in lines if line.startswith("  field ")]
    assert sorted(shown_fields) == sorted(set(shown_fields))
    assert fields.keys() - shown_fields <= JOB_FIELDS  # those that this profile does not use
    assert fields.keys() >= {*shown_fields}
    shown = [line.strip().removeprefix("| ") for line in lines]
    for field in fields.values():
        for text in (field.value or "").split("\n")[3:]:
            assert text.strip() not in shown or len(text) < 5
