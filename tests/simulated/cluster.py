"""A simulated cluster: a batch system with Slurm's commands, any number of nodes, and jobs that are no processes.

    python -m tests.simulated.cluster DIRECTORY OPTIONS

A seeded generator decides how each job goes: how long it waits and runs, how it ends, whether the batch system shows
the end late, and how soon it forgets it. In the job's directory, the cluster leaves what a real job would. It
keeps the simulated time (clock.py), and the truth of every job, which truth.py compares with what osprofile says.

Arrays are what Slurm makes of them: one job with a number, whose tasks NUMBER_INDEX wait, run and end each by itself.

It also fails: queries are refused, answered without jobs, or cut off, for a while; answers of sbatch are lost. It
kills the processes that live in it (SIGKILL), if it was told to: as they run a command, or at any moment.

The directory has `requests`, a FIFO for the commands (command.sh), `answers`, `clock`, a socket for the participants,
`time`, and `bin`, the commands.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import json
import math
import os
import random
import selectors
import signal
import socket
import sys
import time as real_time
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.simulated.clock import Time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

COMMANDS: Final = ("sbatch", "squeue", "scancel", "sacct")
HOUR: Final = 3600.0
ENDS: Final = {
    "exit": 45, "code": 12, "signal": 8, "time": 6, "memory": 4, "node": 5, "preempted": 3, "cancelled": 5,
    "withdrawn": 4, "requeue": 8,
}  # fmt: skip
"""How jobs end, with weights. `cancelled` and `withdrawn`: by somebody else, while it runs or waits."""
WORDS: Final = {
    "exit": "COMPLETED", "code": "FAILED", "signal": "FAILED", "time": "TIMEOUT", "memory": "OUT_OF_MEMORY",
    "node": "NODE_FAIL", "preempted": "PREEMPTED", "cancelled": "CANCELLED", "withdrawn": "CANCELLED",
    "stray": "FAILED",
}  # fmt: skip
SIGNALS: Final = (6, 9, 11, 15)
_REFUSED: Final = "slurm_load_jobs error: Unable to contact slurm controller (connect failure)"
_UNKNOWN: Final = "slurm_load_jobs error: Invalid job id specified"


@dataclass(slots=True, kw_only=True)
class Options:
    """What a cluster is like. Times are in seconds of simulated time."""

    seed: int = 1
    participants: tuple[str, ...] = ()
    """Those without whom no time passes, until they leave."""
    wait: float = HOUR
    """How long jobs wait, on average."""
    run: float = 6 * HOUR
    """How long they run, on average."""
    memory: tuple[float, ...] = (10, 300, HOUR, 24 * HOUR)
    """For how long the batch system may show a job that has ended."""
    lag: tuple[float, ...] = (0, 0, 30, HOUR)
    """For how long it may show an ended job as running."""
    outage_interval: float = math.inf
    """The time between two outages, on average."""
    outage_duration: float = HOUR
    """The longest outage."""
    submission_failures: float = 0.0
    """The share of submissions that fail; half of them only look so, because the answer is lost."""
    kill_interval: float = math.inf
    """After how many commands of a process it is killed, on average."""
    kill_pause: float = math.inf
    """How long it takes until any process is killed, whatever it does then, on average."""
    grain: float = 0.0
    """Who sleeps wakes up at a multiple of it, so that several work at the same time."""
    accounting: bool = False
    """Whether sacct tells how jobs ended that squeue has forgotten."""


@dataclass(slots=True, kw_only=True)
class Job:
    """A job and its truth. Times are in seconds of simulated time."""

    number: int
    user: str
    name: str
    directory: str
    array: int = 0
    """The number of its array, if it is a task."""
    index: int | None = None
    """Its index in the array."""
    owner: str = ""
    """The participant that submitted it."""
    end: str = "exit"
    code: int = 0
    """The exit code or the signal."""
    word: str = "PENDING"
    """The state, as squeue tells it."""
    history: list[tuple[float, str]] = field(default_factory=list)
    has_run: bool = False
    """Whether its program was started."""
    runs_left: int = 1
    status_file: int | None = None
    """The exit status that it left in its directory."""
    began: float | None = None
    ended: float | None = None
    is_over: bool = False
    """It has ended, though squeue may show it as running."""
    is_forgotten: bool = False
    removed_by_user: bool = False
    """The batch system accepted its removal by its own user."""
    array_was_removed: bool = False
    """The batch system accepted the removal of its array when it had listed the task's end, or forgotten it."""
    shown_to: dict[str, list[float]] = field(default_factory=dict)
    """By each process of its owner that asked, when that was told the job's end; the last moments of many.

    Only until an empty answer hides the end: then the job's directory may have told it.
    """
    is_hidden: bool = False
    """An empty answer has hidden its end."""
    indices: str = ""
    """Those of the tasks that this line of squeue stands for, if there are several, which were cancelled."""
    version: int = 0
    """Counts its changes: an event of an older version is void."""

    @property
    def id(self) -> str:
        """The id, as squeue tells it."""
        index = self.indices or self.index
        return str(self.number) if index is None else f"{self.array}_{index}"

    def describe(self) -> dict[str, Any]:
        """Return all about it."""
        return {"id": self.id, **{f.name: getattr(self, f.name) for f in fields(self)}}


