"""The translation of a submit ad to a job: which attribute becomes which field.

`ATTRIBUTE_RULES` has the attributes of docs/protocols/blah.md, 4.2. Any other attribute whose name in
upper case is a settable field of the profile sets that field: a site adds an attribute by adding a
field.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

from osprofile.caller_environment import split_variables
from osprofile.executors.blah import attribute_syntax
from osprofile.executors.blah.attribute_syntax import parse_submit_options, translate_requirements
from osprofile.executors.blah.classad import Literal, parse_expression
from osprofile.executors.blah.submit_ad import SubmitAd
from osprofile.executors.errors import AttributeRefusedError, ClassAdError
from osprofile.executors.failures import make_refusal
from osprofile.jobs.fields import FIELD_BY_ATTRIBUTE, JobDescription
from osprofile.jobs.request import OWN_FILES
from osprofile.text import quote_value

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from osprofile.errors import IncarnationError

_HTCONDOR_ID: Final = re.compile(
    r"home_bl_(?:.*_)?(?P<host>[A-Za-z0-9-]+)[^_]*_(?P<id>[0-9]+\.[0-9]+)_[0-9]+"
)
"""JobDirectory, with the names of the pool and the schedd, the job's cluster and process, and a time."""
_URL_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


@final
@dataclass(frozen=True, slots=True)
class Proxy:
    """The user's proxy certificate: its file, and the subject and attributes from the ad."""

    path: str
    subject: str = ""
    fqan: str = ""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """The job that a submit ad describes.

    Paths are absolute if the ad has an Iwd; relative ones begin at the job's working directory.

    stages_executable: whether the executable is copied to the job
    inputs: files that are copied to the job's working directory under their base names
    outputs: pairs of a file in that directory and its destination
    returns_new_files: whether new and changed files go to Iwd, or to their destinations in `outputs`
    name: of the job, by its id in HTCondor and its owner; empty if the ad does not say them
    key: the client's name for the job; the same key means the same job
    warnings: for the log
    attribute_by_field: the attribute of the ad that a field's value comes from
    """

    grid_type: str
    description: JobDescription
    iwd: str | None = None
    stages_executable: bool = True
    inputs: tuple[str, ...] = ()
    outputs: tuple[tuple[str, str], ...] = ()
    returns_new_files: bool = False
    proxy: Proxy | None = None
    name: str = ""
    key: str | None = None
    warnings: tuple[str, ...] = ()
    attribute_by_field: Mapping[str, str] = field(default_factory=dict, compare=False)


@final
@dataclass(slots=True)
class _Translation:
    """The values of one ad that are translated so far.

    `job_values` are for attributes of `JobDescription`, `fields` for all other fields of the profile.
    """

    submit_ad: SubmitAd
    settable_fields: Collection[str]
    accepted_options: Mapping[str, str]
    job_values: dict[str, Any] = field(default_factory=dict)
    fields: dict[str, str] = field(default_factory=dict)
    attribute_by_field: dict[str, str] = field(default_factory=dict)
    owner: str = ""

    def add_warning(self, text: str) -> None:
        self.submit_ad.warnings.append(text)


class AttributeRule(NamedTuple):
    """An attribute of the ad, the attribute of `JobDescription` that it sets, and how it is read."""

    attribute: str
    job_attribute: str
    read_value: Callable[[SubmitAd, str], object]


def _read_executable(ad: SubmitAd, name: str) -> str:
    """Return the executable; without StageCmd a name without slashes is looked up in PATH."""
    path = ad.get_text(name)
    if not path:
        message = f"attribute {name} is missing: there is nothing to run"
        raise AttributeRefusedError(message, attribute=name)
    if ad.stages_executable or "/" in path:
        path = ad.resolve_path(name, path)
    if path.startswith("-"):  # a shell would take it for an option
        reason = f"{quote_value(path)} begins with a -"
        raise make_refusal(name, reason, f"as a file's name: ./{path}")
    return path


def _make_arguments_reader(split: Callable[[str], list[str]]) -> Callable[[SubmitAd, str], object]:
    def read_arguments(ad: SubmitAd, name: str) -> tuple[str, ...] | None:
        words = ad.parse_value(name, split)
        return None if words is None else tuple(words)

    return read_arguments


