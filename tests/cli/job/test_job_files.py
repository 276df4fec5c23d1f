"""`incarnate job submit --input --fetch`, `incarnate job fetch`, and programs that are copied to another machine."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.job.conftest import template
from tests.cli.job.test_job_directives import JOB_DIRECTIVES, LINES, read_values

if TYPE_CHECKING:
    from tests.cli.conftest import Ended
    from tests.cli.job.conftest import Machine

PROGRAM = '#!/bin/sh\npwd\nprintf "%s|" "$0" "$@"\n'
FAR = ("--host", "far")
TAR = """#!/bin/sh
echo "$@" >> {root}/tars
[ ! -e {root}/cut ] || {{ head -c 50000 > /dev/null; kill -s KILL "$PPID"; exit 1; }}
exec {tar} "$@"
"""


@pytest.fixture(autouse=True)
def here(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a directory with programs and inputs. tar notes each call; while `cut` is there, it breaks the connection."""
    folder = machine.root / "it's  here"
    (folder / "model" / "lib").mkdir(parents=True)
    for name in ("simulate", "script.sh", "model/run"):
        (folder / name).write_text(PROGRAM)
        (folder / name).chmod(0o644 if name == "script.sh" else 0o755)
    (folder / "data").write_text("forty two\n")
    (folder / "model/lib/x").write_text("x\n")
    tar = machine.root / "bin/tar"
    tar.write_text(TAR.format(root=machine.root, tar=shutil.which("tar", path="/usr/bin:/bin")))
    tar.chmod(0o755)
    monkeypatch.chdir(folder)
    return folder


def submit(machine: Machine, *words: str, code: int = 0, profile: str = "here") -> Ended:
    ended = machine.run("job", "submit", "-p", profile, *words)
    assert ended.code == code, ended
    return ended


def read_output(machine: Machine) -> str:
    """Return the output of the last job, with WORK for its directory."""
    directory = max(machine.directories, key=lambda path: path.stat().st_ctime_ns)
    return (directory / "stdout").read_text().replace(str(directory), "WORK")


# The program


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (("./simulate", "-a", "b c"), "WORK\n./simulate|-a|b c|"),
        (("simulate", "x"), "WORK\n./simulate|x|"),
        (("./model/../simulate",), "WORK\n./simulate|"),
        (("./script.sh", "$(x)"), "WORK\n./script.sh|$(x)|"),
        (("model/run", "x"), "WORK\n./run|x|"),
        (("--input", "model", "model/run", "x"), "WORK\n./model/run|x|"),
        (("--input", "simulate", "./simulate"), "WORK\n./simulate|"),
        (("--directory", "/", "./simulate", "x"), "/\nWORK/simulate|x|"),
        (("--directory", "/", "./script.sh", "a b"), "/\nWORK/script.sh|a b|"),
    ],
)
def test_a_program_that_the_host_does_not_have(machine: Machine, words: tuple[str, ...], output: str) -> None:
    ended = submit(machine, *FAR, "--wait", *words)
    assert read_output(machine) == output
    name = (
        "model (2 files, 39 bytes)"
        if "model" in words
        else f"{os.path.basename(output.split('|', maxsplit=1)[0])} (37 bytes)"
    )
    assert ended.err == f"incarnate: copying {name} to far for the job\n"


def test_a_program_that_the_host_has(machine: Machine, here: Path) -> None:
    """What is there is used, as is a name that is found on the PATH there."""
    for words in (("/bin/echo", "a"), (str(here / "simulate"),), ("--directory", str(here), "./simulate")):
        assert submit(machine, *FAR, "--wait", *words).err == ""
    (here / "simulate").write_text("#!/bin/sh\n#SBATCH -n 2\n")
    told = submit(machine, *FAR, "--wait", str(here / "simulate")).err
    assert "'#SBATCH -n 2' is a directive of Slurm, which is not read" in told
    (here / "true").write_text("#!/bin/sh\nexit 7\n")
    assert submit(machine, *FAR, "--wait", "true").err == ""
    assert not (machine.root / "tars").exists()


