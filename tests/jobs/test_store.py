"""The record of the jobs: what it keeps, who may complete what, and files that cannot be used."""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from osprofile.errors import StoreError, SubmissionBusyError
from osprofile.jobs.record import file as record_file
from osprofile.jobs.record import names
from osprofile.jobs.record import store as module
from osprofile.jobs.record.file import SCHEMA_VERSION, is_on_network_mount
from osprofile.jobs.record.store import JobDetails, Store, default_store_path
from osprofile.jobs.state import EndCause, JobState, JobStatus, MissingPeriod
from osprofile.jobs.target_system import TargetSystem
from tests.hunting import rounds
from tests.jobs.conftest import QUICK, get_record, shell
from tests.records import begin_submission, execute_sql

if TYPE_CHECKING:
    from pathlib import Path

    from osprofile.jobs.record.store import JobRecord
    from tests.jobs.conftest import Toy

OWNER = """
import sys
from osprofile.jobs.record.store import Store
(record,) = Store(sys.argv[1]).begin_submissions("t", [("/d", {"script": "s"})])
print(record.number, flush=True)
sys.stdin.read()
"""


def test_a_job_from_submission_to_end() -> None:
    store = Store()
    record = begin_submission(store, "t", "/d", script="S", key="k", name="n", walltime=5)
    assert (record.directory, record.script, record.key) == ("/d", "S", "k")
    assert (record.name, record.walltime, record.is_submitted) == ("n", 5, False)
    assert store.list_live_jobs("t") == []
    store.record_job_id(record.number, "17")
    found = get_record(store, "t", "17")
    assert (found.script, found.owner, found.status.state) == (None, None, JobState.QUEUED)
    assert [found] == store.list_live_jobs("t") == store.find_on_all_targets("17") == store.list_all_jobs()
    assert found == store.find_by_key("t", "k") == store.find_by_directory("t", "/d")
    assert store.find_job("other", "17") is None
    store.record_missing("t", {"17": MissingPeriod(0.5, 0.5)})
    store.record_missing("t", {"17": None})
    assert store.list_all_jobs()[0].missing is None
    store.record_missing("t", {"17": MissingPeriod(1.0, 2.0)})
    store.record_removal("t", "17", 3.0)
    again = get_record(store, "t", "17")
    assert (again.missing, again.aborted_at) == (MissingPeriod(1.0, 2.0), 3.0)
    status = JobStatus("17", JobState.FAILED, "w", None, 9, EndCause.TIME, ("a", "b"), "r", None, 2.0, 3.0)
    status = status._replace(elapsed=1.5, cpu_time=0.25, max_memory=1 << 40, energy=4.5e6)
    status = status._replace(allocated_cpus=4, allocated_memory=1 << 31)
    store.update_statuses("t", [status])
    ended = get_record(store, "t", "17")
    assert ended.status == status._replace(submitted=found.status.submitted)
    assert ended.missing is None
    store.update_statuses("t", [JobStatus("17", JobState.RUNNING)])
    assert store.find_job("t", "17") == ended  # an end is an end
    assert (store.prune_ended_jobs(3.0), store.prune_ended_jobs(3.1)) == (0, 1)
    assert store.list_all_jobs() == []


def test_many_jobs_that_are_alike_and_some_that_are_not() -> None:
    store = Store()
    ids = [str(n) for n in range(1100)]
    for job_id in ids:
        store.adopt_job("t", JobStatus(job_id, JobState.QUEUED))
    store.adopt_job("u", JobStatus("0", JobState.QUEUED))
    store.update_statuses("t", [JobStatus(ids[5], JobState.DONE, exit_code=0, started=1.0, ended=2.0)])
    seen = {
        job_id: JobStatus(job_id, JobState.RUNNING, hosts=(f"n{number % 3}",))
        if number % 7
        else JobStatus(job_id, JobState.HELD, "H", reason="held", submitted=float(number % 2))
        for number, job_id in enumerate(ids)
    }
    store.update_statuses("t", seen.values())
    found = {record.status.job_id: record.status for record in store.list_all_jobs() if record.target == "t"}
    assert found.pop(ids[5]).state is JobState.DONE
    del seen[ids[5]]
    assert found == seen
    other = get_record(store, "u", "0")
    assert other.status.state is JobState.QUEUED


