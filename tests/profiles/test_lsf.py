"""The profile lsf against what LSF 10.1 prints, after its documentation and published sessions."""

from __future__ import annotations

import contextlib
import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from osprofile.errors import IncarnationError
from osprofile.incarnation.incarnate import incarnate
from tests.profiles.conftest import CUT, DASH, quoted
from tests.profiles.test_hostile_values import VALUES
from tests.profiles.test_words import Commands, leave, user, words

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.profiles.conftest import Job, Target

pytestmark = DASH

BSUB = """#!/bin/sh
# what silences LSF's answer, or moves it to stderr
[ -z "$BSUB_QUIET" ] || exit 0
[ -z "$BSUB_STDERR" ] || exec >&2
for word in "$@"; do printf '%s\\n' "$word"; done > "$0.args"
cat > "$0.script"
cat "$0.out"
cat "$0.err" >&2
exit "$(cat "$0.rc")"
"""
SUBMITTED = "Job <7> is submitted to default queue <normal>.\n"
NOT_FOUND = "Job <7> is not found\n"
UNKNOWN = "GET_JOB_STATUS: unknown job 7\n"


class Lsf(Commands):
    """LSF's commands, with a bsub that reads the script from its standard input."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.bsub(SUBMITTED)
        self.set("bjobs", stderr="No job found\n", code=255)
        self.set("bhist", stderr="No matching job found\n", code=255)

    def bsub(self, stdout: str = "", stderr: str = "", code: int = 0) -> None:
        for name, text in (("out", stdout), ("err", stderr), ("rc", str(code))):
            (self.directory / f"bsub.{name}").write_text(text)
        (self.directory / "bsub").write_text(BSUB)
        (self.directory / "bsub").chmod(0o700)

    @property
    def script(self) -> str:
        return (self.directory / "bsub.script").read_bytes().decode()


@pytest.fixture
def commands(tmp_path: Path) -> Lsf:
    return Lsf(tmp_path / "commands")


@pytest.fixture
def lsf(target_of: Callable[..., Target], commands: Lsf) -> Target:
    return target_of("lsf", commands.directory)


def run(job: Job) -> int:
    """Run the script of a job or a task as LSF does."""
    number, _, index = job.id.rstrip("]").partition("[")
    return subprocess.run(
        ["sh", ".gpe/script"],
        env={**job.target.env, "LSB_JOBID": number, "LSB_JOBINDEX": index or "0"},
        cwd=job.directory,
        check=False,
        capture_output=True,
    ).returncode


def test_directives(lsf: Target, commands: Lsf) -> None:
    lsf.start(JOB_NAME="n", QUEUE="q", PROJECT="p", MEMORY="100", WALLTIME="90", CPUTIME="3600")
    assert commands.script.splitlines()[:10] == [
        "#!/bin/sh",
        "#BSUB -o /dev/null",
        "#BSUB -e /dev/null",
        "#BSUB -J n",
        "#BSUB -q q",
        "#BSUB -P p",
        "#BSUB -M 100MB",
        '#BSUB -R "rusage[mem=100MB]"',
        "#BSUB -W 2",
        "#BSUB -c 60",
    ]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"NODES": "2"}, ["2", "1"]),
        ({"PROCESSES": "4"}, ["4", "4"]),
        ({"CPUS": "3"}, ["3", "3"]),
        ({"NODES": "3", "PROCESSES": "7", "CPUS": "2"}, ["18", "6"]),
    ],
)
def test_slots(lsf: Target, commands: Lsf, fields: dict[str, str], expected: list[str]) -> None:
    lsf.start(**fields)
    slots, each = expected
    assert commands.args("bsub") == ["-n", slots]
    assert commands.script.splitlines()[4] == f'#BSUB -R "span[ptile={each}]"'


@pytest.mark.parametrize(
    ("passed", "reserved"),
    [
        ("-R rusage[mem=4GB]", ["-R rusage[mem=4GB]"]),
        ("-app a\n-R rusage[tmp=1:mem=4GB]", ["-R rusage[tmp=1:mem=4GB]"]),
        ("-R rusage[tmp=1]", ['-R "rusage[mem=100MB]"', "-R rusage[tmp=1]"]),
        ("", ['-R "rusage[mem=100MB]"']),
    ],
)
def test_memory_is_reserved_once(lsf: Target, commands: Lsf, passed: str, reserved: list[str]) -> None:
    """An option of the job script counts; LSF refuses memory that is reserved twice, and -R of the command line replaces others."""
    context = {"USER_NAME": "me", "WORKING_DIRECTORY": str(lsf.directory()), "PASSED": passed}
    start = incarnate(lsf.profile, "START", fields={"MEMORY": "100", "CPUS": "2"}, context=context)
    lsf.deploy(start.static_scripts)
    assert lsf.sh(start.text).returncode == 0
    asked = [line.removeprefix("#BSUB ") for line in commands.script.splitlines() if "rusage" in line]
    assert asked == reserved
    assert "-R" not in commands.args("bsub")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"GPUS": "2"}, "#BSUB -gpu num=2"),
        ({"GPUS": "1", "GPU_TYPE": "TeslaV100-16G"}, "#BSUB -gpu num=1:gmodel=TeslaV100-16G"),
        ({"EXCLUSIVE": "true"}, "#BSUB -x"),
        ({"START_TIME": "2026-01-02T03:04"}, "#BSUB -b 2026:01:02:03:04"),
        ({"START_TIME": "2026-12-31T23:59:00"}, "#BSUB -b 2026:12:31:23:59"),
        ({"REQUEUE": "true"}, "#BSUB -r"),
        ({"REQUEUE": "false"}, "#BSUB -rn"),
        ({"ARRAY": "7"}, '#BSUB -J "hostname[7]"'),
        ({"CONSTRAINT": "mem>5000&&!(a==b)"}, '#BSUB -R "select[mem>5000&&!(a==b)]"'),
        ({"ARRAY": "1-9:2,15%3", "JOB_NAME": "n"}, '#BSUB -J "n[1-9:2,15]%3"'),
    ],
)
def test_directives_of_fields(lsf: Target, commands: Lsf, fields: dict[str, str], expected: str) -> None:
    lsf.start(**fields)
    assert expected in commands.script.splitlines()
    assert commands.args("bsub") == []


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"RESERVATION": "user1#0"}, ["-U", "user1#0"]),
        ({"NOTIFY": "me@x.example,you"}, ["-u", "me@x.example you", "-N"]),
        ({"NOTIFY": "me", "NOTIFY_EVENTS": "begin"}, ["-u", "me", "-B"]),
        ({"NOTIFY": "me", "NOTIFY_EVENTS": "fail"}, ["-u", "me", "-Ne"]),
        ({"NOTIFY": "me", "NOTIFY_EVENTS": "fail,begin,end"}, ["-u", "me", "-B", "-N"]),
        ({"DEPENDENCY": "afterok:1"}, ["-w", "done(1)", "-ti"]),
        (
            {"DEPENDENCY": "afterok:1:2[3],afternotok:4,afterany:5:6"},
            ["-w", "done(1) && done(2[3]) && exit(4) && ended(5) && ended(6)", "-ti"],
        ),
    ],
)
def test_options_of_fields(lsf: Target, commands: Lsf, fields: dict[str, str], expected: list[str]) -> None:
    lsf.home.joinpath("23").touch()  # 2[3] is no pattern for the names of files
    lsf.start(**fields)
    assert commands.args("bsub") == expected


@pytest.mark.parametrize(
    ("name", "valid"),
    [
        ("CONSTRAINT", "a==b"),
        ("RESERVATION", "u#0"),
        ("NOTIFY", "me@x"),
        ("DEPENDENCY", "afterok:1"),
        ("GPU_TYPE", "v100"),
        ("ARRAY", "1-2"),
        ("START_TIME", "2026-12-31T23:59"),
        ("REQUEUE", "true"),
        ("EXCLUSIVE", "true"),
    ],
)
def test_a_hostile_value_is_refused_or_reaches_bsub_unchanged(
    lsf: Target, commands: Lsf, name: str, valid: str
) -> None:
    more = {"GPUS": "1"} if name == "GPU_TYPE" else {}
    for value in [part for text in VALUES for part in (text, valid + text, text + valid)]:
        with contextlib.suppress(IncarnationError):
            lsf.start(**{name: value}, **more)
            directives = [line for line in commands.script.splitlines() if line.startswith("#BSUB")]
            assert any(value in text for text in (*commands.args("bsub"), *directives)), value
            assert not re.search(r"[\s'\"\\\\$`;?~{}]|\]", value)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, ["a", "a", "a", "a", "b", "b", "b", "b"]),
        ({"CPUS": "2", "PROCESSES": "3", "NODES": "2"}, ["a", "a", "b"]),
    ],
)
def test_the_nodes_of_a_job(lsf: Target, fields: dict[str, str], expected: list[str]) -> None:
    hosts = lsf.home / "host s"
    hosts.write_text("a\n" * 4 + "b\n" * 4)
    lsf.environment["LSB_DJOB_HOSTFILE"] = str(hosts)
    job = lsf.start(NODE_FILE="nodes", **fields)
    assert run(job) == 0
    assert job.read("nodes").split() == expected


def test_fewer_processes_than_nodes_are_refused(lsf: Target) -> None:
    assert "cannot fill 3 nodes" in lsf.fails("START", NODES="3", PROCESSES="2")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Job <12345678> is submitted to queue <q>.\n", "12345678"),
        ("Memory: 2 GB, project <9>\nJob <7> is submitted to queue <normal>.\nhave a nice day\n", "7"),
        ("12\nfor Job <9> is submitted\nJob <7> is submitted to default queue <normal>.\n12\n", "7"),
    ],
)
def test_the_id_in_the_answer(lsf: Target, commands: Lsf, answer: str, expected: str) -> None:
    lsf.environment |= {"BSUB_QUIET": "y", "BSUB_STDERR": "y"}
    commands.bsub(answer)
    assert lsf.start().id == expected


@pytest.mark.parametrize(
    ("stdout", "stderr"),
    [
        ("", "normal: No such queue. Job not submitted.\n"),
        ("12\n", "Request aborted by esub. Job not submitted.\n"),
        # whatever it said of a job, it failed
        (SUBMITTED, "LSF is down.\n"),
    ],
)
def test_a_failed_submission_keeps_bsubs_words_and_exit_code(
    lsf: Target, commands: Lsf, stdout: str, stderr: str
) -> None:
    commands.bsub(stdout, stderr, 255)
    directory = lsf.directory()
    done = lsf.run("START", directory=directory)
    assert (done.returncode, done.stdout) == (255, "")
    assert stderr in done.stderr
    assert stdout in done.stderr
    commands.bsub(SUBMITTED)
    assert lsf.run("START", directory=directory).returncode == CUT
    assert lsf.find(directory) == ""
    assert lsf.start(directory).id == "7"


@pytest.mark.parametrize("answer", ["", "Job not submitted.\n", "Job <x> is submitted\n"])
def test_an_answer_without_an_id_may_be_a_job(lsf: Target, commands: Lsf, answer: str) -> None:
    commands.bsub(answer)
    done = lsf.run("START")
    assert (done.returncode, done.stdout) == (CUT, "")
    assert "without a job id" in done.stderr


def test_a_job_whose_answer_was_lost_is_found_again(lsf: Target, commands: Lsf) -> None:
    directory = lsf.home / "it's $(id) |"
    directory.mkdir(mode=0o700)
    (directory / ".gpe").mkdir()
    (directory / ".gpe/submitting").touch()
    commands.set("bjobs", f"5|/else/where\n6|{directory}x\n8|$HOME/it's $(id) |\n9|{directory}\n")
    assert lsf.find(directory) == "8"
    assert lsf.start(directory).id == "8"
    assert not (commands.directory / "bsub.script").exists()


def test_a_refused_submission_is_no_older_job_of_that_directory(lsf: Target, commands: Lsf) -> None:
    directory = lsf.directory()
    commands.bsub("", "normal: No such queue. Job not submitted.\n", 255)
    (commands.directory / "bjobs").write_text(
        f"#!/bin/sh\ncase $* in *-a*) echo '7|{directory}' ;; *) echo 'No unfinished job found' >&2; exit 255 ;; esac\n"
    )
    assert lsf.run("START", directory=directory).returncode == 255
    assert lsf.find(directory) == ""


OWNER = "TERM_OWNER: job killed by owner"
BJOBS = {
    "1|-|PEND|-|-|-": ("PEND", "QUEUED", None, None),
    "2|0|RUN|-|4*hostA:4*hostB|-": ("RUN", "RUNNING", None, None),
    "3|-|DONE|0|hostA|-": ("DONE", "DONE", 0, None),
    "4|-|DONE|-|hostA|-": ("DONE", "DONE", 0, None),
    "5|-|EXIT|3|hostA|-": ("EXIT/exit", "DONE", 3, None),
    "6|-|EXIT|127|hostA|-": ("EXIT/exit", "DONE", 127, None),
    "7|-|EXIT|137|hostA|-": ("EXIT", "FAILED", None, 9),
    "8|-|EXIT|137|hostA|TERM_EXTERNAL_SIGNAL: job killed by a signal external to LSF": ("EXIT", "FAILED", None, 9),
    "9|-|EXIT|140|hostA|TERM_RUNLIMIT: job killed after reaching LSF run time limit": ("EXIT/TERM_RUNLIMIT", "FAILED/TIME", None, None),
    "10|-|EXIT|1|hostA|TERM_MEMLIMIT: job killed after reaching LSF memory usage limit":
        ("EXIT/TERM_MEMLIMIT", "FAILED/MEMORY", None, None),
    "11|-|EXIT|152|hostA|TERM_CPULIMIT: job killed after reaching LSF CPU usage limit": ("EXIT/TERM_CPULIMIT", "FAILED/TIME", None, None),
    "27|-|EXIT|-|-|TERM_ORPHAN_SYSTEM: The orphan job was automatically terminated by LSF":
        ("EXIT/TERM_ORPHAN_SYSTEM", "REMOVED/DEPENDENCY", None, None),
    f"12|-|EXIT|130|hostA|{OWNER}": ("EXIT/TERM_OWNER", "REMOVED", None, None),
    "13|-|EXIT|143|hostA|TERM_ADMIN: job killed by root or LSF administrator": ("EXIT/TERM_ADMIN", "REMOVED", None, None),
    f"14|-|EXIT|-|-|{OWNER}": ("EXIT/TERM_OWNER", "REMOVED", None, None),
    "15|-|EXIT|0|-|-": ("EXIT/removed", "REMOVED", None, None),
    "16|-|EXIT|-|-|-": ("EXIT/removed", "REMOVED", None, None),
    "17|-|EXIT|-|hostA|TERM_WINDOW: job killed after queue run window is closed": ("EXIT/TERM_WINDOW", "FAILED/LIMIT", None, None),
    "18|-|EXIT|-|hostA|-": ("EXIT", "FAILED", None, None),
    "19|-|EXIT|143|hostA|-": ("removed", "REMOVED", None, None),
    "20|-|PSUSP|-|-|-": ("PSUSP", "HELD", None, None),
    "21|-|USUSP|-|hostA|-": ("USUSP", "HELD", None, None),
    "22|-|SSUSP|-|hostA|-": ("SSUSP", "HELD", None, None),
    "23|-|WAIT|-|hostA|-": ("WAIT", "QUEUED", None, None),
    "24|-|PROV|-|hostA|-": ("PROV", "QUEUED", None, None),
    "25|-|ZOMBI|-|hostA|-": ("ZOMBI", "RUNNING", None, None),
    "26|-|UNKWN|-|hostA|-": ("UNKWN", "RUNNING", None, None),
}  # fmt: skip


@pytest.mark.parametrize("reason", ["-", OWNER])
def test_a_program_that_bkills_first_signal_ends_was_removed(lsf: Target, commands: Lsf, reason: str) -> None:
    """It is INT, before TERM and KILL; the job's own shell outlives it, and records it."""
    leave(lsf, "7", removed="removed\n", exit_status="130\n")
    leave(lsf, "8", exit_status="130\n")
    commands.set("bjobs", f"7|-|EXIT|130|hostA|{reason}\n8|-|EXIT|130|hostA|-\n")
    statuses = lsf.statuses()
    assert (statuses["7"].state, statuses["8"].state, statuses["8"].signal) == ("REMOVED", "FAILED", 2)


