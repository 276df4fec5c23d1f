"""Profiles of new batch systems: those of the manual's pages, made by the pages' own commands."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from manual import batch_systems as systems
from osprofile.errors import IncarnationError, ValueRefusedError
from osprofile.incarnation.incarnate import incarnate
from osprofile.lint import lint_file
from osprofile.profile.repository import Repository
from tests.docs import pages
from tests.profiles.conftest import PROFILES, quoted
from tests.profiles.test_sizes import TEXT

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_regressions.file_regression import FileRegressionFixture

    from tests.profiles.conftest import Job, Target

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

PAGES = [("new-batch-system", "tsp"), ("flux", "flux")]


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


@pytest.mark.parametrize(("page", "name"), PAGES)
def test_a_batch_system_takes_few_lines(page: str, name: str, tmp_path: Path) -> None:
    folder = make_page_profile(page, name, tmp_path)
    xml = (folder / "profile.xml").read_text()
    shell = sum(len(text.splitlines()) for text in TEXT.findall(xml))
    assert len(xml.splitlines()) <= 64
    assert 10 <= shell <= 21
    assert not re.search("ext:src", xml)
    assert lint_file(folder, Repository([folder.parent, PROFILES], use_standard_path=False)) == []


@pytest.mark.parametrize(
    ("name", "template", "code"),
    [
        ("gpe_submit", "START", 1),
        ("gpe_list", "GET_JOB_STATUS", 2),
        ("gpe_list", "ABORT", 1),
        ("gpe_cancel", "ABORT", 1),
    ],
)
def test_a_command_that_is_not_defined_is_named(
    tmp_path: Path, target_of: Callable[..., Target], name: str, template: str, code: int
) -> None:
    text = "gpe_list() { echo 1 R; }" if name != "gpe_list" else ":"
    document = ONE.format(commands=text)
    (tmp_path / "profiles/one").mkdir(parents=True)
    (tmp_path / "profiles/one/profile.xml").write_text(document)
    profile = Repository([tmp_path / "profiles", PROFILES], use_standard_path=False).load("one")
    fields = {} if template == "START" else {"JOB_ID": "1"}
    target = target_of("linux")
    target.profile = profile
    done = target.run(template, **fields)
    assert done.returncode == code
    assert f"one does not define {name}\n" in done.stderr


@pytest.mark.parametrize("name", ["WALLTIME", "MEMORY"])
def test_a_limit_that_nobody_enforces_is_refused(name: str, tmp_path: Path) -> None:
    folder = make_page_profile("new-batch-system", "tsp", tmp_path)
    profile = Repository([folder.parent, PROFILES], use_standard_path=False).load("tsp")
    context = {"USER_NAME": "alice", "WORKING_DIRECTORY": "/var/tmp/alice/1"}
    with pytest.raises(ValueRefusedError, match=name):
        incarnate(profile, "START", fields={name: "60"}, context=context)


SAMPLES = {
    "JOB_NAME": "mine", "STDIN": "in", "STDOUT": "out", "STDERR": "err", "DIRECTORY": "/", "PROCESSES": "2", "CPUS": "3",
    "CPUTIME": "600", "QUEUE": "long", "PROJECT": "physics", "NODES": "1", "MEMORY": "100", "WALLTIME": "60", "GPUS": "1",
    "GPU_TYPE": "a100", "QOS": "high", "CONSTRAINT": "fast", "RESERVATION": "course", "EXCLUSIVE": "true", "PRIORITY": "-5",
    "START_TIME": "2030-01-01T00:00", "NOTIFY": "me", "NOTIFY_EVENTS": "end", "DEPENDENCY": "afterok:1", "ARRAY": "1-2",
    "REQUEUE": "true", "CONTAINER": "image.sif", "NODE_FILE": "nodes", "TMP_DIR": "/tmp", "OPTIONS": "-n",
    "ENVIRONMENT": "export X='y'\n", "EXECUTABLE": "/bin/sh", "ARGUMENTS": "-u",
}  # fmt: skip
"""A value of each field of a job."""
CARRIED_BY_TSP = {
    "JOB_NAME", "STDIN", "STDOUT", "STDERR", "DIRECTORY", "PROCESSES", "CPUS", "CPUTIME", "CONTAINER", "NODE_FILE",
    "TMP_DIR", "ENVIRONMENT", "EXECUTABLE", "ARGUMENTS",
}  # fmt: skip
"""What the job's own shell does, or tells the program; task-spooler has none of the others."""
REPORT = """\
printf '%s\n' "$GPE_JOB_NAME" "$GPE_PROCESSES" "$GPE_CPUS:$OMP_NUM_THREADS" "$(ulimit -t)" "$PWD" "$X" "$(cat)" "${TMPDIR%/*}" "$1"
cat "$GPE_NODE_FILE"
echo words >&2"""


