"""`incarnate job submit`: where a program runs, which file it is, and what is told of a job script."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from osprofile.cli.job.directives import describe_directives
from tests.cli.job.conftest import template

if TYPE_CHECKING:
    from tests.cli.conftest import Ended
    from tests.cli.job.conftest import Machine

SHOW = '#!/bin/sh\npwd\nprintf "%s|" "$0" "$@"\n'
WARNING = "incarnate: warning: "


@pytest.fixture
def here(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a directory that has programs and scripts."""
    folder = machine.root / "it's  here"
    for path in (folder, folder / "sub", folder / "sub/bin"):
        path.mkdir()
    for name, text, mode in (
        ("simulate", SHOW, 0o755),
        ("sub/bin/other", SHOW, 0o755),
        ("first", f"#!/bin/sh -e\nfalse || :{SHOW[SHOW.index(chr(10)) :]}", 0o644),
        ("script.sh", SHOW.partition("\n")[2], 0o644),
        (
            "env",
            "#!/usr/bin/env python3\nimport os, sys\nprint(os.getcwd())\nprint(*sys.argv, sep='|')\n",
            0o644,
        ),
        ("text", "echo\n", 0o644),
    ):
        (folder / name).write_text(text)
        (folder / name).chmod(mode)
    monkeypatch.chdir(folder)
    return folder


def run(machine: Machine, *words: str) -> Ended:
    """Run a job to its end; what is printed has its own output, not its id."""
    ended = machine.run("job", "submit", "-p", "here", "--wait", *words)
    # Directories of the same second are not in order.
    latest = max(machine.directories, key=lambda path: path.stat().st_ctime_ns, default=Path("/none"))
    path = latest / "stdout"
    return replace(ended, out=path.read_bytes().decode() if path.exists() else "")


@pytest.mark.parametrize(
    ("words", "directory", "program"),
    [
        (("./simulate",), "", "./simulate"),
        (("sub/bin/other",), "", "sub/bin/other"),
        (("--directory", "sub", "bin/other"), "/sub", "bin/other"),
        (("--directory=sub", "../simulate"), "/sub", "../simulate"),
        (("--set", "DIRECTORY={}/sub", "bin/other"), "/sub", "bin/other"),
        (("simulate",), "", "{}/simulate"),
        (("--directory", "sub", "simulate"), "/sub", "{}/simulate"),
        (("first",), "", "{}/first"),
        (("./script.sh",), "", "./script.sh"),
        (("script.sh",), "", "{}/script.sh"),
        (("--directory", "sub/..", "./first"), "", "./first"),
    ],
)
def test_where_a_program_runs_and_which_file_it_is(
    machine: Machine, here: Path, words: tuple[str, ...], directory: str, program: str
) -> None:
    ended = run(machine, *(word.format(here) for word in words), "a b", "--wait", "--", "it's")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == f"{here}{directory}\n{program.format(here)}|a b|--wait|--|it's|"
    own = {path.name for path in machine.directories[0].iterdir()}
    assert {"stdout", "stderr", ".gpe", ".gpe_exit_status"} <= own


def test_the_interpreter_of_a_script_gets_its_argument(machine: Machine, here: Path) -> None:
    (here / "env").chmod(0o644)
    ended = run(machine, "./env", "x")
    assert (ended.code, ended.err, ended.out) == (0, "", f"{here}\n./env|x\n")


def test_the_path_goes_before_the_current_directory(machine: Machine, here: Path) -> None:
    shutil.copy(here / "simulate", here / "pwd")
    ended = run(machine, "pwd")
    assert (ended.code, ended.out) == (0, f"{here}\n")
    assert ended.err.startswith(
        f"{WARNING}the program pwd is {shutil.which('pwd')}, not the file in the current"
    )
    assert ended.err.endswith("    hint: ./pwd is that file\n")
    assert run(machine, "./pwd").out == f"{here}\n./pwd|"


def test_files_are_in_the_current_directory(machine: Machine, here: Path) -> None:
    (here / "in").write_text("text")
    words = ("--stdin", "in", "--stdout", "sub/out", "--stderr", "sub/err", "--directory", "/")
    assert run(machine, *words, "sh", "-c", "cat; pwd >&2").code == 0
    assert [(here / "sub" / name).read_text() for name in ("out", "err")] == ["text", "/\n"]


def test_nothing_is_left_in_the_current_directory(machine: Machine, here: Path) -> None:
    before = sorted(here.rglob("*"))
    assert run(machine, "true").code == 0
    assert sorted(here.rglob("*")) == before


