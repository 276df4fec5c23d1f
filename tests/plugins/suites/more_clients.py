"""Further programs of others that call sbatch or qsub, each with its smallest real job; clients.py runs them."""

from __future__ import annotations

import contextlib
import importlib
import os
import pathlib
import shlex
import subprocess
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PATIENCE = 120.0
"""Seconds, only to end a client that hangs."""


def wait_until(is_so: Callable[[], object]) -> None:
    """Wait for a condition. Raises `TimeoutError` after PATIENCE."""
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        if time.monotonic() > deadline:
            raise TimeoutError("it does not happen")
        time.sleep(0.2)


def check(condition: object, found: object) -> None:
    """Raise `AssertionError` with what was found, unless a condition is true."""
    if not condition:
        raise AssertionError(f"found {found!r}")


def _call(*words: str, env: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, env=env
    )
    check(done.returncode == 0, (words, done.stdout))
    return done.stdout


def _write(text: str, name: str) -> str:
    path = pathlib.Path(name)
    path.write_text(text)
    path.chmod(0o700)
    return str(path.absolute())


def _is_written(name: str, text: str) -> bool:
    path = pathlib.Path(name)
    return path.exists() and path.read_text() == text


# Slurm


def run_simple_slurm() -> str:
    """Run an array by its class, and list and cancel a job."""
    from simple_slurm import Slurm

    slurm = Slurm(array=range(3, 5), cpus_per_task=1, job_name="demo", output="%A_%a.out", time="0:05:00")
    slurm.add_cmd("module() { :; }")
    number = slurm.sbatch("echo $SLURM_ARRAY_TASK_ID")
    wait_until(lambda: all(_is_written(f"{number}_{i}.out", f"{i}\n") for i in (3, 4)))
    long = Slurm(job_name="long", output="/dev/null").sbatch("sleep 100")
    slurm.squeue.update_squeue()
    check(slurm.squeue.jobs[long]["NAME"] == "long", slurm.squeue.jobs)
    slurm.scancel.cancel_job(long)
    slurm.squeue.update_squeue()
    check(long not in slurm.squeue.jobs, slurm.squeue.jobs)
    return "an array, a job in the queue, its removal"


def run_slurmpy() -> str:
    """Run two jobs, one after the other."""
    from slurmpy import Slurm

    slurm = Slurm("demo", {"time": "00:05:00", "ntasks": 1})
    first = slurm.run("echo 1 > first")
    slurm.run("cat first first > second", depends_on=[first])
    wait_until(lambda: _is_written("second", "1\n1\n"))
    return "a job after another"


def run_clusterfutures() -> str:
    """Map a function."""
    import cfut
    import clients  # type: ignore[import-not-found]

    with cfut.SlurmExecutor(additional_import_paths=[os.path.dirname(__file__)]) as executor:
        results = list(executor.map(clients.double, [1, 2]))
    check(results == [2, 4], results)
    return "functions, by srun inside the jobs"


def run_reportseff() -> str:
    """Report the use of two jobs."""
    _call("sbatch", "--wait", "-o", "/dev/null", "-J", "demo", "--mem=100", "-t", "5", "--wrap", "true")
    number = _call("sacct", "-nX", "-o", "jobid", "--name=demo").split()[-1]
    lines = _call("reportseff", "--no-color", "--format=+jobname,reqmem,timelimit", number).splitlines()
    check("COMPLETED" in lines[-1].split() and "demo" in lines[-1], lines)
    return "the efficiency of a job"


def run_maestro() -> str:
    """Run a study of two steps."""
    _write(
        "description: {name: demo, description: d}\n"
        "batch: {type: slurm, host: here, bank: b, queue: q, nodes: 1}\n"
        "study:\n"
        "- name: one\n  description: d\n  run: {cmd: echo 1 > a, nodes: 1, procs: 1, walltime: '00:05:00'}\n"
        "- name: two\n  description: d\n"
        "  run: {cmd: cat $(one.workspace)/a > b, nodes: 1, procs: 1, walltime: '00:05:00', depends: [one]}\n",
        "study.yaml",
    )
    environment = {**os.environ, "USER": _call("id", "-un").strip()}
    _call("maestro", "run", "--autoyes", "-fg", "-s", "1", "-o", "out", "study.yaml", env=environment)
    check(_is_written("out/two/b", "1\n"), os.listdir("out"))
    return "a study of two steps"


