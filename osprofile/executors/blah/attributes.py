"""From a submit ad to a job: which attribute becomes which field.

`TABLE` is the one place that says so (seed 2.5, BLAH_JOB_SUBMIT; page, "Submit attributes"). Any
other attribute whose name in upper case is a settable field of the profile is passed to it: a site
adds an attribute by adding a field.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

from osprofile.errors import AttributeRefusedError, ClassAdError, shown
from osprofile.executors.blah import splitting
from osprofile.executors.blah.classad import Literal, parse_expression
from osprofile.executors.blah.options import fields_of_options
from osprofile.executors.blah.requirements import fields_of
from osprofile.target.job import FIELD_OF, OWN_FILE_PREFIX, JobDescription

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from osprofile.errors import IncarnationError
    from osprofile.executors.blah.submitad import SubmitAd

_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_LONGEST_PATH: Final = 4096
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


@final
@dataclass(frozen=True, slots=True)
class Proxy:
    """The user's proxy certificate: the file, and what the client says of it."""

    path: str
    subject: str = ""
    fqan: str = ""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """What a submit ad asks for.

    Paths are absolute where Iwd is given (a local path of the submit host); relative ones begin
    at the job's working directory. `stage_cmd`: the executable is to be brought to the job.
    `inputs` are files to be brought to the job's working directory under their last names;
    `outputs` are pairs: a file there, and where it is to go. `takes_new_files`: what files are new or
    changed there go to Iwd, but to their places in `outputs` if they are named there. `key` names the job to its client:
    the same again is the same job. `warnings` are for the log. `sources` gives, by the names of fields,
    the attributes that their values come from.
    """

    gridtype: str
    description: JobDescription
    iwd: str | None = None
    stage_cmd: bool = True
    inputs: tuple[str, ...] = ()
    outputs: tuple[tuple[str, str], ...] = ()
    takes_new_files: bool = False
    proxy: Proxy | None = None
    key: str | None = None
    warnings: tuple[str, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict, compare=False)


@final
@dataclass(slots=True)
class _Work:
    """What is known while an ad is translated."""

    ad: SubmitAd
    settable: Collection[str]
    options: Mapping[str, str]
    iwd: str | None = None
    stage_cmd: bool = True
    given: dict[str, Any] = field(default_factory=dict)
    fields: dict[str, str] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)

    def warn(self, text: str) -> None:
        self.ad.warnings.append(text)


class Rule(NamedTuple):
    """An attribute of the ad, the attribute of `JobDescription` that it gives, and how."""

    name: str
    gives: str
    read: Callable[[_Work, str], object]


def _text(work: _Work, name: str) -> object:
    return work.ad.text(name) or None


def _count(work: _Work, name: str) -> object:
    return work.ad.count(name)


def _amount(work: _Work, name: str) -> object:
    return work.ad.amount(name)


def _path(work: _Work, name: str) -> object:
    path = work.ad.text(name)
    return _from(work, name, path) if path else None


def _command(work: _Work, name: str) -> object:
    """Give the executable; a mere name is looked for through PATH if it is not to be staged."""
    path = work.ad.text(name)
    if not path:
        message = f"attribute {name} is missing: there is nothing to run"
        raise AttributeRefusedError(message, attribute=name)
    path = _from(work, name, path) if work.stage_cmd or "/" in path else path
    if path.startswith("-"):  # a shell would take it for an option
        raise work.ad.refused(name, f"{shown(path)} begins with a -", f"as a file's name: ./{path}")
    return path


def _new_arguments(work: _Work, name: str) -> object:
    found = work.ad.parsed(name, splitting.new_words)
    return None if found is None else tuple(found)


def _old_arguments(work: _Work, name: str) -> object:
    found = work.ad.parsed(name, splitting.old_words)
    return None if found is None else tuple(found)


def _new_environment(work: _Work, name: str) -> object:
    return _exportable(work, name, splitting.new_environment)


def _old_environment(work: _Work, name: str) -> object:
    return _exportable(work, name, splitting.old_environment)


def _exportable(
    work: _Work, name: str, parse: Callable[[str], dict[str, str]]
) -> dict[str, str] | None:
    """Give the variables that a shell can export: `getenv = true` sends functions of bash too."""
    found = work.ad.parsed(name, parse)
    if found is None:
        return None
    for variable in [v for v in found if not _VARIABLE.match(v)]:
        work.warn(f"{name}: no shell can export a variable {shown(variable, 40)}; it is left out")
        del found[variable]
    return found


TABLE: Final = (
    Rule("Cmd", "executable", _command),
    Rule("Arguments", "arguments", _new_arguments),
    Rule("Args", "arguments", _old_arguments),
    Rule("Environment", "environment", _new_environment),
    Rule("Env", "environment", _old_environment),
    Rule("In", "stdin", _path),
    Rule("Out", "stdout", _path),
    Rule("Err", "stderr", _path),
    Rule("Queue", "queue", _text),
    Rule("BatchProject", "project", _text),
    Rule("BatchRuntime", "walltime", _amount),
    Rule("RequestMemory", "memory", _amount),
    Rule("NodeNumber", "processes", _count),
    Rule("HostNumber", "nodes", _count),
)
"""What becomes what. Of two that give the same, the first that the ad has goes before the other."""

