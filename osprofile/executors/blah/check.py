"""`osprofile-blahpd --check`: one job of a batch system, by which a site sees that its jobs can run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from osprofile.errors import SettingError, TargetError, ValueRefusedError
from osprofile.executors.blah.attributes import OPTIONS_ATTRIBUTE
from osprofile.executors.blah.batch_systems import BatchSystems
from osprofile.executors.blah.staging import JOB_DIRECTORY_SUFFIX
from osprofile.jobs.fields import JobDescription
from osprofile.jobs.profiles import list_profile_names
from osprofile.text import quote_name, suggest_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from osprofile.executors.blah.batch_systems import BatchSystem
    from osprofile.executors.blah.settings import Settings


async def check_batch_system(name: str, settings: Settings, warn: Callable[[str], None]) -> str:
    """Run a job of a GridType, and return what to print; `warn` tells what its jobs cannot have.

    Raises an `OSProfileError` that says why jobs cannot run.
    """
    _check_map(settings)
    systems = BatchSystems(settings)
    try:
        system = systems[name]
        target = system.target
        await _check_options(system, settings, warn)
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


def _check_map(settings: Settings) -> None:
    """Refuse a GridType that is mapped to a profile that does not exist."""
    names = list_profile_names(settings.profiles)
    for grid_type, name in settings.map.items():
        if name not in names:
            message = f"map: {grid_type!r} = {name!r}: there is no profile {quote_name(name)}"
            raise SettingError(message, hint=suggest_names(name, names))


async def _check_options(system: BatchSystem, settings: Settings, warn: Callable[[str], None]) -> None:
    """Warn of options of users that no job of this batch system can have: they may be those of another one.

    Raises `SettingError` for an option with a value of its own that this batch system's profile refuses.
    """
    target, settable = system.target, system.settable_fields
    if OPTIONS_ATTRIBUTE.upper() in settable:  # this field gets all options
        return
    for option, entry in settings.extra_submit_args.items():
        name, equals, value = entry.partition("=")
        setting = f"extra_submit_args: {option!r} = {entry!r}"
        if name not in settable:
            message = f"profile {target.profile.name} has no field {name}: jobs with this option are refused"
            warn(f"{setting}: {message}; {suggest_names(name, settable)}")
        elif equals:
            try:
                await target.render_start_script(JobDescription(executable="/bin/pwd", fields={name: value}))
            except ValueRefusedError as error:
                if error.field == name:
                    raise SettingError(f"{setting}: {error.message}", hint=error.hint) from None