def check_fields_of_tsp(tsp: Target, run: Callable[[Job], object]) -> None:
    """Check each field of a job: it reaches the program of a job, which `run` lets end, or is refused by its name."""
    assert set(SAMPLES) == {name for name in systems.list_job_fields() if name not in {"PE", "PE_NODES"}}
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
        '#!/bin/sh\ncd "$(dirname "$0")" || exit\n[ "$1" = sh ] && echo 7 && echo "$2" > jobs && exit\n'
        "[ ! -e away ] || { touch asked; exit 1; }\necho ID; echo 7 running file $(cat jobs)\n"
    )
    (commands / "tsp").chmod(0o755)
    target = target_of("linux", commands)
    target.profile = Repository([folder.parent, PROFILES], use_standard_path=False).load("tsp")
    return target


def test_fields_of_tsp(tmp_path: Path, target_of: Callable[..., Target]) -> None:
    """With a stand-in; tests/lab/test_tsp.py has the real one."""
    target = make_tsp_target(tmp_path, target_of)

    def run(job: Job) -> None:
        subprocess.run(["sh", str(job.directory / ".gpe/script")], env=target.env, cwd="/", check=True)

    check_fields_of_tsp(target, run)


FLUX = r"""#!/bin/sh
# what flux-core's documentation shows; the jobs are in the file jobs beside it, one a line: ID STATUS URGENCY CODE
cd "$(dirname "$0")" || exit
set_words() { # ID STATUS URGENCY CODE
  awk -v id="$1" '$1 == id { found = 1 } END { exit !found }' jobs || { echo "flux-job: unknown job id" >&2; exit 1; }
  awk -v id="$1" -v new="$*" '{ print $1 == id ? new : $0 }' jobs > jobs.new && mv jobs.new jobs
}
case "$1 $2" in
"batch "*)
  [ ! -e refuse ] || { cat refuse >&2; exit 1; }
  id=f11234$(($(wc -l < jobs) + 1))
  echo "$id SCHED 16" >> jobs
  cp "$2" "script.$id"
  [ -n "$FLUX_F58_FORCE_ASCII" ] || id=$(printf '\306\222%s' "${id#f}")
  echo "$id" ;;
"jobs -a")
  [ ! -e away ] || { echo "flux-jobs: ERROR: Unable to connect to Flux" >&2; exit 1; }
  [ "$3 $4 $5 $6 $7" = "-n -c 10000 -o {id.f58} {status}/{urgency} {returncode}" ] || exit 2
  [ -n "$FLUX_F58_FORCE_ASCII" ] || exit 3
  awk '{ print $1 " " $2 "/" $3 " " $4 }' jobs ;;
"job urgency")
  case $4 in hold) urgency=0 ;; default) urgency=16 ;; *) exit 2 ;; esac
  awk -v id="$3" '$1 == id && $2 != "SCHED" { exit 1 }' jobs ||
    { echo "flux-job: $3: urgency cannot be changed in RUN state" >&2; exit 1; }
  set_words "$3" SCHED "$urgency" ;;
"job id") [ "$3 $4" = "--to=f58 $FLUX_STANDIN_JOB" ] && echo "$4" ;;
"getattr jobid") echo "$FLUX_STANDIN_JOB" ;;
"cancel "*)
  [ ! -e late ] || { sh ./late; echo "flux-job: $2: job is inactive" >&2; exit 1; }
  set_words "$2" CANCELED 16 -128 ;;
*) exit 2 ;;
esac
"""


