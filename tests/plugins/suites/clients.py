"""Programs of others that call sbatch or qsub, each with its smallest real job: clients.py STAND_INS [--side-by-side] CLIENT...

STAND_INS has folders of stand-ins: slurm, pbspro, torque. Nothing of a
client is replaced. Each prints its name, its version, its time and what was run.
"""

from __future__ import annotations

import getpass
import importlib
import importlib.metadata
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any

from more_clients import MORE_CLIENTS, PATIENCE, check, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

# Slurm


def add(a: int, b: int) -> int:
    """Return a sum; the others import it by its name."""
    return a + b


def double(a: int) -> int:
    """Return twice a number."""
    return 2 * a


def fail() -> None:
    """Raise an error."""
    raise ValueError("on purpose")


def _run_submitit() -> str:
    from submitit import SlurmExecutor
    from submitit.core.utils import FailedJobError

    executor = SlurmExecutor("submitit")
    executor.update_parameters(time=5, mem="200MB", cpus_per_task=1, comment="demo", wckey="w")
    good, bad = executor.submit(add, 1, 2), executor.submit(fail)
    many = executor.map_array(add, [1, 2], [10, 20])
    results = [job.result() for job in (good, *many)]
    check(results == [3, 11, 22], results)
    try:
        bad.result()
    except FailedJobError as error:
        check("on purpose" in str(error), str(error))
    else:
        raise AssertionError("no error")
    return "functions, one of which fails, and an array"


def _run_parsl(kind: str, **options: int) -> str:
    import parsl
    import parsl.providers
    from parsl.executors import HighThroughputExecutor
    from parsl.jobs.states import JobState
    from parsl.launchers import SimpleLauncher

    make_provider = getattr(parsl.providers, kind)
    path = f"export PATH={shlex.quote(os.path.dirname(sys.executable))}:$PATH"
    provider = make_provider(
        walltime="00:05:00",
        init_blocks=1,
        max_blocks=1,
        worker_init=path,
        launcher=SimpleLauncher(),
        **options,
    )
    executor = HighThroughputExecutor(
        label="block", provider=provider, max_workers_per_node=1, encrypted=False, address="127.0.0.1"
    )
    with parsl.load(parsl.Config(executors=[executor], run_dir="runinfo", strategy="none")):
        app = parsl.python_app(add)
        results = [app(i, i).result() for i in range(3)]
        states = [status.state for status in provider.status(list(provider.resources))]
        check(states == [JobState.RUNNING], states)
        # Without it, Parsl asks for the state of a block that it has removed.
        cancelled = provider.cancel(list(provider.resources))
    check((results, cancelled) == ([0, 2, 4], [True]), (results, cancelled))
    return "functions in a block, its state and its removal"


def _run_psij(name: str) -> str:
    from datetime import timedelta

    import psij

    executor = psij.JobExecutor.get_instance(name)
    executor.config.queue_polling_interval = executor.config.initial_queue_polling_delay = 1
    attributes = psij.JobAttributes(duration=timedelta(minutes=5))

    def submit(*words: str) -> psij.Job:
        spec = psij.JobSpec(
            "/bin/sh", ["-c", *words], stdout_path=pathlib.Path("psij.out").absolute(), attributes=attributes,
            resources=psij.ResourceSpecV1(process_count=1, cpu_cores_per_process=1), launcher="single",
        )  # fmt: skip
        job = psij.Job(spec)
        executor.submit(job)
        return job

    jobs = [submit("echo $0 > good", "a b"), submit("exit 3"), submit("sleep 100")]
    jobs[2].cancel()
    found = [job.wait(timedelta(seconds=PATIENCE)) for job in jobs]
    states = [(status.state.name, status.exit_code) for status in found if status]
    check(states[:2] == [("COMPLETED", 0), ("FAILED", 3)], states)
    # PSI/J takes an exit status of 271, which is that of a job that qdel ended, for a failure.
    check(states[2][0] == ("CANCELED" if name == "slurm" else "FAILED"), states)
    check(pathlib.Path("good").read_text() == "a b\n", "good")
    return "jobs that end, fail, and are removed"


