"""Jobs of PSI/J on the profile `linux`: real processes, and docs/plugins/psij.md."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import psij
import pytest
from psij import InvalidJobException, Job, JobAttributes, JobExecutor, JobSpec, JobState, ResourceSpecV1
from psij.serialize import JSONSerializer

import osprofile
from osprofile.plugins.psij import list_executors
from osprofile.plugins.psij_description import build_description
from osprofile.plugins.psij_executor import convert_status
from tests.docs.pages import ROOT, read
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PAGE = "docs/plugins/psij.md"
EXECUTOR = "osprofile-linux"
ECHO = "import os, sys; sys.stdout.buffer.write(os.fsencode(repr((sys.argv[1:], os.environ.get('VALUE')))))"


@pytest.fixture(scope="module", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Make a home for all tests: executors of a process share a session."""
    with pytest.MonkeyPatch.context() as patch:
        directory = tmp_path_factory.mktemp("home")
        patch.setenv("HOME", str(directory))
        patch.setenv("OSPROFILE_STORE", str(directory / "jobs.db"))
        yield directory


@pytest.fixture
def executor(home: Path) -> JobExecutor:
    return get_executor(home)


def get_executor(home: Path, name: str = EXECUTOR) -> JobExecutor:
    return JobExecutor.get_instance(name, config=psij.JobExecutorConfig(work_directory=home / "work"))


def make_job(*arguments: str, executable: str = "/bin/sh", **properties: object) -> Job:
    return Job(JobSpec(executable, list(arguments), **properties))  # type: ignore[arg-type]


def run(executor: JobExecutor, job: Job) -> psij.JobStatus:
    executor.submit(job)
    status = job.wait()
    assert status is not None
    return status


def run_python(text: str, *arguments: str) -> str:
    """Run a text in another process, and return its standard output."""
    words = [sys.executable, "-c", text, *arguments]
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout


# States

HALF_A_SECOND = JobAttributes(timedelta(milliseconds=500))


def test_the_states_are_told_once_and_in_order(executor: JobExecutor) -> None:
    for exit_code, end in ((0, JobState.COMPLETED), (7, JobState.FAILED)):
        of_job, of_executor = [], []
        job = make_job("-c", f"exit {exit_code}")
        job.set_job_status_callback(lambda _, status, told=of_job: told.append(status))
        executor.set_job_status_callback(lambda _, status, told=of_executor: told.append(status))
        status = run(executor, job)
        assert (status.state, status.exit_code) == (end, exit_code)
        wait_until(lambda told=of_executor: len(told) == 3)
        for told in (of_job, of_executor):
            assert [s.state for s in told] == [JobState.QUEUED, JobState.ACTIVE, end]
            assert [s.time for s in told] == sorted(s.time for s in told)


@pytest.mark.parametrize(
    ("job", "exit_code", "message"),
    [
        (lambda: make_job("-c", 'kill -s KILL "$$"'), 128 + signal.SIGKILL, "signal 9"),
        (lambda: make_job("60", executable="/bin/sleep", attributes=HALF_A_SECOND), ..., "wall time of 1 s"),
        (
            lambda: make_job("-c", ":", directory=Path("/no/missing")),
            128 + signal.SIGKILL,
            "missing cannot be entered",
        ),
        (lambda: make_job(executable="/no/such program"), 127, ""),
        (lambda: make_job("-c", ":", pre_launch=Path("/no/missing.sh")), ..., "missing.sh: No such file"),
    ],
    ids=["a signal", "over its duration", "no directory", "no program", "no file of the launcher"],
)
def test_a_job_that_has_failed(
    executor: JobExecutor, job: Callable[[], Job], exit_code: object, message: str
) -> None:
    status = run(executor, job())
    assert status.state == JobState.FAILED
    assert exit_code in {status.exit_code, ...}
    assert message in (status.message or "")