@pytest.mark.parametrize("name", ["a\nb", "$(id) `id`", "é\\ \"'", "a\rb", "#PBS x\n# z", "-n"])
def test_the_current_directory_may_have_any_name(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (machine.root / name).mkdir()
    monkeypatch.chdir(machine.root / name)
    (machine.root / name / "own").write_text(SHOW)
    ended = run(machine, "own")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == f"{machine.root / name}\n{machine.root / name}/own|"


@pytest.mark.parametrize("name", [b"\xff", b"a\r\nb", b"a\n#PBS -q x"])
def test_a_current_directory_that_no_script_can_name(machine: Machine, name: bytes) -> None:
    folder = os.fsencode(machine.root) + b"/" + name
    os.mkdir(folder)
    process = machine.start("job", "submit", "-p", "here", "true", cwd=folder)
    out, err = process.communicate()
    assert (process.returncode, out) == (1, "")
    assert "the job cannot run in the current directory: field DIRECTORY" in err
    assert err.endswith("    hint: change to another one, or give one by --directory\n")
    process = machine.start("job", "submit", "-p", "here", "--directory", "/", "--wait", "true", cwd=folder)
    assert (process.communicate()[1], process.returncode) == ("", 0)


def test_a_current_directory_that_is_gone(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    (machine.root / "gone").mkdir()
    monkeypatch.chdir(machine.root / "gone")
    (machine.root / "gone").rmdir()
    ended = machine.run("job", "submit", "-p", "here", "true")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("incarnate: the current directory cannot be found")
    assert run(machine, "--directory", "/", "true").code == 0


# A profile whose jobs run elsewhere, or that has no such field


@pytest.mark.parametrize("options", [("--host", "node7"), ("-p", "elsewhere")])
def test_on_another_machine_a_program_runs_in_the_job_s_directory(
    machine: Machine, here: Path, options: tuple[str, ...]
) -> None:
    machine.add("elsewhere", template("SHELL", "env sh -s"))
    ended = run(machine, "--stdout", "sub.txt", *options, "sh", "-c", "pwd; cat < .gpe/id > /dev/null")
    assert (ended.code, ended.err) == (0, "")
    (directory,) = machine.directories
    assert (directory / "sub.txt").read_text() == f"{directory}\n"
    ended = run(machine, *options, "--directory", "sub", "true")
    assert ended.code == 125
    assert "--directory: field DIRECTORY: 'sub'" in ended.err
    assert run(machine, *options, "--directory", str(here), "./simulate").out.startswith(f"{here}\n")


START = template(
    "START",
    "mkdir -p '<WORKING_DIRECTORY>' && cd '<WORKING_DIRECTORY>' && '<EXECUTABLE/'/'\\\\''>' > stdout; echo 17-1-7d90afd1",
    '<idb:Field name="EXECUTABLE"/>',
)


def test_a_profile_without_the_field(machine: Machine, here: Path) -> None:
    machine.add("older", START)
    ended = machine.run("job", "submit", "-p", "older", "./simulate")
    (directory,) = machine.directories
    assert (ended.code, ended.err, ended.out) == (0, "", "17-1-7d90afd1\n")
    assert (directory / "stdout").read_text() == f"{directory}\n{here}/./simulate|"
    ended = machine.run("job", "submit", "-p", "older", "--directory", "sub", "./simulate")
    message = "incarnate: --directory is not supported: field DIRECTORY is not used by template START of profile older\n"
    assert (ended.code, ended.out) == (1, "")
    assert message in ended.err


@pytest.mark.parametrize(
    ("words", "option", "field"),
    [
        (("--gpus", "2"), "--gpus", "GPUS"),
        (("-G", "2"), "--gpus", "GPUS"),
        (("--gpu-type", "a100"), "--gpu-type", "GPU_TYPE"),
        (("--exclusive",), "--exclusive", "EXCLUSIVE"),
        (("-q", "fast"), "--queue", "QUEUE"),
        (("--qos", "high"), "--qos", "QOS"),
        (("--constraint", "c"), "--constraint", "CONSTRAINT"),
    ],
)
def test_an_option_that_the_profile_does_not_use(
    machine: Machine, words: tuple[str, ...], option: str, field: str
) -> None:
    ended = machine.run("job", "submit", "-p", "here", *words, "true")
    message = (
        f"incarnate: {option} is not supported: field {field} is not used by template START of profile here\n"
    )
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith(message)
    assert machine.directories == []


# Programs that are not there


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("word", "code", "said"),
    [
        (
            "nosuch",
            127,
            "the program nosuch is neither on the PATH of this machine nor in the current directory",
        ),
        ("./nosuch", 127, "the program ./nosuch does not exist"),
        ("./sub", 126, "the program ./sub is a directory"),
        ("./text", 126, "the program ./text is not executable"),
    ],
)
def test_a_program_that_cannot_run_is_a_warning(machine: Machine, word: str, code: int, said: str) -> None:
    ended = run(machine, word)
    assert ended.code == code
    assert ended.err.startswith(f"{WARNING}{said}")
    assert ended.err.count("warning") == 1


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("echo it's | cat", "a command line needs a shell: sh -c 'echo it'\"'\"'s | cat'"),
        ("nosuch", "the nodes may have it; if not, the job ends with 127"),
    ],
)
def test_a_command_line_in_one_word_needs_a_shell(machine: Machine, word: str, hint: str) -> None:
    assert f"hint: {hint}\n" in run(machine, word).err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--directory", "/nonexistent", "true"), "the directory /nonexistent does not exist"),
        (("--directory", "/nonexistent", "./simulate"), "the directory /nonexistent does not exist"),
        (("--set", "DIRECTORY=/nonexistent", "true"), "the directory /nonexistent does not exist"),
        (("--directory", "text", "true"), "the directory {}/text is not a directory"),
        (("--stdin", "nosuch", "true"), "the standard input {}/nosuch does not exist"),
        (("--stdout", "nosuch/out", "true"), "the directory {}/nosuch does not exist"),
    ],
)
def test_a_file_or_directory_that_is_missing_is_a_warning(
    machine: Machine, here: Path, words: tuple[str, ...], said: str
) -> None:
    ended = run(machine, *words)
    hint = "the nodes may have it; if not, the job fails, and the program does not run"
    assert ended.code == 125
    assert ended.err.startswith(f"{WARNING}{said.format(here)}\n    hint: {hint}\nincarnate: job ")
    assert ended.err.endswith((" cannot be entered)\n", " cannot be read)\n", " cannot be written)\n"))
    ended = machine.run("job", "submit", "-p", "here", "--host", "far", *words)
    assert WARNING not in ended.err


