"""What `incarnate new` does: writes a profile for a site, for one's own account on a cluster, or of a batch system."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shlex
import subprocess
from typing import TYPE_CHECKING, Any, Final

from osprofile.authoring.batch_system import render_batch_system
from osprofile.authoring.skeleton import (
    check_name,
    find_folder,
    render_skeleton,
    render_target_profile,
    write_skeleton,
)
from osprofile.cli import batch_system as facts
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
from osprofile.profile.model import USER_GROUPS, Field, Selection, Tag
from osprofile.profile.repository import get_config_directory, iter_search_path
from osprofile.text import quote_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from osprofile.jobs.shell.output import QueueLimit, QueueStatus
    from osprofile.profile.model import Profile
    from osprofile.profile.repository import Repository

_QUEUE: Final = "QUEUE"
_SSH_TIMEOUT: Final = 20.0
"""Seconds for `ssh -G`, which connects to nothing."""
_SSH_FAILED: Final = 255
"""The exit status of ssh itself."""
_JOB_TIMEOUT: Final = 300.0
"""Seconds that the job of `--try` may wait and run."""


def write_site(name: str, parent: Profile, extends: str, directory: str | None, *, json: bool) -> int:
    """Write a profile that inherits everything."""
    document = render_skeleton(name, parent, _find_folder(directory, name))
    return _print(document, _write(directory, name, document), {"name": name, "extends": extends}, json=json)


def write_target(
    name: str,
    repository: Repository,
    extends: str,
    place: tuple[str | None, str | None],
    directory: str | None,
    *,
    from_queues: bool,
    is_tried: bool,
    with_job: bool,
    json: bool,
) -> int:
    """Write a profile for a host and a workspace, and try it; with `from_queues`, it lists the queues that there are."""
    parent = repository.load(extends)
    document = _render_profile(name, parent, *place)
    if from_queues:
        queues = _list_queues(repository.load_bytes(document.encode(), f"{name}.xml"))
        document = _render_profile(name, parent, *place, queues)
    file = _write(directory or (_get_directory() if is_tried else None), name, document)
    if is_tried and file is not None and not _try_profile(file, with_job=with_job):
        return 1
    if place[1] is None:
        message = f"jobs work below {parent.uspace_root}, which all nodes must see: else give --workspace DIR"
        common.print_message(message)
    return _print(document, file, {"name": name, "extends": extends}, json=json)


def describe_batch_system(name: str, options: Mapping[str, Any], directory: str | None, *, json: bool) -> int:
    """Write a profile of a batch system, and print what is read from samples of its output."""
    check_name(name)
    if directory is not None and os.path.lexists(
        file := os.path.join(_expand(directory), name, "profile.xml")
    ):
        raise _file_exists(file)  # before anything is asked
    given = {name: options[name] for name in facts.FACTS if name != "cancel"}
    system = facts.collect_facts(given, options["cancel"])
    try:
        document = render_batch_system(name, system, _find_folder(directory, name))
    except ValueError as error:
        raise common.UsageError(str(error)) from None
    sample_files = {name: options[name] for name in facts.SAMPLES}
    samples = facts.read_samples(system, *facts.ask_for_samples(system, sample_files))
    written = _write(directory, name, document)
    found = {name: [reading._asdict() for reading in readings] for name, readings in samples.items()}
    for text in () if json else facts.format_readings(samples):
        common.print_message(text)
    for text in facts.list_warnings(system, samples):
        common.print_message(f"warning: {text}")
    return _print(document, written, {"name": name, "extends": "batch", "samples": found}, json=json)


def _expand(directory: str) -> str:
    return os.path.expanduser(directory)


def _find_folder(directory: str | None, name: str) -> str | None:
    """Return the new profile's folder if a command does not find it by its name."""
    return None if directory is None else find_folder(_expand(directory), name, iter_search_path())


def _write(directory: str | None, name: str, document: str) -> str | None:
    """Write the document, if a directory is given, and return its path."""
    try:
        return None if directory is None else write_skeleton(_expand(directory), name, document)
    except FileExistsError as error:
        raise _file_exists(error.filename) from None


def _file_exists(file: str) -> common.UsageError:
    hint = "it was not changed: choose another name or directory"
    return common.UsageError(f"{file} exists", hint=hint)


def _print(document: str, file: str | None, result: Mapping[str, object], *, json: bool) -> int:
    if json:
        common.print_json({**result, "file": file, "text": document})
    else:
        common.print_result(document if file is None else file)
    return 0


def _render_profile(
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


def _list_queues(profile: Profile) -> Sequence[QueueStatus]:
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
            case = cases.get(limit.field) or Field(
                limit.field, declared.element, selection=Selection(_QUEUE, queue.name)
            )
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


def _get_directory() -> str:
    """Return the directory of the user's own profiles. Raises `UsageError` for a user without a home."""
    directory = get_config_directory()
    if directory is None:
        raise common.UsageError("there is no home directory for profiles", hint="give --directory DIR")
    return os.path.join(directory, "profiles")


def _try_profile(file: str, *, with_job: bool) -> bool:
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
