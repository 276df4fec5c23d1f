"""Records that released versions wrote themselves, and jobs that the programs of these run: today's version goes on.

records/make.sh made them: jobs in each state, and submissions that were cut off, whose scripts are those of that version.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from osprofile import __version__
from osprofile.errors import StoreError
from osprofile.jobs.record.file import SCHEMA_VERSION
from osprofile.jobs.record.store import Store
from osprofile.jobs.state import JobState
from tests.fork_server import run_incarnate
from tests.hunting import rounds
from tests.records import begin_submission
from tests.waiting import PATIENCE, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

RECORDS: Final = Path(__file__).parent / "records"
STAND_IN: Final = RECORDS.parents[1] / "profiles/stand_ins/slurm.sh"
RELEASED: Final = {"dcd89c6": 1, "31cd7e8": 4}
"""The versions that count as released, and those of their records."""
OLDER: Final = [name for name, version in RELEASED.items() if version < SCHEMA_VERSION]
ENDED: Final = {
    "done": ("DONE", 3, None, None),
    "killed": ("FAILED", None, 9, "SIGNAL"),
    "cancelled": ("REMOVED", None, None, "USER"),
    "array": ("FAILED", None, None, None),
    "slurm-done": ("DONE", 0, None, None),
    "slurm-limit": ("FAILED", None, None, "TIME"),
}
"""State, exit code, signal and cause of the jobs that have ended, by key."""
LIVE: Final = {
    "running": "RUNNING",
    "slurm-queued": "QUEUED",
    "slurm-running": "RUNNING",
    "slurm-array": "QUEUED",
}
CUT: Final = ("cut", "cut-array", "cut-waiting", "slurm-cut", "slurm-cut-array")
BOOT: Final = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
FILES: Final = {"dcd89c6": (".gpe_job", ".gpe_job_id"), "31cd7e8": (".gpe/script", ".gpe/id")}
"""Where the job script and the job's id are in its directory."""


def dump(path: Path) -> list[str]:
    with contextlib.closing(sqlite3.connect(path)) as db:
        return [*db.iterdump(), str(db.execute("PRAGMA user_version").fetchone())]


def write_record(version: str, root: Path) -> Path:
    """Write a record as if that version had written it on this machine a moment ago, and its programs; return its path."""
    path = root / "home/.local/state/osprofile/jobs.db"
    path.parent.mkdir(parents=True, mode=0o700)
    text = (RECORDS / f"{version}.sql").read_text()
    places = {"@JOBS@": f"{root}/jobs", "@HOME@": f"{root}/home", "@HOST@": os.uname().nodename}
    for name, value in {**places, "@BOOT@": BOOT, "@BOOT8@": BOOT[:8]}.items():
        text = text.replace(name, value)
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.executescript(f"PRAGMA journal_mode = WAL; {text}")
        (since,) = db.execute("SELECT max(submitted) FROM job").fetchone()
        for name in ("submitted", "accepted", "started", "ended"):
            db.execute(f"UPDATE job SET {name} = {name} + ?", (time.time() - since,))  # noqa: S608
        db.commit()
    path.chmod(0o600)
    if (RECORDS / version).exists():
        shutil.copytree(RECORDS / version, root / "home/.gpe/bin")
    return path


@dataclass(frozen=True)
class Home:
    """A home with the record of an older version, and Slurm's stand-in."""

    version: str
    root: Path
    record: Path
    environment: dict[str, str]

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def slurm(self) -> Path:
        """The file with the jobs of the stand-in."""
        return self.root / "bin/jobs"

    def run(self, *words: str, code: int = 0) -> str:
        """Run `incarnate job`; return what it prints."""
        ended = run_incarnate("job", *words, environment=self.environment, timeout=PATIENCE)
        assert ended.returncode == code, ended.stderr
        assert "Traceback" not in ended.stderr
        return ended.stdout.strip()

    def list_jobs(self) -> dict[str, dict[str, Any]]:
        """Return the jobs that `job list` shows, by key."""
        return {job["key"]: job for job in json.loads(self.run("list", "--json"))}

    def get_state(self, key: str) -> str:
        return str(self.list_jobs()[key]["state"])

    def find_script(self, key: str) -> tuple[str, Path]:
        """Return the script that submits a job, as it is recorded, and the job's directory."""
        with contextlib.closing(sqlite3.connect(self.record)) as db:
            script, directory = db.execute(
                "SELECT script, directory FROM job WHERE key = ?", (key,)
            ).fetchone()
        return script, Path(directory)

    def set_slurm(self, job_id: str, words: str) -> None:
        """Let Slurm say something else of a job: STATE|CODE|REASON."""
        lines = [line.split("|") for line in self.slurm.read_text().splitlines()]
        self.slurm.write_text(
            "".join(
                "|".join([*j[:2], *(words.split("|") if j[0] == job_id else j[2:5]), *j[5:]]) + "\n"
                for j in lines
            )
        )


