"""The commands of Torque as Nextflow, Galaxy and old scripts call them."""

from __future__ import annotations

import json
import os
import pwd
import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

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

NEXTFLOW = r"""
set -eu
task() { # NAME EXIT: the header and the shape of Nextflow's .command.run
  mkdir -p "work/$1 it's" && cd "work/$1 it's"
  { printf '#!/bin/bash\n#PBS -N nf-%s\n' "$1"
    printf '#PBS -o %s\n' "$(printf '%q' "$PWD/.command.log")"
    printf '#PBS -j oe\n#PBS -l nodes=1:ppn=2\n#PBS -l walltime=01:00:00\n#PBS -l mem=200mb\n'
    printf 'NXF_CHDIR=%q\ncd "$NXF_CHDIR"\n' "$PWD"
    printf 'set -e\necho "out $PBS_JOBID"; echo err >&2; echo %s > .exitcode; exit %s\n' "$2" "$2"; } > .command.run
  qsub -N "nf-$1" .command.run
  cd ../..
}
task one 0
task two 3
printf '#!/bin/bash\n#PBS -N nf-long\nsleep 1000\n' > long && qsub -N nf-long long
while :; do
  bash -c "set -o pipefail; qstat -f -1 | { grep -E '(Job Id:|job_state =)' || true; }" > states
  if [ "$(grep -c 'job_state = C' states)" = 2 ] && grep -q 'job_state = R' states; then break; fi
  sleep 0.2
done
cat states
qdel 3.osprofile
qstat -f -1 3.osprofile | grep -E 'job_state|exit_status'
cat 'work/one it'\''s/.command.log' 'work/two it'\''s/.command.log'
"""


def test_nextflow(place: Place) -> None:
    ended = place.shell(NEXTFLOW)
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert lines[:3] == ["1.osprofile", "2.osprofile", "3.osprofile"]
    states = [
        f"Job Id: {n}.osprofile\n    job_state = {state}" for n, state in ((1, "C"), (2, "C"), (3, "R"))
    ]
    assert lines[3:9] == "\n".join(states).splitlines()
    assert [line.strip() for line in lines[9:11]] == ["job_state = C", "exit_status = 271"]
    assert lines[11:] == ["out 1.osprofile", "err", "out 2.osprofile", "err"]


def test_galaxy(place: Place) -> None:
    place.script("#!/bin/sh\n#PBS -o out\n#PBS -e err\n#PBS -N galaxy\necho 1; echo 2 >&2; exit 3\n")
    job_id = place.ok("qsub", "job.sh").strip()
    assert re.fullmatch(r"\d+\.osprofile", job_id)
    wait_until(lambda: "job_state = C" in place.ok("qstat", "-f", job_id))
    (line,) = place.ok("qstat", "-x").splitlines()
    tree = ET.fromstring(line)  # noqa: S314  # our own output
    (job,) = tree.findall("Job")
    assert (tree.tag, job.findtext("Job_Id"), job.findtext("job_state")) == ("Data", job_id, "C")
    assert job.findtext("exit_status") == "3"
    assert [(place.work / name).read_text() for name in ("out", "err")] == ["1\n", "2\n"]


@pytest.mark.parametrize(
    ("status", "exit_status"),
    [
        (JobStatus("", JobState.DONE, exit_code=0), 0),
        (JobStatus("", JobState.DONE, exit_code=3), 3),
        (JobStatus("", JobState.DONE), -1),
        (JobStatus("", JobState.FAILED), -1),
        (JobStatus("", JobState.FAILED, signal=9), 265),
        (JobStatus("", JobState.FAILED, cause=EndCause.LIMIT), 271),
        (JobStatus("", JobState.REMOVED), 271),
        (JobStatus("", JobState.LOST), -1),
    ],
)
def test_ends(status: JobStatus, exit_status: int) -> None:
    assert (facts.get_letter(status, "torque"), facts.get_exit_status(status)) == ("C", exit_status)