def _run_dask(kind: str, **options: str) -> str:
    import dask_jobqueue
    from dask.distributed import Client

    local: dict[str, Any] = {"interface": "lo", "scheduler_options": {"dashboard": False, "interface": "lo"}}
    with getattr(dask_jobqueue, kind)(
        cores=1, memory="300MB", walltime="00:05:00", **local, **options
    ) as cluster:
        cluster.scale(jobs=1)
        with Client(cluster) as client:
            results = client.gather(client.map(add, [1, 2], [3, 4], pure=False))
    check(results == [4, 6], results)
    return "functions on a worker"


def _run_executorlib() -> str:
    text = (
        "import sys\n"
        "from executorlib import SlurmJobExecutor\n"
        "if __name__ == '__main__':\n"
        "    with SlurmJobExecutor(max_cores=1) as executor:\n"
        "        print(executor.submit(sum, [1, 1]).result())\n"
    )
    pathlib.Path("inside.py").write_text(text)
    command = f"{sys.executable} inside.py"
    subprocess.run(["sbatch", "--wait", "--output=inside.out", f"--wrap={command}"], check=True, stdout=-3)
    found = pathlib.Path("inside.out").read_text()
    check(found.splitlines()[-1:] == ["2"], found)
    return "a function inside a job, by srun"


def _run_pysqa() -> str:
    from pysqa import QueueAdapter

    adapter = QueueAdapter(queue_type="SLURM")
    os.mkdir("run")
    number = adapter.submit_job(
        job_name="demo", working_directory=os.path.abspath("run"), cores=1, run_time_max=300,
        command="echo done > done; sleep 100", partition="linux",
    )  # fmt: skip
    wait_until(pathlib.Path("run/done").exists)
    status = adapter.get_status_of_job(number)
    table = adapter.get_queue_status()
    check(status == "running" and list(table["jobid"]) == [number], (status, table))
    adapter.delete_job(number)
    wait_until(lambda: adapter.get_status_of_job(number) is None)
    return "a job: its state, its line of the queue, its removal"


def _run_snakemake() -> str:
    pathlib.Path("Snakefile").write_text(
        "rule all:\n    input: 'b'\n"
        "rule one:\n    output: 'a'\n    shell: 'echo 1 > a'\n"
        "rule two:\n    input: 'a'\n    output: 'b'\n    shell: 'cat a a > b'\n"
    )
    words = ["--executor", "slurm", "--jobs", "2", "--cores", "1", "--default-resources"]
    words += ["runtime=5", "mem_mb=300", "--slurm-init-seconds-before-status-checks=1", "--latency-wait=10"]
    subprocess.run([sys.executable, "-m", "snakemake", *words], check=True, stderr=-3, stdout=-3)
    check(pathlib.Path("b").read_text() == "1\n1\n", "b")
    return "two rules"


def _run_toil() -> str:
    pathlib.Path("flow.py").write_text(
        "from toil.common import Toil\nfrom toil.job import Job\n"
        "def one(job, text):\n    return job.addChildFn(two, text).rv()\n"
        "def two(text):\n    return text * 2\n"
        "if __name__ == '__main__':\n"
        "    options = Job.Runner.getDefaultArgumentParser().parse_args()\n"
        "    with Toil(options) as toil:\n"
        "        print(toil.start(Job.wrapJobFn(one, 'ab', memory='300M', cores=1, disk='10M')))\n"
    )
    words = ["./store", "--batchSystem", "slurm", "--defaultMemory=300M"]
    words += ["--slurmTime=0:05:00", "--maxLocalJobs=1", "--logLevel=ERROR", "--disableProgress"]
    done = subprocess.run([sys.executable, "flow.py", *words], check=True, stdout=subprocess.PIPE, text=True)
    check(done.stdout.split() == ["abab"], done.stdout)
    return "a workflow of two jobs"