def test_a_cancelled_job_is_canceled(executor: JobExecutor) -> None:
    job = make_job("60", executable="/bin/sleep")
    executor.submit(job)
    job.wait(target_states=[JobState.ACTIVE])
    job.cancel()
    assert job.wait().state == JobState.CANCELED
    job.cancel()
    assert job.status.state == JobState.CANCELED


def test_to_cancel_a_job_that_has_ended_is_no_error(executor: JobExecutor) -> None:
    job = make_job("-c", "exit 4")
    run(executor, job)
    other = Job()
    other._native_id = job.native_id
    executor.cancel(other)
    with pytest.raises(psij.SubmitException, match="native id"):
        executor.cancel(Job())


def test_callbacks_may_submit_jobs_while_a_lock_is_held(executor: JobExecutor) -> None:
    lock, jobs, ended = threading.RLock(), [], threading.Semaphore(0)

    def submit_next() -> None:
        with lock:
            if len(jobs) < 12:
                jobs.append(make_job("-c", ":"))
                jobs[-1].set_job_status_callback(handle)
                executor.submit(jobs[-1])

    def handle(_: Job, status: psij.JobStatus) -> None:
        if status.final:
            submit_next()
            ended.release()

    for _ in range(4):
        submit_next()
    for _ in range(12):
        ended.acquire()
    assert [job.status.state for job in jobs] == [JobState.COMPLETED] * 12


@pytest.mark.parametrize(
    ("status", "state", "exit_code"),
    [
        (osprofile.JobStatus("1", osprofile.JobState.DONE, exit_code=0), JobState.COMPLETED, 0),
        (osprofile.JobStatus("1", osprofile.JobState.DONE), JobState.FAILED, None),
        (osprofile.JobStatus("1", osprofile.JobState.LOST), JobState.FAILED, None),
        (osprofile.JobStatus("1", osprofile.JobState.LOST, exit_code=0), JobState.FAILED, None),
        (osprofile.JobStatus("1", osprofile.JobState.FAILED, cause=osprofile.EndCause.LIMIT), JobState.FAILED, None),
        (osprofile.JobStatus("1", osprofile.JobState.FAILED, exit_code=0), JobState.FAILED, None),
        (osprofile.JobStatus("1", osprofile.JobState.REMOVED, exit_code=0), JobState.CANCELED, None),
        (osprofile.JobStatus("1", osprofile.JobState.HELD), JobState.QUEUED, None),
        (osprofile.JobStatus("1", osprofile.JobState.HELD, started=1.0), JobState.ACTIVE, None),
        (osprofile.JobStatus("1", osprofile.JobState.HELD, elapsed=1.0), JobState.ACTIVE, None),
    ],
)  # fmt: skip
def test_only_exit_code_0_is_success(
    status: osprofile.JobStatus, state: JobState, exit_code: int | None
) -> None:
    converted = convert_status(status)
    assert (converted.state, converted.exit_code) == (state, exit_code)
    assert converted.message or state != JobState.FAILED


def test_an_unknown_state_is_not_told() -> None:
    assert convert_status(osprofile.JobStatus("1", osprofile.JobState.UNKNOWN)) is None


# Values


@pytest.mark.parametrize("inherit", [True, False])
def test_hostile_values_arrive_unchanged(executor: JobExecutor, tmp_path: Path, inherit: bool) -> None:
    canary = tmp_path / "canary"
    touch = f"touch {canary}"
    values = ["'", '"', f"$({touch})", f"`{touch}`", f"; {touch} #", f"a\n{touch}\nb", f"'; {touch}; '", "-n",
              "--", "", " ", "ü€\U0001f600", "\\", "$HOME", "*", "~", "<JOB_ID>", "A=b", "--version"]  # fmt: skip
    jobs = []
    for number, value in enumerate(values):
        out = tmp_path / f"out{number}"
        spec = JobSpec(sys.executable, ["-c", ECHO, value], stdout_path=out, name=value)
        spec.environment, spec.inherit_environment = {"VALUE": value}, inherit
        jobs.append((value, out, Job(spec)))
        executor.submit(jobs[-1][2])
    for value, out, job in jobs:
        assert job.wait().state == JobState.COMPLETED, (value, job.status)
        assert out.read_text() == repr(([value], value))
    assert not canary.exists()


