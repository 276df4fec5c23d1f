"""What is printed without the whole engine is the same, and what cannot be is left to it."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from osprofile import files
from osprofile.cli import quick
from osprofile.incarnation import kept_plans
from tests.cli.conftest import Ended, on_terminal, run_process

if TYPE_CHECKING:
    from tests.cli.conftest import Incarnate

HERE = ("--context", "WORKING_DIRECTORY=/tmp/1")
USUAL = [
    ("START", "-p", "linux"),
    ("-p", "linux", "START", "-s", "EXECUTABLE=/bin/date", "--set=ARGUMENTS='a b'"),
    ("render", "START", "--profile=slurm", "--set", "WALLTIME=fast", "--set", "WALLTIME=600"),
    ("START", "-p", "pbs", "--context", "SSH:HOST=h", "-s", "NODES=2"),
    ("GET_JOB_STATUS", "-p", "sge", "--variation", "ALL"),
    ("GET_JOB_STATUS", "-p", "sge", "-s", "JOB_ID=4711"),
    ("GREET", "-p", "site.xml", "-s", "TEXT=it's = so"),
    ("COUNT", "--profile", "site.xml"),
]
UNUSUAL = [
    ("START", "-p", "linux", "-s", "NODES=0"),
    ("START", "-p", "linux", "-s", "WALLTIME="),
    ("START", "-p", "linux", "-s", "JOB_NAME=\xe9"),
    ("START", "-p", "linux", "-s", "JOB_NAME"),
    ("START", "-p", "linux", "-s", "=x"),
    ("START", "-p", "linux", "-s", "NONE=x"),
    ("START", "-p", "linux", "-s"),
    ("START", "-p", "linux", "GREET"),
    ("START", "-p", "linux", "--no-strict", "-s", "NONE=x"),
    ("START", "-p", "linux", "--trace"),
    ("START", "-p", "linux", "-p=slurm"),
    ("START", "-p", "linux", "-a", "Executable"),
    ("START", "-p", "none"),
    ("START", "-p", "slurm", "--profiles", "/nowhere"),
    ("NONE", "-p", "linux"),
    ("render", "-p", "linux"),
    ("new",),
]


@pytest.fixture(autouse=True)
def place(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of the cache, which is empty; the profile `site.xml` is in the current directory."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(files, "SETTLING_TIME", -1e9)
    monkeypatch.chdir(site.parent)
    return tmp_path / "osprofile"


@pytest.mark.parametrize("words", USUAL, ids=" ".join)
def test_a_kept_plan_prints_the_same(
    incarnate: Incarnate, words: tuple[str, ...], capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert quick.run((*words, *HERE)) is None
    made = incarnate(*words, *HERE)
    assert quick.run((*words, *HERE)) == 0
    assert capfdbinary.readouterr().out.decode() == made.out != ""


@pytest.mark.parametrize("words", UNUSUAL, ids=" ".join)
def test_what_is_unusual_is_left_to_the_engine(incarnate: Incarnate, words: tuple[str, ...]) -> None:
    incarnate("START", "-p", "linux")
    assert quick.run((*words, *HERE)) is None


def test_the_profile_of_the_environment_and_that_of_the_settings(
    incarnate: Incarnate,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    settings = home / "osprofile" / "config.toml"
    settings.parent.mkdir()
    settings.write_text('default = "linux"\n')
    made = incarnate("START", *HERE)
    assert quick.run(["START", *HERE]) == 0
    assert capfdbinary.readouterr().out.decode() == made.out
    settings.write_text('default = "slurm"\n')
    assert quick.run(["START", *HERE]) is None
    monkeypatch.setenv("OSPROFILE_PROFILE", "pbs")
    assert quick.run(["START", *HERE]) is None
    made = incarnate("START", *HERE)
    assert quick.run(["START", *HERE]) == 0
    assert capfdbinary.readouterr().out.decode() == made.out


def test_lint_and_check_neither_keep_nor_find(
    incarnate: Incarnate, place: Path, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(kept_plans, "find_plan")
    monkeypatch.delattr(kept_plans, "keep_plan")
    for name in ("read_cached", "write_cached"):
        monkeypatch.delattr(f"osprofile.profile.schema.{name}")
    incarnate("lint", str(site))
    incarnate("check", str(site))
    assert not place.exists()


def test_as_processes(place: Path) -> None:
    """Twice, the second time without the engine, and on a disk that is full."""
    code = (
        "import sys; from osprofile.cli import main\ntry: main.main()\n"
        "finally: print('osprofile.cli.command_line' in sys.modules, file=sys.stderr)"
    )
    command = [sys.executable, "-P", "-c", code, "START", "-p", "pbs", *HERE]

    def run(limit: int) -> subprocess.CompletedProcess[bytes]:
        def set_limit() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        return subprocess.run(command, capture_output=True, check=True, preexec_fn=set_limit)

    full = run(1000)
    assert not any(file.stat().st_size for file in place.iterdir())
    first, second = run(resource.RLIM_INFINITY), run(resource.RLIM_INFINITY)
    assert full.stdout == first.stdout == second.stdout != b""
    assert full.stderr == b"True\n"
    if any(
        file.stat().st_size for file in place.iterdir()
    ):  # nothing of osprofile has changed in the last two seconds
        assert second.stderr == b"False\n"


def test_help_is_the_same_as_by_typer_on_a_narrow_terminal_too() -> None:
    wide, narrow = (
        on_terminal("--help", stream="stdout", columns=columns)[1].replace("\r\n", "\n")
        for columns in (80, 60)
    )
    assert wide == Path(quick.HELP_FILE).read_text()
    assert max(map(len, narrow.splitlines())) < 60
    assert run_process("--help", COLUMNS="80") == run_process(COLUMNS=None) == Ended(0, wide, "")


def test_a_reader_that_has_gone_is_no_error(incarnate: Incarnate) -> None:
    incarnate("START", "-p", "linux", *HERE)
    command = f"'{sys.executable}' -m osprofile START -p linux --context WORKING_DIRECTORY=/tmp/1 | true"
    ended = subprocess.run(["sh", "-c", command], capture_output=True, check=True)
    assert (ended.stdout, ended.stderr) == (b"", b"")