def test_states(lsf: Target, commands: Lsf) -> None:
    leave(lsf, "19", removed="removed\n")
    commands.set("bjobs", "\n".join(BJOBS) + "\n", "LSF is slow. Please wait ...\n")
    assert words(lsf) == {line.partition("|")[0]: told for line, told in BJOBS.items()}
    assert lsf.statuses()["12"].reason == OWNER
    assert lsf.statuses()["27"].reason == "DEPENDENCY"
    assert commands.args("bjobs")[0] == (
        "-a -noheader -o jobid jobindex stat exit_code exec_host exit_reason pend_reason"
        " run_time cpu_used max_mem delimiter='|'"
    )
    for line, told in BJOBS.items():
        commands.set("bjobs", line + "\n")
        job = line.partition("|")[0]
        status = lsf.statuses("", JOB_ID=job)[job]
        assert (status.word, status.state, status.exit, status.signal) == told


def test_why_a_job_waits(lsf: Target, commands: Lsf) -> None:
    """LSF before 10.1 has no such field, and prints nothing about any job."""
    never = "Dependency condition invalid or never satisfied"
    commands.set("bjobs", f"1|-|PEND|-|-|-|{never};\n2|-|RUN|-|hostA|-|-\n")
    assert lsf.ok("GET_JOB_STATUS", "ALL").splitlines() == [
        f"1 PEND reason={never} (as it is, it will not start)",
        "2 RUN host=hostA cpus=1",
    ]
    commands.set("bjobs", "1|-|PEND|-|-|-\n")
    bjobs = commands.directory / "bjobs"
    refusal = (
        'case $* in *pend_reason*) echo "pend_reason is not a valid field name" >&2; exit 255 ;; esac\ncat'
    )
    bjobs.write_text(bjobs.read_text().replace("cat", refusal, 1))
    assert lsf.ok("GET_JOB_STATUS", "ALL") == "1 PEND\n"


