"""`incarnate trace`: its text, its JSON, its errors; a value never disturbs the terminal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import check_colours, error_in_full, on_a_terminal

if TYPE_CHECKING:
    from pytest_regressions.file_regression import FileRegressionFixture

    from tests.cli.conftest import Incarnate

PROFILES = Path(__file__).parent / "profiles"
CONTEXT = ("--context", "USER_NAME=alice", "--context", "WORKING_DIRECTORY=/w/it's")
SITE = ("-p", "site", "--profiles", ".", *CONTEXT)
GOLDEN = {
    "start": ("START", *SITE, "-s", "QUEUE=fast", "-s", "WALLTIME=90", "-s", "NODES=all", "-s", "EXECUTABLE=it's"),
    "defaults": ("START", *SITE),
    "static_script": ("COUNT", *SITE, "-s", "TEXT=it's"),
    "variation": ("ASK", *SITE, "-v", "MINE"),
    "field": ("START", *SITE, "-s", "WALLTIME=3600", "-f", "WALLTIME", "-f", "QUEUE"),
    "hostile": ("COUNT", *SITE, "-s", "TEXT=\x1b[31mred\x07\n\r\t'\u202e[bold]\x9b2J</b>\u2028" + "x" * 100),
}  # fmt: skip


@pytest.fixture(autouse=True)
def profiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in the folder of the profiles: locations are relative to it."""
    monkeypatch.chdir(PROFILES)


@pytest.mark.parametrize("case", GOLDEN)
def test_golden(incarnate: Incarnate, file_regression: FileRegressionFixture, case: str) -> None:
    ended = incarnate("render", "--trace", *GOLDEN[case])
    assert (ended.code, ended.err) == (0, "")
    file_regression.check(ended.out, basename=f"trace_{case}", encoding="utf-8")
    assert all(len(line) <= 80 and line.isprintable() for line in ended.out.splitlines())


def test_no_request_disturbs_a_bundled_profiles_trace(incarnate: Incarnate) -> None:
    ended = incarnate(
        "START", "--trace", "-p", "slurm", "-s", "JOB_NAME=a", "-s", "EXECUTABLE=\x1b]0;x\x07" * 40
    )
    assert ended.code == 0
    assert all(line.isprintable() for line in ended.out.splitlines())
    assert "  default   '' (overridden)" in ended.out


def test_json(incarnate: Incarnate) -> None:
    ended = incarnate("render", "--trace", "START", *SITE, "-s", "QUEUE=fast", "-s", "WALLTIME=90", "--json")
    parsed = json.loads(ended.out)
    assert (parsed["profile"], parsed["template"], parsed["variation"], parsed["warnings"]) == (
        "site",
        "START",
        "",
        [],
    )
    by_name = {f["name"]: f for f in parsed["fields"]}
    queue = by_name["QUEUE"]
    assert queue == {
        "name": "QUEUE",
        "place": "./site.xml:6:5",
        "origin": "request",
        "given": "fast",
        "value": "short",
        "offers": [
            {"origin": "request", "value": "fast", "place": None},
            {"origin": "default", "value": "fast", "place": "./site.xml:9:20"},
        ],
        "tag": {"name": "fast", "value": "short", "place": "./site.xml:8:7"},
        "choice": None,
        "links": [],
        "checks": [{"rule": "pattern", "allows": "[a-z]*", "place": "./site.xml:6:42"}],
        "uses": [
            {
                "template": "JOB_PROLOGUE",
                "variation": "",
                "written": "<QUEUE/(?s)^(.+)\\z/#PBS -q $1>",
                "place": "./base.xml:28:1",
                "derived": None,
                "pattern": "(?s)^(.+)\\z",
                "replacement": "#PBS -q $1",
                "before": "short",
                "after": "#PBS -q short",
                "text": "JOB_SCRIPT",
                "line": 2,
                "column": 1,
                "script_line": 3,
                "script_column": 1,
            }
        ],
    }
    assert [u["derived"] for u in by_name["WALLTIME"]["uses"]] == ["00:01:30", "2"]
    assert by_name["JOB_SCRIPT"]["origin"] == "engine"
    script = incarnate("START", *SITE, "-s", "QUEUE=fast", "-s", "WALLTIME=90").out
    assert by_name["WORKING_DIRECTORY"]["uses"][0]["after"] in script


def test_a_hostile_value_in_json_is_escaped(incarnate: Incarnate) -> None:
    ended = incarnate("render", "--trace", *GOLDEN["hostile"], "--json")
    assert all(line.isprintable() for line in ended.out.splitlines())
    text = next(f for f in json.loads(ended.out)["fields"] if f["name"] == "TEXT")
    assert text["value"] == GOLDEN["hostile"][-1].removeprefix("TEXT=")


