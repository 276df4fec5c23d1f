"""The file of the record: it is opened, checked, and created for its owner only; its errors become `StoreError`s."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import stat
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Final, final
from urllib.parse import quote

from osprofile.errors import StoreError
from osprofile.jobs.mounts import is_on_network_mount
from osprofile.metrics import METRICS

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMA_VERSION: Final = 4
LOCK_TIMEOUT: Final = 60.0
"""Seconds to wait while another process writes."""
COLUMNS: Final = {
    "number": "INTEGER PRIMARY KEY",
    "target": "TEXT NOT NULL",
    "directory": "TEXT NOT NULL",
    "job_id": "TEXT",  # NULL: being submitted, or the submission was interrupted
    "key": "TEXT",  # the caller's name for the submission
    "name": "TEXT NOT NULL DEFAULT ''",
    "script": "TEXT",  # the script that submits it, while job_id is NULL
    "owner": "TEXT",  # the process that is submitting it, or runs ABORT for it
    "state": "TEXT NOT NULL DEFAULT 'QUEUED'",
    "word": "TEXT NOT NULL DEFAULT ''",
    "exit_code": "INTEGER",
    "signal": "INTEGER",
    "cause": "TEXT",
    "hosts": "TEXT NOT NULL DEFAULT ''",
    "reason": "TEXT NOT NULL DEFAULT ''",
    "submitted": "REAL",
    "accepted": "REAL",  # when its id was known here
    "started": "REAL",
    "ended": "REAL",
    "end_reported": "INTEGER",  # whether the target system told the time in `ended`
    "elapsed": "REAL",
    "cpu_time": "REAL",
    "max_memory": "INTEGER",
    "energy": "REAL",  # in joules
    "walltime": "REAL",
    "aborted": "REAL",  # when the batch system accepted its removal
    "missing_since": "REAL",  # in s since the boot missing_boot
    "missing_boot": "TEXT",
    "missing_last": "REAL",  # when it was last queried
    "array_spec": "TEXT NOT NULL DEFAULT ''",  # of an array: the value of ARRAY
    "array_id": "TEXT",  # of a task: the job id of its array
    "array_index": "INTEGER",
    "stdout": "TEXT NOT NULL DEFAULT ''",  # paths on the target system, relative to the directory
    "stderr": "TEXT NOT NULL DEFAULT ''",
    "history": "TEXT NOT NULL DEFAULT ''",  # for each change of the state, a line: state, space, time
    "remove_at": "REAL",  # when its directory and its record are to be removed, if that was requested
}
_ENDED_STATES: Final = "('DONE', 'FAILED', 'REMOVED', 'LOST')"
LIVE_CONDITION: Final = f"state NOT IN {_ENDED_STATES}"
ENDED_CONDITION: Final = f"state IN {_ENDED_STATES}"
END_TIME: Final = "coalesce(ended, submitted)"
_SCHEMA: Final = (
    f"CREATE TABLE job ({', '.join(map(' '.join, COLUMNS.items()))})",
    "CREATE UNIQUE INDEX job_directory ON job (target, directory)",
    "CREATE UNIQUE INDEX job_id ON job (target, job_id) WHERE job_id IS NOT NULL",
    "CREATE UNIQUE INDEX job_key ON job (target, key) WHERE key IS NOT NULL",
    # A query uses one of these only if it repeats the words of its condition.
    "CREATE INDEX job_array ON job (target, array_id) WHERE array_id IS NOT NULL",
    "CREATE INDEX job_unsubmitted ON job (target) WHERE job_id IS NULL",
    f"CREATE INDEX job_live ON job (target) WHERE array_id IS NULL AND {LIVE_CONDITION}",
    f"CREATE INDEX job_ended ON job (target, {END_TIME}) WHERE array_id IS NULL AND {ENDED_CONDITION}",
    "CREATE INDEX job_removal ON job (target, remove_at) WHERE remove_at IS NOT NULL",
    # Not a column: a change of a job's state would write the request again.
    "CREATE TABLE request (number INTEGER PRIMARY KEY, directory TEXT NOT NULL, content TEXT NOT NULL)",
    (
        "CREATE TRIGGER request_deletion AFTER DELETE ON job"
        " BEGIN DELETE FROM request WHERE number = OLD.number; END"
    ),
    "CREATE TABLE profile_file (name TEXT PRIMARY KEY, path TEXT NOT NULL)",
    "CREATE TABLE job_file (path TEXT PRIMARY KEY, target TEXT NOT NULL, keys TEXT NOT NULL)",
    # When the next submission may begin, in s since 1970, if the profile has a SUBMIT_RATE.
    "CREATE TABLE next_turn (target TEXT PRIMARY KEY, time REAL NOT NULL)",
    f"PRAGMA user_version = {SCHEMA_VERSION}",
)

_opening = threading.Lock()
"""Held while a thread of this process opens or closes a record."""
_open_files: Final[Counter[tuple[int, int]]] = Counter()
"""How many records of this process have a file open, by its device and inode."""


def _renew_lock() -> None:
    """Renew the lock in a child process: another thread of its parent may have held it."""
    global _opening  # noqa: PLW0603
    _opening = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)


@final
class RecordFile:
    """The database in the file of a record, or in memory; `connection` is SQLite's. To be used by one thread."""

    def __init__(self, path: str) -> None:
        self.path = path
        """The path of the file."""
        self._file_id: tuple[int, int] | None = None
        with self.convert_errors():
            self.connection = self._open_database(path)

    def close(self) -> None:
        """Close the file."""
        with _opening:
            self.connection.close()
            if self._file_id is not None:
                _open_files[self._file_id] -= 1
                self._file_id = None

    @contextlib.contextmanager
    def write(self) -> Iterator[None]:
        """Make one transaction of what is written inside the context, for which other processes wait."""
        with self.convert_errors(), self.connection:
            self.connection.execute("BEGIN IMMEDIATE")
            yield

    @contextlib.contextmanager
    def convert_errors(self) -> Iterator[None]:
        """Raise `StoreError` for an error of SQLite or of the file inside the context."""
        try:
            yield
        except sqlite3.Error as error:
            METRICS.add("osprofile_record_errors_total")
            message = f"the record of the jobs, {self.path}: {error}"
            hint = "free space on its disk, or see which process has it open"
            if _get_primary_code(error) in {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT}:
                hint = "move it away: a new one is created, and jobs can still be found by their ids"
            raise StoreError(message, hint=hint) from error
        except OSError as error:
            METRICS.add("osprofile_record_errors_total")
            message = f"the record of the jobs, {error.filename or self.path}: {error.strerror}"
            raise StoreError(message, hint="set XDG_STATE_HOME, or give another file") from error

    def _open_database(self, path: str) -> sqlite3.Connection:
        in_memory = path == ":memory:"
        if in_memory:
            return self._connect(path, in_memory=True)
        os.makedirs(os.path.dirname(os.path.abspath(path)), mode=0o700, exist_ok=True)
        with _opening:
            # SQLite creates its further files with the mode of this one.
            with contextlib.suppress(FileExistsError):
                os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            file = os.stat(path)
            for number, is_wrong in (
                (errno.EISDIR, stat.S_ISDIR(file.st_mode)),
                (errno.EACCES, not os.access(path, os.R_OK | os.W_OK)),
            ):
                if is_wrong:
                    raise OSError(number, os.strerror(number), path)
            if not stat.S_ISREG(file.st_mode):  # opening a named pipe would wait for a reader
                message = f"the record of the jobs, {path}, is not a regular file"
                raise StoreError(message, hint="give another file")
            if file.st_uid != os.geteuid():  # the scripts in it are run
                message = f"the record of the jobs, {path}, belongs to another user"
                raise StoreError(message, hint="give another file")
            self._file_id = (file.st_dev, file.st_ino)
            if not _open_files[self._file_id]:
                self._check_file(path)
            db = self._connect(path, in_memory=False)
            _open_files[self._file_id] += 1
        return db

    def _check_file(self, path: str) -> None:
        """Raise `StoreError` for another program's file, before SQLite writes back the log that a crash has left.

        Not if this process has the file open: closing any descriptor of a file releases the process's locks
        on it (fcntl(2)), those of SQLite, too.
        """
        uri = f"file:{quote(os.path.abspath(path))}?mode=ro&immutable=1"
        # Without locks, what another process is just writing may look malformed: the real connection decides that.
        with (
            contextlib.suppress(sqlite3.DatabaseError),
            contextlib.closing(sqlite3.connect(uri, uri=True)) as db,
        ):
            self._check_database(db)

    def _connect(self, path: str, *, in_memory: bool) -> sqlite3.Connection:
        db = sqlite3.connect(path, timeout=LOCK_TIMEOUT, isolation_level=None)
        try:
            db.row_factory = sqlite3.Row
            self._check_database(db)
            if not in_memory:
                journal = "DELETE" if is_on_network_mount(path) else "WAL"
                _set_journal_mode(db, journal)
                # A crash of this process loses nothing in either mode.
                db.execute(f"PRAGMA synchronous = {'FULL' if journal == 'DELETE' else 'NORMAL'}")
            _prepare_schema(db)
        except BaseException:
            db.close()
            raise
        return db

    def _check_database(self, db: sqlite3.Connection) -> None:
        """Raise `StoreError` for another program's file, before anything is written to it."""
        db.execute("BEGIN")  # another process may be creating its table just now
        version = _read_schema_version(db)
        is_ours = _read_columns(db) >= COLUMNS.keys() if version else _has_no_tables(db)
        db.execute("ROLLBACK")
        if version not in {0, SCHEMA_VERSION}:
            message = f"{self.path} was written by another version of osprofile ({version})"
            raise StoreError(message, hint="use that version, or another file")
        if not is_ours:
            message = f"{self.path} is a database of another program, not a record of jobs"
            raise StoreError(message, hint="give another file")


