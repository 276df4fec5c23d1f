"""The batch systems that the stories of test_stories.py are told of: a stand-in of each, and `linux`, which is real.

A stand-in is a program of shell in the folder `stand_ins`, under the names of the batch system's commands. It answers as
the real ones did, or as the manual shows, from the file `jobs` beside it. The classes here play the rest of the batch
system: they begin jobs and end them, and write into that file what becomes of them. tests/lab has the real ones.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from typing import TYPE_CHECKING, ClassVar, Final

import pytest

from tests.profiles.conftest import Job, Target
from tests.profiles.test_pbs import OPENPBS, Server
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

STAND_INS: Final = OPENPBS.parent / "stand_ins"
INTERFERENCES: Final = {
    "refused": 'echo "no such queue: sorry" >&2; exit 1',
    "killed before": "kill -s KILL $PPID; exit 1",
    "killed after": 'PATH=$REST "$name" "$@" > /dev/null; kill -s KILL $PPID; exit 1',
    "answer lost": 'PATH=$REST "$name" "$@" > /dev/null 2>&1; exit 0',
}
"""What may go wrong with the command that submits, which is `$name`."""


def get_task(array: Job, index: str) -> Job:
    """Return a task of an array, with the id that the profile gives it; without an index, the job itself."""
    return array.task(index) if index else array


class System:
    """A batch system, and a target system with its profile.

    - `kind`: how a story is known to be true: real, stand-in, or documentation, if the stand-in answers as a manual says
    - `answers`: what it answers like
    - `cannot`: the stories that the batch system, or its profile, cannot do, with the reason
    - `waits`: the fields of a job that does not begin by itself
    """

    profile: ClassVar[str]
    kind: ClassVar[str] = "stand-in"
    answers: ClassVar[str]
    cannot: ClassVar[dict[str, str]] = {}
    waits: ClassVar[dict[str, str]] = {}
    is_all_with_ended: ClassVar[bool] = False
    """Whether GET_JOB_STATUS ALL tells of jobs that have ended."""

    def __init__(self, target: Target) -> None:
        self.target = target

    def begin(self, job: Job, index: str = "") -> None:
        """Let a job begin; its program runs."""
        raise NotImplementedError

    def end(self, job: Job, index: str = "") -> int | None:
        """Let a job end by itself; return the exit status of its script, if this is known here."""
        raise NotImplementedError


class Linux(System):
    """Jobs begin by themselves."""

    profile = "linux"
    kind = "real"
    answers = "processes of this machine"
    is_all_with_ended = True
    waits: ClassVar = {"START_TIME": "2037-01-31T08:00"}
    cannot: ClassVar = {
        "end without a record": "nobody else knows the end: the job is LOST",
        "memory limit": "nobody counts the memory of processes",
        "requeue": "nothing runs a job again",
        **dict.fromkeys(("absence", "return"), "there is nobody to ask"),
        "refused submission": "there is nobody to refuse it",
        "reasons": "a job waits only for what it was asked to wait for",
        "forgotten jobs": "the job's own record is all that is known",
        "killed submission": "test_crashes.py kills START at each of its commands",
        "lost answer": "the job writes its own id down before it is said",
    }

    def begin(self, job: Job, index: str = "") -> None:
        wait_until(lambda: get_task(job, index).status().state == "RUNNING")

    def end(self, job: Job, index: str = "") -> int | None:
        get_task(job, index).wait()
        return None


class StandIn(System):
    """A batch system whose commands are a program of `stand_ins`, with its file `jobs`.

    - `commands`: their names
    - `submits`: the command that submits, and a pattern of the shell for its words
    - `key`: the columns of `jobs` that are a job's number and index
    - `words`: what is written into `jobs`, from the column `column` on, if that happens to a job
    """

    commands: ClassVar[str]
    submits: ClassVar[str]
    separator: ClassVar[str] = "|"
    key: ClassVar[tuple[int, ...]] = (0, 1)
    column: ClassVar[int] = 2
    words: ClassVar[dict[str, str]]
    variables: ClassVar[dict[str, str]] = {}
    """Of a job, with {id}, and of a task, with {id} of its array and {index}: TASK_ in front."""
    first_index: ClassVar[str] = ""
    """What stands in the place of an index for a job that is no array."""
    away_words: ClassVar[str]
    """What it says when it does not answer."""
    is_away_known: ClassVar[bool] = True
    """Whether these words prove that nothing was taken."""
    needs: ClassVar[str] = "sh"
    """A program that the profile needs and that may be missing."""

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        if shutil.which(self.needs) is None:
            pytest.skip(f"{self.needs} is not installed")
        self.directory = target.path[0]
        text = (STAND_INS / f"{self.profile}.sh").read_text()
        for name in self.commands.split():
            (self.directory / name).write_text(text)
            (self.directory / name).chmod(0o755)
        (self.directory / "jobs").touch()
        self.processes: dict[tuple[str, str], subprocess.Popen[bytes]] = {}

    @property
    def away(self) -> Path:
        """The file that says that the batch system does not answer."""
        return self.directory / "away"

    def count(self) -> int:
        """Return how many jobs there are."""
        return len((self.directory / "jobs").read_text().splitlines())

    def interfere(self, how: str) -> None:
        """Let something go wrong with submissions from now on; `nothing` ends it."""
        directory = self.target.root.parent / "interference"
        directory.mkdir(exist_ok=True)
        name, _, words = self.submits.partition(" ")
        rest = os.pathsep.join(
            part for part in self.target.env["PATH"].split(os.pathsep) if part != str(directory)
        )
        if how == "nothing":
            (directory / name).unlink()
            return
        (directory / name).write_text(
            f"#!/bin/sh\nREST='{rest}' name={name}\n"
            f'case "$*" in {words or "*"}) {INTERFERENCES[how]} ;; *) PATH=$REST exec "$name" "$@" ;; esac\n'
        )
        (directory / name).chmod(0o755)
        if directory not in self.target.path:
            self.target.path.insert(0, directory)

    def get_key(self, job: Job, index: str) -> list[str]:
        """Return what is in the columns of `key` for a job or a task."""
        return [job.id.partition("[")[0].partition(".")[0], index or self.first_index][: len(self.key)]

    def tell(self, job: Job, what: str, index: str = "", code: int = 0) -> None:
        """Let the batch system say that this has happened to a job."""
        what = what if what != "exit" or code or "exit 0" not in self.words else "exit 0"
        what = "signal" if what == "exit" and code > 128 and "signal" in self.words else what
        self.write(job, self.words[what].format(code=code, wait=code * 256, signal=code - 128), index)

    def write(self, job: Job, words: str, index: str = "") -> None:
        """Write words of the batch system into what it tells of a job."""
        told = words.split(self.separator)
        file, lines = self.directory / "jobs", []
        for line in file.read_text().splitlines():
            parts = line.split(self.separator)
            if [parts[column] for column in self.key] == self.get_key(job, index):
                parts[self.column : self.column + len(told)] = told
            lines.append(self.separator.join(parts))
        file.write_text("".join(f"{line}\n" for line in lines))

    def forget(self, job: Job) -> None:
        """Let the batch system not know a job any more."""
        file, number = self.directory / "jobs", self.get_key(job, "")[0]
        lines = file.read_text().splitlines(keepends=True)
        file.write_text("".join(line for line in lines if line.split(self.separator)[0] != number))

    def get_command(self, job: Job, index: str) -> list[str]:  # noqa: ARG002  # that of a task, too
        """Return the command that is a job: its script, or the copy that the batch system made as it took it."""
        copy = self.directory / f"script.{job.id}"
        return ["sh", str(copy) if copy.exists() else f"{job.directory}/.gpe/script"]

    def begin(self, job: Job, index: str = "") -> None:
        task = get_task(job, index)
        variables = {
            name.removeprefix("TASK_"): text.format(id=job.id, index=index, task=task.id)
            for name, text in self.variables.items()
            if index or not name.startswith("TASK_")
        }
        process = subprocess.Popen(
            self.get_command(job, index),
            env={**self.target.env, **variables},
            cwd=job.directory,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        (self.directory / f"session.{task.id}").write_text(f"{process.pid}\n")
        self.processes[job.id, index] = process
        self.tell(job, "running", index)

    def wait(self, job: Job, index: str = "") -> int:
        """Wait until the processes of a job have ended; the batch system does not say it yet."""
        with self.processes.pop((job.id, index)) as process:
            code = process.wait()
        return code if code >= 0 else 128 - code

    def end(self, job: Job, index: str = "") -> int | None:
        code = self.wait(job, index)
        self.tell(job, "exit", index, code)
        return code

    def kill(self, job: Job, index: str = "") -> None:
        """End the processes of a job, as a batch system does that has removed it, or that ends it for a limit."""
        if process := self.processes.pop((job.id, index), None):
            with process:
                os.killpg(process.pid, signal.SIGKILL)

    def close(self) -> None:
        """End what still runs."""
        for job_id, index in [*self.processes]:
            self.kill(Job(self.target, job_id, self.target.home), index)


class Slurm(StandIn):
    profile = "slurm"
    away_words = "Unable to contact slurm controller"
    answers = "Slurm 22.05"
    commands = "sbatch squeue scancel scontrol sacct sstat"
    submits = "sbatch"
    words: ClassVar = {
        "running": "RUNNING|0|None", "waiting": "PENDING|0|Priority", "exit 0": "COMPLETED|0|None",
        "exit": "FAILED|{wait}|NonZeroExitCode", "time limit": "TIMEOUT|0|TimeLimit",
        "memory limit": "OUT_OF_MEMORY|32000|OutOfMemory", "dependency": "CANCELLED|0|DependencyNeverSatisfied",
        "reason": "PENDING|0|Resources",
    }  # fmt: skip
    variables: ClassVar = {
        "SLURM_JOB_ID": "{id}", "TASK_SLURM_ARRAY_JOB_ID": "{id}", "TASK_SLURM_ARRAY_TASK_ID": "{index}",
    }  # fmt: skip
    is_all_with_ended = True


class Torque(StandIn):
    profile = "torque"
    away_words = "cannot connect to server"
    kind = "documentation"
    answers = "Torque 6.1"
    commands = "qsub qselect qstat qhold qrls qdel qsig"
    submits = "qsub"
    words: ClassVar = {
        "running": "R|", "waiting": "Q|", "exit": "C|{code}", "time limit": "C|-11",
    }  # fmt: skip
    variables: ClassVar = {"PBS_JOBID": "{id}", "TASK_PBS_JOBID": "{task}", "TASK_PBS_ARRAYID": "{index}"}
    cannot: ClassVar = {
        "memory limit": "Torque tells every limit alike",
        "dependency": "Torque deletes such a job, and says nothing",
        "reasons": "the batch system tells none",
        "lost answer": "a job that has not begun cannot be found: Slurm's qstat, which this profile reads, too, has no directory",
    }


class Lsf(StandIn):
    profile = "lsf"
    away_words = "LIM is down"
    kind = "documentation"
    answers = "LSF 10.1"
    commands = "bsub bjobs bstop bresume bkill bhist"
    submits = "bsub"
    words: ClassVar = {
        "running": "RUN|-|-", "waiting": "PEND|-|-", "exit 0": "DONE|0|-", "exit": "EXIT|{code}|-",
        "time limit": "EXIT|140|TERM_RUNLIMIT: job killed after reaching LSF run time limit",
        "memory limit": "EXIT|137|TERM_MEMLIMIT: job killed after reaching LSF memory usage limit",
        "dependency": "EXIT|-|TERM_ORPHAN_SYSTEM: The orphan job was automatically terminated by LSF",
        "reason": "PEND|-|Not enough hosts",
    }  # fmt: skip
    variables: ClassVar = {"LSB_JOBID": "{id}", "LSB_JOBINDEX": "0", "TASK_LSB_JOBINDEX": "{index}"}
    first_index = "0"
    is_all_with_ended = True


class Sge(StandIn):
    profile = "sge"
    away_words = "got select error"
    answers = "Grid Engine 8.1.9"
    commands = "qsub qstat qacct qhold qrls qmod qdel"
    submits = "qsub"
    words: ClassVar = {
        "running": "r", "waiting": "Rqw", "exit": "ended|0|{code}", "time limit": "ended|100|137|-l h_rt=4",
        "memory limit": "ended|100|137|-l h_vmem=99M", "reason": "Eqw|0|0|can't chdir to /x",
    }  # fmt: skip
    variables: ClassVar = {"JOB_ID": "{id}", "SGE_TASK_ID": "undefined", "TASK_SGE_TASK_ID": "{index}"}

    def end(self, job: Job, index: str = "") -> int | None:
        code = super().end(job, index)
        is_told = index or not (job.directory / ".gpe_exit_status").exists()  # or it saw that it is cancelled
        recorded = code if is_told else int(job.read(".gpe_exit_status"))
        # by 99 and 100 Grid Engine would run the job again, or take it for one that cannot run
        assert code == (1 if recorded in {99, 100} else recorded)
        return code

    cannot: ClassVar = {
        "signal": "Grid Engine cannot send signals",
        "dependency": "Grid Engine knows only that jobs end: the job itself looks as it begins (tests/lab)",
    }


class Oar(StandIn):
    profile = "oar"
    away_words = "DBI connect"
    answers = "OAR 2.5.9"
    commands = "oarsub oarstat oardel oarhold oarresume"
    submits = "oarsub"
    separator = " "
    key = (1, 2)
    column = 3
    first_index = "1"
    words: ClassVar = {
        "running": "Running", "waiting": "Waiting", "exit": "Terminated {code}", "time limit": "Error - WALLTIME",
    }  # fmt: skip
    variables: ClassVar = {
        "OAR_ARRAY_ID": "{id}",
        "OAR_ARRAY_INDEX": "1",
        "TASK_OAR_ARRAY_INDEX": "{index}",
        "OAR_NODEFILE": "/dev/null",
    }
    cannot: ClassVar = {
        "memory limit": "the batch system has none",
        "signal": "the profile cannot send signals",
        "dependency": "OAR lets a job wait for ends of any kind: no condition can fail",
        "reasons": "OAR's messages are its own scheduler's numbers",
    }

    def get_command(self, job: Job, index: str) -> list[str]:
        for line in (self.directory / "jobs").read_text().splitlines():
            if line.split(" ")[1:3] == self.get_key(job, index):
                return ["sh", "-c", line.partition("|")[2]]
        raise AssertionError(job.id)


class Htcondor(StandIn):
    profile = "htcondor"
    away_words = "Failed to connect to schedd"
    answers = "HTCondor 25"
    commands = "condor_submit condor_q condor_history condor_rm condor_hold condor_release"
    submits = "condor_submit"
    key = (0, 2)
    column = 3
    first_index = "undefined"
    words: ClassVar = {
        "running": "2|slot1_1@node1", "waiting": "1|undefined", "reason": "5|undefined|no memory",
        "exit": "4|node1|undefined|DIR|false|{code}",
        "time limit": "3|node1|undefined|DIR|undefined|undefined|undefined|The job attribute PeriodicRemove expression 'x' is TRUE",
    }  # fmt: skip
    variables: ClassVar = {"GPE_CLUSTER": "{id}", "GPE_INDEX": "{index}"}
    cannot: ClassVar = {
        "memory limit": "HTCondor holds such a job",
        "signal": "the profile cannot send signals",
        "dependency": "HTCondor has DAGs for that, not options",
    }


class At(StandIn):
    profile = "at"
    away_words = "Cannot open /var/spool"
    is_away_known = False
    answers = "at 3.2.5"
    commands = "at atq atrm"
    submits = "at -M*"
    words: ClassVar = {"running": "="}
    cannot: ClassVar = {
        "end without a record": "at tells no exit codes",
        **dict.fromkeys(("time limit", "memory limit"), "the batch system has no limits"),
        "hold": "the batch system cannot hold jobs",
        "signal": "the profile cannot send signals",
        **dict.fromkeys(("array", "cancel of an array"), "the batch system has none"),
        "dependency": "the batch system has none",
        "requeue": "at runs a job once",
        "reasons": "the batch system tells none",
    }

    def count(self) -> int:
        return len([*self.directory.glob("job.*")])

    def tell(self, job: Job, what: str, index: str = "", code: int = 0) -> None:  # noqa: ARG002
        queue = self.directory / f"queue.{job.id}"
        if what == "running":
            queue.write_text("=\n")
        else:
            queue.unlink()

    def forget(self, job: Job) -> None:
        """At forgets each job as it ends."""

    def get_command(self, job: Job, index: str) -> list[str]:  # noqa: ARG002
        return ["sh", str(self.directory / f"job.{job.id}")]


class Tsp(StandIn):
    profile = "tsp"
    away_words = "cannot connect to the server"
    answers = "task-spooler 1.0.1"
    commands = "tsp"
    submits = "tsp *sh*"
    key = (0,)
    column = 1
    words: ClassVar = {
        "running": "running", "waiting": "queued", "exit": "finished|{code}", "signal": "finished|-1", "dependency": "skipped",
    }  # fmt: skip
    is_all_with_ended = True
    cannot: ClassVar = {
        **dict.fromkeys(("time limit", "memory limit"), "the batch system has no limits"),
        "hold": "the batch system cannot hold jobs",
        "signal": "the profile cannot send signals",
        **dict.fromkeys(("array", "cancel of an array"), "the batch system has none"),
        "requeue": "task-spooler runs a job once",
        "reasons": "the batch system tells none",
    }


class Flux(StandIn):
    profile = "flux"
    away_words = "Unable to connect to Flux"
    answers = "Flux 0.88"
    commands = "flux"
    submits = "flux batch*"
    separator = " "
    key = (0,)
    column = 1
    words: ClassVar = {
        "running": "RUN 16", "waiting": "SCHED 16", "exit 0": "COMPLETED 16 0", "exit": "FAILED 16 {code}", "time limit": "TIMEOUT 16 142",
    }  # fmt: skip
    variables: ClassVar = {"FLUX_STANDIN_JOB": "{id}"}
    is_all_with_ended = True
    cannot: ClassVar = {
        "memory limit": "the batch system has none",
        "signal": "the profile cannot send signals",
        **dict.fromkeys(("array", "cancel of an array"), "the profile has none"),
        "dependency": "Flux tells an exception, which the profile does not read",
        "reasons": "the profile does not read them",
        "lost answer": "Flux does not tell what a job is, so it is not found until it begins",
    }


class Hyperqueue(StandIn):
    profile = "hyperqueue"
    away_words = "No online server found"
    kind = "documentation"
    answers = "HyperQueue 0.24"
    commands = "hq"
    submits = "hq --output-mode=quiet*"
    separator = " "
    key = (0,)
    column = 1
    words: ClassVar = {"running": "running", "waiting": "waiting", "exit 0": "finished", "exit": "failed"}
    variables: ClassVar = {"HQ_JOB_ID": "{id}"}
    is_all_with_ended = True
    cannot: ClassVar = {
        **dict.fromkeys(
            ("end without a record", "time limit", "memory limit"),
            "HyperQueue says of such a job only that it has failed",
        ),
        "hold": "the batch system cannot hold jobs",
        "signal": "the profile cannot send signals",
        **dict.fromkeys(("array", "cancel of an array"), "the profile has none"),
        "dependency": "HyperQueue has dependencies of tasks, not of jobs",
        "reasons": "the batch system tells none",
        "lost answer": "HyperQueue's list does not tell what a job is, so it is not found until it begins",
    }


class Tcs(StandIn):
    profile = "tcs"
    away_words = "cannot connect"
    kind = "documentation"
    answers = "Fugaku's TCS"
    commands = "pjsub pjstat pjdel pjhold pjrls"
    submits = "pjsub"
    separator = ","
    key = (0,)
    column = 1
    words: ClassVar = {
        "running": "RUN", "waiting": "QUE", "exit": "EXT,{code},0,-", "signal": "EXT,-,0,{signal}", "time limit": "EXT,-,11,24",
        "memory limit": "EXT,-,23,9", "dependency": "CCL,-,6,-",
    }  # fmt: skip
    variables: ClassVar = {"PJM_JOBID": "{id}"}
    cannot: ClassVar = {
        "signal": "the profile cannot send signals",
        **dict.fromkeys(("array", "cancel of an array"), "the profile has none"),
        "dependency": "the profile has none: TCS's are steps of one job",
        "reasons": "the profile does not read them",
        "lost answer": "TCS does not tell the directory of a job, so it is not found until it begins",
    }


class Cobalt(StandIn):
    profile = "cobalt"
    away_words = "component error"
    kind = "documentation"
    answers = "Cobalt, by its source"
    commands = "qsub qstat qdel qhold qrls"
    submits = "qsub"
    key = (0,)
    column = 1
    words: ClassVar = {"running": "running", "waiting": "queued", "exit": "ended", "time limit": "ended"}
    logged: ClassVar = {
        "exit": "Info: task completed normally with an exit code of {code}; initiating job cleanup and removal",
        "time limit": "Info: maximum execution time exceeded; initiating job termination",
    }
    """What Cobalt writes into the log of a job."""
    variables: ClassVar = {"COBALT_JOBID": "{id}"}
    cannot: ClassVar = {
        "memory limit": "the batch system has none",
        "signal": "the profile cannot send signals",
        **dict.fromkeys(("array", "cancel of an array"), "the batch system has none"),
        "dependency": "Cobalt holds such a job",
        "reasons": "the batch system tells none",
    }

    def tell(self, job: Job, what: str, index: str = "", code: int = 0) -> None:
        super().tell(job, what, index, code)
        if what in self.logged:
            with (job.directory / ".gpe/cobalt.log").open("a") as log:
                log.write(f"{self.logged[what].format(code=code)}\n")


class Moab(StandIn):
    profile = "moab"
    away_words = "client timed out"
    is_away_known = False
    kind = "documentation"
    answers = "Moab 7"
    commands = "msub showq mjobctl"
    submits = "msub"
    key = (0,)
    column = 1
    words: ClassVar = {
        "running": "Running",
        "waiting": "Idle",
        "exit": "Completed|{code}|1",
        "time limit": "Removed|CNCLD|61",
    }
    variables: ClassVar = {"MOAB_JOBID": "{id}"}
    cannot: ClassVar = {
        "memory limit": "Moab says the same of each job that was removed",
        **dict.fromkeys(("array", "cancel of an array"), "the profile has none"),
        "dependency": "it depends on Moab's settings what becomes of such a job",
        "reasons": "the batch system tells none",
        "lost answer": "showq does not tell the directory of a job, so it is not found until it begins",
    }


class Loadleveler(StandIn):
    profile = "loadleveler"
    away_words = "2512-301"
    is_away_known = False
    kind = "documentation"
    answers = "LoadLeveler 3"
    commands = "llsubmit llq llcancel llhold"
    submits = "llsubmit"
    key = (0,)
    column = 1
    words: ClassVar = {"running": "R", "waiting": "I", "exit": "gone"}
    variables: ClassVar = {"LOADL_STEP_ID": "{id}.0"}
    cannot: ClassVar = {
        "end without a record": "LoadLeveler forgets a job as it ends",
        **dict.fromkeys(
            ("time limit", "memory limit"),
            "LoadLeveler says at most that it removed the job, and then forgets it",
        ),
        "signal": "the profile cannot send signals",
        **dict.fromkeys(("array", "cancel of an array"), "the batch system has none"),
        "dependency": "LoadLeveler has dependencies of the steps of a job, not of jobs",
        "reasons": "the profile does not read them",
    }

    def get_key(self, job: Job, index: str) -> list[str]:  # noqa: ARG002
        return [job.id]


class Nqsv(StandIn):
    profile = "nqsv"
    away_words = "Cannot connect"
    kind = "documentation"
    answers = "NQSV"
    commands = "qsub qstat qdel qhold qrls"
    submits = "qsub"
    separator = " "
    key = (0,)
    column = 1
    words: ClassVar = {"running": "RUN", "waiting": "QUE", "exit": "gone"}
    variables: ClassVar = {"PBS_JOBID": "0:{id}.nqsv"}
    cannot: ClassVar = {
        **dict.fromkeys(
            ("end without a record", "time limit", "memory limit"), "NQSV forgets a job as it ends"
        ),
        "signal": "the profile cannot send signals",
        **dict.fromkeys(("array", "cancel of an array"), "the profile has none"),
        "dependency": "the profile has none",
        "reasons": "the profile does not read them",
        "lost answer": "the list does not tell the directory of a job, so it is not found until it begins",
    }


class Slurmrest(StandIn):
    profile = "slurmrest"
    away_words = "Failed to connect"
    answers = "slurmrestd 22.05"
    commands = "curl"
    needs = "jq"
    submits = "curl *job/submit*"
    key = (0,)
    column = 1
    words: ClassVar = {
        "running": "RUNNING|1|0|None", "waiting": "PENDING|1|0|Priority", "exit 0": "COMPLETED|1|0|None",
        "exit": "FAILED|1|{wait}|NonZeroExitCode", "signal": "FAILED|1|{signal}|RaisedSignal",
        "time limit": "TIMEOUT|1|0|TimeLimit", "memory limit": "OUT_OF_MEMORY|1|0|OutOfMemory", "reason": "PENDING|1|0|Resources",
        "dependency": "CANCELLED|1|0|DependencyNeverSatisfied",
    }  # fmt: skip
    variables: ClassVar = {"SLURM_JOB_ID": "{id}"}
    is_all_with_ended = True
    cannot: ClassVar = {
        "signal": "the profile cannot send signals",
        **dict.fromkeys(("array", "cancel of an array"), "the profile has none"),
    }


class Kubernetes(StandIn):
    profile = "kubernetes"
    away_words = "was refused"
    kind = "documentation"
    answers = "Kubernetes 1.29"
    commands = "kubectl"
    needs = "jq"
    submits = "kubectl create*"
    key = (0,)
    column = 1
    words: ClassVar = {
        "running": "Running|0", "waiting": "Pending|0", "exit 0": "Complete|0", "exit": "Failed|{code}",
        "time limit": "DeadlineExceeded|137", "memory limit": "OOMKilled|137", "reason": "Unschedulable|0",
    }  # fmt: skip
    variables: ClassVar = {"GPE_KUBERNETES_JOB": "{id}"}
    is_all_with_ended = True
    cannot: ClassVar = {
        "signal": "the profile cannot send signals",
        **dict.fromkeys(("array", "cancel of an array"), "the profile has none"),
        "dependency": "Kubernetes knows no order of jobs",
    }

    def count(self) -> int:
        """Return how many jobs there were: one that is removed is not in the file any more."""
        requests = self.directory / "requests"
        return requests.read_text().count("generateName") if requests.exists() else 0


class Pbs(StandIn):
    """With the stand-ins of the folder `openpbs`, which test_pbs.py has."""

    profile = "pbs"
    away_words = "connect to "
    answers = "OpenPBS 23"
    commands = ""
    submits = "qsub"
    words: ClassVar = {}
    HAPPENINGS: ClassVar[dict[str, dict[str, object]]] = {
        "waiting": {"state": "Q", "substate": 10},
        "time limit": {"state": "F", "substate": 93, "exit": -29},
        "memory limit": {"state": "F", "substate": 93, "exit": -27},
        "dependency": {"state": "F", "substate": 92},
        "reason": {"comment": "Not Running: no node"},
    }

    def __init__(self, target: Target) -> None:
        System.__init__(self, target)
        self.directory = target.root.parent / "sessions"
        self.directory.mkdir()
        self.server = Server(target.root.parent / "server", target)
        self.processes = {}

    @property
    def away(self) -> Path:
        return self.server.directory / "down"

    def count(self) -> int:
        return len([*(self.server.directory / "jobs").iterdir()])

    def tell(self, job: Job, what: str, index: str = "", code: int = 0) -> None:  # noqa: ARG002
        self.server.set(get_task(job, index), **self.HAPPENINGS[what])

    def forget(self, job: Job) -> None:
        self.server.set(job, state=None)

    def begin(self, job: Job, index: str = "") -> None:
        self.processes[job.id, index] = self.server.begin(get_task(job, index))

    def end(self, job: Job, index: str = "") -> int | None:
        return self.server.end(get_task(job, index), self.processes.pop((job.id, index)))


SYSTEMS: Final[dict[str, type[System]]] = {
    cls.profile: cls
    for cls in (
        Linux,
        Slurm,
        Pbs,
        Torque,
        Lsf,
        Sge,
        Htcondor,
        Flux,
        Oar,
        Hyperqueue,
        Tcs,
        Cobalt,
        Moab,
        Loadleveler,
        Nqsv,
        Slurmrest,
        Kubernetes,
        At,
        Tsp,
    )
}


def make_system(name: str, target_of: Callable[..., Target], directory: Path) -> System:
    """Return a batch system whose commands are in a directory."""
    directory.mkdir()
    more = {"linux": [], "pbs": [OPENPBS]}.get(name, [directory])
    return SYSTEMS[name](target_of(name, *more) if more else target_of(name))


def make_stand_in(name: str, target_of: Callable[..., Target], directory: Path) -> StandIn:
    """Return a stand-in whose commands are in a directory."""
    system = make_system(name, target_of, directory)
    assert isinstance(system, StandIn)
    return system