@pytest.mark.parametrize("mode", [0o644, 0o755])
def test_the_directives_of_a_script_that_is_on_the_target(machine: Machine, mode: int) -> None:
    """One that is not executable is run by the program of its first line."""
    lines = LINES.replace("\n", "\n<PASSED/(?m)^(.+)$/# passed $1>\n", 1)
    machine.add("batch", JOB_DIRECTIVES.format(lines=lines, prefix="#SBATCH", passed="--hold"))
    there = machine.root / "there"
    there.mkdir()
    (there / "sim.sh").write_text("#!/bin/bash\n#SBATCH --nodes=2 -o %x.%j -D /usr\necho $0 $1; pwd\n")
    (there / "sim.sh").chmod(mode)
    for words in ((str(there / "sim.sh"),), ("--directory", str(there), "./sim.sh")):
        shown = json.loads(submit(machine, *FAR, "--dry-run", "--json", *words, profile="batch").out)
        assert read_values(shown["fields"], "NODES JOB_NAME") == "2 sim.sh"
    told = submit(machine, *FAR, "--wait", "--stdout", "out", str(there / "sim.sh"), "a b", profile="batch")
    assert told.err == ""
    assert (machine.directories[0] / "out").read_text() == f"{there}/sim.sh a b\n/usr\n"
    (there / "sim.sh").write_text("#!/bin/sh\n#SBATCH --nodes 3\n")
    refused = submit(machine, *FAR, str(there / "sim.sh"), profile="batch", code=1)
    assert "sim.sh:2: --nodes '3': field NODES: '3' is above the Max of 2" in refused.err
    ignored = submit(machine, *FAR, "--ignore-directives", "--wait", str(there / "sim.sh"), profile="batch")
    assert ignored.err == ""


def test_the_directives_of_a_script_that_is_copied(machine: Machine, here: Path) -> None:
    lines = LINES.replace("\n", "\n<PASSED/(?m)^(.+)$/# passed $1>\n", 1)
    machine.add("batch", JOB_DIRECTIVES.format(lines=lines, prefix="#SBATCH", passed="--hold"))
    text = "#SBATCH --job-name=demo --nodes 2\n#SBATCH --output=logs/%x-%j.out\ncat data; pwd\n"
    (here / "sim.sh").write_text(f"#!/bin/sh\n{text}")
    words = (*FAR, "--input", "data", "--fetch", "logs", "./sim.sh")
    shown = json.loads(submit(machine, "--dry-run", "--json", "--nodes", "1", *words, profile="batch").out)
    names = "JOB_NAME NODES STDOUT_NAME EXECUTABLE"
    assert read_values(shown["fields"], names) == "demo 1 logs/demo-%j.out /bin/sh"
    assert shown["inputs"] == [str(here / "data"), str(here / "sim.sh")]
    assert machine.directories == []
    ended = submit(machine, "--wait", *words, profile="batch")
    (output,) = Path("logs").iterdir()
    assert output.name == f"demo-{ended.out.strip()}.out"
    assert output.read_text() == f"forty two\n{machine.directories[0]}\n"
    refused = submit(machine, "--ignore-directives", "--dry-run", "--json", *words, profile="batch")
    assert json.loads(refused.out)["fields"]["JOB_NAME"] == "sim.sh"  # not demo
    (here / "sim.sh").write_text("#!/bin/sh\n#SBATCH --nodes 3\n")
    refused = submit(machine, *FAR, "./sim.sh", profile="batch", code=1)
    assert "sim.sh:2: --nodes '3': field NODES: '3' is above the Max of 2" in refused.err
    assert "copying" not in refused.err
    (here / "sim.sh").write_text("#!/bin/sh\n#PBS -N x\n")
    assert (
        "'#PBS -N x' is a directive of PBS, which is not read"
        in submit(machine, *FAR, "./sim.sh", profile="batch").err
    )