def test_hosts_and_arrays(lsf: Target, commands: Lsf) -> None:
    commands.set("bjobs", "2|3|RUN|-|4*node-1.example:2*b|-\n2|4|RUN|-|a:a:b|-\n2|11|EXIT|-|-|-\n")
    assert lsf.ok("GET_JOB_STATUS", "ALL").splitlines() == [
        "2[3] RUN host=node-1.example cpus=6",
        "2[4] RUN host=a cpus=3",
        "2[11] EXIT/removed",
    ]
    assert set(lsf.statuses()) == {"2[3]", "2[4]", "2[11]"}


@pytest.mark.parametrize(
    ("stderr", "code"),
    [("No job found\n", 0), ("No job found\n", 255), ("No unfinished job found\n", 255)],
)
def test_no_jobs_are_an_empty_list(lsf: Target, commands: Lsf, stderr: str, code: int) -> None:
    commands.set("bjobs", stderr=stderr, code=code)
    assert lsf.statuses() == {}


@pytest.mark.parametrize("verb", ["GET_JOB_STATUS", "HOLD", "RESUME", "ABORT"])
@pytest.mark.parametrize("code", [0, 255])
def test_an_unknown_job_is_an_error(lsf: Target, commands: Lsf, verb: str, code: int) -> None:
    """By the site's choice, bjobs succeeds where it found nothing."""
    commands.set("bjobs", stderr=NOT_FOUND, code=code)
    assert "unknown" in lsf.fails(verb, JOB_ID="7")