def test_a_directory_and_a_key_have_one_job(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "s"))
    begin_submission(store, "t", "/d", script="")
    with pytest.raises(StoreError, match="/d is the working directory of another job"):
        begin_submission(store, "t", "/d", script="")
    begin_submission(store, "t", "/e", script="", key="k")
    with pytest.raises(SubmissionBusyError, match="the job with the key k"):
        begin_submission(store, "t", "/f", script="", key="k")
    begin_submission(store, "u", "/d", script="", key="k")  # another target


def test_a_key_can_be_given_up_or_changed() -> None:
    store = Store()
    for number in range(2):
        record = begin_submission(store, "t", f"/d{number}", script="", key="a")
        store.record_job_id(record.number, str(number))
        store.set_key("t", str(number), None if number == 0 else "b")
    assert [record.key for record in store.list_all_jobs()] == [None, "b"]
    with pytest.raises(StoreError):
        store.set_key("t", "0", "b")


def test_an_id_that_comes_round_again_is_the_new_job() -> None:
    store = Store()
    for directory in ("/a", "/b"):
        store.record_job_id(begin_submission(store, "t", directory, script="").number, "1")
    assert [record.directory for record in store.list_all_jobs()] == ["/b"]


@pytest.mark.parametrize(
    ("end", "aborted", "state"),
    [
        (JobStatus("1", JobState.DONE, exit_code=3, ended=7.0), None, JobState.DONE),
        (None, None, JobState.LOST),
        (None, 5.0, JobState.REMOVED),
    ],
)
def test_a_key_still_means_the_older_job_of_its_id(
    end: JobStatus | None, aborted: float | None, state: JobState
) -> None:
    store = Store()
    store.record_job_id(begin_submission(store, "t", "/a", script="", key="k").number, "1")
    if aborted is not None:
        store.record_removal("t", "1", aborted)
    store.update_statuses("t", [end] if end is not None else [])
    for directory in ("/b", "/c"):
        store.record_job_id(begin_submission(store, "t", directory, script="", key=directory).number, "1")
    found = get_record(store, "t", "1")
    assert (found.directory, found.status.state) == ("/c", JobState.QUEUED)
    assert store.list_live_jobs("t") == [found]
    older = store.find_by_key("t", "k")
    assert older is not None
    assert (older.directory, older.status.job_id, older.status.state) == ("/a", "1#1", state)
    assert older.status.ended is not None
    if end is not None:
        assert older.status[1:] == end._replace(submitted=older.status.submitted)[1:]
    between = store.find_by_key("t", "/b")
    assert between is not None
    assert between.status.job_id == "1#2"


def test_a_process_that_runs_abort_is_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store()
    store.record_job_id(begin_submission(store, "t", "/a", script="").number, "1")
    store.mark_aborting("t", "1", is_running=True)
    assert store.list_all_jobs()[0].has_live_owner
    with monkeypatch.context() as other:
        other.setattr(names, "get_current_owner", lambda: f"{names.get_host_and_boot()} 1 other")
        store.mark_aborting("t", "1", is_running=False)
        assert store.list_all_jobs()[0].has_live_owner  # not that one's to say
        store.mark_aborting("t", "1", is_running=True)
    assert not store.list_all_jobs()[0].has_live_owner  # it has died
    store.mark_aborting("t", "1", is_running=True)
    store.mark_aborting("t", "1", is_running=False)
    assert store.list_all_jobs()[0].owner is None


def test_a_job_that_was_not_started_here() -> None:
    store = Store()
    status = JobStatus("9", JobState.RUNNING, "R")
    store.adopt_job("t", status)
    store.adopt_job("t", status)
    (record,) = store.list_live_jobs("t")
    assert record.status == status


