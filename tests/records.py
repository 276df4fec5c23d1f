"""Jobs in a record, without a target system."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING, Any

from osprofile.errors import StoreError

if TYPE_CHECKING:
    from typing import Unpack

    from osprofile.jobs.record.store import JobRecord, Store, SubmissionValues


def begin_submission(
    store: Store, target: str, directory: str, **values: Unpack[SubmissionValues]
) -> JobRecord:
    """Record a job that this process is about to submit; raise what the record says against it."""
    (record,) = store.begin_submissions(target, [(directory, values)])
    if isinstance(record, StoreError):
        raise record
    return record


def execute_sql(store: Store, *statements: str) -> list[Any]:
    """Execute statements of SQL on the file of a record, as another program does; return the rows of the last one."""
    with contextlib.closing(sqlite3.connect(store.path, isolation_level=None)) as db:
        return [db.execute(statement).fetchall() for statement in statements][-1]
