"""The complete output of each verb, and of each of its errors, so that a changed word is noticed.

`trace`, `diff`, `check` and `page` have files of their own.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from osprofile.cli import quick
from osprofile.cli.command_line import load_verb
from osprofile.cli.common import GROUPS, VERBS, list_verbs
from osprofile.cli.options import Option, read_parameters
from osprofile.jobs.fields import OPTION_GROUPS
from osprofile.profile.data_directories import get_bundled_directory, get_schemas_directory
from tests.lint.conftest import PARENTS

if TYPE_CHECKING:
    from pytest_regressions.file_regression import FileRegressionFixture

    from tests.cli.conftest import Incarnate

PROFILES = Path(__file__).parent / "profiles"
BAD = """\
<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" xmlns:idb="http://gpe.intel.com/idb"
  xmlns:ext="urn:osprofile:extension" name="bad" extends="linux">
  <osp:UspaceRoot>/var/tmp</osp:UspaceRoot>
  <osp:Delimiter>/</osp:Delimiter>
  <idb:Template name="HOLD">
    <idb:Invocation><idb:Body><![CDATA[cd /x
hold -w<WHY>
]]></idb:Body></idb:Invocation>
    <!-- lint-waive OSP312: everybody knows -->
    <idb:Field name="WHO" isSettable="false"/>
    <idb:Field name="WHY"/>
  </idb:Template>
</osp:Profile>
"""
LOCAL = """\
<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" xmlns:idb="http://gpe.intel.com/idb"
  xmlns:ext="urn:osprofile:extension" name="local" extends="linux">
  <osp:UspaceRoot>/var/tmp</osp:UspaceRoot>
  <osp:Delimiter>/</osp:Delimiter>
  <idb:Template><idb:Field name="JOB_NAME" ext:pattern="[a-z]*">
    <idb:Description>The name, in small letters.</idb:Description><idb:Default/>
  </idb:Field></idb:Template>