def parse_array(spec: str) -> list[int]:
    """Return the indices of an array, as in 1-9:2,15%4."""
    indices = set[int]()
    for part in spec.partition("%")[0].split(","):
        first, _, rest = part.partition("-")
        last, _, step = rest.partition(":")
        indices.update(range(int(first), int(last or first) + 1, int(step or 1)))
    return sorted(indices)


class Cluster:
    """The jobs, the time, and the commands."""

    def __init__(self, root: Path, options: Options) -> None:
        self.root, self.options = root, options
        self.random = random.Random(options.seed)
        self.time = Time(root / "time")
        self.jobs: dict[int, Job] = {}
        self.arrays: dict[int, dict[int, Job]] = {}
        """By the number of each array, its tasks by index."""
        self.listed: dict[str, dict[int, Job]] = {}
        """By user, the jobs that squeue shows."""
        self.events: list[tuple[float, int, Job, int, Callable[[Job], None]]] = []
        self.counts: dict[str, int] = {}
        """How many commands of each kind there were."""
        self.deaths: dict[str, float] = {}
        """By process, when it was killed."""
        self.names: dict[str, str] = {}
        """By process, which participant it is, or was."""
        self.kills: dict[str, int] = {}
        """How many processes were killed as they ran a command, and at any moment."""
        self._numbers = itertools.count(1)
        self._order = itertools.count()
        self._outages = self._plan_outages()
        self._outage = next(self._outages)

    # Time

    def at(self, moment: float, job: Job, event: Callable[[Job], None]) -> None:
        """Have something happen to a job, unless something else happens before."""
        heapq.heappush(self.events, (moment, next(self._order), job, job.version, event))

    def advance(self, moment: float) -> None:
        """Let time pass until a moment."""
        while self.events and self.events[0][0] <= moment:
            when, _, job, version, event = heapq.heappop(self.events)
            self.time.now = max(when, self.time.now)
            if version == job.version:
                event(job)
        self.time.now = max(moment, self.time.now)

    def _plan_outages(self) -> Iterator[tuple[float, float, str]]:
        at, options = 0.0, self.options
        while True:
            # Between two, there is time to see that all is well.
            at += options.outage_duration * 4 + options.outage_interval * self.random.expovariate(1)
            duration = self.random.uniform(0, options.outage_duration)
            yield at, at + duration, self.random.choice(("refused", "refused", "empty", "cut"))
            at += duration

    @property
    def outage(self) -> str:
        """What is wrong with the batch system now; empty if nothing is."""
        if self.options.outage_interval == math.inf:
            return ""
        while self._outage[1] <= self.time.now:
            self._outage = next(self._outages)
        return self._outage[2] if self._outage[0] <= self.time.now else ""

    # The life of a job

    def submit(self, user: str, name: str, directory: str, owner: str = "", spec: str = "") -> Job:
        """Queue a job, or the tasks of an array, and return it or the first one."""
        jobs: list[Job] = []
        for index in parse_array(spec) if spec else [None]:
            job = Job(number=next(self._numbers), user=user, name=name, directory=directory, owner=owner)
            fate = random.Random(f"{self.options.seed} {name} {job.number}")
            job.end = fate.choices([*ENDS], [*ENDS.values()])[0]
            job.code = {"code": fate.randint(1, 128), "signal": fate.choice(SIGNALS)}.get(job.end, 0)
            if job.end == "requeue":
                job.end, job.runs_left = "exit", 2
            if index is not None:  # the array has the number of its first task
                job.array, job.index = (jobs[0] if jobs else job).number, index
                self.arrays.setdefault(job.array, {})[index] = job
            jobs.append(job)
            self.jobs[job.number] = job
            self.listed.setdefault(user, {})[job.number] = job
            self._queue(job)
        return jobs[0]

    def _enter(self, job: Job, word: str) -> None:
        job.word = word
        job.version += 1
        job.history.append((self.time.now, word))

    def _queue(self, job: Job) -> None:
        self._enter(job, "PENDING")
        wait = self.options.wait * self.random.expovariate(1)
        event = self._end if job.end == "withdrawn" else self._begin
        self.at(self.time.now + wait, job, event)

    def _begin(self, job: Job) -> None:
        """Start a job: what JOB_PROLOGUE does about its own id."""
        self._enter(job, "RUNNING")
        job.began = self.time.now
        if not self._is_wanted(job):
            job.end, job.code = "stray", 1
            self.at(self.time.now, job, self._end)
            return
        job.has_run = True
        run = self.options.run * self.random.expovariate(1)
        self.at(self.time.now + run, job, self._requeue if job.runs_left > 1 else self._end)

    def _is_wanted(self, job: Job) -> bool:
        if not job.directory:
            return True
        directory = Path(job.directory)
        if not directory.is_dir():
            return False
        own_id, id_file = str(job.array or job.number), directory / ".gpe/id"
        if not id_file.exists():
            temporary = directory / f".gpe/id.{job.id}"
            temporary.write_text(f"{own_id}\n")
            with contextlib.suppress(FileExistsError):
                id_file.hardlink_to(temporary)
            temporary.unlink()
        first = id_file.read_text().strip()
        if not (directory / ".gpe/submitting").exists():
            if first == own_id:
                id_file.unlink()
            return False
        if first != own_id:
            return False
        own = _get_own_directory(job)
        if job.index is not None:
            (own / ".gpe").mkdir(parents=True, exist_ok=True)
        for name in (".gpe_exit_status", ".gpe/limit", ".gpe/usage"):
            (own / name).unlink(missing_ok=True)
        (own / ".gpe/output").touch()  # it has entered its directory
        return True

    def _requeue(self, job: Job) -> None:
        """Its node has failed: it runs again."""
        job.runs_left -= 1
        job.began = None
        self._queue(job)

    def _end(self, job: Job) -> None:
        """End a job, and leave what it leaves."""
        job.is_over, job.ended = True, self.time.now
        status = {"exit": 0, "code": job.code, "signal": 128 + job.code}.get(job.end)
        # One that is killed may be able to write how its program ended, or not.
        if (
            job.end in {"time", "preempted", "cancelled", "memory"}
            and job.has_run
            and self.random.random() < 0.5
        ):
            status = 137 if job.end == "memory" else 143
        if status is not None and job.directory:
            job.status_file = status
            new = _get_own_directory(job) / ".gpe/exit_status.new"
            with contextlib.suppress(FileNotFoundError):  # somebody has deleted the directory
                new.write_text(f"{status}\n")
                new.rename(_get_own_directory(job) / ".gpe_exit_status")
        lag = self.random.choice(self.options.lag) if job.began is not None else 0
        job.version += 1
        self.at(self.time.now + self.random.uniform(0, lag), job, self._list_end)

    def _list_end(self, job: Job) -> None:
        self._enter(job, WORDS[job.end])
        if job.index is not None and not job.has_run and job.end != "stray":
            self._forget(job)  # Slurm does not list a task that was cancelled before it began
            return
        memory = self.random.choice(self.options.memory)
        self.at(self.time.now + self.random.uniform(0, 2 * memory), job, self._forget)

    def _forget(self, job: Job) -> None:
        job.is_forgotten = True
        del self.listed[job.user][job.number]

    def _cancel(self, job: Job) -> None:
        job.removed_by_user = True
        if not job.is_over:
            job.end, job.version = "cancelled", job.version + 1
            self.at(self.time.now + self.random.uniform(0, 30) * job.has_run, job, self._end)

    def _cancel_array(self, array: int) -> None:
        """Cancel all tasks that have not ended. Those that wait become one line of squeue: 12_[5-9]."""
        tasks = []
        for job in self.arrays[array].values():
            if job.word in {"PENDING", "RUNNING"}:
                tasks.append(job)
            else:
                job.array_was_removed = True
        waiting = [job for job in tasks if not job.has_run and not job.is_over]
        for job in tasks:
            self._cancel(job)
        if waiting:
            user = waiting[0].user
            rest = Job(number=next(self._numbers), user=user, name="", directory="", array=array)
            rest.indices = f"[{','.join(str(job.index) for job in waiting)}]"
            rest.word, rest.end, rest.is_over = "CANCELLED", "cancelled", True
            self.listed[user][rest.number] = rest
            self.at(self.time.now + 300, rest, self._forget)

    def fill(self, user: str, count: int, owner: str = "") -> list[int]:
        """Add jobs that have no directories, named fill-0 and so on; return their numbers."""
        jobs = [self.submit(user, f"fill-{n}", "", owner) for n in range(count)]
        return [job.number for job in jobs]

    # Commands

    def run(
        self, session: str, user: str, directory: str, command: str, words: list[str]
    ) -> tuple[int, str, str]:
        """Carry out a command; return its exit code, its output and its error output."""
        what = "squeue of one" if command == "squeue" and "-j" in words else command
        self.counts[what] = self.counts.get(what, 0) + 1
        if command == "sbatch":
            return self._sbatch(session, user, directory, words)
        if command == "sacct":
            return self._sacct(session, words)
        if self.outage == "refused":
            return 1, "", _REFUSED
        return self._scancel(words) if command == "scancel" else self._squeue(session, user, words)

    def _scancel(self, words: list[str]) -> tuple[int, str, str]:
        number = words[-1]
        jobs = [job for job in self._find(number) if not job.is_forgotten]
        if not jobs:
            return 1, "", "scancel: error: Kill job error on job id: Invalid job id specified"
        if number.isdigit() and int(number) in self.arrays:
            self._cancel_array(int(number))
        else:
            self._cancel(jobs[0])
        return 0, "", ""

    def _sacct(self, session: str, words: list[str]) -> tuple[int, str, str]:
        if not self.options.accounting or self.outage == "refused":
            return 1, "", "Slurm accounting storage is disabled"
        jobs = [job for number in words[words.index("-j") + 1].split(",") for job in self._find(number)]
        return 0, self._list(jobs, _format_account, session), ""

    def _sbatch(self, session: str, user: str, directory: str, words: list[str]) -> tuple[int, str, str]:
        fate = self.random.random()
        failure = 1, "", "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation"
        if self.outage == "refused" or fate < self.options.submission_failures / 2:
            return failure
        name = spec = ""
        with open(os.path.join(directory, words[-1]), encoding="utf-8") as file:
            for line in itertools.islice(file, 20):
                if line.startswith("#SBATCH --job-name="):
                    name = line.partition("=")[2].strip()
                if line.startswith("#SBATCH --array="):
                    spec = line.partition("=")[2].strip()
        job = self.submit(user, name, directory, self.names.get(session, ""), spec)
        return failure if fate < self.options.submission_failures else (0, str(job.number), "")

    def _squeue(self, session: str, user: str, words: list[str]) -> tuple[int, str, str]:
        form = words[words.index("-O" if "-O" in words else "-o") + 1]
        listed = self.listed.get(user, {})
        jobs: list[Job] | Any = listed.values()
        if self.outage == "empty":
            for job in listed.values():
                job.is_hidden = job.is_hidden or job.is_over
            jobs = listed = {}
        if "-j" in words:
            number = words[words.index("-j") + 1]
            # It knows a task as long as it knows any other task of the array.
            jobs = [job for job in self._find(number.partition("_")[0]) if job.number in listed]
            if not jobs:
                return 1, "", _UNKNOWN
            jobs = [job for job in jobs if number in {job.id, str(job.array)}]
        if form == "%F|%Z|%o":
            jobs = [job for job in jobs if job.word in {"PENDING", "RUNNING"}]
            lines = [f"{job.array or job.number}|{job.directory}|{job.directory}/.gpe/script" for job in jobs]
        elif form == "%i %T":
            lines = [f"{job.id} {job.word}" for job in jobs]
        else:
            return 0, self._list(jobs, self._format_line, session, cuts="-j" not in words), ""
        return 0, "\n".join(lines), ""

    def _list(self, jobs: Any, form: Callable[[Job], str], session: str, *, cuts: bool = False) -> str:  # noqa: ANN401
        """Return the lines of jobs, and note whose ends were shown; an outage `cuts` the list of all.

        Who asks for one task gets all tasks of its array, and may look at that one only.
        """
        if cuts and self.outage == "cut":
            jobs = list(jobs)[: self.random.randint(0, len(jobs))]
        text = "\n".join(map(form, jobs))
        if cuts and self.outage == "cut" and jobs:
            text = text[: -self.random.randint(1, 20)]
            jobs = jobs[:-1]
        for job in jobs:
            if (
                job.is_over
                and not job.is_hidden
                and job.word not in {"PENDING", "RUNNING"}
                and self.names.get(session) == job.owner
                and (cuts or job.index is None)
            ):
                moments = job.shown_to.setdefault(session, [])
                if self.time.now not in moments[-1:]:
                    moments.append(self.time.now)
                    del moments[:-3]
        return text

    def _find(self, text: str) -> list[Job]:
        """Return a job, a task, or the tasks of an array, and the line for some of them."""
        number, _, index = text.partition("_")
        if not (number + index).isdigit():
            return []
        if int(number) not in self.arrays:
            job = self.jobs.get(int(number))
            return [job] if job is not None and not index and job.index is None else []
        tasks = self.arrays[int(number)]
        return [*tasks.values()] if not index else [tasks[int(index)]] if int(index) in tasks else []

    def _format_line(self, job: Job) -> str:
        begin = job.began
        used = "0:00" if begin is None else _format_time((job.ended or self.time.now) - begin)
        host = f"n{job.number % 1000}" if begin is not None else "n/a"
        reason = "Priority" if job.word == "PENDING" else "None"
        return f"{job.id}|{job.word}|{_format_exit(job)}|{host}|{reason}|batch|{used}"