@pytest.fixture
def flux(tmp_path: Path, target_of: Callable[..., Target]) -> Target:
    """Give the page's profile, with a stand-in for the command."""
    folder = make_page_profile("flux", "flux", tmp_path / "profiles")
    commands = tmp_path / "commands"
    commands.mkdir()
    (commands / "flux").write_text(FLUX)
    (commands / "flux").chmod(0o755)
    (commands / "jobs").touch()
    target = target_of("linux", commands)
    target.profile = Repository([folder.parent, PROFILES], use_standard_path=False).load("flux")
    return target


def tell(flux: Target, job: str, words: str) -> None:
    """Let Flux say this about a job."""
    jobs = flux.path[0] / "jobs"
    jobs.write_text(re.sub(rf"(?m)^{job} .*", f"{job} {words}", jobs.read_text()))


def run(flux: Target, job: Job) -> int:
    """Run a job's script as Flux does: a copy, by its first line, without FLUX_JOB_ID."""
    script = flux.path[0] / f"script.{job.id}"
    environment = {**flux.env, "FLUX_STANDIN_JOB": job.id}
    return subprocess.run(["sh", str(script)], env=environment, cwd=job.directory, check=False).returncode


def test_flux_a_job_from_start_to_end(flux: Target) -> None:
    job = flux.start(EXECUTABLE="/bin/sh", ARGUMENTS=quoted("-c", 'echo "$GPE_JOB_ID"; exit 3'))
    assert job.id == "f112341"
    assert job.status().state == "QUEUED"
    tell(flux, job.id, "RUN 16")
    assert job.status().state == "RUNNING"
    assert run(flux, job) == 3
    tell(flux, job.id, "CLEANUP 16")
    assert job.status().state == "RUNNING"
    tell(flux, job.id, "FAILED 16 3")
    status = job.status()
    assert (status.state, status.exit) == ("DONE", 3)
    assert flux.statuses()[job.id] == status
    assert job.read("stdout") == f"{job.id}\n"


@pytest.mark.parametrize(
    ("words", "state", "code"),
    [
        ("DEPEND 16", "QUEUED", None),
        ("DEPEND 0", "HELD", None),
        ("SCHED 31", "QUEUED", None),
        ("COMPLETED 16 0", "DONE", 0),
        ("FAILED 16 7", "DONE", 7),
        ("FAILED 16 -9", "FAILED", None),
        ("FAILED 16 137", "FAILED", None),
        ("TIMEOUT 16 142", "FAILED/TIME", None),
        ("CANCELED 16 -128", "REMOVED", None),
        ("SOMETHING 16", "UNKNOWN", None),
    ],
)
def test_flux_states(flux: Target, words: str, state: str, code: int | None) -> None:
    job = flux.start()
    (job.directory / ".gpe/output").touch()  # it has begun
    tell(flux, job.id, words)
    status = job.status()
    assert (status.state, status.exit if state == "DONE" else None) == (state, code)
    assert flux.statuses()[job.id] == status