def test_live_states() -> None:
    def letter(state: JobState, started: float | None = None) -> str:
        return facts.get_letter(JobStatus("x", state, started=started), "torque")

    assert [letter(JobState.QUEUED), letter(JobState.RUNNING)] == ["Q", "R"]
    assert [letter(JobState.HELD), letter(JobState.HELD, 1.0)] == ["H", "S"]
    assert [letter(JobState.UNKNOWN), letter(JobState.UNKNOWN, 1.0)] == ["Q", "R"]


def test_the_environment(place: Place) -> None:
    env = {"MINE": "a 'b'", "OTHER": "x", "LOGNAME": "alice"}
    place.script(
        '#!/bin/sh\nprintf "%s\\n" "${MINE-none}" "${OTHER-none}" "${NEW-none}"; echo "$PBS_O_LOGNAME $PBS_O_WORKDIR"\n'
    )
    found = []
    for i, words in enumerate((["-V"], [], ["-v", "MINE,NEW='1,2'"]), 1):
        place.ok("qsub", "-j", "oe", "-o", "out", *words, "job.sh", env=env)
        wait_until(lambda i=i: "job_state = C" in place.ok("qstat", "-f", str(i)))  # type: ignore[misc]
        found.append((place.work / "out").read_text().splitlines())
    origin = f"alice {place.work}"
    assert found == [
        ["a 'b'", "x", "none", origin],
        ["none", "none", "none", origin],
        ["a 'b'", "none", "1,2", origin],
    ]


def test_variables_of_pbs(place: Place) -> None:
    place.script('#!/bin/sh\nenv | grep ^PBS_ | sort; wc -l < "$PBS_NODEFILE"; pwd\n')
    place.ok("qsub", "-N", "a (b)", "-l", "nodes=1:ppn=4", "-l", "walltime=60,mem=1gb", "-o", "out", "job.sh")
    wait_until(lambda: "job_state = C" in place.ok("qstat", "-f", "1"))
    *lines, count, directory = (place.work / "out").read_text().splitlines()
    assert dict(line.split("=", 1) for line in lines).items() >= {
        "PBS_JOBID": "1.osprofile", "PBS_JOBNAME": "a (b)", "PBS_ENVIRONMENT": "PBS_BATCH", "PBS_NP": "4",
        "PBS_NUM_NODES": "1", "PBS_NUM_PPN": "4", "PBS_O_WORKDIR": str(place.work),
    }.items()  # fmt: skip
    assert (count.strip(), directory) == ("4", str(place.work))


def test_a_script_that_names_no_shell_runs_by_the_login_shell(place: Place) -> None:
    """An empty first line is enough."""
    login_shell = pwd.getpwuid(os.geteuid()).pw_shell
    for text, shell in (
        ("\nreadlink /proc/$$/exe\n", login_shell),
        ("#!/bin/sh\nreadlink /proc/$$/exe\n", "/bin/sh"),
    ):
        place.ok("qsub", "-N", "job", "-o", "out", text=text)
        wait_until(lambda: (place.work / "out").exists() and (place.work / "out").read_text())
        assert (place.work / "out").read_text() == f"{os.path.realpath(shell)}\n"
        (place.work / "out").unlink()


