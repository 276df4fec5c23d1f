"""Where the program of `incarnate job submit` runs, and which file it is, if the scripts run on this machine."""

from __future__ import annotations

import functools
import os
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from osprofile.cli.common import UsageError
from osprofile.cli.job.session import print_warning
from osprofile.incarnation.plan import get_plan
from osprofile.jobs.request import build_job_name
from osprofile.jobs.shell.scripts import get_shell_command
from osprofile.late import compile_late
from osprofile.profile.data_directories import is_bundled
from osprofile.shim.command import get_submit_directory
from osprofile.text import escape_unprintable, quote_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from osprofile.incarnation.plan import Plan
    from osprofile.jobs.fields import JobDescription
    from osprofile.profile.model import Profile

_SHELLS: Final = frozenset({"sh", "ash", "bash", "busybox", "dash", "ksh", "mksh", "zsh"})
_PATH_CHANGING_FIELDS: Final = ("CONTAINER", "MODULES", "SETUP", "SITE_SETUP")
"""With one of these, a program may be found that is not on this process's PATH."""
_MISSING_FILE_HINT: Final = "the nodes may have it; if not, the job fails, and the program does not run"
_SHELL_CHARACTERS: Final = compile_late(r"[\s|&;<>$`(){}*?]")
_HEAD_SIZE: Final = 1 << 16
"""Bytes of a file that tell whether it is a script."""


def runs_scripts_here(profile: Profile, context: Mapping[str, str]) -> bool:
    """Return whether scripts run on this machine: SHELL starts a shell, and not ssh or another such command."""
    is_shell = os.path.basename(get_shell_command(profile, context)[0]) in _SHELLS
    return is_shell and not context.get("SSH:HOST")


def localize_description(profile: Profile, description: JobDescription) -> JobDescription:
    """Return the description of a job whose paths are relative to the current directory.

    Without a value for DIRECTORY, the program runs in the current directory, if START has this field, and no files are
    copied for the job.
    Warn of a program, a directory or an input that this machine does not have. Raises `UsageError` for a
    script that no interpreter reads, and if the current directory is gone.
    """
    plan = get_plan(profile, "START", "", description.application)
    paths = {name: getattr(description, name) for name in ("directory", "stdin", "stdout", "stderr")}
    changes: dict[str, Any] = {name: _make_absolute(path) for name, path in paths.items() if path}
    has_default = description.directory is None and "DIRECTORY" not in description.fields
    # A job with files of its own runs where these are, as on another machine.
    has_files = bool(description.inputs or description.fetch)
    if has_default and not has_files and "DIRECTORY" in plan.settable:
        changes["directory"] = get_submit_directory()
    local = replace(description, **changes)
    is_complete = bool(plan.fixed.get("SITE_SETUP")) or _warn_of_missing_files(local)
    return _find_program(plan, local, warns=is_complete)


def find_script(description: JobDescription) -> str | None:
    """Return the path of the script that is a job's program; None if that is no script, or not on this machine."""
    name = description.executable
    if not name or name.startswith("-"):
        return None
    found = None if "/" in name else _search_path(name, os.environ.get("PATH"))
    directory = description.fields.get("DIRECTORY") or description.directory
    path = found or os.path.join(
        get_submit_directory(), directory if directory and "/" in name else "", name.removeprefix("./")
    )
    return path if os.path.isfile(path) and is_script(name, path) else None


def find_local_program(description: JobDescription) -> str | None:
    """Return the path of a job's program if it is a file of this machine, relative to the current directory."""
    name = description.executable
    is_file = name and not name.startswith("-") and os.path.isfile(name)
    return os.path.join(get_submit_directory(), os.path.normpath(name)) if name and is_file else None


def require_program(profile: Profile, description: JobDescription) -> None:
    """Raise `UsageError` if no program is given: neither one, nor an application, nor that of a site's profile.

    The default of the bundled profiles is an example.
    """
    plan = get_plan(profile, "START", "", description.application)
    if description.executable or description.application or "EXECUTABLE" in description.fields:
        return
    declaration = plan.find_declaration("EXECUTABLE")
    if declaration is None or "EXECUTABLE" not in plan.settable:
        return
    if not plan.defaults.get("EXECUTABLE") or is_bundled(declaration.location.file):
        hint = "write it and its arguments after the options, or give --application"
        raise UsageError("no program is given", hint=hint)


def _make_absolute(path: str) -> str:
    return path if path.startswith("/") else os.path.join(get_submit_directory(), path)


