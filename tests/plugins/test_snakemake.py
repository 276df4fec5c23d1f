"""The executor plugin of Snakemake: real workflows on profile linux, by the command `snakemake`.

It also runs docs/plugins/snakemake.md and docs/examples/snakemake_example.py.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from snakemake_interface_common.exceptions import WorkflowError

import osprofile
from osprofile.plugins.snakemake import map_resources
from tests.docs import pages
from tests.plugins.console import check_commands
from tests.plugins.site import ROOT
from tests.strategies import document


@dataclass
class Workflow:
    """A workflow in a directory of its own; its jobs have a record and a home of their own."""

    directory: Path
    environment: dict[str, str] = field(default_factory=dict)
    marker: str = field(default_factory=lambda: uuid.uuid4().hex)

    def write(self, snakefile: str) -> None:
        (self.directory / "Snakefile").write_text(snakefile)

    @property
    def store(self) -> str:
        return str(self.directory.parent / "jobs.db")

    def start(
        self,
        *options: str,
        profile: str | None = "linux",
    ) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "snakemake", "--executor", "osprofile", "--jobs", "50"]
        command += ["--seconds-between-status-checks", "1", "--nocolor"]
        command += [] if profile is None else ["--osprofile-profile", profile]
        return subprocess.Popen(
            [*command, *options],
            cwd=self.directory,
            env=self.prepare(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
        )

    def prepare(self) -> dict[str, str]:
        """Make the home, and return the environment of the commands."""
        (self.directory.parent / "home").mkdir(exist_ok=True)
        return {
            **os.environ,
            "HOME": str(self.directory.parent / "home"),
            "PYTHONPATH": str(ROOT / "plugins"),
            "OSPROFILE_STORE": self.store,
            "MARKER": self.marker,
            **self.environment,
        }

    def run(self, *options: str, exit_code: int = 0, profile: str | None = "linux") -> str:
        """Run Snakemake to its end, and return what it prints."""
        process = self.start(*options, profile=profile)
        output, _ = process.communicate()
        assert process.returncode == exit_code, output
        assert "Traceback" not in output
        return output

    def read(self, name: str) -> str:
        return (self.directory / name).read_text()

    def records(self) -> list[osprofile.JobRecord]:
        store = osprofile.Store(self.store)
        try:
            return store.list_all_jobs()
        finally:
            store.close()

    def processes(self) -> list[str]:
        """Return the command lines of all processes that this workflow has started."""
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            try:
                if f"MARKER={self.marker}".encode() in (path / "environ").read_bytes().split(b"\0"):
                    found.append((path / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:
                continue  # it has ended, or is another user's
        return found


@pytest.fixture
def workflow(tmp_path: Path) -> Workflow:
    directory = tmp_path / "workflow"
    directory.mkdir()
    return Workflow(directory)


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    """Wait until a job has written a file; the workflow must not end before."""
    while not path.exists():
        assert process.poll() is None, process.stdout and process.stdout.read()
        time.sleep(0.05)


# Jobs


def test_a_workflow_runs_its_rules_as_jobs_with_its_directory_and_environment(workflow: Workflow) -> None:
    workflow.environment = {
        "INHERITED": "it's $(inherited)",
        "SLURM_JOB_ID": "77",
        "SNAKEMAKE_PROFILE": "cluster",
    }
    (workflow.directory / "cluster").mkdir()
    (workflow.directory / "cluster/config.yaml").write_text("executor: osprofile\nosprofile-profile: linux\n")
    workflow.write(
        """
envvars: "INHERITED"
rule all:
    input: "total.txt"
rule part:
    output: "parts/{x}.txt"
    threads: 3
    resources: mem_mb=200, runtime=5
    shell: "echo $PWD $GPE_CPUS $GPE_MEMORY $GPE_WALLTIME $INHERITED $GPE_JOB_NAME > {output}"
rule total:
    input: "parts/a.txt", "parts/b.txt"
    output: "total.txt"
    run:
        with open(output[0], "w") as file:
            file.writelines(open(name).read() for name in input)
