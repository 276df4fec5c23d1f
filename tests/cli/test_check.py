"""`incarnate check`: its output, the files that it writes, and each of its errors."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from osprofile.cli import check as verb
from tests.cli.conftest import check_colours, completions, error_in_full
from tests.strategies import document, field, invocation

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_regressions.file_regression import FileRegressionFixture

    from tests.cli.conftest import Incarnate

GREETING = "echo '<TEXT/'/'\\\\''>' |\n  sed <TIMES>q\n"
ASKING = "ask '<WHOM/'/'\\\\''>'"
SMALL = document(
    f"""<idb:Template name="GREET">
{invocation(GREETING)}
{invocation("echo <USER_NAME> in <WORKING_DIRECTORY>", "PLAIN")}
{field("TEXT", "<idb:Description>What to say.</idb:Description><idb:Default>hello</idb:Default>")}
{field("TIMES", "<idb:Min>2</idb:Min><idb:Max>5</idb:Max><idb:Default>3</idb:Default>")}
</idb:Template>
<idb:Template name="ASK">{invocation(ASKING)}
{field("WHOM", attributes='ext:pattern="[a-z]{3}"')}</idb:Template>""",
    name="small",
)
CHILD = document(
    f'<idb:Template name="ASK">{invocation("no <USER_NAME>")}</idb:Template>', name="child", extends="small"
)
CASES = """\
[context]
USER_NAME = "alice"
WORKING_DIRECTORY = "/scratch/alice/1"

[case."GREET.same"]
template = "GREET"
fields.TEXT = "it's"

[case."GREET.different"]
template = "GREET"
fields.TEXT = "\\r\\u001b[31m\\u2028é"
fields.TIMES = "2"

[case."GREET.missing"]
template = "GREET"
variation = "PLAIN"

[case."GREET.no_utf8"]
template = "GREET"
variation = "PLAIN"

[case."TIMES.refused"]  # it should not be
template = "GREET"
fields.TIMES = "6"

[case."ASK.accepted"]  # it should not be
template = "ASK"
fields.WHOM = "bob"
refused = true

[case."ASK.words"]
template = "ASK"
fields.WHOM = "ALICE"
refused = true

[case."ASK.other_words"]
template = "ASK"
fields.WHO = "alice"
refused = true
"""
GOLDEN = {
    "GREET.same": b"echo 'it'\\''s' |\n  sed 3q\n",
    "GREET.different": b"echo '\r\x1b[31m\xe2\x80\xa8\xc3\xa9' |\n  sed 3q",
    "GREET.no_utf8": b"echo alice in /scratch/\xff/1",
    "TIMES.refused": b"echo 'hello' |\n  sed 6q\n",
    "ASK.words": b"field WHOM: 'ALICE' does not match the pattern [a-z]{3}\n",
    "ASK.other_words": b"field WHO is not used by template ASK of profile small\n",
    "left_over": b"echo\n",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a folder with profiles, two of which have golden cases."""
    there = tmp_path / "profiles"
    for name, text in (("small", SMALL), ("child", CHILD)):
        (there / name).mkdir(parents=True)
        (there / name / "profile.xml").write_text(text)
    (there / "README.md").write_text("Not a profile.\n")
    (there / "empty").mkdir()
    monkeypatch.chdir(there)
    write(there / "small", CASES, GOLDEN)
    return there


def write(profile: Path, cases: str, golden: dict[str, bytes]) -> None:
    (profile / "golden").mkdir(exist_ok=True)
    (profile / "golden/cases.toml").write_text(cases)
    for name, data in golden.items():
        (profile / f"golden/{name}.txt").write_bytes(data)


def files(profile: str) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in Path(profile, "golden").iterdir()}


