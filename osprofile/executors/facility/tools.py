"""What an agent can do with a facility: tools with the limits of each resource in their JSON schemas.

Nothing here knows a protocol: see `mcp_server`. A refusal is a `ProblemError` with the member, the limit and the hint, so that
an agent can correct its request.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

from pydantic import ValidationError

from osprofile.executors.facility.job_spec import MEMBER_BY_FIELD
from osprofile.executors.facility.job_states import STATES, JobFilter
from osprofile.executors.facility.models import JobSpec
from osprofile.executors.facility.problems import InvalidParameter, ProblemError, check_key, refuse_members
from osprofile.jobs.profiles import describe_job_fields, needs_confirmation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from osprofile.executors.facility.facility import Account, Facility
    from osprofile.jobs.profiles import JobField

MAX_LINES: Final = 1000
_HIDDEN_FIELDS: Final = frozenset({"ARGUMENTS", "ENVIRONMENT"})
_EXACT_FIELDS: Final = frozenset({"NODES", "PROCESSES", "CPUS", "WALLTIME"})
"""The fields whose limits are those of their members: memory and GPUs are counted otherwise."""
_TYPES: Final[Mapping[str, dict[str, Any]]] = {
    "arguments": {"type": "array", "items": {"type": "string"}},
    "environment": {"type": "object", "additionalProperties": {"type": "string"}},
    "resources.exclusive_node_use": {"type": "boolean"},
    **{
        f"resources.{name}_{unit}": {"type": "integer", "minimum": 1}
        for name, unit in (("node", "count"), ("process", "count"), ("cpu_cores_per", "process"), ("gpu_cores_per", "process"))
    },
    "resources.memory": {"type": "integer", "minimum": 1},
    "attributes.duration": {"type": "integer", "minimum": 1},
}  # fmt: skip
"""The types of the members of a JobSpec that are no texts."""
_UNITS: Final = {
    "resources.memory": "Bytes, of all nodes together; the limits are in MiB for each node.",
    "attributes.duration": "Seconds.",
}
_WORDS: Final = {
    "submit": "Submit a job, and return it. What the batch system does not allow is refused, with the limit.",
    "dry_run": "Check a job, and return the script that would submit it. Nothing is submitted.",
    "status": "Return a job: its state, exit code, times and the paths of its files.",
    "output": "Return the last lines of a job's standard output, or of its standard error.",
    "explain": "Tell why a job failed: its state, the likely cause, what the batch system says, and the end of its error output.",
    "list": "List jobs, oldest first: those that have not ended, or, with historical, all.",
    "cancel": "Cancel a job.",
}


@final
class Tool(NamedTuple):
    """A tool: its name, what it does, the JSON schema of its arguments, and whether it changes nothing."""

    name: str
    description: str
    schema: dict[str, Any]
    is_read_only: bool


@final
class ToolBox:
    """The tools of a facility. `submit` and `dry_run` are one for each resource, as `submit_cluster`; with one resource, `submit`."""

    def __init__(self, facility: Facility) -> None:
        self._facility = facility
        self._resource_ids = list(facility.profiles)
        self._resource_by_tool = {
            name if len(self._resource_ids) == 1 else f"{name}_{resource_id}": (name, resource_id)
            for name in ("submit", "dry_run")
            for resource_id in self._resource_ids
        }

    @cached_property
    def tools(self) -> Mapping[str, Tool]:
        """All tools by their names."""
        tools = []
        for tool, (name, resource_id) in self._resource_by_tool.items():
            resource = self._facility.settings.resources[resource_id]
            words = (
                f"{_WORDS[name]} Resource: {resource.name or resource_id}. {resource.description}".rstrip()
            )
            schema = build_job_schema(describe_job_fields(self._facility.profiles[resource_id]).fields)
            if name == "submit":
                schema["properties"]["idempotency_key"] = {
                    "type": "string",
                    "format": "uuid",
                    "description": "With the same key, no job is submitted twice: repeat a call that was cut with it.",
                }
            tools.append(Tool(tool, words, schema, name == "dry_run"))
        job: dict[str, Any] = {"job_id": {"type": "string"}}
        stream = {"type": "string", "enum": ["stdout", "stderr"], "default": "stdout"}
        lines = {"type": "integer", "minimum": 1, "maximum": MAX_LINES, "default": 100}
        states = {"type": "array", "items": {"type": "string", "enum": [*STATES]}}
        limit = {"type": "integer", "minimum": 1, "maximum": 1000, "default": 50}
        historical = {"type": "boolean", "default": False}
        others: dict[str, dict[str, Any]] = {
            "status": job,
            "output": {**job, "stream": stream, "lines": lines},
            "explain": job,
            "list": {"states": states, "historical": historical, "limit": limit},
            "cancel": job,
        }
        for name, properties in others.items():
            tools.append(Tool(name, _WORDS[name], self._build_schema(properties), name != "cancel"))
        return {tool.name: tool for tool in tools}

    def _build_schema(self, properties: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
        ids = self._resource_ids
        resource = {"resource": {"type": "string", "enum": ids}} if len(ids) > 1 else {}
        required = [*resource, *(["job_id"] if "job_id" in properties else [])]
        return _build_object({**resource, **properties}, required)

    def find_change(self, name: str, arguments: Mapping[str, Any]) -> str | None:
        """Return the resource whose jobs a call changes, if a person must confirm this there; else None."""
        kind, resource_id = self._resource_by_tool.get(name, (name, self._find_resource_id(arguments)))
        profile = self._facility.profiles.get(resource_id) if kind in {"submit", "cancel"} else None
        return resource_id if profile is not None and needs_confirmation(profile) else None

    def _find_resource_id(self, arguments: Mapping[str, Any]) -> str:
        return str(arguments.get("resource", self._resource_ids[0] if len(self._resource_ids) == 1 else ""))

    async def check(self, account: Account, name: str, arguments: Mapping[str, Any]) -> None:
        """Raise `ProblemError` for a call of `submit` that would be refused."""
        if name in self._resource_by_tool:
            _, resource_id = self._resource_by_tool[name]
            spec = {key: value for key, value in arguments.items() if key != "idempotency_key"}
            await account.get_resource(resource_id).preview_job(_parse_spec(spec))

    async def call(self, account: Account, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a tool returns to a user, as JSON. Raises `ProblemError`."""
        if name in self._resource_by_tool:
            name, resource_id = self._resource_by_tool[name]
            resource, values = account.get_resource(resource_id), dict(arguments)
            if name == "dry_run":
                return {"script": await resource.preview_job(_parse_spec(values))}
            key = check_key(values.pop("idempotency_key", None), "idempotency_key")
            return await resource.launch_job(_parse_spec(values), key)
        if name not in self.tools:
            raise ProblemError("not-found", "there is no such tool")
        _check_arguments(self.tools[name].schema, arguments)
        resource = account.get_resource(self._find_resource_id(arguments))
        if name == "list":
            job_filter = JobFilter.parse({"state": arguments["states"]} if "states" in arguments else {})
            jobs = await resource.list_jobs(
                job_filter,
                offset=0,
                limit=arguments.get("limit", 50),
                historical=arguments.get("historical", False),
                include_spec=False,
            )
            return {"jobs": jobs}
        job_id: str = arguments["job_id"]
        if name == "cancel":
            await resource.cancel_job(job_id)
            return {"id": job_id, "canceled": True}
        if name == "output":
            stream = arguments.get("stream", "stdout")
            return {"text": await resource.read_output(job_id, stream, arguments.get("lines", 100))}
        return await (
            resource.explain_job(job_id)
            if name == "explain"
            else resource.get_job(job_id, historical=True, include_spec=True)
        )


