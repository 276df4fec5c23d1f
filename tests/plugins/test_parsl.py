"""The Parsl provider, with real jobs on profile `linux`; its page is docs/plugins/parsl.md."""

from __future__ import annotations

import logging
import os
import pickle
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import parsl
import pytest
import typeguard
from parsl.config import Config
from parsl.errors import ConfigurationError
from parsl.executors import HighThroughputExecutor
from parsl.jobs.states import JobState, JobStatus
from parsl.launchers import SimpleLauncher, SingleNodeLauncher
from parsl.providers.errors import ScriptPathError, SubmitException

import osprofile
from osprofile.plugins import parsl as plugin
from osprofile.plugins.parsl import OSProfileProvider
from tests.plugins.processes import find_processes, list_processes
from tests.plugins.site import HOSTILE, NAMES, ROOT, render, write_profile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Make = Callable[..., OSProfileProvider]

PAGE = ROOT / "docs/plugins/parsl.md"
EXAMPLE = ROOT / "docs/examples/parsl_example.py"
LABEL = "htex_blocks"
OWN_ENVIRONMENT = ("HOME", "PATH", "LANG")


@pytest.fixture
def make(place: Path) -> Iterator[Make]:
    """Make providers with a record of their own; in the end, all of their jobs are removed."""
    made: list[OSProfileProvider] = []

    def make(profile: str | osprofile.Profile = "linux", **settings: object) -> OSProfileProvider:
        provider = OSProfileProvider(profile, **{"launcher": SimpleLauncher(), **settings})
        provider.script_dir = str(place)
        made.append(provider)
        return provider

    yield make
    for provider in made:
        provider.cancel([*provider.resources])
        close_session(provider)


def close_session(provider: OSProfileProvider) -> None:
    if provider._session is not None:
        provider._session.close()
        provider._session = None


def copy_by_pickle(provider: OSProfileProvider) -> OSProfileProvider:
    copy = pickle.loads(pickle.dumps(provider))  # noqa: S301  # what was written just now
    assert isinstance(copy, OSProfileProvider)
    return copy


def wait_for_end(provider: OSProfileProvider, job_id: str) -> JobStatus:
    return wait_for(provider, job_id, lambda status: status.terminal)


def wait_for(provider: OSProfileProvider, job_id: str, condition: Callable[[JobStatus], bool]) -> JobStatus:
    while not condition(status := provider.status([job_id])[0]):
        time.sleep(0.05)
    return status


# Blocks