BHIST = """
Job <{id}>, Job Name <gpe_job>, User <{user}>, Project <default>, Command <#!/bin/sh;#B
                     SUB -o /dev/null;Thu Mar 13 17:32:06: Done successfully;
                     Job <7>, User <{user}>>
Thu Mar 13 17:30:00: Submitted from host <hostX>, to Queue <normal>, CWD </var/tmp/
                     me/1>, Output File </dev/null>;
Thu Mar 13 17:30:05: Dispatched {slots} Task(s) on Host(s) <{slots}*hostA>, Allocate
                     d {slots} Slot(s) on Host(s) <{slots}*hostA>, Effective RES_REQ
                      <select[type == local] order[r15s:pg] >;
Thu Mar 13 17:30:05: Starting (Pid 258999);
{end}
Summary of time in seconds spent in various states by  Thu Mar 13 17:32:06
  PEND     PSUSP    RUN      USUSP    SSUSP    UNKWN    TOTAL
  5        0        121      0        0        0        126
"""
DONE = "Thu Mar 13 17:32:06: Done successfully. The CPU time used is 3.2 seconds;\n"
EXITED = "Thu Mar 13 17:32:06: Exited with exit code {}. The CPU time used is 31911.0 seco\n" + (
    " " * 21 + "nds;\n"
)
MEMLIMIT = "Thu Mar 13 17:32:06: Completed <exit>; TERM_MEMLIMIT: job killed after reaching\n" + (
    " " * 22 + "LSF memory usage limit;\n"
)
AGAIN = "Thu Mar 13 17:32:09: Dispatched 1 Task(s) on Host(s) <hostB>, Allocated 1 Slot(s);\n"
SIGNAL = "Thu Mar 13 17:32:06: Exited by signal 9. The CPU time used is 0.1 seconds;\n"


