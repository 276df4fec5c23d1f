"""A profile for one's own account on a cluster: `incarnate new --host --workspace` writes it, and tries it at once."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shlex
import subprocess
from typing import TYPE_CHECKING, Final

from osprofile.authoring.skeleton import make_case, render_target_profile
from osprofile.cli import common
from osprofile.errors import OSProfileError
from osprofile.incarnation.context import add_target_fields, get_user_name
from osprofile.incarnation.evaluate import is_integer
from osprofile.incarnation.field_rules import accepts_pattern
from osprofile.jobs.fields import JobDescription
from osprofile.jobs.record.names import parse_host_context
from osprofile.jobs.shell.scripts import get_shell_command, run_script
from osprofile.jobs.state import JobState
from osprofile.jobs.target_system import TargetSystem
from osprofile.profile.model import USER_GROUPS, Selection, Tag
from osprofile.profile.repository import get_config_directory
from osprofile.text import quote_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from osprofile.jobs.shell.output import QueueLimit, QueueStatus
    from osprofile.profile.model import Field, Profile

_QUEUE: Final = "QUEUE"
_SSH_TIMEOUT: Final = 20.0
"""Seconds for `ssh -G`, which connects to nothing."""
_SSH_FAILED: Final = 255
"""The exit status of ssh itself."""
_JOB_TIMEOUT: Final = 300.0
"""Seconds that the job of `--try` may wait and run."""


def render_profile(
    name: str, parent: Profile, host: str | None, workspace: str | None, queues: Sequence[QueueStatus] = ()
) -> str:
    """Return the document of a profile for a host and a workspace; what is None is as in the parent.

    With `queues`, it lists these, with their limits.
    The user is that of the host, or the one that ssh's configuration names for it. Jobs work in UspaceRoot/USER: a
    workspace that ends with the user's name is taken without it. Raises `UsageError`.
    """
    fields = {} if host is None else parse_host_context(host)
    if host is not None:
        if not fields["SSH:HOST"]:
            raise common.UsageError(f"--host {host!r} does not name a host")
        if "@" not in fields["SSH:HOST"] and (user := _find_ssh_user(host)):
            fields["SSH:HOST"] = f"{user}@{fields['SSH:HOST']}"
    root = parent.uspace_root
    if workspace is not None:
        if not workspace.startswith("/"):
            hint = "give it as the nodes see it, from / on"
            raise common.UsageError(f"--workspace {quote_path(workspace)} is not an absolute path", hint=hint)
        root = os.path.normpath(workspace)
        user = fields.get("SSH:HOST", "").rpartition("@")[0] or get_user_name()
        if os.path.basename(root) == user:
            root = os.path.dirname(root)
    return render_target_profile(name, parent, root, fields, _build_queue_fields(parent, queues))


def list_queues(profile: Profile) -> Sequence[QueueStatus]:
    """Return the queues of a profile's batch system. Raises what running a script there does, and `UsageError` without any."""

    async def ask() -> Sequence[QueueStatus]:
        async with TargetSystem(profile) as target:
            return await target.list_queues()

    queues = asyncio.run(ask())
    names = profile.global_fields.get(_QUEUE)
    if not queues or names is None:
        raise common.UsageError(f"--from-queues: profile {profile.name} lists no queues")
    return [queue for queue in queues if accepts_pattern(names, queue.name)]


def _build_queue_fields(parent: Profile, queues: Sequence[QueueStatus]) -> Iterator[Field]:
    """Yield the field QUEUE, which lists these queues, and the cases with the limits of each."""
    if not queues:
        return
    field = parent.global_fields[_QUEUE]
    pattern = "|".join(_escape_regex(queue.name) for queue in queues)
    default = next((queue.name for queue in queues if queue.is_default), "")
    tags = (Tag("", default, field.element),) if default else ()  # a request may give none
    yield field._replace(pattern_text=pattern, pattern_field=None, default=default, tags=tags)
    for queue in queues:
        cases: dict[str, Field] = {}
        for limit in queue.limits:
            declared = field if limit.field == USER_GROUPS else parent.global_fields.get(limit.field)
            if declared is None or not (limit.field == USER_GROUPS or is_integer(limit.value)):
                continue
            case = cases.get(limit.field) or make_case(declared, limit.field, Selection(_QUEUE, queue.name))
            cases[limit.field] = _add_limit(case, limit)
        yield from cases.values()


