"""The AiiDA plugin, with real jobs on profile `linux`; its page is docs/plugins/aiida.md."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from aiida import engine, orm
from aiida.engine.daemon.execmanager import kill_calculation
from aiida.manage import get_manager
from aiida.manage.configuration import load_profile
from aiida.plugins import CalculationFactory, SchedulerFactory
from aiida.schedulers import JobState, JobTemplate, SchedulerError
from aiida.storage.sqlite_temp import SqliteTempBackend
from aiida.transports.plugins.local import LocalTransport

import osprofile
from osprofile.plugins.aiida import OSProfileScheduler
from tests.docs import pages
from tests.plugins import site
from tests.plugins.console import check_commands
from tests.plugins.processes import list_processes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning")  # of AiiDA
PAGE = site.ROOT / "docs/plugins/aiida.md"
EXAMPLE = site.ROOT / "docs/examples/aiida_example.py"
SCRIPT = "_aiidasubmit.sh"
ONE = {"num_machines": 1, "num_mpiprocs_per_machine": 1}
HOSTILE = [
    *(value for value in site.HOSTILE if value and "\n" not in value),
    "a\r#OSPROFILE --queue=b", "\t", "\N{LINE SEPARATOR}\N{NO-BREAK SPACE}x", "{}",
]  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def event_loop() -> Iterator[None]:
    """Give AiiDA an event loop: it would make one, and never close it."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()


@pytest.fixture(autouse=True)
def use_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the profile of these tests."""
    monkeypatch.setenv("OSPROFILE_PROFILE", "linux")


@pytest.fixture
def scheduler(place: Path) -> Iterator[OSProfileScheduler]:
    """Return a scheduler with an open transport; in the end, its jobs are removed."""
    with LocalTransport(use_login_shell=False) as transport:
        made = SchedulerFactory("osprofile")()
        made.set_transport(transport)
        yield made
    for job in list_jobs():
        if job["state"] in {"QUEUED", "RUNNING", "HELD"}:
            run_incarnate("cancel", job["id"])
    del place


@pytest.fixture
def code(place: Path) -> Iterator[orm.InstalledCode]:
    """Return bash on a computer of a new AiiDA profile."""
    load_profile(SqliteTempBackend.create_profile("test", filepath=str(place)), allow_switch=True)
    computer = orm.Computer(
        label="here",
        hostname="localhost",
        workdir=str(place / "jobs"),
        transport_type="core.local",
        scheduler_type="osprofile",
    ).store()
    computer.configure(use_login_shell=False)
    computer.set_minimum_job_poll_interval(0)
    yield orm.InstalledCode(label="bash", computer=computer, filepath_executable="/bin/bash").store()
    get_manager().unload_profile()


def run_incarnate(*words: str) -> str:
    return subprocess.run(["incarnate", "job", *words], capture_output=True, text=True, check=True).stdout


def list_jobs() -> list[dict[str, Any]]:
    jobs: list[dict[str, Any]] = json.loads(run_incarnate("list", "--all", "--json"))
    return jobs


def wait_until(condition: Callable[[], object]) -> None:
    for _ in range(600):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError(condition)


def write_script(scheduler: OSProfileScheduler, commands: str, **settings: Any) -> str:  # noqa: ANN401
    """Write a job script as AiiDA does, and return its name."""
    template = JobTemplate()
    template.job_name, template.sched_output_path, template.sched_error_path = "aiida-1", "out", "err"
    template.job_resource = scheduler.create_job_resource(**settings.pop("resources", ONE))
    template.update(settings)
    header = scheduler._get_submit_script_header(template)
    text = f"#!/bin/bash\n{header}\n\n{settings.get('prepend_text', '')}\n{commands}\n"
    Path(SCRIPT).write_text(text)
    return SCRIPT


def submit(scheduler: OSProfileScheduler, commands: str, **settings: Any) -> str:  # noqa: ANN401
    job_id = scheduler.submit_job(os.getcwd(), write_script(scheduler, commands, **settings))
    assert isinstance(job_id, str)
    return job_id


def find_state(scheduler: OSProfileScheduler, job_id: str) -> JobState:
    return scheduler.get_jobs(jobs=[job_id], as_dict=True)[job_id].job_state


def calculate(code: orm.InstalledCode, **options: object) -> orm.CalcJobNode:
    """Run AiiDA's calculation of 1 + 2, and return its node."""
    builder = CalculationFactory("core.arithmetic.add").get_builder()
    builder.code, builder.x, builder.y = code, orm.Int(1), orm.Int(2)
    builder.metadata.options.resources = ONE
    for name, value in options.items():
        setattr(builder.metadata.options, name, value)
    _, node = engine.run_get_node(builder)
    assert isinstance(node, orm.CalcJobNode)
    return node


