"""File staging: the directory where a job runs, its input files and its output files.

The job copies its files itself, on the machine where it runs, so that the daemon need not live as
long as the job. It does so by installed functions, which get all names as arguments: no value of an
ad is ever part of a shell's text.
"""

from __future__ import annotations

import posixpath
from dataclasses import replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from osprofile.executors.blah.attributes import Submission
    from osprofile.jobs.fields import JobDescription

PROXY_FILE_NAME: Final = ".gpe/proxy"
"""The user's proxy, in the job's working directory."""
JOB_DIRECTORY_SUFFIX: Final = ".blah"
"""The end of the names of working directories: only these are ever removed, as no person chose them."""

FUNCTIONS_FILE_NAME: Final = ".gpe/job.sh"
"""The functions of a job script, in its working directory."""
_STAGE: Final = '. "$0" && gpe_stage "$@"'
"""Calls the function of profiles/linux/job-staging.sh, which says what its arguments are. START puts it into
the job's own functions, the file that is this shell's name, because the job script has this text."""


def build_staged_job(
    submission: Submission, directory: str, *, has_proxy: bool, job_name: str | None = None
) -> JobDescription:
    """Return the job that runs a submission's program, by the staging functions if they are needed.

    A job with input or output files runs in `directory`, which is its own; any other job runs in Iwd.
    `has_proxy`: the proxy will be in `directory` when the job starts. `job_name`: of a job without a name,
    which would have the shell's.
    """
    description = replace(submission.description, working_directory=directory)
    if "JOB_NAME" not in description.fields:
        description = replace(description, name=description.name or job_name)
    environment = dict(description.environment)
    proxy = {"X509_USER_PROXY": f"{directory}/{PROXY_FILE_NAME}"} if has_proxy else {}
    has_files = bool(submission.inputs or submission.outputs)
    iwd = "" if has_files or not submission.iwd else submission.iwd
    program = description.executable
    if program is None or not (iwd or has_files or submission.stages_executable):
        return replace(description, environment=environment | proxy)
    if submission.stages_executable:
        program = f"{directory}/.gpe/bin/{posixpath.basename(program)}"
    searched = environment.pop("PATH", "")
    arguments = (
        "-c", _STAGE, f"{directory}/{FUNCTIONS_FILE_NAME}", iwd,
        (description.executable or "") if submission.stages_executable else "",
        submission.iwd if has_files and submission.returns_new_files and submission.iwd else "",
        searched,
        str(len(submission.inputs)), *submission.inputs,
        str(len(submission.outputs)), *(name for pair in submission.outputs for name in pair),
        *(f"{name}={value}" for name, value in environment.items() if name not in proxy),
        "--", program, *description.arguments,
    )  # fmt: skip
    return replace(
        description,
        executable="/bin/sh",
        arguments=arguments,
        environment=proxy,
    )
