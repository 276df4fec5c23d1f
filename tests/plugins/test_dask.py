"""The Dask plugin, with real clusters on profile `linux`; its page is docs/plugins/dask.md."""

from __future__ import annotations

import asyncio
import operator
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dask
import dask.config
import pytest
from distributed import Client, Security

import osprofile
from osprofile.plugins import dask as plugin
from osprofile.plugins.dask import OSProfileCluster, OSProfileJob
from tests.plugins import site
from tests.plugins.processes import find_processes, list_processes
from tests.plugins.site import render, write_profile
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = site.ROOT / "docs/plugins/dask.md"
EXAMPLE = site.ROOT / "docs/examples/dask_example.py"
LOOPBACK = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
PRINT_WORDS = "printf '<%s>'"
"""In place of Python: it prints the words of the worker's command."""
HOSTILE = [
    *(value for value in site.HOSTILE if value != "${IFS}"),  # in Dask's values, variables count
    "\\$(touch canary)", "$", "$$", "$1", "${", "${x:=$(touch canary)}",
]  # fmt: skip


@pytest.fixture(autouse=True)
def work(place: Path, mark: str) -> Iterator[Path]:
    """Return the working directory; no job may be left behind."""
    yield place
    assert list_processes(mark) == []
    assert plugin._open_jobs == set()
    assert not list(place.parent.rglob("canary"))


def make(profile: Any = "linux", **settings: Any) -> OSProfileCluster:  # noqa: ANN401
    return OSProfileCluster(
        profile, **{"cores": 1, "memory": "500 MiB", "scheduler_options": LOOPBACK, **settings}
    )


def make_job(profile: Any = "linux", **settings: Any) -> OSProfileJob:  # noqa: ANN401
    scheduler = "tcp://127.0.0.1:9"
    return OSProfileJob(
        scheduler, **{"profile": profile, "name": "w", "cores": 1, "memory": "1 GiB", **settings}
    )


def write_waiting_profile(work: Path) -> str:
    """Write a profile whose START waits for the file `go`, and says so by the file `waits`."""
    (work.parent / "shell").write_text(
        f"cd {work}\nscript=$(cat)\ncase $script in *'setsid setsid'*)\n"
        'touch waits; until [ -e go ]; do sleep 0.05; done;; esac\neval "$script"\n'
    )
    return write_profile(work.parent, f"sh {work.parent}/shell")


# Clusters


def get_place(number: int) -> tuple[int, str, str | None, str | None, str]:
    import os  # the worker's
    import sys

    environ = os.environ
    return number**2, os.getcwd(), environ.get("GPE_JOB_ID"), environ.get("OMP_NUM_THREADS"), sys.executable


def test_workers_are_jobs(mark: str, work: Path) -> None:
    with make(processes=2, cores=4, walltime="01:00:00") as cluster, Client(cluster) as client:
        cluster.scale(jobs=2)
        client.wait_for_workers(4)
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
        assert {(worker["nthreads"], worker["memory_limit"]) for worker in workers} == {(2, 250 * 2**20)}
        places = client.gather(client.map(get_place, range(20)))
        assert [place[0] for place in places] == [number**2 for number in range(20)]
        job_ids = {job.job_id for job in cluster.workers.values()}
        assert {place[2] for place in places} <= job_ids
        assert {place[1] for place in places} == {str(work)}
        assert {place[3:] for place in places} == {("1", sys.executable)}
        assert {job.id for job in cluster.session.list_jobs()} == job_ids
        assert len(job_ids) == 2
        assert "Start worker at" in str(cluster.get_logs())
        assert "Start worker at" in cluster.session.get_job(min(job_ids)).stderr()
        cluster.scale(jobs=1)
        wait_until(lambda: len(cluster.workers) == 1)
        wait_until(lambda: len(client.scheduler_info(n_workers=-1)["workers"]) == 2)
        (rest,) = (job.job_id for job in cluster.workers.values())
        wait_until(lambda: cluster.session.get_job(min(job_ids - {rest})).status().state.is_terminal)
        assert find_processes(mark)
    assert list_processes(mark) == []
    with osprofile.JobSession("linux") as session:
        assert all(status.state.is_terminal for status in session.statuses(job_ids).values())


def test_adapt(mark: str) -> None:
    with make() as cluster, Client(cluster) as client:
        cluster.adapt(minimum=0, maximum=2, interval="100ms", wait_count=2)
        assert list_processes(mark) == []
        assert client.submit(lambda: 7).result() == 7
        wait_until(lambda: not cluster.workers)
        wait_until(lambda: list_processes(mark) == [])
        assert client.submit(lambda: 8).result() == 8


def test_an_asynchronous_cluster() -> None:
    async def run() -> int:
        async with make(asynchronous=True) as cluster, Client(cluster, asynchronous=True) as client:
            cluster.scale(1)
            result: int = await client.submit(lambda: 9)
            return result

    assert asyncio.run(run()) == 9


