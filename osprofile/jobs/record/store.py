"""The record of the jobs that were started here, in an SQLite file.

A job is recorded before it is submitted, with the script that submits it, and again when its id is
known. If a process dies in between, another one can complete the submission: START submits at most
once for a directory. Without the record, every command still works on live jobs, but the results of
ended jobs are lost.

Any number of processes may use one record at the same time. SQLite's write-ahead log does not work
on a network file system; its rollback journal is used there.
"""

from __future__ import annotations

import contextlib
import json
import math
import operator
import os
import sqlite3
import time
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import StoreError, SubmissionBusyError
from osprofile.jobs.record import names
from osprofile.jobs.record.file import END_TIME, ENDED_CONDITION, LIVE_CONDITION, RecordFile
from osprofile.jobs.state import (
    FAILED_STATES,
    REUSED_ID_REASON,
    EndCause,
    JobState,
    JobStatus,
    MissingPeriod,
)
from osprofile.late import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from typing import Required, TypedDict

    class SubmissionValues(TypedDict, total=False):
        """What is recorded of a job when its submission begins, beside its target and its directory."""

        script: Required[str]
        """The script that submits it."""
        key: str | None
        """The caller's name for the submission."""
        name: str
        walltime: float | None
        array: str
        """The value of ARRAY."""
        stdout: str
        stderr: str
        request: Mapping[str, str]
        """The fields as submitted, by name."""
        application: str | None
        context: Mapping[str, str]
        """The special fields of the submission that are no part of the target's name."""
        files: JobFiles
        """What is copied for the job."""
        passed_options: Sequence[str]
        """The options of the batch system without a field."""
        retry: Sequence[str]
        """The rules by which it is submitted again."""


_NO_TASKS: Final[Mapping[int, str]] = MappingProxyType({})
_NO_CONTEXT: Final[Mapping[str, str]] = MappingProxyType({})
_STATES: Final = {state.value: state for state in JobState}
_CAUSES: Final = {cause.value: cause for cause in EndCause}
# A later version may have others.
_MAX_JOB_FILES: Final = 100
"""The files of `job submit --from` whose keys are kept: those that were submitted last."""
_SELECTED_COLUMNS: Final = (
    "number, target, directory, key, name, script, owner, walltime, aborted, array_spec, array_id, array_index, stdout,"
    " stderr, accepted, missing_since, missing_last, missing_boot,"
    " job_id, state, word, exit_code, signal, cause, hosts, reason, submitted, started, ended, elapsed, cpu_time,"
    " max_memory, energy, allocated_cpus, allocated_memory, end_reported"
)
"""What a `JobRecord` is made of, in the order of `_record_from_row`."""
_MAX_HISTORY: Final = 8000
"""Characters of a history; the oldest changes are dropped."""
_UPDATE_STATEMENT: Final = f"""
UPDATE job SET
  history = CASE state WHEN ? THEN history ELSE
    substr(history || CASE WHEN started IS NULL THEN ? ELSE ? END, -{_MAX_HISTORY}) END,
  state = ?, word = ?, exit_code = ?, signal = ?, hosts = ?, reason = ?,
  submitted = coalesce(?, submitted), ended = coalesce(?, ended),
  started = CASE WHEN ? = 'QUEUED' THEN NULL ELSE coalesce(?, started) END,
  cause = ?, elapsed = ?, cpu_time = ?, max_memory = ?, energy = ?,
  allocated_cpus = ?, allocated_memory = ?, end_reported = ?,
  missing_since = NULL
WHERE target = ? AND {LIVE_CONDITION} AND job_id IN """  # noqa: S608  # a constant
_RETIRE_JOB_ID: Final = f"""
UPDATE job SET job_id = job_id || '#' || number, ended = coalesce(ended, ?),
  state = CASE WHEN NOT {LIVE_CONDITION} THEN state WHEN aborted IS NULL THEN 'LOST' ELSE 'REMOVED' END,
  reason = CASE WHEN {LIVE_CONDITION} THEN '{REUSED_ID_REASON}' ELSE reason END
"""  # noqa: S608  # constants
_ALL_TARGETS: Final = """
(WITH RECURSIVE next(name) AS (
  SELECT min(target) FROM job
  UNION ALL SELECT (SELECT min(target) FROM job WHERE target > next.name) FROM next WHERE next.name IS NOT NULL
) SELECT name FROM next WHERE name IS NOT NULL)
"""
# DISTINCT would read all jobs; this reads one entry of an index for each target.
_OLD_CONDITION: Final = (
    f"target IN {_ALL_TARGETS} AND array_id IS NULL AND {ENDED_CONDITION} AND {END_TIME} < ?"
)
_BY_ID_OR_ARRAY: Final = """
number IN (SELECT number FROM job WHERE target = ? AND job_id = ?
  UNION ALL SELECT number FROM job WHERE target = ? AND array_id = ?)
"""
# Not OR: SQLite would read all jobs of the target.
_IS_JOB_OR_TASK: Final = "(number = ? OR (target = ? AND array_id = ?))"
_UPDATE_BATCH_SIZE: Final = 250
"""Jobs that one statement updates; older versions of SQLite take at most 999 values."""
_PRUNE_BATCH_SIZE: Final = 1000
"""About so many jobs and tasks are deleted in one transaction, for which other processes wait."""


