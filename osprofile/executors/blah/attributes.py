"""From a submit ad to a job: which attribute becomes which field.

`ATTRIBUTE_RULES` is the one place that says so (seed 2.5, BLAH_JOB_SUBMIT; page, "Submit attributes"). Any
other attribute whose name in upper case is a settable field of the profile is passed to it: a site
adds an attribute by adding a field.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

from osprofile.errors import AttributeRefusedError, ClassAdError, quote_value
from osprofile.executors.blah import attribute_syntax
from osprofile.executors.blah.classad import Literal, parse_expression
from osprofile.executors.blah.requirements import translate_requirements
from osprofile.executors.blah.submit_options import parse_submit_options
from osprofile.jobs.description import FIELD_BY_ATTRIBUTE, OWN_FILE_PREFIX, JobDescription

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from osprofile.errors import IncarnationError
    from osprofile.executors.blah.submit_ad import SubmitAd

_URL_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_MAX_PATH_LENGTH: Final = 4096
_VARIABLE_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


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
    at the job's working directory. `stages_executable`: the executable is to be brought to the job.
    `inputs` are files to be brought to the job's working directory under their last names;
    `outputs` are pairs: a file there, and where it is to go. `returns_new_files`: what files are new or
    changed there go to Iwd, but to their places in `outputs` if they are named there. `key` names the job to its client:
    the same again is the same job. `warnings` are for the log. `attribute_by_field` gives, by the names of fields,
    the attributes that their values come from.
    """

    grid_type: str
    description: JobDescription
    iwd: str | None = None
    stages_executable: bool = True
    inputs: tuple[str, ...] = ()
    outputs: tuple[tuple[str, str], ...] = ()
    returns_new_files: bool = False
    proxy: Proxy | None = None
    key: str | None = None
    warnings: tuple[str, ...] = ()
    attribute_by_field: Mapping[str, str] = field(default_factory=dict, compare=False)


@final
@dataclass(slots=True)
class _Translation:
    """What is known while an ad is translated."""

    ad: SubmitAd
    settable_fields: Collection[str]
    accepted_options: Mapping[str, str]
    iwd: str | None = None
    stages_executable: bool = True
    job_values: dict[str, Any] = field(default_factory=dict)
    fields: dict[str, str] = field(default_factory=dict)
    attribute_by_field: dict[str, str] = field(default_factory=dict)

    def add_warning(self, text: str) -> None:
        self.ad.warnings.append(text)


class AttributeRule(NamedTuple):
    """An attribute of the ad, the attribute of `JobDescription` that it gives, and how."""

    attribute: str
    job_attribute: str
    read_value: Callable[[_Translation, str], object]


def _read_text(translation: _Translation, name: str) -> object:
    return translation.ad.get_text(name) or None


def _read_count(translation: _Translation, name: str) -> object:
    return translation.ad.get_count(name)


def _read_amount(translation: _Translation, name: str) -> object:
    return translation.ad.get_amount(name)


def _read_path(translation: _Translation, name: str) -> object:
    path = translation.ad.get_text(name)
    return _resolve_path(translation, name, path) if path else None


def _read_executable(translation: _Translation, name: str) -> object:
    """Give the executable; a mere name is looked for through PATH if it is not to be staged."""
    path = translation.ad.get_text(name)
    if not path:
        message = f"attribute {name} is missing: there is nothing to run"
        raise AttributeRefusedError(message, attribute=name)
    path = (
        _resolve_path(translation, name, path)
        if translation.stages_executable or "/" in path
        else path
    )
    if path.startswith("-"):  # a shell would take it for an option
        raise translation.ad.make_refusal(
            name, f"{quote_value(path)} begins with a -", f"as a file's name: ./{path}"
        )
    return path


def _read_v2_arguments(translation: _Translation, name: str) -> object:
    found = translation.ad.parse_value(name, attribute_syntax.split_v2_arguments)
    return None if found is None else tuple(found)


def _read_v1_arguments(translation: _Translation, name: str) -> object:
    found = translation.ad.parse_value(name, attribute_syntax.split_v1_arguments)
    return None if found is None else tuple(found)


def _read_v2_environment(translation: _Translation, name: str) -> object:
    return _read_environment(translation, name, attribute_syntax.parse_v2_environment)


def _read_v1_environment(translation: _Translation, name: str) -> object:
    return _read_environment(translation, name, attribute_syntax.parse_v1_environment)