def test_a_fixed_value_overrides_the_request_with_a_warning(incarnate: Incarnate, tmp_path: Path) -> None:
    file = tmp_path / "p.xml"
    text = (PROFILES / "base.xml").read_text().replace('name="SETUP" isSettable="false"', 'name="SETUP"')
    file.write_text(text)
    ended = incarnate("render", "--trace", "START", "-p", str(file), "-s", "SETUP=x", "-f", "SETUP")
    assert ended.code == 0
    assert ended.err == f"warning: {file}:16:18: field SETUP has a fixed Value, which overrides the request\n"
    assert "  fixed     'umask 077\\nset -eu'" in ended.out


def test_shell_is_folded_unless_asked_for(incarnate: Incarnate, tmp_path: Path) -> None:
    file = tmp_path / "p.xml"
    text = (PROFILES / "base.xml").read_text().replace("set -eu", "set -e\nset -u\ncd /")
    file.write_text(text)
    words = ("START", "--trace", "-p", str(file), "-s", "WALLTIME=7")
    out = incarnate(*words).out
    *_, last = out.rstrip("\n").split("\n\n")
    assert " ".join(last.split()) == f"SETUP = ... 4 lines {file}:16:18"
    assert "<SETUP>" not in out
    for full in (("--full",), ("-f", "SETUP")):
        assert "  used      <SETUP>" in incarnate(*words, *full).out
    assert "4 lines" not in incarnate(*words, "--full").out


def test_the_request_and_the_directives_come_first(incarnate: Incarnate, tmp_path: Path) -> None:
    file = tmp_path / "p.xml"
    prefix = '<idb:Field name="DIRECTIVE_PREFIX" isSettable="false"><idb:Value>#PBS</idb:Value></idb:Field>'
    ending = "<SETUP>\n]]></idb:Body></idb:Invocation>\n"
    text = (PROFILES / "base.xml").read_text()
    file.write_text(text.replace(ending, ending + prefix))
    out = incarnate("render", "--trace", "START", "-p", str(file), "-s", "NODES=2").out
    names = [block.split(" ", 1)[0] for block in out.split("\n\n")[1:]]
    assert names[:3] == ["NODES", "QUEUE", "WALLTIME"]
    assert "\n  directive line 3:1 (JOB_SCRIPT 2:1): #PBS -q long\n" in out
    assert out.count("  directive ") == 2  # not the comment with the minutes


ERRORS = {
    "no profile": (("START",), 2),
    "unknown profile": (("START", "-p", "sit"), 2),
    "unknown template": (("STRAT", *SITE), 2),
    "unknown variation": (("ASK", *SITE, "-v", "ALL"), 2),
    "unknown field": (("START", *SITE, "-f", "QEUE"), 2),
    "a field of no template": (("START", *SITE, "-s", "X=1"), 1),
    "out of limits": (("START", *SITE, "-s", "NODES=21"), 1),
    "against the pattern": (("START", *SITE, "-s", "QUEUE=\x1bX"), 1),
    "no value": (("ASK", *SITE), 1),
    "no equals sign": (("START", *SITE, "-s", "QUEUE"), 2),
    "a bad profile": (("START", "-p", "/dev/null"), 3),
}


def test_each_error_in_full(incarnate: Incarnate, file_regression: FileRegressionFixture) -> None:
    outputs = [
        error_in_full(incarnate, ("render", "--trace", *words), code) for words, code in ERRORS.values()
    ]
    file_regression.check("\n".join(outputs), basename="trace_errors", encoding="utf-8")


def test_colours_on_a_terminal_only() -> None:
    assert "\x1b[1mTEXT\x1b[0m" in check_colours("render", "--trace", *GOLDEN["hostile"])
    assert "\x1b" not in on_a_terminal("render", "--trace", *GOLDEN["start"], TERM="dumb")


def test_a_narrow_terminal() -> None:
    out = on_a_terminal("render", "--trace", *GOLDEN["start"], COLUMNS="40", NO_COLOR="1")
    assert max(map(len, out.splitlines())) <= 40 + len(" (JOB_SCRIPT 2:1)")
    assert "......" not in out


def test_an_empty_value_has_no_directive(incarnate: Incarnate) -> None:
    out = incarnate("render", "--trace", "START", "-p", "slurm", *CONTEXT, "-s", "CPUS=2", "-f", "NODES").out
    assert "            no directive (empty)\n" in out
    assert "#SBATCH --cpus" not in out
