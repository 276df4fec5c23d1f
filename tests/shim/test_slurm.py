"""sbatch, squeue, scancel and sacct as Nextflow, Galaxy, Cromwell and old scripts call them."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from osprofile.jobs.state import EndCause, JobState, JobStatus
from osprofile.shim import facts
from tests.hunting import rounds
from tests.profiles.test_hostile_values import CARRIED
from tests.waiting import wait_until

if TYPE_CHECKING:
    from tests.shim.conftest import Place

NEXTFLOW_STATES = {"PD", "R", "CA", "CF", "CG", "CD", "F", "TO", "NF", "S", "ST", "PR", "BF"}
NEXTFLOW = r"""
set -eu
task() { # NAME EXIT: the header and the shape of Nextflow's .command.run
  mkdir -p "work/$1 it's" && cd "work/$1 it's"
  { printf '#!/bin/bash\n#SBATCH -J nf-%s_(1)\n' "$1"
    printf '#SBATCH -o %s\n' "$(printf '%q' "$PWD/.command.log")"
    printf '#SBATCH --no-requeue\n#SBATCH --signal B:USR2@30\n#SBATCH -c 2\n#SBATCH -t 01:00:00\n#SBATCH --mem 200M\n'
    printf 'set -e\necho "out $SLURM_JOB_ID"; echo err >&2; echo %s > .exitcode; exit %s\n' "$2" "$2"; } > .command.run
  if [ "$3" = pipe ]; then sbatch < .command.run; else sbatch .command.run; fi
  cd ../..
}
task one 0 file
task two 3 pipe
printf '#!/bin/bash\n#SBATCH -J nf-long\nsleep 1000\n' > long && sbatch long
number=3
while :; do
  squeue --noheader -o '%i %t' -t all -u "${1:-$(id -un)}" > states
  if ! grep -Eq '^[12] (PD|R|CG)$' states && grep -q '^3 R$' states; then break; fi
  sleep 0.2