@pytest.mark.parametrize(
    ("end", "files", "expected"),
    [
        (DONE, {}, ("DONE", "DONE", 0, None)),
        (EXITED.format(3), {}, ("EXIT/exit", "DONE", 3, None)),
        (EXITED.format(143), {}, ("EXIT", "FAILED", None, 15)),
        (SIGNAL, {}, ("EXIT", "FAILED", None, 9)),
        (SIGNAL.replace("by signal", "by LSF signal"), {}, ("EXIT", "FAILED", None, 9)),
        (EXITED.format(1) + "\n" + MEMLIMIT, {}, ("EXIT/TERM_MEMLIMIT", "FAILED/MEMORY", None, None)),
        (SIGNAL + f"Thu Mar 13 17:32:06: Completed <exit>; {OWNER}.\n", {}, ("EXIT/TERM_OWNER", "REMOVED", None, None)),
        (EXITED.format(9) + AGAIN + DONE, {}, ("DONE", "DONE", 0, None)),
        (EXITED.format(9) + AGAIN, {}, None),
        ("", {}, None),
        # what the job left counts, but for a signal that may have been a limit
        (EXITED.format(3), {"exit_status": "7\n"}, ("exited", "DONE", 7, None)),
        (SIGNAL + MEMLIMIT, {"exit_status": "137\n"}, ("EXIT/TERM_MEMLIMIT", "FAILED/MEMORY", None, None)),
        ("", {"exit_status": "143\n"}, ("exited", "FAILED", None, 15)),
        ("", {"removed": "\n"}, ("removed", "REMOVED", None, None)),
    ],
)  # fmt: skip
def test_a_job_that_bjobs_has_forgotten(
    lsf: Target, commands: Lsf, end: str, files: dict[str, str], expected: tuple[object, ...] | None
) -> None:
    commands.set("bjobs", stderr=NOT_FOUND, code=255)
    commands.set("bhist", BHIST.format(id="7", user=user(), end=end, slots=1))
    leave(lsf, "7", **files)
    if expected is None:
        assert lsf.fails("GET_JOB_STATUS", JOB_ID="7") == UNKNOWN
    else:
        status = lsf.statuses("", JOB_ID="7")["7"]
        assert (status.word, status.state, status.exit, status.signal) == expected
        if expected[0] == "EXIT/TERM_MEMLIMIT":
            words = "TERM_MEMLIMIT: job killed after reaching LSF memory usage limit"
            assert status.reason == words


