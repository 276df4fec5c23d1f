"""Profiles of new batch systems: those of the manual's pages, made by the pages' own commands."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from manual import batch_systems as systems
from osprofile.errors import IncarnationError
from osprofile.lint import lint_file
from osprofile.profile.repository import Repository
from tests.docs import pages
from tests.profiles.conftest import PROFILES, quoted
from tests.profiles.systems import make_system
from tests.profiles.test_sizes import TEXT
from tests.waiting import PATIENCE, wait_for_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from osprofile.profile.model import Profile
    from tests.profiles.conftest import Job, Target


@pytest.fixture
def shell() -> str:
    return "dash"


ONE = """\
<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" xmlns:idb="http://gpe.intel.com/idb"
             xmlns:ext="urn:osprofile:extension" name="one" extends="batch">
  <osp:UspaceRoot>/var/tmp</osp:UspaceRoot>
  <osp:Delimiter>/</osp:Delimiter>
  <idb:Template name="COMMANDS">
    <idb:Invocation name="PROGRAM"><idb:StaticScript fileName="commands.sh" arguments="">{commands}</idb:StaticScript></idb:Invocation>
  </idb:Template>
</osp:Profile>
"""

PAGES = [("new-batch-system", "tsp")]


def make_page_profile(page: str, name: str, home: Path) -> Path:
    """Run the command of a page that writes a profile, by a shell; return the profile's folder."""
    blocks = pages.read(f"docs/{page}.md")
    steps = [step for block in blocks if block.word == "console" for step in pages.commands(block)]
    (text,) = [step.text for step in steps if step.text.startswith(f"incarnate new {name} --batch-system")]
    home.mkdir(exist_ok=True)
    for block in blocks:
        if block.word == "text" and block.file:
            (home / block.file).write_text(block.text)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {"HOME": str(home), "PATH": path}
    subprocess.run(["bash", "-c", text], cwd=home, env=environment, check=True, capture_output=True)
    return home / ".config/osprofile/profiles" / name


def load(folder: Path) -> Profile:
    """Load a profile by its folder."""
    return Repository([folder.parent, PROFILES], use_standard_path=False).load(folder.name)


def load_one(tmp_path: Path, document: str) -> Profile:
    """Load the profile `one` from its text."""
    folder = tmp_path / "profiles/one"
    folder.mkdir(parents=True)
    (folder / "profile.xml").write_text(document)
    return load(folder)


@pytest.mark.parametrize(("page", "name"), PAGES)
def test_a_batch_system_takes_few_lines(page: str, name: str, tmp_path: Path) -> None:
    folder = make_page_profile(page, name, tmp_path)
    xml = (folder / "profile.xml").read_text()
    shell = sum(len(text.splitlines()) for text in TEXT.findall(xml))
    assert len(xml.splitlines()) <= 65
    assert 10 <= shell <= 21
    assert not re.search("ext:src", xml)
    assert lint_file(folder, Repository([folder.parent, PROFILES], use_standard_path=False)) == []


@pytest.mark.parametrize(
    ("name", "template", "code"),
    [
        ("gpe_submit", "START", 1),
        ("gpe_list", "GET_JOB_STATUS", 2),
        ("gpe_list", "ABORT", 2),
        ("gpe_cancel", "ABORT", 1),
    ],
)
def test_a_command_that_is_not_defined_is_named(
    tmp_path: Path, target_of: Callable[..., Target], name: str, template: str, code: int
) -> None:
    text = "gpe_list() { echo 1 R; }" if name != "gpe_list" else ":"
    fields = {} if template == "START" else {"JOB_ID": "1"}
    target = target_of("linux")
    target.profile = load_one(tmp_path, ONE.format(commands=text))
    done = target.run(template, **fields)
    assert done.returncode == code
    assert f"one does not define {name}\n" in done.stderr


LISTED = """\
  <idb:Template>
    <idb:Field name="JOB_ID_PATTERN" isSettable="false"><idb:Value>j#[0-9]+@toy:1</idb:Value></idb:Field>
    <idb:Field name="STATE" isSettable="false">
      <idb:Tag name="R">RUNNING</idb:Tag><idb:Tag name="exited">DONE</idb:Tag><idb:Tag name="*">QUEUED</idb:Tag>
    </idb:Field>
  </idb:Template>
  <idb:Template name="COMMANDS">"""


