"""The directives of a script: what Slurm has of the job that `incarnate job submit` submits, and of that of sbatch itself.

The jobs wait for a time that is years away, so nothing runs.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.lab.conftest import INCARNATE, NODE

if TYPE_CHECKING:
    from collections.abc import Iterator

SCRIPTS = Path(__file__).parents[1] / "cli/job/headers"
FAR = "2036-01-01T10:00:30"
COMPARED = (
    "Partition", "NumNodes", "NumCPUs", "NumTasks", "CPUs/Task", "TimeLimit", "MinMemoryNode", "MinMemoryCPU", "MinTmpDiskNode",
    "TresPerNode", "TresPerJob", "TresPerTask", "Features", "OverSubscribe", "Dependency", "MailUser", "MailType", "Requeue",
    "ReqNodeList", "ExcNodeList", "EligibleTime", "ArrayTaskId", "ArrayTaskThrottle", "NtasksPerN:B:S:C", "CoreSpec", "QOS",
    "Reservation", "Contiguous", "Licenses", "Network", "JobName", "CpusPerTres", "MemPerTres", "TimeMin", "Switches", "Power",
)  # fmt: skip
HEADERS = [
    "-J a -t 10",
    "--job-name=a --time=1-12:30",
    "-J a --time=0:30:00 --nodes=1 --ntasks=4",
    "-J a -n 4 -c 2 --mem=100",
    "-J a --ntasks-per-node=4",
    "-J a -t INFINITE",
    "-J a -t 10 --nodes=1-2 --distribution=cyclic --comment='a # b'",
    "-J a -N 1 --ntasks-per-node=4 --cpus-per-task=2",
    "-J a -N 2 --ntasks-per-node=2",
    "-J a --mem=0 --exclusive",
    "-J a --exclusive=user",
    "-J a -p debug,short -t 5",
    "-J a --gres=gpu:2",
    "-J a --gres=gpu:fake:1",
    "-J a --gpus-per-node=1 -N 1",
    "-J a -C fast",
    '-J a -C "fast&avx"',
    "-J a --dependency=singleton",
    "-J a --mail-type=ALL --mail-user=a@b.c",
    "-J a --mail-type=BEGIN,FAIL --mail-user=a@b.c",
    "-J a --mail-type=NONE --mail-user=a@b.c",
    "-J a --no-requeue",
    "-J a --requeue",
    "-J a --array=1-10:2,15%3",
    f"-J a -w {NODE}",
    f"-J a --nodelist={NODE} --contiguous",
    "-J a --ntasks-per-core=1 --threads-per-core=1",
    "-J a --cores-per-socket=1 --sockets-per-node=1",
    "-J a --switches=1",
    "-J a --time-min=5 -t 10",
    "-J a --comment='a b' --wckey=x --hint=nomultithread --get-user-env --nice -m block",
    "-J a --signal=USR1@120 --export=NONE",
    "-J a --reservation=far",
    "-J a --gpus-per-task=1 -n 2",
    "-J a --mincpus=2 --overcommit",
    "-J a --export=ALL,A=1 --open-mode=append -o x.%j",
]


@pytest.fixture
def place(tmp_path: Path, site: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:  # noqa: ARG001  # the lab is up
    """Stand in a directory with a home and a record of its own; cancel the jobs of the test."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("OSPROFILE_STORE", str(tmp_path / "jobs.db"))
    for name in [name for name in os.environ if name.startswith(("SBATCH_", "SLURM_"))]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    ids: list[str] = []
    (tmp_path / "ids").write_text("")
    yield tmp_path
    ids = (tmp_path / "ids").read_text().split()
    subprocess.run(["scancel", *ids], check=False, capture_output=True)
    for link in (tmp_path / ".gpe/jobs/slurm").glob("*"):
        shutil.rmtree(link.readlink(), ignore_errors=True)


def show(place: Path, *command: str) -> dict[str, str]:
    """Return what Slurm has of the job that a command submits."""
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=place)
    assert done.returncode == 0, done
    job_id = done.stdout.split()[-1]
    with (place / "ids").open("a") as file:
        file.write(f"{job_id}\n")
    text = subprocess.check_output(["scontrol", "-o", "show", "job", job_id], text=True)
    return dict(re.findall(r"(\S+?)=(\S*)", text))


@pytest.mark.parametrize("header", HEADERS)
def test_slurm_has_what_sbatch_would_ask_for(place: Path, header: str) -> None:
    (place / "sim.sh").write_text(f"#!/bin/sh\n#SBATCH {header}\ntrue\n")
    if "singleton" in header:  # both wait for a third job of this name, or else ours alone for theirs
        show(place, "sbatch", f"--begin={FAR}", "sim.sh")
    theirs = show(place, "sbatch", f"--begin={FAR}", "sim.sh")
    ours = show(place, str(INCARNATE), "job", "submit", "-p", "slurm", "--start-time", FAR, "sim.sh")
    if theirs["NumNodes"] == "1":  # as the tasks have room there
        theirs["NumNodes"] = "1-1" if "ntasks-per-node" in header else "1"
    different = {n: (theirs.get(n), ours.get(n)) for n in COMPARED if theirs.get(n) != ours.get(n)}
    assert different == {}


