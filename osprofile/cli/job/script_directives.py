"""The directives of a job's own script: what the batch system would take from them, the job gets.

They become fields, whose limits and patterns apply; what the command line gives wins.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from osprofile.cli.common import UsageError
from osprofile.cli.job.directives import describe_directives
from osprofile.cli.job.program import find_script
from osprofile.cli.job.session import print_warning
from osprofile.incarnation.plan import find_directive_template
from osprofile.job_scripts.passing import select_passed_options
from osprofile.job_scripts.reader import FAMILIES, read_script_request
from osprofile.job_scripts.script_request import FileName, Given, ScriptRequest
from osprofile.jobs.fields import DEPENDENCY_ATTRIBUTES, DEPENDENCY_FIELD, FIELDS
from osprofile.jobs.profiles import list_settable_fields
from osprofile.jobs.request import build_job_name
from osprofile.shim.command import get_submit_directory
from osprofile.text import quote_name

if TYPE_CHECKING:
    from osprofile.job_scripts.command_line import OptionValue
    from osprofile.jobs.fields import JobDescription
    from osprofile.profile.model import Profile

IGNORE_HINT: Final = "--ignore-directives submits the script without any of its directives"
MAX_HEADER: Final = 1 << 20
"""Characters of a script that may have directives; what follows the script may be a large archive."""
_DEFAULT_STDOUT: Final = "stdout"


def apply_directives(
    profile: Profile,
    description: JobDescription,
    user: str,
    copied: str | None = None,
    script: str | None = None,
) -> tuple[JobDescription, dict[str, OptionValue], str]:
    """Return a job with what the directives of its script ask for, and the directives that set fields, by field.

    `user`: the jobs' user, who gets the mail if the directives name nobody. Without a name, the job has that of its script.
    `copied`: the script, which is copied to another machine, or has the text `script` there; then paths in directives are
    those of that machine, and the interpreter that the directives name is returned, too. Raises `UsageError` for a
    directive that the profile has no field for, and neither passes to the batch system.
    """
    path = copied or find_script(description)
    if path is None:
        return description, {}, ""
    try:
        script = _read_header(path) if script is None else script
    except OSError:  # it may be run without being read
        return description, {}, ""
    template = find_directive_template(profile)
    prefix, name = template.directive_prefix if template else "", os.path.basename(path)
    request = read_script_request(script, name, prefix, _list_given(description, name, user))
    if request is None:
        warn_of_directives(script, name, besides=prefix)
        return description, {}, ""
    settable = list_settable_fields(profile)
    if request.attributes.get("requeue") is False and "REQUEUE" not in settable:
        request.attributes["requeue"] = None  # no job is run again there
        request.sources.pop("REQUEUE", None)
    passed = select_passed_options(profile, request, IGNORE_HINT)
    if copied is None and request.attributes.get("directory"):  # not where the program runs
        variables = {FAMILIES[prefix].submit_variable: get_submit_directory()}
        request.attributes["environment"] = {**variables, **request.attributes.get("environment", {})}
    changed = _merge(description, request, None if copied else path)
    for field, option in request.sources.items():
        if field not in settable and _has_value(request, field):
            message = f"{option}: profile {profile.name} has no field {field}"
            raise UsageError(message, hint=IGNORE_HINT)
    _report(name, request)
    changed = replace(
        changed,
        name=changed.name or build_job_name(name),
        passed_options=[*changed.passed_options, *passed],
    )
    return changed, request.sources, request.interpreter


def _read_header(path: str) -> str:
    with open(path, encoding="utf-8", errors="surrogateescape", newline="\n") as file:
        return file.read(MAX_HEADER)


def warn_of_directives(script: str, name: str, *, besides: str = "") -> None:
    """Warn of the directives of a script that are not read: all, or those of a batch system that is not the profile's."""
    told = (
        describe_directives(script)
        if besides not in FAMILIES or not _has_directives(script, besides)
        else None
    )
    if told is not None:
        message, hint = told
        print_warning(f"{quote_name(name)}, {message}", hint=hint)


def _has_directives(script: str, prefix: str) -> bool:
    return any(line.startswith(f"{prefix} ") for line in script.split("\n"))