def test_nothing_is_left_of_a_job_that_is_refused(machine: Machine) -> None:
    machine.add("refusing", template("START", "echo 'no such queue' >&2; exit 1\n<JOB_SCRIPT>\n"))
    for words in ((*FAR, "./simulate"), ("--input", "data", "./simulate")):
        assert "no such queue" in submit(machine, *words, profile="refusing", code=1).err
        assert machine.directories == []


# Inputs, and what is fetched


@pytest.mark.parametrize("where", [(), FAR])
def test_the_same_command_here_and_there(machine: Machine, here: Path, where: tuple[str, ...]) -> None:
    text = '#!/bin/sh\ncat data model/lib/x; [ ! -e simulate ] || echo copied >&2; echo r > "out 1"; mkdir sub; echo s > sub/s; exit 3\n'
    (here / "work.sh").write_text(text)
    words = [
        "--input",
        "data",
        "--input",
        "model",
        "--fetch",
        "out*",
        "--fetch",
        "sub",
        "--fetch-to",
        "got",
        "./work.sh",
    ]
    ended = submit(machine, *where, "--wait", *words, code=3)
    assert read_output(machine) == "forty two\nx\n"
    job = ended.out.strip()
    assert f"incarnate: job {job}: fetched 'got/out 1' (2 bytes), 'got/sub/s' (2 bytes)\n" in ended.err
    assert (here / "got/out 1").read_text() == "r\n"
    assert (here / "got/sub/s").read_text() == "s\n"
    (here / "got/out 1").write_text("old")
    ended = machine.run("job", "fetch", job, "--json")
    files = [{"path": str(here / "got/out 1"), "size": 2}, {"path": str(here / "got/sub/s"), "size": 2}]
    assert json.loads(ended.out) == [{"id": job, "files": files}]
    assert (here / "got/out 1").read_text() == "r\n"
    ended = machine.run("job", "fetch", job, "std*", "--to", "elsewhere")
    assert (ended.code, ended.out) == (0, "")
    assert sorted(os.listdir("elsewhere")) == ["stderr", "stdout"]
    assert machine.run("job", "wait", job).code == 3
    shown = machine.run_json("show", job)[0]
    assert (shown["fetch"], shown["fetch_to"]) == (["out*", "sub"], str(here / "got"))
    assert shown["inputs"][:2] == [str(here / "data"), str(here / "model")]
    assert "  fetch           'out*' sub\n" in machine.run("job", "show", job).out


def test_what_is_not_there_to_be_fetched(machine: Machine) -> None:
    for script, code in (("exit 0", 125), ("exit 4", 4)):
        ended = submit(machine, "--fetch", "result", "--wait", "sh", "-c", script, code=code)
        assert "no file matches 'result' in " in ended.err
    job = ended.out.strip()
    assert machine.run("job", "wait", job).code == 4
    ended = machine.run("job", "fetch", job, "stdout", "none")
    assert (ended.code, ended.out) == (1, "")
    assert "no file matches 'none' in " in ended.err
    assert "1 other file copied" in ended.err
    assert machine.run("job", "fetch", job, "../x").code == 1
    assert machine.run("job", "fetch", "nobody").code == 2
    job = machine.submit("true")
    assert "the job was submitted without patterns" in machine.run("job", "fetch", job).err


@pytest.mark.parametrize(
    "words", [("--input", "none"), ("--input", "data", "--input", "model/../../data"), ("--fetch", "/x")]
)
def test_what_is_refused(machine: Machine, words: tuple[str, ...]) -> None:
    (machine.root / "data").write_text("another")
    ended = submit(machine, *words, "true", code=1)
    assert ended.out == ""
    assert "    hint: " in ended.err
    assert machine.directories == []
    assert machine.run_json("list") == []
    assert "--fetch-to needs --fetch" in submit(machine, "--fetch-to", "x", "true", code=2).err


