"""Find profiles by name, describe the fields that a request may set, and keep the profiles of submitted jobs.

So a later error in a profile takes nothing away from its jobs: the folder RECORD.profiles beside the record has one
document for each profile that a site can edit: the version of the last submission, with all that it inherits. If the
profile cannot be used any more, its jobs are listed, read and cancelled by that version, and new jobs are refused with
the error of the profile.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import re
import stat
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import InvalidProfileError, OSProfileError, Problem
from osprofile.files import atomic_write, compute_digest, join_with_lengths
from osprofile.incarnation.evaluate import is_integer
from osprofile.incarnation.field_rules import (
    format_range,
    is_number,
    is_numeric_field,
    is_special_field,
    is_within_limits,
)
from osprofile.incarnation.plan import get_plan, plan_static_scripts
from osprofile.jobs.shell.output import (
    MachineOutputReader,
    StatusOutputReader,
    get_job_id_pattern,
    get_poll_intervals,
)
from osprofile.jobs.submit.throttle import read_submission_limits
from osprofile.late import NamedTuple, compile_late
from osprofile.profile.data_directories import is_bundled
from osprofile.profile.model import ENERGY_PRICE, SITE_CONFIRM
from osprofile.profile.repository import Repository
from osprofile.text import quote_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from osprofile.incarnation.plan import Plan
    from osprofile.profile.model import Field, Profile

log: Final = logging.getLogger("osprofile.jobs")
_CONFIRM_WORD: Final = compile_late(r"yes|no|([A-Za-z_][A-Za-z0-9_.-]*)>([0-9]{1,18})")
CONFIRM_WORDS: Final = "yes, no, or limits of fields, with blanks between them"
CONFIRM_EXAMPLE: Final = "NODES>100 WALLTIME>86400"
ENERGY_PRICE_FORM: Final = compile_late(r"([0-9]{1,6}(?:\.[0-9]{1,6})?) (\S{1,10})")
"""A price for a kWh and its currency, as in `0.30 EUR`."""
_JOULES_PER_KWH: Final = 3.6e6
_JOB_TEMPLATES: Final = (
    "BIN", "SHELL", "GET_JOB_STATUS", "USAGE", "FIND_JOB", "TASK_ID", "ABORT", "HOLD", "RESUME", "SIGNAL", "LIST", "DELETE",
)  # fmt: skip
"""What is used of a profile for jobs that have been submitted."""
_READERS: Final = (
    StatusOutputReader, MachineOutputReader, get_job_id_pattern, get_poll_intervals, read_submission_limits,
)  # fmt: skip
"""What reads its patterns and settings."""


def load_profile(name: str, directories: Sequence[str] = ()) -> Profile:
    """Return the resolved profile of a name, which is never a path, as it may come from a client.

    `directories` are searched before the standard search path (see `Repository`). Raises
    `ProfileNotFoundError`, and `InvalidProfileError` with everything that is wrong.
    """
    return Repository(directories).load(name)


def load_profile_file(path: str, directories: Sequence[str] = ()) -> Profile:
    """Return the resolved profile of a file; its parents are searched as by `load_profile`."""
    return Repository(directories).load_file(path)


def list_profile_names(directories: Sequence[str] = ()) -> list[str]:
    """Return the names that `load_profile` finds."""
    return Repository(directories).list_names()


@final
class JobField(NamedTuple):
    """A field of START that a request may set.

    - `tags`: the names of its tags
    - `is_number`: whether it accepts only numbers, by its type or its limits
    - `minimum`, `maximum`: the limits (None: no limit); `range_text` shows them to a user
    - `has_valid_default`: whether its default is a number that it accepts
    - `is_switch`: whether it accepts `true` and nothing else, unless a tag does
    """

    name: str
    description: str
    default: str
    tags: tuple[str, ...]
    is_integer: bool
    is_number: bool
    minimum: float | None
    maximum: float | None
    range_text: str
    has_valid_default: bool
    is_switch: bool


@final
class JobFields(NamedTuple):
    """The fields of START that a request may set, by name.

    `starts_processes`: the application starts the job's program PROCESSES times.
    """

    fields: Mapping[str, JobField]
    starts_processes: bool


def describe_job_fields(profile: Profile, application: str | None = None) -> JobFields:
    """Return the settable fields of START with an application (default: the profile's own).

    Raises `NotFoundError`, `InvalidProfileError`.
    """
    plan = get_plan(profile, "START", "", application)
    declarations = sorted(plan.declarations.items())
    fields = {name: _describe_field(f) for name, f in declarations if name in plan.settable}
    return JobFields(fields, _starts_processes(profile, plan))


def list_settable_fields(profile: Profile) -> frozenset[str]:
    """Return the names of all fields of START that a request may set."""
    return get_plan(profile, "START", "", None).settable


def needs_confirmation(profile: Profile) -> bool:
    """Return whether a person must confirm what an agent submits or cancels, by SITE_CONFIRM; `no` is as without it."""
    return profile.get_value("START", SITE_CONFIRM) not in {"", "no"}


def read_confirmation_limits(profile: Profile) -> dict[str, int]:
    """Return above which amounts a person is asked before a job is submitted, by field: `NODES>100` in SITE_CONFIRM.

    Raises `OSProfileError` for a word that is neither such a limit nor `yes` or `no`.
    """
    text = profile.get_value("START", SITE_CONFIRM)
    limits = parse_confirmation(text or "no")
    if limits is None:
        message = f"SITE_CONFIRM of profile {profile.name} is {quote_value(text)}"
        raise OSProfileError(message, hint=f"it is {CONFIRM_WORDS}, as in {CONFIRM_EXAMPLE}")
    return limits


def parse_confirmation(text: str) -> dict[str, int] | None:
    """Return the limits that a value of SITE_CONFIRM lists, by field; None for what is not of its form."""
    words = [_CONFIRM_WORD.fullmatch(word) for word in text.split()]
    return {w[1]: int(w[2]) for w in words if w and w[1]} if words and all(words) else None


def tells_energy(profile: Profile) -> bool:
    """Return whether a site has measured energy: then it has a price, though it may be 0."""
    return bool(profile.get_value("START", ENERGY_PRICE))


def list_job_functions(profile: Profile) -> bytes:
    """Return the functions of a staged job (job.sh, job-staging.sh); nothing if START leaves them in each job's directory."""
    invocations = profile.get_template("START").invocations.values()
    if any(call.body is not None and "<BIN:submit.sh>" in call.body.text for call in invocations):
        return b""
    scripts = {
        script.file_name: script.body.text for _, script in load_profile("linux").list_static_scripts()
    }
    return f"{scripts['job.sh']}\n{scripts['job-staging.sh']}".encode()


def format_energy(profile: Profile, joules: float) -> str:
    """Return the energy of a job with its price: `1.25 kWh (0.38 EUR)`; without one that is 0."""
    hours = joules / _JOULES_PER_KWH
    text = f"{hours:.3g} kWh"
    price = ENERGY_PRICE_FORM.fullmatch(profile.get_value("START", ENERGY_PRICE))
    return f"{text} ({float(price[1]) * hours:.2f} {price[2]})" if price and float(price[1]) else text


def _starts_processes(profile: Profile, plan: Plan) -> bool:
    if plan.application is None:
        return False
    return "PROCESSES" in get_plan(profile, plan.application.template, "", None).uses


def _describe_field(field: Field) -> JobField:
    return JobField(
        name=field.name,
        description=field.description,
        default=field.default or "",
        tags=tuple(tag.name for tag in field.tags),
        is_integer=field.type == "integer",
        is_number=field.type == "integer" or is_numeric_field(field),
        minimum=field.minimum,
        maximum=field.maximum,
        range_text=format_range(field),
        has_valid_default=_has_valid_default(field),
        is_switch=field.pattern_text == "true",
    )


def _has_valid_default(field: Field) -> bool:
    default = field.default or ""
    is_valid_number = is_integer(default) if field.type == "integer" and default else is_number(default)
    return is_valid_number and is_within_limits(default, field.minimum, field.maximum)


def keep_profile(profile: Profile, record: str) -> None:
    """Keep the profile of jobs that are submitted now, beside the record with this path; a failure is logged.

    A version that cannot be used for its jobs does not replace another. Bundled profiles are not kept.
    """
    if profile.refusal is not None or record == ":memory:" or not _is_own(profile):
        return
    path, digest = _get_path(profile.name, record), _compute_digest(profile)
    if _read_digest(path) == digest or ((kept := _load_kept(path)) and _find_error(profile, kept)):
        return
    from osprofile.authoring.writer import profile_to_xml

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
    if not re.fullmatch(r"[\w.-]+", name, re.ASCII):
        from urllib.parse import quote  # late: it is slow to import

        name = quote(name, safe="")
    return os.path.join(f"{record}.profiles", f"{name}.xml")


def _compute_digest(profile: Profile) -> str:
    """Return a text that differs for two versions of a profile: of the bytes of all its files."""
    sources = (source.data for document in profile.documents for source in document.sources)
    return compute_digest(join_with_lengths(sources))


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