ADD = """\
[case.mine]
template = "GREET"
"""
OUTPUTS: dict[str, tuple[tuple[str, ...], int]] = {
    "all": (("small",), 1),
    "same": (("small", "-c", "GREET.same"), 0),
    "some": (("small", "--case", "*.missing", "--case", "left*"), 1),
    "update": (("small", "--update"), 1),
    "update_some": (("small", "--update", "-c", "GREET.*"), 0),
    "add": (("small", "--add"), 1),
    "add_and_update": (("small", "--add", "--update"), 1),
    "add_some": (("small", "--add", "--case", "GREET.default"), 0),
    "start": (("child", "--profiles", ".", "--add"), 0),
    "several": (("small", "child", "--profiles", "."), 1),
    "folder_of_folders": ((".", "--case", "GREET.same"), 0),
    "this_folder": (("-c", "GREET.same"), 0),
    "none": (("child", "--profiles", "."), 2),
    "json": (("small", "--json"), 1),
    "json_update": (("small", "--json", "--update", "-c", "GREET.*"), 0),
    "json_add": (("child", "--profiles", ".", "--json", "--add"), 0),
    "json_none": (("child", "--profiles", ".", "--json"), 2),
}


@pytest.mark.parametrize("case", OUTPUTS)
def test_output(incarnate: Incarnate, file_regression: FileRegressionFixture, case: str) -> None:
    words, code = OUTPUTS[case]
    before = files("small")
    ended = incarnate("check", *words)
    assert ended.code == code
    output = f"{ended.out}---\n{ended.err}"
    assert all(line.isprintable() for line in output.replace("\t", "").splitlines())
    file_regression.check(output, basename=f"check_{case}", encoding="utf-8")
    if not {"--update", "--add"} & {*words}:
        assert files("small") == before
        assert not Path("child/golden").exists()


def test_what_update_writes(incarnate: Incarnate) -> None:
    before = files("small")
    incarnate("check", "small", "--update")
    after = files("small")
    assert after.pop("GREET.different.txt") == b"echo '\r\x1b[31m\xe2\x80\xa8\xc3\xa9' |\n  sed 2q\n"
    assert after.pop("GREET.missing.txt") == b"echo alice in /scratch/alice/1"
    assert after.pop("GREET.no_utf8.txt") == b"echo alice in /scratch/alice/1"
    assert after.pop("ASK.words.txt") == GOLDEN["ASK.words"] or b"hint" in files("small")["ASK.words.txt"]
    assert after.pop("ASK.other_words.txt").endswith(b"    hint: did you mean WHOM?\n")
    assert after == {n: before[n] for n in ("GREET.same.txt", "TIMES.refused.txt", "cases.toml")}
    again = incarnate("check", "small")
    assert again.code == 1
    assert again.out.endswith("1 profile, 8 cases: 6 same, 1 refused, 1 accepted\n")


def test_only_what_differs_is_written(incarnate: Incarnate) -> None:
    incarnate("check", "small", "--update")
    times = {p: p.stat().st_mtime_ns for p in Path("small/golden").iterdir()}
    inodes = {p: p.stat().st_ino for p in Path("small/golden").iterdir()}
    incarnate("check", "small", "--update", "--add", "-c", "ASK.words")
    for path, time in times.items():
        assert (path.stat().st_mtime_ns, path.stat().st_ino) == (time, inodes[path])


def test_to_start_with_cases(incarnate: Incarnate) -> None:
    """A new profile gets cases, they hold, and a change in it is seen."""
    assert incarnate("new", "mine", "--extends", "slurm", "--directory", ".").code == 0
    assert incarnate("check", "mine").code == 2
    ended = incarnate("check", "mine", "--add")
    assert (ended.code, ended.err) == (0, "")
    ended = incarnate("check", "mine")
    assert ended.out.startswith("1 profile, ")
    assert ended.out.endswith(" same\n")
    assert ended.code == 0
    assert incarnate("check", "mine", "--add").out == ended.out  # nothing more
    profile = Path("mine/profile.xml")
    profile.write_text(profile.read_text().replace("~/.gpe/work", "/scratch"))
    ended = incarnate("check", "mine")  # the context says where the job works
    assert ended.code == 1
    differing = [line.split()[0] for line in ended.out.splitlines() if " differs " in line]
    assert differing == ["DELETE.default", "DELETE.hostile"]  # which keeps UspaceRoot
    assert incarnate("check", "mine", "--update").code == 0
    assert incarnate("lint", "mine").code == 0
    shutil.copy("mine/golden/START.default.txt", "mine/golden/START.hostile.txt")
    ended = incarnate("check", "mine")
    assert ended.code == 1
    assert "START.hostile differs" in ended.out