@pytest.fixture(params=RELEASED)
def old(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    """Yield a home with the record of an older version; end the jobs that still run afterwards."""
    for name in [name for name in os.environ if name.startswith(("OSPROFILE_", "XDG_", "GPE_"))]:
        monkeypatch.delenv(name)
    record = write_record(request.param, tmp_path)
    (tmp_path / "bin").mkdir()
    for name in ("sbatch", "squeue", "scancel", "scontrol", "sacct", "sstat"):
        shutil.copy(STAND_IN, tmp_path / "bin" / name)
        (tmp_path / "bin" / name).chmod(0o755)
    states = {"11": "COMPLETED", "12": "TIMEOUT", "13": "PENDING", "14": "RUNNING"}
    lines = [f"{job}||{state}|0|None|/\n" for job, state in states.items()]
    (tmp_path / "bin/jobs").write_text(
        "".join([*lines, "15|1|PENDING|0|None|/\n", "15|2|PENDING|0|None|/\n"])
    )
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    environment = {**os.environ, "HOME": str(tmp_path / "home"), "PATH": path}
    monkeypatch.chdir(tmp_path / "home")
    yield Home(request.param, tmp_path, record, environment)
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"GPE_WORKING_DIRECTORY={tmp_path}/".encode() in (process / "environ").read_bytes():
                os.kill(int(process.name), signal.SIGKILL)


def test_what_is_recorded_stays(old: Home) -> None:
    before = dump(old.record)
    with contextlib.closing(Store(str(old.record))) as store:
        jobs = {job.key: job for job in store.list_all_jobs()}
        assert {
            key: (job.status.state, job.status.exit_code, job.status.signal, job.status.cause)
            for key, job in jobs.items()
            if job.status.state.is_terminal
        } == ENDED
        assert {key: jobs[key].status.state for key in LIVE} == LIVE
        assert {job.key for job in store.list_interrupted_submissions("linux")} == {*CUT[:3]}
        assert {job.key for job in store.list_interrupted_submissions("slurm")} == {*CUT[3:]}
        assert {job.key for job in store.list_live_jobs()} == {*LIVE}
        assert [task.status.exit_code for task in store.list_tasks("linux", jobs["array"].status.job_id)] == [
            1,
            2,
            3,
        ]
        assert len(store.list_tasks("slurm", "15")) == 2
        done, details = jobs["done"], store.read_details(jobs["done"].number)
        assert (done.name, done.walltime, done.array, done.stdout) == ("greeting", 600, "", "stdout")
        assert details.request is not None
        assert details.request["ARGUMENTS"] == "'-c' 'echo \"one two\"; exit 3'"
        assert details.history[-1][0] is JobState.DONE
        begin_submission(store, "linux", "/new", script="")
        with pytest.raises(StoreError, match="has begun to submit"):
            begin_submission(store, "linux", "/newer", script="", key="done")
    copy = old.record.with_name(f"jobs.db.version-{RELEASED[old.version]}")
    assert copy.exists() == (old.version in OLDER)
    if copy.exists():
        assert copy.stat().st_mode & 0o777 == 0o600
        assert dump(copy) == before
        assert f"INSERT INTO \"writer\" VALUES('{__version__}');" in dump(old.record)
    assert {p.name for p in old.record.parent.iterdir()} <= {"jobs.db", copy.name}


def test_a_new_record_and_a_migrated_one_have_the_same_schema(tmp_path: Path) -> None:
    Store(str(tmp_path / "new")).close()
    for version in OLDER:
        path = write_record(version, tmp_path / version)
        Store(str(path)).close()
        schemas = [
            [line for line in dump(p) if line.startswith(("CREATE", "("))] for p in (path, tmp_path / "new")
        ]
        assert schemas[0] == schemas[1]


@pytest.mark.parametrize("version", OLDER)
def test_many_processes_open_an_older_record_at_the_same_time(tmp_path: Path, version: str) -> None:
    path = write_record(version, tmp_path)
    program = "import sys; from osprofile.jobs.record.store import Store; print(len(Store(sys.argv[1]).list_all_jobs()))"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(6)
    ]
    said = [process.communicate(timeout=PATIENCE) for process in processes]
    assert [out for out, _ in said] == ["15\n"] * 6
    assert sum("a copy of" in err for _, err in said) == 1