def test_hostile_paths_are_only_paths(executor: JobExecutor, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    directory = tmp_path / f"a $(touch {canary.name}) 'b'"
    directory.mkdir()
    setup = directory / "setup's"
    setup.write_text("export FROM_SETUP=yes\n")
    job = make_job("-c", 'pwd; echo "$FROM_SETUP"', directory=directory, pre_launch=setup)
    job.spec.stdout_path = Path(f"out;touch${{IFS}}{canary.name}'")
    assert run(executor, job).state == JobState.COMPLETED
    assert (directory / job.spec.stdout_path).read_text() == f"{directory}\nyes\n"
    assert not list(tmp_path.rglob("canary"))


def test_the_environment(executor: JobExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OF_THE_SUBMITTER", "x")
    out = tmp_path / "out"
    for inherit in (True, False):
        job = make_job("-c", "env", stdout_path=out, environment={"NUMBER": 5}, inherit_environment=inherit)
        assert run(executor, job).state == JobState.COMPLETED
        variables = dict(line.partition("=")[::2] for line in out.read_text().splitlines())
        assert variables["NUMBER"] == "5"
        assert ("GPE_JOB_ID" in variables) is inherit
        assert len(Path(variables["PSIJ_NODEFILE"]).read_text().split()) == 1


def test_the_standard_streams(executor: JobExecutor, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("read me\n")
    job = make_job("-c", "cat; echo error >&2", directory=tmp_path)
    job.spec.stdin_path, job.spec.stdout_path, job.spec.stderr_path = Path("in"), Path("out"), Path("err")
    assert run(executor, job).state == JobState.COMPLETED
    assert ((tmp_path / "out").read_text(), (tmp_path / "err").read_text()) == ("read me\n", "error\n")


def test_multiple_processes_and_their_nodes(executor: JobExecutor, tmp_path: Path) -> None:
    out = tmp_path / "out"
    job = make_job("-c", 'wc -l < "$PSIJ_NODEFILE"', stdout_path=out, launcher="multiple")
    job.spec.resources = ResourceSpecV1(process_count=3)
    assert run(executor, job).state == JobState.COMPLETED
    assert out.read_text().split() == ["3", "3", "3"]


def test_one_process_that_fails_fails_the_job(executor: JobExecutor) -> None:
    job = make_job("-c", '[ "$_PSI_J_PROCESS_INDEX_" != 2 ] || exit 5', launcher="multiple")
    job.spec.resources = ResourceSpecV1(process_count=3)
    status = run(executor, job)
    assert (status.state, status.exit_code) == (JobState.FAILED, 5)


def test_fields_of_the_profile(executor: JobExecutor, tmp_path: Path) -> None:
    begin = time.time()
    when = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(begin + 3))
    custom = {
        f"{EXECUTOR}.start-time": when,
        "osprofile.NODE_FILE": str(tmp_path / "nodes"),
        "OSProfile.CPUTIME": 60,
    }
    job = make_job("-c", 'ulimit -t; echo "$PSIJ_NODEFILE"', stdout_path=tmp_path / "out")
    job.spec.attributes = JobAttributes(custom_attributes=custom)
    assert run(executor, job).state == JobState.COMPLETED
    assert job.status.time >= begin + 2
    assert (tmp_path / "out").read_text().split() == ["60", str(tmp_path / "nodes")]


def describe(spec: JobSpec, executor_name: str = EXECUTOR) -> osprofile.JobDescription:
    names = osprofile.load("linux").global_fields
    return build_description(Job(spec), psij.Launcher.get_instance("single"), executor_name, names)


def test_resources_and_attributes() -> None:
    spec = JobSpec("/bin/date", name="a job: 100%")
    spec.resources = ResourceSpecV1(4, 16, 4, 2, 1, exclusive_node_use=True, memory=(1 << 30) + 1)
    spec.attributes = JobAttributes(timedelta(seconds=59.5), "long", "money", "mine")
    found = describe(spec)
    assert (found.nodes, found.processes, found.cpus, found.gpus, found.memory) == (4, 16, 2, 4, 257)
    assert (found.exclusive, found.walltime, found.queue) == (True, 60, "long")
    assert (found.project, found.reservation, found.name) == ("money", "mine", "a_job__100_")
    found = describe(JobSpec("/bin/date"))
    assert (found.nodes, found.processes, found.cpus, found.gpus, found.memory) == (None,) * 5
    assert (found.exclusive, found.walltime, found.name) == (None, 600, "date")
    found = describe(JobSpec("/bin/date", resources=ResourceSpecV1(process_count=4)))
    assert (found.nodes, found.processes) == (1, 4)


@pytest.mark.parametrize("name", ["", "/", "-x", "ü", "1", "a" * 999, "a\nb", "$(x)", ".."])
def test_plain_names_suit_every_profile(name: str) -> None:
    plain = osprofile.build_job_name(name)
    for profile in ("linux", "slurm", "pbs", "torque", "sge", "lsf"):
        loaded = osprofile.load(profile)
        context = osprofile.new_context(loaded)
        osprofile.incarnate(loaded, "START", fields={"JOB_NAME": plain}, context=context)


# Refusals


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("spec.executable", None, "executable"),
        ("spec.directory", "relative", "directory"),
        ("spec.stdout_path", "/tmp/a b", "stdout_path.*blank"),
        ("spec.stdin_path", "/tmp/*", "stdin_path"),
        ("spec.environment", {"A B": "c"}, "environment"),
        ("spec.environment", {"A": "a\0b"}, "environment"),
        ("spec.arguments", ["a\0b"], "arguments"),
        ("spec.arguments", ["\udc80"], "arguments.*UTF-8"),
        ("spec.arguments", [5], "arguments"),
        ("spec.launcher", "no_launcher", "launcher.*known: .*single"),
        ("spec.stage_in", ["file"], "stage_in"),
        ("spec.stage_out", ["file"], "stage_out"),
        ("spec.cleanup", ["file"], "cleanup"),
        ("resources.node_count", 2, "resources"),
        ("resources.cpu_cores_per_process", 0, "cpu_cores_per_process"),
        ("resources.gpu_cores_per_process", 1, "gpu_cores_per_process"),
        ("resources.exclusive_node_use", True, "exclusive_node_use"),
        ("resources.memory", -1, "memory"),
        ("resources.memory", 0, "memory"),
        ("attributes.duration", timedelta(0), "duration"),
        ("attributes.queue_name", "a b", "queue_name"),
        ("attributes.account", "$(x)", "account"),
        ("attributes.reservation_id", "mine", "reservation_id"),
        ("attributes.custom_attributes", {"slurm.constraint": "gpu"}, "slurm.constraint"),
        ("attributes.custom_attributes", {"osprofile.": "gpu"}, "osprofile"),
        ("attributes.custom_attributes", {"plain": "gpu"}, "plain"),
        ("attributes.custom_attributes", {"osprofile.NO_FIELD": "x"}, "NO_FIELD"),
        ("attributes.custom_attributes", {"osprofile.SITE_SETUP": "x"}, "SITE_SETUP"),
        ("attributes.custom_attributes", {"osprofile.WALLTIME": 5}, "WALLTIME"),
        ("attributes.custom_attributes", {"osprofile.QUEUE": 1.5}, "osprofile.QUEUE"),
        ("attributes.custom_attributes", {"osprofile.QOS": "a", "osprofile.qos": "b"}, "QOS.*twice"),
    ],
)
def test_what_cannot_be_mapped_is_refused_by_name(
    executor: JobExecutor, name: str, value: object, message: str
) -> None:
    spec = JobSpec("/bin/true", resources=ResourceSpecV1())
    owner, _, attribute = name.partition(".")
    owners = {"spec": spec, "resources": spec.resources, "attributes": spec.attributes}
    setattr(owners[owner], attribute, value)
    job, before = Job(spec), executor.list()
    told: list[psij.JobStatus] = []
    job.set_job_status_callback(lambda _, status: told.append(status))
    with pytest.raises(InvalidJobException, match=f"(?s){message}"):
        executor.submit(job)
    assert (job.native_id, job.status.state, told) == (None, JobState.NEW, [])
    assert executor.list() == before
    job.spec = JobSpec("/bin/true")
    assert run(executor, job).state == JobState.COMPLETED  # the same object, put right