# Calculations


def test_a_calculation(code: orm.InstalledCode) -> None:
    node = calculate(
        code,
        max_wallclock_seconds=600,
        max_memory_kb=1025,
        environment_variables={"NAME": "it's"},
        append_text='echo "$NAME $GPE_MEMORY $GPE_WALLTIME"; echo why >&2',
    )
    assert node.is_finished_ok, node.exit_message
    assert node.outputs.sum.value == 3
    assert node.get_scheduler_stdout() == "it's 2 600\n"
    assert node.get_scheduler_stderr() == "why\n"
    (job,) = list_jobs()
    assert (job["id"], job["name"], job["profile"]) == (node.get_job_id(), f"aiida-{node.pk}", "linux")
    info = node.get_last_job_info()
    assert (info.job_id, info.title, info.job_state, info.exit_status) == (
        job["id"],
        job["name"],
        JobState.DONE,
        0,
    )
    assert info.submission_time <= info.dispatch_time <= info.finish_time


@pytest.mark.parametrize(
    ("text", "exit_status", "state"),
    [
        ("exit 3", 0, "DONE"),  # as with AiiDA's own schedulers, the parser decides
        ("kill -s KILL $$", 199, "FAILED"),
        ("sleep 1000", 120, "FAILED"),
    ],
)
def test_a_calculation_whose_job_fails_behind_the_program(
    code: orm.InstalledCode, text: str, exit_status: int, state: str
) -> None:
    node = calculate(code, append_text=text, max_wallclock_seconds=1 if "sleep" in text else 60)
    assert node.exit_status == exit_status, node.exit_message
    (job,) = list_jobs()
    assert job["state"] == state
    assert list_processes(os.environ["OSPROFILE_TEST_MARK"]) == []


def test_a_calculation_whose_program_fails(code: orm.InstalledCode) -> None:
    node = calculate(code, prepend_text="exit 3")
    assert (node.is_failed, node.exit_status) == (True, 310)  # the output cannot be read: AiiDA's parser
    assert node.get_last_job_info().exit_status == 3


def test_a_calculation_whose_job_is_removed_has_failed(code: orm.InstalledCode) -> None:
    def remove() -> None:
        wait_until(lambda: any(job["state"] == "RUNNING" for job in list_jobs()))
        run_incarnate("cancel", list_jobs()[0]["id"])

    thread = threading.Thread(target=remove)
    thread.start()
    node = calculate(code, append_text="sleep 1000")
    thread.join()
    assert (node.exit_status, node.exit_message) == (199, "The job is REMOVED: USER.")
    assert list_processes(os.environ["OSPROFILE_TEST_MARK"]) == []


def test_a_calculation_that_is_killed_removes_its_job(
    code: orm.InstalledCode, scheduler: OSProfileScheduler
) -> None:
    node = orm.CalcJobNode(computer=code.computer)
    node.set_job_id(submit(scheduler, "sleep 1000"))
    kill_calculation(node, scheduler.transport)
    (job,) = list_jobs()
    assert (job["id"], job["state"], job["cause"]) == (node.get_job_id(), "REMOVED", "USER")
    assert list_processes(os.environ["OSPROFILE_TEST_MARK"]) == []
    kill_calculation(node, scheduler.transport)  # it has ended: no error


def test_the_page_shows_what_happens(place: Path) -> None:
    subprocess.run(["verdi", "presto", "--no-broker"], capture_output=True, check=True)
    assert sum(check_commands(block, place) for block in pages.read("docs/plugins/aiida.md")) == 3


def test_the_example_of_the_page(place: Path) -> None:
    assert EXAMPLE.read_text() in PAGE.read_text()
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)], cwd=place, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "3 0\n"), done.stderr


# States