def test_jobs_of_slurm(old: Home) -> None:
    assert {key: old.get_state(key) for key in LIVE if key != "running"} == {
        k: v for k, v in LIVE.items() if k[0] == "s"
    }
    assert old.run("submit", "-p", "slurm", "--key", "slurm-queued", "true") == "13"
    assert not (old.root / "bin/requests").exists()
    old.run("cancel", "slurm-queued")
    assert old.get_state("slurm-queued") == "REMOVED"
    old.set_slurm("14", "FAILED|1792|NonZeroExitCode")
    old.run("wait", "slurm-running", code=7)
    old.set_slurm("15", "COMPLETED|0|None")
    old.run("wait", "slurm-array")
    assert {key: job["state"] for key, job in old.list_jobs().items() if key in ENDED} == {
        k: v[0] for k, v in ENDED.items()
    }


@pytest.mark.parametrize("ends", ["by itself", "by cancel"])
def test_a_job_that_an_older_program_runs(old: Home, ends: str) -> None:
    """Its submission was cut off: the script that completes it is that version's."""
    job_id = old.run("submit", "-p", "linux", "--key", "cut")
    directory = old.find_script("cut")[1]
    assert (directory / FILES[old.version][0]).exists()
    wait_until(lambda: old.run("output", "cut") == "begun")
    assert old.get_state("cut") == "RUNNING"
    assert old.run("submit", "-p", "linux", "--key", "cut") == job_id
    if ends == "by cancel":
        old.run("cancel", "cut")
        assert old.get_state("cut") == "REMOVED"
        return
    (old.home / "go").touch()
    old.run("wait", "cut", code=4)
    (job,) = json.loads(old.run("show", "cut", "--json"))
    assert (job["state"], job["exit_code"]) == ("DONE", 4)
    assert old.run("submit", "-p", "linux", "--key", "cut") == job_id
    old.run("forget", "cut")
    assert "cut" not in old.list_jobs()


@pytest.mark.parametrize("ends", ["by itself", "by cancel"])
def test_an_array_that_an_older_program_runs(old: Home, ends: str) -> None:
    job_id = old.run("submit", "-p", "linux", "--key", "cut-array")
    wait_until(lambda: old.run("output", f"{job_id}_1") == "task 1")
    assert old.get_state("cut-array") == "RUNNING"
    if ends == "by cancel":
        old.run("cancel", "cut-array")
        assert old.get_state("cut-array") == "REMOVED"
        return
    old.run("cancel", f"{job_id}_2")
    (old.home / "go").touch()
    old.run("wait", f"{job_id}_1")
    wait_until(lambda: old.get_state("cut-array") not in {"QUEUED", "RUNNING"})
    with contextlib.closing(Store(str(old.record))) as store:
        assert [task.status.state for task in store.list_tasks("linux", job_id)] == ["DONE", "REMOVED"]


def test_a_job_of_an_older_program_that_waits(old: Home) -> None:
    old.run("submit", "-p", "linux", "--key", "cut-waiting")
    assert old.get_state("cut-waiting") == "QUEUED"
    old.run("cancel", "cut-waiting")
    assert old.get_state("cut-waiting") == "REMOVED"


