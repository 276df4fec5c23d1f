"""Toil's jobs on the profile `linux`: real processes, and docs/plugins/toil.md."""

from __future__ import annotations

import logging
import os
import shlex
import shutil
import signal
import subprocess
import sys
import uuid
from typing import TYPE_CHECKING, Any

import pytest
from toil.batchSystems.abstractBatchSystem import (
    EXIT_STATUS_UNAVAILABLE_VALUE,
    BatchJobExitReason,
    InsufficientSystemResources,
    UpdatedBatchJobInfo,
)
from toil.common import Config, get_default_config_path
from toil.job import JobDescription

import osprofile
from osprofile.plugins import toil as plugin
from osprofile.plugins.toil import OSProfileBatchSystem
from tests.docs import pages
from tests.plugins.console import check_commands
from tests.plugins.processes import find_processes, list_processes
from tests.plugins.site import HOSTILE, ROOT, render, write_profile
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Make = Callable[..., OSProfileBatchSystem]

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")  # of Toil
EXAMPLE = ROOT / "docs/examples/toil_example.py"
PAGE = "docs/plugins/toil.md"
REASON = BatchJobExitReason


@pytest.fixture(scope="module", autouse=True)
def _toil_home(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Toil keeps the home that it finds first, where it writes its configuration: none of a test's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        get_default_config_path()


@pytest.fixture
def place(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Prepare a home as for all plugins, and what Toil looks for."""
    tmp = place.parent / "tmp"
    tmp.mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp))
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "plugins"))
    for name in [name for name in os.environ if name.startswith("TOIL_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("TOIL_COORDINATION_DIR", str(tmp))  # else, workers leave files elsewhere
    return place


@pytest.fixture
def make(place: Path) -> Iterator[Make]:
    """Make batch systems; in the end, their jobs are removed."""
    made: list[OSProfileBatchSystem] = []

    def make(profile: str | None = "linux", **settings: object) -> OSProfileBatchSystem:
        config = Config()
        config.workflowID = str(uuid.uuid4())
        config.cleanWorkDir = "always"
        config.workDir = str(place)
        for name, value in {"osprofile_profile": profile, **settings}.items():
            setattr(config, name, value)
        made.append(OSProfileBatchSystem(config, maxCores=64, maxMemory=1e12, maxDisk=10**12))
        return made[-1]

    yield make
    for batch_system in made:
        batch_system.shutdown()


def describe(**settings: Any) -> JobDescription:  # noqa: ANN401
    names = {"jobName": settings.pop("jobName", "a job"), "unitName": settings.pop("unitName", None)}
    local = settings.pop("local", False)
    requirements = {
        "cores": 1,
        "memory": 10**6,
        "disk": 1000,
        "preemptible": False,
        "accelerators": [],
        "walltime": 0,
    }
    return JobDescription(requirements={**requirements, **settings}, local=local, **names)


def wait_for_end(batch_system: OSProfileBatchSystem) -> UpdatedBatchJobInfo:
    while (end := batch_system.getUpdatedBatchJob(10)) is None:
        pass
    return end


def run(batch_system: OSProfileBatchSystem, command: str, **settings: Any) -> UpdatedBatchJobInfo:  # noqa: ANN401
    job_id = batch_system.issueBatchJob(command, describe(**settings))
    end = wait_for_end(batch_system)
    assert end.jobID == job_id
    assert batch_system.getIssuedBatchJobIDs() == []
    return end


def get_native_id(batch_system: OSProfileBatchSystem, job_id: int) -> str:
    job = batch_system._jobs[job_id]
    wait_until(lambda: job.native_id)
    assert job.native_id is not None
    return job.native_id


# Ends


@pytest.mark.parametrize(
    ("command", "exit_status", "reason"),
    [
        ("true", 0, REASON.FINISHED),
        ("exit 3", 3, REASON.FAILED),
        ("exit 255", 255, REASON.FAILED),
        ("kill -s KILL $$", 137, REASON.FAILED),
        ("no-such-command", 127, REASON.FAILED),
        ("'", 2, REASON.FAILED),
    ],
)
def test_the_end_of_a_job(make: Make, command: str, exit_status: int, reason: BatchJobExitReason) -> None:
    batch_system = make()
    end = run(batch_system, command)
    assert (end.exitStatus, end.exitReason) == (exit_status, reason)
    assert end.wallTime is None or end.wallTime > 0
    assert end.backing_id
    assert batch_system.getUpdatedBatchJob(0) is None


def test_the_wall_time_is_a_limit(make: Make, mark: str) -> None:
    end = run(make(), "sleep 1000", walltime=1)
    assert (end.exitStatus, end.exitReason) == (EXIT_STATUS_UNAVAILABLE_VALUE, REASON.TIMELIMIT)
    assert list_processes(mark) == []


def test_a_job_that_another_program_removes_is_killed(make: Make, mark: str) -> None:
    batch_system = make()
    job_id = batch_system.issueBatchJob("sleep 1000", describe())
    batch_system._session.get_job(get_native_id(batch_system, job_id)).cancel()
    end = wait_for_end(batch_system)
    assert (end.jobID, end.exitStatus, end.exitReason) == (
        job_id,
        EXIT_STATUS_UNAVAILABLE_VALUE,
        REASON.KILLED,
    )
    assert list_processes(mark) == []


def test_a_lost_job_is_lost(make: Make, monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    timing = osprofile.Timing
    monkeypatch.setattr(osprofile, "Timing", lambda **settings: timing(grace_period=0.1, **settings))
    batch_system = make(statePollingWait=1)
    job_id = batch_system.issueBatchJob("touch started; sleep 1000", describe())
    native_id = get_native_id(batch_system, job_id)
    wait_until((place / "started").exists)
    os.killpg(int(native_id.split("-")[0]), 9)
    end = wait_for_end(batch_system)
    assert (end.exitStatus, end.exitReason) == (EXIT_STATUS_UNAVAILABLE_VALUE, REASON.LOST)


LAST = osprofile.JobStatus("1", osprofile.JobState.DONE)
OVER_LIMIT = LAST._replace(state=osprofile.JobState.FAILED, cause=osprofile.EndCause.LIMIT)


@pytest.mark.parametrize(
    ("status", "exit_status", "reason"),
    [
        (LAST._replace(exit_code=0), 0, REASON.FINISHED),
        (LAST._replace(exit_code=1), 1, REASON.FAILED),
        (LAST._replace(exit_code=None), 255, REASON.FAILED),
        (LAST._replace(state=osprofile.JobState.FAILED, signal=15), 143, REASON.FAILED),
        (LAST._replace(state=osprofile.JobState.FAILED, exit_code=0), 255, REASON.FAILED),
        (OVER_LIMIT, 255, REASON.FAILED),
        (OVER_LIMIT._replace(cause=osprofile.EndCause.TIME), 255, REASON.TIMELIMIT),
        (OVER_LIMIT._replace(cause=osprofile.EndCause.MEMORY, elapsed=601.0), 255, REASON.MEMLIMIT),
        (OVER_LIMIT._replace(elapsed=601.0), 255, REASON.TIMELIMIT),
        (OVER_LIMIT._replace(started=100.0, ended=700.0), 255, REASON.TIMELIMIT),
        (OVER_LIMIT._replace(elapsed=30.0), 255, REASON.FAILED),
        (OVER_LIMIT._replace(elapsed=30.0, native_state="OUT_OF_MEMORY"), 255, REASON.MEMLIMIT),
        (OVER_LIMIT._replace(native_state="EXIT/TERM_MEMLIMIT", exit_code=0), 255, REASON.MEMLIMIT),
        (LAST._replace(state=osprofile.JobState.FAILED, cause=osprofile.EndCause.NODE), 255, REASON.LOST),
        (
            LAST._replace(state=osprofile.JobState.FAILED, cause=osprofile.EndCause.PREEMPTED),
            255,
            REASON.LOST,
        ),
        (LAST._replace(state=osprofile.JobState.REMOVED, exit_code=0), 255, REASON.KILLED),
        (LAST._replace(state=osprofile.JobState.LOST, exit_code=0), 255, REASON.LOST),
    ],
)
def test_only_exit_code_0_is_a_success(
    status: osprofile.JobStatus, exit_status: int, reason: BatchJobExitReason
) -> None:
    end = plugin._convert_end(7, status, "600")
    assert (end.jobID, end.exitStatus, end.exitReason) == (7, exit_status, reason)
    assert end.wallTime is None or end.wallTime > 0


def test_a_failed_job_is_logged_with_its_output(
    make: Make, place: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run(make(batch_logs_dir=str(place / "logs")), "echo said; echo why >&2; exit 3")
    (out,) = (place / "logs").glob("toil_*.out.log")
    (err,) = (place / "logs").glob("toil_*.err.log")
    assert (out.read_text(), err.read_text()) == ("said\n", "why\n")
    assert "ended with exit code 3" in caplog.text
    assert str(err) in caplog.text


# What a job gets


def test_what_a_job_gets(make: Make, place: Path) -> None:
    batch_system = make(osprofile_fields="WALLTIME=600 CPUTIME='60'")
    command = (
        'pwd > out; echo "$GPE_CPUS|$GPE_MEMORY|$GPE_WALLTIME|$GPE_CPUTIME|$GPE_JOB_NAME|$PROCESSES" >> out'
    )
    assert run(batch_system, command, cores=1.5, memory=2**20 + 1, unitName="$(touch canary)").exitStatus == 0
    directory, values = (place / "out").read_text().splitlines()
    assert directory == str(place)
    assert values == "2|2|600|60|toil_job_1___touch_canary_|"
    assert run(batch_system, 'echo "$GPE_WALLTIME" > out', walltime=5).exitStatus == 0
    assert (place / "out").read_text() == "600\n", "the user's fields replace what Toil asks for"
    assert not (place / "canary").exists()


def test_preemptible_jobs_have_fields_of_their_own(make: Make, place: Path) -> None:
    batch_system = make(osprofile_fields="CPUTIME=60", osprofile_preemptible_fields="CPUTIME=30")
    assert run(batch_system, 'echo "$GPE_CPUTIME" > out', preemptible=True).exitStatus == 0
    assert (place / "out").read_text() == "30\n"
    assert run(batch_system, 'echo "$GPE_CPUTIME" > out').exitStatus == 0
    assert (place / "out").read_text() == "60\n"


@pytest.mark.parametrize("value", HOSTILE)
def test_hostile_values_stay_values(
    make: Make, place: Path, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OF_THE_CALLER", value)
    logs = place / (value.replace("/", "_")[:200] or "logs")
    batch_system = make(batch_logs_dir=str(logs))
    batch_system.setEnv("OF_TOIL", value)
    command = """printf '%s\\0' "$OF_THE_CALLER" "$OF_TOIL" "$OF_THE_JOB" "$GPE_JOB_NAME" > out; echo said"""
    job_id = batch_system.issueBatchJob(command, describe(unitName=value), {"OF_THE_JOB": value})
    assert wait_for_end(batch_system).exitStatus == 0
    *values, name, end = (place / "out").read_bytes().decode().split("\0")
    assert (values, end) == ([value] * 3, "")
    assert name.startswith(f"toil_job_{job_id}_")
    assert [path.read_text() for path in logs.glob("*.out.log")] == ["said\n"]
    assert not list(place.rglob("canary"))


def test_values_of_fields_stay_values(make: Make, place: Path) -> None:
    directory = place / "it's $(touch canary)"
    directory.mkdir()
    fields = f"DIRECTORY={shlex.quote(str(directory))}"
    assert run(make(osprofile_fields=fields), "pwd > out").exitStatus == 0
    assert (directory / "out").read_text() == f"{directory}\n"
    end = run(make(osprofile_fields="QUEUE='$(touch canary)'"), "true")
    assert (end.exitStatus, end.exitReason) == (EXIT_STATUS_UNAVAILABLE_VALUE, REASON.ERROR)
    assert not list(place.rglob("canary"))


def test_a_command_reaches_the_shell_unchanged(make: Make, place: Path) -> None:
    text = "".join(HOSTILE[:-1])
    quoted = "'" + text.replace("'", "'\\''") + "'"
    assert run(make(), f"printf %s {quoted} > out").exitStatus == 0
    assert (place / "out").read_bytes().decode() == text
    assert not (place / "canary").exists()


def test_what_the_profile_refuses_ends_the_job(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    batch_system = make()
    gpu = {"count": 2, "kind": "gpu", "model": "a100"}
    end = run(batch_system, "true", accelerators=[gpu])
    assert (end.exitStatus, end.exitReason) == (EXIT_STATUS_UNAVAILABLE_VALUE, REASON.ERROR)
    assert "GPU" in caplog.text
    assert "GPU" in str(batch_system.getSchedulingStatusMessage())
    assert run(batch_system, "true").exitStatus == 0
    assert batch_system.getSchedulingStatusMessage() is None


def test_gpus_have_fields(make: Make) -> None:
    gpus = [{"count": 2, "kind": "gpu", "model": "a100"}, {"count": 1, "kind": "gpu"}]
    fields = make()._choose_fields(1, describe(accelerators=gpus))
    assert (fields["GPUS"], fields["GPU_TYPE"]) == ("3", "a100")


@pytest.mark.parametrize("profile", ["linux", "slurm", "pbs", "torque", "sge", "lsf"])
def test_every_profile_takes_a_job_of_toil(make: Make, profile: str) -> None:
    batch_system = make()
    gpus = [] if profile == "linux" else [{"count": 2, "kind": "gpu"}]
    description = describe(cores=2.5, memory="3G", walltime=3600, accelerators=gpus, unitName="it's")
    fields = batch_system._choose_fields(1, description)
    script = osprofile.JobDescription(executable="/bin/sh", arguments=["-c", "true"], fields=fields)
    assert "toil_job_1_it_s" in render(profile, script)


@pytest.mark.parametrize(
    "settings",
    [
        {"cores": 65},
        {"memory": "5000G"},
        {"disk": "5000G"},
        {"accelerators": [{"count": 1, "kind": "fpga"}]},
        {"accelerators": [{"count": 1, "kind": "gpu", "model": "a"}, {"count": 1, "kind": "gpu", "model": "b"}]},
    ],
)  # fmt: skip
def test_what_exceeds_the_limits_is_refused(make: Make, settings: dict[str, object]) -> None:
    batch_system = make()
    with pytest.raises(InsufficientSystemResources, match=next(iter(settings))):
        batch_system.issueBatchJob("true", describe(**settings))
    assert batch_system.getIssuedBatchJobIDs() == []


@pytest.mark.parametrize(
    ("profile", "settings", "message"),
    [
        (None, {}, "--osprofileProfile"),
        ("no-such", {}, "no-such"),
        ("linux", {"osprofile_fields": "QUEUE"}, "--osprofileFields: 'QUEUE' is not NAME=VALUE"),
        ("linux", {"osprofile_fields": "A='"}, "--osprofileFields .* shell words"),
        ("linux", {"osprofile_fields": "STDOUT=x"}, "STDOUT"),
        ("linux", {"osprofile_preemptible_fields": "ARRAY=1-2"}, "--osprofilePreemptibleFields: .* ARRAY"),
        ("linux", {"osprofile_context": "=x"}, "--osprofileContext"),
    ],
)
def test_options_that_cannot_be_used(
    make: Make, profile: str | None, settings: dict[str, str], message: str
) -> None:
    with pytest.raises((RuntimeError, osprofile.OSProfileError), match=message):
        make(profile, **settings)


# Watching and removing


def test_kill_returns_when_the_jobs_are_gone(make: Make, mark: str) -> None:
    batch_system = make()
    # it ignores TERM, so that its end takes a while
    ids = [
        batch_system.issueBatchJob(f"trap '' TERM; sleep {n}; sleep {n}", describe()) for n in (1000, 1001)
    ]
    assert sorted(batch_system.getIssuedBatchJobIDs()) == ids
    wait_until(lambda: len(batch_system.getRunningBatchJobIDs()) == 2)
    assert all(seconds >= 0 for seconds in batch_system.getRunningBatchJobIDs().values())
    assert find_processes(mark)
    batch_system.killBatchJobs([*ids, 4711])
    assert list_processes(mark) == []
    assert batch_system.getRunningBatchJobIDs() == {}
    assert batch_system.getIssuedBatchJobIDs() == []
    assert batch_system.getUpdatedBatchJob(1) is None
    assert run(batch_system, "exit 4").exitStatus == 4


def test_kill_at_once(make: Make, mark: str) -> None:
    """Some are not submitted yet, some are being submitted."""
    batch_system = make()
    ids = [batch_system.issueBatchJob("sleep 1000", describe()) for _ in range(20)]
    batch_system.killBatchJobs(ids)
    assert batch_system.getIssuedBatchJobIDs() == []
    assert list_processes(mark) == []
    assert batch_system.getUpdatedBatchJob(1) is None


def test_the_end_of_a_killed_job_is_not_told(make: Make) -> None:
    batch_system = make()
    job_id = batch_system.issueBatchJob("true", describe())
    wait_until(lambda: batch_system._jobs[job_id].end)
    batch_system.killBatchJobs([job_id])
    assert batch_system.getUpdatedBatchJob(0) is None
    assert batch_system.getIssuedBatchJobIDs() == []


def test_max_jobs_is_the_number_of_submitted_jobs(make: Make) -> None:
    batch_system = make(max_jobs=1)
    first, second = (batch_system.issueBatchJob(f"sleep {n}", describe()) for n in (1000, 0))
    wait_until(batch_system.getRunningBatchJobIDs)
    assert batch_system._jobs[second].submission is None
    assert sorted(batch_system.getIssuedBatchJobIDs()) == [first, second]
    assert "1 job is not submitted, because of --maxJobs" in str(batch_system.getSchedulingStatusMessage())
    third = batch_system.issueBatchJob("true", describe())
    batch_system.killBatchJobs([third, first])
    assert wait_for_end(batch_system).jobID == second


def test_local_jobs_are_processes_of_the_leader(make: Make, place: Path) -> None:
    batch_system = make()
    job_id = batch_system.issueBatchJob('echo "no $GPE_JOB_ID" > out', describe(local=True))
    assert batch_system.getIssuedBatchJobIDs() == [job_id]
    end = wait_for_end(batch_system)
    assert (end.jobID, end.exitStatus) == (job_id, 0)
    assert (place / "out").read_text() == "no \n"


def test_held_jobs_do_not_run_and_are_told(make: Make) -> None:
    batch_system = make()
    job_id = batch_system.issueBatchJob("sleep 1000", describe())
    wait_until(batch_system.getRunningBatchJobIDs)
    batch_system._session.get_job(get_native_id(batch_system, job_id)).hold()
    wait_until(lambda: not batch_system.getRunningBatchJobIDs())
    assert "1 job is HELD" in str(batch_system.getSchedulingStatusMessage())


def test_shutdown_removes_all_jobs(make: Make, mark: str) -> None:
    batch_system = make(max_jobs=3)
    for _ in range(5):
        batch_system.issueBatchJob("sleep 1000", describe())
    wait_until(lambda: len(batch_system.getRunningBatchJobIDs()) == 3)
    batch_system.shutdown()
    assert list_processes(mark) == []
    with osprofile.JobSession("linux") as session:
        assert session.list_jobs() == []
        assert len(session.list_jobs(include_ended=True)) == 3


def test_one_query_tells_all_jobs(make: Make, tmp_path: Path, place: Path) -> None:
    shell = tmp_path / "shell"
    shell.write_text(
        f'script=$(cat)\ncase $script in *get-job-status*) echo >> {tmp_path}/queries;; esac\neval "$script"\n'
    )
    batch_system = make(write_profile(tmp_path, f"sh {shell}"))
    ids = {batch_system.issueBatchJob("until [ -e go ]; do sleep 0.1; done", describe()) for _ in range(10)}
    wait_until(lambda: set(batch_system.getRunningBatchJobIDs()) == ids)
    (tmp_path / "queries").write_text("")
    for _ in range(100):  # these cause no query
        batch_system.getRunningBatchJobIDs()
        batch_system.getIssuedBatchJobIDs()
        assert batch_system.getUpdatedBatchJob(0) is None
    (place / "go").touch()
    assert {wait_for_end(batch_system).jobID for _ in ids} == ids
    assert len((tmp_path / "queries").read_text().splitlines()) < 10


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """Return a file: while it exists, the batch system `other` refuses START."""
    shell = tmp_path / "shell"
    shell.write_text(
        f"cat > {tmp_path}/script.$$\n"
        f"if [ -e {tmp_path}/broken ] && grep -q /submit.sh {tmp_path}/script.$$; then echo no daemon >&2; exit 1; fi\n"
        f". {tmp_path}/script.$$\n"
    )
    write_profile(tmp_path, f"sh {shell}")
    (tmp_path / "broken").touch()
    return tmp_path / "broken"


def test_a_submission_is_tried_again(
    make: Make, broken: Path, place: Path, caplog: pytest.LogCaptureFixture
) -> None:
    batch_system = make("other")
    batch_system.issueBatchJob("echo ran >> out", describe())
    wait_until(lambda: "it is tried again" in caplog.text)
    assert "no daemon" in str(batch_system.getSchedulingStatusMessage())
    broken.unlink()
    assert wait_for_end(batch_system).exitStatus == 0
    assert (place / "out").read_text() == "ran\n"


def test_a_batch_system_that_stays_broken_ends_the_job(make: Make, broken: Path) -> None:
    assert broken.exists()
    end = run(make("other", state_polling_timeout=1), "true")
    assert (end.exitStatus, end.exitReason) == (EXIT_STATUS_UNAVAILABLE_VALUE, REASON.ERROR)


def test_a_job_that_cannot_be_submitted_can_be_killed(make: Make, broken: Path) -> None:
    assert broken.exists()
    batch_system = make("other")
    job_id = batch_system.issueBatchJob("true", describe())
    wait_until(batch_system.getSchedulingStatusMessage)
    batch_system.killBatchJobs([job_id])
    assert batch_system.getIssuedBatchJobIDs() == []
    assert batch_system.getUpdatedBatchJob(0) is None


# Workflows

WORKFLOW = """
import os

from toil.common import Toil
from toil.job import Job

NEEDS = {"cores": 1, "memory": "100M", "disk": "1M"}


def start(job, text):
    job.addChildFn(stop, **NEEDS)
    return job.addFollowOnFn(show, text, **NEEDS).rv()


def stop():
    with open(os.environ["COUNT"], "a") as file:
        file.write("x")
    if os.path.exists(os.environ["GO"] + ".wait"):
        time.sleep(1000)
    if not os.path.exists(os.environ["GO"]):
        raise RuntimeError("no way")


def show(text):
    assert os.environ["GPE_JOB_NAME"].startswith("toil_job_")
    return text, os.environ["GPE_CPUTIME"]


if __name__ == "__main__":
    options = Job.Runner.getDefaultArgumentParser().parse_args()
    with Toil(options) as toil:
        root = Job.wrapJobFn(start, "$(touch canary)`touch canary`", **NEEDS)
        print("RESULT", toil.restart() if options.restart else toil.start(root))
"""


def start_workflow(place: Path, *arguments: str, text: str = WORKFLOW) -> subprocess.Popen[str]:
    (place / "workflow.py").write_text(text)
    options = ["--batchSystem", "osprofile", "--workDir", str(place / "tmp"), "--retryCount", "1"]
    (place / "tmp").mkdir(exist_ok=True)
    return subprocess.Popen(
        [sys.executable, "workflow.py", "./jobs", *options, *arguments],
        cwd=place,
        env={**os.environ, "GO": str(place / "go"), "COUNT": str(place / "count")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run_workflow(place: Path, *arguments: str, text: str = WORKFLOW) -> subprocess.CompletedProcess[str]:
    process = start_workflow(place, *arguments, text=text)
    output = process.communicate()
    return subprocess.CompletedProcess(process.args, process.returncode, *output)


def test_a_workflow_fails_and_is_restarted(place: Path, mark: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOIL_OSPROFILE_PROFILE", "linux")
    failed = run_workflow(place, "--osprofileFields", "CPUTIME=60")
    assert failed.returncode != 0
    assert "RESULT" not in failed.stdout
    assert "no way" in failed.stderr
    assert (place / "count").read_text() == "xx"
    assert list_processes(mark) == []
    (place / "go").touch()
    done = run_workflow(place, "--osprofileFields", "CPUTIME=60", "--restart")
    assert done.returncode == 0, done.stderr
    assert "RESULT ('$(touch canary)`touch canary`', '60')" in done.stdout
    assert list_processes(mark) == []
    assert not list(place.rglob("canary"))
    assert not (place / "jobs").exists()
    assert not list((place / "tmp").glob("toilwf-*"))
    with osprofile.JobSession("linux") as session:
        assert session.list_jobs() == []
        # Toil may run several of its jobs in one
        assert len(session.list_jobs(include_ended=True)) >= 3


ENDED = """
import os, signal, subprocess, sys
from toil.common import Toil
from toil.job import Job

def end_as_the_batch_system_would(job):
    memory, walltime = os.environ["GPE_MEMORY"], os.environ["GPE_WALLTIME"]
    with open(os.environ["COUNT"], "a") as file:
        file.write(f"{memory} {walltime}\\n")
    with open(os.environ["COUNT"]) as file:
        if len(file.readlines()) > 2:
            return "enough"
    with open(os.path.join(os.environ["GPE_WORKING_DIRECTORY"], ".gpe/limit"), "w") as file:
        file.write("ended\\n")
    os.killpg(int(os.environ["GPE_JOB_ID"].split("-")[0]), signal.SIGKILL)

if __name__ == "__main__":
    options = Job.Runner.getDefaultArgumentParser().parse_args()
    with Toil(options) as toil:
        needs = {"cores": 1, "memory": "100Mi", "disk": "1M", "walltime": 600, "preemptible": True}
        print(toil.start(Job.wrapJobFn(end_as_the_batch_system_would, **needs)))
"""


@pytest.mark.parametrize(
    ("cause", "options", "amounts"),
    [
        ("MEMORY", ["--doubleMem=True", "--retryCount", "2"], ["100 600", "200 600", "400 600"]),
        ("TIME", ["--doubleTime=True", "--retryCount", "2"], ["100 600", "100 1200", "100 2400"]),
        ("NODE", ["--enableUnlimitedPreemptibleRetries=True", "--retryCount", "0"], ["100 600"] * 3),
        ("PREEMPTED", ["--enableUnlimitedPreemptibleRetries=True", "--retryCount", "0"], ["100 600"] * 3),
    ],
)
def test_toil_does_what_it_does_after_a_cause(
    place: Path, monkeypatch: pytest.MonkeyPatch, cause: str, options: list[str], amounts: list[str]
) -> None:
    shutil.copytree(ROOT / "profiles/linux", place / "profiles/site")
    profile = place / "profiles/site/profile.xml"
    text = profile.read_text().replace('name="linux"', 'name="site"', 1)
    assert "FAILED/TIME" in text
    profile.write_text(text.replace("FAILED/TIME", f"FAILED/{cause}"))
    monkeypatch.setenv("OSPROFILE_PATH", str(place / "profiles"))
    done = run_workflow(place, "--osprofileProfile", "site", "--defaultMemory", "50Mi", *options, text=ENDED)
    assert done.returncode == 0, done.stderr
    assert (place / "count").read_text().splitlines() == amounts


def test_an_interrupted_workflow_leaves_no_job_behind(place: Path, mark: str) -> None:
    (place / "go.wait").touch()
    process = start_workflow(place, "--osprofileProfile", "linux", "--osprofileFields", "CPUTIME=60")
    wait_until((place / "count").exists)
    assert find_processes(mark)
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode != 0
    assert list_processes(mark) == []
    with osprofile.JobSession("linux") as session:
        assert session.list_jobs() == []


def test_a_workflow_without_a_profile_says_what_is_missing(place: Path) -> None:
    failed = run_workflow(place)
    assert failed.returncode != 0
    assert "use --osprofileProfile, as in --osprofileProfile slurm" in failed.stderr


# The manual


def test_the_page_shows_what_happens(place: Path) -> None:
    """A block that prints the example writes it; the others run."""
    count = 0
    for block in pages.read(PAGE):
        if block.file is not None:
            assert block.text == EXAMPLE.read_text()
            (place / block.file).write_text(block.text)
        count += check_commands(block, place)
    assert count == 1


def test_the_page_names_all_options() -> None:
    text = (ROOT / PAGE).read_text()
    for name in ("Profile", "Fields", "PreemptibleFields", "Context", "Store"):
        assert f"`--osprofile{name}" in text


@pytest.fixture(autouse=True)
def _log_warnings(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
