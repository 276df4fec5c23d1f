"""What an agent can do with a facility: tools with the limits of each resource in their JSON schemas.

Nothing here knows a protocol: see `mcp_server`. A refusal is a `ProblemError` with the member, the limit and the hint, so that
an agent can correct its request.
"""

from __future__ import annotations

import posixpath
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, final

from osprofile.executors.facility.job_spec import MEMBER_BY_FIELD
from osprofile.executors.facility.job_states import STATES, JobFilter
from osprofile.executors.facility.problems import (
    InvalidParameter,
    ProblemError,
    check_key,
    refuse,
    refuse_members,
)
from osprofile.executors.facility.tool_schemas import build_job_schema, build_object, parse_spec
from osprofile.jobs.profiles import describe_job_fields, needs_confirmation
from osprofile.jobs.state import NodeState, QueueState
from osprofile.text import suggest_names

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from osprofile.executors.facility.compute import Resource
    from osprofile.executors.facility.facility import Account, Facility
    from osprofile.jobs.shell.output import QueueLimit

MAX_LINES: Final = 1000
MAX_WAIT: Final = 300
"""Seconds that one call of `wait` takes at most: clients give up on calls that take long."""
_MAX_ENTRIES: Final = 200
"""Files, or nodes by name, that one answer lists."""
_JOB_ID: Final[dict[str, Any]] = {"job_id": {"type": "string"}}
_OUTPUT: Final[dict[str, Any]] = {
    "stream": {"type": "string", "enum": ["stdout", "stderr"], "default": "stdout"},
    "path": {"type": "string", "description": "Instead of the stream: a file that the tool files lists."},
    "lines": {"type": "integer", "minimum": 1, "maximum": MAX_LINES, "default": 100},
}
_LIST: Final[dict[str, Any]] = {
    "states": {"type": "array", "items": {"type": "string", "enum": [*STATES]}},
    "historical": {"type": "boolean", "default": False},
    "limit": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 50},
}
_PATH: Final = {"path": {"type": "string", "description": "A directory below that of the job."}}
_SECONDS: Final = {"seconds": {"type": "integer", "minimum": 1, "maximum": MAX_WAIT, "default": 50}}
_NAMES: Final = {"names": {"type": "array", "items": {"type": "string"}, "description": "Only these."}}
_OTHERS: Final[Mapping[str, tuple[str, dict[str, Any]]]] = {
    "queues": ("List the queues with their states and limits.", {}),
    "nodes": ("Count the nodes by state and size: which are free.", {}),
    "members": ("Describe the members of a job: limits, defaults, values.", _NAMES),
    "status": ("Return a job: its state, exit code, times, files, and its JobSpec for submit.", _JOB_ID),
    "wait": ("Wait for the end of a job, and return it; after the seconds, as it is.", _JOB_ID | _SECONDS),
    "output": ("Return the last lines of what a job wrote.", _JOB_ID | _OUTPUT),
    "files": ("List the files in the directory of a job.", _JOB_ID | _PATH),
    "explain": ("Tell why a job failed: likely cause, the batch system's words, error output.", _JOB_ID),
    "list": ("List jobs, oldest first: those that have not ended, or, with historical, all.", _LIST),
    "cancel": ("Cancel a job.", _JOB_ID),
}
"""The tools beside `submit`: what they do, and their arguments."""
_SUBMIT: Final = "Submit a job. What the site does not allow is refused, with the limit."
_SUBMIT_OPTIONS: Final[dict[str, Any]] = {
    "dry_run": {"type": "boolean", "description": "Check it, and return the script; submit nothing."},
    "idempotency_key": {
        "type": "string",
        "format": "uuid",
        "description": "Repeat a call that was cut with the same key: it submits no second job.",
    },
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
    """The tools of a facility. `submit` is one for each resource, as `submit_cluster`; with one resource, `submit`.

    Each result has the `next` call that follows from it, as far as there is one.
    """

    def __init__(self, facility: Facility) -> None:
        self._facility = facility
        self._resource_ids = list(facility.profiles)
        self._resource_by_tool = {
            "submit" if len(self._resource_ids) == 1 else f"submit_{resource_id}": resource_id
            for resource_id in self._resource_ids
        }

    @cached_property
    def tools(self) -> Mapping[str, Tool]:
        """All tools by their names."""
        tools = []
        for tool, resource_id in self._resource_by_tool.items():
            resource = self._facility.settings.resources[resource_id]
            words = f"{_SUBMIT} Resource: {resource.name or resource_id}. {resource.description}".rstrip()
            schema = build_job_schema(describe_job_fields(self._facility.profiles[resource_id]).fields)
            schema["properties"] |= _SUBMIT_OPTIONS
            tools.append(Tool(tool, words, schema, is_read_only=False))
        for name, (words, properties) in _OTHERS.items():
            tools.append(Tool(name, words, self._build_schema(properties), name != "cancel"))
        return {tool.name: tool for tool in tools}

    def _build_schema(self, properties: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
        ids = self._resource_ids
        resource = {"resource": {"type": "string", "enum": ids}} if len(ids) > 1 else {}
        required = [*resource, *(["job_id"] if "job_id" in properties else [])]
        return build_object({**resource, **properties}, required)

    def find_change(self, name: str, arguments: Mapping[str, Any]) -> str | None:
        """Return the resource whose jobs a call changes, if a person must confirm this there; else None."""
        if name in self._resource_by_tool:
            resource_id = "" if arguments.get("dry_run") is True else self._resource_by_tool[name]
        else:
            resource_id = self._find_resource_id(arguments) if name == "cancel" else ""
        profile = self._facility.profiles.get(resource_id)
        return resource_id if profile is not None and needs_confirmation(profile) else None

    def _find_resource_id(self, arguments: Mapping[str, Any]) -> str:
        return str(arguments.get("resource", self._resource_ids[0] if len(self._resource_ids) == 1 else ""))

    async def check(self, account: Account, name: str, arguments: Mapping[str, Any]) -> None:
        """Raise `ProblemError` for a call of `submit` that would be refused."""
        if name in self._resource_by_tool:
            resource = account.get_resource(self._resource_by_tool[name])
            _, spec = _split_submission(arguments, resource)
            await resource.preview_job(spec)

    async def call(self, account: Account, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a tool returns to a user, as JSON. Raises `ProblemError`."""
        if name in self._resource_by_tool:
            return await self._submit(account, name, arguments)
        if name not in self.tools:
            hint = suggest_names(name, self.tools)
            raise ProblemError("not-found", "there is no such tool", hint=hint)
        _check_arguments(self.tools[name].schema, arguments)
        resource = account.get_resource(self._find_resource_id(arguments))
        call = _Call(resource, self._facility, arguments)
        try:
            result, step, values = await call.run(name)
        except ProblemError as error:
            if error.kind == "not-found":
                error.hint = error.hint or "the tool list, with historical, has the ids of jobs"
            raise
        return result | self._format_step(resource.resource_id, step, values)

    async def _submit(self, account: Account, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        resource = account.get_resource(self._resource_by_tool[tool])
        options, spec = _split_submission(arguments, resource)
        if options.get("dry_run"):
            script = await resource.preview_job(spec)
            values = {key: value for key, value in arguments.items() if key != "dry_run"}
            return {"script": script, "next": {"tool": tool, "arguments": values}}
        key = check_key(options.get("idempotency_key"), "idempotency_key")
        job = await resource.launch_job(spec, key)
        return job | self._format_step(resource.resource_id, *follow_job(job))

    def _format_step(self, resource_id: str, step: str, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the member `next` of a result: a call, or the member of `submit` that the result is about."""
        if not step:
            return {}
        if step == "submit":
            tools = (tool for tool, name in self._resource_by_tool.items() if name == resource_id)
            return {"next": {"tool": next(tools), **values}}
        resource = {"resource": resource_id} if len(self._resource_ids) > 1 else {}
        return {"next": {"tool": step, "arguments": {**resource, **values}}}


_Result: TypeAlias = "tuple[dict[str, Any], str, Mapping[str, Any]]"
"""What a tool returns, the tool that comes next, and its arguments."""


@final
class _Call:
    """A call of a tool that is not `submit`, with checked arguments: each has a method."""

    def __init__(self, resource: Resource, facility: Facility, arguments: Mapping[str, Any]) -> None:
        self._resource, self._facility, self._arguments = resource, facility, arguments
        self._id: str = arguments.get("job_id", "")

    async def run(self, name: str) -> _Result:
        """Return the result of a tool, and what follows from it."""
        methods: Mapping[str, Callable[[], Awaitable[_Result]]] = {
            "queues": self._list_queues, "nodes": self._count_nodes, "members": self._describe_members,
            "status": self._get_job, "wait": self._wait, "output": self._read_output, "files": self._list_files,
            "explain": self._explain, "list": self._list_jobs, "cancel": self._cancel,
        }  # fmt: skip
        return await methods[name]()

    async def _list_queues(self) -> _Result:
        queues = await self._resource.list_queues()
        listed = [
            {
                "name": queue.name,
                "state": queue.native_state or queue.state.value,
                "accepts_jobs": queue.state is QueueState.OPEN,
                "default": queue.is_default,
                "limits": [_format_limit(limit) for limit in queue.limits],
            }
            for queue in queues
        ]
        note = {} if listed else {"note": "the profile lists no queues: leave attributes.queue_name out"}
        member = {"member": "attributes.queue_name"} if listed else {}
        return {"queues": listed, **note}, "submit", member

    async def _count_nodes(self) -> _Result:
        groups: dict[tuple[object, ...], list[str]] = {}
        for node in await self._resource.list_nodes():
            word = node.native_state or node.state.value
            groups.setdefault((word, node.state is NodeState.UP, node.cpus, node.memory), []).append(
                node.name
            )
        listed = [
            {
                "state": state,
                "is_up": is_up,
                "count": len(names),
                **({"cpus": cpus} if cpus else {}),
                **({"memory_mib": memory} if memory else {}),
                "names": names[:_MAX_ENTRIES],
            }
            for (state, is_up, cpus, memory), names in groups.items()
        ]
        note = {} if listed else {"note": "the profile lists no nodes"}
        return {"nodes": listed, **note}, "submit", {"member": "resources"}

    async def _describe_members(self) -> _Result:
        rows = self._facility.format_capability(self._resource.resource_id)["attributes"]["job_spec"]
        names = self._arguments.get("names") or rows
        found = {
            member: row
            for member, row in rows.items()
            if {member, member.rpartition(".")[2]} & {*map(str, names)}
        }
        if not found:
            raise refuse("names", suggest_names(str(names[0]), rows))
        return {"members": found}, "submit", {"member": next(iter(found))}

    async def _get_job(self) -> _Result:
        return self._add_tasks(await self._resource.get_job(self._id, historical=True, include_spec=True))

    async def _wait(self) -> _Result:
        return self._add_tasks(
            await self._resource.wait_for_job(self._id, self._arguments.get("seconds", 50))
        )

    def _add_tasks(self, job: dict[str, Any]) -> _Result:
        """Return a job with its tasks, if it is an array: then its first task counts that has failed, or its first one."""
        step, values = follow_job(job)
        tasks = self._resource.list_tasks(job["id"])
        if not tasks:
            return job, step, values
        job["tasks"] = sorted(tasks, key=lambda task: task["state"] != "failed")[:_MAX_ENTRIES]
        is_about_one = step in {"output", "explain"}
        return job, step, {"job_id": job["tasks"][0]["id"]} if is_about_one else values

    async def _read_output(self) -> _Result:
        lines: int = self._arguments.get("lines", 100)
        if path := self._arguments.get("path"):
            text = await self._resource.read_file(self._id, path, lines)
            return {"text": text}, "files", {"job_id": self._id}
        stream: str = self._arguments.get("stream", "stdout")
        if tasks := self._resource.list_tasks(self._id):
            note = "this is an array: each of its tasks has its own output"
            return {"text": "", "note": note}, "output", {**self._arguments, "job_id": tasks[0]["id"]}
        text = await self._resource.read_output(self._id, stream, lines)
        job = await self._resource.get_job(self._id, historical=True, include_spec=False)
        step, values = follow_job(job)
        return {"text": text, "state": job["status"]["state"]}, "files" if step == "output" else step, values

    async def _list_files(self) -> _Result:
        path: str = self._arguments.get("path", "")
        directory, entries = await self._resource.list_files(self._id, path)
        names = [posixpath.join(path, entry.name) for entry in entries]
        listed = [
            {"path": name, "type": entry.type, "size": entry.size, "changed": entry.mtime}
            for name, entry in zip(names[:_MAX_ENTRIES], entries, strict=False)
        ]
        note = {"left_out": len(names) - len(listed)} if len(names) > len(listed) else {}
        result = {"directory": directory, "files": listed, **note}
        texts = [name for name, entry in zip(names, entries, strict=True) if entry.type == "f"]
        newest = max(texts, key=lambda name: entries[names.index(name)].mtime, default="")
        return result, "output" if newest else "", {"job_id": self._id, "path": newest}

    async def _explain(self) -> _Result:
        job = await self._resource.explain_job(self._id)
        step, values = follow_job(job)
        if step != "explain":
            return job, step, values
        if failed := [t for t in self._resource.list_tasks(job["id"]) if t["state"] == "failed"]:
            return job | {"tasks": failed[:_MAX_ENTRIES]}, "explain", {"job_id": failed[0]["id"]}
        again = await self._resource.get_job(self._id, historical=True, include_spec=True)
        return job, "submit", {"arguments": again.get("job_spec", {})}

    async def _list_jobs(self) -> _Result:
        states = self._arguments.get("states")
        is_historical = self._arguments.get("historical", False)
        jobs = await self._resource.list_jobs(
            JobFilter.parse({} if states is None else {"state": states}),
            offset=0,
            limit=self._arguments.get("limit", 50),
            historical=is_historical,
            include_spec=False,
        )
        if jobs:
            return {"jobs": jobs}, "status", {"job_id": jobs[-1]["id"]}
        return {"jobs": jobs}, "" if is_historical else "list", {"historical": True}

    async def _cancel(self) -> _Result:
        await self._resource.cancel_job(self._id)
        return {"id": self._id, "canceled": True}, "wait", {"job_id": self._id}


def follow_job(job: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return the tool that comes next for a job in its state, and its arguments; an empty name for one that was canceled."""
    status = job.get("status", {})
    step = _STEPS.get(status.get("state"), "wait")
    if step == "wait" and _NEVER_BEGINS in status.get("message", ""):
        step = "cancel"
    return step, {"job_id": job["id"]}


_STEPS: Final = {"completed": "output", "failed": "explain", "canceled": ""}
_NEVER_BEGINS: Final = "as it is, it will not start"
"""How profiles end the reason of a job that waits for what does not come by itself."""


def _format_limit(limit: QueueLimit) -> str:
    unit = " MiB on each node" if limit.field == "MEMORY" else ""
    return f"{MEMBER_BY_FIELD.get(limit.field, limit.field)} {limit.relation} {limit.value}{unit}"


def _split_submission(
    arguments: Mapping[str, Any], resource: Resource
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options of a call of `submit`, and the job. Raises `ProblemError`."""
    options = {name: value for name, value in arguments.items() if name in _SUBMIT_OPTIONS}
    if not isinstance(options.get("dry_run", False), bool):
        raise refuse("dry_run", "it must be of type boolean")
    job = {name: value for name, value in arguments.items() if name not in _SUBMIT_OPTIONS}
    return options, parse_spec(job, resource.field_names)


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