def _read_environment(
    translation: _Translation, name: str, parse: Callable[[str], dict[str, str]]
) -> dict[str, str] | None:
    """Give the variables that a shell can export: `getenv = true` sends functions of bash too."""
    found = translation.ad.parse_value(name, parse)
    if found is None:
        return None
    for variable in [v for v in found if not _VARIABLE_NAME.match(v)]:
        translation.add_warning(
            f"{name}: no shell can export a variable {quote_value(variable, 40)}; it is left out"
        )
        del found[variable]
    return found


ATTRIBUTE_RULES: Final = (
    AttributeRule("Cmd", "executable", _read_executable),
    AttributeRule("Arguments", "arguments", _read_v2_arguments),
    AttributeRule("Args", "arguments", _read_v1_arguments),
    AttributeRule("Environment", "environment", _read_v2_environment),
    AttributeRule("Env", "environment", _read_v1_environment),
    AttributeRule("In", "stdin", _read_path),
    AttributeRule("Out", "stdout", _read_path),
    AttributeRule("Err", "stderr", _read_path),
    AttributeRule("Queue", "queue", _read_text),
    AttributeRule("BatchProject", "project", _read_text),
    AttributeRule("BatchRuntime", "walltime", _read_amount),
    AttributeRule("RequestMemory", "memory", _read_amount),
    AttributeRule("NodeNumber", "processes", _read_count),
    AttributeRule("HostNumber", "nodes", _read_count),
)
"""What becomes what. Of two that give the same, the first that the ad has goes before the other."""

_OPTIONS_ATTRIBUTE: Final = "BatchExtraSubmitArgs"
NON_IGNORABLE_ATTRIBUTES: Final = (
    _OPTIONS_ATTRIBUTE,
    "GPUNumber",
    "GPUMode",
    "GPUModel",
    "MICNumber",
    "WholeNodes",
)
"""Attributes that no bundled profile can keep, and that a job cannot do without: a profile without a
field of that name (in upper case) refuses the job rather than running it elsewhere than it asked."""

_LAYOUT_ATTRIBUTES: Final = ("SMPGranularity", "HostSMPSize")
_SPECIAL_ATTRIBUTES: Final = (
    "CERequirements", "GridType", "Iwd", "StageCmd", "TransferInput", "TransferOutput",
    "TransferOutputRemaps", "x509UserProxy",
)  # fmt: skip
_INFORMATIVE_ATTRIBUTES: Final = (
    "CeID", "ClientJobId", "edg_jobid", "GridResource", "JobDirectory", "uniquejobid",
    "VirtualOrganisation", "x509UserProxyFQAN", "x509UserProxySubject",
)  # fmt: skip
"""What only tells about a job: passed if the profile has a field for it, else left out in silence."""

_HANDLED_ATTRIBUTES: Final = frozenset(
    name.lower()
    for name in (
        *(rule.attribute for rule in ATTRIBUTE_RULES),
        *NON_IGNORABLE_ATTRIBUTES,
        *_LAYOUT_ATTRIBUTES,
        *_SPECIAL_ATTRIBUTES,
    )
)
_SILENTLY_IGNORED: Final = frozenset(name.lower() for name in _INFORMATIVE_ATTRIBUTES)
_KEY_ATTRIBUTES: Final = ("JobDirectory", "ClientJobId", "uniquejobid", "edg_jobid")


def submission_from_ad(
    ad: SubmitAd,
    settable_fields: Collection[str],
    *,
    accepted_options: Mapping[str, str] = MappingProxyType({}),
    proxy_required: bool = False,
) -> Submission:
    """Translate a submit ad, for a profile whose settable fields of START have these names.

    `accepted_options` are those that BatchExtraSubmitArgs may have, with their fields: see `accepted_options.py`.
    `AttributeRefusedError` names the attribute that is missing or cannot be honoured.
    """
    work = _Translation(
        ad, settable_fields, accepted_options, _read_iwd(ad), ad.get_flag("StageCmd") is not False
    )
    gridtype = ad.grid_type
    for rule in ATTRIBUTE_RULES:
        if rule.job_attribute not in work.job_values:
            value = rule.read_value(work, rule.attribute)
            if value is not None:
                work.job_values[rule.job_attribute] = value
                work.attribute_by_field[FIELD_BY_ATTRIBUTE[rule.job_attribute]] = rule.attribute
    _set_node_layout(work)
    _set_other_fields(work)
    _apply_requirements(work)
    return Submission(
        grid_type=gridtype,
        description=JobDescription(**work.job_values, fields=work.fields),
        iwd=work.iwd,
        stages_executable=work.stages_executable,
        inputs=_list_input_files(work),
        outputs=_list_output_files(work),
        returns_new_files=_returns_new_files(work),
        proxy=_read_proxy(work, required=proxy_required),
        key=_build_job_key(ad),
        warnings=tuple(ad.warnings),
        attribute_by_field=work.attribute_by_field,
    )


