"""The JSON schemas of the arguments of tools: short, as an agent reads all of them before it begins.

The tool `members` has the whole description of each member of a job.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from osprofile.executors.facility.job_spec import MEMBER_BY_FIELD
from osprofile.executors.facility.models import JobSpec
from osprofile.executors.facility.problems import InvalidParameter, refuse_members
from osprofile.jobs.fields import FIELD_BY_ATTRIBUTE, FIELDS
from osprofile.text import suggest_names

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from osprofile.jobs.profiles import JobField

CUSTOM: Final = "attributes.custom_attributes"
_NO_LIMIT: Final = 9999
"""A maximum from here on is that of a profile without limits."""
_HIDDEN_FIELDS: Final = frozenset({"ARGUMENTS", "ENVIRONMENT"})
_EXACT_FIELDS: Final = frozenset({"NODES", "PROCESSES", "CPUS", "WALLTIME"})
"""The fields whose limits are those of their members: memory and GPUs are counted otherwise."""
_TYPES: Final[Mapping[str, dict[str, Any]]] = {
    "arguments": {"type": "array", "items": {"type": "string"}},
    "environment": {"type": "object", "additionalProperties": {"type": "string"}},
    "resources.exclusive_node_use": {"type": "boolean", "default": False},
    **{
        f"resources.{name}": {"type": "integer"}
        for name in (
            "node_count",
            "process_count",
            "cpu_cores_per_process",
            "gpu_cores_per_process",
            "memory",
        )
    },
    "attributes.duration": {"type": "integer"},
}
"""The types of the members of a JobSpec that are no texts."""
_WORDS: Final[Mapping[str, str]] = {
    "executable": "A path, or a name on the PATH.",
    "directory": "Where the program runs; default: a new directory.",
    "resources.process_count": "On all nodes.",
    "resources.memory": "Bytes, on all nodes together.",
    "attributes.duration": "The time limit, in seconds.",
    "pre_launch": "Shell commands before the program.",
}
"""What the name of a member does not say."""
_SYNONYMS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("command", "cmd", "program", "script"), "executable"),
    "args": "arguments",
    "env": "environment",
    **dict.fromkeys(("cwd", "workdir", "working_directory", "work_dir"), "directory"),
    "job_name": "name",
    "image": "container.image",
    **dict.fromkeys(("mem", "memory_per_node", "ram"), "resources.memory"),
    **dict.fromkeys(("ntasks", "tasks", "ranks"), "resources.process_count"),
    **dict.fromkeys(("cores", "ncpus", "cpus_per_task", "threads"), "resources.cpu_cores_per_process"),
    **dict.fromkeys(("gpu", "gpu_count"), "resources.gpu_cores_per_process"),
    **dict.fromkeys(("time", "time_limit", "timeout", "wall_time", "runtime"), "attributes.duration"),
    "partition": "attributes.queue_name",
    "setup": "pre_launch",
}
"""The members that others mean by these names."""


def build_object(properties: dict[str, Any], required: Sequence[str]) -> dict[str, Any]:
    """Return the schema of an object without other members."""
    return {
        "type": "object",
        "properties": properties,
        "required": [*required],
        "additionalProperties": False,
    }


def build_job_schema(fields: Mapping[str, JobField]) -> dict[str, Any]:
    """Return the JSON schema of a JobSpec with the members that fields of a profile have, and their limits."""
    root = build_object({}, ["executable"])
    custom = [name for name in fields if name not in MEMBER_BY_FIELD and name not in _HIDDEN_FIELDS]
    for field, row in fields.items():
        if member := MEMBER_BY_FIELD.get(field):
            _put(root, member, _describe_member(member, row))
    if custom:
        rule = {"type": "object", "propertyNames": {"enum": custom}}
        _put(root, CUSTOM, {**rule, "description": "Texts. The tool members describes each."})
    if "PROCESSES" in fields:
        _put(root, "launcher", {"type": "string", "enum": ["single", "multiple", "mpirun"]})
    return root


def _put(root: dict[str, Any], member: str, rule: dict[str, Any]) -> None:
    part, _, name = member.rpartition(".")
    properties = root["properties"]
    if part:
        properties = properties.setdefault(part, {"type": "object", "properties": {}})["properties"]
    properties[name] = rule


def _describe_member(member: str, row: JobField) -> dict[str, Any]:
    is_limited = row.maximum is not None and row.maximum < _NO_LIMIT
    is_site_value = member.startswith(("resources.", "attributes."))
    words = [_WORDS.get(member, "")]
    words += [f"Limits: {row.range_text}{_UNITS.get(row.name, '')}." if is_limited else ""]
    words += [f"Default: {row.default}{_UNITS.get(row.name, '')}." if row.default and is_site_value else ""]
    words += [f"One of: {', '.join(row.tags)}." if row.tags and member not in _TYPES else ""]
    rule = dict(_TYPES.get(member, {"type": "string"}))
    if text := " ".join(filter(None, words)):
        rule["description"] = text
    if row.name in _EXACT_FIELDS:
        limits = {"minimum": max(row.minimum or 1, 1), "maximum": row.maximum if is_limited else None}
        rule |= {name: int(value) for name, value in limits.items() if value is not None}
    return rule


_UNITS: Final = {"MEMORY": " MiB on each node", "GPUS": " on each node"}
"""The units of a profile's limits where those of the member are others."""