</osp:Profile>
"""
SITE = ("-p", "site", "--profiles", ".")
CONTEXT = ("--context", "USER_NAME=alice", "--context", "WORKING_DIRECTORY=/w/it's")
OUTPUTS: dict[str, list[tuple[str, ...]]] = {
    "render": [
        ("START", *SITE, *CONTEXT, "-s", "QUEUE=fast", "-s", "WALLTIME=90", "-s", "EXECUTABLE=it's"),
        ("render", "START", *SITE, *CONTEXT, "--json"),
        ("ASK", *SITE, "-v", "MINE"),
        ("COUNT", *SITE, "-s", "TEXT=$(id)"),
        ("START", *SITE, *CONTEXT, "-s", "X=1", "--no-strict"),
        ("HELLO", *SITE, "--run"),
        ("render", "--deploy", *SITE),
        ("render", "--deploy", *SITE, "--json"),
    ],
    "show": [
        ("show", *SITE),
        ("show", *SITE, "--json"),
        ("show", *SITE, "--xml"),
        ("show", "START", *SITE),
        ("show", "ASK", *SITE),
        ("show", "--fields", *SITE),
        ("show", "--fields", "START", *SITE),
        ("show", "--fields", "START", *SITE, "--all"),
        ("show", "--fields", "START", *SITE, "--json"),
        ("show", "--fields", "ASK", *SITE, "-v", "MINE"),
        ("show", "--list", "--profiles", "."),
        ("show", "--list", "--profiles", ".", "--json"),
        ("show", "--schemas"),
        ("show", "--schemas", "--json"),
    ],
    "login": [("login", "host.invalid", "--check")],
    "shim": [("shim", "made", *SITE, "--as", "slurm"), ("shim", "made", *SITE, "--as", "pbs", "--json")],
    "lint": [
        ("lint", "site.xml"),
        ("lint", "bad.xml"),
        ("lint", "bad.xml", "--select", "OSP3"),
        ("lint", "bad.xml", "--ignore", "OSP3,OSP6"),
        # of a parent with few scripts: shellcheck needs seconds for those of the bundled one
        ("lint", "bad.xml", "--shellcheck", "--profiles", "parents"),
        ("lint", "bad.xml", "--json"),
        ("lint", "bad.xml", "--format", "github"),
        ("lint", "bad.xml", "--format", "sarif"),
        ("lint", "site.xml", "bad.xml", "broken.xml"),
        ("lint", "--explain"),
        ("lint", "--explain", "OSP601"),
        ("lint", "--explain", "OSP601", "osp605"),
        ("lint", "--explain", "OSP312", "--json"),
    ],
    "new": [("new", "mysite", "-e", "site", "--profiles", "."), ("new", "mine", "-e", "pbs", "-o", "made"),
            ("new", "mysite", "-e", "site", "--profiles", ".", "--json")],
    "job": [("job", "list"), ("job", "list", "--json"), ("job", "list", "--all"), ("job", "list", "--efficiency"),
            ("job", "list", "--efficiency", "--by-name", "--json"), ("job",)],
}  # fmt: skip
ERRORS: dict[str, list[tuple[str, ...]]] = {
    "render": [
        ("HELLO",),
        ("HELLO", "-p", "sit"),
        ("HELLO", "-p", "../linux/x"),
        ("HELLO", "-p", "broken.xml"),
        ("HELO", *SITE),
        ("HELLO", *SITE, "NAME=a b"),
        ("shw", *SITE),
        ("lnt", "a", "b"),
        ("lnit", "x"),
        ("lnit",),
        ("jobs",),
        ("jbo", "submit", "x"),
        ("submit", "-p", "linux"),
        ("lits", "-p", "linux"),
        ("help", "job", "kill"),
        ("frobnicate",),
        ("help", "jbo"),
        ("help", "job", "sumbit"),
        ("ASK", *SITE, "-v", "MIN"),
        ("START", *SITE, "-a", "Exe/2"),
        ("START", *SITE, "-a", "Executable/2"),
        ("START", *SITE, "-s", "QUEUE"),
        ("START", *SITE, "-s", "NODES=21"),
        ("START", *SITE, "-s", "NODES=many"),
        ("START", *SITE, "-s", "WALLTIME=-5"),
        ("START", *SITE, "-s", "WALLTIME=05"),
        ("START", *SITE, "-s", "WALLTIME=0x5"),
        ("START", *SITE, "-s", "QUEUE=a;id"),
        ("START", *SITE, "-s", "QEUE=a"),
        ("START", *SITE, "-s", "USER_NAME=root"),
        ("START", *SITE, "-s", "SETUP=1"),
        ("ASK", *SITE),
        ("ASK", *SITE, "--set-file", "JOB_ID=none"),
        ("ASK", *SITE, "--set-file", "JOB_ID=latin"),
        ("ASK", *SITE, "--fields", "site.xml"),
        ("ASK", *SITE, "--fields", "list.json"),
        ("ASK", *SITE, "--fields", "twice.json"),
        ("ASK", *SITE, "--fields", "nested.json"),
        ("ASK", *SITE, "--run"),
        ("HELLO", *SITE, "--nonsense"),
        ("render", "--deploy"),
        ("render", "--deploy", "-p", "nope"),
        ("render", "--deploy", *SITE, "--context", "X"),
        ("render", "--deploy", *SITE, "--set", "NODES=3"),
        ("HELLO", *SITE, "--field", "NAME"),
    ],
    "show": [
        ("show",),
        ("show", "-p", "nope"),
        ("show", "STRAT", *SITE),
        ("show", "-p", "loop.xml"),
        ("show", *SITE, "--xml", "--json"),
        ("show", "--list", "--fields"),
        ("show", *SITE, "--all"),
        ("show", "--fields", "STRAT", *SITE),
        ("show", "--fields", "START", *SITE, "-v", "X"),
        ("show", "--fields", "START", *SITE, "-a", "X"),
        ("show", "--fields", "START"),
        ("show", "--list", "x"),
        ("show", "--list", "--profiles", "none"),
    ],
    "login": [("login",), ("login", "host", "-p", "nope")],
    "shim": [
        ("shim",),
        ("shim", "made", *SITE),
        ("shim", "made", *SITE, "--as", "lsf"),
        ("shim", "made", "-p", "nope", "--as", "pbs"),
        ("shim", "bad.xml", *SITE, "--as", "pbs"),
        ("shim", "there", *SITE, "--as", "slurm", "--host", ""),
    ],
    "lint": [
        ("lint",),
        ("lint", "nope"),
        ("lint", "none/profile.xml"),
        ("lint", "bad.xml", "--format", "serif"),
        ("lint", "bad.xml", "--format", "xml"),
        ("lint", "bad.xml", "--format", "github", "--json"),
        ("lint", "bad.xml", "--select", "OPS601"),
        ("lint", "bad.xml", "--ignore", ""),
        ("lint", "bad.xml", "--ignore", "OSP601,"),
        ("lint", "bad.xml", "--ignore", "SC20867"),
        ("lint", "bad.xml", "--ignore", "\x1b[31m"),
        ("lint", "bad.xml", "--select", ""),
        ("lint", "--explain", "OSP606x"),
        ("lint", "--explain", "OSP601", "SC2086"),
        ("lint", "--explain", "\x1b[31m"),
        ("lint", "--explain", "OSP601", "--ignore", "OSP6"),
    ],
    "new": [
        ("new", "x"),
        ("new", "-e", "pbs"),
        ("new", "x", "-e", "pbz"),
        ("new", "../x", "-e", "pbs"),
        ("new", "x", "-e", "../pbs"),
        ("new", "x", "y", "-e", "pbs"),
        ("new", "x", "-e", "broken", "--profiles", "."),
        ("new", "x", "-e", "pbs", "-o", "bad.xml"),
        ("new", "there", "-e", "pbs", "-o", "."),
    ],
    "job": [
        ("job", "stauts"),
        ("job", "sumbit"),
        ("job", "kill", "1"),
        ("job", "rm", "1"),
        ("job", "stat", "1"),
        ("job", "submit", "-J", "x", "true"),
        ("job", "submit", "-o", "f", "true"),
        ("job", "submit", "-p", "linux", "--account=a", "true"),
        ("job", "submit", "--partition", "p", "true"),
        ("job", "submit", "--time=10", "true"),
        ("job", "submit", "--time", "90", "true"),
        ("job", "submit", "--mem=1G", "true"),
        ("job", "submit", "--ntasks", "4", "true"),
        ("job", "submit", "-W", "10", "true"),
        ("job", "submit", "-e", "errors", "true"),
        ("job", "submit", "-p", "linux", "--host=", "true"),
        ("job", "submit", "-p", "linux", "--host=:22", "true"),
        ("job", "submit"),
        ("job", "submit", "-p", "nope", "x"),
        ("job", "submit", *SITE, "--walltime", "soon", "x"),
        ("job", "submit", "-p", "linux", "--memory", "lots", "x"),
        ("job", "submit", "-p", "linux", "--gpus", "2", "echo"),
        ("job", "submit", "-p", "linux", "--gpus", "2", "./job.sh"),
        ("job", "submit", "-p", "linux", "--gpus", "2", "nosuch"),
        ("job", "submit", "-p", "linux", "--cluster", "alpha", "echo"),
        ("job", "submit", "-p", "linux", "dos.sh"),
        ("job", "help", "sumbit"),
        ("job", "submit", "-p", "linux", "--array", "", "x"),
        ("job", "submit", "-p", "sites/local.xml", "--set", "JOB_NAME=a;id", "echo"),
        ("job", "submit", "-p", "linux", "--from", "refused.csv", "echo"),
        ("job", "submit", "-p", "linux", "--from", "malformed.csv", "echo"),
        ("job", "submit", "-p", "linux", "--from", "malformed.jsonl", "--wait", "echo"),
        ("job", "submit", "-p", "linux", "--from", "latin", "echo"),
        ("job", "submit", "-p", "linux", "--from", "nosuch.csv", "echo"),
        ("job", "submit", "-p", "linux", "--from", "refused.csv", "--array", "1-2", "echo"),
        ("job", "status", "4711"),
        ("job", "wait", "4711", "--timeout", "x"),
        ("job", "forget", "4711"),
        *(("job", verb) for verb in ("cancel", "fetch", "hold", "output", "rerun", "resume", "show", "wait")),
        ("job", "output", "7", "-n", "x"),
        ("job", "show", "--script", "--json", "7"),
        ("job", "rerun", "7", "--failed", "refused.csv"),
        ("job", "rerun", "--failed", "refused.csv"),
        ("job", "submit", "--wait", "true"),
        ("job", "list", "--state", "FAILD,LOST"),
        ("job", "list", "--state", ""),
        ("job", "list", "--by-name"),
        ("job", "list", "--efficiency", "--watch"),
        ("job", "list", "--store", "bad.xml"),
    ],
}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in a folder with two profiles that are right, and some that are not."""
    folder = tmp_path / "here"
    shutil.copytree(PROFILES, folder)
    monkeypatch.chdir(folder)
    (folder / "bad.xml").write_text(BAD)
    (folder / "broken.xml").write_text("<a><b></a>")
    (folder / "loop.xml").write_text(BAD.replace('name="bad"', 'name="loop"').replace('"linux"', '"loop"'))
    (folder / "job.sh").write_text("#!/bin/sh\n#SBATCH --time=10 --nodes=2\ntrue\n")
    (folder / "dos.sh").write_text("#!/bin/sh\r\ntrue\r\n")
    (folder / "latin").write_bytes(b"\xe9")
    (folder / "list.json").write_text("[1]")
    (folder / "twice.json").write_text('{"A": 1, "A": 2}')
    (folder / "nested.json").write_text('{"JOB_ID": [1]}')
    (folder / "refused.csv").write_text("name,gpus,walltime\nfirst,1,\nthe second,,0\n\nthird,,1h\n")
    (folder / "malformed.csv").write_text('name,walltime\nfirst,soon\nsecond,10:00\n"third"x\n')
    (folder / "malformed.jsonl").write_text('{"nme": "first"}\n{"gpus": 1.5}\n{"name": "x"\n')
    shutil.copytree(PARENTS, folder / "parents")
    parent = (PARENTS / "base.xml").read_text().replace('name="base"', 'name="linux"')
    (folder / "parents/linux.xml").write_text(parent)
    (folder / "sites").mkdir()
    (folder / "sites/local.xml").write_text(LOCAL)
    (folder / "there").mkdir()
    (folder / "there/profile.xml").write_text("mine")
    (folder / "there/catalog.xml").write_text("mine")


