"""`incarnate job submit` with a script that has directives: what wins, what is refused, which files are written.

The profile `batch` runs jobs on this machine, and its directives begin as those of a real batch system.
"""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from osprofile.job_scripts.command_line import UsageError
from osprofile.job_scripts.reader import FAMILIES, read_script_request
from osprofile.job_scripts.script_request import Given
from osprofile.jobs.fields import JobDescription
from osprofile.jobs.request import build_request

if TYPE_CHECKING:
    from tests.cli.conftest import Ended
    from tests.cli.job.conftest import Machine

LINES = (Path(__file__).parents[3] / "profiles/linux/job-directives.sh").read_text()
JOB_DIRECTIVES = """\
  <idb:Template name="JOB_DIRECTIVES">
    <idb:Invocation name=""><idb:Body><![CDATA[{lines}]]></idb:Body></idb:Invocation>
    <idb:Field name="DIRECTIVE_PREFIX" isSettable="false"><idb:Value>{prefix}</idb:Value></idb:Field>
    <idb:Field name="PASSED_OPTIONS" isSettable="false"><idb:Value>{passed}</idb:Value></idb:Field>
    <idb:Field name="NODES" ext:type="integer"><idb:Min>1</idb:Min><idb:Max>2</idb:Max><idb:Default/></idb:Field>
  </idb:Template>
"""
PREFIXES = {"batch": "#SBATCH", "pbslike": "#PBS", "lsflike": "#BSUB", "sgelike": "#$"}


@pytest.fixture
def batch(machine: Machine) -> Machine:
    """Return a machine with the profiles `batch` (#SBATCH) and `pbslike`, `lsflike`, `sgelike`."""
    for name, prefix in PREFIXES.items():
        first, rest = LINES.split("\n", 1)
        lines = f"{first}\n<PASSED/(?m)^(.+)$/# passed $1>\n{rest}"
        passed = "--licenses --hold -lsoftware"
        machine.add(name, JOB_DIRECTIVES.format(lines=lines, prefix=prefix, passed=passed))
    return machine


def write(machine: Machine, *directives: str, body: str = "true", name: str = "sim.sh") -> None:
    """Write a script with directives."""
    (machine.root / name).write_text("\n".join(["#!/bin/sh", *directives, body, ""]))


def ask(machine: Machine, *words: str, profile: str = "batch") -> tuple[dict[str, str], str]:
    """Return the fields that a script would ask for, and the messages."""
    ended = machine.run("job", "submit", "-p", profile, "--dry-run", "--json", *words, "./sim.sh")
    assert ended.code == 0, ended
    fields: dict[str, Any] = json.loads(ended.out)["fields"]
    return fields, ended.err


def refuse(machine: Machine, *words: str, profile: str = "batch", code: int = 2) -> str:
    """Return the message about a script that is refused; nothing is submitted."""
    ended = machine.run("job", "submit", "-p", profile, *words, "./sim.sh")
    assert (ended.code, ended.out) == (code, ""), ended
    assert machine.run_json("list") == []
    return ended.err


def run(machine: Machine, *words: str, profile: str = "batch") -> Ended:
    return machine.run("job", "submit", "-p", profile, "--wait", *words)


def read_values(fields: dict[str, str], names: str) -> str:
    return " ".join(fields[name] for name in names.split())


# What wins


def test_the_command_line_wins(batch: Machine) -> None:
    write(
        batch,
        "#SBATCH -J theirs -t 10 --nodes=2 --ntasks-per-node=4 --mem-per-cpu=1G -o out.%j --export=ALL,A=1,B=2",
    )
    fields, err = ask(batch)
    assert err == ""
    names = "JOB_NAME WALLTIME NODES PROCESSES MEMORY"
    assert read_values(fields, names) == "theirs 600 2 8 4096"
    assert fields["ENVIRONMENT"] == "export A='1'\nexport B='2'\n"
    assert fields["STDOUT_NAME"] == f"{batch.root}/out.%j"
    options = ("-N", "ours", "-t", "90s", "--nodes", "1", "-e", "B=3", "--stdout", "own")
    fields, err = ask(batch, *options)
    assert read_values(fields, names) == "ours 90 1 4 4096"
    assert fields["ENVIRONMENT"] == "export A='1'\nexport B='3'\n"
    assert "STDOUT_NAME" not in fields
    fields, err = ask(batch, "--set", "NODES=1", "--set", "MEMORY=7", "-n", "2")
    assert read_values(fields, "NODES PROCESSES MEMORY") == "1 2 7"


