"""`incarnate diff`: its text, its JSON, its exit codes: 0 same, 1 different, 2 and 3 trouble."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import check_colours, error_in_full

if TYPE_CHECKING:
    from pytest_regressions.file_regression import FileRegressionFixture

    from tests.cli.conftest import Incarnate

PROFILES = Path(__file__).parent / "profiles"
BOTH = ("base", "site", "--profiles", ".", "--context", "USER_NAME=alice")
GOLDEN = {
    # words, exit code
    "all": (BOTH, 1),
    "with_a_request": ((*BOTH, "-s", "JOB_ID=12", "-s", "QUEUE=fast"), 1),
    "start": ((*BOTH, "START", "-s", "NODES=5", "--context", "WORKING_DIRECTORY=/w"), 1),
    "one_refuses": ((*BOTH, "START", "-s", "NODES=one"), 1),
    "variation": ((*BOTH, "ASK", "-v", "", "-s", "JOB_ID=12"), 1),
    "new_template": ((*BOTH, "HELLO"), 1),
    "same": (("base", "./base.xml", *BOTH[2:]), 0),
    "same_template": ((*BOTH, "BIN", "-v", ""), 0),
    "other_way_round": (("site", "base", *BOTH[2:]), 1),
}  # fmt: skip


@pytest.fixture(autouse=True)
def profiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in the folder of the profiles: locations are relative to it."""
    monkeypatch.chdir(PROFILES)


@pytest.mark.parametrize("case", GOLDEN)
def test_golden(incarnate: Incarnate, file_regression: FileRegressionFixture, case: str) -> None:
    words, code = GOLDEN[case]
    ended = incarnate("diff", *words)
    assert (ended.code, ended.err) == (code, "")
    file_regression.check(ended.out, basename=f"diff_{case}", encoding="utf-8")
    assert all(len(line) <= 80 and line.isprintable() for line in ended.out.splitlines())
    assert incarnate("diff", *words).out == ended.out  # nothing of a clock or of chance
    parsed = json.loads(incarnate("diff", *words, "--json").out)
    assert parsed["different"] == bool(code)


def test_json(incarnate: Incarnate, file_regression: FileRegressionFixture) -> None:
    ended = incarnate("diff", *BOTH, "ASK", "-s", "JOB_ID=1.a", "--json")
    assert (ended.code, ended.err) == (1, "")
    file_regression.check(ended.out, basename="diff", extension=".json", encoding="utf-8")


ERRORS = {
    "unknown profile": (("base", "sit", "--profiles", "."), 2),
    "unknown template": ((*BOTH, "STRAT"), 2),
    "unknown variation": ((*BOTH, "START", "-v", "X"), 2),
    "unknown application": ((*BOTH, "-a", "Exe"), 2),
    "a field of neither": ((*BOTH, "-s", "NODS=1"), 2),
    "refused by both": ((*BOTH, "START", "-s", "NODES=99"), 2),
    "needed by both": ((*BOTH, "ASK"), 2),
    "no equals sign": ((*BOTH, "-s", "QUEUE"), 2),
    "a bad profile": (("base", "/dev/null", "--profiles", "."), 3),
    "a file that is not there": (("base", "./x.xml", "--profiles", "."), 2),
    "a hostile name": (("base", "\x1b[31m", "--profiles", "."), 2),
}


def test_each_error_in_full(incarnate: Incarnate, file_regression: FileRegressionFixture) -> None:
    parsed = [error_in_full(incarnate, ("diff", *words), code) for words, code in ERRORS.values()]
    file_regression.check("\n".join(parsed), basename="diff_errors", encoding="utf-8")


def test_a_fault_of_ours_is_trouble_and_no_difference(
    incarnate: Incarnate, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("osprofile.authoring.difference.compare_profiles", broken)
    ended = incarnate("diff", *BOTH)
    assert (ended.code, ended.out) == (2, "")
    assert "internal error" in ended.err
    monkeypatch.setattr(
        "osprofile.authoring.difference.compare_profiles",
        lambda *_, **__: (_ for _ in ()).throw(OSError(5, "I/O error")),
    )
    assert incarnate("diff", *BOTH).code == 2


def test_two_profiles_of_one_name(incarnate: Incarnate, tmp_path: Path) -> None:
    """A site's `base` over the other `base`: the words of the command line tell them apart."""
    mine = tmp_path / "base.xml"
    text = (PROFILES / "base.xml").read_text()
    mine.write_text(text.replace("<idb:Max>10<", "<idb:Max>12<"))
    ended = incarnate("diff", "./base.xml", str(mine))
    assert ended.code == 1
    assert ended.out.splitlines()[2] == "~ template EXECUTABLE, field NODES, limit Max"
    assert f"{mine}:40:16" in ended.out


HOSTILE = "\u202e[bold red]\x9b2J\u2028&lt;/script>"


def write_two(folder: Path, *changes: tuple[str, str]) -> list[str]:
    """Write two profiles that are `base` but for changes, in which {n} is the number of the profile."""
    files = []
    for number in (1, 2):
        text = (PROFILES / "base.xml").read_text()
        for old, new in changes:
            text = text.replace(old, new.replace("{n}", str(number)))
        files.append(folder / f"{number}.xml")
        files[-1].write_text(text)
    return [*map(str, files)]


def test_what_a_profile_says_does_not_disturb_the_terminal(incarnate: Incarnate, tmp_path: Path) -> None:
    default = ("<idb:Default>long", f"<idb:Default>{HOSTILE * 9}{{n}}")
    free = ('ext:pattern="[a-z]*"', "")
    files = write_two(tmp_path, ('name="base"', 'name="n{n}"'), ("umask 077", HOSTILE + "{n}"), default, free)
    ended = incarnate("diff", *files, "-s", "TEXT=\x1b[2J", "-s", "QUEUE=\x1b[2J")
    assert ended.code == 1
    assert all(line.isprintable() for line in ended.out.split("\n"))
    assert "+\\u202e[bold red]\\x9b2J\\u2028</script>2" in ended.out
    parsed = incarnate("diff", *files, "--json").out
    assert all(line.isprintable() for line in parsed.split("\n"))


def test_values_that_differ_beyond_the_width_are_shown_where_they_differ(
    incarnate: Incarnate, tmp_path: Path
) -> None:
    files = write_two(tmp_path, (">long<", f">{'a' * 200}={{n}}<"))
    out = incarnate("diff", *files, "COUNT", "-s", "QUEUE=x").out
    assert "aaa=1'" in out
    assert "aaa=2'" in out


def test_a_line_end_that_is_missing_is_told(incarnate: Incarnate, tmp_path: Path) -> None:
    other = tmp_path / "base.xml"
    other.write_text((PROFILES / "base.xml").read_text().replace("exit $?\n", "exit $?"))
    out = incarnate("diff", "./base.xml", str(other), "JOB_EPILOGUE").out
    assert "-exit $?\n+exit $?\n\\ no line end\n" in out


def test_bundled_profiles(incarnate: Incarnate) -> None:
    names = ("linux", "pbs", "torque")
    for name in names:
        assert incarnate("diff", name, name).code == 0
        assert incarnate("diff", "linux", name).code == (name != "linux")


def test_colours_on_a_terminal_only() -> None:
    coloured = check_colours("diff", *BOTH)
    assert "\x1b[32m+ template HELLO\x1b[0m" in coloured
    assert "\x1b[31m-umask 077\x1b[0m" in coloured