def run_verb(incarnate: Incarnate, home: Path, words: tuple[str, ...]) -> str:
    """Return a command line with its exit code and complete output."""
    ended = incarnate(*words)
    assert "Traceback" not in ended.err
    assert "\x1b" not in ended.out + ended.err
    parts = [f"$ incarnate {' '.join(map(repr, words))}", f"exit code {ended.code}"]
    parts += [f"--- {what}\n{text}" for what, text in (("stdout", ended.out), ("stderr", ended.err)) if text]
    text = "\n".join(parts).removesuffix("\n") + "\n"
    for place, name in (
        (get_bundled_directory(), "BUNDLED"),
        (get_schemas_directory(), "SCHEMAS"),
        (str(home), "HOME"),
        (str(home.parent / "here"), "HERE"),
    ):
        text = text.replace(place, name)
    return text


@pytest.mark.parametrize("verb", OUTPUTS)
def test_outputs(incarnate: Incarnate, home: Path, verb: str, file_regression: FileRegressionFixture) -> None:
    text = "\n".join(run_verb(incarnate, home, words) for words in OUTPUTS[verb])
    file_regression.check(text, basename=verb, encoding="utf-8")


@pytest.mark.parametrize("verb", ERRORS)
def test_errors(incarnate: Incarnate, home: Path, verb: str, file_regression: FileRegressionFixture) -> None:
    told_ones = []
    for words in ERRORS[verb]:
        text = run_verb(incarnate, home, words)
        assert "\nexit code 0\n" not in text
        assert verb == "lint" or "\n--- stdout\n" not in text
        told_ones.append(text)
    file_regression.check("\n".join(told_ones), basename=f"{verb}_errors", encoding="utf-8")