def run_hydra() -> str:
    """Run a sweep by its launcher."""
    _write("x: 0\n", "config.yaml")
    _write(
        "import hydra\n"
        "@hydra.main(version_base=None, config_path='.', config_name='config')\n"
        "def main(config):\n    open(f'out{config.x}', 'w').write(str(config.x))\n"
        "if __name__ == '__main__':\n    main()\n",
        "app.py",
    )
    words = ["hydra/launcher=submitit_slurm", "hydra.launcher.timeout_min=5", "hydra.launcher.mem_gb=1"]
    _call(sys.executable, "app.py", "-m", "x=1,2", *words)
    found = sorted(path.name for path in pathlib.Path().glob("out*"))
    check(found == ["out1", "out2"], found)
    return "a sweep of two"


def run_myqueue(kind: str) -> str:
    """Submit a task after another by the command line, with the nodes that the target system has."""
    environment = {
        **os.environ,
        "HOME": os.getcwd(),
        "MYQUEUE_TESTING": "yes",
        "USER": _call("id", "-un").strip(),
    }
    _call("mq", "init", env=environment)
    if kind == "slurm":
        nodes = [
            word
            for line in _call("sinfo", "-hO", "CPUs,Memory,Partition").splitlines()
            for word in [line.split()]
        ]
        name, cores = nodes[0][2].rstrip("*"), int(nodes[0][0])
        memory = f"{int(nodes[0][1].rstrip('+'))}M"
    else:
        name, cores, memory = "linux", 2, "1G"
    config = {
        "scheduler": kind,
        "nodes": [(name, {"cores": cores, "memory": memory})],
        "mpiexec": "mpiexec",
        "parallel_python": "python3",
        "use_mpi": False,
    }
    _write(f"config = {config!r}\n", ".myqueue/config.py")
    _write("open('first', 'w').write('1')\n", "first.py")
    _write("open('second', 'w').write(2 * open('first').read())\n", "second.py")
    _call("mq", "submit", "first.py", "-R", "1:5m", env=environment)
    _call("mq", "submit", "second.py", "-R", "1:5m", "-d", "first.py", env=environment)
    wait_until(lambda: _is_written("second", "11"))
    wait_until(lambda: _call("mq", "ls", "-s", "d", env=environment).count("second.py"))
    return "a task after another, and their list"


_FLOW = """
import flow

class Project(flow.FlowProject):
    pass

@Project.post.isfile("done")
@Project.operation(directives={"walltime": 0.05, "omp_num_threads": 1})
def run(job):
    open(job.fn("done"), "w").write("done")

if __name__ == "__main__":
    Project(environment=None).main()
"""


def run_signac(environment: str) -> str:
    """Submit the operation of a project, and see its status."""
    import signac

    text = _FLOW.replace(
        "class Project(",
        f"class Here(flow.environment.{environment}):\n    hostname_pattern = '.*'\n\nclass Project(",
    )
    _write(text.replace("environment=None", "environment=Here"), "project.py")
    project = signac.init_project()
    job = project.open_job({"a": 1}).init()
    _call(sys.executable, "project.py", "submit")
    wait_until(lambda: job.isfile("done"))
    shown = _call(sys.executable, "project.py", "status")
    check("0 jobs/aggregates with eligible operations" in shown, shown)
    return "an operation of a project, and its status"


def run_ipyparallel(kind: str, count: int) -> str:
    """Start engines, and run a function there."""
    import ipyparallel

    with ipyparallel.Cluster(
        engines=kind, n=count, controller_ip="127.0.0.1", log_level=40, send_engines_connection_env=True
    ) as client:
        results = client[:].map_sync(int, ["1", "2"])
    check(results == [1, 2], results)
    return "functions on engines"