"""
    )
    output = workflow.run()
    expected = f"{workflow.directory} 3 200 300 it's $(inherited) snakejob.part"
    lines = workflow.read("total.txt").splitlines()
    assert [line.rpartition(".")[0].rpartition(".")[0] for line in lines] == [expected, expected]
    records = workflow.records()
    assert [record.status.exit_code for record in records] == [0, 0, 0]
    scripts = [(Path(record.directory) / ".gpe/script").read_text() for record in records]
    assert all("INHERITED=" in script and "SLURM_JOB_ID=" not in script for script in scripts)
    assert all(f"with external jobid '{record.status.job_id}'" in output for record in records)


def test_variables_of_several_lines_are_passed_and_exported_functions_are_not(workflow: Workflow) -> None:
    workflow.environment = {"LINES": "a\r\n#SBATCH --uid=root", "BASH_FUNC_module%%": "() { :; }"}
    workflow.write('rule a:\n    output: "a.txt"\n    shell: "printenv LINES > {output}"\n')
    workflow.run()
    assert (workflow.directory / "a.txt").read_bytes() == b"a\r\n#SBATCH --uid=root\n"
    [record] = workflow.records()
    script = (Path(record.directory) / ".gpe/script").read_text()
    assert "MARKER=" in script
    assert "BASH_FUNC" not in script


def test_a_group_is_one_job(workflow: Workflow) -> None:
    workflow.write(
        """
rule all:
    input: "c.txt"
rule a:
    output: "a.{n}.txt"
    group: "both"
    resources: runtime=2
    shell: "echo $GPE_JOB_ID > {output}"
rule b:
    input: "a.1.txt", "a.2.txt"
    output: "b.txt"
    group: "both"
    resources: runtime=3
    shell: "sort -u {input} > {output}; echo $GPE_WALLTIME >> {output}"
rule c:
    input: "b.txt"
    output: "c.txt"
    shell: "cp {input} {output}"
"""
    )
    workflow.run()
    group, _ = workflow.records()
    # the two jobs of a run side by side
    assert workflow.read("c.txt") == f"{group.status.job_id}\n300\n"


def test_a_group_that_fails_tells_how_and_where(workflow: Workflow) -> None:
    workflow.write(
        """
rule a:
    output: "a.txt"
    group: "both"
    shell: "echo first > {output}"
rule b:
    input: "a.txt"
    output: "b.txt"
    group: "both"
    shell: "echo wrong-$((40 + 2)) >&2; exit 3"
"""
    )
    output = workflow.run("b.txt", exit_code=1)
    [record] = workflow.records()
    assert f"Job {record.status.job_id} of profile linux: it ended with exit code 1." in output
    assert "wrong-42" in Path(find_log(output)).read_text()


def find_log(output: str) -> str:
    """Return the path of the output of a job that has failed."""
    return output.partition("Its output is in ")[2].partition(".log")[0] + ".log"


# Ends


def test_a_rule_that_fails_is_told_with_its_log(workflow: Workflow) -> None:
    workflow.write(
        """
rule all:
    input: "good.txt", "bad.txt"
rule good:
    output: "good.txt"
    shell: "echo good > {output}"
rule bad:
    output: "bad.txt"
    shell: "touch {output}; echo wrong-$((40 + 2)) >&2; exit 3"