def test_help(incarnate: Incarnate, home: Path, file_regression: FileRegressionFixture) -> None:
    text = "\n".join(
        run_verb(incarnate, home, (*words, "--help"))
        for words in [(), ("job",), *(tuple(verb.split()) for verb in sorted(list_verbs()))]
    ) + run_verb(incarnate, home, ("job", "submit", "--help", "all"))
    assert [line for line in text.splitlines() if len(line) > 80] == []
    file_regression.check(text, basename="help", encoding="utf-8")


def test_the_help_that_is_printed_without_typer(
    incarnate: Incarnate, file_regression: FileRegressionFixture
) -> None:
    text = incarnate("--help").out
    file_regression.check(text, fullpath=Path(quick.HELP_FILE), encoding="utf-8")


def test_the_help_of_a_submission_fits_two_screens_and_that_of_all_has_each_option(
    incarnate: Incarnate,
) -> None:
    short, full = (incarnate("job", "submit", "--help", *words).out for words in ((), ("all",)))
    assert len(short.splitlines()) <= 2 * 24
    flags = [flag for flags in OPTION_GROUPS.values() for flag in flags.split()]
    declared = read_parameters(load_verb("job submit"))
    specs = [p.spec for p in declared if isinstance(p.spec, Option)]
    assert sorted(flags) == sorted(next(f for f in spec.flags if f in flags) for spec in specs)
    assert all(flag in short and f" {flag}" in full for flag in flags)
    assert incarnate("help", "job", "submit", "all").out == full