def test_an_interrupted_copy(machine: Machine, here: Path) -> None:
    (here / "large").write_bytes(bytes(range(256)) * 4000)
    words = (*FAR, "--key", "k", "--input", "large", "--wait", "wc", "-c", "large")
    (machine.root / "cut").touch()
    ended = submit(machine, *words, code=125)
    assert "copying the inputs to " in ended.err
    assert "nothing was submitted\n" in ended.err
    assert "the same command with --key k completes the submission" in ended.err
    (directory,) = machine.directories
    assert not (directory / "large").exists()
    assert [row["state"] for row in machine.run_json("list", "--all")] == ["INTERRUPTED"]
    (machine.root / "cut").unlink()
    ended = submit(machine, *words)
    assert machine.directories == [directory]
    assert (directory / "stdout").read_text() == "1024000 large\n"
    (machine.root / "tars").unlink()
    (here / "large").write_text("changed")
    assert submit(machine, *words).out == ended.out
    assert not (machine.root / "tars").exists()


def test_a_rerun_has_the_inputs(machine: Machine, here: Path) -> None:
    words = ("--input", "data", "--fetch", "stdout", "--fetch-to", "got")
    job = submit(machine, *FAR, *words, "--wait", "./simulate", "x").out.strip()
    (here / "got/stdout").unlink()
    assert machine.run("job", "rerun", "--wait", job).code == 0
    assert len(machine.directories) == 2
    assert (here / "got/stdout").read_text().endswith("./simulate|x|")
    assert read_output(machine) == "WORK\n./simulate|x|"


# Many jobs


@pytest.mark.parametrize("where", [(), FAR])
def test_many_jobs_with_inputs(machine: Machine, here: Path, where: tuple[str, ...]) -> None:
    for name in ("a b", "c"):
        (here / name).write_text(f"content of {name}\n")
    (here / "jobs.csv").write_text("inputs,arguments\n\"'a b'\",'a b'\nc,c\n")
    (here / "show.sh").write_text('#!/bin/sh\ncat "$1" > out\n')
    words = ("--from", "jobs.csv", "--key", "k", "--fetch", "out", "./show.sh")
    ended = submit(machine, *where, "--wait", *words)
    assert (here / "k-1/out").read_text() == "content of a b\n"
    assert (here / "k-2/out").read_text() == "content of c\n"
    assert "for 2 jobs\n" in ended.err
    (here / "bad.csv").write_text("inputs\nc\nnone\n")
    ended = submit(machine, *where, "--from", "bad.csv", "true", code=1)
    assert ended.err.startswith("bad.csv:3: the input 'none': No such file or directory\n")
    assert ended.err.endswith("1 error: nothing was submitted\n")


def test_an_array_with_inputs(machine: Machine, here: Path) -> None:
    (here / "tasks.csv").write_text("executable,arguments\n./simulate,1\n./model/run,2\n")
    submit(
        machine, *FAR, "--from", "tasks.csv", "--as-array", "--input", "data", "--fetch", "stdout.*", "--wait"
    )
    (directory,) = machine.directories
    outputs: dict[str, Any] = {name: (here / name).read_text() for name in ("stdout.1", "stdout.2")}
    assert outputs == {"stdout.1": f"{directory}\n./simulate|1|", "stdout.2": f"{directory}\n./run|2|"}
    assert (directory / "data").exists()


def test_a_host_that_cannot_be_reached(machine: Machine, here: Path) -> None:
    """The program of the system is not looked for; for another one, nothing is submitted."""
    ended = submit(machine, "--host", "down", str(here / "simulate"), code=1)
    assert "looking for " in ended.err
    assert "No route to host; nothing was submitted\n" in ended.err
    assert machine.run_json("list", "--all") == []
    job = submit(machine, *FAR, "--key", "k", str(here / "simulate")).out
    (machine.root / "down").touch()
    for path in ("/bin/true", str(here / "simulate")):
        ended = machine.run("job", "submit", "-p", "here", *FAR, "--key", "k", path)
        assert (ended.code, ended.out) == (0, job)