def test_flux_holds_releases_and_cancels(flux: Target) -> None:
    job = flux.start()
    assert flux.ok("HOLD", JOB_ID=job.id) == ""
    assert job.status().state == "HELD"
    assert flux.ok("RESUME", JOB_ID=job.id) == ""
    assert job.status().state == "QUEUED"
    assert flux.ok("ABORT", JOB_ID=job.id) == ""
    assert job.status().state == "REMOVED"
    running = flux.start()
    tell(flux, running.id, "RUN 16")
    assert "urgency cannot be changed" in flux.fails("HOLD", JOB_ID=running.id)
    # a cancelled job may have ended by itself meanwhile: its record says that it was removed
    assert flux.ok("ABORT", JOB_ID=running.id) == ""
    assert run(flux, running) == 143
    tell(flux, running.id, "FAILED 16 143")
    assert not (running.directory / ".gpe_exit_status").exists()
    assert running.status().state == "REMOVED"


@pytest.mark.parametrize("has_begun", [False, True])
def test_flux_a_job_that_ends_while_it_is_cancelled(flux: Target, has_begun: bool) -> None:
    """The batch system refuses it then. It ends by itself, or because it finds ABORT's note as it begins."""
    job = flux.start()
    steps = [
        f"cd '{job.directory}' || exit",
        "echo 0 > .gpe_exit_status"
        if has_begun
        else f"FLUX_STANDIN_JOB={job.id} sh '{flux.path[0]}/script.{job.id}'",
        f"echo '{job.id} FAILED 16 143' > '{flux.path[0]}/jobs'",
    ]
    (flux.path[0] / "late").write_text("\n".join(steps))
    if has_begun:
        assert "is inactive" in flux.fails("ABORT", JOB_ID=job.id)
        assert (job.status().state, job.status().exit) == ("DONE", 0)
    else:
        assert flux.ok("ABORT", JOB_ID=job.id) == ""
        assert job.status().state == "REMOVED"


def test_flux_refusals_and_absence(flux: Target) -> None:
    (flux.path[0] / "refuse").write_text("flux-batch: ERROR: Number of slots not specified\n")
    assert "Number of slots" in flux.fails("START")
    (flux.path[0] / "refuse").unlink()
    job = flux.start()
    assert "unknown job f9SEBrbSJ" in flux.fails("GET_JOB_STATUS", JOB_ID="f9SEBrbSJ")
    (flux.path[0] / "away").touch()
    done = flux.run("GET_JOB_STATUS", JOB_ID=job.id)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Unable to connect" in done.stderr
    assert "Unable to connect" in flux.fails("ABORT", JOB_ID=job.id)
    assert not (job.directory / ".gpe/removed").exists()


def test_flux_scripts(tmp_path: Path, file_regression: FileRegressionFixture) -> None:
    """The golden file: what the profile makes of a request."""
    folder = make_page_profile("flux", "flux", tmp_path)
    profile = Repository([folder.parent, PROFILES], use_standard_path=False).load("flux")
    context = {"USER_NAME": "alice", "WORKING_DIRECTORY": "/scratch/jobs/alice/1"}
    start = incarnate(profile, "START", context=context).text
    fields = {"JOB_ID": "f112345"}
    rest = [
        incarnate(profile, name, fields=fields, context=context).text for name in ("HOLD", "RESUME", "ABORT")
    ]
    file_regression.check("\n".join([start.partition("\ncd -- ")[0], *rest]), extension=".txt")


def test_a_job_that_cannot_ask_for_its_id_does_not_begin(
    tmp_path: Path, target_of: Callable[..., Target]
) -> None:
    """Given up by FIND_JOB, it would run beside the job that START has submitted in its place."""
    target = make_tsp_target(tmp_path, target_of)
    commands = tmp_path / "commands"
    job = target.start(EXECUTABLE="/bin/echo")
    (commands / "away").touch()
    with subprocess.Popen(["sh", str(job.directory / ".gpe/script")], env=target.env, cwd="/") as script:
        while not (commands / "asked").exists():
            time.sleep(0.05)
        assert not (job.directory / "stdout").exists()
        (job.directory / ".gpe/id").unlink()
        (job.directory / ".gpe/submitting").unlink()
        (commands / "away").unlink()
        assert script.wait(30) == 1
    assert not (job.directory / "stdout").exists()