@final
class JobRecord(NamedTuple):
    """The record of one job."""

    number: int
    """The number in the record."""
    target: str
    """The name of the target system (`JobSession.name`)."""
    directory: str
    """The working directory."""
    key: str | None
    """The caller's name for the submission."""
    name: str
    """The name of the job."""
    script: str | None
    """The script that submits the job, while it is being submitted."""
    owner: str | None
    """The process that submits the job; later, the one that runs ABORT for it."""
    status: JobStatus
    """The last status; its id is empty while the job is being submitted."""
    walltime: float | None = None
    """The limit of the run time in seconds."""
    aborted_at: float | None = None
    """When the batch system accepted the removal that was requested here."""
    missing: MissingPeriod | None = None
    """Since when the batch system does not know the job; infinite times if it was recorded before a reboot."""
    array: str = ""
    """The value of ARRAY; empty if the job is no array."""
    array_id: str | None = None
    """The id of the array, if the job is a task."""
    array_index: int | None = None
    """The index in the array, if the job is a task."""
    stdout: str = ""
    """The file of the standard output, relative to `directory`; empty if it is not recorded."""
    stderr: str = ""
    """The file of the standard error."""
    accepted_at: float | None = None
    """When the id was known here: the batch system told it before."""

    @property
    def is_submitted(self) -> bool:
        """Whether the job's id is known."""
        return bool(self.status.job_id)

    def may_be_retried(self, status: JobStatus) -> bool:
        """Return whether a rule may ask for another attempt at a status: of an end, or of tasks that later runs left out."""
        if self.key is None or not status.state.is_terminal:
            return False
        return status.state in FAILED_STATES or bool(self.array and "~" in self.key)

    def name_output_file(self, stream: str, index: int | str | None = None) -> str:
        """Return the file of `stdout` or `stderr`, or that of a task, relative to `directory`; empty if not recorded.

        The profile `linux` writes `.INDEX` behind the names of a task's files, but not behind those of devices.
        """
        name = {"stdout": self.stdout, "stderr": self.stderr}[stream]
        is_device = name.removeprefix("/dev/shm").startswith("/dev/")  # noqa: S108 - files may be there
        return f"{name}.{index}" if name and index is not None and not is_device else name

    @property
    def other_host(self) -> str | None:
        """The host that began this submission, if another one, and if its directory is not on this machine.

        START submits once for a directory. Here it would make another one, and submit a second time. On a target
        that is reached by ssh, the directory is not this machine's business.
        """
        from osprofile.jobs.record.names import parse_target_name

        host = None if self.is_submitted else names.find_other_host(self.owner)
        if host is None or "SSH:HOST" in parse_target_name(self.target)[1] or os.path.isdir(self.directory):
            return None
        return host

    @property
    def has_live_owner(self) -> bool:
        """Whether the process that submits or aborts the job still exists."""
        return names.is_owner_alive(self.owner, self.status.submitted or 0.0)


@final
class JobFiles(NamedTuple):
    """What is copied for a job."""

    inputs: Mapping[str, str] = {}
    """Files and directories of this machine, by their names in the job's working directory."""
    fetch: Sequence[str] = ()
    """Patterns of files in that directory."""
    fetch_to: str = ""
    """The directory of this machine into which these are copied."""
    output_directories: Sequence[str] = ()
    """Directories below the job's working directory that are made for its output."""


@final
class JobDetails(NamedTuple):
    """What is recorded of a job, but not needed for its state."""

    request: Mapping[str, str] | None = None
    """The fields as submitted, by name; None if nobody here submitted the job."""
    application: str | None = None
    """The application as submitted; None for the default one."""
    history: tuple[tuple[JobState, float], ...] = ()
    """The changes of the state, oldest first, with their times (s since 1970)."""
    context: Mapping[str, str] = _NO_CONTEXT
    """The special fields of the submission that are no part of the target's name."""
    files: JobFiles = JobFiles()
    """What is copied for the job."""
    passed_options: Sequence[str] = ()
    """The options of the batch system without a field."""
    retry: Sequence[str] = ()
    """The rules by which it is submitted again, as far as they are not used up."""