def test_two_nodes_are_refused_on_one_machine(executor: JobExecutor) -> None:
    job = make_job(resources=ResourceSpecV1(node_count=2))
    with pytest.raises(InvalidJobException, match=r"resources\.node_count: field NODES: '2'.*Max"):
        executor.submit(job)


def test_a_url_is_refused() -> None:
    with pytest.raises(ValueError, match="takes no URL"):
        JobExecutor.get_instance(EXECUTOR, url="ssh://elsewhere")


# Jobs of others

ATTACH = """
import psij, sys
job = psij.Job()
psij.JobExecutor.get_instance("osprofile-linux").attach(job, sys.argv[1])
print(job.wait().state, job.status.exit_code)
"""
SUBMIT = """
import psij
job = psij.Job(psij.JobSpec("/bin/sh", ["-c", "sleep 5; exit 6"]))
psij.JobExecutor.get_instance("osprofile-linux").submit(job)
print(job.native_id)
"""
FORK = """
import os, psij, sys
def run(code):
    job = psij.Job(psij.JobSpec("/bin/sh", ["-c", f"exit {code}"]))
    executor.submit(job)
    return job.wait().exit_code
executor = psij.JobExecutor.get_instance("osprofile-linux")
run(3)
child = os.fork()
if not child:
    os._exit(run(4))
print(run(5), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.parametrize("has_the_record", [True, False])
def test_attach_in_another_process(
    executor: JobExecutor, monkeypatch: pytest.MonkeyPatch, *, has_the_record: bool
) -> None:
    job = make_job("-c", "sleep 2; exit 6")
    executor.submit(job)
    if not has_the_record:
        monkeypatch.setenv("OSPROFILE_STORE", ":memory:")
    for _ in ("it runs", "it has ended"):
        assert run_python(ATTACH, job.native_id) == "FAILED 6\n"


def test_attach_to_the_job_of_a_process_that_has_ended(executor: JobExecutor) -> None:
    native_id = run_python(SUBMIT).strip()
    assert native_id in executor.list()
    job, other = Job(), Job()
    executor.attach(job, native_id)
    executor.attach(other, native_id)
    assert [(j.wait().state, j.status.exit_code) for j in (job, other)] == [(JobState.FAILED, 6)] * 2
    assert native_id not in executor.list()


def test_a_second_session_finds_a_job_again(executor: JobExecutor) -> None:
    job = make_job("-c", "sleep 1; exit 6")
    executor.submit(job)
    with osprofile.JobSession("linux") as session:
        assert session.get_job(job.native_id).wait().exit_code == 6


def test_a_submission_that_is_repeated_is_the_same_job(executor: JobExecutor) -> None:
    job = make_job("-c", ":")
    executor.submit(job)
    again = make_job("-c", ":")
    again._id = job.id  # as after a SubmitException that did not reach the batch system's answer
    executor.submit(again)
    assert again.native_id == job.native_id
    assert (job.wait().state, again.wait().state) == (JobState.COMPLETED, JobState.COMPLETED)
    with pytest.raises(InvalidJobException, match="NEW"):
        executor.submit(job)


def test_attach_refuses(executor: JobExecutor) -> None:
    job = Job()
    for native_id in ("1-1-00000000", "no id", "$(touch x)", ""):
        with pytest.raises((psij.SubmitException, InvalidJobException)):
            executor.attach(job, native_id)
        assert (job.native_id, job.status.state) == (None, JobState.NEW)
    executor.submit(job := make_job("-c", ":"))
    with pytest.raises(InvalidJobException, match="new job"):
        executor.attach(job, "1")
    job.wait()


def test_a_child_process_has_its_own_session() -> None:
    assert run_python(FORK) == "5 4\n"


# Open OnDemand


def test_hold_release_and_info(executor: JobExecutor, tmp_path: Path) -> None:
    begin, end = time.time(), tmp_path / "end"
    job = make_job("-c", f"until [ -e {end} ]; do sleep 0.1; done; exit 6", name="held")
    executor.submit(job)
    job.wait(target_states=[JobState.ACTIVE])
    other = Job()  # as Open OnDemand makes it
    other._native_id = job.native_id
    executor.hold(other)
    end.touch()
    (found,) = executor.info([other])
    assert (found.native_id, found.status.state) == (job.native_id, JobState.ACTIVE)
    executor.release(other)
    assert job.wait().exit_code == 6
    (found,) = executor.info([other])
    assert (found.status.state, found.status.exit_code) == (JobState.FAILED, 6)
    assert (found.spec.name, found.spec.attributes.duration) == ("held", timedelta(minutes=10))
    info = found.current_info
    assert begin - 1 < info.submission_time.timestamp() <= info.dispatch_time.timestamp() <= time.time()
    assert info.resourcelist[0]["name"]
    unknown = Job()
    unknown._native_id = "1-1-00000000"
    assert executor.info([unknown]) == []
    for action in (executor.hold, executor.release, executor.cancel):
        with pytest.raises(psij.SubmitException):
            action(unknown)


def test_info_as_open_ondemand_prints_it(executor: JobExecutor) -> None:
    """Its adapter merges these dictionaries, formats the times, and prints JSON."""
    job = make_job("2", executable="/bin/sleep")
    executor.submit(job)
    owner = executor.info()[0].current_info.owner
    assert job.native_id in [found.native_id for found in executor.info(owner=f"nobody,{owner}")]
    assert executor.info(owner="nobody") == []
    for found in executor.info():
        merged = {"native_id": found.native_id, "current_state": found._status.state.name}
        merged |= found.current_info.__dict__ | JSONSerializer()._from_spec(found.spec)
        merged |= merged.pop("attributes") | merged.pop("resources")
        merged["duration"] = found.spec.attributes.duration.total_seconds()
        merged["wall_time"] = int(merged["wall_time"])
        for name in ("submission_time", "dispatch_time"):
            merged[name] = merged[name] and merged[name].strftime("%Y-%m-%d %H:%M:%S")
        assert json.loads(json.dumps(merged))["owner"] == owner
    job.cancel()
    job.wait()


# Installation

PROBE = """
import psij, sys, logging, osprofile
names = psij.JobExecutor.get_executor_names()
executor = psij.JobExecutor.get_instance("osprofile-linux")
job = psij.Job(psij.JobSpec("/bin/sh", ["-c", "exit 6"]))
executor.submit(job)
print(osprofile.__file__, job.wait().exit_code, *sorted(n for n in names if n.startswith("osprofile-")))
"""


def run_probe(python: str, directory: Path) -> str:
    """Return the path of osprofile, and check what PSI/J finds and says."""
    ended = subprocess.run([python, "-c", PROBE], check=True, capture_output=True, text=True, cwd=directory)
    place, exit_code, *names = ended.stdout.split()
    assert (exit_code, ended.stderr) == ("6", "")
    assert names == [name for name, _, _ in list_executors()]
    return place


def test_psij_finds_the_executors_of_this_environment(tmp_path: Path) -> None:
    """An editable one, as `make plugins` makes it: pip has made copies of these files."""
    run_probe(sys.executable, tmp_path)
    packages = Path(psij.__file__).parents[1]
    for name in ("osprofile_psij.py", "psij-descriptors/osprofile_descriptor.py"):
        message = f"{packages / name} is old: pip install -e . --no-deps"
        assert (packages / name).read_text() == (ROOT / "plugins" / name).read_text(), message


def test_psij_finds_the_executors_of_a_wheel(tmp_path: Path) -> None:
    """An environment of its own, with this one's packages except osprofile."""
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    python = str(environment / "bin" / "python")
    (packages,) = environment.glob("lib/python*/site-packages")
    link_packages(Path(psij.__file__).parents[1], packages)
    install = ["install", "-q", "--no-deps", "--no-build-isolation", str(ROOT)]
    subprocess.run([sys.executable, "-m", "pip", "--python", python, *install], check=True)
    assert Path(run_probe(python, tmp_path)).is_relative_to(packages)