def test_a_job_that_runs_is_suspended_and_killed(scheduler: OSProfileScheduler) -> None:
    job_id = submit(scheduler, "sleep 1000")
    wait_until(lambda: find_state(scheduler, job_id) is JobState.RUNNING)
    run_incarnate("hold", job_id)
    assert find_state(scheduler, job_id) is JobState.SUSPENDED
    assert scheduler.kill_job(job_id) is True
    assert find_state(scheduler, job_id) is JobState.DONE
    assert scheduler.kill_job(job_id) is False
    exit_code = scheduler.parse_output(scheduler.get_detailed_job_info(job_id))
    assert exit_code is not None
    assert exit_code.status == 199


ROW = {
    **dict.fromkeys(("name", "native_state", "reason", "exit_code", "signal", "cause", "cpu_time")),
    **dict.fromkeys(("submitted", "started", "ended", "elapsed")),
    "id": "7",
    "hosts": [],
}


@pytest.mark.parametrize(
    ("row", "state"),
    [
        ({"state": "QUEUED"}, JobState.QUEUED),
        ({"state": "HELD"}, JobState.QUEUED_HELD),
        ({"state": "HELD", "started": 5.0}, JobState.SUSPENDED),
        ({"state": "HELD", "elapsed": 0.0}, JobState.SUSPENDED),
        ({"state": "RUNNING", "started": 5.0, "hosts": ["n1", "n2"]}, JobState.RUNNING),
        ({"state": "UNKNOWN", "native_state": "ODD"}, JobState.UNDETERMINED),
        ({"state": "DONE", "exit_code": 3}, JobState.DONE),
        ({"state": "FAILED", "signal": 9}, JobState.DONE),
        ({"state": "REMOVED"}, JobState.DONE),
        ({"state": "LOST"}, JobState.DONE),
    ],
)
def test_the_state_of_a_job(row: dict[str, Any], state: JobState) -> None:
    rows = [{**ROW, **row}, {**ROW, "id": None, "state": "INTERRUPTED"}]
    (info,) = OSProfileScheduler()._parse_joblist_output(0, json.dumps(rows), "")
    assert (info.job_id, info.job_state, info.job_substate) == ("7", state, row.get("native_state"))
    assert (info.exit_status, info.terminating_signal) == (row.get("exit_code"), row.get("signal"))
    assert [machine.name for machine in info.allocated_machines] == row.get("hosts", [])
    assert info.load_from_serialized(info.serialize()) == info


def test_an_id_of_two_clusters_has_ended_when_both_have() -> None:
    rows = [{**ROW, "state": state} for state in ("DONE", "RUNNING", "FAILED")]
    jobs = OSProfileScheduler()._parse_joblist_output(0, json.dumps(rows), "")
    assert jobs[-1].job_state is JobState.RUNNING


@pytest.mark.parametrize("state", list(osprofile.JobState))
def test_every_state_is_known(state: osprofile.JobState) -> None:
    (info,) = OSProfileScheduler()._parse_joblist_output(0, json.dumps([{**ROW, "state": state}]), "")
    assert (info.job_state is JobState.DONE) == state.is_terminal
    assert (info.job_state is JobState.UNDETERMINED) == (state is osprofile.JobState.UNKNOWN)


@pytest.mark.parametrize(
    ("row", "exit_status", "message"),
    [
        ({"state": "DONE", "exit_code": 0}, None, ""),
        ({"state": "DONE", "exit_code": 3}, None, ""),
        ({"state": "DONE", "exit_code": None}, None, ""),
        ({"state": "FAILED", "cause": "MEMORY"}, 110, "The job ran out of memory."),
        ({"state": "FAILED", "cause": "TIME"}, 120, "The job ran out of walltime."),
        ({"state": "FAILED", "cause": "NODE"}, 140, "The node running the job failed."),
        ({"state": "FAILED", "cause": "PREEMPTED"}, 199, "The job is FAILED: PREEMPTED."),
        ({"state": "REMOVED", "cause": "DEPENDENCY", "reason": "x"}, 199, "The job is REMOVED: DEPENDENCY, x."),
        ({"state": "LOST"}, 199, "The job is LOST: nothing more is known."),
    ],
)  # fmt: skip
def test_an_end_that_is_not_the_program_s_own_is_a_failure(
    row: dict[str, Any], exit_status: int | None, message: str
) -> None:
    details = {"retval": 0, "stdout": json.dumps([{**ROW, **row}]), "stderr": ""}
    exit_code = OSProfileScheduler().parse_output(details)
    assert (exit_code.status if exit_code else None, exit_code.message if exit_code else "") == (
        exit_status,
        message,
    )