def test_only_the_submissions_of_ended_processes_are_cut(tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    store = Store(path)
    mine = begin_submission(store, "t", "/mine", script="")
    assert store.list_interrupted_submissions("t") == []
    assert not store.claim_submission(mine.number)  # this very process is at it
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        number = int(other.stdout.readline())
        assert store.list_interrupted_submissions("t") == []
        assert not store.claim_submission(number)
        other.kill()
        other.wait()
    (cut,) = store.list_interrupted_submissions("t")
    assert (cut.number, cut.script) == (number, "s")
    assert store.claim_submission(number)
    assert not store.claim_submission(number)
    store.release_submission(mine.number)
    assert [record.number for record in store.list_interrupted_submissions("t")] == [mine.number]


def test_a_submission_by_another_host(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store()
    with monkeypatch.context() as patched:
        patched.setattr(names, "get_host_and_boot", lambda: "elsewhere boot")
        begin_submission(store, "t", "/d", script="")
    assert store.list_interrupted_submissions("t") == []
    later = time.time() + names.REMOTE_OWNER_TIMEOUT + 1
    monkeypatch.setattr(time, "time", lambda: later)
    assert len(store.list_interrupted_submissions("t")) == 1


def test_the_file_is_its_owners_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    path = default_store_path()
    assert path == str(tmp_path / "state/osprofile/jobs.db")
    store = Store(path)
    begin_submission(store, "t", "/d", script="")
    modes = {name: os.stat(os.path.join(os.path.dirname(path), name)).st_mode & 0o777
             for name in os.listdir(os.path.dirname(path))}  # fmt: skip
    assert modes == dict.fromkeys(("jobs.db", "jobs.db-wal", "jobs.db-shm"), 0o600)
    assert os.stat(os.path.dirname(path)).st_mode & 0o777 == 0o700
    store.close()
    (again,) = Store(path).list_all_jobs()
    assert again.directory == "/d"


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    file = tmp_path / "s"
    data = b"not a database at all, but long enough to be taken for one" * 20
    file.write_bytes(data)
    with pytest.raises(StoreError, match=f"(?s){re.escape(str(file))}.*move it"):
        Store(str(file))
    assert file.read_bytes() == data


BROKEN = {
    "schema": "PRAGMA writable_schema = 1; UPDATE sqlite_master SET sql = CAST(x'43ff' AS TEXT) WHERE name = 'job'",
    "state": "UPDATE job SET state = CAST(x'43ff' AS TEXT)",
    "keys of a file": "UPDATE job_file SET keys = '['",
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_record_with_a_broken_text(tmp_path: Path, what: str) -> None:
    file = tmp_path / "s"
    store = Store(str(file))
    begin_submission(store, "t", "/d", script="")
    store.set_job_file("/f", "t", ["k"])
    store.close()
    with contextlib.closing(sqlite3.connect(file)) as db:
        db.executescript(BROKEN[what])
    with pytest.raises(StoreError, match=f"(?s){re.escape(str(file))}.*move it"):
        read_all(str(file))


def read_all(path: str) -> None:
    store = Store(path)
    try:
        store.list_all_jobs()
        store.find_job_file("/f")
    finally:
        store.close()


OUR_VERSION = f"PRAGMA user_version = {SCHEMA_VERSION}"
FOREIGN = {
    "plain": ("CREATE TABLE bookmarks (url TEXT)",),
    "with a table of our name": ("CREATE TABLE job (a)",),
    "with a log": (
        "CREATE TABLE bookmarks (url TEXT)",
        "PRAGMA journal_mode = WAL",
        "INSERT INTO bookmarks VALUES ('http://example.org')",
    ),
    "of our version": (OUR_VERSION, "CREATE TABLE bookmarks (url TEXT)"),
    "of our words": (OUR_VERSION, "CREATE TABLE job (number, target, state)"),
    "of no table": (OUR_VERSION,),
    "of another version of osprofile": ("PRAGMA user_version = 99",),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_another_program_s_database_stays_as_it_is(tmp_path: Path, name: str) -> None:
    """Not a byte of it is changed, nor of the log that its program has not yet put back."""
    file = tmp_path / "places.sqlite"
    pid = os.fork()
    if pid == 0:  # it ends as by a crash: what it wrote stays in the log
        db = sqlite3.connect(file, isolation_level=None)
        for statement in FOREIGN[name]:
            db.execute(statement)
        os._exit(0)
    os.waitpid(pid, 0)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    words = (
        "another version of osprofile (version 99)" if "version of osprofile" in name else "another program"
    )
    with pytest.raises(StoreError, match=f"(?s){re.escape(str(file))}.*{re.escape(words)}"):
        Store(str(file))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_places_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "file" / "s"):
        with pytest.raises(StoreError) as caught:
            Store(str(path))
        assert "XDG_STATE_HOME" in str(caught.value)


def test_a_full_disk(tmp_path: Path) -> None:
    """SQLite's own limit on pages stands for the disk's: what was written stays readable."""
    store = Store(str(tmp_path / "s"))
    store._db.execute("PRAGMA max_page_count = 12")
    written = 0
    with pytest.raises(StoreError, match="full"):  # noqa: PT012
        for written in range(1000):
            begin_submission(store, "t", f"/{written}", script="x" * 1000)
    assert 0 < written == len(store.list_all_jobs())


def test_a_file_that_another_one_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_file, "LOCK_TIMEOUT", 0.05)
    path = str(tmp_path / "s")
    store, other = Store(path), sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="locked"):
        begin_submission(store, "t", "/d", script="")
    other.execute("ROLLBACK")
    other.close()
    begin_submission(store, "t", "/d", script="")


def test_a_new_file_that_another_one_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "s")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with monkeypatch.context() as patch:
        patch.setattr(record_file, "LOCK_TIMEOUT", 0.05)
        with pytest.raises(StoreError, match="locked"):
            Store(path)
    with ThreadPoolExecutor() as executor:
        opening = executor.submit(lambda: Store(path).close())
        time.sleep(0.2)
        assert not opening.done()
        other.execute("ROLLBACK")
        opening.result()
    other.close()


