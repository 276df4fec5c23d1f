"""Options of the batch system that a job may have although they have no field: PASSED_OPTIONS of the profile."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osprofile.errors import ValueRefusedError
from osprofile.jobs.fields import JobDescription
from osprofile.jobs.profiles import load_profile
from osprofile.jobs.record.store import JobRecord, Store
from osprofile.jobs.request import format_passed_options, is_passed_option
from osprofile.jobs.shell.target import TargetShell
from osprofile.jobs.submit.attempts import read_description
from osprofile.jobs.submit.starts import StartScripts
from osprofile.profile.repository import Repository

if TYPE_CHECKING:
    from pathlib import Path

    from osprofile.jobs.record.store import SubmissionValues
    from osprofile.profile.model import Profile

SLURM, PBS, LINUX = (load_profile(name) for name in ("slurm", "pbs", "linux"))
PASSED = [(SLURM, "--nodelist=n[1-4],n7"), (SLURM, "--hold"), (PBS, "-l filesystems=home:grand"), (PBS, "-h")]
REFUSED = [
    (SLURM, ""), (SLURM, "--uid=0"), (SLURM, "--nodelist=n1 --uid=0"), (SLURM, "--nodelist=n1\n--uid=0"),
    (SLURM, "--nodelist n1 x"), (SLURM, "--nodelist --uid=0"), (SLURM, "--nodelis=n1"), (SLURM, "--nodelistx=n1"),
    (SLURM, "nodelist=n1"), (SLURM, "--NODELIST=n1"), (SLURM, " --hold"), (SLURM, "--hold "), (SLURM, "-w n1"),
    (PBS, "-lfilesystems=home,walltime=99"), (PBS, "-lfilesystems=home"), (PBS, "-hv"), (PBS, "-Wumask=7,depend=x"),
    (PBS, "-W umask=7,depend=x"), (SLURM, '--nodelist="n1" --uid=0'), (SLURM, '--nodelist="$(id)"'), (SLURM, '--nodelist="a\nb"'),
    (PBS, "-W depend=x"), (LINUX, "--nodelist=n1"), (LINUX, "-h"),
]  # fmt: skip


def make_runner(profile: Profile, **context: str) -> StartScripts:
    context |= {"USER_NAME": "alice", "USER_HOME": "/home/alice"}
    return StartScripts(TargetShell(profile, context, time_limit=1, max_parallel_scripts=1))


def render(profile: Profile, *options: str) -> str:
    return (
        make_runner(profile)
        .prepare_submission(JobDescription(executable="true", passed_options=options))
        .script
    )


@pytest.mark.parametrize(("profile", "option"), PASSED)
def test_an_option_that_is_listed_is_a_directive(profile: Profile, option: str) -> None:
    assert is_passed_option(profile, option)
    prefix = {"slurm": "#SBATCH", "pbs": "#PBS"}[profile.name]
    assert f"\n{prefix} {option}\n" in render(profile, option)


def test_an_option_is_recorded_for_a_later_run() -> None:
    store = Store()
    values: SubmissionValues = {"script": "", "request": {}, "passed_options": ["--nodelist=n1"]}
    (record,) = store.begin_submissions("slurm", [("/w", values)])
    assert isinstance(record, JobRecord)
    job = read_description(store.read_details(record.number), {})
    assert list(job.passed_options) == ["--nodelist=n1"]


@pytest.mark.parametrize(("profile", "option"), REFUSED)
def test_other_options_are_refused_by_name(profile: Profile, option: str) -> None:
    with pytest.raises(ValueRefusedError, match="is not passed to the batch system") as refusal:
        render(profile, option)
    assert refusal.value.field == "PASSED"
    assert "PASSED_OPTIONS" in refusal.value.hint


SITE = """<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" xmlns:idb="http://gpe.intel.com/idb"
 name="slurm" extends="slurm"><osp:UspaceRoot>/var/tmp</osp:UspaceRoot><osp:Delimiter>/</osp:Delimiter><idb:Template>
<idb:Field name="{name}"><idb:Min>1</idb:Min><idb:Max>2</idb:Max><idb:Default/></idb:Field></idb:Template></osp:Profile>"""


@pytest.mark.parametrize(("name", "is_passed"), [("GPUS", False), ("NODES", True)])
def test_an_option_does_not_evade_the_limit_of_a_site(tmp_path: Path, name: str, is_passed: bool) -> None:
    """What --gpus-per-task asks for cannot be compared with the Max of GPUS."""
    assert is_passed_option(SLURM, "--gpus-per-task=8")
    (tmp_path / "slurm").mkdir()
    (tmp_path / "slurm" / "profile.xml").write_text(SITE.format(name=name))
    profile = Repository([str(tmp_path)]).load("slurm")
    assert is_passed_option(profile, "--gpus-per-task=8") == is_passed
    assert is_passed_option(profile, "--nodelist=n1") == (name != "NODES")
    assert is_passed_option(profile, "--mem-per-gpu=8G")
    for gpus in ("gpu:8", "gres:gpu", "tape:1,GPU:a100:8"):
        assert is_passed_option(profile, f"--gres={gpus}") == is_passed
    assert is_passed_option(profile, "--gres=tape:1")


@pytest.mark.parametrize(
    "option",
    [
        "-l walltime=99", "-l max_walltime=99",
        "-l filesystems=home,walltime=99", "-l Walltime=99", '-l " walltime=99"', '-l "x=1, walltime=9"',
    ],
)  # fmt: skip
def test_a_resource_in_a_list_does_not_evade_the_limit_of_a_site(tmp_path: Path, option: str) -> None:
    assert is_passed_option(PBS, option)
    (tmp_path / "pbs").mkdir()
    (tmp_path / "pbs" / "profile.xml").write_text(SITE.format(name="WALLTIME").replace('"slurm"', '"pbs"'))
    profile = Repository([str(tmp_path)]).load("pbs")
    assert not is_passed_option(profile, option)
    assert is_passed_option(profile, "-l filesystems=home")


def test_no_request_sets_the_field() -> None:
    runner = make_runner(SLURM, PASSED="--uid=0")
    assert "--uid" not in runner.prepare_submission(JobDescription(executable="true")).script
    with pytest.raises(Exception, match="PASSED"):
        runner.prepare_submission(JobDescription(executable="true", fields={"PASSED": "--hold"}))


@given(
    st.lists(
        st.sampled_from(["--nodelist", "--hold", "--uid", "=", " ", "\n", "'", "$(id)", "n1", ",", "#", "-"])
    ).map("".join)
)
def test_one_option_is_one_option(text: str) -> None:
    if not is_passed_option(SLURM, text):
        return
    assert format_passed_options(SLURM, JobDescription(passed_options=[text])) == text
    assert text.partition("=")[0].partition(" ")[0] in {"--nodelist", "--hold"}
    assert "\n" not in text
    assert " -" not in text