def parse_spec(values: Mapping[str, Any], field_names: Collection[str]) -> dict[str, Any]:
    """Return the JobSpec in the arguments of a call. Nodes are shared unless it asks for whole ones.

    Raises `ProblemError` with each member that is refused; of one that is unknown, with the place where it belongs.
    """
    try:
        spec: dict[str, Any] = JobSpec.model_validate(values).model_dump(exclude_unset=True)
    except ValidationError as error:
        places = _list_places(field_names)
        missing = _list_places(MEMBER_BY_FIELD)
        refusals = []
        for item in error.errors(include_url=False, include_context=False, include_input=False):
            path = ".".join(map(str, item["loc"]))
            is_unknown = item["type"] == "extra_forbidden"
            refusals.append(
                InvalidParameter(path, _locate(path, places, missing) if is_unknown else item["msg"])
            )
        raise refuse_members(refusals) from None
    if resources := spec.get("resources"):
        resources.setdefault("exclusive_node_use", False)
    return spec


def _list_places(field_names: Collection[str]) -> dict[str, str]:
    """Return the members by all names that they may be given: the last part, the field, the attribute, and others."""
    place_by_field = {
        field: MEMBER_BY_FIELD.get(field, f"{CUSTOM}.{field}")
        for field in field_names
        if field in MEMBER_BY_FIELD or field not in _HIDDEN_FIELDS
    }
    attributes = {a: place_by_field[f] for a, f in FIELD_BY_ATTRIBUTE.items() if f in place_by_field}
    options = {FIELDS[a].flags[0].lstrip("-"): place for a, place in attributes.items() if FIELDS[a].flags}
    known = {*place_by_field.values()}
    places = {
        **{name: place for name, place in _SYNONYMS.items() if place in known},
        **{name.replace("-", "_"): place for name, place in options.items()},
        **attributes,
        **{field.lower(): place for field, place in place_by_field.items()},
        **{place.rpartition(".")[2].lower(): place for place in known},
    }
    return places | {"launcher": "launcher"}


def _locate(path: str, places: Mapping[str, str], missing: Mapping[str, str]) -> str:
    """Return what is wrong with an unknown member, and where it belongs, if the profile has `missing` ones at all."""
    name = path.rpartition(".")[2].lower().replace("-", "_")
    place = places.get(name, "")
    if place and place != path:
        unit = f" ({_WORDS[place].rstrip('.')})" if place in _WORDS else ""
        return f"there is no such member: it belongs in {place}{unit}"
    if place := missing.get(name, ""):
        return f"this resource has no {place}: leave it out"
    return f"there is no such member: {suggest_names(name, {*places.values()})}"
