"""Jobs in a record, without a target system."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
