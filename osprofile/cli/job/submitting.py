"""`incarnate job submit`."""

from __future__ import annotations

import asyncio
import os
import shlex
from typing import TYPE_CHECKING

from osprofile.cli import common
from osprofile.cli.job import rows, waiting
from osprofile.cli.job.rows import Row
from osprofile.cli.job.session import Failures, Job, Session, Stopped, run
from osprofile.errors import ScriptCutError, tell

if TYPE_CHECKING:
    from osprofile.cli.job.session import Given
    from osprofile.target.job import JobDescription
    from osprofile.target.system import TargetSystem


def submit(
    given: Given, description: JobDescription, *, key: str | None, wait: bool, json: bool
) -> int:
    """Submit a job, print its id, and wait for its end if asked to.

    Each submission has a key, so that one that was cut off can be completed.
    """
    key = key or f"auto-{os.urandom(6).hex()}"
    try:
        return run(_submit(given, description, key, wait=wait, json=json))
    except Stopped as stop:
        return stop.exit_code


async def _submit(
    given: Given, description: JobDescription, key: str, *, wait: bool, json: bool
) -> int:
    async with Session(given) as session:
        target = session.given_target()
        try:
            job = Job(await target.submit(description, key=key), target)
        except ScriptCutError as error:
            error.hint = _remedy(session, key)
            raise
        except asyncio.CancelledError:
            common.tell(_known(session, target, key))
            raise
        if not json:
            common.put(job.job_id)
        if wait:
            codes = await waiting.wait_for(session, [job], Failures(), patience=None, json=json)
            return codes[job.job_id]
        if json:
            status = target.monitor.status(job.job_id)
            record = session.store.find(target.name, job.job_id)
            rows.put([Row(target.name, record.status if record else status, record)], json=True)
    return 0


def _known(session: Session, target: TargetSystem, key: str) -> str:
    """Say what is known of a submission that was interrupted."""
    record = session.store.find_key(target.name, key)
    if record is None:
        return "incarnate: interrupted: nothing was submitted"
    if record.is_submitted:
        return tell(f"incarnate: interrupted: the job was submitted: {record.status.job_id}")
    message = "interrupted while it was submitted: the batch system may have the job, or not"
    return tell(f"incarnate: {message}", hint=_remedy(session, key))


def _remedy(session: Session, key: str) -> str:
    completed = f"the same command with --key {shlex.quote(key)} completes it, and submits it once"
    return f"{shlex.join(['incarnate', 'job', 'list', *session.further])} finds out; {completed}"
