"""What `incarnate job submit` does."""

from __future__ import annotations

import asyncio
import os
import shlex
from typing import TYPE_CHECKING

from osprofile.cli import common
from osprofile.cli.job import rows, waiter
from osprofile.cli.job.session import CommandSession, ErrorReporter, JobReference, run_cancellable
from osprofile.errors import ScriptCutError, format_message

if TYPE_CHECKING:
    from osprofile.cli.job.session import TargetSelection
    from osprofile.jobs.description import JobDescription
    from osprofile.jobs.target_system import TargetSystem


def submit_job(
    selection: TargetSelection, description: JobDescription, *, key: str | None, wait: bool, json: bool
) -> int:
    """Submit a job, print its id, and with `wait` wait for its end.

    Each submission gets a key, so that it can be completed if it is interrupted.
    """
    key = key or f"auto-{os.urandom(6).hex()}"
    return run_cancellable(_submit_job(selection, description, key, wait=wait, json=json))


async def _submit_job(
    selection: TargetSelection, description: JobDescription, key: str, *, wait: bool, json: bool
) -> int:
    async with CommandSession(selection) as session:
        target = session.open_selected_target()
        try:
            job = JobReference(await target.submit(description, key=key), target)
        except ScriptCutError as error:
            error.hint = _format_remedy(session, key)
            raise
        except asyncio.CancelledError:
            common.print_message(_describe_interruption(session, target, key))
            raise
        if not json:
            common.print_result(job.job_id)
        if wait:
            codes = await waiter.await_jobs(session, [job], ErrorReporter(), time_limit=None, json=json)
            return codes[job.job_id]
        if json:
            status = target.monitor.get_status(job.job_id)
            record = session.store.find_job(target.name, job.job_id)
            row = session.build_row(target.name, record.status if record else status, record)
            rows.print_rows([row], json=True)
    return 0


def _describe_interruption(session: CommandSession, target: TargetSystem, key: str) -> str:
    """Return the message for an interrupted submission: whether there is a job, as far as is known."""
    record = session.store.find_by_key(target.name, key)
    if record is None:
        return "incarnate: interrupted: nothing was submitted"
    if record.is_submitted:
        return format_message(f"incarnate: interrupted: the job was submitted: {record.status.job_id}")
    message = "interrupted during the submission: the batch system may or may not have the job"
    return format_message(f"incarnate: {message}", hint=_format_remedy(session, key))


def _format_remedy(session: CommandSession, key: str) -> str:
    listing = shlex.join(["incarnate", "job", "list", *session.location_options])
    retry = f"the same command with --key {shlex.quote(key)} completes the submission, without a second job"
    return f"{listing} finds out; {retry}"