def test_what_else_an_option_asks_for_is_kept(batch: Machine) -> None:
    write(batch, "#SBATCH --gres=gpu:9,tape:1")
    err = refuse(batch, "--gpus", "1")
    assert "sim.sh:2: --gres tape:1: profile batch has no field for this" in err
    write(batch, "#SBATCH -n 8 --ntasks-per-node=4")
    assert read_values(ask(batch)[0], "PROCESSES NODES") == "8 2"
    assert read_values(ask(batch, "-n", "3")[0], "PROCESSES NODES") == "3 1"


def test_a_directive_that_loses_is_not_judged(batch: Machine) -> None:
    write(batch, "#SBATCH --nodes=9 --mem=none")
    assert "sim.sh:2: --mem: 'none' is not a size" in refuse(batch)
    assert "sim.sh:2: --nodes '9': field NODES" in refuse(batch, "--memory", "1", code=1)
    fields, _ = ask(batch, "--memory", "1", "--nodes", "1")
    assert (fields["NODES"], fields["MEMORY"]) == ("1", "1")


def test_the_last_directive_wins(batch: Machine) -> None:
    write(batch, "#SBATCH -t 10", "#SBATCH --time=20")
    assert ask(batch)[0]["WALLTIME"] == "1200"


def test_ignore_directives(batch: Machine) -> None:
    write(batch, "#SBATCH --nodes=9 --no-such", "#SBATCH 'open")
    assert run(batch, "--ignore-directives", "./sim.sh").code == 0
    fields, err = ask(batch, "--ignore-directives")
    assert (set(fields) & {"NODES", "PASSED"}, err) == (set(), "")


def test_directives_of_another_batch_system_are_told(batch: Machine) -> None:
    write(batch, "#PBS -l nodes=9", "#SBATCH -n 2")
    fields, err = ask(batch)
    assert (fields["PROCESSES"], err) == ("2", "")  # as sbatch --ignore-pbs
    write(batch, "#PBS -l nodes=9")
    _, err = ask(batch)
    assert "'#PBS -l nodes=9' is a directive of PBS, which is not read" in err
    _, err = ask(batch, profile="here")
    assert "is not read" in err


def test_a_program_without_directives_is_as_before(batch: Machine) -> None:
    write(batch, "# text")
    assert ask(batch)[1] == ""
    ended = batch.run("job", "submit", "-p", "batch", "--dry-run", "--json", "hostname")
    assert json.loads(ended.out)["directives"] == {}


# What is refused, dropped and passed


def test_limits_and_patterns_apply(batch: Machine) -> None:
    write(batch, "#SBATCH -n 1", "#SBATCH --nodes=9")
    err = refuse(batch, code=1)
    assert "sim.sh:3: --nodes '9': field NODES: " in err
    write(batch, "#SBATCH --array='1;touch hostile'")
    assert "sim.sh:2: --array '1;touch hostile': field ARRAY" in refuse(batch, code=1)
    write(batch, "#SBATCH --time='$(touch hostile)'")
    assert "sim.sh:2: --time: '$(touch hostile)' is not a time" in refuse(batch)
    assert not (batch.root / "hostile").exists()