def test_a_block_runs_where_and_as_the_caller_does(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OF_THE_CALLER", "it's\n$(touch canary)")
    provider = make(
        worker_init="INIT=worker; echo init", cores_per_node=2, mem_per_node=1.5, walltime="01:00:00"
    )
    command = (
        'pwd; echo "$OF_THE_CALLER|$INIT|$PARSL_CORES|$PARSL_MEMORY_GB|$JOBNAME|$GPE_WALLTIME"; echo no >&2'
    )
    job_id = provider.submit(command, 1, "parsl.htex.block-0")
    status = wait_for_end(provider, job_id)
    assert (status.state, status.exit_code, status.stderr) == (JobState.COMPLETED, 0, "no\n")
    assert status.stdout is not None
    directory, values = status.stdout.removeprefix("init\n").split("\n", 1)
    assert directory == str(Path.cwd())
    start, name, end = values.rpartition("|parsl.htex.block-0.")[0], *values.rsplit("|", 2)[1:]
    assert start == "it's\n$(touch canary)|worker|2|1.5"
    assert name.startswith("parsl.htex.block-0.")
    assert end == "3600\n"
    assert status.stdout_path == str(Path.cwd() / f"{name}.stdout")
    assert not Path("canary").exists()


@pytest.mark.parametrize(
    ("launcher", "end", "exit_code"),
    [
        (SimpleLauncher(), "exit 3", 3),
        (SingleNodeLauncher(), "exit 3", 3),
        (SimpleLauncher(), "kill -s KILL $$", 137),
    ],
    ids=["simple", "single", "signal"],
)
def test_an_exit_code_that_is_not_0_is_a_failure(
    make: Make, launcher: SimpleLauncher, end: str, exit_code: int
) -> None:
    provider = make(launcher=launcher)
    status = wait_for_end(provider, provider.submit(f"echo said; echo why >&2; {end}", 1))
    assert (status.state, status.exit_code) == (JobState.FAILED, exit_code)
    assert "said" in str(status.stdout_summary)
    assert "why" in str(status.stderr_summary)
    assert exit_code != 137 or "9" in str(status.message)


def test_the_launcher_runs_the_command_for_each_task(make: Make) -> None:
    provider = make(launcher=SingleNodeLauncher(debug=False), cores_per_node=4)
    job_id = provider.submit('echo "$PARSL_CORES"', 2)
    assert wait_for_end(provider, job_id).stdout == "2\n2\n"


def test_the_wall_time_is_a_timeout(make: Make, mark: str) -> None:
    provider = make(walltime="00:00:01")
    status = wait_for_end(provider, provider.submit("sleep 1000", 1))
    assert status.state is JobState.TIMEOUT
    assert "wall time of 1 s" in str(status.message)
    assert list_processes(mark) == []


def test_hold_cancel_and_cancel_again(make: Make, mark: str, caplog: pytest.LogCaptureFixture) -> None:
    provider = make()
    job_id, ended_id = provider.submit("sleep 1000", 1), provider.submit("true", 1)
    wait_for(provider, job_id, lambda status: status.state is JobState.RUNNING)
    assert wait_for_end(provider, ended_id).state is JobState.COMPLETED
    provider._get_session().get_job(job_id).hold()
    wait_for(provider, job_id, lambda status: status.state is JobState.HELD)
    assert find_processes(mark)
    assert provider.cancel([job_id, ended_id, "1-1-00000000", "-x"]) == [True, True, False, False]
    assert "job -x could not be removed" in caplog.text
    assert list_processes(mark) == []
    assert wait_for_end(provider, job_id).state is JobState.CANCELLED
    assert provider.cancel([job_id]) == [True]
    assert provider.status([ended_id])[0].state is JobState.COMPLETED
    assert provider.cancel([]) == []


def test_a_job_of_another_provider_is_unknown(make: Make) -> None:
    provider = make()
    (status,) = provider.status(["1-1-00000000"])
    assert (status.state, status.terminal) == (JobState.UNKNOWN, False)
    assert "was not submitted" in str(status.message)
    assert provider.status([]) == []


def test_a_lost_job_is_a_failure(make: Make, mark: str) -> None:
    provider = make()
    timing = osprofile.Timing(min_poll_interval=0.1, grace_period=0.1)
    provider._session = osprofile.JobSession("linux", timing=timing)
    job_id = provider.submit("echo started; sleep 1000", 1)
    while not Path(provider.resources[job_id]["job_stdout_path"]).exists():
        time.sleep(0.05)
    leader = int(job_id.split("-")[0])
    os.killpg(leader, 9)
    status = wait_for_end(provider, job_id)
    assert status.state is JobState.FAILED
    assert status.exit_code is None
    assert "no exit status" in str(status.message)
    assert list_processes(mark) == []


def test_executors_may_change_what_they_get(make: Make) -> None:
    provider = make()
    job_id = provider.submit("true", 1)
    status = wait_for_end(provider, job_id)
    status.state = JobState.MISSING
    assert provider.status([job_id])[0].state is JobState.COMPLETED


LAST = osprofile.JobStatus("1", osprofile.JobState.DONE)
OVER_LIMIT = LAST._replace(state=osprofile.JobState.FAILED, cause=osprofile.EndCause.LIMIT)


@pytest.mark.parametrize(
    ("status", "state", "exit_code"),
    [
        (LAST._replace(exit_code=0), JobState.COMPLETED, 0),
        (LAST._replace(exit_code=1), JobState.FAILED, 1),
        (LAST._replace(exit_code=None), JobState.FAILED, None),
        (LAST._replace(state=osprofile.JobState.FAILED, signal=15), JobState.FAILED, 143),
        (LAST._replace(state=osprofile.JobState.FAILED, exit_code=0), JobState.FAILED, 0),
        (OVER_LIMIT, JobState.TIMEOUT, None),
        (OVER_LIMIT._replace(cause=osprofile.EndCause.TIME, elapsed=30.0), JobState.TIMEOUT, None),
        (OVER_LIMIT._replace(cause=osprofile.EndCause.MEMORY, elapsed=601.0), JobState.FAILED, None),
        (OVER_LIMIT._replace(elapsed=601.0), JobState.TIMEOUT, None),
        (OVER_LIMIT._replace(elapsed=30.0), JobState.FAILED, None),  # of memory
        (OVER_LIMIT._replace(started=100.0, ended=120.0), JobState.FAILED, None),
        (LAST._replace(state=osprofile.JobState.REMOVED, exit_code=0), JobState.CANCELLED, 0),
        (LAST._replace(state=osprofile.JobState.LOST, exit_code=0), JobState.FAILED, 0),
        (LAST._replace(state=osprofile.JobState.UNKNOWN, native_state="ODD"), JobState.UNKNOWN, None),
        (LAST._replace(state=osprofile.JobState.QUEUED), JobState.PENDING, None),
        (LAST._replace(state=osprofile.JobState.HELD), JobState.HELD, None),
        (LAST._replace(state=osprofile.JobState.RUNNING), JobState.RUNNING, None),
    ],
)
def test_only_exit_code_0_is_a_success(
    status: osprofile.JobStatus, state: JobState, exit_code: int | None
) -> None:
    converted = plugin._convert_status(status, "/o", "/e", walltime=600)
    assert (converted.state, converted.exit_code) == (state, exit_code)
    assert (converted.stdout_path, converted.stderr_path) == ("/o", "/e")
    assert converted.terminal == status.state.is_terminal
    if status.cause is not None:
        assert status.cause.description in str(converted.message)


NEEDS_MEMORY = '[ "$GPE_MEMORY" -gt 200 ] || exec sleep 1000'


def test_a_block_is_submitted_again_by_a_rule(make: Make, mark: str) -> None:
    provider = make(
        walltime="00:00:02", mem_per_node=0.1, retry={"TIME": "walltime*100, memory*4", "NODE": 2}
    )
    job_id = provider.submit(f'echo "$GPE_MEMORY" >> tries; {NEEDS_MEMORY}; exec sleep 1000', 1)
    wait_for(
        provider, job_id, lambda _status: Path("tries").exists() and "408\n" in Path("tries").read_text()
    )
    assert provider.status([job_id])[0].state is not JobState.TIMEOUT
    copy = copy_by_pickle(provider)
    assert copy.cancel([job_id]) == [True]
    close_session(copy)
    assert wait_for_end(provider, job_id).state is JobState.CANCELLED
    assert list_processes(mark) == []
    with pytest.raises(SubmitException, match="'MEM' is no cause of an end"):
        make(retry="MEM").submit("true", 1)


def test_all_states_have_one_of_parsl() -> None:
    assert {*plugin._STATES, osprofile.JobState.DONE} == set(osprofile.JobState)


# Queries


def test_a_query_that_fails_ends_no_job(make: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    shell = tmp_path / "shell"
    shell.write_text(
        f"cd {tmp_path}\ncat > script.$$\n"
        "if [ -e broken ] && grep -q get-job-status script.$$; then echo no daemon >&2; exit 1; fi\n"
        ". ./script.$$\n"
    )
    provider = make(write_profile(tmp_path, f"sh {shell}"))
    go = tmp_path / "go"
    job_id = provider.submit(f"until [ -e {go} ]; do sleep 0.1; done; exit 4", 1)
    wait_for(provider, job_id, lambda status: status.state is JobState.RUNNING)
    (tmp_path / "broken").touch()
    fresh = copy_by_pickle(provider)  # its session has no answer yet, so that it must query
    go.touch()
    while Path(f"/proc/{job_id.split('-')[0]}").exists():
        time.sleep(0.05)
    with caplog.at_level(logging.WARNING):
        assert [status.state for status in fresh.status([job_id])] == [JobState.RUNNING]
    assert "are not known now" in caplog.text
    (tmp_path / "broken").unlink()
    status = wait_for_end(fresh, job_id)
    assert (status.state, status.exit_code) == (JobState.FAILED, 4)
    close_session(fresh)


def test_one_query_tells_all_jobs(make: Make, tmp_path: Path) -> None:
    shell = tmp_path / "shell"
    shell.write_text(
        f'script=$(cat)\ncase $script in *get-job-status*) echo >> {tmp_path}/queries;; esac\neval "$script"\n'
    )
    provider = make(write_profile(tmp_path, f"sh {shell}"))
    ids = [provider.submit("sleep 1000", 1) for _ in range(5)]
    fresh = copy_by_pickle(provider)
    close_session(provider)  # and its own queries
    (tmp_path / "queries").write_text("")
    assert {status.state for status in fresh.status(ids)} == {JobState.RUNNING}
    assert (tmp_path / "queries").read_text() == "\n"
    assert fresh.cancel(ids) == [True] * 5
    close_session(fresh)


def test_a_submission_that_is_cut_off_is_completed(
    make: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shell = tmp_path / "shell"
    # START, which submits the job, and FIND_JOB, which looks for it, are killed before their answers.
    shell.write_text(
        f"cd {tmp_path}\ncat > script.$$\n[ -s cuts ] || exec sh script.$$\n"
        "sed -i 1d cuts\nsh script.$$ > lost.$$\nkill -s KILL $$\n"
    )
    profile = write_profile(tmp_path, f"sh {shell}")
    subprocess.run([sys.executable, "-m", "osprofile", "deploy", "-p", profile, "--run"], check=True)
    provider = make(profile)
    (tmp_path / "cuts").write_text("START\nFIND_JOB\n")
    job_id = provider.submit("echo run >> runs", 1)
    assert "a submission was cut off" in caplog.text
    assert (tmp_path / "cuts").read_text() == ""
    assert wait_for_end(provider, job_id).state is JobState.COMPLETED
    assert Path("runs").read_text() == "run\n"
    assert [job.id for job in provider._get_session().list_jobs(include_ended=True)] == [job_id]


def test_a_submission_that_stays_unknown_is_an_error(make: Make, tmp_path: Path) -> None:
    shell = tmp_path / "shell"
    shell.write_text("kill -s KILL $$\n")
    provider = make(write_profile(tmp_path, f"sh {shell}"))
    with pytest.raises(SubmitException, match="START"):
        provider.submit("true", 1)
    assert provider.resources == {}


# Hostile values


def test_names_are_made_plain(make: Make) -> None:
    provider = make()
    ids = {name: provider.submit('printf "%s" "$JOBNAME"', 1, name) for name in HOSTILE}
    for job_id in ids.values():
        status = wait_for_end(provider, job_id)
        assert status.state is JobState.COMPLETED
        assert status.stdout_path == str(Path.cwd() / f"{status.stdout}.stdout")
    assert not Path("canary").exists()
    assert len(set(ids.values())) == len(HOSTILE)


@pytest.mark.parametrize("profile", ["linux", "slurm", "pbs", "torque", "sge", "lsf"])
def test_every_profile_takes_a_block(make: Make, profile: str) -> None:
    provider = make(profile, cores_per_node=4, mem_per_node=2, walltime="00:10:00")
    if profile != "linux":
        provider.queue, provider.project = "q", "p"
    for name in HOSTILE:
        plain = plugin._make_plain_name(name)
        assert plain in render(profile, provider._describe_block(plain, f"/tmp/{plain}", 2))


@pytest.mark.parametrize("value", HOSTILE)
def test_commands_reach_bash_unchanged(make: Make, value: str) -> None:
    provider = make()
    job_id = provider.submit(f"printf %s {plugin.shlex.quote(value)}; exit 5", 1)
    status = wait_for_end(provider, job_id)
    assert status.exit_code == 5
    assert status.stdout_path is not None
    assert Path(status.stdout_path).read_bytes() == value.encode()
    assert not Path("canary").exists()


def test_directories_with_any_name(make: Make) -> None:
    for name in NAMES:
        provider = make()
        directory = Path("d").absolute() / name
        directory.mkdir(parents=True)
        provider.script_dir = str(directory)
        status = wait_for_end(provider, provider.submit("echo here", 1))
        assert (status.state, status.stdout) == (JobState.COMPLETED, "here\n")
        assert sorted(path.suffix for path in directory.iterdir()) == [".sh", ".stderr", ".stdout"]
    assert not list(Path().rglob("canary"))


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        *(({"profile": "slurm", "queue": value}, "field QUEUE: .* does not match") for value in HOSTILE if value not in {"", "x" * 5000}),
        ({"profile": "slurm", "project": "a;b"}, "field PROJECT: .* does not match"),
        ({"queue": "long"}, "QUEUE is not used by .* profile linux"),
        ({"nodes_per_block": 2}, "NODES"),
        ({"nodes_per_block": 0}, "NODES"),
        ({"cores_per_node": 10**9}, "CPUS"),
        ({"fields": {"NO_SUCH_FIELD": "1"}}, "NO_SUCH_FIELD"),
        ({"fields": {"QUEUE": "a"}, "queue": "b"}, "QUEUE"),
        ({"fields": {"DIRECTORY": "relative"}}, "DIRECTORY"),
        ({"fields": {"PRIORITY": "$(touch canary)"}}, "PRIORITY"),
        ({"environment": {"A B": "1"}}, "ENVIRONMENT"),
    ],
)  # fmt: skip
def test_values_that_are_refused(make: Make, settings: dict[str, object], field: str) -> None:
    provider = make(**settings)
    with pytest.raises(SubmitException, match=field):
        provider.submit("touch canary", 1)
    assert provider.resources == {}
    assert provider._get_session().list_jobs(include_ended=True) == []
    assert not Path("canary").exists()


def test_a_script_that_cannot_be_written(make: Make) -> None:
    provider = make()
    provider.script_dir = None
    with pytest.raises(SubmitException, match=r"set provider\.script_dir"):
        provider.submit("true", 1)
    provider.script_dir = "no/such/directory"
    with pytest.raises(ScriptPathError, match="no/such/directory"):
        provider.submit("true", 1)
    assert provider.resources == {}


# The environment


def test_the_environment_of_a_block(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"EMPTY": "", "LINES": "a\n\nb", "RANDOM": "7", "UTF8": "ü€𝄞", "QUOTES": "'\"`$(touch canary)"}
    given["DIRECTIVE"] = "a\n#SBATCH --uid=root"
    others = {
        "SLURM_JOB_ID": "1",
        "PBS_NODEFILE": "/x",
        "TMPDIR": "/no",
        "SSH_AUTH_SOCK": "/x",
        "GPE_CPUS": "9",
    }
    for name, value in {**given, **others}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("BASH_FUNC_f%%", "() { touch canary; }")
    provider = make()
    status = wait_for_end(provider, provider.submit("cat /proc/$$/environ", 1))
    assert status.stdout is not None
    found = dict(line.split("=", 1) for line in status.stdout.split("\0") if line)
    assert given.items() <= found.items()
    assert {name: found[name] for name in OWN_ENVIRONMENT} == {
        name: os.environ[name] for name in OWN_ENVIRONMENT
    }
    assert found["GPE_CPUS"] == ""  # the job's own
    copied = plugin.copy_environment(os.environ)  # on `linux`, a job has the caller's other variables, too
    assert given.items() <= copied.items()
    assert not {*others, "BASH_FUNC_f%%"} & set(copied)
    assert not Path("canary").exists()


def test_an_environment_that_is_given(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOTH", "caller")
    given = {"PATH": os.environ["PATH"], "ONLY": "it's", "BOTH": "given"}
    provider = make(environment=given, fields={"DIRECTORY": "/"})
    assert provider._describe_block("n", "/n", 1).environment == given
    status = wait_for_end(provider, provider.submit('pwd; echo "$ONLY $BOTH"', 1))
    assert status.stdout == "/\nit's given\n"


# Settings


def test_wrong_settings(make: Make) -> None:
    for walltime in ("10", "1:00", "00:60:00", "00:00:00", "-1:00:00", "1h", "", "00:10:00\n", "٠٠:١٠:٠٠"):
        with pytest.raises(ConfigurationError, match="write HH:MM:SS"):
            make(walltime=walltime)
    with pytest.raises(osprofile.ProfileNotFoundError, match="did you mean slurm"):
        make("slrum")
    for settings in ({"nodes_per_block": "2"}, {"launcher": "srun"}, {"fields": {"NODES": 2}}, {"queue": 1}):
        with pytest.raises(typeguard.TypeCheckError):
            make(**settings)


def test_repr_and_attributes(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugin.RepresentationMixin, "_validate_repr", True)  # as Parsl's own tests do
    provider = make(queue="it's", walltime="01:02:03", fields={"QOS": "high"})
    assert repr(eval(repr(provider))) == repr(provider)  # noqa: S307  # that is what a repr of Parsl is for
    assert (provider.label, provider.status_polling_interval) == ("osprofile-linux", 5)
    assert provider._walltime == 3723
    copy = copy_by_pickle(provider)
    assert (repr(copy), copy.label) == (repr(provider), provider.label)


# With Parsl


@parsl.python_app(executors=[LABEL])
def get_place(number: int) -> tuple[int, str, str | None]:
    import os  # the worker's

    return number * number, os.getcwd(), os.environ.get("GPE_JOB_ID")


@parsl.bash_app(executors=[LABEL])
def echo(text: str, stdout: str) -> str:  # noqa: ARG001  # Parsl reads it
    import shlex

    return f"printf %s {shlex.quote(text)}"


@parsl.bash_app(executors=[LABEL])
def fail() -> str:
    return "exit 9"


def make_config(provider: OSProfileProvider, **settings: object) -> Config:
    executor = HighThroughputExecutor(
        label=LABEL,
        address="127.0.0.1",
        loopback_address="127.0.0.1",
        max_workers_per_node=1,  # with more than there are tasks, Parsl scales in while a block starts
        encrypted=True,
        provider=provider,
    )
    return Config(executors=[executor], usage_tracking=0, initialize_logging=False, **settings)


def test_a_workflow(make: Make, mark: str) -> None:
    provider = make()
    with parsl.load(make_config(provider, exit_mode="wait", strategy="none")):
        places = [get_place(number) for number in range(20)]
        texts = [echo(text, stdout=f"out.{number}") for number, text in enumerate(HOSTILE)]
        failed = fail()
        assert [place.result()[0] for place in places] == [number**2 for number in range(20)]
        job_ids = {place.result()[2] for place in places}
        assert {place.result()[1] for place in places} == {str(Path.cwd())}
        assert {text.result() for text in texts} == {0}
        assert [Path(f"out.{number}").read_bytes().decode() for number in range(len(HOSTILE))] == HOSTILE
        assert "exit code 9" in str(failed.exception())
        assert find_processes(mark)
        assert provider.status([*provider.resources])[0].state is JobState.RUNNING
    assert job_ids == set(provider.resources)  # of the one block
    assert list_processes(mark) == []
    assert {status.state for status in provider.status([*provider.resources])} == {JobState.CANCELLED}
    assert not Path("canary").exists()


@parsl.python_app(executors=[LABEL])
def run_out_of_time() -> str | None:
    import os  # the worker's
    import time

    if not os.path.exists("began"):
        open("began", "w").close()
        time.sleep(1000)
    return os.environ.get("GPE_JOB_ID")


def test_a_task_whose_block_has_ended_runs_in_the_next_attempt(make: Make, mark: str) -> None:
    provider = make(walltime="00:00:15", mem_per_node=0.1, retry="TIME: walltime*20")
    config = make_config(provider, exit_mode="wait", strategy="none", strategy_period=1, retries=1)
    (executor,) = config.executors
    assert isinstance(executor, HighThroughputExecutor)
    executor.heartbeat_period, executor.heartbeat_threshold = 1, 3
    with parsl.load(config):
        place = run_out_of_time().result()
        (job_id,) = provider.resources
        assert place not in {None, job_id}
    assert list_processes(mark) == []


def test_blocks_come_and_go(make: Make, mark: str) -> None:
    provider = make(init_blocks=0, max_blocks=2)
    config = make_config(
        provider, exit_mode="wait", strategy="htex_auto_scale", strategy_period=1, max_idletime=1
    )
    with parsl.load(config):
        assert provider.resources == {}
        assert get_place(3).result()[0] == 9
        while list_processes(mark):
            time.sleep(0.1)
        assert {job["status"].state for job in provider.resources.values()} <= {*JobState} - {
            JobState.COMPLETED
        }
        assert get_place(4).result()[0] == 16
        assert len(provider.resources) >= 2
    assert list_processes(mark) == []


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"worker_init": "echo no module >&2; exit 7"}, {"EXIT CODE: 7", "no module"}),
        ({"queue": "it's"}, {"field QUEUE"}),
    ],
    ids=["failed", "refused"],
)
def test_blocks_that_fail_end_the_tasks(make: Make, settings: dict[str, str], words: set[str]) -> None:
    with parsl.load(make_config(make(**settings), exit_mode="wait", strategy_period=1)):
        message = str(get_place(1).exception())
    assert {word for word in words if word in message} == words


# The manual


def test_the_example_of_the_page(make: Make, tmp_path: Path) -> None:
    make()  # for its environment
    assert EXAMPLE.read_text() in PAGE.read_text()
    result = subprocess.run(
        [sys.executable, str(EXAMPLE)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stdout) == (0, "[1, 20]\n"), result.stderr