MOUNTS = """\
/dev/sda / ext4 rw 0 0
server:/home /home nfs4 rw 0 0
none /home/me/scratch tmpfs rw 0 0
server:/a\\040b /mnt/a\\040b lustre rw 0 0
"""


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/etc/x", False),
        ("/home/you/s", True),
        ("/home/me/scratch/s", False),
        ("/homeless/s", False),
        ("/mnt/a b/s", True),
    ],
)
def test_network_file_systems(tmp_path: Path, path: str, expected: bool) -> None:
    (tmp_path / "mounts").write_text(MOUNTS)
    assert is_on_network_mount(path, str(tmp_path / "mounts")) is expected
    assert not is_on_network_mount(path, str(tmp_path / "none"))


def test_on_a_network_file_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_file, "is_on_network_mount", lambda _path: True)
    store = Store(str(tmp_path / "s"))
    begin_submission(store, "t", "/d", script="")
    assert os.listdir(tmp_path) == ["s"]
    assert len(Store(str(tmp_path / "s")).list_all_jobs()) == 1


async def test_what_ended_long_ago_is_forgotten(toy: Toy, tmp_path: Path) -> None:
    store = Store(str(tmp_path / "jobs.db"))
    old, recent, live = JobState.DONE, JobState.FAILED, JobState.RUNNING
    now = time.time()
    for number, (state, days) in enumerate([(old, 91), (recent, 89), (live, 400)]):
        status = JobStatus(str(1000 + number), state, ended=now - days * 86400)
        store.adopt_job("toy", status)
    async with TargetSystem(toy.profile, store=store, timing=QUICK) as target:
        await target.submit(shell("true"))
    assert [r.status.job_id for r in store.list_all_jobs()] == ["1001", "1002", "1"]


# Several records of one process


OTHER_PROGRAM = """
import sys
from osprofile.jobs.record.store import Store
store = Store(sys.argv[1])
print([record.key for record in store.list_all_jobs()])
store.close()
"""


def list_keys_in_another_process(path: Path) -> str:
    words = [sys.executable, "-c", OTHER_PROGRAM, str(path)]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.parametrize("closes", [False, True])
def test_a_second_record_of_the_process_leaves_the_locks_of_the_first(tmp_path: Path, closes: bool) -> None:
    """Without these locks, the last process that closes the file deletes what others are writing (the WAL)."""
    path = tmp_path / "jobs.db"
    first = Store(str(path))
    begin_submission(first, "t", "/a", script="", key="a")
    second = Store(str(path))
    if closes:
        second.close()
    assert list_keys_in_another_process(path) == "['a']"
    begin_submission(first, "t", "/b", script="", key="b")
    assert list_keys_in_another_process(path) == "['a', 'b']"
    first.close()
    assert list_keys_in_another_process(path) == "['a', 'b']"