def test_the_command_line_wins_as_with_sbatch(place: Path) -> None:
    (place / "sim.sh").write_text("#!/bin/sh\n#SBATCH -J a -t 10 -n 2 --mem=50 -p short\ntrue\n")
    theirs = show(place, "sbatch", f"--begin={FAR}", "-t", "5", "-n", "3", "-p", "debug", "sim.sh")
    words = ("--start-time", FAR, "-t", "5m", "-n", "3", "-q", "debug")
    ours = show(place, str(INCARNATE), "job", "submit", "-p", "slurm", *words, "sim.sh")
    assert {n: ours.get(n) for n in COMPARED} == {n: theirs.get(n) for n in COMPARED}


@pytest.mark.parametrize(
    "lines",
    [
        "#SBATCH -n 2",
        "  # x\n#SBATCH -n 2",
        "\n\n# x\n#SBATCH -n 2",
        "#SBATCH-n 2",
        "true\n#SBATCH -n 2",
        " true # x\n#SBATCH -n 2",
    ],
)
def test_directives_end_where_those_of_sbatch_end(place: Path, lines: str) -> None:
    (place / "sim.sh").write_text(f"#!/bin/sh\n#SBATCH -J a\n{lines}\ntrue\n")
    theirs = show(place, "sbatch", f"--begin={FAR}", "sim.sh")
    ours = show(place, str(INCARNATE), "job", "submit", "-p", "slurm", "--start-time", FAR, "sim.sh")
    assert ours["NumTasks"] == theirs["NumTasks"]


def test_a_file_is_named_as_sbatch_names_it(place: Path) -> None:
    (place / "sim.sh").write_text("#!/bin/sh\n#SBATCH -J a -o %x.%j.%N.%u.%n.%t.%%.txt\necho out\n")
    assert subprocess.run(["sbatch", "--wait", "sim.sh"], check=False, capture_output=True).returncode == 0
    theirs = [path.name for path in place.glob("a.*.txt")]
    command = [str(INCARNATE), "job", "submit", "-p", "slurm", "--wait", "sim.sh"]
    assert subprocess.run(command, check=False, capture_output=True).returncode == 0
    [ours] = {path.name for path in place.glob("a.*.txt")} - {*theirs}
    assert re.sub("[0-9]+", "N", ours, count=1) == re.sub("[0-9]+", "N", theirs[0], count=1)
    assert (place / ours).read_text() == "out\n"


def test_slurm_is_asked_without_a_submission(place: Path) -> None:
    (place / "sim.sh").write_text("#!/bin/sh\n#SBATCH -J a -p short -n 2\ntrue\n")
    command = [str(INCARNATE), "job", "submit", "-p", "slurm", "--test-only", "sim.sh"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(
        rf"sbatch: Job [0-9]+ to start at \S+ using [0-9]+ processors on nodes {NODE} in partition short\n",
        done.stdout,
    )
    (place / "sim.sh").write_text("#!/bin/sh\n#SBATCH -p none\ntrue\n")
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert "invalid partition specified: none" in done.stderr


OWN = {
    "output", "error", "input", "chdir", "job-name", "open-mode", "export", "get-user-env", "verbose", "parsable", "quiet",
    "wait", "test-only", "ignore-pbs", "kill-on-invalid-dep", "mail-type", "mail-user",
}  # fmt: skip
"""What osprofile does itself, or asks for on the command line."""


def read_options(place: Path, script: str) -> dict[str, str]:
    """Return the options that sbatch finds in a script; it takes none of those it refuses."""
    (place / "asked.sh").write_text(script)
    command = ["sbatch", "-v", "--test-only", "--ignore-pbs", "asked.sh"]
    told = subprocess.run(command, check=False, capture_output=True, text=True, cwd=place).stderr
    options = {
        n: value for n, value in re.findall(r"^sbatch: (\S+) +: (.*)", told, re.MULTILINE) if n not in OWN
    }
    if "ntasks-per-node" in options:  # then osprofile says the same in two ways
        options = {n: value for n, value in options.items() if n not in {"ntasks", "nodes"}}
    gres = [part for part in options.pop("gres", "").split(",") if part and ":gpu" not in part]
    options |= {"gres": ",".join(gres)} if gres else {}
    return {n: value for n, value in options.items() if n != "gpus-per-node" and (n, value) != ("gpus", "0")}


@pytest.mark.parametrize("path", sorted(SCRIPTS.glob("slurm-*.sh")), ids=lambda path: str(path.stem))
def test_sbatch_reads_the_same_in_both_scripts(place: Path, path: Path) -> None:
    shutil.copy(path, place / "sim.sh")
    command = [str(INCARNATE), "job", "submit", "-p", "slurm", "--dry-run", "--json", "sim.sh"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=place)
    if done.returncode:
        assert "sim.sh:" in done.stderr
        return
    ours = json.loads(done.stdout)["script"].partition("\n#!")[2]
    found = [read_options(place, text) for text in (f"#!{ours}", path.read_text())]
    begins = {options.pop("begin") for options in found if "begin" in options}
    assert found[0] == found[1]
    if len(begins) > 1:  # an hour from now, asked for twice
        first, second = sorted(map(datetime.fromisoformat, begins))
        assert second - first < timedelta(minutes=2)
