"""The file of the record: opened, checked, created for its owner only, and migrated; its errors become `StoreError`s."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sqlite3
import stat
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import StoreError
from osprofile.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


SCHEMA_VERSION: Final = 5
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
    "allocated_cpus": "INTEGER",
    "allocated_memory": "INTEGER",  # in bytes
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
    "PRAGMA user_version = 5",
)
_WRITER: Final = (  # the version of osprofile that made the file what it is: an older one names it to its users
    "CREATE TABLE IF NOT EXISTS writer (version TEXT NOT NULL)",
    "DELETE FROM writer",
    f"INSERT INTO writer VALUES ('{__version__}')",  # noqa: S608  # a constant
)
_READ_WRITER: Final = "SELECT version FROM writer"
_KEPT_COLUMNS: Final = (
    "number, target, directory, job_id, key, name, script, owner, state, word, exit_code, signal, cause, hosts,"
    " reason, submitted, accepted, started, ended, end_reported, elapsed, cpu_time, max_memory, walltime, aborted,"
    " missing_since, missing_boot, missing_last, array_id, array_index"
)
_MIGRATIONS: Final[Mapping[int, Sequence[str]]] = {
    0: _SCHEMA,
    1: (
        "CREATE TABLE old_job AS SELECT * FROM job",
        "CREATE TABLE old_request AS SELECT * FROM request",
        "DROP TABLE job",  # and its indexes and trigger
        "DROP TABLE request",
        *_SCHEMA,
        (
            f"INSERT INTO job ({_KEPT_COLUMNS}, array_spec, stdout, stderr, history) SELECT {_KEPT_COLUMNS},"  # noqa: S608  # constants
            " coalesce(array_spec, ''), coalesce(stdout, ''), coalesce(stderr, ''), coalesce(history, '') FROM old_job"
        ),
        # a request without a context
        "INSERT INTO request SELECT number, directory, '{\"context\": {}, ' || substr(content, 2) FROM old_request",
        "DROP TABLE old_job",
        "DROP TABLE old_request",
    ),
    4: (
        "ALTER TABLE job ADD COLUMN allocated_cpus INTEGER",
        "ALTER TABLE job ADD COLUMN allocated_memory INTEGER",
        "PRAGMA user_version = 5",
    ),
}
"""By the version of a record, the statements that make it one of a later version; 0: of an empty file.