"""
    )
    output = workflow.run("--keep-going", exit_code=1)
    assert workflow.read("good.txt") == "good\n"
    assert not (workflow.directory / "bad.txt").exists()
    [job_id] = [record.status.job_id for record in workflow.records() if record.status.exit_code != 0]
    assert f"Job {job_id} of profile linux: it ended with exit code 1." in output
    assert "Error in rule bad:" in output
    assert "wrong-42" in Path(find_log(output)).read_text()


@pytest.mark.parametrize(
    ("resources", "command", "end"),
    [
        ("runtime=5", "kill -KILL $PPID; sleep 600", "signal 9|exit code 137"),
        ("osprofile_walltime=1", "sleep 600", ": it exceeded its time limit ("),
        ("runtime=5", "incarnate job cancel $GPE_JOB_ID; sleep 600", ": somebody cancelled it"),
    ],
)
def test_a_job_that_was_ended_has_failed(workflow: Workflow, resources: str, command: str, end: str) -> None:
    workflow.environment = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    workflow.write(
        f'rule a:\n    output: "a.txt"\n    resources: {resources}\n    shell: "echo > {{output}}; {command}"\n'
    )
    output = workflow.run(exit_code=1)
    assert any(words in output for words in end.split("|")), output
    assert Path(find_log(output)).exists()
    assert not (workflow.directory / "a.txt").exists()


def test_a_retry_is_a_new_job_with_the_resources_of_its_attempt(workflow: Workflow) -> None:
    workflow.write(
        """
rule a:
    output: "a.txt"
    resources: mem_mb=lambda wildcards, attempt: 100 * attempt
    shell: "echo $GPE_MEMORY >> tries; test $GPE_MEMORY = 200 && echo > {output}"
"""
    )
    workflow.run("--retries", "2")
    assert workflow.read("tries") == "100\n200\n"
    assert [record.status.exit_code for record in workflow.records()] == [1, 0]


NEEDS_MEMORY = """
rule a:
    output: "a.txt"
    resources: mem_mb=100, osprofile_walltime=2
    shell: "echo $GPE_MEMORY >> tries; [ $GPE_MEMORY -ge 400 ] || sleep 1000; {wait}; touch {{output}}"
"""


def test_a_rule_gives_a_job_more_after_a_cause(workflow: Workflow) -> None:
    workflow.write(NEEDS_MEMORY.format(wait="true"))
    output = workflow.run("--osprofile-retry", "TIME: walltime*200, memory*4", "NODE")
    first, last = workflow.records()
    assert f"Job {first.status.job_id}: it exceeded its time limit" in output
    assert f"submitted again as job {last.status.job_id}." in output
    assert (first.status.cause, last.status.exit_code) == (osprofile.EndCause.TIME, 0)
    assert workflow.read("tries").endswith("400\n")


def test_the_last_attempt_is_removed_with_the_workflow(workflow: Workflow) -> None:
    workflow.write(NEEDS_MEMORY.format(wait="touch began; sleep 1000"))
    with workflow.start("--osprofile-retry", "TIME: walltime*200, memory*4") as process:
        wait_for(workflow.directory / "began", process)
        process.send_signal(signal.SIGINT)
        process.communicate()
    assert [r.status.state for r in workflow.records()] == [
        osprofile.JobState.FAILED,
        osprofile.JobState.REMOVED,
    ]
    assert workflow.processes() == []


def test_rules_that_cannot_be_used_are_refused(workflow: Workflow) -> None:
    workflow.write('rule a:\n    output: "a.txt"\n    shell: "touch {output}"\n')
    refused = workflow.run("--osprofile-retry", "MEMORI", exit_code=1)
    assert "--osprofile-retry: retry: 'MEMORI' is no cause of an end (did you mean MEMORY?" in refused
    refused = workflow.run("--osprofile-retry", "NODE", "--immediate-submit", "--notemp", exit_code=1)
    assert "leave --immediate-submit out" in refused


def test_a_query_that_fails_ends_no_job(workflow: Workflow) -> None:
    broken = workflow.directory / "broken"
    shell = workflow.directory / "shell"
    shell.write_text(
        f"#!/bin/sh\n[ ! -e '{broken}' ] || {{ echo no connection >&2; exit 1; }}\nexec sh \"$@\"\n"
    )
    shell.chmod(0o700)
    profile = document(
        f'<idb:Template name="SHELL"><idb:Invocation name=""><idb:Body>{shell}</idb:Body></idb:Invocation></idb:Template>',
        name="flaky",
        extends="linux",
        root="/var/tmp",
    )
    (workflow.directory / "flaky").mkdir()
    (workflow.directory / "flaky/profile.xml").write_text(profile)
    workflow.environment = {"OSPROFILE_PATH": str(workflow.directory)}
    workflow.write(
        'rule a:\n    output: "a.txt"\n    shell: "touch began; while [ ! -e go ]; do sleep 0.1; done; touch {output}"\n'
    )
    lines = []
    with workflow.start(profile="flaky") as process:
        wait_for(workflow.directory / "began", process)
        broken.touch()
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            if "not known at the moment" in line and broken.exists():
                broken.unlink()
                (workflow.directory / "go").touch()
    assert process.returncode == 0, lines
    assert any("no connection" in line for line in lines)
    assert len(workflow.records()) == 1


# Interrupts


def test_an_interrupt_leaves_no_job_behind(workflow: Workflow) -> None:
    workflow.write(
        """