def test_a_file_that_add_finds_is_not_written_over(incarnate: Incarnate) -> None:
    Path("child/golden").mkdir()
    for name in ("ASK.default.txt", "notes.txt"):
        Path("child/golden", name).write_text("mine")
    ended = incarnate("check", "child", "--profiles", ".", "--add", "--update")
    assert Path("child/golden/notes.txt").read_text() == "mine"
    assert "notes belongs to no case" in ended.out
    assert ended.code == 1


def test_profiles_of_one_folder_may_extend_each_other(incarnate: Incarnate) -> None:
    assert incarnate("check", "child", "--add").code == 3  # there is no profile small
    assert incarnate("check", ".", "--add", "-c", "ASK.default").code == 0
    assert Path("child/golden/ASK.default.txt").read_text() == "no alice"
    # the golden file of an inherited template is the parent's, as long as the child gives the same
    assert incarnate("check", "--add", "-c", "GREET.default").code == 0
    parent, own = (Path(name, "golden/GREET.default.txt") for name in ("small", "child"))
    assert parent.exists()
    assert not own.exists()
    own.write_bytes(parent.read_bytes())
    updated = ("check", ".", "-c", "GREET.default", "--update")
    assert "removed   child/golden/GREET.default.txt" in incarnate(*updated).out
    assert not own.exists()
    parent.write_text("of another time\n")
    assert incarnate("check", ".", "-c", "GREET.default").out.count("GREET.default differs") == 2
    assert incarnate(*updated).code == 0
    assert not own.exists()
    assert "2 same" in incarnate("check", ".", "-c", "GREET.default").out


def test_cases_that_are_not_written(incarnate: Incarnate) -> None:
    """With `generated = true` the default and hostile cases count; a case of the file takes the place of one of them."""
    shutil.rmtree("small/golden")
    Path("small/golden").mkdir()
    file = Path("small/golden/cases.toml")
    file.write_text(
        'generated = true\n[context]\nUSER_NAME = "bob"\n[case."GREET.default"]\ntemplate = "GREET"\nfields.TEXT = "x"\n'
    )
    missing = incarnate("check", "small")
    assert missing.code == 1
    assert incarnate("check", "small", "--update").code == 0
    assert incarnate("check", "small").code == 0
    names = {path.stem for path in Path("small/golden").glob("*.txt")}
    assert {"GREET.default", "GREET.hostile", "GREET.PLAIN.default"} <= names
    assert "hello" not in Path("small/golden/GREET.default.txt").read_text()
    assert "bob" in Path("small/golden/GREET.PLAIN.default.txt").read_text()
    file.write_text("generated = 'yes'\n")
    wrong = incarnate("check", "small")
    assert (wrong.code, "generated is not true or false" in wrong.err) == (3, True), wrong


@pytest.mark.parametrize(
    "words",
    [
        ("small",), ("./small",), ("small/",), ("small/profile.xml",), ("{}/small",), ("small", "./small", "."),
        ("small", "--profiles", "."),
    ],
)  # fmt: skip
def test_ways_to_name_a_profile(incarnate: Incarnate, words: tuple[str, ...]) -> None:
    words = tuple(word.format(Path.cwd()) for word in words)
    ended = incarnate("check", *words, "-c", "GREET.same")
    assert (ended.code, ended.out) == (0, "1 profile, 1 case: 1 same\n")


