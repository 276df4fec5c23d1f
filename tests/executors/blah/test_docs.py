"""The manual page docs/htcondor.md says what is: settings, attributes, and its examples work."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from osprofile.executors.blah.attributes import ATTRIBUTE_RULES, NON_IGNORABLE_ATTRIBUTES, submission_from_ad
from osprofile.executors.blah.settings import Settings, read_settings
from osprofile.executors.blah.submit_ad import SubmitAd
from osprofile.jobs.fields import FIELD_BY_ATTRIBUTE
from osprofile.jobs.request import build_request
from osprofile.lint.linter import lint_profile
from osprofile.profile.repository import Repository
from tests.executors.blah.conftest import write_profile
from tests.executors.blah.gridmanager import DAEMON, GridManager, ad

TEXT = (Path(__file__).parents[3] / "docs" / "htcondor.md").read_text()


def section(title: str) -> str:
    """Give the text from a title to the next one of its depth."""
    depth = "#" * len(title.split(" ", maxsplit=1)[0])
    return TEXT.partition(f"{title}\n")[2].partition(f"\n{depth} ")[0]


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


def rows(text: str) -> list[list[str]]:
    """Give the cells of a table, without its head."""
    found = re.findall(r"^\| (.*) \|$", text, re.MULTILINE)
    return [row.split(" | ") for row in found][1:]


def test_every_setting_stands_there_with_its_default() -> None:
    table = rows(section("## Settings"))
    assert [name.strip("`") for name, *_ in table] == [f.name for f in fields(Settings)]
    defaults = Settings()
    for name, default, meaning in table:
        value = tomllib.loads(f"x = {default.strip('`')}")["x"]
        known = getattr(defaults, name.strip("`"))
        assert type(known)(value) == known if isinstance(value, list) else value == known, name
        assert len(meaning) > 10


def test_every_attribute_stands_there_with_its_field() -> None:
    text = section("## Attributes")
    shown = [
        (name, cells[1].strip("`"))
        for cells in rows(text.partition("\n### ")[0])
        for name in re.findall(r"`(\w+)`", cells[0])
    ]
    assert shown == [(rule.attribute, FIELD_BY_ATTRIBUTE[rule.job_attribute]) for rule in ATTRIBUTE_RULES]
    for name in NON_IGNORABLE_ATTRIBUTES:
        assert f"`{name}`" in text


def test_every_submit_command_gives_its_field() -> None:
    """The ads are what the gridmanager makes of a job ad that condor_submit wrote."""
    found = rows(section("### Submit commands"))
    assert len(found) > 5
    options = {"--qos": "QOS"}
    settable = {*FIELD_BY_ATTRIBUTE.values(), "QOS"}
    for _, attribute, expected in found:
        field, value = (cell.strip("`") for cell in expected.split(" = "))
        text = f'[ Cmd = "/c"; gridtype = "slurm"; {attribute.strip("`")} ]'
        submission = submission_from_ad(SubmitAd.parse(text), settable, accepted_options=options)
        assert build_request(submission.description)[field] == value


@pytest.mark.parametrize("text", blocks("toml"))
def test_each_file_of_settings_is_read(text: str, tmp_path: Path) -> None:
    path = tmp_path / "blahpd.toml"
    path.write_text(text)
    assert read_settings(str(path), Settings()) != Settings()


@pytest.mark.parametrize("text", blocks("sh"))
def test_each_piece_of_shell_is_shell(text: str) -> None:
    assert subprocess.run(["sh", "-n", "-c", text], check=False).returncode == 0


def test_the_five_steps() -> None:
    text = section("## Switching over in five steps")
    assert re.findall(r"^\*\*(\d)\. ", text, re.MULTILINE) == list("12345")
    assert "\n**Back**: " in text
    words = [*DAEMON, "--help"]
    known = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    options = set(re.findall(r"--[a-z-]+", re.sub("`[a-z/]*incarnate [^`]*`|#SBATCH .*", "", text)))
    assert options >= {"--version", "--dry-run", "--check"}
    assert all(option in known for option in options)


def test_the_dry_run(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    (text,) = [block for block in blocks("sh") if "--dry-run" in block]
    text = text.replace("/opt/osprofile/bin/osprofile-blahpd", " ".join(DAEMON))
    found = subprocess.run(["sh", "-c", text], capture_output=True, text=True, check=True).stdout
    (shown,) = [block for block in blocks("text") if block.startswith("#!/bin/sh")]
    assert found.startswith(shown)
    (home / "osprofile").mkdir(exist_ok=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    (home / "osprofile/blahpd.toml").write_text(f'log = "{home}/log"')
    refused = text.replace("BatchRuntime=600", "BatchRuntime=-600")
    found = subprocess.run(["sh", "-c", refused], capture_output=True, text=True, check=True).stdout
    assert " BLAH_JOB_SUBMIT 1: attribute BatchRuntime: -600 is not a number" in found
    assert "#!" not in found


@pytest.mark.parametrize("is_bad", [False, True])
def test_the_check_of_a_batch_system(home: Path, *, is_bad: bool) -> None:
    content = '<idb:Template><idb:Field name="SITE_SETUP" isSettable="false"><idb:Value>exit 4</idb:Value></idb:Field></idb:Template>'
    write_profile(home / "profiles", "toy", content if is_bad else "", root=home / "jobs")
    words = [*DAEMON, "--profiles", str(home / "profiles"), "--check", "toy"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if is_bad:
        assert (done.returncode, done.stdout) == (1, "")
        assert f"did not run in {home}/jobs/" in done.stderr
        assert "the UspaceRoot of the profile" in done.stderr
    else:
        assert done.returncode == 0
        assert done.stderr.startswith("osprofile-blahpd: warning: ") == (os.geteuid() == 0)
        assert done.stderr.count("\n") == (os.geteuid() == 0)
        assert f" ran in {home}/jobs/" in done.stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'map = { pbs = "torqe" }',
            "map: 'pbs' = 'torqe': there is no profile torqe\n    hint: did you mean torque",
        ),
        (
            'extra_submit_args = { "--exclusive" = "EXCLUSIVE=no" }',
            "extra_submit_args: '--exclusive' = 'EXCLUSIVE=no': field EXCLUSIVE: 'no' does not match",
        ),
        # what comes first is in order
        (
            'map = { pbs = "torque" }\nextra_submit_args = { "--alone" = "EXCLUSIVE=true", "-x" = "EXCLUSIVE=no" }',
            "extra_submit_args: '-x' = 'EXCLUSIVE=no': ",
        ),
    ],
)
def test_the_check_refuses_settings_that_no_job_can_use(home: Path, text: str, message: str) -> None:
    (home / "site.toml").write_text(text)
    words = [*DAEMON, "--config", "site.toml", "--check", "slurm"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"osprofile-blahpd: {message}" in done.stderr
    assert "    hint: " in done.stderr


def test_the_check_warns_of_extra_options_without_a_field(site: Path) -> None:
    """Those of the page have one."""
    (text,) = [block for block in blocks("toml") if block.startswith("extra_submit_args")]
    (site / "site.toml").write_text(text.replace(" }", ', "--last" = "LAST" }'))
    (site / "bin/sbatch").write_text("#!/bin/sh\necho 'no such partition' >&2; exit 1\n")
    words = [*DAEMON, "--profiles", "profiles", "--config", "site.toml", "--check", "slurm"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    warnings = [line for line in done.stderr.splitlines() if "extra_submit_args" in line]
    expected = (
        "osprofile-blahpd: warning: extra_submit_args: '--last' = 'LAST': profile slurm has no field LAST: "
    )
    assert [line[: len(expected)] for line in warnings] == [expected]


@pytest.fixture
def site(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a directory with the profile of docs/htcondor.md, and commands that note how they are called."""
    (text,) = blocks("xml")
    (home / "profiles" / "slurm").mkdir(parents=True)
    (home / "profiles" / "slurm" / "profile.xml").write_text(text.replace("/scratch/jobs", f"{home}/scratch"))
    (home / "bin").mkdir()
    commands = {
        "sbatch": f'for script; do :; done\ngrep -e --licenses "$script" >> {home}/calls\necho 4711',
        "squeue": "echo 'slurm_load_jobs' >&2; exit 1",
    }
    for name, text in commands.items():
        (home / "bin" / name).write_text(f'#!/bin/sh\necho "{name} $*" >> {home}/calls\n{text}\n')
        (home / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{home}/bin:{os.environ['PATH']}")
    return home


def test_the_profile_has_no_errors(site: Path) -> None:
    profile = Repository([str(site / "profiles")]).load("slurm")
    assert [p for p in lint_profile(profile) if p.severity == "error"] == []


async def test_one_attribute_more(site: Path) -> None:
    """A site adds an attribute by adding a field to its profile."""
    async with GridManager("--profiles", str(site / "profiles"), "--log", f"{site}/log") as client:
        for licenses in ("solver", "slow-2"):
            await client.submit(
                ad(Cmd="/bin/true", gridtype="slurm", LICENSES=licenses, JobDirectory=licenses)
            )
        for licenses in ("$(id)", "a b", "x\n#SBATCH -p y"):
            text = ad(Cmd="/bin/true", gridtype="slurm", LICENSES=licenses)
            code, words, _ = await client.ask("BLAH_JOB_SUBMIT", text)
            assert (code, "attribute LICENSES: " in words) == ("1", True)
        await client.submit(ad(Cmd="/bin/true", gridtype="slurm", JobDirectory="none"))
    calls = [line for line in (site / "calls").read_text().splitlines() if not line.startswith("squeue")]
    call = "sbatch --parsable --ignore-pbs .gpe/script"
    assert calls == [call, "#SBATCH --licenses=solver:2", call, "#SBATCH --licenses=slow-2", call]