def run_fireworks(kind: str, **options: str) -> str:
    """Submit by the queue adapter, and count the jobs in the queue."""
    from fireworks.user_objects.queue_adapters.common_adapter import CommonAdapter

    adapter = CommonAdapter(
        kind,
        "here",
        rocket_launch="echo done > done; sleep 100",
        job_name="demo",
        walltime="00:05:00",
        **options,
    )
    _write(adapter.get_script_str(os.getcwd()), "submit.sh")
    number = adapter.submit_to_queue("submit.sh")
    check(str(number).isdecimal(), number)
    wait_until(lambda: _is_written("done", "done\n"))
    user = _call("id", "-un").strip()
    check(adapter.get_njobs_in_queue(user) > 0, number)
    _call(*(("scancel",) if kind == "SLURM" else ("qdel",)), str(number))
    return "a job, and the number of jobs in the queue"


def run_nipype(plugin: str) -> str:
    """Run a workflow of two nodes."""
    from nipype import Function, Node, Workflow

    text = "def double(a):\n    return 2 * a\n"
    flow = Workflow("flow", base_dir=os.getcwd())
    nodes = [Node(Function(["a"], ["out"], imports=None), name=name) for name in ("one", "two")]
    for node in nodes:
        node.inputs.function_str = text
    nodes[0].inputs.a = 21
    flow.connect(nodes[0], "out", nodes[1], "a")
    done = flow.run(
        plugin=plugin, plugin_args={"template": "#!/bin/sh\n", "max_tries": 1, "retry_timeout": 1}
    )
    results = [node.result.outputs.out for node in done.nodes()]
    check(sorted(results) == [42, 84], results)
    return "a workflow of two nodes"


def run_pydra() -> str:
    """Run a task by its worker."""
    import pydra

    _write("def double(a):\n    return 2 * a\n", "doubling.py")
    sys.path.insert(0, os.getcwd())
    os.environ["PYTHONPATH"] = os.getcwd()
    task = pydra.mark.task(importlib.import_module("doubling").double)(a=21, cache_dir=os.getcwd())
    with pydra.Submitter(plugin="slurm", poll_delay=0.5, sbatch_args="-t 5") as submitter:
        submitter(task)
    result = task.result()
    check(result.output.out == 42, result)
    return "a task"


# PBS and Torque


def run_qbatch(system: str) -> str:
    """Submit commands of a file, in chunks that are tasks of an array."""
    _write("echo 1 > one\necho 2 > two\necho 3 > three\n", "commands")
    words = ["qbatch", "-b", system, "-c", "2", "-j", "1", "--ppj", "1", "-w", "00:05:00", "commands"]
    _call(*words)
    wait_until(lambda: all(_is_written(n, f"{i}\n") for i, n in enumerate(("one", "two", "three"), 1)))
    return "three commands in an array of two tasks"


def run_cylc(runner: str, directives: Mapping[str, str]) -> str:
    """Run a workflow of two tasks by the platform of a batch system."""
    home = pathlib.Path.cwd()
    (home / ".cylc/flow").mkdir(parents=True)
    (home / ".bash_profile").write_text(
        f"PATH={shlex.quote(os.environ['PATH'])}\n"
    )  # as of a login with Cylc
    (home / ".cylc/flow/global.cylc").write_text(
        f"[platforms]\n[[here]]\nhosts = localhost\njob runner = {runner}\ninstall target = localhost\n"
        "submission polling intervals = PT2S\nexecution polling intervals = PT2S\n"
    )
    rows = "\n".join(f"{name} = {value}" for name, value in directives.items())
    (home / "source").mkdir()
    (home / "source/flow.cylc").write_text(
        "[scheduling]\n[[graph]]\nR1 = one => two\n[runtime]\n[[root]]\nplatform = here\nexecution time limit = PT5M\n"
        f"[[[directives]]]\n{rows}\n[[one]]\nscript = echo 1 > $CYLC_WORKFLOW_RUN_DIR/a\n"
        "[[two]]\nscript = cp $CYLC_WORKFLOW_RUN_DIR/a $CYLC_WORKFLOW_RUN_DIR/b\n"
    )
    environment = {**os.environ, "HOME": str(home)}
    _call("cylc", "vip", "--no-detach", "--no-timestamp", "./source", env=environment)
    check(_is_written("cylc-run/source/run1/b", "1\n"), os.listdir())
    return "a workflow of two tasks"