def _parse_spec(values: Mapping[str, Any]) -> dict[str, Any]:
    try:
        spec: dict[str, Any] = JobSpec.model_validate(values).model_dump(exclude_unset=True)
    except ValidationError as error:
        refusals = [
            InvalidParameter(".".join(map(str, item["loc"])), item["msg"])
            for item in error.errors(include_url=False, include_context=False, include_input=False)
        ]
        raise refuse_members(refusals) from None
    return spec


_PYTHON_TYPES: Final = {"string": str, "integer": int, "boolean": bool, "array": list}


def _check_arguments(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
    """Refuse arguments that a schema of one level does not allow."""
    refusals = [
        InvalidParameter(name, "it is missing") for name in schema["required"] if name not in arguments
    ]
    for name, value in arguments.items():
        rule: Mapping[str, Any] | None = schema["properties"].get(name)
        if rule is None:
            refusals.append(InvalidParameter(name, "there is no such argument"))
        elif type(value) is not _PYTHON_TYPES[rule["type"]] or value not in rule.get("enum", [value]):
            refusals.append(InvalidParameter(name, f"it must be of type {rule['type']}{_list_values(rule)}"))
        elif not rule.get("minimum", value) <= value <= rule.get("maximum", value):
            refusals.append(InvalidParameter(name, f"from {rule['minimum']} to {rule['maximum']}"))
    if refusals:
        raise refuse_members(refusals)


def _list_values(rule: Mapping[str, Any]) -> str:
    return f": {', '.join(rule['enum'])}" if "enum" in rule else ""


def build_job_schema(fields: Mapping[str, JobField]) -> dict[str, Any]:
    """Return the JSON schema of a JobSpec with the members that fields of a profile have, and their limits."""
    root = _build_object({}, ["executable"])
    custom: dict[str, Any] = {}
    for field, row in fields.items():
        member = MEMBER_BY_FIELD.get(field)
        if member is not None:
            _put(root, member, _describe_member(member, field, row))
        elif field not in _HIDDEN_FIELDS:
            custom[field] = _describe_member("", field, row)
    if custom:
        _put(root, "attributes.custom_attributes", _build_object(custom, []))
    if "PROCESSES" in fields:
        _put(
            root,
            "launcher",
            {"type": "string", "enum": ["single", "multiple", "mpirun"], "default": "single"},
        )
    return root


def _build_object(properties: dict[str, Any], required: Sequence[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": [*required],
        "additionalProperties": False,
    }


def _put(root: dict[str, Any], member: str, rule: dict[str, Any]) -> None:
    part, _, name = member.rpartition(".")
    properties = root["properties"]
    if part:
        properties = properties.setdefault(part, _build_object({}, []))["properties"]
    properties[name] = rule


def _describe_member(member: str, field: str, row: JobField) -> dict[str, Any]:
    words = [row.description, _UNITS.get(member, "")]
    words += [f"Limits: {row.range_text}." if row.range_text else ""]
    words += [f"Default: {row.default}." if row.default and field not in _HIDDEN_FIELDS else ""]
    words += [f"One of: {', '.join(row.tags)}." if row.tags else ""]
    rule = {**_TYPES.get(member, {"type": "string"}), "description": " ".join(filter(None, words))}
    if field in _EXACT_FIELDS and member:
        limits = {"minimum": row.minimum, "maximum": row.maximum}
        rule |= {name: int(value) for name, value in limits.items() if value is not None and value >= 1}
    return rule
