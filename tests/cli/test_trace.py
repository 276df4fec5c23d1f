"""`incarnate trace`: its text, its JSON, its errors; a value never disturbs the terminal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import check_colours, error_in_full, on_terminal

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


def test_json(incarnate: Incarnate, file_regression: FileRegressionFixture) -> None:
    words = ("START", *SITE, "-s", "QUEUE=fast", "-s", "WALLTIME=90")
    ended = incarnate("render", "--trace", *words, "--json")
    assert (ended.code, ended.err) == (0, "")
    file_regression.check(ended.out, basename="trace", extension=".json", encoding="utf-8")
    fields = {field["name"]: field for field in json.loads(ended.out)["fields"]}
    assert fields["WORKING_DIRECTORY"]["uses"][0]["after"] in incarnate(*words).out


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
    words = ("render", "--trace", *GOLDEN["start"])
    assert "\x1b" not in on_terminal(*words, stream="stdout", TERM="dumb")[1]


def test_a_narrow_terminal() -> None:
    words = ("render", "--trace", *GOLDEN["start"])
    _, out, _ = on_terminal(*words, stream="stdout", columns=40, NO_COLOR="1")
    assert max(map(len, out.splitlines())) <= 40 + len(" (JOB_SCRIPT 2:1)")
    assert "......" not in out


def test_an_empty_value_has_no_directive(incarnate: Incarnate) -> None:
    out = incarnate("render", "--trace", "START", "-p", "slurm", *CONTEXT, "-s", "CPUS=2", "-f", "NODES").out
    assert "            no directive (empty)\n" in out
    assert "#SBATCH --cpus" not in out
