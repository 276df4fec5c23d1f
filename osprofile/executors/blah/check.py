"""`osprofile-blahpd --check`: one job of a batch system, by which a site sees that its jobs can run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from osprofile.errors import TargetError
from osprofile.executors.blah.batch_systems import BatchSystems
from osprofile.executors.blah.staging import JOB_DIRECTORY_SUFFIX
from osprofile.jobs.fields import JobDescription
from osprofile.text import quote_name

if TYPE_CHECKING:
    from osprofile.executors.blah.settings import Settings


async def check_batch_system(name: str, settings: Settings) -> str:
    """Run a job of a GridType, and return what to print. Raises an `OSProfileError` that says why jobs cannot run."""
    systems = BatchSystems(settings)
    try:
        system = systems[name]
        target = system.target
        directory = f"{await target.new_job_directory()}{JOB_DIRECTORY_SUFFIX}"
        job = JobDescription(
            executable="/bin/pwd", name="osprofile-check", working_directory=directory, walltime=60
        )
        job_id = await target.submit(job)
        status = await target.wait(job_id)
        output = await target.read_stdout(job_id)
        system.finish_job(job_id)
    finally:
        await systems.close()
    if status.exit_code == 0 and output:
        where = f" on {status.hosts[0]}" if status.hosts else ""
        return f"{name}: job {job_id} ran in {directory}{where}: the nodes see the directory of the jobs"
    reason = f" ({status.reason})" if status.reason else ""
    message = f"{quote_name(name)}: job {job_id} did not run in {directory}: {status.describe_end()}{reason}"
    hint = "the nodes must see the directory of the jobs, the UspaceRoot of the profile: a profile of your own sets another one"
    raise TargetError(message, hint=hint)