def test_the_history_of_an_element_of_an_array(lsf: Target, commands: Lsf) -> None:
    commands.set("bjobs", stderr="Job <7[3]> is not found\n", code=255)
    commands.set("bhist", BHIST.format(id="7[3]", user=user(), end=DONE, slots=12))
    assert lsf.ok("GET_JOB_STATUS", JOB_ID="7[3]") == "7[3] DONE exit=0 host=hostA cpus=12\n"
    assert lsf.fails("GET_JOB_STATUS", JOB_ID="7") == UNKNOWN


@pytest.mark.parametrize("other", [{"id": "77"}, {"user": "somebody"}])
def test_the_history_of_another_job(lsf: Target, commands: Lsf, other: dict[str, str]) -> None:
    commands.set("bjobs", stderr=NOT_FOUND, code=255)
    commands.set("bhist", BHIST.format(**({"id": "7", "user": user(), "end": DONE, "slots": 1} | other)))
    assert lsf.fails("GET_JOB_STATUS", JOB_ID="7") == UNKNOWN


@pytest.mark.parametrize(
    ("verb", "command", "states"),
    [
        ("HOLD", "bstop", ["PEND", "RUN"]),
        ("RESUME", "bresume", ["PSUSP", "USUSP"]),
        ("ABORT", "bkill", ["PEND", "RUN", "USUSP", "UNKWN"]),
    ],
)
def test_commands(lsf: Target, commands: Lsf, verb: str, command: str, states: list[str]) -> None:
    said = "Job <7>: User permission denied\n"
    leave(lsf, "7", script="")
    for state in states:
        commands.set("bjobs", f"7|-|{state}|-|-|-\n")
        commands.set(command, stderr=said, code=255)
        assert lsf.fails(verb, JOB_ID="7").endswith(said)
        assert not (lsf.home / ".gpe/jobs/lsf/7/.gpe/removed").exists()
    commands.set(command, "Job <7> is being told\n")
    assert lsf.ok(verb, JOB_ID="7") == ""
    tries = 2 if verb == "ABORT" else 1  # of what is refused
    assert commands.args(command) == ["7"] * (tries * len(states) + 1)
    assert (lsf.home / ".gpe/jobs/lsf/7/.gpe/removed").exists() == (verb == "ABORT")