rule all:
    input: expand("{x}.txt", x=range(3))
rule a:
    output: "{x}.txt"
    shell: "touch began.{wildcards.x}; sleep 600; touch {output}"
"""
    )
    process = workflow.start()
    for number in range(3):
        wait_for(workflow.directory / f"began.{number}", process)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate()
    assert process.returncode != 0
    assert "Traceback" not in output
    assert workflow.processes() == []
    assert {record.status.state for record in workflow.records()} <= {"REMOVED", "RUNNING"}


def test_an_interrupt_during_submissions_leaves_no_job_behind(workflow: Workflow) -> None:
    workflow.write(
        """
rule all:
    input: expand("{x}.txt", x=range(30))
rule a:
    output: "{x}.txt"
    shell: "sleep 600; touch {output}"
"""
    )
    process = workflow.start()
    # The first job is recorded, and the others are being submitted.
    while not (Path(workflow.store).exists() and any(record.is_submitted for record in workflow.records())):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate()
    assert process.returncode != 0
    assert "Submitted job" not in output, "the interrupt came too late for this test"
    assert workflow.processes() == []


def test_jobs_that_are_submitted_at_once_wait_for_those_before_them(
    workflow: Workflow, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow.write(
        """
rule all:
    input: "b.txt"
rule a:
    output: "a.txt"
    shell: "while [ ! -e go ]; do sleep 0.1; done; echo a > {output}"
rule b:
    input: "a.txt"
    output: "b.txt"
    shell: "cat {input} > {output}"
"""
    )
    workflow.run("--immediate-submit", "--notemp")
    (workflow.directory / "go").touch()
    monkeypatch.setenv("HOME", str(workflow.directory.parent / "home"))
    with osprofile.JobSession("linux", store=workflow.store) as session:
        ids = [record.status.job_id for record in workflow.records()]
        assert [status.exit_code for status in session.wait_all(ids).values()] == [0, 0]
    assert workflow.read("b.txt") == "a\n"


# Hostile values

HOSTILE = [
    "it's $(touch canary)",
    "both ' and \" $(touch canary)",
    "`touch canary`",
    "; touch canary #",
    "a' ; touch canary ; 'b",
    'a" ; touch canary ; "b',
    "-rf",
    "--config=x",
    "\\$HOME \\\\",
    "ünï \U0001f600 %s",
    "* ? [a] ~",
]


def test_hostile_wildcards_and_parameters_reach_no_shell(workflow: Workflow) -> None:
    workflow.write(
        """
import json
VALUES = json.load(open("values.json"))
rule all:
    input: [f"out/{value}.txt" for value in VALUES]
rule source:
    output: "in/{x}.txt"
    run:
        open(output[0], "w").write(wildcards.x)
rule copy:
    input: "in/{x}.txt"
    output: "out/{x}.txt"
    params: text=lambda wildcards: wildcards.x
    run:
        assert open(input[0]).read() == params.text == wildcards.x
        open(output[0], "w").write(wildcards.x)