def test_submissions_do_not_block_the_event_loop(work: Path) -> None:
    async def run() -> None:
        job = make_job(write_waiting_profile(work), python="sleep 1000 #")
        started = asyncio.ensure_future(job.start())
        while not Path("waits").exists():  # noqa: ASYNC110, ASYNC240
            await asyncio.sleep(0.05)
        Path("go").touch()  # noqa: ASYNC240
        await started
        await job.close()

    asyncio.run(run())


def test_a_cluster_that_is_closed_during_a_submission(work: Path, mark: str) -> None:
    jobs = plugin._Jobs(write_waiting_profile(work), None, None)
    ids: list[str] = []
    description = make_job(python="sleep 1000 #").describe()
    submission = threading.Thread(target=lambda: ids.append(jobs.submit(description, "w")))
    submission.start()
    wait_until(Path("waits").exists)
    closing = threading.Thread(target=jobs.close)
    closing.start()
    Path("go").touch()
    submission.join()
    closing.join()
    assert list_processes(mark) == []
    with osprofile.JobSession("other") as session:
        assert session.get_job(ids[0]).status().state is osprofile.JobState.REMOVED
    with pytest.raises(RuntimeError, match="the cluster is closed"):
        jobs.submit(description, "w")


def test_a_submission_that_fails(work: Path) -> None:
    shell = work.parent / "shell"
    shell.write_text(
        "script=$(cat)\ncase $script in *'setsid setsid'*) echo no slots >&2; exit 1;; esac\neval \"$script\"\n"
    )

    async def run() -> None:
        job = make_job(write_profile(work.parent, f"sh {shell}"))
        with pytest.raises(osprofile.ScriptFailedError, match="no slots"):
            await job
        assert job.job_id is None
        await job.close()

    asyncio.run(run())


def run_job(caplog: pytest.LogCaptureFixture, text: str, **settings: Any) -> str:  # noqa: ANN401
    """Run a job until a text is in the log, and return the log."""

    async def run() -> None:
        job = make_job(**settings)
        await job
        while text not in caplog.text:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        await job.close()  # that it has ended is no error

    asyncio.run(run())
    return caplog.text


def test_jobs_that_end_by_themselves(caplog: pytest.LogCaptureFixture) -> None:
    log = run_job(caplog, "worker w: job", job_script_prologue=["echo no module >&2; exit 7"])
    assert "DONE with exit code 7" in log
    assert "no module" in log
    caplog.clear()
    log = run_job(caplog, "worker w: job", python="sleep 1000 #", walltime="00:00:01")
    assert "FAILED" in log
    assert "wall time of 1 s" in log
    assert "could not be removed" not in log


def test_jobs_that_were_killed(caplog: pytest.LogCaptureFixture) -> None:
    assert "FAILED" in run_job(caplog, "worker w: job", job_script_prologue=["kill -s KILL $$"])

    async def run() -> None:
        job = make_job(python="sleep 1000 #")
        await job
        os.killpg(int(str(job.job_id).split("-")[0]), 9)  # also what would record its end
        await job.close()

    asyncio.run(run())
    assert "it has ended" in caplog.text


# The end of the program

PROGRAM = """
import os, sys
from distributed import Client
from osprofile.plugins import dask as plugin

if __name__ == "__main__":
    cluster = plugin.OSProfileCluster("linux", cores=1, memory="500 MiB", scheduler_options={options!r})
    cluster.scale(1)
    client = Client(cluster)
    assert client.submit(lambda: 1).result() == 1
    {end}
"""
CHILD = """
    child = os.fork()
    if child == 0:
        plugin._close_at_exit()
        os._exit(0)
    os.waitpid(child, 0)
    assert client.submit(lambda: 3).result() == 3
    print("alive")
"""


def test_a_killed_program_leaves_nothing_behind(mark: str) -> None:
    Path("program.py").write_text(PROGRAM.format(options=LOOPBACK, end="os.kill(os.getpid(), 9)"))
    assert subprocess.run([sys.executable, "program.py"], check=False).returncode == -9
    wait_until(lambda: list_processes(mark) == [])  # the worker has lost its scheduler