@pytest.mark.parametrize("was_taken", [True, False])
def test_a_submission_to_slurm_whose_answer_was_lost(old: Home, was_taken: bool) -> None:
    """The older START was killed with its sbatch: this version's FIND_JOB decides whether there is a job."""
    script, directory = old.find_script("slurm-cut")
    lost = old.root / "lost"
    lost.mkdir()
    submission = f"'{old.root}/bin/sbatch' \"$@\" > /dev/null" if was_taken else ":"
    (lost / "sbatch").write_text(f"#!/bin/sh\n{submission}\nkill -s KILL $PPID\n")
    (lost / "sbatch").chmod(0o755)
    environment = {**old.environment, "PATH": f"{lost}:{old.environment['PATH']}"}
    ended = subprocess.run(
        ["sh", "-s"], input=script, text=True, env=environment, capture_output=True, check=False
    )
    assert ended.returncode != 0
    assert old.run("submit", "-p", "slurm", "--key", "slurm-cut") == "16"
    assert old.slurm.read_text().count(str(directory)) == 1
    assert old.get_state("slurm-cut") == "QUEUED"
    job = subprocess.run(
        ["sh", str(directory / FILES[old.version][0])],
        env={**old.environment, "SLURM_JOB_ID": "16"},
        cwd=directory,
        check=False,
    )
    assert job.returncode == 5
    old.set_slurm("16", "FAILED|1280|NonZeroExitCode")
    old.run("wait", "slurm-cut", code=5)
    assert old.run("output", "slurm-cut") == "begun"
    assert (directory / FILES[old.version][1]).read_text() == "16\n"


def test_an_array_of_slurm_of_which_slurm_has_forgotten_a_task(old: Home) -> None:
    assert old.run("submit", "-p", "slurm", "--key", "slurm-cut-array") == "16"
    directory = old.find_script("slurm-cut-array")[1]
    for index in ("1", "2"):
        variables = {"SLURM_JOB_ID": "17", "SLURM_ARRAY_JOB_ID": "16", "SLURM_ARRAY_TASK_ID": index}
        command = ["sh", str(directory / FILES[old.version][0])]
        task = subprocess.run(command, env={**old.environment, **variables}, cwd=directory, check=False)
        assert task.returncode == int(index)
    lines = [line for line in old.slurm.read_text().splitlines(keepends=True) if not line.startswith("16|1|")]
    old.slurm.write_text("".join(lines))
    old.set_slurm("16", "FAILED|512|NonZeroExitCode")
    old.run("wait", "slurm-cut-array", code=125)
    with contextlib.closing(Store(str(old.record))) as store:
        assert [task.status.exit_code for task in store.list_tasks("slurm", "16")] == [1, 2]