def test_what_has_no_field_is_refused_by_name(batch: Machine) -> None:
    write(batch, "#SBATCH --no-such=1 -n 2", "#SBATCH -w node1")
    err = refuse(batch)
    assert "sim.sh:2: --no-such 1, sim.sh:3: -w node1: profile batch has no field for this" in err
    assert "--ignore-directives" in err
    assert "PASSED_OPTIONS" in err
    write(batch, "#SBATCH --qos=high")  # the profile's START does not use it
    assert refuse(batch).startswith("incarnate: sim.sh:2: --qos: profile batch has no field QOS\n    hint: ")


def test_what_changes_nothing_is_dropped_by_name(batch: Machine) -> None:
    names = [
        "--comment=x",
        "--wckey=y",
        "--hint=nomultithread",
        "--get-user-env",
        "--mail-type=NONE",
        "--nice",
        "-m=block",
    ]
    write(batch, *(f"#SBATCH {name.replace('-m=', '-m ')}" for name in names))
    fields, err = ask(batch)
    for line, name in enumerate(names, 2):
        assert f"{name.partition('=')[0]} (line {line})" in err
    assert err.count("warning") == 1
    assert not {"NOTIFY", "PASSED"} & fields.keys()


def test_what_the_profile_lists_is_passed(batch: Machine) -> None:
    write(batch, "#SBATCH -L matlab:2 --hold")
    assert ask(batch)[0]["PASSED"] == "--licenses=matlab:2\n--hold"
    write(batch, "#PBS -l software=x,walltime=60")
    fields, _ = ask(batch, profile="pbslike")
    assert (fields["PASSED"], fields["WALLTIME"]) == ("-l software=x", "60")
    write(batch, "#PBS -l other=x")
    assert "sim.sh:2: -l other=x: profile pbslike has no field" in refuse(batch, profile="pbslike")
    ended = batch.run("job", "submit", "-p", "batch", "--dry-run", "--context", "PASSED=--uid=0", "true")
    assert "--uid=0" not in ended.out


@pytest.mark.parametrize(
    "value",
    ["a b", "a;id", "$(touch hostile)", "`touch hostile`", "'x", "a\\nb", "--uid=0", "a --uid=0", "é", "a\tb", "a#b", '"'],
)  # fmt: skip
def test_no_value_of_a_passed_option_is_more_than_a_value(batch: Machine, value: str) -> None:
    write(batch, f"#SBATCH --licenses '{value}'")
    ended = run(batch, "./sim.sh")
    scripts = "".join(path.read_text() for path in batch.root.glob("jobs/*/*/.gpe/script"))
    assert ended.code in {0, 1, 2, 125}
    assert "\n--uid" not in scripts
    assert " --uid=0" not in scripts.replace(f'# passed --licenses="{value}"\n', "")  # as for sbatch
    assert not [*batch.root.rglob("hostile")]
    if value not in {"--uid=0", "a --uid=0", "a b", "a;id", "a#b"}:
        assert ended.code != 0
        assert "sim.sh:2: " in ended.err


# The files


def test_files_are_named_as_the_batch_system_names_them(batch: Machine) -> None:
    (batch.root / "sub").mkdir()
    write(batch, "#SBATCH -J job -o sub/%x-%j-%%.out -e sub/%N.err", body="echo out; echo err >&2")
    ended = run(batch, "./sim.sh")
    assert ended.code == 0, ended
    [directory] = batch.directories
    job_id = ended.out.split()[0]
    assert (batch.root / f"sub/job-{job_id}-%.out").read_text() == "out\n"
    [error] = (batch.root / "sub").glob("*.err")
    assert error.read_text() == "err\n"
    assert (directory / "stdout").is_symlink()
    assert batch.run("job", "output", job_id).out == "out\n"
    assert batch.run("job", "output", "--error", job_id).out == "err\n"


def test_both_outputs_go_to_one_file_and_may_be_appended(batch: Machine) -> None:
    write(batch, "#SBATCH -o log --open-mode=append", body="echo out; echo err >&2")
    for _ in range(2):
        assert run(batch, "./sim.sh").code == 0
    assert (batch.root / "log").read_text() == "out\nerr\n" * 2
    write(batch, "#SBATCH -o log", body="echo out; echo err >&2")
    assert run(batch, "./sim.sh").code == 0
    assert (batch.root / "log").read_text() == "out\nerr\n"