def put_user_name(path: str, user_name: str | None = None) -> str:
    """Return a path with the name of a user in place of {user}; without one, that of this process's user."""
    from osprofile.incarnation.context import get_user_name

    return path.replace("{user}", (user_name or get_user_name()).replace("/", "_"))


def default_store_path() -> str:
    """Return the path of the user's record: $OSPROFILE_STORE, else osprofile/jobs.db in the XDG state directory.

    Raises `StoreError` for a user without a home.
    """
    if path := os.environ.get("OSPROFILE_STORE"):
        return path
    state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    if not os.path.isabs(state):
        hint = "set HOME to your home directory, or OSPROFILE_STORE to a file"
        raise StoreError(f"the record of the jobs has no place: {state} is no absolute path", hint=hint)
    return os.path.join(state, "osprofile", "jobs.db")


@final
class Store:
    """The record of jobs in one file, which is created for its owner only, or in memory.

    To be used by one thread. Every method raises `StoreError` if the file cannot be used. That of a later version
    of osprofile is read only: what is learned of its jobs is not recorded, and all else that writes is a `StoreError`.
    """

    def __init__(self, path: str = ":memory:") -> None:
        self.path = path
        """The path of the file."""
        self._file = RecordFile(path)
        self._db = self._file.connection

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    # Submissions

    def begin_submissions(
        self,
        target: str,
        submissions: Iterable[tuple[str, SubmissionValues]],
        *,
        max_live: int | None = None,
    ) -> list[JobRecord | StoreError]:
        """Record jobs that this process is about to submit, given with their directories, in one transaction.

        Return for each its record, a `SubmissionBusyError` if the key has a job already, or another `StoreError` if the
        directory has one. If the file cannot be written, none is recorded.
        With `max_live`, only as many are recorded as `count_live_jobs` allows, and the list is shorter.
        """
        from osprofile.jobs.arrays import count_indices

        owner = names.get_current_owner()
        begun: list[JobRecord | StoreError] = []
        with self._file.write():
            places = math.inf if max_live is None else max_live - self.count_live_jobs(target)
            for directory, values in submissions:
                if max_live is not None and (places := places - count_indices(values.get("array", ""))) < 0:
                    break
                try:
                    number = self._insert_submission(target, directory, owner, values)
                except sqlite3.IntegrityError:
                    if not self._db.in_transaction:  # not only this statement is undone
                        raise
                    begun.append(self._build_taken_error(target, directory, values.get("key")))
                else:
                    begun += self._select_records("number = ?", (number,))
        return begun

    def _insert_submission(self, target: str, directory: str, owner: str, values: SubmissionValues) -> int:
        get, files = values.get, values.get("files")
        number = self._db.execute(
            "INSERT INTO job (target, directory, key, name, script, owner, walltime, array_spec,"
            " stdout, stderr, submitted) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                target, directory, get("key"), get("name", ""), values["script"], owner, get("walltime"),
                get("array", ""), get("stdout", ""), get("stderr", ""), time.time(),
            ),
        ).lastrowid or 0  # fmt: skip
        lists = {
            "passed_options": list(values.get("passed_options", ())),
            "retry": list(values.get("retry", ())),
        }
        content = json.dumps(
            {
                "fields": dict(values.get("request") or {}),
                "application": get("application"),
                "context": dict(values.get("context") or {}),
                **({"files": files} if files is not None and any(files) else {}),
                **{name: words for name, words in lists.items() if words},
            }
        )
        self._db.execute("INSERT OR REPLACE INTO request VALUES (?, ?, ?)", (number, directory, content))
        return number

    def _build_taken_error(self, target: str, directory: str, key: str | None) -> StoreError:
        """Return the error for a job whose key, else its directory, already has a job."""
        if key is not None and self.find_by_key(target, key) is not None:
            message = f"another process has begun to submit the job with the key {key}"
            hint = "repeat the submission with the same key when that has ended"
            return SubmissionBusyError(message, hint=hint)
        message = f"{directory} is the working directory of another job"
        return StoreError(message, hint="each job needs its own: give another directory, or none")

    def reserve_turns(self, target: str, count: int, interval: float, burst: int) -> float:
        """Take the next turns to submit; return after how many seconds they have come.

        There is one every `interval` seconds, and after a pause up to `burst` at once.
        """
        with self._file.write():
            now = time.time()
            row = self._db.execute("SELECT time FROM next_turn WHERE target = ?", (target,)).fetchone()
            end = max(now, row["time"] if row else 0.0) + count * interval
            self._db.execute("INSERT OR REPLACE INTO next_turn VALUES (?, ?)", (target, end))
        return max(end - burst * interval - now, 0.0)

    def record_job_id(self, number: int, job_id: str, tasks: Mapping[int, str] = _NO_TASKS) -> None:
        """Record a submission's job id and, for an array, the ids of its tasks by index.

        An older job with that id has ended, since the batch system has used the id again. If that job
        has a key, which still refers to it, its id becomes `ID#NUMBER`, and it is LOST unless its end or
        its removal is recorded; otherwise its record is deleted.
        """
        with self._file.write():
            # The older job goes first: the index job_id is unique.
            self._retire_job_id(number, job_id)
            self._db.execute(
                "UPDATE job SET job_id = ?, accepted = ?, script = NULL, owner = NULL WHERE number = ?",
                (job_id, time.time(), number),
            )
            self._db.executemany(
                "INSERT OR REPLACE INTO job (target, directory, job_id, name, submitted, accepted, walltime,"
                " array_id, array_index)"
                " SELECT target, 'task:' || number || ':' || ?, ?, name, submitted, accepted, walltime,"
                " job_id, ? FROM job WHERE number = ?",
                [(index, task_id, index, number) for index, task_id in tasks.items()],
            )

    def _retire_job_id(self, number: int, job_id: str) -> None:
        """Delete or rename the older job, with its tasks, that has the id of a new one."""
        target = "target = (SELECT target FROM job WHERE number = ?)"
        for older in self._select_records(
            f"job_id = ? AND number != ? AND {target}", (job_id, number, number)
        ):
            job = (older.number, older.target, job_id)
            if older.key is None:
                self._db.execute(f"DELETE FROM job WHERE {_IS_JOB_OR_TASK}", job)  # noqa: S608  # constants
                continue
            self._db.execute(f"{_RETIRE_JOB_ID} WHERE {_IS_JOB_OR_TASK}", (time.time(), *job))
            self._db.execute(
                "UPDATE job SET array_id = ? WHERE target = ? AND array_id = ?",
                (f"{job_id}#{older.number}", older.target, job_id),
            )

    def release_submission(self, number: int) -> None:
        """Record that this process stopped submitting: any process may complete the submission."""
        released = names.get_released_owner()
        self._execute_change("UPDATE job SET owner = ? WHERE number = ?", (released, number))

    def claim_submission(self, number: int, *, take_over: bool = False) -> bool:
        """Make this process the owner; return False if another one is, or if the job has an id.

        `take_over`: a process of another host is taken for dead.
        """
        with self._file.write():
            records = self._select_records("number = ? AND job_id IS NULL", (number,))
            if not records:
                return False
            is_dead = take_over and records[0].other_host is not None
            if records[0].has_live_owner and not is_dead:
                return False
            self._db.execute("UPDATE job SET owner = ? WHERE number = ?", (names.get_current_owner(), number))
            return True

    def delete_record(self, number: int) -> None:
        """Delete the record of a job; that of an array with its tasks."""
        with self._file.write():
            for record in self._select_records("number = ?", (number,)):
                self._delete_tasks(record.target, record.status.job_id)
            self._db.execute("DELETE FROM job WHERE number = ?", (number,))

    def set_key(self, target: str, job_id: str, key: str | None) -> None:
        """Set or, with None, free the key of a submitted job."""
        self._execute_change(
            "UPDATE job SET key = ? WHERE target = ? AND job_id = ? AND key IS NOT ?",
            (key, target, job_id, key),
        )

    def set_profile_file(self, name: str, path: str) -> None:
        """Record the file of a profile that was selected by its path: its jobs are found by the profile's name."""
        if not self._file.is_newer and self.find_profile_file(name) != path:
            self._execute_change(
                "INSERT OR REPLACE INTO profile_file (name, path) VALUES (?, ?)", (name, path)
            )

    def find_profile_file(self, name: str) -> str | None:
        """Return the file from which a profile was last loaded by its path, if it is still ours; else None."""
        with self._file.convert_errors():
            row = self._db.execute("SELECT path FROM profile_file WHERE name = ?", (name,)).fetchone()
        with contextlib.suppress(OSError):
            if row is not None and os.stat(row["path"]).st_uid in {0, os.geteuid()}:
                return str(row["path"])
        return None

    def find_profile_name(self, path: str) -> str:
        """Return the name of the profile that was last loaded from a file; empty if none is recorded."""
        with self._file.convert_errors():
            row = self._db.execute(
                "SELECT name FROM profile_file WHERE path = ? ORDER BY rowid DESC", (path,)
            ).fetchone()
        return "" if row is None else str(row["name"])

    def set_job_file(self, path: str, target: str, keys: Sequence[str]) -> None:
        """Record the keys of the jobs that are submitted from a file, one for each of its lines."""
        old = "SELECT path FROM job_file ORDER BY rowid DESC LIMIT -1 OFFSET ?"
        with self._file.write():
            values = (_identify_file(path), target, json.dumps(keys))
            self._db.execute("INSERT OR REPLACE INTO job_file VALUES (?, ?, ?)", values)
            self._db.execute(f"DELETE FROM job_file WHERE path IN ({old})", (_MAX_JOB_FILES,))  # noqa: S608

    def find_job_file(self, path: str) -> tuple[str, list[str]] | None:
        """Return the target and the keys of the last submission from a file; None if none is recorded."""
        with self._file.convert_errors():
            select = "SELECT target, keys FROM job_file WHERE path = ?"
            row = self._db.execute(select, (_identify_file(path),)).fetchone()
            return None if row is None else (row["target"], json.loads(row["keys"]))

    # Jobs

    def adopt_job(self, target: str, status: JobStatus) -> None:
        """Record a job that was not started here."""
        if self._file.is_newer:
            return
        self._execute_change(
            "INSERT OR IGNORE INTO job (target, directory, job_id) VALUES (?, ?, ?)",
            (target, f"job:{status.job_id}", status.job_id),
        )
        self.update_statuses(target, [status])

    def update_statuses(self, target: str, statuses: Iterable[JobStatus]) -> None:
        """Record the states of jobs. A recorded end is never changed."""
        if self._file.is_newer:
            return
        jobs_by_status: dict[tuple[object, ...], tuple[JobStatus, list[str]]] = {}
        for status in statuses:
            jobs_by_status.setdefault(status[1:], (status, []))[1].append(status.job_id)
        now = time.time()
        with self._file.write():
            for status, job_ids in jobs_by_status.values():
                is_running = status.state is JobState.RUNNING
                began = status.started if is_running else status.ended if status.state.is_terminal else None
                began = began or now
                values = (
                    status.state.value, f"{status.state.value} {began:.3f}\n",
                    # it has run before: it was held, and goes on now
                    f"{status.state.value} {now if is_running else began:.3f}\n",
                    status.state.value, status.native_state, status.exit_code, status.signal,
                    " ".join(status.hosts), status.reason, status.submitted, status.ended,
                    status.state.value, status.started, status.cause, status.elapsed, status.cpu_time,
                    status.max_memory, status.energy, status.allocated_cpus, status.allocated_memory,
                    status.end_reported, target,
                )  # fmt: skip
                # One statement for many jobs takes a quarter of the time.
                for start in range(0, len(job_ids), _UPDATE_BATCH_SIZE):
                    batch = job_ids[start : start + _UPDATE_BATCH_SIZE]
                    places = ", ".join("?" * len(batch))
                    self._db.execute(f"{_UPDATE_STATEMENT} ({places})", (*values, *batch))

    def record_usage(self, target: str, status: JobStatus) -> None:
        """Record what an ended job took, as far as its status tells."""
        if self._file.is_newer:
            return
        usage = (
            status.elapsed, status.cpu_time, status.max_memory, status.energy,
            status.allocated_cpus, status.allocated_memory,
        )  # fmt: skip
        self._execute_change(
            "UPDATE job SET elapsed = coalesce(?, elapsed), cpu_time = coalesce(?, cpu_time),"  # noqa: S608  # a constant
            " max_memory = coalesce(?, max_memory), energy = coalesce(?, energy),"
            " allocated_cpus = coalesce(?, allocated_cpus), allocated_memory = coalesce(?, allocated_memory)"
            f" WHERE target = ? AND job_id = ? AND NOT {LIVE_CONDITION}",
            (*usage, target, status.job_id),
        )

    def mark_aborting(self, target: str, job_id: str, *, is_running: bool) -> None:
        """Record that this process runs ABORT for a job and its tasks, or that its ABORT has ended."""
        owner = names.get_current_owner()
        self._execute_change(
            f"UPDATE job SET owner = CASE WHEN ? THEN ? END WHERE {_BY_ID_OR_ARRAY} AND (? OR owner = ?)",  # noqa: S608  # constants
            (is_running, owner, target, job_id, target, job_id, is_running, owner),
        )

    def record_removal(self, target: str, job_id: str, removed_at: float) -> None:
        """Record when the batch system accepted a job's removal, which is also that of its live tasks."""
        self._execute_change(
            f"UPDATE job SET aborted = ? WHERE {_BY_ID_OR_ARRAY} AND (job_id = ? OR {LIVE_CONDITION})",  # noqa: S608  # constants
            (removed_at, target, job_id, target, job_id, job_id),
        )

    def schedule_removal(self, target: str, job_id: str, remove_at: float) -> bool:
        """Record when a job may be removed (s since 1970), if it has ended; return False if that is recorded already."""
        statement = (
            "UPDATE job SET remove_at = ?"
            " WHERE target = ? AND job_id = ? AND remove_at IS NULL AND array_id IS NULL"
        )
        return self._execute_change(statement, (remove_at, target, job_id)) > 0

    def limit_removals(self, target: str, latest: float) -> None:
        """Have no job removed later than at a time (s since 1970)."""
        statement = "UPDATE job SET remove_at = ? WHERE target = ? AND remove_at > ?"
        self._execute_change(statement, (latest, target, latest))

    def list_due_removals(self, target: str, now: float, count: int) -> list[JobRecord]:
        """Return the first `count` ended jobs whose time to be removed has come, but no lost ones (now: s since 1970)."""
        due = (
            "SELECT number FROM job WHERE target = ? AND remove_at IS NOT NULL AND remove_at <= ?"  # noqa: S608  # constants
            f" AND {ENDED_CONDITION} AND state <> 'LOST' LIMIT ?"
        )
        return self._select_records(f"number IN ({due})", (target, now, count))

    def record_missing(self, target: str, jobs: Mapping[str, MissingPeriod | None]) -> None:
        """Record since when jobs are missing; None for those that are known again."""
        if self._file.is_newer:
            return
        boot = names.get_host_and_boot()
        with self._file.write():
            self._db.executemany(
                "UPDATE job SET missing_since = ?, missing_last = ?, missing_boot = ?"
                " WHERE target = ? AND job_id = ?",
                [(*(m or (None, None)), boot, target, job_id) for job_id, m in jobs.items()],
            )

    # Queries

    def find_job(self, target: str, job_id: str) -> JobRecord | None:
        """Return a job by its id on the target; None if it is not recorded."""
        return next(iter(self._select_records("target = ? AND job_id = ?", (target, job_id))), None)

    def find_whole_job(self, record: JobRecord) -> JobRecord | None:
        """Return the record of a task's array; of any other job, the same record."""
        return record if record.array_id is None else self.find_job(record.target, record.array_id)

    def find_by_key(self, target: str, key: str) -> JobRecord | None:
        """Return the job of a caller's key."""
        return next(iter(self._select_records("target = ? AND key = ?", (target, key))), None)

    def find_by_directory(self, target: str, directory: str) -> JobRecord | None:
        """Return the job of a working directory."""
        return next(iter(self._select_records("target = ? AND directory = ?", (target, directory))), None)

    def find_key_on_all_targets(self, key: str) -> list[JobRecord]:
        """Return the jobs with this key, on any target."""
        return self._select_records(f"target IN {_ALL_TARGETS} AND key = ?", (key,))

    def find_keys_on_all_targets(self, pattern: str) -> list[JobRecord]:
        """Return the jobs whose keys match a pattern with * and ?, on any target."""
        glob = pattern.replace("[", "[[]")
        return self._select_records(f"target IN {_ALL_TARGETS} AND key GLOB ?", (glob,))

    def find_on_all_targets(self, job_id: str) -> list[JobRecord]:
        """Return the jobs with this id, on any target."""
        return self._select_records(f"target IN {_ALL_TARGETS} AND job_id = ?", (job_id,))

    def find_name_on_all_targets(self, name: str) -> list[JobRecord]:
        """Return the jobs with this name, the arrays among them without their tasks, on any target."""
        return self._select_records(f"target IN {_ALL_TARGETS} AND name = ? AND array_id IS NULL", (name,))

    def find_directory_on_all_targets(self, directory: str) -> list[JobRecord]:
        """Return the jobs with this working directory, on any target."""
        return self._select_records(f"target IN {_ALL_TARGETS} AND directory = ?", (directory,))

    def list_targets(self) -> list[str]:
        """Return the names of all targets that have jobs, sorted."""
        with self._file.convert_errors():
            return [name for (name,) in self._db.execute(f"SELECT name FROM {_ALL_TARGETS}")]  # noqa: S608  # a constant

    def read_details(self, number: int) -> JobDetails:
        """Return what is recorded of a job beside its `JobRecord`; a task has the request of its array."""
        with self._file.convert_errors():
            row = self._db.execute(
                "SELECT job.history, request.content FROM job"
                " LEFT JOIN job AS whole ON whole.target = job.target"
                " AND whole.job_id = coalesce(job.array_id, job.job_id)"
                " LEFT JOIN request ON request.number = coalesce(whole.number, job.number)"
                " AND request.directory = coalesce(whole.directory, job.directory) WHERE job.number = ?",
                (number,),
            ).fetchone()
        if row is None:
            return JobDetails()
        history = _parse_history(row["history"] or "")
        return _parse_request(row["content"])._replace(history=history)

    def list_interrupted_submissions(self, target: str) -> list[JobRecord]:
        """Return the submissions that were interrupted: their process no longer exists."""
        unsubmitted = self._select_records("target = ? AND job_id IS NULL", (target,))
        return [record for record in unsubmitted if not record.has_live_owner]

    def list_live_jobs(self, target: str | None = None) -> list[JobRecord]:
        """Return the jobs that were submitted and have not ended, oldest first; arrays without their tasks.

        Without `target`, those of all targets.
        """
        # The `+`: SQLite would read all ids of the target.
        condition = (
            f"{_match_target(target)} AND +job_id IS NOT NULL AND array_id IS NULL AND {LIVE_CONDITION}"
        )
        return self._select_records(condition, _list_values(target))

    def count_live_jobs(self, target: str) -> int:
        """Return how many jobs, and tasks of arrays, have not ended; also those that a process is submitting now."""
        from osprofile.jobs.arrays import count_indices

        unsubmitted = self._select_records("target = ? AND job_id IS NULL", (target,))
        count = sum(count_indices(record.array) for record in unsubmitted if record.has_live_owner)
        live = f"FROM job WHERE target = ? AND array_id IS NULL AND {LIVE_CONDITION} AND +job_id IS NOT NULL"
        tasks = f"SELECT count(*), sum({LIVE_CONDITION}) FROM job WHERE target = ? AND array_id = ?"  # noqa: S608  # a constant
        with self._file.convert_errors():
            arrays = f"SELECT job_id, array_spec {live} AND array_spec <> ''"
            for array_id, value in self._db.execute(arrays, (target,)).fetchall():
                known, running = self._db.execute(tasks, (target, array_id)).fetchone()
                count += running if known else count_indices(value)
            jobs = self._db.execute(f"SELECT count(*) {live} AND array_spec = ''", (target,)).fetchone()
        return count + int(jobs[0])

    def list_recent_jobs(self, target: str, since: float) -> list[JobRecord]:
        """Return the jobs that have not ended, or not before `since` (s since 1970), oldest first.

        Also those that are being submitted; arrays without their tasks.
        """
        matched = "SELECT number FROM job WHERE target = ? AND array_id IS NULL"
        # Not OR: each has its index.
        live = f"{matched} AND {LIVE_CONDITION}"
        ended = f"{matched} AND {ENDED_CONDITION} AND {END_TIME} >= ?"
        return self._select_records(f"number IN ({live} UNION ALL {ended})", (target, target, since))

    def list_newest_jobs(self, count: int) -> list[JobRecord]:
        """Return the last `count` jobs, on any target, oldest first; arrays without their tasks."""
        newest = "SELECT number FROM job WHERE array_id IS NULL ORDER BY number DESC LIMIT ?"
        return self._select_records(f"number IN ({newest})", (count,))

    def list_all_jobs(self, target: str | None = None) -> list[JobRecord]:
        """Return all jobs, oldest first; arrays without their tasks. Without `target`, of all targets."""
        condition = "array_id IS NULL" if target is None else "target = ? AND array_id IS NULL"
        return self._select_records(condition, _list_values(target))

    def list_old_jobs(self, before: float) -> list[JobRecord]:
        """Return the jobs of all targets that ended before a time (s since 1970), oldest first; arrays without tasks."""
        return self._select_records(_OLD_CONDITION, (before,))

    def list_tasks(self, target: str, array_id: str, *, states: Collection[str] = ()) -> list[JobRecord]:
        """Return the tasks of an array, by index, or those in some states; none for any other job."""
        among = f" AND state IN ({', '.join('?' * len(states))})" if states else ""
        return self._select_records(f"target = ? AND array_id = ?{among}", (target, array_id, *states))

    def prune_ended_jobs(self, before: float) -> int:
        """Delete jobs that ended before a time (s since 1970), with their tasks; return how many jobs.

        A call deletes about _PRUNE_BATCH_SIZE jobs and tasks, so that no other process waits long.
        """
        old = f"SELECT number, target, job_id FROM job WHERE {_OLD_CONDITION} LIMIT {_PRUNE_BATCH_SIZE}"  # noqa: S608  # constants
        with self._file.convert_errors():
            if self._db.execute(old, (before,)).fetchone() is None:
                return 0  # without the lock
            with self._file.write():
                return self._delete_batch(self._db.execute(old, (before,)).fetchall())

    def _delete_batch(self, jobs: Sequence[sqlite3.Row]) -> int:
        """Delete jobs with their tasks, until there were _PRUNE_BATCH_SIZE; return how many jobs."""
        deleted = 0
        for count, (number, target, job_id) in enumerate(jobs, 1):
            deleted += self._delete_tasks(target, job_id)
            deleted += self._db.execute("DELETE FROM job WHERE number = ?", (number,)).rowcount
            if deleted >= _PRUNE_BATCH_SIZE:
                return count
        return len(jobs)

    def _delete_tasks(self, target: str, array_id: str | None) -> int:
        return self._db.execute(
            "DELETE FROM job WHERE target = ? AND array_id = ?", (target, array_id)
        ).rowcount

    def _select_records(self, where: str, values: tuple[object, ...]) -> list[JobRecord]:
        """Return the jobs that meet a condition, oldest first."""
        statement = f"SELECT {_SELECTED_COLUMNS} FROM job WHERE {where}"  # noqa: S608  # constants
        with self._file.convert_errors():
            rows = self._db.execute(statement, values).fetchall()
        # With ORDER BY, SQLite would read all jobs in this order rather than sort the few that an index finds.
        return sorted(map(_record_from_row, rows), key=operator.attrgetter("number"))

    def _execute_change(self, statement: str, values: tuple[object, ...]) -> int:
        with self._file.write():
            return self._db.execute(statement, values).rowcount