def test_an_end_that_is_not_known_is_a_failure(scheduler: OSProfileScheduler) -> None:
    assert scheduler.get_detailed_job_info("1-2-3")["retval"] == 2  # AiiDA gives None then
    exit_code = scheduler.parse_output(None)
    assert exit_code is not None
    assert exit_code.status == 199


def test_an_unknown_job_hides_no_other(scheduler: OSProfileScheduler) -> None:
    job_id = submit(scheduler, "sleep 1000")
    assert [info.job_id for info in scheduler.get_jobs(jobs=["1-2-3", job_id])] == [job_id]
    assert scheduler.get_jobs(jobs=["1-2-3"]) == []
    assert [info.job_id for info in scheduler.get_jobs()] == [job_id]
    assert scheduler.kill_job("1-2-3") is False


def test_a_batch_system_that_does_not_answer_has_no_ended_job(
    scheduler: OSProfileScheduler, tmp_path: Path
) -> None:
    site.write_profile(tmp_path, "sh -s")
    job_id = submit(scheduler, "sleep 1000", prepend_text="#OSPROFILE --profile other")
    site.write_profile(tmp_path, "sh -c 'exit 1'")
    with pytest.raises(SchedulerError, match="not known"):
        scheduler.get_jobs(jobs=[job_id])
    assert scheduler.kill_job(job_id) is False
    site.write_profile(tmp_path, "sh -s")
    assert find_state(scheduler, job_id) is JobState.RUNNING


@pytest.mark.parametrize(("code", "stdout"), [(0, ""), (0, "Welcome!\n[]"), (2, ""), (127, "")])
def test_output_that_is_not_incarnate_s(code: int, stdout: str) -> None:
    with pytest.raises(SchedulerError, match=r"Welcome|not found"):
        OSProfileScheduler()._parse_joblist_output(code, stdout, "incarnate: not found")


# Submissions


def test_a_submission_that_is_repeated_submits_one_job(scheduler: OSProfileScheduler) -> None:
    job_id = submit(scheduler, "true")
    assert scheduler.submit_job(os.getcwd(), SCRIPT) == job_id
    assert len(list_jobs()) == 1
    assert submit(scheduler, "true") != job_id


def test_what_the_profile_refuses_is_told(scheduler: OSProfileScheduler) -> None:
    with pytest.raises(SchedulerError, match="REQUEUE"):
        submit(scheduler, "true", rerunnable=True)
    with pytest.raises(SchedulerError, match="nowhere"):
        submit(scheduler, "true", prepend_text="#OSPROFILE --profile nowhere")
    with pytest.raises(ValueError, match="closing quotation"):
        submit(scheduler, "true", prepend_text="#OSPROFILE --env='")
    assert list_jobs() == []


def test_the_user_s_own_options(scheduler: OSProfileScheduler, place: Path) -> None:
    job_id = submit(
        scheduler,
        'echo "$A|$B|$GPE_CPUTIME|$GPE_WALLTIME"',
        max_wallclock_seconds=60,
        prepend_text="export IGNORED=1\n#OSPROFILE --env A='it'\"'\"'s $(touch canary)' --walltime 5m",
        custom_scheduler_commands="#OSPROFILE -e B=2\n\n#OSPROFILE --cputime=1m",
    )
    run_incarnate("wait", job_id)
    assert (place / "out").read_text() == "it's $(touch canary)|2|60|300\n"
    assert not (place / "canary").exists()


def test_output_and_errors_in_one_file(scheduler: OSProfileScheduler, place: Path) -> None:
    run_incarnate("wait", submit(scheduler, "echo 1; echo 2 >&2; echo 3", sched_join_files=True))
    assert (place / "out").read_text() == "1\n2\n3\n"
    assert not (place / "err").exists()