def test_an_array_has_a_file_for_each_task(batch: Machine) -> None:
    write(batch, "#SBATCH -a 1-3 -o out-%3a", body='echo "$GPE_ARRAY_INDEX"')
    assert run(batch, "./sim.sh").code == 0
    assert [(batch.root / f"out-00{i}").read_text() for i in (1, 2, 3)] == ["1\n", "2\n", "3\n"]


@pytest.mark.parametrize(
    "name", ["it's %j", "$(touch hostile) `id` %j", "a\\ b %j", "%%j%j", '"%j"', "-n %j"]
)
def test_names_of_files_are_names(batch: Machine, name: str) -> None:
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    write(batch, f'#SBATCH --output="{quoted}"', body="echo out")
    ended = run(batch, "./sim.sh")
    assert ended.code == 0, ended
    plain = name.replace("\\", "").replace("%%", "%") if "\\" not in name else name.replace("\\", "")
    job_id = ended.out.split()[0]
    expected = plain if "\\" in name else re.sub('%j$|%j(?="$)', lambda _: job_id, name).replace("%%", "%")
    assert (batch.root / expected).read_text() == "out\n"
    assert not (batch.root / "hostile").exists()


@pytest.mark.parametrize("name", ["%z", "%5j", "%", "%s"])
def test_other_letters_are_refused(batch: Machine, name: str) -> None:
    write(batch, f"#SBATCH -o out{name}")
    assert f"sim.sh:2: -o: '{name}' is not supported in a file's name" in refuse(batch)


def test_a_directory_that_directives_name(batch: Machine) -> None:
    (batch.root / "work").mkdir()
    write(batch, f"#SBATCH -D {batch.root}/work -o out.txt", body="pwd")
    assert run(batch, "./sim.sh").code == 0
    assert (batch.root / "work/out.txt").read_text() == f"{batch.root}/work\n"


def test_a_script_that_is_executable_and_on_the_path(batch: Machine) -> None:
    write(batch, "#SBATCH -o out.txt", body='echo "$0" "$@"', name="bin/tool.sh")
    (batch.root / "bin/tool.sh").chmod(stat.S_IRWXU)
    assert run(batch, "tool.sh", "-o", "x").code == 0
    assert (batch.root / "out.txt").read_text().endswith("bin/tool.sh -o x\n")


def test_where_directives_end(batch: Machine) -> None:
    for profile, begin in PREFIXES.items():
        option = f"{begin} -J" if begin in {"#SBATCH", "#BSUB"} else f"{begin} -N"
        first = option.replace(" ", "")
        write(batch, f"{first} first", "", " # text", f"#{option} second", body=f"true\n{option} last")
        name = ask(batch, profile=profile)[0]["JOB_NAME"]
        assert (profile, name) == (profile, "last" if profile == "sgelike" else "first")


def test_other_batch_systems(batch: Machine) -> None:
    write(batch, "#PBS -o out.$PBS_JOBID -j oe -v 'A=1,B=x y'", body='echo "$A $B"; echo err >&2')
    ended = run(batch, "./sim.sh", profile="pbslike")
    job_id = ended.out.split()[0]
    assert (batch.root / f"out.{job_id}").read_text() == "1 x y\nerr\n"
    write(batch, "#$ -S /bin/bash -o sge.$JOB_ID -j y", body='echo "${BASH_VERSION:+bash}"')
    job_id = run(batch, "./sim.sh", profile="sgelike").out.split()[0]
    assert (batch.root / f"sge.{job_id}").read_text() == "bash\n"
    write(batch, "#BSUB -o lsf.%J -W 0:10", body="echo lsf")
    job_id = run(batch, "./sim.sh", profile="lsflike").out.split()[0]
    assert (batch.root / f"lsf.{job_id}").read_text() == "lsf\n"


# Many jobs, and the preview