def _identify_file(path: str) -> str:
    """Return the absolute path of a file as a text for SQLite: bytes that are not UTF-8 are escaped."""
    return os.path.realpath(path).encode(errors="backslashreplace").decode()


def _match_target(target: str | None) -> str:
    return f"target IN {_ALL_TARGETS}" if target is None else "target = ?"


def _list_values(target: str | None) -> tuple[str, ...]:
    return () if target is None else (target,)


def _record_from_row(row: sqlite3.Row) -> JobRecord:
    # By position: to find a value by its name takes most of the time of a long list.
    (
        number, target, directory, key, name, script, owner, walltime, aborted, array, array_id, index, stdout, stderr,
        accepted, missing_since, missing_last, missing_boot,
        job_id, state, word, exit_code, signal, cause, hosts, reason, submitted, started, ended, elapsed, cpu_time,
        max_memory, energy, allocated_cpus, allocated_memory, end_reported,
    ) = row  # fmt: skip
    status = JobStatus(
        job_id or "", _STATES.get(state, JobState.UNKNOWN), word, exit_code, signal, _CAUSES.get(cause),
        tuple(hosts.split()), reason, submitted, started, ended, elapsed=elapsed, cpu_time=cpu_time,
        max_memory=max_memory, energy=energy,
        allocated_cpus=allocated_cpus, allocated_memory=allocated_memory, end_reported=bool(end_reported),
    )  # fmt: skip
    return JobRecord(
        number, target, directory, key, name, script, owner, status, walltime, aborted,
        None if missing_since is None else _build_missing_period(missing_since, missing_last, missing_boot),
        array, array_id, index, stdout, stderr, accepted,
    )  # fmt: skip


def _build_missing_period(since: float, last: float | None, boot: str) -> MissingPeriod:
    if boot != names.get_host_and_boot():
        return MissingPeriod(math.inf, math.inf)
    return MissingPeriod(since, since if last is None else last)


def _parse_request(text: str | None) -> JobDetails:
    """Return what a recorded request has; without fields what is not recorded."""
    with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError):
        request = json.loads(text or "")
        fields, context = (
            {str(name): str(value) for name, value in request[part].items()} for part in ("fields", "context")
        )
        passed_options, retry = (tuple(map(str, request.get(n, ()))) for n in ("passed_options", "retry"))
        files = JobFiles(*request.get("files", ()))
        return JobDetails(fields, request["application"], (), context, files, passed_options, retry)
    return JobDetails()


def _parse_history(text: str) -> tuple[tuple[JobState, float], ...]:
    """Return the changes of a history; a line that is cut is left out."""
    changes = []
    for line in text.splitlines():
        state, _, moment = line.partition(" ")
        with contextlib.suppress(ValueError):
            changes.append((JobState(state), float(moment)))
    return tuple(changes)