def capture_options(scheduler: OSProfileScheduler, place: Path, **settings: Any) -> list[str]:  # noqa: ANN401
    """Return the words that a submission gives to incarnate: a stand-in for it writes them to a file."""
    (place / "bin").mkdir(exist_ok=True)
    program = place / "bin/incarnate"
    program.write_text(f"#!/bin/sh\nprintf '%s\\0' \"$@\" > {shlex.quote(str(place / 'words'))}\necho 7\n")
    program.chmod(0o755)
    path = os.environ["PATH"]
    os.environ["PATH"] = f"{place / 'bin'}:{path}"
    try:
        assert submit(scheduler, "true", **settings) == "7"
    finally:
        os.environ["PATH"] = path
    words = (place / "words").read_bytes().decode().split("\0")[:-1]
    assert words[:2] == ["job", "submit"]
    assert words[-1] == f"./{SCRIPT}"
    assert words[2].startswith("--key=aiida-")
    return words[3:-1]


def test_the_options_of_a_job(scheduler: OSProfileScheduler, place: Path) -> None:
    options = capture_options(
        scheduler,
        place,
        resources={"num_machines": 2, "num_mpiprocs_per_machine": 4, "num_cores_per_machine": 8},
        job_name="it's mine",
        queue_name="long",
        account="p1",
        qos="high",
        priority="-5",
        max_memory_kb=2**20 + 1,
        max_wallclock_seconds=7200,
        rerunnable=True,
        email="a@b",
        email_on_started=True,
        email_on_terminated=True,
    )
    assert options == [
        "--name=it_s_mine", "--queue=long", "--project=p1", "--qos=high", "--priority=-5", "--nodes=2",
        "--processes=8", "--cpus=2", "--memory=1025", "--walltime=7200", "--stdout=out", "--stderr=err",
        "--notify=a@b", "--notify-events=begin,end,fail", "--requeue",
    ]  # fmt: skip


@pytest.mark.parametrize("value", HOSTILE)
def test_hostile_values_stay_values(scheduler: OSProfileScheduler, place: Path, value: str) -> None:
    settings = {"queue_name": value, "account": value, "sched_output_path": value, "email": value}
    options = capture_options(scheduler, place, sched_error_path=None, **settings)
    assert options == [
        "--name=aiida-1",
        *(f"--{name}={value}" for name in ("queue", "project", "stdout", "notify")),
    ]
    assert not (place / "canary").exists()


def test_the_name_of_a_script_is_a_value(scheduler: OSProfileScheduler, place: Path) -> None:
    write_script(scheduler, "echo ran")
    name = "it's $(touch canary) -n.sh"
    Path(SCRIPT).rename(name)
    run_incarnate("wait", str(scheduler.submit_job(str(place), name)))
    assert (place / "out").read_text() == "ran\n"
    assert not (place / "canary").exists()


@pytest.mark.parametrize("job_id", ["$(touch canary)", "; touch canary", "--help", "it's"])
def test_ids_stay_values(scheduler: OSProfileScheduler, place: Path, job_id: str) -> None:
    assert scheduler.get_jobs(jobs=[job_id]) == []
    assert scheduler.kill_job(job_id) is False
    assert scheduler.get_detailed_job_info(job_id)["retval"] == 2
    assert not (place / "canary").exists()


@pytest.mark.parametrize(
    "settings", [{"queue_name": "a\ntouch canary"}, {"submit_as_hold": True}, {"account": "\n"}]
)
def test_what_no_option_can_say_is_refused(scheduler: OSProfileScheduler, settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"line end|submit_as_hold"):
        write_script(scheduler, "true", **settings)


@pytest.mark.parametrize("profile", osprofile.Repository().list_names())
def test_every_profile_takes_a_job_of_aiida(scheduler: OSProfileScheduler, profile: str) -> None:
    text = f"#OSPROFILE --profile {profile} --dry-run"
    write_script(scheduler, "true", prepend_text=text)
    command = scheduler._get_submit_command(SCRIPT)
    code, stdout, stderr = scheduler.transport.exec_command_wait(command, workdir=os.getcwd())
    assert code == 0, stderr
    assert SCRIPT in stdout


def test_directives_of_the_batch_system_are_read(scheduler: OSProfileScheduler) -> None:
    text = "#SBATCH --constraint=fast --ntasks-per-node=2"
    options = "#OSPROFILE --profile slurm --dry-run"
    write_script(scheduler, "true", custom_scheduler_commands=text, prepend_text=options)
    command = scheduler._get_submit_command(SCRIPT)
    code, stdout, stderr = scheduler.transport.exec_command_wait(command, workdir=os.getcwd())
    assert code == 0, stderr
    assert f"fast  ({SCRIPT}:3: --constraint)" in stdout