def test_several_jobs_are_one_query(tmp_path: Path, target_of: Callable[..., Target]) -> None:
    """The list leaves out what has ended: the jobs' own records are asked for together."""
    document = ONE.replace('  <idb:Template name="COMMANDS">', LISTED, 1).format(
        commands='gpe_list() { echo >> "$HOME/asked"; cat "$HOME/list"; }'
    )
    target = target_of("linux")
    target.profile = load_one(tmp_path, document)
    (target.home / "list").write_text("ID STATE\nj#1@toy:1 R host=n1\nj#5@toy:1 ODD\nj#1@toy:12 R\n")
    for number, code in ((2, 3), (3, 137)):
        link = target.home / f".gpe/jobs/one/j#{number}@toy:1"
        (link / ".gpe").mkdir(parents=True)
        (link / ".gpe_exit_status").write_text(f"{code}\n")
    ids = " ".join(f"j#{number}@toy:1" for number in (3, 1, 2, 4, 5))
    found = target.statuses("SEVERAL", JOB_IDS=ids)
    assert {job_id: (s.state, s.exit, s.signal) for job_id, s in found.items()} == {
        "j#3@toy:1": ("FAILED", None, 9),
        "j#1@toy:1": ("RUNNING", None, None),
        "j#2@toy:1": ("DONE", 3, None),
        "j#5@toy:1": ("QUEUED", None, None),
    }
    assert (target.home / "asked").read_text() == "\n"
    one = target.statuses("SEVERAL", JOB_IDS="j#2@toy:1 j#4@toy:1")
    assert one == {"j#2@toy:1": found["j#2@toy:1"]} == target.statuses("", JOB_ID="j#2@toy:1")
    assert target.statuses() == {name: found[name] for name in ("j#1@toy:1", "j#5@toy:1")}
    assert "unknown job j#4@toy:1" in target.fails("GET_JOB_STATUS", "SEVERAL", JOB_IDS="j#4@toy:1")


OF_ONE_SYSTEM = {"PE", "PE_NODES", "IMAGE"}
SAMPLES = {
    "JOB_NAME": "mine", "STDIN": "in", "STDOUT": "out", "STDERR": "err", "DIRECTORY": "/", "PROCESSES": "2", "CPUS": "3",
    "CPUTIME": "600", "QUEUE": "long", "PROJECT": "physics", "NODES": "1", "MEMORY": "100", "WALLTIME": "60", "GPUS": "1",
    "GPU_TYPE": "a100", "QOS": "high", "CONSTRAINT": "fast", "RESERVATION": "course", "EXCLUSIVE": "true", "PRIORITY": "-5",
    "START_TIME": "2030-01-01T00:00", "NOTIFY": "me", "NOTIFY_EVENTS": "end", "DEPENDENCY": "afterok:1", "ARRAY": "1-2",
    "REQUEUE": "true", "CONTAINER": "image.sif", "NODE_FILE": "nodes", "TMP_DIR": "/tmp", "OPTIONS": "-n",
    "ENVIRONMENT": "export X='y'\n", "EXECUTABLE": "/bin/sh", "ARGUMENTS": "-u",
    "STDOUT_NAME": "out-%j-%%", "STDERR_NAME": "err-%N", "APPEND_OUTPUT": "true", "LIMIT_SIGNAL": "USR1@30",
}  # fmt: skip
"""A value of each field of a job."""
CARRIED_BY_TSP = {
    "JOB_NAME", "STDIN", "STDOUT", "STDERR", "DIRECTORY", "PROCESSES", "CPUS", "CPUTIME", "CONTAINER", "NODE_FILE",
    "TMP_DIR", "ENVIRONMENT", "EXECUTABLE", "ARGUMENTS", "STDOUT_NAME", "STDERR_NAME", "APPEND_OUTPUT",
}  # fmt: skip
"""What the job's own shell does, or tells the program; task-spooler has none of the others."""
REPORT = """\
printf '%s\n' "$GPE_JOB_NAME" "$GPE_PROCESSES" "$GPE_CPUS:$OMP_NUM_THREADS" "$(ulimit -t)" "$PWD" "$X" "$(cat)" "${TMPDIR%/*}" "$1"
cat "$GPE_NODE_FILE"
echo words >&2"""