_OPTIONS: Final = "BatchExtraSubmitArgs"
MUST_BE_KEPT: Final = (
    _OPTIONS,
    "GPUNumber",
    "GPUMode",
    "GPUModel",
    "MICNumber",
    "WholeNodes",
)
"""Attributes that no bundled profile can keep, and that a job cannot do without: a profile without a
field of that name (in upper case) refuses the job rather than running it elsewhere than it asked."""

_LAYOUT: Final = ("SMPGranularity", "HostSMPSize")
_ELSEWHERE: Final = (
    "CERequirements", "GridType", "Iwd", "StageCmd", "TransferInput", "TransferOutput",
    "TransferOutputRemaps", "x509UserProxy",
)  # fmt: skip
_ABOUT: Final = (
    "CeID", "ClientJobId", "edg_jobid", "GridResource", "JobDirectory", "uniquejobid",
    "VirtualOrganisation", "x509UserProxyFQAN", "x509UserProxySubject",
)  # fmt: skip
"""What only tells about a job: passed if the profile has a field for it, else left out in silence."""

_KNOWN: Final = frozenset(
    name.lower() for name in (*(rule.name for rule in TABLE), *MUST_BE_KEPT, *_LAYOUT, *_ELSEWHERE)
)
_SILENT: Final = frozenset(name.lower() for name in _ABOUT)
_KEYS: Final = ("JobDirectory", "ClientJobId", "uniquejobid", "edg_jobid")


def submission_of(
    ad: SubmitAd,
    settable: Collection[str],
    *,
    options: Mapping[str, str] = MappingProxyType({}),
    proxy_required: bool = False,
) -> Submission:
    """Translate a submit ad, for a profile whose settable fields of START have these names.

    `options` are those that BatchExtraSubmitArgs may have, with their fields: see `options.py`.
    `AttributeRefusedError` names the attribute that is missing or cannot be honoured.
    """
    work = _Work(ad, settable, options, _directory(ad), ad.flag("StageCmd") is not False)
    gridtype = ad.gridtype
    for rule in TABLE:
        if rule.gives not in work.given:
            value = rule.read(work, rule.name)
            if value is not None:
                work.given[rule.gives] = value
                work.sources[FIELD_OF[rule.gives]] = rule.name
    _lay_out(work)
    _keep_others(work)
    _require(work)
    return Submission(
        gridtype=gridtype,
        description=JobDescription(**work.given, fields=work.fields),
        iwd=work.iwd,
        stage_cmd=work.stage_cmd,
        inputs=_inputs(work),
        outputs=_outputs(work),
        takes_new_files=_takes_new_files(work),
        proxy=_proxy(work, required=proxy_required),
        key=_key(ad),
        warnings=tuple(ad.warnings),
        sources=work.sources,
    )


def blamed(submission: Submission, error: IncarnationError) -> IncarnationError:
    """Say in an error about a field which attribute the field's value comes from."""
    start = f"attribute {submission.sources.get(error.field)}: "
    if error.field in submission.sources and not error.message.startswith(start):
        error.message = start + error.message
    return error


def in_directory(submission: Submission, directory: str) -> JobDescription:
    """Give a submission's job, to be run in that working directory."""
    return replace(submission.description, directory=directory)


def _directory(ad: SubmitAd) -> str | None:
    iwd = ad.text("Iwd") or None
    if iwd is not None and not iwd.startswith("/"):
        raise ad.refused("Iwd", f"{shown(iwd)} is no absolute path")
    return iwd


def _from(work: _Work, name: str, path: str) -> str:
    """Give the path of an attribute as one that begins at Iwd."""
    found = posixpath.join(work.iwd, path) if work.iwd else path
    if len(found.encode()) >= _LONGEST_PATH:
        raise work.ad.refused(name, f"a path of {len(found)} characters is too long")
    return found


# Nodes and processes