@pytest.mark.parametrize("word", ["nosuch", "./nosuch"])
def test_modules_may_bring_a_program(machine: Machine, word: str) -> None:
    field = '  <idb:Field name="SETUP"><idb:Value>PATH=$HOME:$PATH</idb:Value></idb:Field>\n'
    machine.add("modules", f"  <idb:Template>{field}</idb:Template>\n")
    assert machine.run("job", "submit", "-p", "modules", word).err == ""


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"#!/bin/sh\r\ntrue\r\n", "has line ends of DOS"), (b"#!/bin/sh\n\0", "contains a NUL")],
)
def test_a_script_that_no_shell_reads(machine: Machine, here: Path, content: bytes, said: str) -> None:
    (here / "job.sh").write_bytes(content)
    ended = machine.run("job", "submit", "-p", "here", "job.sh")
    assert (ended.code, ended.out) == (2, "")
    assert f"the script job.sh {said}" in ended.err
    assert machine.directories == []


# Directives of other systems


@pytest.mark.parametrize("mode", [0o644, 0o755])
def test_directives_are_told_and_not_read(machine: Machine, here: Path, mode: int) -> None:
    (here / "job.sh").write_text(
        "#!/bin/sh\n\n# a job\n#SBATCH --time=10 -n4\n#SBATCH --mem 3 --foo\npwd\n#SBATCH -x\n"
    )
    (here / "job.sh").chmod(mode)
    ended = run(machine, "./job.sh")
    assert (ended.code, ended.out) == (0, f"{here}\n")
    assert ended.err == (
        f"{WARNING}job.sh, line 4: '#SBATCH --time=10 -n4' is a directive of Slurm, which is not read\n"
        "    hint: give --walltime 10m for --time, --processes for -n, --memory for --mem; "
        "incarnate shim DIR --as slurm writes a command that reads such lines\n"
    )


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("#PBS -l walltime=1:00:00,nodes=2:ppn=4\n#PBS -N x", ("PBS", "--walltime for -l walltime, --nodes for -l nodes")),
        ("#PBS -lmem=1gb\n#PBS -W depend=afterok:1", ("PBS", "--memory for -l mem, --after for -W depend")),
        ("#BSUB -W 10 -cwd /x\n#SBATCH -n 3", ("LSF", "give --walltime 10m for -W, --directory for -cwd")),
        ("#$ -S /bin/sh -l h_rt=3 -hold_jid 7", ("Grid Engine", "--walltime for -l h_rt, --after-any for -hold_jid")),
        ("#$ -S /bin/sh", ("Grid Engine", "incarnate job submit --help lists the options")),
        ("#SBATCH --foo", ("Slurm", "incarnate shim DIR --as slurm")),
    ],
)  # fmt: skip
def test_directives_of_each_system(script: str, said: tuple[str, str]) -> None:
    found = describe_directives(f"#!/bin/sh\n{script}\n\n:\n")
    assert found is not None
    assert f"is a directive of {said[0]}," in found[0]
    assert said[1] in found[1]