def _get_primary_code(error: sqlite3.Error) -> int:
    """Return SQLite's code of an error without its extension (sqlite.org/rescode.html); 0 if it has none."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _set_journal_mode(db: sqlite3.Connection, mode: str) -> None:
    """Set how the file is written. For a change of this, SQLite itself does not wait while another process writes."""
    deadline = time.monotonic() + LOCK_TIMEOUT
    while True:
        try:
            db.execute(f"PRAGMA journal_mode = {mode}")
        except sqlite3.OperationalError as error:
            if _get_primary_code(error) != sqlite3.SQLITE_BUSY or time.monotonic() >= deadline:
                raise
            time.sleep(0.01)
        else:
            return


def _prepare_schema(db: sqlite3.Connection) -> None:
    """Create the tables if they are missing."""
    if _read_schema_version(db) == SCHEMA_VERSION:
        return
    db.execute("BEGIN IMMEDIATE")
    if _read_schema_version(db) == 0:  # another process may have been faster
        for statement in _SCHEMA:
            db.execute(statement)
    db.execute("COMMIT")


def _read_columns(db: sqlite3.Connection) -> set[str]:
    return {str(name) for _, name, *_ in db.execute("PRAGMA table_info(job)")}


def _has_no_tables(db: sqlite3.Connection) -> bool:
    return db.execute("SELECT 1 FROM sqlite_master").fetchone() is None


def _read_schema_version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])