def test_default_files(place: Place) -> None:
    place.ok("qsub", text="echo 1; echo 2 >&2\n")
    place.ok("qsub", "-N", "n", "-j", "eo", text="echo 1; echo 2 >&2\n")
    (place.work / "dir").mkdir()
    place.ok(
        "qsub", "-N", "n", "-o", "localhost:dir", "-e", "dir/$PBS_JOBID.err", text="echo 1; echo 2 >&2\n"
    )
    place.ok("qsub", "-N", "a", "-t", "1-2", text="echo $PBS_ARRAYID $PBS_JOBID\n")
    script = place.script('echo "$1,$2" $BASH_VERSION\n')
    place.ok("qsub", "-z", "-S", "/bin/bash", "-F", "'a b' c", "-o", "args", script)
    wait_until(lambda: place.ok("qselect") == "")
    contents = {
        str(path.relative_to(place.work)): path.read_text()
        for path in place.work.rglob("*")
        if path.is_file() and path.name != "job.sh"
    }
    version = contents.pop("args")
    assert re.fullmatch(r"a b,c \d.*\n", version)
    assert contents == {
        "STDIN.o1": "1\n", "STDIN.e1": "2\n", "n.e2": "1\n2\n", "dir/n.o3": "1\n", "dir/3.osprofile.err": "2\n",
        "a.o4-1": "1 4[1].osprofile\n", "a.e4-1": "", "a.o4-2": "2 4[2].osprofile\n", "a.e4-2": "",
        "job.sh.e5": "",
    }  # fmt: skip
    assert place.ok("qstat", "-f", "4[2]").startswith("Job Id: 4[2].osprofile\n")
    assert place.ok("qstat", "-f", "4[]").startswith("Job Id: 4[].osprofile\n")
    assert place.ok("qstat", "-t", "-f", "4[]").count("Job Id: ") == 2


def test_nodes(place: Place) -> None:
    name, *lines = place.ok("pbsnodes", "-a").splitlines()
    assert lines[:3] == ["     state = free", f"     np = {os.cpu_count()}", "     ntype = cluster"]
    assert re.search(r"     status = ncpus=\d+,physmem=\d+kb,", lines[3])
    tree = ET.fromstring(place.ok("pbsnodes", "-x"))  # noqa: S314  # our own output
    assert (tree.findtext("Node/name"), tree.findtext("Node/np")) == (name, str(os.cpu_count()))


def test_unknown_jobs(place: Place) -> None:
    for word in ("99", "99.osprofile"):
        ended = place.run("qstat", "-f", word)
        assert (ended.code, ended.out, ended.err) == (153, "", "qstat: Unknown Job Id 99.osprofile\n")
        assert place.run("qdel", word).code == 153
    place.ok("qsub", text="true\n")
    ended = place.run("qstat", "1", "99")
    assert (ended.code, "1.osprofile" in ended.out) == (153, True)
    wait_until(lambda: place.ok("qselect") == "")
    ended = place.run("qdel", "1")
    assert (ended.code, ended.err) == (170, "qdel: Request invalid for state of job 1.osprofile\n")


def test_selections_and_dependencies(place: Place) -> None:
    place.ok("qsub", "-N", "first", text="sleep 1000\n")
    place.ok("qsub", "-N", "second", "-W", "depend=afterany:1.osprofile", text="echo later\n")
    wait_until(lambda: place.ok("qselect", "-s", "R") == "1.osprofile\n")
    assert place.ok("qselect", "-s", "QH") == "2.osprofile\n"
    assert place.ok("qselect", "-N", "first", "-q", "any") == "1.osprofile\n"
    assert place.ok("qselect", "-u", "nobody") == ""
    assert [line.split()[0] for line in place.ok("qstat").splitlines()[2:]] == ["1.osprofile", "2.osprofile"]
    assert place.ok("qdel", "1") == ""
    wait_until(lambda: place.ok("qselect") == "")
    assert (place.work / "second.o2").read_text() == "later\n"


def test_json(place: Place) -> None:
    """As Torque's qstat has none, programs read that of PBS: an id is the key, and resources are nested."""
    place.ok("qsub", "-N", "demo", "-l", "nodes=1:ppn=2,walltime=60", text="exit 3\n")
    wait_until(lambda: "job_state = C" in place.ok("qstat", "-f", "1"))
    job = json.loads(place.ok("qstat", "-f", "-F", "json", "1"))["Jobs"]["1.osprofile"]
    assert (job["Job_Name"], job["job_state"], job["exit_status"]) == ("demo", "C", 3)
    assert job["Resource_List"] == {"ncpus": 2, "nodect": 1, "walltime": "00:01:00"}