def _make_environment_reader(parse: Callable[[str], dict[str, str]]) -> Callable[[SubmitAd, str], object]:
    def read_environment(ad: SubmitAd, name: str) -> dict[str, str] | None:
        variables = ad.parse_value(name, parse)
        if variables is None:
            return None
        exported, warnings = split_variables(variables, name)
        ad.warnings += warnings
        return exported

    return read_environment


ATTRIBUTE_RULES: Final = (
    AttributeRule("Cmd", "executable", _read_executable),
    AttributeRule("Arguments", "arguments", _make_arguments_reader(attribute_syntax.split_v2_arguments)),
    AttributeRule("Args", "arguments", _make_arguments_reader(attribute_syntax.split_v1_arguments)),
    AttributeRule(
        "Environment", "environment", _make_environment_reader(attribute_syntax.parse_v2_environment)
    ),
    AttributeRule("Env", "environment", _make_environment_reader(attribute_syntax.parse_v1_environment)),
    AttributeRule("In", "stdin", SubmitAd.get_path),
    AttributeRule("Out", "stdout", SubmitAd.get_path),
    AttributeRule("Err", "stderr", SubmitAd.get_path),
    AttributeRule("Queue", "queue", SubmitAd.get_text),
    AttributeRule("BatchProject", "project", SubmitAd.get_text),
    AttributeRule("BatchRuntime", "walltime", SubmitAd.get_rounded_amount),
    AttributeRule("RequestMemory", "memory", SubmitAd.get_rounded_amount),
    AttributeRule("NodeNumber", "processes", SubmitAd.get_count),
    AttributeRule("HostNumber", "nodes", SubmitAd.get_count),
)
"""If two attributes set the same job attribute, the first one that the ad has counts."""

OPTIONS_ATTRIBUTE: Final = "BatchExtraSubmitArgs"
NON_IGNORABLE_ATTRIBUTES: Final = (
    OPTIONS_ATTRIBUTE, "GPUNumber", "GPUMode", "GPUModel", "MICNumber", "WholeNodes",
)  # fmt: skip
"""A job with one of these is refused if the profile has no field for it: without it the job would run
on unsuitable nodes. Its field has its name in upper case, or is that of RESOURCE_RULES."""

RESOURCE_RULES: Final = {
    "GPUNumber": AttributeRule("GPUNumber", "gpus", SubmitAd.get_count),
    "GPUModel": AttributeRule("GPUModel", "gpu_type", SubmitAd.get_text),
    "WholeNodes": AttributeRule("WholeNodes", "exclusive", SubmitAd.get_flag),
}

_LAYOUT_ATTRIBUTES: Final = ("SMPGranularity", "HostSMPSize")
_SPECIAL_ATTRIBUTES: Final = (
    "CERequirements", "GridType", "Iwd", "StageCmd", "TransferInput", "TransferOutput",
    "TransferOutputRemaps", "x509UserProxy",
)  # fmt: skip
_INFORMATIVE_ATTRIBUTES: Final = (
    "CeID", "ClientJobId", "CondorCE", "edg_jobid", "GridResource", "JobDirectory", "JobUniverse",
    "Owner", "uniquejobid", "VirtualOrganisation", "x509UserProxyFQAN", "x509UserProxySubject",
)  # fmt: skip
"""These only describe the job, in the ad or in CERequirements: if the profile has no field for one, it is
left out without a warning."""

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
) -> Submission:
    """Return the submission that an ad describes.

    `settable_fields` are those of the profile's START; `accepted_options` maps the options that
    BatchExtraSubmitArgs may have to their fields (`submit_options`). Raises `AttributeRefusedError`
    for a wrong or missing attribute.
    """
    translation = _Translation(ad, settable_fields, accepted_options)
    for rule in ATTRIBUTE_RULES:
        if rule.job_attribute not in translation.job_values:
            value = rule.read_value(ad, rule.attribute)
            if value is not None and value != "":
                translation.job_values[rule.job_attribute] = value
                field_name = FIELD_BY_ATTRIBUTE[rule.job_attribute]
                translation.attribute_by_field[field_name] = rule.attribute
    _set_node_layout(translation)
    _set_other_fields(translation)
    _apply_requirements(translation)
    return Submission(
        grid_type=ad.grid_type,
        description=JobDescription(**translation.job_values, fields=translation.fields),
        iwd=ad.iwd,
        stages_executable=ad.stages_executable,
        inputs=_list_input_files(ad),
        outputs=_list_output_files(ad),
        returns_new_files=_returns_new_files(ad),
        proxy=_read_proxy(ad),
        name=_build_job_name(translation),
        key=_build_job_key(ad),
        warnings=tuple(ad.warnings),
        attribute_by_field=translation.attribute_by_field,
    )