def _lay_out(work: _Work) -> None:
    """Say how many machines, and how many processes, from the attributes about both.

    SMPGranularity is how many processes share a machine, HostSMPSize how many a whole one takes.
    """
    shared, size = (work.ad.count(name) for name in _LAYOUT)
    processes, nodes = work.given.get("processes"), work.given.get("nodes")
    each = shared
    if work.ad.flag("WholeNodes"):
        each = shared or size
        nodes = nodes or (-(-processes // each) if processes and each else 1)
    elif each and not nodes:
        nodes = -(-processes // each) if processes else 1
    if each and nodes and not processes:
        processes = nodes * each
    found = {"nodes": nodes, "processes": processes}
    work.given.update({name: number for name, number in found.items() if number})


# Attributes that are fields


def _keep_others(work: _Work) -> None:
    """Pass what the table does not know to the fields of its name."""
    for name in MUST_BE_KEPT:
        value = work.ad.text(name)
        if value and value.lower() not in {"0", "false", "no"}:
            if name == _OPTIONS and name.upper() not in work.settable:
                _set_options(work, value)
                continue
            if name.upper() not in work.settable:
                hint = f"the profile needs a settable field {name.upper()}"
                raise work.ad.refused(name, "this batch system's profile cannot pass it on", hint)
            _set(work, name, name.upper(), value)
    for name in work.ad.names():
        if name.lower() not in _KNOWN:
            _keep(work, name)


def _set_options(work: _Work, text: str) -> None:
    """Set the fields that stand for options of the batch system's command."""
    try:
        found = fields_of_options(text, work.options)
    except ValueError as error:
        known = ", ".join(work.options)
        hint = f"this site takes {known}" if known else "this site takes none"
        raise work.ad.refused(_OPTIONS, str(error), hint) from None
    for option, (name, value) in found.items():
        if name not in work.settable:
            why = f"the option {option} is not taken by this batch system"
            raise work.ad.refused(_OPTIONS, why, f"its profile has no field {name}")
        _set(work, f"{_OPTIONS}, option {option}", name, value)


def _keep(work: _Work, name: str) -> None:
    field_name = name.upper()
    if field_name not in work.settable:
        if name.lower() not in _SILENT:
            work.warn(f"attribute {name} is left out: the profile has no settable {field_name}")
        return
    value = work.ad.text(name)
    if value:
        _set(work, name, field_name, value)


def _set(work: _Work, attribute: str, name: str, value: str) -> None:
    """Set a field, unless an attribute of the table gives it already."""
    if name in work.fields or any(FIELD_OF.get(given) == name for given in work.given):
        what = f"attribute {attribute}" if attribute.upper() == name else f"{attribute}: {name}"
        work.warn(f"{what} is left out: another attribute gives {name}")
    else:
        work.fields[name] = value
        work.sources[name] = attribute


def _require(work: _Work) -> None:
    """Set the fields that CERequirements demands."""
    if "CERequirements" not in work.ad.ad:
        return
    node = work.ad.ad["CERequirements"]
    if isinstance(node, Literal) and isinstance(node.value, str):
        try:
            node = parse_expression(node.value) if node.value.strip() else Literal(value=True)
        except ClassAdError as error:
            raise work.ad.refused("CERequirements", error.message) from None
    demands, warnings = fields_of(node, work.ad.evaluator)
    work.ad.warnings.extend(warnings)
    for name, value in demands.items():
        if name not in work.settable:
            work.warn(f"CERequirements: the profile has no settable {name}; it is left out")
        elif value:
            _set(work, "CERequirements", name, value)


# Files, proxy, key


def _inputs(work: _Work) -> tuple[str, ...]:
    names = work.ad.files("TransferInput")
    for name in names:
        if _last_name(work, "TransferInput", name).startswith(OWN_FILE_PREFIX):
            raise work.ad.refused("TransferInput", f"{shown(name)} has a name of osprofile's own")
    return tuple(_from(work, "TransferInput", name) for name in names)


def _outputs(work: _Work) -> tuple[tuple[str, str], ...]:
    remaps: Mapping[str, str] = work.ad.parsed("TransferOutputRemaps", splitting.remaps) or {}
    found = []
    for name in remaps if _takes_new_files(work) else work.ad.files("TransferOutput"):
        last = _last_name(work, "TransferOutput", name)
        target = remaps.get(name) or remaps.get(last) or last
        _last_name(work, "TransferOutputRemaps", target)
        found.append((name, _from(work, "TransferOutput", target)))
    return tuple(found)


def _takes_new_files(work: _Work) -> bool:
    """Say whether no outputs are named; the empty text names that there are none."""
    return work.iwd is not None and work.ad.value("TransferOutput") is None


def _last_name(work: _Work, attribute: str, path: str) -> str:
    """Give the last name of a path; refuse what is no path of a file or directory."""
    if _URL.match(path):
        raise work.ad.refused(attribute, f"{shown(path, 40)} is a URL: only files can be staged")
    last = posixpath.basename(path.rstrip("/"))
    if last in {"", ".", ".."}:
        raise work.ad.refused(attribute, f"{shown(path, 40)} names no file")
    return last


def _proxy(work: _Work, *, required: bool) -> Proxy | None:
    path = work.ad.text("x509UserProxy")
    if not path:
        if required:
            message = "attribute x509UserProxy is missing: this site runs no job without a proxy"
            raise AttributeRefusedError(message, attribute="x509UserProxy")
        return None
    subject, fqan = (work.ad.text(f"x509UserProxy{what}") or "" for what in ("Subject", "FQAN"))
    return Proxy(_from(work, "x509UserProxy", path), subject, fqan)


def _key(ad: SubmitAd) -> str | None:
    """Give what tells a job from others of its client: what HTCondor and CREAM call it."""
    found = [(name, ad.text(name)) for name in _KEYS]
    return "; ".join(f"{name}={value}" for name, value in found if value) or None