done
scancel 3
while squeue --noheader -o '%i %t' -t all -u "${1:-$(id -un)}" > states; grep -q '^3 R$' states; do sleep 0.2; done
cat states
cat 'work/one it'\''s/.command.log' 'work/two it'\''s/.command.log'
"""


def test_nextflow(place: Place) -> None:
    ended = place.shell(NEXTFLOW)
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert lines[:3] == [f"Submitted batch job {n}" for n in (1, 2, 3)]
    assert lines[3:6] == ["1 CD", "2 F", "3 CA"]
    assert lines[6:] == ["out 1", "err", "out 2", "err"]
    assert {line.split()[1] for line in lines[3:6]} <= NEXTFLOW_STATES


def test_galaxy(place: Place) -> None:
    name = place.script("#!/bin/sh\n#SBATCH -J galaxy\n#SBATCH -o out\n#SBATCH -e err\nsleep 1000\n")
    number = re.findall(r"(\d+)", place.ok("sbatch", name))[0]
    wait_until(lambda: place.ok("squeue", "-a", "-o", "%A %t") == f"JOBID ST\n{number} R\n")
    assert place.ok("squeue", "-a", "-o", "%A %t", "-j", number) == f"JOBID ST\n{number} R\n"
    assert place.ok("scancel", number) == ""
    # The header alone: Galaxy asks sacct then.
    assert place.ok("squeue", "-a", "-o", "%A %t", "-j", number) == "JOBID ST\n"
    assert place.ok("sacct", "-o", "JobIDRaw,State", "-P", "-n", "-j", number) == f"{number}|CANCELLED\n"


def test_cromwell(place: Place) -> None:
    place.script("#!/bin/bash\necho out; echo err >&2; pwd; exit 4\n", "script")
    (place.work / "exec dir").mkdir()
    submitted = place.ok(
        "sbatch", "-J", "cromwell_1234_hello", "-D", str(place.work / "exec dir"), "-o", "stdout", "-e", "stderr",
        "-t", "10", "-c", "2", "--mem-per-cpu", "100", "--wrap", "/bin/bash ../script",
    )  # fmt: skip
    assert re.fullmatch(r"Submitted batch job (\d+)\n", submitted)
    wait_until(lambda: "1 F" in place.ok("squeue", "-t", "all", "-o", "%i %t"))
    directory = place.work / "exec dir"
    assert (directory / "stdout").read_text() == f"out\n{directory}\n"
    assert (directory / "stderr").read_text() == "err\n"
    assert "JOBID" in place.ok("squeue", "-j", "1")
    ended = place.run("squeue", "-j", "99")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == "slurm_load_jobs error: Invalid job id specified\n"


ENDS = {
    "true": ("CD", "COMPLETED", "0:0"),
    "exit 3": ("F", "FAILED", "3:0"),
    "kill -9 $$": ("F", "FAILED", "0:9"),
    "sleep 1000": ("TO", "TIMEOUT", None),
}


def test_ends(place: Place) -> None:
    for command in ENDS:
        place.ok("sbatch", "-Q", "-t", "0:2", "--wrap", command)
    wait_until(lambda: place.ok("squeue", "-h") == "")
    states = dict(line.split() for line in place.ok("squeue", "-h", "-t", "all", "-o", "%i %t").splitlines())
    rows = [row.split("|") for row in place.ok("sacct", "-nP", "-o", "JobID,State,ExitCode").splitlines()]
    for (code, state, exit_code), row in zip(ENDS.values(), rows, strict=True):
        assert (states[row[0]], row[1]) == (code, state)
        assert row[2] == exit_code or (exit_code is None and row[2] != "0:0")


@pytest.mark.parametrize(
    ("status", "code", "state", "exit_code"),
    [
        (JobStatus("", JobState.LOST), "NF", "NODE_FAIL", "1:0"),
        (JobStatus("", JobState.DONE), "F", "FAILED", "1:0"),
        (JobStatus("", JobState.FAILED), "F", "FAILED", "1:0"),
        (JobStatus("", JobState.FAILED, signal=11), "F", "FAILED", "0:11"),
        (JobStatus("", JobState.REMOVED), "CA", "CANCELLED", "0:15"),
        (JobStatus("", JobState.DONE, exit_code=255), "F", "FAILED", "255:0"),
    ],
)
def test_ends_of_other_machines(status: JobStatus, code: str, state: str, exit_code: str) -> None:
    found = facts.get_state(status)
    assert (found.code, found.name, facts.format_exit_code(status)) == (code, state, exit_code)


def test_live_states() -> None:
    def code(state: JobState, started: float | None = None) -> str:
        return facts.get_state(JobStatus("x", state, started=started)).code

    assert [code(JobState.QUEUED), code(JobState.RUNNING)] == ["PD", "R"]
    assert [code(JobState.HELD), code(JobState.HELD, 1.0)] == ["PD", "S"]
    assert facts.get_state(JobStatus("x", JobState.HELD, elapsed=1.0)).code == "S"
    assert [code(JobState.UNKNOWN), code(JobState.UNKNOWN, 1.0)] == ["PD", "R"]
    assert [code(state) for state in JobState if state not in {JobState.UNKNOWN, JobState.HELD}] == [
        "PD", "R", "F", "F", "CA", "NF",
    ]  # fmt: skip


def test_causes_and_usage() -> None:
    failed = JobStatus("x", JobState.FAILED)
    assert {cause: facts.get_state(failed._replace(cause=cause)).name for cause in (None, *EndCause)} == {
        None: "FAILED",
        EndCause.TIME: "TIMEOUT",
        EndCause.MEMORY: "OUT_OF_MEMORY",
        EndCause.LIMIT: "TIMEOUT",
        EndCause.PREEMPTED: "PREEMPTED",
        EndCause.NODE: "NODE_FAIL",
        EndCause.DEPENDENCY: "FAILED",
        EndCause.USER: "FAILED",
        EndCause.SITE_SETUP: "FAILED",
        EndCause.FILES: "FAILED",
        EndCause.SIGNAL: "FAILED",
    }


def test_what_a_job_took(place: Place) -> None:
    number = place.ok("sbatch", "--parsable", "--wrap", "exit 0").strip()
    wait_until(lambda: "COMPLETED" in place.ok("sacct", "-nP", "-o", "State", "-j", number))
    cpu, memory = place.ok("sacct", "-nP", "-o", "TotalCPU,MaxRSS", "-j", number).strip().split("|")
    assert cpu == "00:00:00"
    assert memory == ""  # without a batch system, that of an ended job is not told


def test_ended_jobs_are_forgotten_by_squeue_and_not_by_sacct(place: Place) -> None:
    place.ok("sbatch", "--wrap", "sleep 1000")
    place.record_end(1, JobStatus("", JobState.DONE, exit_code=0, ended=1_000_000_000.0))
    assert place.ok("squeue", "-h", "-t", "all") == ""
    assert place.run("squeue", "-t", "all", "-j", "1").code == 1
    assert place.ok("sacct", "-nP", "-o", "State", "-j", "1") == "COMPLETED\n"


def test_a_profile_that_is_broken_later(place: Place) -> None:
    place.ok("sbatch", "--wrap", "sleep 1000")
    (place.root / "profiles" / "here.xml").write_text("<")
    listed = place.run("squeue", "-h", "-o", "%i %t")
    assert (listed.code, listed.out) == (0, "1 R\n")
    assert listed.err.startswith("profile here cannot be used: ")
    refused = place.run("sbatch", "--wrap", "true")
    assert refused.code != 0
    assert "here.xml:1:1: error OSP102" in refused.err
    assert place.run("scancel", "1").code == 0
    assert place.run("squeue", "-h", "-t", "all", "-o", "%i %t").out == "1 CA\n"


def test_the_environment_of_the_submitter(place: Place) -> None:
    env = {
        "MINE": "a 'b'\n$(id)",
        "BASH_FUNC_f%%": "() {  echo function\n}",
        "SLURM_JOB_ID": "77",
        "GPE_JOB_ID": "x",
    }
    place.script(
        '#!/bin/bash\nf; printf "%s\\n" "$MINE" "$SLURM_JOB_ID" "${EXTRA-none}"; [ "$GPE_JOB_ID" != x ]\n'
    )
    outputs = []
    for export in ([], ["--export=ALL,EXTRA='1,2'"], ["--export=NONE"], ["--export=MINE"]):
        place.run("sbatch", "-W", "-Q", "-o", "out", "-e", "err", *export, "job.sh", env=env)
        outputs.append((place.work / "out").read_text().splitlines())
    assert outputs == [
        ["function", "a 'b'", "$(id)", "1", "none"],
        ["function", "a 'b'", "$(id)", "2", "1,2"],
        ["", "3", "none"],
        ["a 'b'", "$(id)", "4", "none"],
    ]


def test_variables_of_slurm(place: Place) -> None:
    place.script("#!/bin/sh\nenv | grep ^SLURM_ | sort\n")
    place.ok("sbatch", "-W", "-J", "a (b)", "-N1", "-n4", "-c2", "--mem=2G", "-o", "out", "job.sh")
    found = dict(line.split("=", 1) for line in (place.work / "out").read_text().splitlines())
    assert found.items() >= {
        "SLURM_JOB_ID": "1", "SLURM_JOBID": "1", "SLURM_JOB_NAME": "a (b)", "SLURM_SUBMIT_DIR": str(place.work),
        "SLURM_NTASKS": "4", "SLURM_NPROCS": "4", "SLURM_CPUS_PER_TASK": "2", "SLURM_MEM_PER_NODE": "2048",
        "SLURM_JOB_NUM_NODES": "1", "SLURM_NNODES": "1", "SLURM_CPUS_ON_NODE": "8", "SLURM_TASKS_PER_NODE": "4",
    }.items()  # fmt: skip


def test_arrays(place: Place) -> None:
    command = 'echo "$SLURM_ARRAY_JOB_ID $SLURM_ARRAY_TASK_ID $SLURM_ARRAY_TASK_COUNT"; exit $((SLURM_ARRAY_TASK_ID == 7))'
    assert place.run("sbatch", "-W", "-a", "1-3,7%2", "--wrap", command).code == 1
    assert place.ok("squeue", "-h", "-t", "all", "-o", "%i %t %A %K") == "".join(
        f"1_{i} {'F' if i == 7 else 'CD'} 1 {i}\n" for i in (1, 2, 3, 7)
    )
    assert [(place.work / f"slurm-1_{i}.out").read_text() for i in (1, 7)] == ["1 1 4\n", "1 7 4\n"]
    assert place.ok("sacct", "-nPX", "-j", "1_7", "-o", "JobID,State") == "1_7|FAILED\n"
    place.ok("sbatch", "-a", "0-1", "-o", "%x-%A_%3a.log", "-J", "it's", "--wrap", "sleep 1000")
    place.ok("scancel", "2_1")
    wait_until(lambda: place.ok("squeue", "-h", "-t", "all", "-j", "2", "-o", "%i %t") == "2_0 R\n2_1 CA\n")
    place.ok("scancel", "2")
    assert (place.work / "it's-2_000.log").exists()


def test_dependencies(place: Place) -> None:
    place.ok("sbatch", "--wrap", "sleep 0.5; exit 1")
    place.ok("sbatch", "-d", "afternotok:1", "--wrap", "echo later")
    place.ok("sbatch", "--dependency=afterok:1,afterany:2", "--wrap", "echo never")
    wait_until(lambda: place.ok("squeue", "-h") == "")
    assert place.ok("squeue", "-h", "-t", "all", "-o", "%i %t") == "1 F\n2 CD\n3 CA\n"
    assert (place.work / "slurm-2.out").read_text() == "later\n"
    ended = place.run("sbatch", "-d", "afterok:99", "--wrap", "true")
    assert ended.code == 2
    assert "-d: there is no job 99" in ended.err
    place.ok("sbatch", "--wrap", "sleep 1000")
    place.ok("sbatch", "-d", "afterok:4", "--wrap", "true")
    wait_until(lambda: place.ok("squeue", "-h", "-t", "R", "-o", "%i") == "4\n")
    assert place.ok("squeue", "-h", "-t", "PD", "-o", "%i %r %R") == "5 Dependency (Dependency)\n"
    assert "JobState=PENDING Reason=Dependency" in place.ok("scontrol", "show", "job", "5")
    for dependency in ("singleton", "after:1", "afterok:1?afterany:2", "afterok:", "afterok:x", ""):
        ended = place.run("sbatch", f"--dependency={dependency}", "--wrap", "true")
        assert ended.code == (1 if dependency == "singleton" else 2), dependency
        assert "--dependency" in ended.err


def test_a_signal_before_the_limit(place: Place) -> None:
    place.script("#!/bin/bash\ntrap 'echo got it; exit 5' USR2\nfor i in {1..600}; do sleep 0.1; done\n")
    ended = place.run("sbatch", "-W", "-o", "out", "--signal=B:SIGUSR2@57", "-t", "1", "job.sh")
    assert (ended.code, (place.work / "out").read_text()) == (5, "got it\n")
    place.ok("sbatch", "-o", "out", "job.sh")
    wait_until(lambda: "2 R" in place.ok("squeue", "-o", "%i %t"))
    # the last one comes after the end, and is refused
    wait_until(lambda: [place.run("scancel", "-s", "USR2", "2"), place.ok("squeue", "-h")][1] == "")
    assert "got it" in (place.work / "out").read_text()


def test_the_sender_of_the_signal_is_no_child_of_the_script(place: Place) -> None:
    program = f"#!{sys.executable}\nimport os\ntry:\n    os.wait()\nexcept ChildProcessError:\n    print('no child')\n"
    place.script(program)
    place.ok("sbatch", "-W", "-o", "out", "--signal=B:USR1@10", "-t", "60", "job.sh")
    assert (place.work / "out").read_text() == "no child\n"


def test_forms_of_output_names(place: Place) -> None:
    place.ok("sbatch", "-W", "-J", "n", "-o", "%x.%j.%4j.%u.%%.%N", "--wrap", "echo 1")
    (path,) = (p for p in place.work.iterdir() if p.name.startswith("n."))
    assert re.fullmatch(r"n\.1\.0001\.[^.]+\.%\.[^.]+", path.name)
    place.ok("sbatch", "-W", "-o", r"a\%j", "--wrap", "echo 1")
    assert (place.work / "a%j").read_text() == "1\n"
    place.ok("sbatch", "-W", "--open-mode=append", "-o", "a%%j", "-e", "err", "--wrap", "echo 2; echo 3 >&2")
    assert ((place.work / "a%j").read_text(), (place.work / "err").read_text()) == ("1\n2\n", "3\n")
    assert "'%b' is not supported" in place.run("sbatch", "-o", "%b", "--wrap", "true").err
    ended = place.run("sbatch", "-W", "-o", "none/out", "--wrap", "true")
    assert ended.code == 125


REFUSED = [
    (["--hold"], "option --hold is not supported"),
    (["-H"], "option -H is not supported"),
    (["--test-only"], "option --test-only is not supported"),
    (["--licenses=a"], "option --licenses is not supported"),
    (["-n", "0"], "-n: '0' is not a number"),
    (["-N", "1-4"], "-N: '1-4' is not supported"),
    (["--mem=0"], "--mem '0': field MEMORY"),
    (["--gres=tape:1"], "option '--gres tape:1' is not supported"),
    (["-t", "soon"], "-t: 'soon' is not a time"),
    (["--signal=USR2@x"], "--signal: 'USR2@x' is not supported"),
    (["--signal=B:NONSENSE"], "--signal: 'B:NONSENSE' is not supported"),
    (["--mail-type=ARRAY_TASKS"], "--mail-type: 'ARRAY_TASKS' is not supported"),
    (["--export="], "--export: '' is not supported"),
    (["--open-mode=w"], "--open-mode: 'w' is not a mode"),
    (["--gpus=2"], "option --gpus '2': field GPUS is not used"),
    (["-N", "2"], "option -N '2': field NODES: '2' is above the Max of 1"),
    (["-a", "1-x"], "option -a '1-x': field ARRAY"),
    (["--begin=tomorrow"], "--begin: 'tomorrow' is not a time that is supported"),
]


def test_what_is_refused(place: Place) -> None:
    for words, text in REFUSED:
        ended = place.run("sbatch", *words, "--wrap", "true")
        assert (ended.code in {1, 2}, ended.out) == (True, ""), words
        assert text in ended.err
        assert "hint: " in ended.err
    assert place.sessions == []
    assert place.ok("squeue", "-h", "-t", "all") == ""


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("squeue", ["--yaml"]), ("squeue", ["-o", "%$"]), ("squeue", ["-O", "nonsense"]), ("squeue", ["-o", "%i", "-O", "jobid"]),
        ("squeue", ["-j", "x"]), ("squeue", ["-t", "XX"]),
        ("squeue", ["1"]), ("squeue", ["-w", "x"]), ("scancel", []), ("scancel", ["x"]), ("scancel", ["--interactive", "1"]),
        ("scancel", ["-s", "NONE", "1"]), ("sacct", ["-o", "Nonsense"]), ("sacct", ["-j", "1.step"]), ("sacct", ["1"]),
        ("sacct", ["-S", "next-week"]), ("sacct", ["--units=X"]), ("sbatch", ["none.sh"]), ("sbatch", []), ("sbatch", ["--wrap", "a", "b"]),
    ],
)  # fmt: skip
def test_wrong_usage(place: Place, program: str, words: list[str]) -> None:
    ended = place.run(program, *words)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"{program}: error: ")
    assert "hint: " in ended.err


def test_directives_and_the_environment_are_refused_by_their_names(place: Place) -> None:
    place.script("#!/bin/sh\n#SBATCH --hold\ntrue\n")
    assert "line 2 of the script: option --hold is not supported" in place.run("sbatch", "job.sh").err
    place.script("#!/bin/sh\n#SBATCH -J a b\ntrue\n")
    assert "line 2 of the script: 'b' is not an option" in place.run("sbatch", "job.sh").err
    place.script("#!/bin/sh\n#SBATCH -J 'a\ntrue\n")
    assert "line 2 of the script: the quote ' is not closed" in place.run("sbatch", "job.sh").err
    place.script("#!/bin/sh\n#SBATCH hetjob\ntrue\n")
    assert "heterogeneous" in place.run("sbatch", "job.sh").err
    ended = place.run("sbatch", "--wrap", "true", env={"SBATCH_NO_KILL": "x"})
    assert "the variable SBATCH_NO_KILL is not supported" in ended.err
    ended = place.run("sbatch", "--wrap", "true", env={"SBATCH_TIMELIMIT": "x"})
    assert "SBATCH_TIMELIMIT: 'x' is not a time" in ended.err
    place.script("#!/bin/sh\n#SBATCH -J script -o out\necho $SLURM_JOB_NAME\n")
    place.ok("sbatch", "-W", "job.sh", env={"SBATCH_JOB_NAME": "variable"})
    assert (place.work / "out").read_text() == "variable\n"
    place.ok("sbatch", "-W", "-J", "word", "job.sh", env={"SBATCH_JOB_NAME": "variable"})
    assert (place.work / "out").read_text() == "word\n"


def test_hostile_values(place: Place) -> None:
    """Each value reaches the script unchanged: as an argument, in the environment, in names and paths."""
    canary = place.work / "canary"
    values = [
        *CARRIED,
        f"$(touch '{canary}')",
        f"`touch '{canary}'`",
        f"'; touch '{canary}'; '",
        f"\n touch '{canary}'\n",
    ]
    place.script('#!/bin/sh\nprintf "%s\\0" "$@" "$HOSTILE" "$SLURM_JOB_NAME"\n')
    for i, value in enumerate([*values[::12], *values[-4:]]):
        name = value.replace("/", "").replace("\\", "") or "x"
        pattern = f"{place.work}/{i} {name}".replace("%", "%%")
        line = ["-W", f"-J{value}", f"--output={pattern}", "job.sh", *values, "--hold"]
        ended = place.run("sbatch", *line, env={"HOSTILE": value})
        assert (ended.code, ended.err) == (0, ""), (value, ended)
        content = (place.work / f"{i} {name}").read_bytes().decode()
        assert content.split("\0")[:-1] == [*values, "--hold", value, value]
    assert not canary.exists()


def test_hostile_submit_directories(place: Place) -> None:
    for name in ("-n", "it's", "a\nb", "$(touch canary)", "é 中", "%j", "a\\b"):
        directory = place.work / name
        directory.mkdir()
        (directory / "j.sh").write_text("pwd > here\n")
        place.ok("sbatch", "-W", "-o", "/dev/null", "j.sh", cwd=directory)
        assert (directory / "here").read_text() == f"{directory}\n"
        # The default name of the output is a pattern, the directory is not.
        place.ok("sbatch", "-W", "--wrap", "echo 1", cwd=directory)
        assert len(list(directory.glob("slurm-*.out"))) == 1, name
    assert not list(place.root.rglob("canary"))


words = st.lists(
    st.sampled_from(
        ["-J", "-n1", "-t", "10", "--wrap", "true", "-o", "%j", "--mem=1", "-h", "-j", "1", "1", "all", "-u", "root",
         "--format=%i", "-P", "--", "-", "", "--export=", "--signal", "B:TERM@1", "-a", "1-2", "%", "é", "\x1b[31m", "-Q"]
    )
    | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=6),
    max_size=5,
)  # fmt: skip


@settings(max_examples=rounds(25, 4))
@given(st.sampled_from(["squeue", "scancel", "sacct", "sbatch"]), words)
def test_any_command_line(place: Place, program: str, line: list[str]) -> None:
    line = ["--wrap=x", "-N", "2", *line] if program == "sbatch" else line  # two nodes: no job begins
    ended = place.run(program, *line)
    assert ended.code in {0, 1, 2}
    assert ended.code == 0 or ended.err
    assert "internal error" not in ended.err


def test_help_and_versions(place: Place) -> None:
    for program in ("sbatch", "squeue", "scancel", "sacct"):
        assert place.ok(program, "--help").startswith(f"usage: {program} [OPTIONS]")
        for flag in ("-V", "--version"):
            assert re.fullmatch(r"slurm \d+\.\d+\.\d+\n", place.ok(program, flag))


def test_selections(place: Place) -> None:
    for name in ("one", "two"):
        place.ok("sbatch", "-J", name, "--wrap", "sleep 1000")
    wait_until(lambda: place.ok("squeue", "-h", "-t", "R", "-o", "%i") == "1\n2\n")
    assert place.ok("squeue", "-h", "-n", "two", "-o", "%i") == "2\n"
    assert place.ok("squeue", "-h", "-j", "1,2,99", "-o", "%i") == "1\n2\n"
    assert place.ok("squeue", "-h", "-t", "PD,CD", "-o", "%i") == ""
    assert place.ok("squeue", "-h", "-u", "nobody", "-o", "%i") == ""
    assert (
        place.ok("squeue", "-h", "--me", "-p", "any", "-o", "%5i|%.5i|%.1j")
        == "1    |    1|o\n2    |    2|t\n"
    )
    ended = place.run("scancel", "-n", "one", "-t", "RUNNING")
    assert (ended.code, ended.err) == (0, "")
    assert place.ok("squeue", "-h", "-o", "%i") == "2\n"
    ended = place.run("scancel", "1", "99", "2")
    assert (ended.code, "job id 99: Invalid job id specified" in ended.err) == (1, True)
    assert place.ok("squeue", "-h", "-o", "%i") == ""
    ended = place.run("scancel", "1")
    assert (ended.code, "already completing or completed" in ended.err) == (0, True)


def test_columns_of_squeue(place: Place) -> None:
    """What is known, and else what a real Slurm 22.05 printed for no value."""
    words = ["-J", "a-name-of-23-characters", "-n2", "-c3", "--mem=2G", "-t", "9:00"]
    place.ok("sbatch", *words, "--wrap", "sleep 1000")
    place.ok("sbatch", "--mem=1500", "--wrap", "sleep 1000")
    wait_until(lambda: place.ok("squeue", "-h", "-t", "R", "-o", "%i") == "1\n2\n")
    columns = "%D|%C|%Z|%k|%a|%Q|%m|%l|%b|%c|%h|%n|%q|%v|%w|%E|%f|%z|%P|%r"
    empty = "(null)|(null)|(null)|(null)|(null)|*:*:*|here|None"
    assert place.ok("squeue", "-h", "-o", columns).splitlines() == [
        f"1|6|{place.work}|(null)|(null)|1|2G|9:00|N/A|3|OK||{empty}",
        f"1|1|{place.work}|(null)|(null)|1|1500M|UNLIMITED|N/A|1|OK||{empty}",
    ]
    (host,) = place.ok("squeue", "-h", "-j1", "-o", "%B").splitlines()
    assert place.ok("squeue", "-h", "-j1", "-o", "%N %R") == f"{host} {host}\n"
    # In its first second a job has the whole limit left.
    wait_until(
        lambda: re.fullmatch(r"[0-8]:[0-5]\d\n", place.ok("squeue", "-h", "-j1", "-o", "%L")) is not None
    )
    assert place.ok("squeue", "-h", "-j2", "-o", "%L") == "UNLIMITED\n"
    header, line = (text.split() for text in place.ok("squeue", "-j", "1").splitlines())
    assert header == ["JOBID", "PARTITION", "NAME", "USER", "ST", "TIME", "NODES", "NODELIST(REASON)"]
    assert [line[1], line[4], line[6]] == ["here", "R", "1"]


def test_long_formats_of_squeue(place: Place) -> None:
    """The same lines as a real Slurm 22.05 printed for such a job."""
    place.ok("sbatch", "-J", "a-name-of-23-characters", "--wrap", "sleep 1000")
    wait_until(lambda: place.ok("squeue", "-h", "-t", "R", "-o", "%i") == "1\n")

    def show(form: str) -> str:
        return place.ok("squeue", "-h", "--me", "-t", "all", "-O", form)

    assert show("JobID:12,StateCompact:5,Reason:20") == "1           R    None                \n"
    assert show("JobArrayID,State") == f"{'1':20}{'RUNNING':20}\n"
    assert show("name,jobid:.4,name:3") == "a-name-of-23-charact   1a-n\n"
    assert show("name: ,jobid:7foo,state:4-") == "a-name-of-23-characters 1      fooRUNN-\n"
    assert place.ok("squeue", "-O", "jobid:6,timelimit:.8") == "JOBID TIME_LIM\n1     UNLIMITE\n"


def test_a_name_with_a_slash_is_kept(place: Place) -> None:
    """As Slurm keeps it; signac-flow asks for its jobs by such names."""
    place.ok("sbatch", "-J", "Project/1f2/run", "-o", "/dev/null", "--wrap", "sleep 1000")
    assert place.ok("squeue", "-h", "-o", "%j") == "Project/1f2/run\n"
    assert place.ok("squeue", "-h", "-n", "other,Project/1f2/run", "-o", "%i") == "1\n"


def test_json(place: Place) -> None:
    place.ok("sbatch", "-J", "it's", "-t", "90", "-c", "2", "--wrap", "exit 3")
    place.ok("sbatch", "--wrap", "sleep 1000")
    wait_until(lambda: place.ok("squeue", "-h", "-t", "F", "-o", "%i") == "1\n")
    ended, live = (
        json.loads(place.ok("squeue", "--json", "-t", "all", "-j", number))["jobs"][0] for number in "12"
    )
    assert (ended["job_id"], ended["job_state"], ended["name"]) == (
        1,
        ["FAILED"],
        "it_s",
    )
    assert ended["exit_code"]["return_code"] == {"set": True, "infinite": False, "number": 3}
    assert ended["time_limit"] == {"set": True, "infinite": False, "number": 90}
    assert (ended["cpus"]["number"], live["job_id"], live["time_limit"]["infinite"]) == (2, 2, True)
    times = [ended[f"{name}_time"]["number"] for name in ("submit", "start", "end")]
    assert times == sorted(times)
    assert live["user_name"] == place.ok("squeue", "-h", "-j", "2", "-o", "%u").strip()
    printed = json.loads(place.ok("sacct", "--json", "-j", "1"))
    assert (printed["errors"], printed["meta"]["slurm"]["version"]["major"]) == ([], "23")
    (accounted,) = printed["jobs"]
    assert accounted["state"] == {"current": ["FAILED"], "reason": "NonZeroExitCode"}
    assert accounted["exit_code"]["status"] == ["ERROR"]
    assert accounted["exit_code"]["return_code"]["number"] == 3
    assert accounted["time"]["limit"]["number"] == 90
    place.ok("scancel", "2")
    (cancelled,) = json.loads(place.ok("sacct", "--json", "-j", "2"))["jobs"]
    assert cancelled["exit_code"] == {
        "status": ["SIGNALED"],
        "return_code": {"set": True, "infinite": False, "number": 0},
        "signal": {"id": {"set": True, "infinite": False, "number": 15}, "name": "TERM"},
    }


def test_scancel_tells_what_it_does(place: Place) -> None:
    place.ok("sbatch", "--wrap", "trap '' USR1; sleep 1000 & wait; wait")
    wait_until(lambda: place.ok("squeue", "-h", "-t", "R", "-o", "%i") == "1\n")
    ended = place.run("scancel", "-v", "--sig=USR1", "1")
    assert (ended.code, ended.out, ended.err) == (0, "", "scancel: Signal 10 to job 1\n")
    ended = place.run("scancel", "--verb", "1")
    assert (ended.code, ended.out, ended.err) == (0, "", "scancel: Terminating job 1\n")


def test_options_may_be_abbreviated(place: Place) -> None:
    place.ok("sbatch", "--parsa", "--wait", "--job=one", "--wra", "true")
    assert place.ok("squeue", "--noh", "--job", "1", "--stat=all", "--form=%i %j") == "1 one\n"
    assert place.ok("sacct", "-X", "--noheader", "--format=jobid,state%20", "--job", "1") == (
        f"{'1':>12} {'COMPLETED':>20} \n"
    )
    # The real one knows --exclude, too.
    ended = place.run("sbatch", "--exclu", "--wrap", "true")
    assert (ended.code, "option --exclu is ambiguous" in ended.err) == (2, True)


def test_fields_of_sacct(place: Place) -> None:
    place.ok("sbatch", "-W", "-n2", "-c2", "--mem=100", "--wrap", "true")
    place.ok("sbatch", "-W", "-a", "3-4", "-t", "2", "--wrap", "true")
    fields = "JobID,JobIDRaw,Timelimit,AllocCPUS,NNodes,ReqMem,Partition,Account,WorkDir"
    assert place.ok("sacct", "-nP", "-o", fields, "-S", "2020-01-01", "--endtime", "now").splitlines() == [
        f"1|1|UNLIMITED|4|1|100M|here||{place.work}",
        f"2_3|2|00:02:00|1|1|0M|here||{place.work}",
        f"2_4|2|00:02:00|1|1|0M|here||{place.work}",
    ]
    assert place.ok("sacct", "-nP", "-j", "1.0,1.batch", "-o", "Reason") == ""
    assert place.ok("sacct", "-nP", "-j", "1", "-E", "2020-01-01", "-o", "JobID") == ""
    assert place.ok("sacct", "-nPb", "-j", "1") == "1|COMPLETED|0:0\n"
    names = place.ok("sacct", "--helpformat").split()
    assert {"JobID", "State", "WorkDir"} < set(names)
    assert place.ok("sacct", "-nP", "-j", "1", "-o", ",".join(names)).count("|") == len(names) - 1


def test_options_that_change_nothing(place: Place) -> None:
    words = ["--comment=a b", "--wckey", "x", "--hint=nomultithread", "--get-user-env", "--get-user-env=L"]
    words += ["--nice", "--nice=5", "-m", "block", "--mail-type=NONE", "-v", "--partition", "here"]
    ended = place.run("sbatch", "-W", *words, "-o", "out", "--wrap", "echo done")
    assert (ended.code, (place.work / "out").read_text()) == (0, "done\n")
    place.ok("sbatch", "--wrap", "true", env={"SBATCH_WCKEY": "x", "SBATCH_HINT": "nomultithread"})