def name_source_attribute(submission: Submission, error: IncarnationError) -> IncarnationError:
    """Begin an error's message with the attribute that the field's value comes from, if that is known."""
    prefix = f"attribute {submission.attribute_by_field.get(error.field)}: "
    if error.field in submission.attribute_by_field and not error.message.startswith(prefix):
        error.message = prefix + error.message
    return error


# Nodes and processes


def _set_node_layout(translation: _Translation) -> None:
    """Set the numbers of nodes and processes that follow from the attributes about both.

    SMPGranularity is the number of processes on each node, HostSMPSize the number that a whole node
    takes; it counts with WholeNodes only.
    """
    per_node, whole_node = (translation.submit_ad.get_count(name) for name in _LAYOUT_ATTRIBUTES)
    processes, nodes = translation.job_values.get("processes"), translation.job_values.get("nodes")
    if translation.submit_ad.get_flag("WholeNodes"):
        per_node = per_node or whole_node
        nodes = nodes or (-(-processes // per_node) if processes and per_node else 1)
    elif per_node and not nodes:
        nodes = -(-processes // per_node) if processes else 1
    if per_node and nodes and not processes:
        processes = nodes * per_node
    counts = {"nodes": nodes, "processes": processes}
    translation.job_values.update({name: number for name, number in counts.items() if number})


# Attributes that are fields


def _set_other_fields(translation: _Translation) -> None:
    """Set fields from the attributes that have no rule of their own."""
    for name in NON_IGNORABLE_ATTRIBUTES:
        value = translation.submit_ad.get_text(name)
        if value and value.lower() not in {"0", "false", "no"}:
            if name == OPTIONS_ATTRIBUTE and name.upper() not in translation.settable_fields:
                _set_option_fields(translation, value)
                continue
            if name.upper() in translation.settable_fields:
                _set_field(translation, name, name.upper(), value)
            else:
                _set_resource(translation, name)
    for name in translation.submit_ad.list_names():
        if name.lower() not in _HANDLED_ATTRIBUTES:
            _copy_to_field(translation, name)


def _set_resource(translation: _Translation, name: str) -> None:
    """Set the field of RESOURCE_RULES for an attribute; refuse it if the profile does not have the field."""
    rule = RESOURCE_RULES.get(name)
    field_name = FIELD_BY_ATTRIBUTE[rule.job_attribute] if rule is not None else name.upper()
    if rule is None or field_name not in translation.settable_fields:
        hint = f"the profile needs a settable field {field_name}"
        raise make_refusal(name, "this batch system's profile cannot pass it on", hint)
    value = rule.read_value(translation.submit_ad, name)
    if field_name in translation.fields:
        text = f"attribute {name} is left out: another attribute gives {field_name}"
        translation.add_warning(text)
    elif value:
        translation.job_values[rule.job_attribute] = value
        translation.attribute_by_field[field_name] = name


def _set_option_fields(translation: _Translation, text: str) -> None:
    """Set the fields that the site has assigned to options of BatchExtraSubmitArgs."""
    try:
        options = parse_submit_options(text, translation.accepted_options)
    except ValueError as error:
        accepted = ", ".join(translation.accepted_options)
        hint = f"this site accepts {accepted}" if accepted else "this site accepts none"
        raise make_refusal(OPTIONS_ATTRIBUTE, str(error), hint) from None
    for option, (name, value) in options.items():
        if name not in translation.settable_fields:
            reason = f"the option {option} is not accepted by this batch system"
            raise make_refusal(OPTIONS_ATTRIBUTE, reason, f"its profile has no field {name}")
        _set_field(translation, f"{OPTIONS_ATTRIBUTE}, option {option}", name, value)


def _copy_to_field(translation: _Translation, name: str) -> None:
    field_name = name.upper()
    if field_name not in translation.settable_fields:
        if name.lower() not in _SILENTLY_IGNORED:
            translation.add_warning(f"attribute {name} is left out: the profile has no settable {field_name}")
        return
    value = translation.submit_ad.get_text(name)
    if value:
        _set_field(translation, name, field_name, value)


def _set_field(translation: _Translation, attribute: str, name: str, value: str) -> None:
    """Set a field, unless another attribute has set it already."""
    if name in translation.fields or any(
        FIELD_BY_ATTRIBUTE.get(job_attribute) == name for job_attribute in translation.job_values
    ):
        description = f"attribute {attribute}" if attribute.upper() == name else f"{attribute}: {name}"
        translation.add_warning(f"{description} is left out: another attribute gives {name}")
    else:
        translation.fields[name] = value
        translation.attribute_by_field[name] = attribute


def _apply_requirements(translation: _Translation) -> None:
    """Set the fields that CERequirements requires."""
    if "CERequirements" not in translation.submit_ad.class_ad:
        return
    node = translation.submit_ad.class_ad["CERequirements"]
    if isinstance(node, Literal) and isinstance(node.value, str):
        try:
            node = parse_expression(node.value) if node.value.strip() else Literal(value=True)
        except ClassAdError as error:
            raise make_refusal("CERequirements", error.message) from None
    values, warnings = translate_requirements(node, translation.submit_ad.evaluator)
    translation.submit_ad.warnings.extend(warnings)
    for name, value in values.items():
        if name == "OWNER":
            translation.owner = value
        if name not in translation.settable_fields:
            if name.lower() not in _SILENTLY_IGNORED:
                text = f"CERequirements: the profile has no settable {name}; it is left out"
                translation.add_warning(text)
        elif value:
            _set_field(translation, "CERequirements", name, value)


# Files, proxy, key


def _list_input_files(ad: SubmitAd) -> tuple[str, ...]:
    name = "TransferInput"
    paths = ad.get_file_names(name)
    for path in paths:
        if _extract_base_name(name, path) in OWN_FILES:
            raise make_refusal(name, f"{quote_value(path)} has a name of osprofile's own")
    return tuple(ad.resolve_path(name, path) for path in paths)


def _list_output_files(ad: SubmitAd) -> tuple[tuple[str, str], ...]:
    remaps = ad.parse_value("TransferOutputRemaps", attribute_syntax.parse_output_remaps) or {}
    outputs = []
    for name in remaps if _returns_new_files(ad) else ad.get_file_names("TransferOutput"):
        base_name = _extract_base_name("TransferOutput", name)
        target = remaps.get(name) or remaps.get(base_name) or base_name
        _extract_base_name("TransferOutputRemaps", target)
        outputs.append((name, ad.resolve_path("TransferOutput", target)))
    return tuple(outputs)


def _returns_new_files(ad: SubmitAd) -> bool:
    """Return whether the ad has no list of outputs; an empty list means that nothing is returned."""
    return ad.iwd is not None and ad.get_value("TransferOutput") is None


def _extract_base_name(attribute: str, path: str) -> str:
    """Return the last component of a path; refuse a URL and a path without a name at its end."""
    if _URL_SCHEME.match(path):
        raise make_refusal(attribute, f"{quote_value(path, 40)} is a URL: only files can be staged")
    base_name = posixpath.basename(path.rstrip("/"))
    if base_name in {"", ".", ".."}:
        raise make_refusal(attribute, f"{quote_value(path, 40)} names no file")
    return base_name


def _read_proxy(ad: SubmitAd) -> Proxy | None:
    path = ad.get_path("x509UserProxy")
    if path is None:
        return None
    subject, fqan = (ad.get_text(f"x509UserProxy{part}") or "" for part in ("Subject", "FQAN"))
    return Proxy(path, subject, fqan)


def _build_job_key(ad: SubmitAd) -> str | None:
    """Return a key made of all names that the client gave the job; None if it gave none."""
    values = [(name, ad.get_text(name)) for name in _KEY_ATTRIBUTES]
    return "; ".join(f"{name}={value}" for name, value in values if value) or None


def _build_job_name(translation: _Translation) -> str:
    """Return a name as `ce_1234.0_alice`; the owner is there if the ad has Owner, also in CERequirements."""
    found = _HTCONDOR_ID.fullmatch(translation.submit_ad.get_text("JobDirectory") or "")
    owner = translation.submit_ad.get_text("Owner") or translation.owner
    return "_".join(filter(None, (found["host"], found["id"], owner))) if found else ""