@pytest.mark.parametrize(
    ("directive", "ours"),
    [
        ("#SBATCH -t 10", "10m"),
        ("#SBATCH -t10", "10m"),
        ("#SBATCH --time 90", "1h30m"),
        ("#SBATCH --time=10:30", "10m30s"),
        ("#SBATCH --time='10'", "10m"),
        ("#SBATCH --time=1-12", "1d12h"),
        ("#SBATCH --time=1-2:3", "1d2h3m"),
        ("#SBATCH --time=01:30:00", ""),
        ("#SBATCH --time=1:5:0", "1h5m"),
        ("#SBATCH --time=2-12:00:00", ""),
        ("#SBATCH --time=0", ""),
        ("#SBATCH --time=$T", ""),
        ("#SBATCH --time", ""),
        ("#PBS -l walltime=600", ""),
        ("#PBS -l nodes=1,walltime=10:00", "10m"),
        ("#BSUB -W 10", "10m"),
        ("#BSUB -W 1:30", "1h30m"),
        ("#BSUB -W 1:30/host", "1h30m"),
        ("#$ -l h_rt=600", ""),
        ("#$ -l h_rt=1:0:0", "1h"),
    ],
)
def test_a_time_is_told_in_our_units(directive: str, ours: str) -> None:
    """10 is ten minutes for Slurm and LSF, and ten seconds here."""
    found = describe_directives(f"{directive}\n")
    assert found is not None
    assert f"--walltime{f' {ours}' if ours else ''} for -" in found[1]


@pytest.mark.parametrize(
    "script", ["", "#!/bin/sh\n:\n#SBATCH -n 1", "#PBSX -l", "#PBS", "# PBS -N x", "#$HOME -x", " #PBS -N x"]
)
def test_what_is_no_directive(script: str) -> None:
    assert describe_directives(script) is None


def test_a_job_needs_a_program(machine: Machine) -> None:
    """The default of the bundled profiles is an example; a site's is meant."""
    ended = machine.run("job", "submit", "-p", "here")
    assert (ended.code, ended.out) == (2, "")
    hint = "write it and its arguments after the options, or give --application"
    assert ended.err == f"incarnate: no program is given\n    hint: {hint}\n"
    assert machine.run_json("list") == []
    field = '<idb:Field name="EXECUTABLE"><idb:Default>/bin/true</idb:Default></idb:Field>'
    machine.add("site", f"<idb:Template>{field}</idb:Template>")
    for words in (("site",), ("here", "--set", "EXECUTABLE=true")):
        assert machine.run("job", "submit", "--wait", "-p", *words).code == 0


def test_an_empty_range_is_no_single_job(machine: Machine) -> None:
    """It is that of a variable without a value."""
    assert machine.run("job", "submit", "-p", "here", "--array", "", "true").code == 2
    assert machine.run_json("list") == []
    assert machine.run("job", "submit", "-p", "here", "--wait", "--set", "ARRAY=", "true").code == 0


def test_a_number_is_a_name(machine: Machine) -> None:
    ended = machine.run("job", "submit", "-p", "here", "-N", "4", "true")
    assert ended.code == 0
    hint = "-N is the job's name; for nodes use --nodes"
    assert ended.err == f"incarnate: warning: the job's name is 4\n    hint: {hint}\n"


def test_the_name_of_a_job_is_that_of_its_script(machine: Machine, here: Path) -> None:
    """Also if an interpreter reads it, here or in a copy on another host: not that of the interpreter."""
    for words, name in (
        (("script.sh",), "script.sh"),
        (("./env",), "env"),
        (("--directory", str(here), "--host", "far", "script.sh"), "script.sh"),
        (("--name", "mine", "script.sh"), "mine"),
        (("sh", "script.sh"), "sh"),
    ):
        assert run(machine, *words).code == 0
        assert machine.run_json("list")[-1]["name"] == name