def link_packages(here: Path, there: Path) -> None:
    """Make links to all packages of an environment except osprofile."""
    for path in here.iterdir():
        if (
            path.name != "psij-descriptors"
            and "osprofile" not in path.name
            and not (there / path.name).exists()
        ):
            (there / path.name).symlink_to(path)
    (there / "psij-descriptors").mkdir()
    for path in (here / "psij-descriptors").glob("*.py"):
        if not path.name.startswith("osprofile"):
            (there / "psij-descriptors" / path.name).symlink_to(path)


def test_the_module_may_be_imported_before_psij() -> None:
    text = "import osprofile.plugins.psij, psij; print(psij.JobExecutor.get_instance('osprofile-pbs'))"
    assert run_python(text).startswith("JobExecutor[osprofile-pbs, ")


def test_the_executors_of_a_sites_profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("my.site-1", "Same", "same"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "profile.xml").write_text(
            f'<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" name="{name}" extends="linux">\n'
            f"<osp:UspaceRoot>{tmp_path}</osp:UspaceRoot><osp:Delimiter>/</osp:Delimiter></osp:Profile>\n"
        )
    monkeypatch.setenv("OSPROFILE_PATH", str(tmp_path))
    text = """
import psij
attributes = psij.JobAttributes(custom_attributes={"osprofile-my.site-1.TMP_DIR": "/tmp"})
job = psij.Job(psij.JobSpec("/bin/sh", ["-c", "case $TMPDIR in /tmp/*) exit 8 ;; esac"], attributes=attributes))
psij.JobExecutor.get_instance("osprofile-my.site-1").submit(job)
print(job.wait().exit_code, "osprofile-same" in psij.JobExecutor.get_executor_names())
"""
    assert run_python(text) == "8 False\n"


# The manual


def test_the_blocks_of_the_page() -> None:
    program, output = [
        b for b in read(PAGE) if b.marks.get("run") == f"by tests/plugins/{Path(__file__).name}"
    ]
    assert run_python(program.text) == output.text


def test_the_example() -> None:
    example = ROOT / "docs" / "examples" / "psij_example.py"
    ended = subprocess.run([sys.executable, example], check=False, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (1, "")
    assert ended.stdout == "COMPLETED 0\nFAILED 3\nCOMPLETED 0\n"


def test_the_page_names_every_property() -> None:
    text = (ROOT / PAGE).read_text()
    for kind in (JobSpec, JobAttributes, ResourceSpecV1):
        for name in kind.__init__.__annotations__:
            assert name in {"return", "resources", "attributes"} or f"`{name}`" in text, name