MANY = """
import sys
from osprofile.jobs.record.store import Store
for number in range(15):
    one, two = Store(sys.argv[1]), Store(sys.argv[1])
    values = {"script": "x" * 3000, "key": f"{sys.argv[2]}-{number}"}
    one.begin_submissions("t", [(f"/{sys.argv[2]}/{number}", values)])
    one.close()
    two.close()
"""


def test_many_processes_with_two_records_each(tmp_path: Path) -> None:
    path = str(tmp_path / "jobs.db")
    running = [subprocess.Popen([sys.executable, "-c", MANY, path, str(n)]) for n in range(8)]
    assert [process.wait() for process in running] == [0] * 8
    store = Store(path)
    assert len(store.list_all_jobs()) == 8 * 15
    assert execute_sql(store, "PRAGMA integrity_check") == [("ok",)]


def test_the_jobs_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(str(tmp_path / "s"))
    path = f"{tmp_path}/it's \udce9.csv"
    assert store.find_job_file(path) is None
    store.set_job_file(path, "t", ["old"])
    store.set_job_file(path, "u", ["k-1", "\udce9'"])
    monkeypatch.chdir(tmp_path)
    assert store.find_job_file("./it's \udce9.csv") == ("u", ["k-1", "\udce9'"])
    for number in range(100):
        store.set_job_file(f"{tmp_path}/{number}", "t", ["k"])
    assert store.find_job_file(path) is None
    assert store.find_job_file(f"{tmp_path}/0") == ("t", ["k"])


def test_the_request_and_the_states_of_a_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(str(tmp_path / "s"))
    request = {"EXECUTABLE": "/bin/date", "ENVIRONMENT": "export A='x\ny'\n", "X": "\x1b \u65e5'\""}
    begun = begin_submission(
        store, "t", "/d", script="s", request=request, application="A/1", context={"USER_NAME": "it's"}
    )
    assert store.read_details(begun.number) == JobDetails(request, "A/1", context={"USER_NAME": "it's"})
    store.record_job_id(begun.number, "17", {1: "17_1"})
    (task,) = store.list_tasks("t", "17")
    assert store.read_details(task.number) == store.read_details(begun.number)
    monkeypatch.setattr(time, "time", lambda: 50.0)
    for state, moments in (
        (JobState.QUEUED, {}), (JobState.HELD, {}), (JobState.HELD, {}), (JobState.RUNNING, {"started": 60.0}),
        (JobState.QUEUED, {}), (JobState.RUNNING, {}), (JobState.DONE, {"ended": 70.5}),
        (JobState.FAILED, {"ended": 80.0}),
    ):  # fmt: skip
        store.update_statuses("t", [JobStatus("17", state, **moments)])
    history = [("HELD", 50.0), ("RUNNING", 60.0), ("QUEUED", 50.0), ("RUNNING", 50.0), ("DONE", 70.5)]
    assert store.read_details(begun.number).history == tuple(history)
    assert store.read_details(task.number).history == ()
    store.delete_record(begun.number)
    assert store.read_details(begun.number) == JobDetails()
    assert execute_sql(store, "SELECT * FROM request") == []
    store.adopt_job("t", JobStatus("18", JobState.RUNNING))
    (adopted,) = store.list_all_jobs()
    assert store.read_details(adopted.number) == JobDetails(history=((JobState.RUNNING, 50.0),))
    for number in range(1000):
        store.update_statuses("t", [JobStatus("18", (JobState.HELD, JobState.RUNNING)[number % 2])])
    long_history = store.read_details(adopted.number).history
    assert 400 < len(long_history) < 700
    assert long_history[-1] == (JobState.RUNNING, 50.0)


# A record of many jobs


GOOD_STEP = re.compile(
    r"INTEGER PRIMARY KEY|job_(live|unsubmitted) \(target=\?\)|\(target=\? AND (\w+=|<expr>[<>])\?\)"
    r"|COVERING INDEX job_directory( \(target>\?\))?$"
)