def start_array(lsf: Target, indices: str) -> Job:
    words = quoted("-c", "exit $GPE_ARRAY_INDEX")
    return lsf.start(ARRAY=indices, EXECUTABLE="/bin/sh", ARGUMENTS=words)


def test_an_array_from_start_to_end(lsf: Target, commands: Lsf) -> None:
    array = start_array(lsf, "1-3:2,7%2")
    tasks = [array.task(index) for index in (1, 3, 7)]
    assert [array.id, *(task.id for task in tasks)] == ["7", "7[1]", "7[3]", "7[7]"]
    commands.set("bjobs", "7|1|RUN|-|hostA|-\n7|3|PEND|-|-|-\n7|7|PEND|-|-|-\n")
    assert [run(task) for task in tasks] == [1, 3, 7]
    told = {"7[1]": ("RUN", "RUNNING"), "7[3]": ("PEND", "QUEUED"), "7[7]": ("PEND", "QUEUED")}
    for statuses in (lsf.statuses(), lsf.statuses("", JOB_ID="7")):
        assert {job_id: (s.word, s.state) for job_id, s in statuses.items()} == told
    commands.set("bjobs", stderr=NOT_FOUND, code=255)
    assert {s.id: s.exit for s in lsf.statuses("", JOB_ID="7").values()} == {"7[1]": 1, "7[3]": 3, "7[7]": 7}
    assert [task.status().exit for task in tasks] == [1, 3, 7]


def test_an_array_of_which_lsf_tells_the_ids_with_the_indices(lsf: Target, commands: Lsf) -> None:
    commands.set("bjobs", "7[1]|1|RUN|-|hostA|-\n7[3]|3|DONE|-|hostA|-\n")
    assert [*lsf.statuses()] == ["7[1]", "7[3]"]


def test_an_array_that_was_removed_and_forgotten(lsf: Target, commands: Lsf) -> None:
    array = start_array(lsf, "2-4")
    commands.set("bkill", "Job <7> is being terminated\n")
    assert run(array.task(2)) == 2
    commands.set("bjobs", "7|2|EXIT|2|hostA|-\n7|3|RUN|-|hostA|-\n7|4|PEND|-|-|-\n")
    task = array.directory / ".gpe/tasks/3"
    (task / ".gpe").mkdir(parents=True)
    assert lsf.ok("ABORT", JOB_ID="7") == ""
    assert commands.args("bkill") == ["7"]
    (task / ".gpe_exit_status").write_text("143\n")
    commands.set("bjobs", "7|2|EXIT|2|hostA|-\n7|3|EXIT|143|hostA|-\n7|4|EXIT|-|-|-\n")
    assert [s.state for s in lsf.statuses("", JOB_ID="7").values()] == ["DONE", "REMOVED", "REMOVED"]
    assert "already ended" in lsf.fails("ABORT", JOB_ID="7")
    commands.set("bjobs", stderr=NOT_FOUND, code=255)
    told = lsf.statuses("", JOB_ID="7")
    assert {job_id: s.state for job_id, s in told.items()} == {
        "7[2]": "DONE",
        "7[3]": "REMOVED",
        "7[4]": "REMOVED",
    }


@pytest.mark.parametrize(
    ("verb", "command", "states", "asked"),
    [
        ("HOLD", "bstop", ["PSUSP"], False),
        ("HOLD", "bstop", ["DONE", "RUN", "USUSP"], True),
        ("HOLD", "bstop", ["DONE", "PSUSP", "USUSP"], False),
        ("RESUME", "bresume", ["RUN"], False),
        ("RESUME", "bresume", ["PEND", "USUSP"], True),
        ("RESUME", "bresume", ["PEND", "DONE"], False),
        ("ABORT", "bkill", ["DONE", "EXIT", "PEND"], True),
    ],
)
def test_lsf_is_asked_only_where_there_is_something_to_do(
    lsf: Target, commands: Lsf, verb: str, command: str, states: list[str], *, asked: bool
) -> None:
    indices = range(1, len(states) + 1) if len(states) > 1 else ["-"]
    commands.set("bjobs", "".join(f"7|{i}|{state}|-|-|-\n" for i, state in zip(indices, states, strict=True)))
    commands.set(command, "Job <7> is being told\n")
    (commands.directory / f"{command}.args").touch()
    assert lsf.ok(verb, JOB_ID="7") == ""
    assert commands.args(command) == ["7"] * asked