def _list_given(description: JobDescription, name: str, user: str) -> Given:
    """Return what the command line gives."""
    given = [a for a in FIELDS if (value := getattr(description, a)) or type(value) in {int, bool}]
    fields = {DEPENDENCY_FIELD if a in DEPENDENCY_ATTRIBUTES else FIELDS[a].name for a in given}
    return Given(
        frozenset({*fields, *description.fields}),
        _find_count(description, "nodes"),
        _find_count(description, "processes"),
        _find_count(description, "cpus"),
        _find_count(description, "gpus"),
        user,
        description.name or name,
    )


def _find_count(description: JobDescription, attribute: str) -> int | None:
    """Return the number that an option, or --set, gives; None without one."""
    text = description.fields.get(FIELDS[attribute].name, "")
    number: int | None = getattr(description, attribute)
    return number or (int(text) if re.fullmatch("[1-9][0-9]{0,8}", text) else None)


def _merge(description: JobDescription, request: ScriptRequest, path: str | None) -> JobDescription:
    """Return the job with the values of the directives where the command line gives none.

    `path` is that of the script; None: it is on another machine, as the paths in the directives are.
    """
    taken = {*_list_given(description, "", "").fields}
    changes = {
        attribute: value
        for attribute, value in request.attributes.items()
        if value is not None and FIELDS[attribute].name not in taken
    }
    changes["environment"] = {**request.attributes.get("environment", {}), **description.environment}
    if path is not None and "directory" in changes:  # the path of the script is relative to the current one
        changes["executable"] = os.path.join(get_submit_directory(), path)
    if path is not None and request.interpreter:
        changes["executable"] = request.interpreter
        changes["arguments"] = [os.path.join(get_submit_directory(), path), *description.arguments]
    directory = changes.get("directory") or description.directory or ""
    base = "" if path is None else get_submit_directory()
    changes |= _place_files(request, os.path.join(base, directory), taken)
    fields = {name: value for name, value in request.fields.items() if name not in taken}
    return replace(description, **changes, fields={**fields, **description.fields})


def _place_files(request: ScriptRequest, directory: str, taken: set[str]) -> dict[str, Any]:
    """Return the attributes for the files of a job; a name with parts that only the job knows is a field."""
    names = {"stdout": request.stdout, "stderr": request.stderr}
    if request.joins and "STDERR" not in taken and "STDOUT" not in taken:
        names["stdout"] = names["stdout"] or names["stderr"]
        names["stderr"] = names["stderr"] or names["stdout"]
    if request.stdin is not None:
        names["stdin"] = request.stdin
    changes: dict[str, Any] = {}
    for attribute, name in names.items():
        field = FIELDS[attribute].name
        if name is None or field in taken:
            continue
        request.sources[field] = name.option
        if not name.is_pattern:
            changes[attribute] = os.path.join(directory, name.text.replace("%%", "%"))
        elif attribute == "stdin":
            message = f"{name.option}: the name of an input cannot have what only the job knows"
            raise UsageError(message, hint="give a name without %")
        elif attribute == "stderr" and name == names["stdout"] and "STDOUT" not in taken:
            request.fields[field] = _DEFAULT_STDOUT
        else:
            request.fields[f"{field}_NAME"] = _join_pattern(directory, name)
            request.sources[f"{field}_NAME"] = name.option
    return changes


def _join_pattern(directory: str, name: FileName) -> str:
    return os.path.join(directory.replace("%", "%%"), name.text)


def _has_value(request: ScriptRequest, field: str) -> bool:
    """Return whether a directive gives a field a value: --mail-type=NONE does not."""
    names = [attribute for attribute, row in FIELDS.items() if row.name == field]
    return field in request.fields or any(request.attributes.get(a) is not None for a in names)


def _report(name: str, request: ScriptRequest) -> None:
    """Name what is dropped, and what is taken in another way."""
    if request.dropped:
        names = ", ".join(f"{option.flag} (line {option.where.split(':')[-2]})" for option in request.dropped)
        print_warning(f"{quote_name(name)}: ignored: {names}")
    for remark in request.remarks:
        print_warning(remark)