def use_every_query(store: Store) -> None:
    """Call each method of a record that lists, finds or changes some of its jobs."""
    begun = begin_submission(store, "t", "/d", script="s", key="k", array="1-2", request={"A": "1"})
    store.record_job_id(begun.number, "17", {1: "17_1", 2: "17_2"})
    store.release_submission(begun.number)
    store.claim_submission(begun.number)
    store.set_key("t", "17", "l")
    store.adopt_job("t", JobStatus("18", JobState.RUNNING))
    store.update_statuses(
        "t", [JobStatus("17_1", JobState.RUNNING), JobStatus("18", JobState.DONE, ended=1.0)]
    )
    store.record_usage("t", JobStatus("18", JobState.DONE, elapsed=1.0))
    store.mark_aborting("t", "17", is_running=True)
    store.record_removal("t", "17", 1.0)
    store.record_missing("t", {"17": MissingPeriod(1.0, 2.0)})
    again = begin_submission(store, "t", "/e", script="s")
    store.record_job_id(again.number, "17")
    store.find_job("t", "17")
    store.find_by_key("t", "l")
    store.find_by_directory("t", "/d")
    store.find_on_all_targets("17")
    store.find_directory_on_all_targets("/d")
    store.find_key_on_all_targets("l")
    store.read_details(begun.number)
    store.list_targets()
    store.list_interrupted_submissions("t")
    store.list_live_jobs("t")
    store.list_live_jobs()
    store.list_recent_jobs("t", 1.0)
    store.list_tasks("t", "17")
    assert store.prune_ended_jobs(5.0) == 1
    store.delete_record(again.number)


def test_no_query_reads_all_jobs(tmp_path: Path) -> None:
    """Neither all of the table, nor all of one target: most have one target only."""
    store = Store(str(tmp_path / "s"))
    statements: list[str] = []
    store._db.set_trace_callback(statements.append)
    use_every_query(store)
    store._db.set_trace_callback(None)
    queries = {s for s in statements if s.split()[0] in {"SELECT", "UPDATE", "DELETE"}}
    assert len(queries) > 25
    for query in queries:
        for *_, step in execute_sql(store, f"EXPLAIN QUERY PLAN {query}"):
            if re.search(r"\b(job|whole|request)\b", step):
                assert GOOD_STEP.search(step), query


def test_lists_of_all_targets_and_of_one() -> None:
    store = Store()
    assert (store.list_targets(), store.list_live_jobs(), store.list_recent_jobs("a", 0.0)) == ([], [], [])
    jobs = {
        ("b", "1"): None, ("a", "2"): 100.0, ("b", "3"): 200.0, ("c", "4"): None, ("a", "1"): 300.0,
    }  # fmt: skip
    for (target, job_id), ended in jobs.items():
        store.adopt_job(target, JobStatus(job_id, JobState.DONE if ended else JobState.RUNNING, ended=ended))
    begin_submission(store, "d", "/d", script="")

    def name(records: list[JobRecord]) -> list[str]:
        return [record.target + record.status.job_id for record in records]

    assert store.list_targets() == ["a", "b", "c", "d"]
    assert name(store.list_live_jobs()) == ["b1", "c4"]
    assert name(store.list_live_jobs("c")) == ["c4"]
    assert name(store.list_recent_jobs("a", 200.0)) == ["a1"]
    assert name(store.list_recent_jobs("b", 200.0)) == ["b1", "b3"]
    assert name(store.list_recent_jobs("b", 200.1)) == ["b1"]
    assert name(store.list_recent_jobs("d", 200.0)) == ["d"]
    assert name(store.list_all_jobs("a")) == ["a2", "a1"]
    assert name(store.list_newest_jobs(2)) == ["a1", "d"]
    assert name(store.find_on_all_targets("1")) == ["b1", "a1"]
    assert name(store.find_directory_on_all_targets("/d")) == ["d"]


def test_old_jobs_go_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """An array goes with all of its tasks."""
    monkeypatch.setattr(module, "_PRUNE_BATCH_SIZE", 5)
    store = Store()
    for number in range(7):
        store.adopt_job("t", JobStatus(str(number), JobState.DONE, ended=100.0 - number))
    tasks = {index: f"9_{index}" for index in range(8)}
    store.record_job_id(begin_submission(store, "t", "/d", script="", array="0-7").number, "9", tasks)
    ends = [JobStatus(job_id, JobState.DONE, ended=95.5) for job_id in ("9", *tasks.values())]
    store.update_statuses("t", ends)
    left = []
    while store.prune_ended_jobs(101.0):
        left.append([record.status.job_id for record in store.list_all_jobs()])
        assert len(store.list_tasks("t", "9")) == 8 * ("9" in left[-1])
    assert left == [["0", "1", "2", "3", "4"], []]


