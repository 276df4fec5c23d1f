"""The files that are copied for a job: its program and its inputs, and what is fetched when it has ended."""

from __future__ import annotations

import os
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, final

from osprofile.cli import common
from osprofile.cli.job.program import find_interpreter
from osprofile.cli.job.session import CommandSession, ErrorReporter, cancellable, find_jobs
from osprofile.errors import OSProfileError, OutcomeUnknownError, TargetError, format_message
from osprofile.jobs.client import JobReference, gather_results
from osprofile.jobs.files.trees import measure, read_job_files
from osprofile.late import NamedTuple
from osprofile.text import (
    format_size,
    pluralize,
    quote_name,
    quote_path,
    quote_shell_word,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from osprofile.cli.job.option_groups import TargetSelection
    from osprofile.jobs.fields import JobDescription
    from osprofile.jobs.files.trees import FetchedFile
    from osprofile.jobs.target_system import TargetSystem

_SYSTEM_DIRECTORIES = ("/bin/", "/sbin/", "/usr/")
"""A program in one of these is that of the target system."""
_NONE: Mapping[JobReference, Sequence[str]] = MappingProxyType({})
_MAX_NAMED = 3
"""Files that a message names; of more, it has the number."""


# Before the job


@final
class TargetScript(NamedTuple):
    """A script of a target: its path there, its first bytes, and whether it is executable."""

    path: str
    content: bytes
    is_executable: bool


async def has_program(session: CommandSession, target: TargetSystem, description: JobDescription) -> bool:
    """Return whether the target has the program of a job, as far as it can have it before the job is submitted."""
    path = _find_target_path(session, description)
    if "/" in path and not path.startswith("/"):  # relative to the working directory, which is new
        return False
    if path.startswith(_SYSTEM_DIRECTORIES):
        return True
    key = (target.name, path)
    if key not in session.found_programs:
        try:
            session.found_programs[key] = await target.files.has_program(path)
        except OutcomeUnknownError as error:
            raise TargetError(f"{error.message}; nothing was submitted", hint="repeat the command") from None
    return session.found_programs[key]


def _find_target_path(session: CommandSession, description: JobDescription) -> str:
    """Return the path of a job's program on the target, or its name."""
    name = description.executable or ""
    directory = description.fields.get("DIRECTORY") or description.directory or description.working_directory
    directory = directory or session.context.get("WORKING_DIRECTORY", "")
    return os.path.join(directory, name) if "/" in name else name


async def read_target_script(
    session: CommandSession, target: TargetSystem, description: JobDescription, size: int
) -> TargetScript | None:
    """Return the script on the target that is the program of a job; None for any other program."""
    path = _find_target_path(session, description)
    if not path.startswith("/") or path.startswith(_SYSTEM_DIRECTORIES):
        return None
    key = (target.name, path)
    if key not in session.found_scripts:
        try:
            session.found_scripts[key] = await target.files.read_script(path, size)
        except OutcomeUnknownError as error:
            raise TargetError(f"{error.message}; nothing was submitted", hint="repeat the command") from None
    found = session.found_scripts[key]
    return None if found is None else TargetScript(path, *found)


def copy_program(description: JobDescription, path: str, interpreter: str = "") -> JobDescription:
    """Return a job whose program is a copy of a file of this machine in the job's working directory.

    A program in one of the inputs is copied with it. `interpreter`: what reads the script; empty: see `find_interpreter`.
    """
    inputs = [*description.inputs]
    within = next((p for p in map(os.path.abspath, inputs) if f"{path}/".startswith(f"{p}/")), None)
    if within is None:
        inputs.append(path)
        within = path
    name = os.path.join(os.path.basename(within), os.path.relpath(path, within)).removesuffix("/.")
    words = [interpreter] if interpreter else find_interpreter(description.executable or "", path)
    if description.fields.get("DIRECTORY") or description.directory:
        # The program runs elsewhere: only the job knows the path of its working directory.
        command = " ".join(["exec", *map(quote_shell_word, words)])
        text = f'{command} "${{GPE_WORKING_DIRECTORY:?}}"/"$0" "$@"'
        arguments = ["-c", text, name, *description.arguments]
        return replace(description, inputs=inputs, executable="/bin/sh", arguments=arguments)
    words = [*words, f"./{name}", *description.arguments]
    return replace(description, inputs=inputs, executable=words[0], arguments=words[1:])


def announce_copies(inputs: Iterable[str], target: TargetSystem, job_count: int = 1) -> None:
    """Print what will be copied for jobs, and its size. Raises `TargetError` for what cannot be read."""
    sizes = {path: measure(path) for path in dict.fromkeys(inputs)}
    if not sizes:
        return
    texts = []
    for path, size in sizes.items():
        files = f"{pluralize(size.files, 'file')}, " if os.path.isdir(path) else ""
        texts.append(f"{quote_name(os.path.basename(path))} ({files}{format_size(size.size)})")
    if len(texts) > _MAX_NAMED:
        total = sum(size.size for size in sizes.values())
        texts = [f"{len(texts)} inputs ({format_size(total)})"]
    jobs = "the job" if job_count == 1 else f"{job_count} jobs"
    host = target.name.partition("@")[2]
    where = f" to {host}" if host else ""
    common.print_message(format_message(f"incarnate: copying {', '.join(texts)}{where} for {jobs}"))


# After the job


@cancellable
async def fetch_files(
    selection: TargetSelection,
    words: Sequence[str],
    patterns: Sequence[str] | None,
    to: str | None,
    *,
    json: bool,
) -> int:
    """Copy files of jobs to this machine; by default those that the jobs were submitted with."""
    failures = ErrorReporter()
    async with CommandSession(selection) as session:
        jobs = find_jobs(session, words, failures)
        fetched = await _fetch(jobs, failures, patterns, to)
        if json:
            common.print_json(
                [
                    {"id": job.job_id, "files": [{"path": f.path, "size": f.size} for f in files]}
                    for job, files in fetched.items()
                ]
            )
    return failures.exit_code


async def fetch_ended(
    jobs: Mapping[str, JobReference],
    codes: Mapping[str, int],
    earlier: Mapping[JobReference, Sequence[str]],
) -> dict[str, int]:
    """Fetch what jobs that have ended were submitted with; return the exit codes: of those that fail, no 0.

    The jobs are the last attempts of those whose ids `jobs` and `codes` have; arrays have those before in `earlier`.
    """
    fetched = await _fetch([*jobs.values()], ErrorReporter(), earlier=earlier)
    failed = {job_id for job_id, job in jobs.items() if job not in fetched}
    return {
        job_id: code or (common.PASS_THROUGH_ERROR if job_id in failed else 0)
        for job_id, code in codes.items()
    }


async def _fetch(
    jobs: Sequence[JobReference],
    failures: ErrorReporter,
    patterns: Sequence[str] | None = None,
    to: str | None = None,
    earlier: Mapping[JobReference, Sequence[str]] = _NONE,
) -> dict[JobReference, list[FetchedFile]]:
    """Fetch the files of jobs, print what these are, report errors, and return the files of the others."""
    results = await gather_results(
        jobs, lambda job: job.target.fetch(job.job_id, patterns, to, earlier=earlier.get(job, ()))
    )
    fetched = {}
    for job, result in zip(jobs, results, strict=True):
        if isinstance(result, OSProfileError):
            failures.report_job_error(job, result)
            continue
        fetched[job] = result
        shown = _describe_fetched(result)
        common.print_message(format_message(f"incarnate: job {quote_name(job.job_id)}: fetched {shown}"))
    return fetched


def _describe_fetched(files: Sequence[FetchedFile]) -> str:
    """Return the names and sizes of files; of many, their number and their directory."""
    if len(files) > _MAX_NAMED:
        place = quote_path(os.path.relpath(os.path.commonpath([file.path for file in files])))
        return f"{len(files)} files ({format_size(sum(file.size for file in files))}) in {place}"
    texts = [f"{quote_path(os.path.relpath(file.path))} ({format_size(file.size)})" for file in files]
    return ", ".join(texts) or "no file"


def locate_files(description: JobDescription) -> JobDescription:
    """Return a job with absolute paths of its files.

    Raises `ValueRefusedError` for an input that is not there, and a pattern that is not valid.
    """
    files = read_job_files(description)
    return replace(description, inputs=[*files.inputs.values()], fetch_to=files.fetch_to or None)