def check_fields_of_tsp(tsp: Target, run: Callable[[Job], object]) -> None:
    """Check each field of a job: it reaches the program of a job, which `run` lets end, or is refused by its name."""
    assert set(SAMPLES) == {name for name in systems.list_job_fields() if name not in OF_ONE_SYSTEM}
    for name in SAMPLES.keys() - CARRIED_BY_TSP:
        needed = {"GPU_TYPE": {"GPUS": "1"}, "NOTIFY_EVENTS": {"NOTIFY": "me"}}.get(name, {})
        with pytest.raises(IncarnationError) as caught:
            tsp.script("START", **{name: SAMPLES[name]}, **needed)
        assert caught.value.field in {name, *needed}, name
    directory, scratch = tsp.directory(), tsp.home / "scratch"
    directory.mkdir(parents=True)
    scratch.mkdir()
    (directory / "in").write_text("of stdin")
    (tsp.path[0] / "apptainer").write_text(
        '#!/bin/sh\nprintf "%s\\n" "$@" > "$HOME/words"\nshift 6\nexec "$@"\n'
    )
    (tsp.path[0] / "apptainer").chmod(0o755)
    fields = {name: SAMPLES[name] for name in CARRIED_BY_TSP}
    fields |= {"ARGUMENTS": quoted("-c", REPORT, "sh", "a 'b'"), "TMP_DIR": str(scratch)}
    job = tsp.start(directory, **fields)
    run(job)
    host = os.uname().nodename
    assert job.read("out").splitlines() == [
        "mine", "2", "3:3", "600", "/", "y", "of stdin", str(scratch), "a 'b'", host, host,
    ]  # fmt: skip
    assert job.read("err") == "words\n"
    assert (directory / "out").readlink() == Path(f"out-{job.id}-%")
    assert (directory / "err").readlink() == Path(f"err-{host.partition('.')[0]}")
    assert job.read("nodes") == f"{host}\n" * 2
    assert [*scratch.iterdir()] == []
    assert (tsp.home / "words").read_text().startswith("exec\n--bind\n")
    assert f"\n{directory}/image.sif\n" in (tsp.home / "words").read_text()


def make_tsp_target(tmp_path: Path, target_of: Callable[..., Target]) -> Target:
    """Return a target with the manual's profile and a stand-in for tsp, which lists nothing while a file `away` is there."""
    folder = make_page_profile("new-batch-system", "tsp", tmp_path / "profiles")
    commands = tmp_path / "commands"
    commands.mkdir()
    (commands / "tsp").write_text(
        '#!/bin/sh\ncd "$(dirname "$0")" || exit\nfor last; do :; done\n[ "$1" = sh ] && echo 7 && echo "$last" > jobs && exit\n'
        "[ ! -e away ] || { touch asked; exit 1; }\necho ID; echo 7 running file $(cat jobs)\n"
    )
    (commands / "tsp").chmod(0o755)
    target = target_of("linux", commands)
    target.profile = load(folder)
    return target


def test_fields_of_tsp(tmp_path: Path, target_of: Callable[..., Target]) -> None:
    """With a stand-in; tests/lab/test_tsp.py has the real one."""
    target = make_tsp_target(tmp_path, target_of)

    def run(job: Job) -> None:
        subprocess.run(["sh", str(job.directory / ".gpe/script")], env=target.env, cwd="/", check=True)

    check_fields_of_tsp(target, run)


@pytest.fixture
def flux(tmp_path: Path, target_of: Callable[..., Target]) -> Target:
    return make_system("flux", target_of, tmp_path / "commands").target


@pytest.mark.parametrize(
    ("ends_by", "is_removed"),
    [
        ("echo 0 > .gpe_exit_status", False),
        ("sh .gpe/script", True),
        # the note comes after the job has begun, and before its program has
        (
            "mv .gpe/removed note; sed -i '/^gpe_begin_job/a mv note .gpe/removed' .gpe/script; sh .gpe/script",
            True,
        ),
    ],
    ids=["by itself", "as it begins", "as its program begins"],
)
def test_flux_a_job_that_ends_while_it_is_cancelled(flux: Target, ends_by: str, is_removed: bool) -> None:
    """The batch system refuses it then. It ends by itself, or because it finds ABORT's note."""
    job = flux.start()
    steps = [
        f"cd '{job.directory}' && mkdir once || exit",  # ABORT tries twice
        f"export FLUX_STANDIN_JOB={job.id}",
        ends_by,
        f"echo '{job.id} FAILED 16 143' > '{flux.path[0]}/jobs'",
    ]
    (flux.path[0] / "late").write_text("\n".join(steps))
    if is_removed:
        assert flux.ok("ABORT", JOB_ID=job.id) == ""
        assert job.status().state == "REMOVED"
    else:
        assert "is inactive" in flux.fails("ABORT", JOB_ID=job.id)
        assert job.status().end == ("DONE", 0)