@pytest.mark.parametrize("words", [(), ("job",), ("lint",), ("job", "wait")])
def test_help_is_a_word_too(incarnate: Incarnate, words: tuple[str, ...]) -> None:
    expected = incarnate(*words, "--help")
    assert incarnate("help", *words) == incarnate(*words, "-h") == expected
    assert words[:1] != ("job",) or incarnate("job", "help", *words[1:]) == expected


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (("fields", *SITE), ("show", "--fields", *SITE)),
        (("profiles", "--profiles", "."), ("show", "--list", "--profiles", ".")),
        (("schema", "--json"), ("show", "--schemas", "--json")),
        (("explain", "601"), ("lint", "--explain", "OSP601")),
        (("deploy", *SITE), ("render", "--deploy", *SITE)),
        (("trace", "HELLO", *SITE), ("HELLO", *SITE, "--trace")),
        (("job", "status", "x"), ("job", "list", "x")),
        (("job", "watch", "x"), ("job", "list", "x", "--watch")),
        (("job", "abort", "x"), ("job", "cancel", "x")),
        (("help", "trace"), ("render", "--help")),
    ],
)
def test_commands_by_other_words(
    incarnate: Incarnate, home: Path, old: tuple[str, ...], new: tuple[str, ...]
) -> None:
    assert (
        run_verb(incarnate, home, old).partition("\n")[2] == run_verb(incarnate, home, new).partition("\n")[2]
    )


def test_no_word_at_all_is_a_question_for_help(incarnate: Incarnate) -> None:
    assert incarnate() == incarnate("--help")


@pytest.mark.parametrize(
    "words",
    [
        ("HELLO", "--nonsense"), ("HELLO", "--set"), ("HELLO", "two", "-p", "x"), ("render",),
        ("render", "--trace"), ("START", "TWO", "-p", "x", "--trace"), ("START", "--nonsense", "--trace"), ("START", "--trace", "-f"),
        ("diff",), ("diff", "base"), ("diff", "a", "b", "c", "d"), ("diff", "a", "b", "--nonsense"),
        ("check", "--nonsense"), ("check", "site", "--case"), ("check", "site", "--update=yes"),
        ("page", "x"), ("page", "--nonsense"), ("page", "-o"), ("page", "--serve=1"),
    ],
)  # fmt: skip
def test_wrong_usage(incarnate: Incarnate, words: tuple[str, ...]) -> None:
    ended = incarnate(*words)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err
    assert "Traceback" not in ended.err


def test_version_is_a_word_too(incarnate: Incarnate) -> None:
    assert incarnate("version") == incarnate("-V") == incarnate("--version")
    assert incarnate("-V").out.startswith("osprofile 0.")


def test_no_verb_is_left_out() -> None:
    own = {"diff", "check", "page"}
    assert OUTPUTS.keys() | own == ERRORS.keys() | own == {*VERBS, *GROUPS}