REFUSED = [
    (["-h"], "-h: incarnate job hold holds a job"),
    (["-I"], "-I: a job has no terminal"),
    (["-W", "block=true"], "-W: incarnate job submit --wait waits for the end"),
    (["-l", "vmem=1gb"], "option '-l vmem=1gb' is not supported"),
    (["-l", "nodes=1:bigmem"], "-l nodes: 'bigmem' is not supported"),
    (["-l", "nodes=node7"], "-l nodes: 'node7' is not supported"),
    (["-l", "select=1"], "option '-l select=1' is not supported"),
    (["-l", "procs=1,nodes=1"], "nodes and procs exclude each other"),
    (["-J", "1-2"], "option -J is not supported"),
    (["-l", "walltime=soon"], "-l walltime: 'soon' is not a time"),
    (["-l", "mem=lots"], "-l mem: 'lots' is not a size"),
    (["-l", "nodes=2"], "option -l nodes '2': field NODES: '2' is above the Max of 1"),
    (["-j", "x"], "-j: 'x' is not supported"),
    (["-m", "x"], "-m: 'x' is not supported"),
    (["-W", "umask=022"], "-W: the script may call umask"),
    (["-W", "group_list=g"], "-W group_list: a job has the group of its user"),
    (["-u", "nobody"], "-u: a job is that of the user who submits it"),
    (["-q", "@"], "-q: '@' names no queue"),
    (["-a", "soon"], "-a: 'soon' is not a time"),
    (["-W", "depend=on:2"], "-W depend: 'on:2' is not supported"),
    (["-W", "depend=afterok:99"], "-W depend: there is no job 99"),
    (["-p", "high"], "-p: 'high' is not a number"),
]


def test_what_is_refused(place: Place) -> None:
    for words, text in REFUSED:
        ended = place.run("qsub", *words, text="true\n")
        assert (ended.code in {1, 2}, ended.out) == (True, ""), words
        assert text in ended.err
        assert "hint: " in ended.err
    assert place.sessions == []


def test_hostile_values(place: Place) -> None:
    canary = place.work / "canary"
    values = [*CARRIED, f"$(touch '{canary}')", f"'; touch '{canary}'; '"]
    place.script('#!/bin/sh\nprintf "%s\\0" "$@" "$HOSTILE" "$PBS_JOBNAME"\n')
    chosen = [*values[::12], *values[-2:]]
    for i, value in enumerate(chosen):
        name = f"{place.work}/o{i} " + value.replace("/", "").replace("^", "")
        words = ["-V", f"-N{value}", "-j", "oe", "-o", name, "job.sh", *values]
        assert place.ok("qsub", *words, env={"HOSTILE": value}) == f"{i + 1}.osprofile\n"
    wait_until(lambda: place.ok("qselect") == "")
    for i, value in enumerate(chosen):
        (path,) = place.work.glob(f"o{i} *")
        assert path.read_bytes().decode().split("\0")[:-1] == [*values, value, value]
    assert not canary.exists()


WORDS = [
    "-N",
    "-l",
    "nodes=1:ppn=2",
    "-x",
    "-f",
    "-1",
    "-F",
    "json",
    "1",
    "99",
    "1[]",
    "-u",
    "root",
    "--",
    "-",
    "",
    "-s",
]
words = st.lists(
    st.sampled_from(WORDS)
    | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=6),
    max_size=5,
)


@settings(max_examples=rounds(25, 4))
@given(st.sampled_from(["qstat", "qdel", "qselect", "qsub"]), words)
def test_any_command_line(place: Place, program: str, line: list[str]) -> None:
    line = ["-lnodes=2", *line] if program == "qsub" else line  # two nodes: no job begins
    ended = place.run(program, *line)
    assert ended.code in {0, 1, 2, 153}
    assert ended.code == 0 or ended.err
    assert "internal error" not in ended.err