@pytest.mark.parametrize(
    ("end", "output", "exit_code"),
    [
        ("print('end')", "end\n", 0),
        ("sys.exit(3)", "", 3),
        ("del cluster, client; print('end')", "end\n", 0),
        ("client.close(); cluster.close(); cluster.close()", "", 0),
        (CHILD.strip(), "alive\n", 0),
    ],
    ids=["end", "exit", "del", "close", "fork"],
)
def test_a_program_leaves_nothing_behind(end: str, output: str, exit_code: int, mark: str) -> None:
    Path("program.py").write_text(PROGRAM.format(options=LOOPBACK, end=end))
    done = subprocess.run([sys.executable, "program.py"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (exit_code, output), done.stderr
    assert "Traceback" not in done.stderr
    assert list_processes(mark) == []


# What a job gets


def test_the_values_of_a_job() -> None:
    job = make_job(
        "slurm",
        queue="long",
        account="physics",
        cores=8,
        processes=2,
        memory="3 GB",
        walltime="1-02:03:00",
        job_name="my job",
        fields={"QOS": "high", "GPUS": "2"},
        log_directory="logs",
    )
    script = render("slurm", job.describe())
    for line in (
        "--partition=long",
        "--account=physics",
        "--cpus-per-task=8",
        "--ntasks=1",
        "--nodes=1",
        "--mem=2862M",
        "--time=1563",
        "--job-name=my_job",
        "--qos=high",
    ):
        assert f"#SBATCH {line}\n" in script, line
    description = job.describe()
    assert description.stderr == str(description.stdout)[:-3] + "err"
    assert re.fullmatch(
        rf"{re.escape(os.getcwd())}/logs/my_job-w\.[0-9a-f]{{8}}\.out", str(description.stdout)
    )
    assert Path("logs").is_dir()


def test_values_of_the_configuration() -> None:
    values = {"queue": "long", "walltime": "00:02:00", "fields": {"QOS": "high"}, "cores": 3}
    with dask.config.set({f"jobqueue.osprofile.{name}": value for name, value in values.items()}):
        description = make_job("slurm", cores=None).describe()
    assert (description.queue, description.walltime, description.cpus) == ("long", 120, 3)
    assert description.fields["QOS"] == "high"
    site = {**dask.config.get("jobqueue.osprofile"), "profile": "linux", "name": "of-the-site"}
    with (
        dask.config.set({"jobqueue.site": site}),
        OSProfileCluster(config_name="site", cores=1, memory="1 GB", scheduler_options=LOOPBACK) as cluster,
    ):
        assert (cluster.job_name, cluster.session.name) == ("of-the-site", "linux")


@pytest.mark.parametrize("profile", ["linux", "slurm", "pbs", "torque", "sge", "lsf"])
def test_every_profile_takes_a_job(profile: str) -> None:
    for name in HOSTILE:
        if name != "a\ntouch canary\n":  # not for every batch system
            job = make_job(profile, name=name, job_name=name, walltime="00:10:00")
            assert osprofile.build_job_name(name, "dask.") in render(profile, job.describe())


def run_and_read(**settings: Any) -> str:  # noqa: ANN401
    """Run a job to its end, and return its standard output."""

    async def run() -> str:
        job = make_job(**settings)
        await job
        jobs = job._owned_jobs
        assert jobs is not None
        status = await asyncio.to_thread(jobs.session.get_job(job.job_id).wait)
        output: str = await asyncio.to_thread(jobs.session.get_job(job.job_id).stdout)
        await job.close()
        assert (status.state, status.exit_code) == (osprofile.JobState.DONE, 0)
        return output

    return asyncio.run(run())


@pytest.mark.parametrize("value", HOSTILE)
def test_values_reach_the_worker_unchanged(value: str) -> None:
    output = run_and_read(
        python=PRINT_WORDS, name=value, job_name=value, local_directory=value, interface=value, protocol=value
    )
    given = value if value != "~" else os.environ["HOME"]  # as in local_directory="~/scratch"
    words = output[1:-1].split("><")
    for option in ("--name", "--local-directory", "--interface", "--protocol"):
        assert words[words.index(option) + 1] == given


def test_variables_in_values(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLACE", "a b$(touch canary)")
    settings = {"name": "w-$GPE_JOB_NAME-${SET}", "local_directory": "$PLACE/x", "job_name": "of-it"}
    output = run_and_read(python=PRINT_WORDS, job_script_prologue=["SET='a  b'"], **settings)
    assert "<--name><w-of-it-a  b>" in output
    assert "<--local-directory><a b$(touch canary)/x>" in output
    assert not (work / "canary").exists()


def test_files_of_tls() -> None:
    security = Security(
        tls_ca_file="ca's $(touch canary)", tls_worker_key="k", tls_worker_cert="c", require_encryption=True
    )
    output = run_and_read(python=PRINT_WORDS, security=security)
    assert "<--tls-ca-file><ca's $(touch canary)>" in output
    assert "<--tls-key><k>" in output


@pytest.mark.parametrize("name", ["a b", "it's", "$(touch canary)", "-n", "ü€𝄞", "a\nb"])
def test_directories_with_any_name(name: str, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (work / name).mkdir()
    monkeypatch.chdir(work / name)
    assert run_and_read(python="pwd; exit 0;", log_directory="logs") == str(work / name) + "\n"
    assert sorted(path.suffix for path in (work / name / "logs").iterdir()) == [".err", ".out"]


def test_the_shell_is_that_of_the_shebang() -> None:
    assert run_and_read(python="echo $BASH_VERSION; exit 0;") != "\n"
    assert run_and_read(shebang="#! /bin/bash -u", python="echo $-; exit 0;").count("u") == 1
    assert run_and_read(shebang="#!/bin/sh", python="cat /proc/$$/cmdline; exit 0;").startswith("/bin/sh\0-c")


def test_the_environment_of_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {
        "EMPTY": "",
        "LINES": "a\n\nb",
        "UTF8": "ü€𝄞",
        "QUOTES": "'\"`$(touch canary)",
        "OMP_NUM_THREADS": "3",
    }
    others = {"SLURM_JOB_ID": "1", "TMPDIR": "/no", "GPE_CPUS": "9"}
    for name, value in {**given, **others}.items():
        monkeypatch.setenv(name, value)
    environment = make_job().describe().environment
    assert given.items() <= environment.items()
    assert environment["PATH"] == os.environ["PATH"]
    assert not others.keys() & environment.keys()
    output = run_and_read(python="cat /proc/$$/environ; exit 0;", cores=5)
    found = dict(line.split("=", 1) for line in output.split("\0") if line)
    assert given.items() <= found.items()
    assert found["GPE_CPUS"] == "5"  # the job's own
    assert make_job(environment={"A": "b"}).describe().environment == {"A": "b"}


# What is refused


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        *(
            ({name: ["-V"]}, ValueError, f"^{name}: .* has no meaning here.*fields=")
            for name in ("job_extra", "job_extra_directives", "header_skip", "job_directives_skip")
        ),
        ({"header_template": "x"}, ValueError, "unexpected keyword argument 'header_template'"),
        ({"job_cpu": 1}, ValueError, "unexpected keyword argument 'job_cpu'"),
        ({"profile": None}, ValueError, "profile: None is not the name of a profile"),
        ({"profile": 2}, ValueError, "profile: 2 is not"),
        ({"profile": "slrum"}, osprofile.ProfileNotFoundError, "did you mean slurm"),
        ({"cores": None}, ValueError, "how much cores and memory"),
        *(
            ({"walltime": value}, ValueError, "walltime: .* write HH:MM:SS")
            for value in ("10", "1:00", "00:60:00", "00:00:00", "-1:00:00", "1h", "", "00:10:00\n", 60)
        ),
        *(({"shebang": value}, ValueError, "shebang: ") for value in ("", "bash", "#!", "#!a 'b", "#!a\nb")),
        *(
            ({"profile": "slurm", "queue": value}, osprofile.ValueRefusedError, "field QUEUE")
            for value in HOSTILE
            if value and value[0] != "x"
        ),
        ({"profile": "slurm", "account": "a;b"}, osprofile.ValueRefusedError, "field PROJECT"),
        ({"queue": "long"}, osprofile.UnknownFieldError, "QUEUE is not used by .* profile linux"),
        ({"cores": 10**9}, osprofile.ValueRefusedError, "field CPUS"),
        ({"memory": "0"}, osprofile.ValueRefusedError, "field MEMORY"),
        ({"fields": {"NO_SUCH": "1"}}, osprofile.UnknownFieldError, "NO_SUCH"),
        ({"fields": {"NODES": "2"}}, osprofile.ValueRefusedError, "NODES is given twice"),
        ({"fields": {"DIRECTORY": "relative"}}, osprofile.ValueRefusedError, "DIRECTORY"),
        ({"environment": {"A B": "1"}}, osprofile.ValueRefusedError, "ENVIRONMENT"),
    ],
)
def test_arguments_that_are_refused(
    settings: dict[str, object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        make(**settings)
    with osprofile.JobSession("linux") as session:
        assert session.list_jobs(include_ended=True) == []


def test_directives_of_the_configuration_are_refused() -> None:
    with (
        dask.config.set({"jobqueue.osprofile.job-extra-directives": ["-V"]}),
        pytest.raises(ValueError, match=r"jobqueue\.osprofile\.job-extra-directives: .* has no meaning"),
    ):
        make()


# The manual


def test_the_example_of_the_page() -> None:
    assert EXAMPLE.read_text() in PAGE.read_text()
    done = subprocess.run([sys.executable, str(EXAMPLE)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "1229\n"), done.stderr


def test_a_graph_by_functions_as_jobs(tmp_path: Path) -> None:
    with osprofile.Executor("linux", store=str(tmp_path / "functions.db"), max_workers=2) as executor:
        three = dask.delayed(operator.add)(1, 2)
        graph = dask.delayed(operator.mul)(three, 10)
        assert dask.compute(graph, three, scheduler=executor) == (30, 3)
    executor.session.close()