def _run_aiida(module: str, kind: str) -> str:
    from aiida.common.datastructures import CodeRunMode
    from aiida.schedulers import JobState
    from aiida.schedulers.datastructures import JobTemplate, JobTemplateCodeInfo
    from aiida.transports.plugins.local import LocalTransport

    scheduler = getattr(importlib.import_module(f"aiida.schedulers.plugins.{module}"), kind)()
    template = JobTemplate()
    template.shebang, template.job_name, template.uuid = "#!/bin/bash", "demo", "x"
    template.sched_output_path, template.sched_error_path = "out", "err"
    template.import_sys_environment, template.max_wallclock_seconds = True, 300
    template.job_resource = scheduler.create_job_resource(num_machines=1, num_mpiprocs_per_machine=1)
    template.codes_run_mode, template.submit_as_hold, template.rerunnable = CodeRunMode.SERIAL, False, False
    info = JobTemplateCodeInfo()
    info.prepend_cmdline_params, info.cmdline_params = [], ["sh", "-c", "echo done > done; sleep 100"]
    info.use_double_quotes = [False, False]
    info.join_files = False
    template.codes_info = [info]
    pathlib.Path("run.sh").write_text(scheduler.get_submit_script(template))
    with LocalTransport(use_login_shell=False) as transport:
        scheduler.set_transport(transport)
        number = scheduler.submit_job(os.getcwd(), "run.sh")
        wait_until(pathlib.Path("done").exists)
        (job,) = scheduler.get_jobs(jobs=[number])
        check(job.job_state is JobState.RUNNING, job)
        limit = job.get("requested_wallclock_time_seconds") or job.get("requested_wallclock_time")
        check((job.title, limit) == ("demo", 300), job)
        check(job.num_machines == 1, job)
        scheduler.kill_job(number)
        wait_until(
            lambda: (
                not any(
                    j.job_state not in {JobState.DONE, JobState.UNDETERMINED}
                    for j in scheduler.get_jobs(jobs=[number])
                )
            )
        )
        if module == "slurm":  # the others read a server's logs by tracejob
            details = scheduler.get_detailed_job_info(number)
            check(details["retval"] == 0, details)
    return "a job: its state, its details, its removal"


def _run_qtoolkit(module: str, kind: str) -> str:
    from qtoolkit.core.data_objects import QResources, QState
    from qtoolkit.host.local import LocalHost
    from qtoolkit.manager import QueueManager

    scheduler = getattr(importlib.import_module(f"qtoolkit.io.{module}"), kind)()
    manager = QueueManager(scheduler, LocalHost())
    options = QResources(job_name="demo", nodes=1, processes_per_node=1, time_limit=300)
    submitted = manager.submit("echo done > done; sleep 100", options, work_dir=os.getcwd())
    check(submitted.job_id, submitted)
    wait_until(pathlib.Path("done").exists)
    (job,) = manager.get_jobs_list(jobs=[submitted.job_id])
    check((job.state, job.name) == (QState.RUNNING, "demo"), job)
    one = manager.get_job(submitted.job_id)
    check((one.state, one.info.nodes, one.info.time_limit) == (QState.RUNNING, 1, 300), one)
    cancelled = manager.cancel(submitted.job_id)
    check(cancelled.status.value == "SUCCESSFUL", cancelled)
    return "a job: its state twice, its removal"