def _get_own_directory(job: Job) -> Path:
    """Return where a job's end is left; of a task, in the directory of the array."""
    return Path(job.directory, *(() if job.index is None else (".gpe/tasks", str(job.index))))


def _format_exit(job: Job) -> str:
    if not job.is_over:
        return "0:0"
    return {"code": f"{job.code}:0", "signal": f"{128 + job.code}:0", "time": "0:15", "memory": "0:125",
            "stray": "1:0", "cancelled": "0:15"}.get(job.end, "0:0")  # fmt: skip


def _format_time(seconds: float) -> str:
    days, rest = divmod(int(seconds), 86400)
    text = f"{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}"
    return f"{days}-{text}" if days else text


def _format_account(job: Job) -> str:
    word = job.word + (" by 0" if job.word == "CANCELLED" else "")
    return f"{job.id}|{word}|{_format_exit(job)}|n{job.number % 1000}|None|batch|00:00:01"


class Server:
    """Answers the commands and the participants."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster, self.root = cluster, cluster.root
        (self.root / "answers").mkdir()
        (self.root / "bin").mkdir()
        for command in COMMANDS:
            (self.root / "bin" / command).symlink_to(Path(__file__).with_name("command.sh"))
        os.mkfifo(self.root / "requests", 0o600)
        self._requests = os.open(self.root / "requests", os.O_RDWR | os.O_NONBLOCK)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.bind(str(self.root / "clock"))
        self._listener.listen()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._requests, selectors.EVENT_READ, self._read_requests)
        self._selector.register(self._listener, selectors.EVENT_READ, self._accept)
        self._begun = b""
        self._sleeping: dict[socket.socket, tuple[int, float]] = {}
        self._names: dict[socket.socket, str] = {}
        self._pids: dict[socket.socket, int] = {}
        self._mortal = set[socket.socket]()
        """The participants that may be killed."""
        self._next_kill = self._plan_kill()
        """When the next one is to be killed."""
        self._kill_due = math.inf
        """When it is killed (s of real time)."""
        self._fuses: dict[str, int] = {}
        """By process, after how many commands it is killed."""
        self._expected = set(cluster.options.participants)
        """Who must be there, asleep, for time to pass."""
        self._files = itertools.count(1)

    def serve(self) -> None:
        """Serve until this process is ended."""
        while True:
            rest = self._kill_due - real_time.monotonic()
            for key, _ in self._selector.select(None if rest == math.inf else max(0.01, rest)):
                key.data(key.fileobj)
            if self._kill_due <= real_time.monotonic() and self._mortal:
                self._kill_due = math.inf
                pids = sorted(self._pids[connection] for connection in self._mortal)
                self._kill(self.cluster.random.choice(pids), "at any moment")
            self._let_time_pass()
            if self._next_kill <= self.cluster.time.now:
                self._next_kill = self._plan_kill()
                self._kill_due = real_time.monotonic() + self.cluster.random.uniform(0, 0.5)

    def _plan_kill(self) -> float:
        return self.cluster.time.now + self.cluster.options.kill_pause * self.cluster.random.expovariate(1)

    def _let_time_pass(self) -> None:
        here = set(self._names.values())
        if not here or self._expected - here or len(self._sleeping) < len(self._names):
            return
        moment = min(until for _, until in self._sleeping.values())
        if moment == math.inf:
            return
        if grain := self.cluster.options.grain:
            moment = math.ceil(moment / grain) * grain
        self.cluster.advance(moment)
        for connection, (number, until) in [*self._sleeping.items()]:
            if until <= moment:
                del self._sleeping[connection]
                with contextlib.suppress(OSError):
                    connection.send(str(number).encode())

    def _accept(self, _file: object) -> None:
        connection, _ = self._listener.accept()
        self._selector.register(connection, selectors.EVENT_READ, self._read_message)

    def _read_message(self, connection: socket.socket) -> None:
        try:
            data = connection.recv(1_000_000)
        except OSError:
            data = b""
        if not data:
            self._lose(connection)
            return
        message = json.loads(data)
        if {"hello", "sleep", "awake", "bye"} & message.keys():
            self._note(connection, message)
        else:  # the answer is a file: it may be long
            (self.root / "reply").write_text(json.dumps(self._control(message)))
            connection.send(b"ready")

    def _note(self, connection: socket.socket, message: dict[str, Any]) -> None:
        """Note what a participant says."""
        if "hello" in message:
            self._names[connection], self._pids[connection] = message["hello"], message["pid"]
            self.cluster.names[str(message["pid"])] = message["hello"]
            rate = 1 / self.cluster.options.kill_interval
            if message["may_die"]:
                self._mortal.add(connection)
            if rate and message["may_die"]:
                self._fuses[str(message["pid"])] = 1 + int(self.cluster.random.expovariate(rate))
        elif "sleep" in message:
            self._sleeping[connection] = message["sleep"], message["until"]
        elif "awake" in message:
            self._sleeping.pop(connection, None)
        else:
            self._expected.discard(self._names[connection])
            self._lose(connection)

    def _control(self, message: dict[str, Any]) -> object:
        """Carry out what a test asks for."""
        if "fill" in message:
            return self.cluster.fill(message["user"], message["fill"], message.get("owner", ""))
        if "advance" in message:
            self.cluster.advance(self.cluster.time.now + message["advance"])
            return self.cluster.time.now
        return self._tell_truth()

    def _tell_truth(self) -> dict[str, Any]:
        cluster = self.cluster
        return {
            "jobs": [job.describe() for job in cluster.jobs.values()],
            "arrays": [*cluster.arrays],
            "deaths": cluster.deaths,
            "counts": cluster.counts,
            "kills": cluster.kills,
            "now": cluster.time.now,
        }

    def _lose(self, connection: socket.socket) -> None:
        self._selector.unregister(connection)
        connection.close()
        self._sleeping.pop(connection, None)
        self._mortal.discard(connection)
        if self._names.pop(connection, None) is not None:
            self.cluster.deaths[str(self._pids.pop(connection))] = self.cluster.time.now

    def _read_requests(self, _file: object) -> None:
        *lines, self._begun = (self._begun + os.read(self._requests, 1 << 20)).split(b"\n")
        for line in lines:
            self._handle(line.decode())

    def _handle(self, line: str) -> None:
        client, session, user, directory, command, *words = line.split("\t")
        answer = self.root / "answers" / client
        pid = int(session)
        fuse = self._fuses[session] = self._fuses.get(session, -1) - 1
        dies_before, dies_after = fuse == 0 and pid % 2, fuse == 0 and not pid % 2
        if dies_before:
            self._kill(pid, "at a command")
        code, output, error = self.cluster.run(session, user, directory, command, words)
        if "\n" in output:
            name = f"{next(self._files)}.text"
            (self.root / "answers" / name).write_text(output + "\n")
            reply = f"{code} file {name}\n"
        elif error or not output:
            reply = f"{code} {'error ' + error if error else 'none'}\n"
        else:
            reply = f"{code} text {output}\n"
        with contextlib.suppress(OSError):  # the command was killed
            descriptor = os.open(answer, os.O_WRONLY | os.O_NONBLOCK)
            os.write(descriptor, reply.encode())
            os.close(descriptor)
        with contextlib.suppress(OSError):
            answer.unlink()
        if dies_after:
            real_time.sleep(self.cluster.random.uniform(0, 0.03))
            self._kill(pid, "at a command")

    def _kill(self, pid: int, when: str) -> None:
        if pid in self._pids.values():
            # It may be dead: killed a moment ago, and its connection not yet read to the end.
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                self.cluster.kills[when] = self.cluster.kills.get(when, 0) + 1


def main() -> None:
    """Serve a directory; the options are JSON."""
    root = Path(sys.argv[1])
    given = json.loads(sys.argv[2]) if len(sys.argv) > 2 else {}
    given.update({name: tuple(value) for name, value in given.items() if isinstance(value, list)})
    server = Server(Cluster(root, Options(**given)))
    print("ready", flush=True)  # noqa: T201
    server.serve()


if __name__ == "__main__":
    main()