Versions 2 and 3 were never released. A step stays as it is: a later schema is a further step.
"""
_KEY_COLUMNS: Final = frozenset(("target", "directory", "job_id", "key"))
"""What makes a table of an older version a record of jobs."""

_opening = threading.Lock()
"""Held while a thread of this process opens or closes a record."""
_open_files: Final[Counter[tuple[int, int]]] = Counter()
"""How many records of this process have a file open, by its device and inode."""
_NETWORK_TYPES: Final = frozenset(
    {
        "9p", "afs", "beegfs", "ceph", "cifs", "fuse.beegfs", "fuse.ceph", "fuse.glusterfs",
        "fuse.juicefs", "fuse.sshfs", "glusterfs", "gpfs", "lustre", "nfs", "nfs4", "orangefs",
        "panfs", "pvfs2", "smb3", "smbfs",
    }
)  # fmt: skip


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
        self.is_newer = False
        """Whether the file is that of a later version of osprofile, and only read."""
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
        """Make one transaction of what is written inside the context, for which other processes wait.

        Raises `StoreError` if the file is that of a later version, also if it has become this since it was opened.
        """
        with self.convert_errors(), self.connection:
            self.connection.execute("BEGIN IMMEDIATE")
            if _read_schema_version(self.connection) != SCHEMA_VERSION:
                raise self._build_version_error(self.connection, "does not write it")
            yield

    @contextlib.contextmanager
    def convert_errors(self) -> Iterator[None]:
        """Raise `StoreError` for an error of SQLite, of the file or of a text in it inside the context."""
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError, json.JSONDecodeError) as error:
            _count_error()
            with contextlib.suppress(sqlite3.Error, AttributeError):  # it may not be open yet
                if (
                    _get_primary_code(error) in {sqlite3.SQLITE_ERROR, sqlite3.SQLITE_SCHEMA}
                    and _read_schema_version(self.connection) != SCHEMA_VERSION
                ):
                    raise self._build_version_error(self.connection, "cannot read it") from error
            message = f"the record of the jobs, {self.path}: {error}"
            hint = "free space on its disk, or see which process has it open"
            if (
                _get_primary_code(error) in {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT}
                or isinstance(error, ValueError)
                or "decode to UTF-8" in str(error)  # an error of Python, without a code
            ):
                hint = "move it away: a new one is created, and jobs can still be found by their ids"
            raise StoreError(message, hint=hint) from error
        except OSError as error:
            _count_error()
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
        name = os.path.abspath(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
        uri = f"file:{name}?mode=ro&immutable=1"
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
            if self.is_newer:
                _warn("%s", self._build_version_error(db, "reads it, and does not write it").message)
                return db
            if not in_memory:
                journal = "DELETE" if is_on_network_mount(path) else "WAL"
                _set_journal_mode(db, journal)
                # A crash of this process loses nothing in either mode.
                db.execute(f"PRAGMA synchronous = {'FULL' if journal == 'DELETE' else 'NORMAL'}")
            self._prepare_schema(db)
        except BaseException:
            db.close()
            raise
        return db

    def _check_database(self, db: sqlite3.Connection) -> None:
        """Raise `StoreError` for another program's file, before anything is written to it."""
        db.execute("BEGIN")  # another process may be creating its table just now
        version = _read_schema_version(db)
        columns = {str(name) for _, name, *_ in db.execute("PRAGMA table_info(job)")}
        is_empty = db.execute("SELECT 1 FROM sqlite_master").fetchone() is None
        db.execute("ROLLBACK")
        self.is_newer = version > SCHEMA_VERSION
        is_known = version == SCHEMA_VERSION or version in _MIGRATIONS
        if not is_known and not (self.is_newer and columns >= COLUMNS.keys()):
            raise self._build_version_error(db, "cannot read it")
        required = _KEY_COLUMNS if version < SCHEMA_VERSION else COLUMNS.keys()
        if not (columns >= required if version else is_empty):
            message = f"{self.path} is a database of another program, not a record of jobs"
            raise StoreError(message, hint="give another file")

    def _build_version_error(self, db: sqlite3.Connection, failure: str) -> StoreError:
        writer = "another version of osprofile"
        with contextlib.suppress(sqlite3.Error, TypeError):  # a version before 0.2 has no such table
            writer = f"osprofile {db.execute(_READ_WRITER).fetchone()[0]}"
        version = _read_schema_version(db)
        message = f"{self.path} is the record of {writer} (version {version}): {__version__} {failure}"
        return StoreError(
            message, hint="use that version; if this program ran before an upgrade, start it again"
        )

    def _prepare_schema(self, db: sqlite3.Connection) -> None:
        """Create the tables, or make an older record one of this version, of which a copy is kept: all or nothing."""
        if _read_schema_version(db) >= SCHEMA_VERSION:
            return
        db.execute("BEGIN IMMEDIATE")
        version = _read_schema_version(db)  # another process may have been faster
        copy = self._keep_copy(version) if 0 < version < SCHEMA_VERSION else ""
        while version < SCHEMA_VERSION:
            for statement in (*_MIGRATIONS[version], *_WRITER):
                db.execute(statement)
            version = _read_schema_version(db)
        db.execute("COMMIT")
        if copy:
            _warn(
                "%s is now a record of osprofile %s; a copy of the older version's is %s;"
                " start programs of that version again, such as daemons",
                self.path, __version__, copy,
            )  # fmt: skip

    def _keep_copy(self, version: int) -> str:
        """Copy the record, which is locked, to a file beside it for its owner only, and return its path."""
        path = f"{self.path}.version-{version}"
        new = f"{path}.new"
        try:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(new)  # of a process that was killed
            os.close(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            # Not from the connection that has locked the file: that would wait for itself.
            with (
                contextlib.closing(sqlite3.connect(self.path)) as source,
                contextlib.closing(sqlite3.connect(new)) as copy,
            ):
                source.backup(copy)
            os.replace(new, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(new)
            raise
        return path


def _count_error() -> None:
    from osprofile.metrics import METRICS  # late: it is slow to import

    METRICS.add("osprofile_record_errors_total")


def _warn(message: str, *values: object) -> None:
    import logging  # late: it is slow to import

    logging.getLogger("osprofile.jobs").warning(message, *values)


def _get_primary_code(error: Exception) -> int:
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


def _read_schema_version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def is_on_network_mount(path: str, mount_table: str = "/proc/self/mounts") -> bool:
    """Return whether a file is on a network file system; False if the mount table cannot be read."""
    real_path = os.path.realpath(path)
    longest_point, longest_type = "", ""
    try:
        with open(mount_table, encoding="utf-8", errors="surrogateescape") as table:
            for line in table:
                _, point, mount_type, *_ = line.split(" ")
                # The kernel escapes blanks, tabs and backslashes.
                point = point.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
                is_on_mount = real_path == point or real_path.startswith(point.rstrip("/") + "/")
                # Of two mounts at the same point, the later one hides the earlier.
                if is_on_mount and len(point) >= len(longest_point):
                    longest_point, longest_type = point, mount_type
    except (OSError, ValueError):
        return False
    return longest_type in _NETWORK_TYPES