def test_jobs_of_a_file(batch: Machine) -> None:
    write(batch, "#SBATCH -o out-%j --comment=x", body='echo "$1"')
    (batch.root / "jobs.csv").write_text("arguments\n1\n2\n")
    ended = run(batch, "--from", "jobs.csv", "./sim.sh")
    assert ended.code == 0
    assert ended.err.count("--comment") == 1
    assert sorted(p.read_text() for p in batch.root.glob("out-*")) == ["1\n", "2\n"]
    write(batch, "#SBATCH --array=1-2")
    for words in ((), ("--as-array",)):
        ended = run(batch, "--from", "jobs.csv", *words, "./sim.sh")
        assert ended.code == 125
        assert "the script asks for an array (1-2), and --from has its own jobs" in ended.err


def test_the_preview_submits_nothing(batch: Machine) -> None:
    write(batch, "#SBATCH -n 2 -J 'a b'")
    ended = batch.run("job", "submit", "-p", "batch", "--dry-run", "./sim.sh")
    assert ended.code == 0
    assert re.search(r"^# PROCESSES +2  \(sim.sh:2: -n\)$", ended.out, re.MULTILINE)
    assert "gpe_begin_job JOB_NAME='a_b'" in ended.out
    assert "sim.sh:2: -J: the job's name is a_b" in ended.err
    assert (batch.run_json("list"), batch.directories) == ([], [])


# Anything at all

PIECES = [
    "#SBATCH ", "#PBS ", "#BSUB ", "#$ ", "-l ", "-o ", "--output=", "-J ", "-pe ", "-R ", "-W ", "-t ", "-N ", "--gres=",
    "gpu:2", "nodes=1:ppn=2", "select=1", "%j", "%", "$JOB_ID", "'", '"', "\\", "\n", "#", " ", "=", ",", "1", "x", "-", "--",
    "--mail-type=", "ALL", "--export=", "--mem=", "0", "--dependency=", "afterok:1", "[1-3]%2", "done(1)", "&&", "\t", "é",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join), st.sampled_from([*FAMILIES]))
@example("#SBATCH --gres=gpu:2,gpu:2", "#SBATCH")
@example("#PBS -l nodes=1:ppn=", "#PBS")
@example("#BSUB -J [", "#BSUB")
@example("#$ -pe 1 ", "#$")
def test_every_script_is_read_or_refused(text: str, prefix: str) -> None:
    try:
        request = read_script_request(text, "sim.sh", prefix, Given(user_name="u", name="n"))
    except UsageError as error:
        assert error.message.startswith("sim.sh:")  # noqa: PT017
        assert error.hint  # noqa: PT017
    else:
        if request is not None:
            attributes = {name: value for name, value in request.attributes.items() if value is not None}
            build_request(JobDescription(**attributes))


def test_the_batch_system_is_asked_without_a_submission(batch: Machine) -> None:
    write(batch, "#SBATCH -n 3")
    command = "awk '/^gpe_begin_job/ {{ print; exit /PROCESSES=9/ }}'"
    field = f'<idb:Field name="TEST_COMMAND" isSettable="false"><idb:Value>{command}</idb:Value></idb:Field>'
    directives = JOB_DIRECTIVES.replace("  </idb:Template>", f"{field}</idb:Template>")
    batch.add("asking", directives.format(lines=LINES, prefix="#SBATCH", passed=""))
    words = ("job", "submit", "-p", "asking", "--test-only", "./sim.sh")
    ended = batch.run(*words)
    assert (ended.code, ended.out, batch.run_json("list")) == (
        0,
        "gpe_begin_job JOB_NAME='sim.sh' PROCESSES=3\n",
        [],
    ), ended
    ended = batch.run(*words[:-1], "-n", "9", "./sim.sh")
    assert (ended.code, ended.out) == (1, "")
    assert "START failed (exit status 1)" in ended.err
    ended = batch.run("job", "submit", "-p", "batch", "--test-only", "./sim.sh")
    assert (ended.code, "it has no TEST_COMMAND" in ended.err) == (2, True)