MANY_SUBMISSIONS = """
import asyncio, os, sys, traceback
from osprofile.jobs.fields import JobDescription
from osprofile.jobs.record.store import Store
from osprofile.jobs.target_system import TargetSystem
from osprofile.profile.repository import Repository

directory, count = sys.argv[1], int(sys.argv[2])
profile = Repository().load_file(f"{directory}/stub.xml")
start_read, start_write = os.pipe()

async def submit(key):
    target = TargetSystem(profile, store=Store(f"{directory}/jobs.db"))
    job_id = await target.submit(JobDescription(executable="/bin/true"), key=key, strict=False)
    os.write(1, f"{key} {job_id}\\n".encode())
    await target.close()
    target.store.close()

for number in range(count):
    if os.fork() == 0:
        os.close(start_write)
        os.read(start_read, 1)  # all begin at the same time
        try:
            asyncio.run(submit(f"k{number}"))
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
os.close(start_write)
sys.exit(any([os.wait()[1] for _ in range(count)]))
"""
STUB = """<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" xmlns:idb="http://gpe.intel.com/idb"
  name="stub" extends="linux">
  <osp:UspaceRoot>{root}</osp:UspaceRoot>
  <osp:Delimiter>/</osp:Delimiter>
  <idb:Template name="START"><idb:Invocation name=""><idb:Body>
d='&lt;WORKING_DIRECTORY/'/'\\''&gt;'
echo "$d" &gt;&gt; '{root}/started'
printf '%s-1-%.8s\\n' "$$" "${{d##*-}}"
  </idb:Body></idb:Invocation></idb:Template>
</osp:Profile>
"""


def test_two_hundred_processes_submit_at_the_same_time(tmp_path: Path) -> None:
    """None is told of a lock, each job is submitted once, and each is recorded."""
    count = rounds(200, 40)
    (tmp_path / "stub.xml").write_text(STUB.format(root=tmp_path))
    words = [sys.executable, "-c", MANY_SUBMISSIONS, str(tmp_path), str(count)]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    told = dict(line.split() for line in ended.stdout.splitlines())
    assert told.keys() == {f"k{number}" for number in range(count)}
    records = Store(str(tmp_path / "jobs.db")).list_all_jobs()
    assert [(r.key, r.status.job_id) for r in records if told.get(r.key or "") == r.status.job_id] == [
        (r.key, r.status.job_id) for r in records
    ]
    started = (tmp_path / "started").read_text().splitlines()
    assert sorted(started) == sorted(record.directory for record in records)
    assert len(set(started)) == len(set(told.values())) == count


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_the_record_of_another_user_is_refused(tmp_path: Path) -> None:
    """Its interrupted submissions are scripts, which would run as this user."""
    path = tmp_path / "jobs.db"
    Store(str(path)).close()
    os.chown(path, 65534, 65534)
    with pytest.raises(StoreError, match="belongs to another user"):
        Store(str(path))


def test_a_named_pipe_is_no_record(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "jobs.db")
    with pytest.raises(StoreError, match=r"jobs\.db, is not a regular file"):
        Store(str(tmp_path / "jobs.db"))


def test_a_child_process_has_a_name_of_its_own() -> None:
    program = """\
import os, time
from osprofile.jobs.record.names import get_current_owner, is_owner_alive
own = get_current_owner()
time.sleep(0.1)  # start times are in hundredths of a second
if os.fork() == 0:
    print(own, get_current_owner(), is_owner_alive(get_current_owner(), 0.0), sep="|", flush=True)
    os._exit(0)
os.wait()
"""
    words = [sys.executable, "-c", program]
    own, other, is_alive = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split("|")
    assert is_alive == "True\n"
    assert [a == b for a, b in zip(own.split(), other.split(), strict=True)] == [True, True, False, False]