def make_newer(path: Path) -> None:
    """Make a record one of a later version, which has more columns and words."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        for statement in (
            "ALTER TABLE job ADD COLUMN flavour TEXT",
            "CREATE TABLE more (a)",
            "UPDATE job SET state = 'FROZEN' WHERE key = 'slurm-queued'",
            "UPDATE job SET cause = 'COSMIC RAYS' WHERE key = 'killed'",
            "CREATE TABLE IF NOT EXISTS writer (version TEXT NOT NULL)",
            "DELETE FROM writer",
            "INSERT INTO writer VALUES ('9.9.0')",
            f"PRAGMA user_version = {SCHEMA_VERSION + 1}",
        ):
            db.execute(statement)
        db.commit()


def test_the_record_of_a_newer_version_is_read(old: Home) -> None:
    old.run("submit", "-p", "linux", "--key", "cut")
    make_newer(old.record)
    before = old.record.read_bytes()
    jobs = old.list_jobs()
    assert {key: jobs[key]["state"] for key in ENDED} == {key: end[0] for key, end in ENDED.items()}
    assert jobs["slurm-queued"]["state"] == "QUEUED"  # as Slurm says
    assert old.run("output", "cut") == "begun"
    (old.home / "go").touch()
    old.run("wait", "cut", code=4)
    old.run("wait", "done", code=3)
    assert "greeting" in old.run("show", "done")
    old.run("fetch", "cut", "stdout", "--to", str(old.root / "fetched"))
    assert (old.root / "fetched/stdout").read_text() == "begun\n"
    old.run("hold", "slurm-queued")
    assert old.get_state("slurm-queued") == "HELD"
    old.run("resume", "slurm-queued")
    old.run("cancel", "slurm-queued")
    assert old.get_state("slurm-queued") == "REMOVED"
    for words in (
        ("submit", "-p", "linux", "true"),
        ("submit", "-p", "linux", "--key", "cut-waiting"),
        ("forget", "done"),
        ("rerun", "done"),
    ):
        ended = run_incarnate("job", *words, environment=old.environment, timeout=PATIENCE)
        assert ended.returncode != 0, words
        assert "9.9.0" in ended.stderr, words
        assert f"{__version__} does not write it" in ended.stderr, words
    assert old.record.read_bytes() == before


def test_a_process_whose_record_is_migrated_meanwhile_is_told(tmp_path: Path) -> None:
    path = tmp_path / "record"
    with contextlib.closing(Store(str(path))) as store:
        record = begin_submission(store, "t", "/d", script="", key="k")
        make_newer(path)
        for change in (
            lambda: begin_submission(store, "t", "/e", script=""),
            lambda: store.record_job_id(record.number, "7"),
            lambda: store.set_key("t", "7", "j"),
        ):
            with pytest.raises(StoreError, match=r"(?s)9\.9\.0.*start it again"):
                change()
        assert [job.key for job in store.list_all_jobs()] == ["k"]
        with contextlib.closing(sqlite3.connect(path)) as db:
            db.execute("ALTER TABLE job RENAME COLUMN word TO words")
        with pytest.raises(StoreError, match=r"(?s)9\.9\.0.*cannot read it.*start it again"):
            store.list_all_jobs()
    with pytest.raises(StoreError, match=r"9\.9\.0 .* cannot read it"):
        Store(str(path))


DIES = """
left = {count}
class Dying(sqlite3.Connection):
    def execute(self, *words):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), 9)
        return super().execute(*words)