def _add_limit(case: Field, limit: QueueLimit) -> Field:
    if limit.field == USER_GROUPS:
        return case._replace(pattern_text="|".join(map(_escape_regex, limit.value.split("|"))))
    if limit.relation == "=":
        return case._replace(default=limit.value)
    number = float(limit.value)
    return case._replace(maximum=number) if limit.relation == "<=" else case._replace(minimum=number)


def _escape_regex(text: str) -> str:
    return re.sub(r"([^A-Za-z0-9_-])", r"\\\1", text)


def _find_ssh_user(host: str) -> str:
    """Return the user that ssh's configuration names for a host; the empty text if it cannot be asked."""
    command = ["ssh", "-G", "--", parse_host_context(host)["SSH:HOST"]]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=_SSH_TIMEOUT, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return next((line[5:] for line in result.stdout.splitlines() if line.startswith("user ")), "")


def get_directory() -> str:
    """Return the directory of the user's own profiles. Raises `UsageError` for a user without a home."""
    directory = get_config_directory()
    if directory is None:
        raise common.UsageError("there is no home directory for profiles", hint="give --directory DIR")
    return os.path.join(directory, "profiles")


def try_profile(file: str, *, with_job: bool) -> bool:
    """Try a profile: the login and the workspace, the batch system, and a job; print each result.

    After the first that fails, the profile is removed, so that the command can be corrected and run again. Return
    whether it works.
    """
    try:
        profile = common.open_profile(file, [])
        asyncio.run(_try_target(profile, with_job=with_job))
    except BaseException as error:
        os.unlink(file)
        with contextlib.suppress(OSError):  # it has other files
            os.rmdir(os.path.dirname(file))
        if not isinstance(error, OSProfileError):
            raise
        common.print_message(f"incarnate: {error}")
        common.print_message("    no profile is written: correct the command, and run it again")
        return False
    common.print_message(f"ready: incarnate job submit -p {profile.name} PROGRAM")
    return True


async def _try_target(profile: Profile, *, with_job: bool) -> None:
    async with TargetSystem(profile) as target:
        await asyncio.to_thread(_try_login, profile)
        workspace = os.path.dirname(await target.new_job_directory())
        await asyncio.to_thread(_try_workspace, profile, workspace)
        common.print_message(f"{target.name}: the login works, and {workspace} can be written")
        count = len(await target.poll())
        common.print_message(
            f"{target.name}: the batch system answers ({count} {'job' if count == 1 else 'jobs'} listed)"
        )
        if with_job:
            await _try_job(target)


def _try_login(profile: Profile) -> None:
    """Raise an `OSProfileError` unless ssh reaches the target."""
    result = run_script(get_shell_command(profile, {}), "true", capture=True)
    if result.exit_code == _SSH_FAILED:
        said = result.stderr.decode(errors="replace").strip()
        host = add_target_fields(profile, {}).get("SSH:HOST", "HOST")
        hint = f"ssh {host} must work without a question; incarnate login {host} asks once for a password or a code"
        raise OSProfileError(said, hint=hint)


def _try_workspace(profile: Profile, workspace: str) -> None:
    """Raise an `OSProfileError` unless the workspace can be written on the target."""
    quoted = shlex.quote(workspace)
    result = run_script(
        get_shell_command(profile, {}), f"mkdir -p -- {quoted} && test -w {quoted}", capture=True
    )
    if result.exit_code != 0:
        said = result.stderr.decode(errors="replace").strip() or f"{workspace} cannot be written"
        raise OSProfileError(said, hint="--workspace DIR names a directory of yours that all nodes see")


async def _try_job(target: TargetSystem) -> None:
    """Run a job that prints the name of its node: what it prints comes through the workspace."""
    job_id = await target.submit(JobDescription(executable="uname", arguments=["-n"], name="try"))
    common.print_message(f"{target.name}: job {job_id} is submitted")
    try:
        status = await asyncio.wait_for(target.wait(job_id), _JOB_TIMEOUT)
    except TimeoutError:
        message = f"job {job_id} has not ended within {_JOB_TIMEOUT:.0f} s"
        raise OSProfileError(message, hint=f"incarnate job show -p {target.profile.name} {job_id}") from None
    if status.state is not JobState.DONE or status.exit_code != 0:
        reason = f": {status.reason}" if status.reason else ""
        message = f"job {job_id} has ended as {status.state}{reason}: does the node see the workspace?"
        raise OSProfileError(message, hint="--workspace DIR names a directory that all nodes see")
    node = (await target.read_stdout(job_id)).decode(errors="replace").strip()
    common.print_message(f"{target.name}: job {job_id} ran on {node}, which sees the workspace")
