"""How the commands show fields that depend on other fields (`ext:when`, `ext:requires`)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.strategies import default, document, field, fixed, template

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Incarnate

PIECE = field("PIECE", fixed("a\nb\nc\nd\ne"), 'isSettable="false" ext:when="FLAG"')
KIND = field("KIND", default(""), 'ext:requires="FLAG"')


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Return a profile whose template T has a piece that applies with FLAG, and a field that needs FLAG."""
    made = tmp_path / "p.xml"
    made.write_text(document(template("T", "<PIECE>\nrun <KIND>\n", PIECE, KIND, field("FLAG", default("")))))
    return str(made)


def test_trace(incarnate: Incarnate, path: str) -> None:
    def trace(*words: str) -> str:
        return " ".join(incarnate("render", "--trace", "T", "-p", path, *words).out.split())

    assert f" PIECE is empty, as FLAG is {path}:" in trace()
    assert f" PIECE = ... 5 lines {path}:" in trace("-s", "FLAG=x")
    assert f" when FLAG is empty, and so is this field {path}:" in trace("-f", "PIECE")
    assert f" when FLAG has a value {path}:" in trace("-f", "PIECE", "-s", "FLAG=x")
    assert f" when PIECE depends on it {path}:" in trace("-f", "FLAG")
    assert f" requires KIND depends on it {path}:" in trace("-f", "FLAG")
    assert f" requires FLAG {path}:" in trace("-f", "KIND")
    fields = json.loads(incarnate("render", "--trace", "T", "-p", path, "--json").out)["fields"]
    (link,) = next(f["links"] for f in fields if f["name"] == "PIECE")
    assert link.pop("place").startswith(path)
    assert link == {"kind": "when", "field": "PIECE", "depends_on": "FLAG", "met": False}


def test_show_and_fields(incarnate: Incarnate, path: str) -> None:
    shown = incarnate("show", "T", "-p", path).out
    assert "field PIECE (not settable): 5 lines, when FLAG has a value  " in shown
    assert "field KIND default '', requires FLAG  " in shown
    assert incarnate("show", "--fields", "T", "-p", path).out == "FLAG = ''\nKIND = ''\n    requires FLAG\n"
    listed = json.loads(incarnate("show", "--fields", "T", "-p", path, "--all", "--json").out)
    assert [(f["name"], f["when"], f["requires"]) for f in listed] == [
        ("FLAG", None, None),
        ("KIND", None, "FLAG"),
        ("PIECE", "FLAG", None),
    ]


def test_a_refused_request(incarnate: Incarnate, path: str) -> None:
    ended = incarnate("T", "-p", path, "-s", "KIND=x")
    assert ended.code == 1
    assert "field KIND needs field FLAG\n" in ended.err
    assert "    hint: give FLAG a value, too, or leave KIND out\n" in ended.err
    ended = incarnate("START", "-p", "linux", "-s", "JOB_ID=1-2-00000000")
    assert ended.code == 1
    assert "field JOB_ID is not used by template START of profile linux\n" in ended.err
    assert (
        "hint: this profile does nothing with it: leave it out, or use a profile whose batch system has it"
        in ended.err
    )