def run_ert() -> str:
    """Submit, follow and kill jobs by the driver for OpenPBS."""
    import asyncio

    from ert.scheduler.event import FinishedEvent
    from ert.scheduler.openpbs_driver import OpenPBSDriver

    async def drive() -> dict[int, int]:
        driver = OpenPBSDriver()
        driver._poll_period = 0.5
        await driver.submit(0, "sh", "-c", "echo done > done", name="demo")
        await driver.submit(1, "sh", "-c", "exit 3", name="bad")
        await driver.submit(2, "sleep", "100", name="long")
        polling = asyncio.create_task(driver.poll())
        ends: dict[int, int] = {}
        while len(ends) < 3:
            event = await asyncio.wait_for(driver.event_queue.get(), PATIENCE)
            if isinstance(event, FinishedEvent):
                ends[event.iens] = event.returncode
                if len(ends) == 2:
                    await driver.kill([2])
        polling.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await polling
        await driver.finish()
        return ends

    ends = asyncio.run(drive())
    check((ends[0], ends[1]) == (0, 3) and ends[2] != 0, ends)
    check(_is_written("done", "done\n"), os.listdir())
    return "jobs that end, fail, and are killed"


def run_pulsar(plugin: str) -> str:
    """Submit, follow and delete by the interface that Galaxy's remote servers use."""
    from pulsar.managers.util.cli import CliInterface

    shell, jobs = CliInterface().get_plugins({"plugin": "LocalShell"}, {"plugin": plugin})
    script = _write(f"#!/bin/sh\necho done > {os.getcwd()}/done; sleep 100\n", "job.sh")
    submitted = shell.execute(jobs.submit(script))
    check(submitted.returncode == 0, submitted)
    number = submitted.stdout.strip().split()[-1]
    wait_until(lambda: _is_written("done", "done\n"))
    state = jobs.parse_single_status(shell.execute(jobs.get_single_status(number)).stdout, number)
    check(state == "running", state)
    check(shell.execute(jobs.delete(number)).returncode == 0, number)
    return "a job, its state, its removal"


MORE_CLIENTS: dict[str, tuple[str, str, Callable[[], str]]] = {
    "simple-slurm": ("simple_slurm", "slurm", run_simple_slurm),
    "slurmpy": ("slurmpy", "slurm", run_slurmpy),
    "clusterfutures": ("clusterfutures", "slurm", run_clusterfutures),
    "reportseff": ("reportseff", "slurm", run_reportseff),
    "maestrowf": ("maestrowf", "slurm", run_maestro),
    "hydra": ("hydra-submitit-launcher", "slurm", run_hydra),
    "myqueue-slurm": ("myqueue", "slurm", lambda: run_myqueue("slurm")),
    "myqueue-pbs": ("myqueue", "torque", lambda: run_myqueue("pbs")),
    "signac-slurm": ("signac-flow", "slurm", lambda: run_signac("DefaultSlurmEnvironment")),
    "ipyparallel-slurm": ("ipyparallel", "slurm", lambda: run_ipyparallel("slurm", 1)),
    "ipyparallel-pbs": ("ipyparallel", "torque", lambda: run_ipyparallel("pbs", 2)),
    "fireworks-slurm": ("FireWorks", "slurm", lambda: run_fireworks("SLURM", ntasks="1")),
    "fireworks-pbs": ("FireWorks", "torque", lambda: run_fireworks("PBS", nnodes="1", ppnode="1", queue="linux")),
    "nipype-slurm": ("nipype", "slurm", lambda: run_nipype("SLURM")),
    "nipype-pbs": ("nipype", "torque", lambda: run_nipype("PBS")),
    "pydra": ("pydra", "slurm", run_pydra),
    "qbatch-slurm": ("qbatch", "slurm", lambda: run_qbatch("slurm")),
    "qbatch-pbs": ("qbatch", "torque", lambda: run_qbatch("pbs")),
    "cylc-slurm": ("cylc-flow", "slurm", lambda: run_cylc("slurm", {"--mem": "200M"})),
    "cylc-pbs": ("cylc-flow", "pbspro", lambda: run_cylc("pbs", {"-l select": "1:ncpus=1:mem=200mb"})),
    "ert": ("ert", "pbspro", run_ert),
    "pulsar-slurm": ("pulsar-app", "slurm", lambda: run_pulsar("Slurm")),
    "pulsar-torque": ("pulsar-app", "torque", lambda: run_pulsar("Torque")),
}  # fmt: skip
"""As in clients.py."""