def test_flux_fields(flux: Target) -> None:
    fields = {"PROCESSES": "4", "NODES": "2", "CPUS": "3", "WALLTIME": "90", "QUEUE": "q", "JOB_NAME": "n"}
    job = flux.start(**fields, DEPENDENCY="afterok:f112345:f9SEBrbSJ,afterany:fM7Zq9AKH")
    script = (flux.path[0] / f"script.{job.id}").read_text()
    assert re.findall("#FLUX: (.*)", script) == [
        "--output=none", "--nslots=4", "--nodes=2", "--cores-per-slot=3", "--time-limit=90s", "--queue=q", "--job-name=n",
    ]  # fmt: skip
    assert (flux.path[0] / "options").read_text().splitlines() == [
        "--dependency=afterok:f112345", "--dependency=afterok:f9SEBrbSJ", "--dependency=afterany:fM7Zq9AKH",
    ]  # fmt: skip


def test_a_job_that_cannot_ask_for_its_id_does_not_begin(
    tmp_path: Path, target_of: Callable[..., Target]
) -> None:
    """Given up by FIND_JOB, it would run beside the job that START has submitted in its place."""
    target = make_tsp_target(tmp_path, target_of)
    commands = tmp_path / "commands"
    job = target.start(EXECUTABLE="/bin/echo")
    (commands / "away").touch()
    with subprocess.Popen(["sh", str(job.directory / ".gpe/script")], env=target.env, cwd="/") as script:
        wait_for_file(commands / "asked")
        assert not (job.directory / "stdout").exists()
        (job.directory / ".gpe/id").unlink()
        (job.directory / ".gpe/submitting").unlink()
        (commands / "away").unlink()
        assert script.wait(PATIENCE) == 1
    assert not (job.directory / "stdout").exists()


def test_the_manifest_of_kubernetes(target_of: Callable[..., Target], tmp_path: Path) -> None:
    """All that a job asks for is in it, values are JSON, and it runs as the user."""
    system = make_system("kubernetes", target_of, tmp_path / "commands")
    needs = {"PROCESSES": "2", "CPUS": "3", "MEMORY": "2048", "GPUS": "1", "WALLTIME": "90"}
    job = system.target.start(JOB_NAME="fit", QUEUE="batch", IMAGE="site/tools:1", **needs)
    assert system.target.ok("GET_JOB_STATUS", JOB_ID=job.id) == f"{job.id} Suspended\n"
    manifest = json.loads((system.target.path[0] / "requests").read_text())
    pod = manifest["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert (manifest["spec"]["backoffLimit"], pod["restartPolicy"]) == (0, "Never")
    assert pod["activeDeadlineSeconds"] == 90
    assert manifest["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "batch"
    assert manifest["metadata"]["annotations"]["name"] == "fit"
    assert container["image"] == "site/tools:1"
    assert container["resources"]["limits"] == {"cpu": 6, "memory": "2048Mi", "nvidia.com/gpu": 1}
    assert pod["securityContext"] == {"runAsUser": os.getuid(), "runAsGroup": os.getgid()}
    assert pod["volumes"] == [{"name": "jobs", "hostPath": {"path": str(job.directory)}}]
    assert container["workingDir"] == str(job.directory)
    assert [mount["mountPath"] for mount in container["volumeMounts"]] == [str(job.directory)]


def test_flux_reads_no_line_of_a_value(target_of: Callable[..., Target], tmp_path: Path) -> None:
    """It would take `flux: ...` for a line of its own, and a carriage return for the end of a line."""
    system = make_system("flux", target_of, tmp_path / "commands")
    value = "a\nflux: --nodes=99\rb"
    job = system.target.start(None, EXECUTABLE="/bin/echo", ARGUMENTS=quoted(value), WALLTIME="60")
    lines = job.read(".gpe/batch").splitlines()
    assert all(line.startswith("#FLUX: --") for line in lines[1:-1])
    assert lines[0] == "#!/bin/sh"
    assert re.fullmatch(r"sh -c '[^']*' '\./\.gpe/script'", lines[-1])
    assert "#FLUX: --time-limit=60s" in lines
    system.begin(job)
    system.end(job)
    assert (job.directory / "stdout").read_bytes() == value.encode() + b"\n"
