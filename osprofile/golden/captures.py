"""How a profile understands the captured output of a batch system.

GET_JOB_STATUS ALL runs in an empty home directory. Programs that stand first in PATH replace those that the field
STATUS_COMMANDS names: the first one prints the captured output, each other one its first line, as a list of ids
that is not empty. So the profile's own scripts, patterns and tags read it, and no batch system is needed.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from osprofile.errors import NotFoundError, OutputError, ScriptError, ScriptFailedError
from osprofile.incarnation.context import new_context
from osprofile.incarnation.incarnate import incarnate
from osprofile.jobs.shell.output import (
    STATUS_COMMANDS_FIELD,
    STATUS_TEMPLATE,
    StatusOutputReader,
    get_status_commands,
)
from osprofile.jobs.shell.scripts import build_self_contained_script, wrap_script
from osprofile.text import escape_unprintable, format_grid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from osprofile.jobs.state import JobStatus
    from osprofile.profile.model import Profile

_TIME_LIMIT: Final = 600.0
"""Seconds; a capture has no more than the jobs of one site."""
_COLUMNS: Final = ("JOB", "WORD", "STATE", "EXIT", "CAUSE", "REASON")
NO_TAG: Final = " (no tag)"
"""Follows a word that the profile does not know."""


def read_capture(profile: Profile, data: bytes) -> list[JobStatus]:
    """Return the jobs that a profile finds in captured output, in its order.

    Raises `NotFoundError` if the profile has no STATUS_COMMANDS, what `incarnate` raises, and a `TargetError` if the
    script fails or finds no job.
    """
    commands = get_status_commands(profile)
    if not commands:
        message = f"profile {profile.name} does not say which command's output GET_JOB_STATUS reads"
        hint = f"its field {STATUS_COMMANDS_FIELD} names it; profiles without a batch system have none"
        raise NotFoundError(message, hint=hint)
    incarnation = incarnate(profile, STATUS_TEMPLATE, variation="ALL", context=new_context(profile))
    with tempfile.TemporaryDirectory(prefix="osprofile-") as folder:
        _write_programs(Path(folder), commands, data)
        text = _run(build_self_contained_script(incarnation), folder)
    reader = StatusOutputReader(profile)
    statuses = list(reader.read_statuses(text).values()) if reader.is_whole(text) else []
    if not statuses:
        hint = _find_hint(profile)
        raise OutputError(f"GET_JOB_STATUS of profile {profile.name} finds no job in it", hint=hint)
    return statuses


def _write_programs(folder: Path, commands: Sequence[str], data: bytes) -> None:
    (folder / "captured").write_bytes(data)
    (folder / "bin").mkdir()
    for number, name in enumerate(commands):
        program = folder / "bin" / name
        words = "head -n 1" if number else "cat"
        program.write_text(f'#!/bin/sh\nexec {words} "${{0%/*}}/../captured"\n')
        program.chmod(0o700)
        if not os.access(program, os.X_OK):  # a shell would go on to the real one
            message = f"programs in {folder} cannot be run: its file system is mounted with noexec"
            raise ScriptError(message, hint="set TMPDIR to another directory")


def _run(script: str, folder: str) -> str:
    """Return what a script prints. The home is a folder of its own: no record of a real job is read."""
    path = os.pathsep.join([f"{folder}/bin", os.environ.get("PATH") or os.defpath])
    try:
        done = subprocess.run(
            ["sh", "-s"],
            input=wrap_script(script),
            capture_output=True,
            env={**os.environ, "HOME": folder, "PATH": path, "LC_ALL": "C.UTF-8"},
            timeout=_TIME_LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ScriptError(f"GET_JOB_STATUS did not end within {_TIME_LIMIT:g} s") from None
    if done.returncode != 0:
        output = done.stderr.decode(errors="backslashreplace").strip()
        message = f"GET_JOB_STATUS failed (exit status {done.returncode}): {output[:500]}"
        raise ScriptFailedError(message, template=STATUS_TEMPLATE, exit_status=done.returncode, output=output)
    return done.stdout.decode(errors="surrogateescape")


def _find_hint(profile: Profile) -> str:
    """Return the description of STATUS_COMMANDS: it says how the output is captured."""
    field = profile.find_field(profile.get_template(STATUS_TEMPLATE), STATUS_COMMANDS_FIELD)
    return (field.description if field is not None else "") or ""


def format_jobs(statuses: Sequence[JobStatus]) -> str:
    """Return a table of jobs, each with the batch system's word and what it means."""
    return "".join(f"{line}\n" for line in format_grid([_COLUMNS, *map(_format_cells, statuses)]))


def _format_cells(status: JobStatus) -> tuple[str, ...]:
    code = "" if status.exit_code is None else str(status.exit_code)
    cells = (
        status.job_id, f"{status.native_state}{NO_TAG if status.unknown_word else ''}", status.state.value,
        f"signal {status.signal}" if status.signal else code, status.cause or "", status.reason,
    )  # fmt: skip
    return tuple(map(escape_unprintable, cells))