connect = sqlite3.connect
sqlite3.connect = lambda *words, **options: connect(*words, **options, factory=Dying)
"""


@pytest.mark.parametrize("version", OLDER)
@pytest.mark.parametrize("on_network", [False, True])
def test_a_process_that_is_killed_as_it_migrates_a_record_changes_all_or_nothing(
    tmp_path: Path, version: str, on_network: bool
) -> None:
    """It is killed before each of its statements in turn."""
    first = write_record(version, tmp_path)
    before, migrated = dump(first), list[bool]()
    mount = f"from osprofile.jobs.record import file; file.is_on_network_mount = lambda _: {on_network}"
    for count in range(1, 99, rounds(1, 5)):
        path = tmp_path / str(count) / "jobs.db"
        path.parent.mkdir()
        shutil.copy2(first, path)
        said = try_to_open(path, f"import sqlite3\n{mount}\n{DIES.format(count=count)}")
        migrated.append(dump(path) != before)
        with contextlib.closing(Store(str(path))) as store:
            assert len(store.list_all_jobs()) == 15
        assert {p.name for p in path.parent.iterdir()} == {"jobs.db", f"jobs.db.version-{RELEASED[version]}"}
        assert dump(path.with_name(f"jobs.db.version-{RELEASED[version]}")) == before
        if "a copy of" in said:
            break
    assert migrated == sorted(migrated)
    assert migrated[0] < migrated[-1]


def try_to_open(path: Path, prepare: str) -> str:
    """Open a record in a process that has prepared itself; return what it printed."""
    program = f"import os, resource, sys\n{prepare}\nfrom osprofile.jobs.record.store import Store\nStore(sys.argv[1])"
    ended = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=False)
    return ended.stderr


@pytest.mark.parametrize("version", OLDER)
@pytest.mark.parametrize("room", [0.3, 0.9, 1.1])
def test_where_no_file_can_grow_nothing_is_lost(tmp_path: Path, version: str, room: float) -> None:
    """The copy cannot be written, or the record itself, unless the step needs little room."""
    path = write_record(version, tmp_path)
    before, size = dump(path), path.stat().st_size
    limit = int(size * room)
    said = try_to_open(path, f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))")
    assert "StoreError" in said or room > 1
    assert (dump(path) == before) == ("StoreError" in said)
    assert not list(path.parent.glob("*.new"))
    with contextlib.closing(Store(str(path))) as store:
        assert len(store.list_all_jobs()) == 15


@pytest.mark.skipif(
    os.geteuid() != 0, reason="only root mounts; test_where_no_file_can_grow_nothing_is_lost is like it"
)
@pytest.mark.parametrize("version", OLDER)
def test_on_a_full_disk_nothing_is_lost(tmp_path: Path, version: str) -> None:
    """The disk has room for one more page, and so on, until there is enough."""
    path = write_record(version, tmp_path)
    before, size = dump(path), path.stat().st_size // 1024
    disk = tmp_path / "disk"
    disk.mkdir()
    outcomes = set()
    for room in (*range(size, 4 * size, 24), 20 * size):
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={room}k", "tmpfs", disk], check=True)
        try:
            record = disk / "jobs.db"
            shutil.copy2(path, record)
            is_full = "StoreError" in try_to_open(record, "")
            outcomes.add(is_full)
            after = tmp_path / str(room)  # where there is room to read it
            shutil.copytree(disk, after)
            assert not list(after.glob("*.new"))
            assert (dump(after / "jobs.db") == before) == is_full
        finally:
            subprocess.run(["umount", disk], check=True)
    assert outcomes == {True, False}


@pytest.mark.parametrize("version", OLDER)
def test_in_a_home_that_is_read_only_nothing_is_lost(tmp_path: Path, version: str) -> None:
    path = write_record(version, tmp_path)
    before = path.read_bytes()
    home = path.parent
    if os.geteuid() == 0:
        subprocess.run(["mount", "--bind", home, home], check=True)
        subprocess.run(["mount", "-o", "remount,ro,bind", home], check=True)
    else:
        home.chmod(0o500)
    try:
        assert "StoreError" in try_to_open(path, "")
    finally:
        if os.geteuid() == 0:
            subprocess.run(["umount", home], check=True)
        home.chmod(0o700)
    assert path.read_bytes() == before
    assert [p.name for p in home.iterdir()] == ["jobs.db"]


def test_a_submission_that_was_cut_off_and_whose_programs_are_gone(old: Home) -> None:
    """It is refused, and nothing is submitted; then the key is free for a submission by this version."""
    if old.version == "dcd89c6":  # its scripts need no programs
        assert not (old.home / ".gpe").exists()
        return
    shutil.rmtree(old.home / ".gpe/bin")
    words = ("job", "submit", "-p", "linux", "--key", "cut-waiting", "true")
    refused = run_incarnate(*words, environment=old.environment, timeout=PATIENCE)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "is not deployed" in refused.stderr
    assert not list((old.root / "jobs").glob("*/*"))
    job_id = old.run(*words[1:])
    old.run("wait", job_id)


def test_the_daemon_of_htcondor_goes_on_with_the_jobs_of_an_older_one(old: Home) -> None:
    numbers = ("13", "14", "12")
    old.set_slurm("14", "FAILED|1792|NonZeroExitCode")
    command = [sys.executable, "-c", "from osprofile.executors.blah.main import main; main()"]
    with subprocess.Popen(
        command, env=old.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as daemon:
        assert daemon.stdin is not None
        assert daemon.stdout is not None
        said, answers = iter(daemon.stdout.readline, ""), dict[str, str]()
        next(said)
        for number in numbers:
            daemon.stdin.write(f"BLAH_JOB_STATUS {number} slurm/20261128/{number}\n")
            assert next(said) == "S\n"
        while len(answers) < len(numbers):
            daemon.stdin.write("RESULTS\n")
            for _ in range(int(next(said).split()[1])):
                number, _, answer = next(said).partition(" ")
                answers[number] = answer.replace("\\ ", " ")
            time.sleep(0.02)
        daemon.stdin.write("QUIT\n")
        daemon.stdout.read()
    assert answers["13"].startswith("0 No Error 1 ")
    assert answers["14"].startswith("0 No Error 4 ")
    assert "ExitCode = 7;" in answers["14"]
    assert answers["12"].startswith("0 No Error 4 ")