def _run_reframe(scheduler: str) -> str:
    partition = {"name": "p", "scheduler": scheduler, "launcher": "local", "environs": ["e"]}
    systems = [{"name": "s", "hostnames": [".*"], "partitions": [partition]}]
    config = {"systems": systems, "environments": [{"name": "e"}]}
    pathlib.Path("settings.py").write_text(f"site_configuration = {config!r}\n")
    pathlib.Path("check.py").write_text(
        "import reframe as rfm\nimport reframe.utility.sanity as sn\n"
        "@rfm.simple_test\nclass Demo(rfm.RunOnlyRegressionTest):\n"
        "    valid_systems = ['*']\n    valid_prog_environs = ['*']\n"
        "    executable = 'echo'\n    executable_opts = ['hello']\n    time_limit = '5m'\n"
        "    @sanity_function\n    def check(self):\n        return sn.assert_found('hello', self.stdout)\n"
    )
    words = ["reframe", "-C", "settings.py", "-c", "check.py", "--system=s", "-r"]
    done = subprocess.run(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    check(done.returncode == 0 and "Ran 1/1 test case(s)" in done.stdout, done.stdout)
    return "a check"


def _run_troika() -> str:
    pathlib.Path("troika.yml").write_text(
        "sites:\n  here:\n    type: slurm\n    connection: local\n"
        "    pre_submit: []\n    at_startup: []\n    at_exit: []\n"
    )
    pathlib.Path("job.sh").write_text("#!/bin/sh\n#SBATCH --time=5\necho done > done; sleep 100\n")
    base = [sys.executable, "-m", "troika", "-c", "troika.yml"]

    def call(verb: str, *words: str) -> None:
        subprocess.run([*base, verb, *words, "here", "job.sh"], check=True, stderr=-3, stdout=-3)

    call("submit", "-o", os.path.abspath("job.out"))
    wait_until(pathlib.Path("done").exists)
    call("monitor", "-o", os.path.abspath("job.out"))
    call("kill", "-o", os.path.abspath("job.out"))
    left = subprocess.run(["squeue", "-h", "-o", "%Z"], stdout=subprocess.PIPE, check=True, text=True).stdout
    check(os.getcwd() not in left.splitlines(), left)
    return "a script, its monitor and its removal"


_CLIENTS: dict[str, tuple[str, str, Callable[[], str]]] = {
    "submitit": ("submitit", "slurm", _run_submitit),
    "parsl-slurm": ("parsl", "slurm", lambda: _run_parsl("SlurmProvider", cmd_timeout=60)),
    "parsl-pbspro": ("parsl", "pbspro", lambda: _run_parsl("PBSProProvider", cmd_timeout=60)),
    "parsl-torque": ("parsl", "torque", lambda: _run_parsl("TorqueProvider")),
    "psij-slurm": ("psij-python", "slurm", lambda: _run_psij("slurm")),
    "psij-pbs": ("psij-python", "pbspro", lambda: _run_psij("pbs")),
    "psij-pbs-classic": ("psij-python", "pbspro", lambda: _run_psij("pbs_classic")),
    "dask-slurm": ("dask-jobqueue", "slurm", lambda: _run_dask("SLURMCluster", log_directory="logs")),
    "dask-pbs": ("dask-jobqueue", "pbspro", lambda: _run_dask("PBSCluster")),
    "executorlib": ("executorlib", "slurm", _run_executorlib),
    "pysqa": ("pysqa", "slurm", _run_pysqa),
    "snakemake": ("snakemake-executor-plugin-slurm", "slurm", _run_snakemake),
    "toil": ("toil", "slurm", _run_toil),
    "aiida-slurm": ("aiida-core", "slurm", lambda: _run_aiida("slurm", "SlurmScheduler")),
    "aiida-pbspro": ("aiida-core", "pbspro", lambda: _run_aiida("pbspro", "PbsproScheduler")),
    "aiida-torque": ("aiida-core", "torque", lambda: _run_aiida("torque", "TorqueScheduler")),
    "qtoolkit-slurm": ("qtoolkit", "slurm", lambda: _run_qtoolkit("slurm", "SlurmIO")),
    "qtoolkit-pbs": ("qtoolkit", "pbspro", lambda: _run_qtoolkit("pbs", "PBSIO")),
    "reframe-slurm": ("ReFrame-HPC", "slurm", lambda: _run_reframe("slurm")),
    "reframe-squeue": ("ReFrame-HPC", "slurm", lambda: _run_reframe("squeue")),
    "reframe-pbs": ("ReFrame-HPC", "pbspro", lambda: _run_reframe("pbs")),
    "reframe-torque": ("ReFrame-HPC", "torque", lambda: _run_reframe("torque")),
    "troika": ("troika", "slurm", _run_troika),
    **MORE_CLIENTS,
}
"""By name: the distribution, the batch system that it knows, and what it runs."""


def main() -> None:
    """Run the clients that the command line names, one after the other or, each in its own process, side by side."""
    stand_ins, *names = sys.argv[1:]
    if names[0] == "--side-by-side":
        words = [sys.executable, __file__, stand_ins]
        processes = [subprocess.Popen([*words, name]) for name in names[1:]]
        sys.exit(max(abs(process.wait()) for process in processes))
    stand_ins, path = os.path.abspath(stand_ins), os.environ["PATH"]
    for variable in ("USER", "LOGNAME"):  # as after a login
        os.environ[variable] = getpass.getuser()
    for name in names:
        project, system, run = _CLIENTS[name]
        folders = [os.path.join(stand_ins, system), os.path.dirname(sys.executable), path]
        os.environ["PATH"] = os.pathsep.join(folders)
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
            os.chdir(directory)
            began = time.monotonic()
            done = run()
            os.chdir("/")
        version, seconds = importlib.metadata.version(project), time.monotonic() - began
        print(f"{name:17} {version:12} {seconds:5.1f} s  {done}", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