def test_a_signal_for_an_array_reaches_the_tasks_that_run(lsf: Target, commands: Lsf) -> None:
    commands.set("bjobs", "7|1|RUN|-|hostA|-\n7|2|PEND|-|-|-\n7|3|RUN|-|hostA|-\n7|4|DONE|-|hostA|-\n")
    commands.set("bkill", "Job <7[1]> is being signaled\n")
    assert lsf.ok("SIGNAL", JOB_ID="7", SIGNAL="9") == ""
    assert commands.args("bkill") == ["-s 9 7[1] 7[3]"]
    commands.set("bjobs", "7|1|PEND|-|-|-\n")
    assert "only running jobs" in lsf.fails("SIGNAL", JOB_ID="7", SIGNAL="9")


def test_what_lsf_tells_of_usage(lsf: Target, commands: Lsf) -> None:
    lines = [
        "7|0|RUN|-|hostA|-|-|3 second(s)|2.5 second(s)|200 Mbytes",
        "8|2|EXIT|1|hostA|-|-|61 second(s)|0.1 second(s)|1.5 Gbytes",
        "9|0|DONE|-|hostA|-|-|1 second(s)|-|-",
        "10|0|PEND|-|-|-|-|0 second(s)|0.0 second(s)|-",
        "11|0|RUN|-|hostA|-|a|b|3 second(s)|2.5 second(s)|-",
    ]
    commands.set("bjobs", "\n".join(lines) + "\n")
    assert lsf.ok("GET_JOB_STATUS", "ALL").splitlines() == [
        "7 RUN host=hostA elapsed=3 cpu=2.5 memory=209715200 cpus=1",
        "8[2] EXIT/exit exit=1 host=hostA elapsed=61 cpu=0.1 memory=1610612736 cpus=1",
        "9 DONE exit=0 host=hostA elapsed=1 cpus=1",
        "10 PEND",
        "11 RUN host=hostA elapsed=3 cpu=2.5 cpus=1",
    ]


def test_several_jobs_are_one_query(lsf: Target, commands: Lsf) -> None:
    commands.set("bjobs", "5|0|RUN|-|hostA|-\n6|2|DONE|-|hostB|-\n6|3|PEND|-|-|-\n", stderr=NOT_FOUND)
    leave(lsf, "7", exit_status="4\n")
    statuses = lsf.statuses("SEVERAL", JOB_IDS="5 6 7 8")
    assert {(s.id, s.state, s.exit) for s in statuses.values()} == {
        ("5", "RUNNING", None), ("6[2]", "DONE", 0), ("6[3]", "QUEUED", None), ("7", "DONE", 4),
    }  # fmt: skip
    assert len(commands.args("bjobs")) == 1


def test_an_empty_answer_is_none(lsf: Target, commands: Lsf) -> None:
    """LSF says so when it knows no job."""
    job = lsf.start()
    commands.set("bjobs")
    for variation, fields in (("ALL", {}), ("", {"JOB_ID": job.id}), ("SEVERAL", {"JOB_IDS": f"{job.id} 8"})):
        done = lsf.run("GET_JOB_STATUS", variation, **fields)
        assert (done.returncode, done.stdout) == (2, "")
        assert "bjobs printed nothing" in done.stderr
    (job.directory / ".gpe/id").unlink()
    assert lsf.run("FIND_JOB", directory=job.directory).returncode == CUT


def test_a_task_that_gets_a_signal_is_no_pattern_for_the_names_of_files(lsf: Target, commands: Lsf) -> None:
    commands.set("bjobs", "7|3|RUN|-|hostA|-\n")
    commands.set("bkill", "Job <7[3]> is being signaled\n")
    lsf.home.joinpath("73").touch()
    done = lsf.sh(f"cd '{lsf.home}'\n{lsf.script('SIGNAL', JOB_ID='7', SIGNAL='10')}")
    assert done.returncode == 0
    assert commands.args("bkill") == ["-s 10 7[3]"]
