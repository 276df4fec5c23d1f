"""Keep the profiles of submitted jobs, so that a later error in one takes nothing away from its jobs.

The folder RECORD.profiles beside the record has one document for each profile that a site can edit: the version of the
last submission, with all that it inherits. If the profile cannot be used any more, its jobs are listed, read and
cancelled by that version, and new jobs are refused with the error of the profile.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import stat
from typing import TYPE_CHECKING, Final

from osprofile.errors import InvalidProfileError, OSProfileError, Problem
from osprofile.files import atomic_write
from osprofile.incarnation.field_rules import is_special_field
from osprofile.incarnation.plan import get_plan, plan_static_scripts
from osprofile.jobs.machine import MachineOutputReader
from osprofile.jobs.script_output import StatusOutputReader, get_job_id_pattern, get_poll_intervals
from osprofile.jobs.submission_throttle import read_submission_limits
from osprofile.profile.data_directories import is_bundled
from osprofile.profile.repository import Repository

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from osprofile.incarnation.plan import Plan
    from osprofile.profile.model import Profile

log: Final = logging.getLogger("osprofile.jobs")
_JOB_TEMPLATES: Final = (
    "BIN", "SHELL", "GET_JOB_STATUS", "USAGE", "FIND_JOB", "TASK_ID", "ABORT", "HOLD", "RESUME", "SIGNAL", "LIST", "DELETE",
)  # fmt: skip
"""What is used of a profile for jobs that have been submitted."""
_READERS: Final = (
    StatusOutputReader, MachineOutputReader, get_job_id_pattern, get_poll_intervals, read_submission_limits,
)  # fmt: skip
"""What reads its patterns and settings."""


def keep_profile(profile: Profile, record: str) -> None:
    """Keep the profile of jobs that are submitted now, beside the record with this path; a failure is logged.

    A version that cannot be used for its jobs does not replace another. Bundled profiles are not kept.
    """
    if profile.refusal is not None or record == ":memory:" or not _is_own(profile):
        return
    path, digest = _get_path(profile.name, record), _compute_digest(profile)
    if _read_digest(path) == digest or ((kept := _load_kept(path)) and _find_error(profile, kept)):
        return
    from osprofile.profile.writer import profile_to_xml

    try:
        for place in (record, path):
            os.makedirs(os.path.dirname(os.path.abspath(place)), 0o700, exist_ok=True)
        _check_folder(path)
        atomic_write(path, f"{profile_to_xml(profile)}<!-- {digest} -->\n".encode())
    except OSError as error:
        message = "the profile %s is not kept for its jobs: %s: %s"
        log.warning(message, profile.name, error.filename, error.strerror)


def load_for_jobs(load: Callable[[], Profile], name: str, record: str) -> Profile:
    """Return the profile of submitted jobs, which `load` returns; its kept version, with a warning, if it cannot be used.

    `name` is its name, and `record` the path of the record. Raises what `load` raises if no version is kept.
    """
    if record == ":memory:":
        return load()
    path = _get_path(name, record)
    try:
        profile = load()
    except OSProfileError as load_error:
        kept, error = _load_kept(path), load_error
        if kept is None:
            raise
    else:
        digest = _read_digest(path)
        if not digest and os.path.exists(record):
            _keep_first(profile, record)
        is_kept = digest in {"", _compute_digest(profile)}
        kept = None if is_kept else _load_kept(path)
        found_error = _find_error(profile, kept) if kept is not None else None
        if kept is None or found_error is None:
            return profile
        error = found_error
    where = f"{error.location}: " if error.location else ""
    message = "profile %s cannot be used: %s%s; the version of the last submission is used for its jobs"
    log.warning(message, name, where, error.message)
    kept.refusal = error
    return kept


def _keep_first(profile: Profile, record: str) -> None:
    """Keep the profile of jobs that were submitted by a version that kept none, if it can be used for them."""
    with contextlib.suppress(OSProfileError):
        if _is_own(profile) and _find_error(profile, profile) is None:
            keep_profile(profile, record)


def _is_own(profile: Profile) -> bool:
    return any(not is_bundled(document.element.source.name) for document in profile.documents)


def _find_error(profile: Profile, kept: Profile) -> OSProfileError | None:
    """Return why a profile cannot be used for jobs that have been submitted; an undeclared field of the kept one is in the context."""
    known = {name for plan in _compile_job_templates(kept) for name in plan.uses}
    try:
        for read in _READERS:
            read(profile)
        plan_static_scripts(profile)
        for plan in _compile_job_templates(profile):
            for name in plan.uses.keys() - plan.declarations.keys() - known:
                if not is_special_field(name):
                    message = f"<{name}> is not declared in template {plan.template.name}, nor a global field"
                    raise InvalidProfileError([Problem("OSP301", message, plan.uses[name].location)])
    except OSProfileError as error:
        return error
    return None


def _compile_job_templates(profile: Profile) -> Iterator[Plan]:
    for name in profile.templates.keys() & _JOB_TEMPLATES:
        for variation in profile.templates[name].invocations:
            yield get_plan(profile, name, variation, None)


def _load_kept(path: str) -> Profile | None:
    try:
        _check_folder(path)
        return Repository(use_standard_path=False).load_file(path)
    except (OSError, OSProfileError):
        return None


def _get_path(name: str, record: str) -> str:
    from urllib.parse import quote  # late: it is slow to import

    return os.path.join(f"{record}.profiles", f"{quote(name, safe='')}.xml")


def _compute_digest(profile: Profile) -> str:
    """Return a text that differs for two versions of a profile: of the bytes of all its files."""
    import hashlib  # late: it is slow to import

    digest = hashlib.sha256()
    for document in profile.documents:
        for source in document.sources:
            digest.update(b"%d " % len(source.data) + source.data)
    return digest.hexdigest()


def _read_digest(path: str) -> str:
    """Return the digest of the kept version; empty if there is none."""
    try:
        with open(path, "rb") as file:
            return file.read().rpartition(b"<!-- ")[2].partition(b" ")[0].decode("ascii", "replace")
    except OSError:
        return ""


def _check_folder(path: str) -> None:
    """Raise `OSError` if the folder of a path is another user's, or others can write to it: the scripts there are run."""
    folder = os.path.dirname(path)
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise OSError(errno.EPERM, "the folder is not this user's alone", folder)
