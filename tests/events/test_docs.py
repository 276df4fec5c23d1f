"""The manual's page about events: its tables are the sources', its profiles load, lint and run jobs."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from osprofile.events.seg_command import HELP
from osprofile.events.sources import SOURCE_NAMES, condor, lsf, pbs, sge, slurm
from osprofile.jobs.fields import JobDescription
from osprofile.jobs.state import JobState
from osprofile.jobs.target_system import TargetSystem
from osprofile.jobs.timing import Timing
from osprofile.lint.linter import lint_file
from osprofile.profile.repository import Repository
from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from osprofile.profile.model import Profile

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "events.md").read_text()
PROFILES = re.findall(r"^```xml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def rows(source: str) -> list[tuple[str, str]]:
    """Return the table of a source: the text of a line, and the state."""
    section = re.search(rf"^### {source}\n(.*?)(?=^##)", PAGE, re.DOTALL | re.MULTILINE)
    assert section
    found = re.findall(r"^\| (.*?) \| (.*?) \|$", section[1], re.MULTILINE)
    return [row for row in found if "`" in row[0]]


@pytest.mark.parametrize(
    ("source", "prefix", "form", "table"),
    [
        ("pbs", "", "`{}`", pbs.EVENT_SUFFIXES),
        ("lsf", "", "`{}`", lsf.EVENT_SUFFIXES),
        ("lsf", "extended: ", "`JOB_STATUS` {}", lsf.EXTENDED_STATES),
        ("sge", "", "`job_log` `{}`", sge.EVENT_SUFFIXES),
        ("sge", "extended: ", "`job_log` `{}`", sge.EXTENDED_SUFFIXES),
        ("condor", "", "`{:03}`", condor.EVENT_SUFFIXES),
        ("condor", "extended: ", "`{:03}`", condor.EXTENDED_SUFFIXES),
        ("slurm", "", "slurmctld: `{}`", slurm.EVENT_SUFFIXES),
        ("slurm", "extended: ", "slurmctld: `{}`", slurm.EXTENDED_SUFFIXES),
    ],
)
def test_the_tables_are_the_sources(source: str, prefix: str, form: str, table: dict[str | int, str]) -> None:
    table_rows = rows(source)
    for words, ending in table.items():
        name = prefix + form.format(words.strip() if isinstance(words, str) else words)
        states = [state for line, state in table_rows if re.match(rf"{re.escape(name)}(?![^ ,])", line)]
        assert len(states) == 1, name
        assert re.match(r"\d+", states[0])[0] == ending.split(";")[1], name  # type: ignore[index]


def test_every_option_and_source_is_described() -> None:
    for option in re.findall(r"^  (--?[a-z-]+)", HELP, re.MULTILINE):
        assert f"`{option}" in PAGE or option == "-h"
    for name in SOURCE_NAMES:
        assert f"`{name}`" in PAGE


def site(number: int, directory: Path) -> Path:
    path = directory / ("slurm", "forked")[number] / "profile.xml"
    path.parent.mkdir()
    text = PROFILES[number].replace("<osp:UspaceRoot>/var/tmp", f"<osp:UspaceRoot>{directory}/work")
    path.write_text(text)
    return path


@pytest.mark.parametrize("number", [0, 1])
def test_the_profiles_load_and_lint(number: int, tmp_path: Path) -> None:
    path = site(number, tmp_path)
    repository = Repository([str(tmp_path), str(ROOT / "profiles")])
    assert "EVENTS" in repository.load(path.parent.name).templates
    assert [str(problem) for problem in lint_file(path, repository)] == []


@pytest.fixture
def forked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Profile:
    """Return the profile `linux` with the fork starter, as docs/events.md has it."""
    site(1, tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    (tmp_path / ".gpe").mkdir()
    (tmp_path / ".gpe" / "fork.log").touch()
    return Repository([str(tmp_path), str(ROOT / "profiles")]).load("forked")


def job(script: str) -> JobDescription:
    return JobDescription(executable="/bin/sh", arguments=("-c", script))


def test_jobs_that_succeed_and_fail_in_various_ways(forked: Profile, tmp_path: Path) -> None:
    """The states of jobs that succeed and fail come from the log."""
    seldom = Timing(max_poll_interval=0.2, grace_period=5.0, log_poll_interval=3600)

    async def main() -> None:
        async with TargetSystem(forked, timing=seldom) as target:
            scripts = ["exit 0", "exit 3", "kill -9 $$", "kill -15 $$"]
            jobs = [await target.submit(job(script)) for script in scripts]
            long = await target.submit(job("exec sleep 600"))
            ends = [await asyncio.wait_for(target.wait(one), PATIENCE) for one in jobs]
            assert [(end.state, end.exit_code, end.signal) for end in ends] == [
                (JobState.DONE, 0, None),
                (JobState.DONE, 3, None),
                (JobState.FAILED, None, 9),
                (JobState.FAILED, None, 15),
            ]
            await target.hold(long)
            await target.resume(long)
            await target.abort(long)
            assert (await asyncio.wait_for(target.wait(long), PATIENCE)).state is JobState.REMOVED
            lines = [x.split(";") for x in (tmp_path / ".gpe/fork.log").read_text().split("\n")[:-1]]
            logged = {one: [x[3:] for x in lines if x[2] == one] for one in jobs}
            assert list(logged.values()) == [[["2", "0"], ["8", code]] for code in ("0", "3", "137", "143")]
            assert next(x[3] for x in lines if x[2] == long) == "2"

    asyncio.run(main())


@pytest.mark.parametrize("command", ["osprofile-seg", "osprofile-fork-starter"])
def test_the_commands_run_from_a_checkout(command: str) -> None:
    words = [sys.executable, str(ROOT / "cli.py"), command, "--help"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"usage: {command} ")