def _warn_of_missing_files(description: JobDescription) -> bool:
    """Warn of what the job's script could not open or enter on this machine; return whether the directory is there."""
    directory, stdin = description.fields.get("DIRECTORY") or description.directory, description.stdin
    names = [description.fields.get(field, "") for field in ("STDOUT_NAME", "STDERR_NAME")]
    paths = [
        description.stdout,
        description.stderr,
        *(name for name in names if "%" not in os.path.dirname(name)),
    ]
    output_directories = {os.path.dirname(path) for path in paths if path}
    for path in sorted({directory or "/", *output_directories}):
        if not os.path.isdir(path):
            fault = "is not a directory" if os.path.exists(path) else "does not exist"
            print_warning(f"the directory {escape_unprintable(path)} {fault}", hint=_MISSING_FILE_HINT)
    if stdin and not os.path.exists(stdin):
        message = f"the standard input {escape_unprintable(stdin)} does not exist"
        print_warning(message, hint=_MISSING_FILE_HINT)
    return os.path.isdir(directory or "/")


def _find_program(plan: Plan, description: JobDescription, *, warns: bool) -> JobDescription:
    """Return the description with the program that is meant: see `incarnate job submit --help`.

    Without `warns`, do not tell that the program is missing: the directory in which it would be is.
    """
    name = description.executable
    if not name or name.startswith("-"):
        return description
    if "/" not in name and (found := _search_path(name, os.environ.get("PATH"))):
        _warn_of_namesake(name, found)
        return description
    directory = description.fields.get("DIRECTORY") or description.directory
    if "/" not in name:
        path = _make_absolute(name)
    elif directory:
        path = os.path.join(directory, name)
    else:
        path = name = _make_absolute(name)  # the working directory, where it runs, has no such file
    if os.path.isfile(path):
        return _use_file(plan, description, name if "/" in name else path, path)
    if not warns:
        return replace(description, executable=name)
    if "/" in name and os.path.isdir(path):
        print_warning(f"the program {quote_name(name)} is a directory")
    elif not any(plan.fixed.get(f) or description.fields.get(f) for f in _PATH_CHANGING_FIELDS):
        where = "is neither on the PATH of this machine nor in the current directory"
        fault = "does not exist" if "/" in name else where
        hint = "the nodes may have it; if not, the job ends with 127"
        if not description.arguments and _SHELL_CHARACTERS.search(name):
            hint = f"a command line needs a shell: sh -c {escape_unprintable(shlex.quote(name))}"
        print_warning(f"the program {quote_name(name)} {fault}", hint=hint)
    return replace(description, executable=name)


@functools.cache
def _search_path(name: str, path: str | None) -> str | None:
    """Return the program of a name; many lines of a file have the same."""
    folders = os.defpath if path is None else path
    files = (os.path.join(folder, name) for folder in folders.split(os.pathsep) if path != "")
    return next((file for file in files if os.access(file, os.X_OK) and not os.path.isdir(file)), None)


def _warn_of_namesake(name: str, found: str) -> None:
    """Warn if the current directory has another program of the same name as that on the PATH."""
    if not os.path.isfile(name) or os.path.samefile(name, found):
        return
    if os.access(name, os.X_OK) or is_script(name, name):
        message = (
            f"the program {quote_name(name)} is {quote_name(found)}, not the file in the current directory"
        )
        print_warning(message, hint=f"./{name} is that file")


def is_script(name: str, path: str) -> bool:
    """Return whether a file is a script."""
    head = _read_head(path)
    return head.startswith(b"#!") or (name.endswith(".sh") and b"\0" not in head)


def _use_file(plan: Plan, description: JobDescription, name: str, path: str) -> JobDescription:
    """Return the description with a file as its program, or as a script that an interpreter reads."""
    if interpreter := find_interpreter(name, path):
        description = name_after_script(plan.settable, description, path)
    words = [*interpreter, name, *description.arguments]
    return replace(description, executable=words[0], arguments=words[1:])


def name_after_script(settable: frozenset[str], description: JobDescription, path: str) -> JobDescription:
    """Return a job with the name of its script, not of the interpreter that reads it, unless it has another name."""
    if description.name or "JOB_NAME" in description.fields or "JOB_NAME" not in settable:
        return description
    return replace(description, name=build_job_name(os.path.basename(path)))


def find_interpreter(name: str, path: str) -> list[str]:
    """Return the words of what reads a script that is not executable; nothing for another file, with a warning."""
    if os.access(path, os.X_OK):
        return []
    if is_script(name, path):
        from osprofile.job_scripts.command_line import read_script

        return [*read_script(path).interpreter]
    hint = "chmod +x makes it so; a script without #! in its first line needs its interpreter in front: python3 FILE"
    print_warning(f"the program {quote_name(name)} is not executable", hint=hint)
    return []


def _read_head(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(_HEAD_SIZE)
    except OSError:  # it may be run without being read
        return b""