"""
    )
    (workflow.directory / "values.json").write_text(json.dumps(HOSTILE))
    workflow.run("--jobname", "{rulename}.{wildcards.x}.{jobid}")
    for value in HOSTILE:
        assert workflow.read(f"out/{value}.txt") == value
    assert [*workflow.directory.rglob("canary"), *workflow.directory.parent.rglob("canary")] == []
    assert len(workflow.records()) == 2 * len(HOSTILE)


@pytest.mark.parametrize(
    "value", ["'quoted' $(touch canary)", '"quoted" $(touch canary)', "' ; touch canary ; '"]
)
def test_a_wildcard_that_snakemake_would_change_is_refused(workflow: Workflow, value: str) -> None:
    workflow.write(
        f'rule all:\n    input: [{value + ".txt"!r}]\nrule a:\n    output: "{{x}}.txt"\n    shell: "touch {{output:q}}"\n'
    )
    output = workflow.run(exit_code=1)
    assert f"Snakemake cannot pass the wildcard x={value!r} to a job" in output
    assert workflow.records() == []
    assert list(workflow.directory.rglob("canary")) == []


def test_hostile_values_of_the_workflow_and_its_place_reach_no_shell(tmp_path: Path) -> None:
    directory = tmp_path / "it's $(touch canary) `touch canary`"
    directory.mkdir()
    workflow = Workflow(directory, {"HOSTILE": "it's $(touch canary)\n`touch canary`"})
    workflow.write(
        'envvars: "HOSTILE"\nrule a:\n    output: "a.txt"\n    run:\n'
        "        open(output[0], 'w').write(os.environ['HOSTILE'])\n"
    )
    workflow.run()
    assert workflow.read("a.txt") == "it's $(touch canary)\n`touch canary`"
    assert list(tmp_path.rglob("canary")) == []


# Settings and resources


@pytest.mark.parametrize(
    ("options", "profile", "message"),
    [
        ((), None, "--osprofile-profile"),
        ((), "slrum", "there is no profile 'slrum'"),
        (("--osprofile-context", "CLUSTER"), "linux", "--osprofile-context 'CLUSTER' is not NAME=VALUE"),
        (("--osprofile-context", "CLUSTER=west"), "linux", "profile linux has no field CLUSTER"),
        (("--osprofile-store", "/dev/null/x"), "linux", "/dev/null/x"),
    ],
)
def test_a_wrong_setting_ends_the_workflow_with_a_message(
    workflow: Workflow, options: tuple[str, ...], profile: str | None, message: str
) -> None:
    workflow.write('rule a:\n    output: "a.txt"\n    shell: "touch {output}"\n')
    output = workflow.run(*options, profile=profile, exit_code=1)
    assert message in output
    assert ("did you mean slurm?" in output) == (profile == "slrum")
    assert workflow.processes() == []


@pytest.mark.parametrize(
    ("resources", "message"),
    [
        ("nodes=2", "field NODES: '2' is above the Max of 1"),
        ("nodes=2\n    group: 'g'", "field NODES: '2' is above the Max of 1"),
        ('constraint="x$(touch canary)\'`touch canary`"', "field CONSTRAINT"),
        ("runtime=0", "field WALLTIME: '0' is below the Min of 1"),
        ("osprofile_no_such=1", "NO_SUCH"),
        ("osprofile_array='1-3'", "the executor sets the field ARRAY itself"),
        ("slurm_extra='--x'", "resource slurm_extra: the executor osprofile cannot map it"),
        ("cluster='west'", "profile linux has no field CLUSTER"),
    ],
)
def test_a_resource_that_is_refused_is_told_by_name(workflow: Workflow, resources: str, message: str) -> None:
    workflow.write(
        f'rule a:\n    output: "a.txt"\n    resources: {resources}\n    shell: "touch {{output}}"\n'
    )
    assert message in workflow.run(exit_code=1)
    assert workflow.records() == []
    assert list(workflow.directory.rglob("canary")) == []


def test_a_job_that_is_refused_does_not_keep_the_others_from_running(workflow: Workflow) -> None:
    """All three are submitted by one call, which submits none if one is refused."""
    workflow.write(
        'rule all:\n    input: "a.txt", "b.txt", "c.txt"\n'
        + "".join(
            f'rule {name}:\n    output: "{name}.txt"\n    resources: runtime={minutes}\n    shell: "touch {{output}}"\n'
            for name, minutes in (("a", 1), ("b", 0), ("c", 2))
        )
    )
    assert "field WALLTIME: '0' is below the Min of 1" in workflow.run("--keep-going", exit_code=1)
    assert sorted(record.walltime or 0 for record in workflow.records()) == [60, 120]
    assert (workflow.read("a.txt"), workflow.read("c.txt")) == ("", "")


@pytest.mark.parametrize(
    ("resources", "cluster", "fields"),
    [
        ({}, "", {"CPUS": "4"}),
        ({"mem_mb": 100, "runtime": 2}, "", {"CPUS": "4", "MEMORY": "100", "WALLTIME": "120"}),
        ({"cpus_per_task": 8}, "", {"CPUS": "8"}),
        ({"mem_mb_per_cpu": 10, "mem_mb": 1, "tasks": 6, "nodes": 2}, "",
         {"CPUS": "4", "MEMORY": "120", "PROCESSES": "6", "NODES": "2"}),
        ({"slurm_partition": "long", "slurm_account": "a"}, "", {"CPUS": "4", "QUEUE": "long", "PROJECT": "a"}),
        ({"queue": "long", "partition": "long", "account": "a"}, "", {"CPUS": "4", "QUEUE": "long", "PROJECT": "a"}),
        ({"gpu": 2, "gpu_model": "a100"}, "", {"CPUS": "4", "GPUS": "2", "GPU_TYPE": "a100"}),
        ({"gpu": 0, "gpu_model": "a100", "qos": "", "tmpdir": "<TBD>", "licenses": 3, "disk_mb": 5}, "", {"CPUS": "4"}),
        ({"qos": "q", "constraint": "c", "reservation": "r"}, "",
         {"CPUS": "4", "QOS": "q", "CONSTRAINT": "c", "RESERVATION": "r"}),
        ({"clusters": "west"}, "west", {"CPUS": "4"}),
        ({"osprofile_tmp_dir": "/scratch", "osprofile_EXCLUSIVE": True}, "",
         {"CPUS": "4", "TMP_DIR": "/scratch", "EXCLUSIVE": "true"}),
    ],
)  # fmt: skip
def test_resources_are_fields(resources: dict[str, object], cluster: str, fields: dict[str, str]) -> None:
    assert map_resources(resources, 4) == (cluster, fields)


@pytest.mark.parametrize(
    ("resources", "message"),
    [
        ({"queue": "a", "slurm_partition": "b"}, "resources queue and slurm_partition set the field QUEUE"),
        ({"gres": "gpu:2"}, "resource gres: .* gpu_model"),
        ({"tasks_per_node": 2}, "resource tasks_per_node: .*give tasks"),
        ({"runtime": "1h"}, "resource runtime: '1h' is not a whole number of minutes"),
        ({"mem_mb_per_cpu": "x"}, "resource mem_mb_per_cpu"),
        ({"osprofile_executable": "x"}, "the executor sets the field EXECUTABLE itself"),
    ],
)
def test_what_has_no_field_is_refused_by_name(resources: dict[str, object], message: str) -> None:
    with pytest.raises(WorkflowError, match=message):
        map_resources(resources, 4)


# Documentation


def test_the_example_prints_what_its_workflow_has_made(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "plugins"),
        "OSPROFILE_STORE": str(tmp_path / "jobs.db"),
    }
    program = ROOT / "docs/examples/snakemake_example.py"
    result = subprocess.run(
        [sys.executable, str(program)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1] == "lines: 4"


def test_the_page_shows_what_happens(workflow: Workflow) -> None:
    workflow.environment = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    environment = workflow.prepare()
    count = 0
    for block in pages.read("docs/plugins/snakemake.md"):
        if block.file is not None:
            path = workflow.directory / block.file
            path.parent.mkdir(exist_ok=True)
            path.write_text(block.text)
        count += check_commands(block, workflow.directory, environment)
    assert count == 4