def test_a_name_is_looked_up(
    incarnate: Incarnate, monkeypatch: pytest.MonkeyPatch, folder: Path, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = incarnate("check", "small", "-c", "GREET.same", "--profiles", str(folder))
    assert (ended.code, ended.out) == (0, "1 profile, 1 case: 1 same\n")
    monkeypatch.chdir(folder / "small")
    ended = incarnate("check", "-c", "GREET.missing")
    assert ended.out.splitlines()[0].endswith("  golden/cases.toml:14:7")


def test_the_bundled_profiles(incarnate: Incarnate) -> None:
    ended = incarnate("check", "slurm", "linux")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("2 profiles, ")


def test_discovery_does_not_take_golden_folders_for_profiles(incarnate: Incarnate) -> None:
    incarnate("check", ".", "--add")
    out = incarnate("show", "--list", "--profiles", ".", "--profiles", "small").out
    assert "golden" not in out
    assert incarnate("lint", "small", "--select", "OSP1").out == ""


def replaced(old: str, new: str) -> Callable[[], None]:
    def apply() -> None:
        assert old in CASES
        Path(FILE).write_text(CASES.replace(old, new, 1))

    return apply


def linked() -> None:
    Path("small/golden/GREET.same.txt").unlink()
    Path("small/golden/GREET.same.txt").symlink_to("/etc/passwd")


def golden_linked() -> None:
    Path("small/golden").rename("elsewhere")
    Path("small/golden").symlink_to("../elsewhere")


def content(file: str, data: bytes) -> Callable[[], None]:
    def apply() -> None:
        Path(file).write_bytes(data)

    return apply


FILE = "small/golden/cases.toml"
PROFILE = "small/profile.xml"
NOTHING = replaced("", "")
# What can be wrong in cases.toml is in tests/golden/test_cases.py.
ERRORS: dict[str, tuple[Callable[[], None], tuple[str, ...], int]] = {
    "unknown name": (NOTHING, ("smal", "--profiles", "."), 2),
    "no folder": (NOTHING, ("./smal",), 2),
    "a hostile name": (NOTHING, ("./\x1b[31m",), 2),
    "no profile in it": (NOTHING, ("empty",), 2),
    "a file": (NOTHING, ("./README.md",), 2),
    "a profile without a folder": (lambda: os.rename("child/profile.xml", "alone.xml"), ("alone.xml",), 2),
    "no such case": (NOTHING, ("small", "-c", "GREET.sane"), 2),
    "no such case to add": (NOTHING, ("small", "--add", "-c", "GRET.default"), 2),
    "no parent": (NOTHING, ("child",), 3),
    "a bad profile": (content(PROFILE, b"<a>"), ("small",), 3),
    "a fault in a body": (content(PROFILE, SMALL.replace("<TIMES>q", "<TIMES/(/>q").encode()), ("small",), 3),
    "no cases file": (lambda: os.unlink("small/golden/cases.toml"), ("small",), 3),
    "empty": (content(FILE, b""), ("small",), 3),
    "no UTF-8": (content(FILE, b"# \xff"), ("small",), 3),
    "unknown keys": (replaced('variation = "PLAIN"', 'variaton = "PLAIN"'), ("small",), 3),
    "no such template": (replaced('template = "GREET"', 'template = "GRET"'), ("small",), 3),
    "no such variation": (replaced('"PLAIN"', '"PLANE"'), ("small",), 3),
    "a link for a golden file": (linked, ("small",), 3),
    "a link for golden": (golden_linked, ("small",), 3),
    "a folder for a golden file": (
        lambda: os.mkdir("small/golden/GREET.missing.txt"), ("small", "--update"), 3,
    ),
    "no room to add": (content(FILE, b"case = { a = { template = 'GREET' } }\n"), ("small", "--add"), 3),
}  # fmt: skip


def put_back(folder: Path) -> None:
    for path in ("small", "child", "elsewhere"):
        shutil.rmtree(folder / path, ignore_errors=True)
    (folder / "alone.xml").unlink(missing_ok=True)
    for name, text in (("small", SMALL), ("child", CHILD)):
        (folder / name).mkdir()
        (folder / name / "profile.xml").write_text(text)
    write(folder / "small", CASES, GOLDEN)


def test_each_error_in_full(
    incarnate: Incarnate, file_regression: FileRegressionFixture, folder: Path
) -> None:
    outputs = []
    for case, (prepare, words, code) in ERRORS.items():
        put_back(folder)
        prepare()
        text = error_in_full(incarnate, ("check", *words), code)
        outputs.append(f"{case}: {text.replace(str(folder.parent), 'HERE')}")
    file_regression.check("\n".join(outputs), basename="check_errors", encoding="utf-8")


def test_one_bad_profile_keeps_no_other_from_being_checked(incarnate: Incarnate) -> None:
    Path("child/profile.xml").write_text("<a>")
    ended = incarnate("check", ".", "-c", "GREET.same")
    assert ended.code == 3
    assert ended.out == "1 profile, 1 case: 1 same\n"
    assert ended.err.startswith("child/profile.xml:1:4: error OSP102")
    parsed = json.loads(incarnate("check", ".", "-c", "GREET.same", "--json").out)
    assert [t["profile"] for t in parsed] == ["small"]


def test_a_fault_of_ours_is_trouble_and_no_difference(
    incarnate: Incarnate, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", "small/golden/x.txt")

    monkeypatch.setattr("osprofile.golden.files.write_file", full)
    ended = incarnate("check", "small", "--update")
    assert ended.code == 2
    assert ended.err == "incarnate: small/golden/x.txt: No space left on device\n"

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("x")

    monkeypatch.setattr(verb, "_check_folder", broken)
    assert incarnate("check", "small").code == 2


@pytest.mark.parametrize(
    ("line", "offers"),
    [
        ("incarnate check small --case GREET.s", {"GREET.same"}),
        ("incarnate check --case TIM", {"TIMES.refused"}),
        ("incarnate check nowhere --case TIM", set()),
        ("incarnate check pb", {"pbs"}),
    ],
)
def test_completion(line: str, offers: set[str], home: Path) -> None:
    assert completions(line, home) == offers


def test_several_updates_at_once(folder: Path) -> None:
    """Each file is one that one of them wrote whole; nothing else is left behind."""
    words = [sys.executable, "-m", "osprofile", "check", "small", "--update"]
    started = [subprocess.Popen(words, stdout=subprocess.DEVNULL) for _ in range(4)]
    assert [process.wait() for process in started] == [1] * 4  # two cases are for people to judge
    names = {p.name for p in (folder / "small/golden").iterdir()}
    golden = {f"{name}.txt" for name in (*GOLDEN, "GREET.missing")} - {"left_over.txt"}
    assert names == golden | {"cases.toml"}


def test_colours_on_a_terminal_only() -> None:
    coloured = check_colours("check", "small")
    assert "\x1b[31m-  sed 3q" in coloured
    assert "\x1b[32m+  sed 2q" in coloured


# Captured output


def capture(*lines: str) -> str:
    Path("squeue.out").write_text("".join(f"{line}\n" for line in lines))
    return "squeue.out"


def test_captured_output(incarnate: Incarnate) -> None:
    file = capture(
        "4711|RUNNING|0|n1|None|debug|1:02|N/A|1|",
        "4712|FAILED|1792|n1|NonZeroExitCode|debug|0:01|1700000000|1|",
        "4713|TIMEOUT|0|n1|TimeLimit|debug|0:01|1700000000|1|",
    )
    ended = incarnate("check", "slurm", "--states", file)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines() == [
        "JOB   WORD         STATE    EXIT  CAUSE  REASON",
        "4711  RUNNING      RUNNING",
        "4712  FAILED/exit  DONE     7            NonZeroExitCode",
        "4713  TIMEOUT      FAILED         TIME   TimeLimit",
    ]


def test_a_captured_word_without_a_tag(incarnate: Incarnate) -> None:
    lines = (f"{job}|WONDROUS|0|n1|None|debug|1:02|N/A|1|" for job in (5, 6))
    file = capture(*lines, "7|\x1b[31m|0|n1|None|debug|1:02|N/A|1|")
    ended = incarnate("check", "slurm", "--states", file)
    assert ended.code == 1
    assert "5    WONDROUS (no tag)  QUEUED\n" in ended.out
    assert "\x1b" not in ended.out + ended.err
    first = "word WONDROUS of job 5 and 1 more has no tag in STATE of profile slurm: it is QUEUED\n"
    assert ended.err.startswith(f'incarnate: {first}    hint: add <idb:Tag name="WONDROUS">...</idb:Tag> at ')
    assert "slurm/profile.xml:" in ended.err
    parsed = json.loads(incarnate("check", "slurm", "--states", file, "--json").out)
    assert parsed[0] == {
        "id": "5", "native_state": "WONDROUS", "known": False, "state": "QUEUED", "exit_code": None,
        "signal": None, "cause": None, "reason": None,
    }  # fmt: skip


def test_what_the_real_batch_system_knows_is_not_asked(
    incarnate: Incarnate, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither its commands nor the records of real jobs have a part in it."""
    for name in ("qstat", "qselect", "qalter"):
        program = folder / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\ntouch {folder}/was-run\nexit 1\n")
        program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{folder}/bin:{os.environ['PATH']}")
    fields = (
        "Job Id: 5.s",
        "Job_Owner=someone@else",
        "job_state=H",
        "substate=22",
        "Hold_Types=s",
        "depend=afterok:4.s@s",
    )
    Path("qstat.out").write_text("\x1f".join(fields) + "\n")
    ended = incarnate("check", "pbs", "--states", "qstat.out")
    assert (ended.code, ended.out.splitlines()[1].split()) == (0, ["5.s", "H/22", "QUEUED"])
    assert not (folder / "was-run").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("slurm", "--states", "nowhere"), "nowhere: No such file"),
        (("slurm", "pbs", "--states", "x"), "--states is for one profile"),
        (("slurm", "--states", "x", "--update"), "--states and --update cannot be used together"),
        (
            ("linux", "--states", "x"),
            "profile linux does not say which command's output GET_JOB_STATUS reads",
        ),
        (("slurm", "--states", "x"), "GET_JOB_STATUS failed (exit status 2): not squeue's"),
        (("slurm", "--states", "nothing"), "GET_JOB_STATUS of profile slurm finds no job in it\n    hint: "),
    ],
)
def test_captured_output_that_cannot_be_read(incarnate: Incarnate, words: tuple[str, ...], said: str) -> None:
    Path("x").write_text("not squeue's\n")
    Path("nothing").write_text("")
    ended = incarnate("check", *words)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert "Traceback" not in ended.err


def test_a_capture_is_a_golden_case(incarnate: Incarnate) -> None:
    """A site's own profile: what a new version of the batch system prints is checked with the next one of the profile."""
    Path("site/golden").mkdir(parents=True)
    Path("site/profile.xml").write_text(document("", name="site", extends="slurm"))
    file = capture("4711|RUNNING|0|n1|None|debug|1:02|N/A|1|")
    os.rename(file, "site/golden/squeue.out")
    Path("site/golden/cases.toml").write_text('[case.words]\nstates = "squeue.out"\n')
    ended = incarnate("check", "site", "--update")
    assert (ended.code, ended.err) == (0, "")
    assert Path("site/golden/words.txt").read_text().endswith("\n4711  RUNNING  RUNNING\n")
    Path("site/golden/squeue.out").write_text("4711|PENDING|0|n1|None|debug|1:02|N/A|1|\n")
    ended = incarnate("check", "site")
    assert ended.code == 1
    assert "-4711  RUNNING  RUNNING" in ended.out
    Path("site/golden/squeue.out").write_text("nonsense\n")
    ended = incarnate("check", "site")
    assert ended.code == 1
    assert "GET_JOB_STATUS failed" in ended.out
    os.unlink("site/golden/squeue.out")
    ended = incarnate("check", "site")
    assert (ended.code, ended.out) == (3, "")
    assert "case words: there is no file site/golden/squeue.out" in ended.err
    for case, said in (
        ('states = "squeue.out"\ntemplate = "START"', "case words has states and other keys"),
        ('states = "../squeue.out"', "states: the name '../squeue.out' is not allowed"),
        ('states = "words.txt"', "states: the name 'words.txt' is not allowed"),
    ):
        Path("site/golden/cases.toml").write_text(f"[case.words]\n{case}\n")
        ended = incarnate("check", "site")
        assert (ended.code, ended.out) == (3, "")
        assert said in ended.err