def name_source_attribute(submission: Submission, error: IncarnationError) -> IncarnationError:
    """Say in an error about a field which attribute the field's value comes from."""
    start = f"attribute {submission.attribute_by_field.get(error.field)}: "
    if error.field in submission.attribute_by_field and not error.message.startswith(start):
        error.message = start + error.message
    return error


def in_directory(submission: Submission, directory: str) -> JobDescription:
    """Give a submission's job, to be run in that working directory."""
    return replace(submission.description, directory=directory)


def _read_iwd(ad: SubmitAd) -> str | None:
    iwd = ad.get_text("Iwd") or None
    if iwd is not None and not iwd.startswith("/"):
        raise ad.make_refusal("Iwd", f"{quote_value(iwd)} is no absolute path")
    return iwd


def _resolve_path(translation: _Translation, name: str, path: str) -> str:
    """Give the path of an attribute as one that begins at Iwd."""
    found = posixpath.join(translation.iwd, path) if translation.iwd else path
    if len(found.encode()) >= _MAX_PATH_LENGTH:
        raise translation.ad.make_refusal(name, f"a path of {len(found)} characters is too long")
    return found


# Nodes and processes


def _set_node_layout(translation: _Translation) -> None:
    """Say how many machines, and how many processes, from the attributes about both.

    SMPGranularity is how many processes share a machine, HostSMPSize how many a whole one takes.
    """
    shared, size = (translation.ad.get_count(name) for name in _LAYOUT_ATTRIBUTES)
    processes, nodes = translation.job_values.get("processes"), translation.job_values.get("nodes")
    each = shared
    if translation.ad.get_flag("WholeNodes"):
        each = shared or size
        nodes = nodes or (-(-processes // each) if processes and each else 1)
    elif each and not nodes:
        nodes = -(-processes // each) if processes else 1
    if each and nodes and not processes:
        processes = nodes * each
    found = {"nodes": nodes, "processes": processes}
    translation.job_values.update({name: number for name, number in found.items() if number})


# Attributes that are fields


def _set_other_fields(translation: _Translation) -> None:
    """Pass what the table does not know to the fields of its name."""
    for name in NON_IGNORABLE_ATTRIBUTES:
        value = translation.ad.get_text(name)
        if value and value.lower() not in {"0", "false", "no"}:
            if name == _OPTIONS_ATTRIBUTE and name.upper() not in translation.settable_fields:
                _set_option_fields(translation, value)
                continue
            if name.upper() not in translation.settable_fields:
                hint = f"the profile needs a settable field {name.upper()}"
                raise translation.ad.make_refusal(
                    name, "this batch system's profile cannot pass it on", hint
                )
            _set_field(translation, name, name.upper(), value)
    for name in translation.ad.list_names():
        if name.lower() not in _HANDLED_ATTRIBUTES:
            _copy_to_field(translation, name)


def _set_option_fields(translation: _Translation, text: str) -> None:
    """Set the fields that stand for options of the batch system's command."""
    try:
        found = parse_submit_options(text, translation.accepted_options)
    except ValueError as error:
        known = ", ".join(translation.accepted_options)
        hint = f"this site takes {known}" if known else "this site takes none"
        raise translation.ad.make_refusal(_OPTIONS_ATTRIBUTE, str(error), hint) from None
    for option, (name, value) in found.items():
        if name not in translation.settable_fields:
            why = f"the option {option} is not taken by this batch system"
            raise translation.ad.make_refusal(
                _OPTIONS_ATTRIBUTE, why, f"its profile has no field {name}"
            )
        _set_field(translation, f"{_OPTIONS_ATTRIBUTE}, option {option}", name, value)


def _copy_to_field(translation: _Translation, name: str) -> None:
    field_name = name.upper()
    if field_name not in translation.settable_fields:
        if name.lower() not in _SILENTLY_IGNORED:
            translation.add_warning(
                f"attribute {name} is left out: the profile has no settable {field_name}"
            )
        return
    value = translation.ad.get_text(name)
    if value:
        _set_field(translation, name, field_name, value)


def _set_field(translation: _Translation, attribute: str, name: str, value: str) -> None:
    """Set a field, unless an attribute of the table gives it already."""
    if name in translation.fields or any(
        FIELD_BY_ATTRIBUTE.get(given) == name for given in translation.job_values
    ):
        what = f"attribute {attribute}" if attribute.upper() == name else f"{attribute}: {name}"
        translation.add_warning(f"{what} is left out: another attribute gives {name}")
    else:
        translation.fields[name] = value
        translation.attribute_by_field[name] = attribute


def _apply_requirements(translation: _Translation) -> None:
    """Set the fields that CERequirements demands."""
    if "CERequirements" not in translation.ad.ad:
        return
    node = translation.ad.ad["CERequirements"]
    if isinstance(node, Literal) and isinstance(node.value, str):
        try:
            node = parse_expression(node.value) if node.value.strip() else Literal(value=True)
        except ClassAdError as error:
            raise translation.ad.make_refusal("CERequirements", error.message) from None
    demands, warnings = translate_requirements(node, translation.ad.evaluator)
    translation.ad.warnings.extend(warnings)
    for name, value in demands.items():
        if name not in translation.settable_fields:
            translation.add_warning(
                f"CERequirements: the profile has no settable {name}; it is left out"
            )
        elif value:
            _set_field(translation, "CERequirements", name, value)


# Files, proxy, key


def _list_input_files(translation: _Translation) -> tuple[str, ...]:
    names = translation.ad.get_file_names("TransferInput")
    for name in names:
        if _extract_base_name(translation, "TransferInput", name).startswith(OWN_FILE_PREFIX):
            raise translation.ad.make_refusal(
                "TransferInput", f"{quote_value(name)} has a name of osprofile's own"
            )
    return tuple(_resolve_path(translation, "TransferInput", name) for name in names)


def _list_output_files(translation: _Translation) -> tuple[tuple[str, str], ...]:
    remaps: Mapping[str, str] = (
        translation.ad.parse_value("TransferOutputRemaps", attribute_syntax.parse_output_remaps)
        or {}
    )
    found = []
    for name in (
        remaps
        if _returns_new_files(translation)
        else translation.ad.get_file_names("TransferOutput")
    ):
        last = _extract_base_name(translation, "TransferOutput", name)
        target = remaps.get(name) or remaps.get(last) or last
        _extract_base_name(translation, "TransferOutputRemaps", target)
        found.append((name, _resolve_path(translation, "TransferOutput", target)))
    return tuple(found)


def _returns_new_files(translation: _Translation) -> bool:
    """Say whether no outputs are named; the empty text names that there are none."""
    return translation.iwd is not None and translation.ad.get_value("TransferOutput") is None


def _extract_base_name(translation: _Translation, attribute: str, path: str) -> str:
    """Give the last name of a path; refuse what is no path of a file or directory."""
    if _URL_SCHEME.match(path):
        raise translation.ad.make_refusal(
            attribute, f"{quote_value(path, 40)} is a URL: only files can be staged"
        )
    last = posixpath.basename(path.rstrip("/"))
    if last in {"", ".", ".."}:
        raise translation.ad.make_refusal(attribute, f"{quote_value(path, 40)} names no file")
    return last


def _read_proxy(translation: _Translation, *, required: bool) -> Proxy | None:
    path = translation.ad.get_text("x509UserProxy")
    if not path:
        if required:
            message = "attribute x509UserProxy is missing: this site runs no job without a proxy"
            raise AttributeRefusedError(message, attribute="x509UserProxy")
        return None
    subject, fqan = (
        translation.ad.get_text(f"x509UserProxy{what}") or "" for what in ("Subject", "FQAN")
    )
    return Proxy(_resolve_path(translation, "x509UserProxy", path), subject, fqan)


def _build_job_key(ad: SubmitAd) -> str | None:
    """Give what tells a job from others of its client: what HTCondor and CREAM call it."""
    found = [(name, ad.get_text(name)) for name in _KEY_ATTRIBUTES]
    return "; ".join(f"{name}={value}" for name, value in found if value) or None
