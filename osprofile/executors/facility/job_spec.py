"""A JobSpec of the API as a `JobDescription`, and back: one table of members (docs/protocols/iri.md, 3).

What a profile does not have is refused by the name of the member, never ignored. The limits of the profile are
checked when the job is submitted. `exclusive_node_use`, which clients send as true by default, is left
out where the profile has no field EXCLUSIVE.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

from osprofile.executors.facility.problems import InvalidParameter, refuse_members
from osprofile.jobs.fields import FIELD_BY_ATTRIBUTE, JobDescription
from osprofile.jobs.request import MULTI_PROCESS_APPLICATION, build_job_name
from osprofile.text import quote_value, suggest_names

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

ATTRIBUTE_BY_MEMBER: Final = {
    "executable": "executable",
    "arguments": "arguments",
    "directory": "directory",
    "name": "name",
    "environment": "environment",
    "stdin_path": "stdin",
    "stdout_path": "stdout",
    "stderr_path": "stderr",
    "container.image": "container",
    "resources.node_count": "nodes",
    "resources.process_count": "processes",
    "resources.cpu_cores_per_process": "cpus",
    "resources.gpu_cores_per_process": "gpus",
    "resources.memory": "memory",
    "resources.exclusive_node_use": "exclusive",
    "attributes.duration": "walltime",
    "attributes.queue_name": "queue",
    "attributes.account": "project",
    "attributes.reservation_id": "reservation",
}
"""The attribute of JobDescription that each member sets, by the member's path."""
_SETUP_FIELD: Final = "SETUP"
MEMBER_BY_FIELD: Final = {
    _SETUP_FIELD: "pre_launch",
    **{FIELD_BY_ATTRIBUTE[attribute]: member for member, attribute in ATTRIBUTE_BY_MEMBER.items()},
}
"""The members of a JobSpec by the fields of the profile that they set."""
_COPIED: Final = (
    "executable", "arguments", "directory", "name", "environment", "resources.cpu_cores_per_process",
    "attributes.duration", "attributes.queue_name", "attributes.account", "attributes.reservation_id",
)  # fmt: skip
"""The members whose values are those of the attributes, but for a name that no batch system takes."""
_MPI_APPLICATION: Final = "MPI"
_APPLICATION_BY_LAUNCHER: Final = {
    "single": None,
    "multiple": MULTI_PROCESS_APPLICATION,
    "mpirun": _MPI_APPLICATION,
    "mpiexec": _MPI_APPLICATION,
}
"""The application of the profile that starts the program, by PSI/J's names of launchers."""
_QUOTED_FIELDS: Final = {"ARGUMENTS": "arguments", "ENVIRONMENT": "environment"}
"""Fields whose values are shell code, quoted: only by these members."""
_MEBIBYTE: Final = 1 << 20
_MAX_NAME_LENGTH: Final = 80
_JOB_NAME: Final = re.compile(r"[A-Za-z0-9_.@:+-]*")
"""Names that a profile may accept."""
_RUN_PROGRAM: Final = 'exec "$@"'
"""env would take a program with a = in its name for a variable; the shell after it does not."""


@final
class _Reader:
    """Reads members by their paths, and collects what is refused."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self._spec = spec
        self.refusals: list[InvalidParameter] = []

    def get(self, path: str) -> Any:  # noqa: ANN401
        """Return the value of a member; None if it is absent."""
        value: Any = self._spec
        for name in path.split("."):
            value = (value or {}).get(name)
        return value

    def refuse(self, path: str, reason: str) -> None:
        self.refusals.append(InvalidParameter(path, reason))


class _Counts(NamedTuple):
    nodes: int | None
    processes: int | None
    per_node: int | None


def build_description(spec: Mapping[str, Any], field_names: Collection[str]) -> JobDescription:
    """Return the description of a JobSpec, which is JSON whose members have the types of `models.JobSpec`.

    `field_names` are the fields that a request may set. Raises `ProblemError` with all members that are refused.
    """
    reader = _Reader(spec)
    for path, text in _list_texts(spec):
        if not _is_unicode(text):
            reader.refuse(path, "it has a surrogate, which is no character")
    if reader.refusals:
        raise refuse_members(reader.refusals)
    if not reader.get("executable"):
        reader.refuse("executable", "a job needs a program: give its path, or its name")
    for part in ("resources", "attributes", "container"):
        if reader.get(f"{part}.attributes"):
            reader.refuse(f"{part}.attributes", "it has no meaning here: leave it out")
    values: dict[str, Any] = {
        ATTRIBUTE_BY_MEMBER[path]: convert_job_name(value) if path == "name" else value
        for path in _COPIED
        if (value := reader.get(path)) not in (None, [], {})
    }
    values |= _build_paths(reader)
    values |= _build_resources(reader, field_names)
    values["container"] = _build_container(reader)
    values["application"] = _build_application(reader)
    values["fields"] = _build_fields(reader, field_names)
    if reader.get("inherit_environment") is False and values["application"] == _MPI_APPLICATION:
        reader.refuse("inherit_environment", "mpirun passes variables to the processes: leave it out")
    if reader.refusals:
        raise refuse_members(reader.refusals)
    if reader.get("inherit_environment") is False:
        variables = [f"{name}={value}" for name, value in values.get("environment", {}).items()]
        program = [values["executable"], *values.get("arguments", ())]
        values["executable"] = "env"
        values["arguments"] = ["-i", *variables, "sh", "-c", _RUN_PROGRAM, "sh", *program]
    return JobDescription(**values)


def convert_job_name(text: str) -> str:
    """Return the name of a job: one that no batch system takes is replaced by a similar one."""
    return text if _JOB_NAME.fullmatch(text) else build_job_name(text)


def _list_texts(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield all texts of a JSON value, also the names of members, with their paths."""
    match value:
        case str():
            yield path, value
        case dict():
            for name, item in value.items():
                yield path, name
                yield from _list_texts(item, f"{path}.{name}" if path and _is_unicode(name) else path or name)
        case list():
            for item in value:
                yield from _list_texts(item, path)


def _is_unicode(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def _build_paths(reader: _Reader) -> dict[str, str]:
    """Return the files of the streams; relative ones are in `directory`, if that is given."""
    directory = reader.get("directory") or ""
    members = {"stdin": "stdin_path", "stdout": "stdout_path", "stderr": "stderr_path"}
    return {
        attribute: posixpath.join(directory, path)
        for attribute, member in members.items()
        if (path := reader.get(member)) is not None
    }


def _build_resources(reader: _Reader, field_names: Collection[str]) -> dict[str, Any]:
    counts = _count_processes(reader)
    values: dict[str, Any] = {"nodes": counts.nodes, "processes": counts.processes}
    if (gpus := reader.get("resources.gpu_cores_per_process")) is not None:
        values["gpus"] = gpus * _count_per_node(reader, counts)
    if (memory := reader.get("resources.memory")) is not None:
        values["memory"] = -(-memory // ((counts.nodes or 1) * _MEBIBYTE))
    if reader.get("resources") is not None and "EXCLUSIVE" in field_names:
        values["exclusive"] = reader.get("resources.exclusive_node_use") is not False
    return values


def _count_processes(reader: _Reader) -> _Counts:
    """Return the counts that are given or follow from the others, as PSI/J computes them."""
    paths = ("resources.node_count", "resources.process_count", "resources.processes_per_node")
    nodes, processes, per_node = map(reader.get, paths)
    if per_node is None:
        return _Counts(nodes, processes, None)
    if processes is None:
        return _Counts(nodes, (nodes or 1) * per_node, per_node)
    if nodes is None and processes % per_node == 0:
        return _Counts(processes // per_node, processes, per_node)
    if nodes is None or nodes * per_node != processes:
        reader.refuse(
            "resources.process_count",
            f"{processes} is not node_count x processes_per_node: leave one of them out",
        )
    return _Counts(nodes, processes, per_node)


def _count_per_node(reader: _Reader, counts: _Counts) -> int:
    """Return the processes on each node, for what a profile counts by nodes."""
    processes, nodes = counts.processes or 1, counts.nodes or 1
    if counts.per_node is None and processes % nodes:
        reader.refuse(
            "resources.gpu_cores_per_process",
            f"{processes} processes are not the same number on each of {nodes} nodes: give processes_per_node",
        )
    return counts.per_node or max(processes // nodes, 1)


def _build_container(reader: _Reader) -> str | None:
    """Return the image; one that is neither a file nor a URI is the name of an image in a registry."""
    if reader.get("container.volume_mounts"):
        reader.refuse("container.volume_mounts", "a profile has no field for it: the site's command decides")
    image: str | None = reader.get("container.image")
    if image is None or image.startswith(("/", "./", "../")) or "://" in image or image.endswith(".sif"):
        return image
    return f"docker://{image}"


def _build_application(reader: _Reader) -> str | None:
    launcher = reader.get("launcher")
    if launcher is not None and launcher not in _APPLICATION_BY_LAUNCHER:
        hint = suggest_names(launcher, _APPLICATION_BY_LAUNCHER)
        reader.refuse("launcher", f"there is no launcher {quote_value(launcher)}: {hint}")
    return _APPLICATION_BY_LAUNCHER.get(launcher or "single")


def _build_fields(reader: _Reader, field_names: Collection[str]) -> dict[str, str]:
    """Return the values of further fields: `pre_launch`, and the custom attributes that the profile lists."""
    fields: dict[str, str] = {}
    if (setup := reader.get("pre_launch")) is not None:
        if _SETUP_FIELD in field_names:
            fields[_SETUP_FIELD] = setup
        else:
            reader.refuse(
                "pre_launch", f"the profile lets no job set {_SETUP_FIELD}: make it a part of the program"
            )
    if reader.get("post_launch") is not None:
        reader.refuse("post_launch", "a profile has no field for it: make it a part of the program")
    custom: Mapping[str, str] = reader.get("attributes.custom_attributes") or {}
    for attribute, value in custom.items():
        name, path = _find_field(attribute, field_names), _name_custom_member(attribute)
        if name in _QUOTED_FIELDS:
            reader.refuse(path, f"use {_QUOTED_FIELDS[name]}")
        elif name not in field_names:
            hint = suggest_names(name, set(field_names) - _QUOTED_FIELDS.keys())
            reader.refuse(path, f"the profile has no field {quote_value(name)} that a job may set: {hint}")
        elif name in fields:
            reader.refuse(path, f"field {name} is given twice")
        else:
            fields[name] = value
    return fields


def name_members(spec: Mapping[str, Any], field_names: Collection[str]) -> dict[str, str]:
    """Return the members that set the profile's fields, for messages: custom attributes, too, as they are given."""
    custom = (spec.get("attributes") or {}).get("custom_attributes") or {}
    return {
        **MEMBER_BY_FIELD,
        **{_find_field(name, field_names): _name_custom_member(name) for name in custom},
    }


def _find_field(attribute: str, field_names: Collection[str]) -> str:
    """Return the field that a custom attribute means: `gpu-type` is GPU_TYPE."""
    return attribute if attribute in field_names else attribute.upper().replace("-", "_")


def _name_custom_member(attribute: str) -> str:
    return f"attributes.custom_attributes.{attribute[:_MAX_NAME_LENGTH]}"


# The way back


def format_spec(request: Mapping[str, str], application: str | None) -> dict[str, Any]:
    """Return the JobSpec of a recorded request: of any job, whoever submitted it.

    Amounts are those of the record: the memory in whole MiB. Fields without a member are custom attributes.
    """
    rest = dict(request)
    nodes, processes = (_parse_count(request.get(name, "")) for name in ("NODES", "PROCESSES"))
    spec: dict[str, Any] = {}
    for member, attribute in ATTRIBUTE_BY_MEMBER.items():
        field = FIELD_BY_ATTRIBUTE[attribute]
        value: Any = request.get(field)
        if field == "GPUS" and (processes or 1) > (nodes or 1):
            value = None  # by nodes: a custom attribute says it exactly
        if value is not None and (converted := _CONVERTERS.get(field, str)(value)) is not None:
            rest.pop(field)
            _put(spec, member, converted)
    if (resources := spec.get("resources")) is not None:
        resources.setdefault("exclusive_node_use", False)
        if "memory" in resources:
            resources["memory"] *= (nodes or 1) * _MEBIBYTE
    _undo_empty_environment(spec)
    if (setup := rest.pop(_SETUP_FIELD, None)) is not None:
        spec["pre_launch"] = setup
    launchers = {name: launcher for launcher, name in reversed(_APPLICATION_BY_LAUNCHER.items()) if name}
    if application is not None:
        spec["launcher"] = launchers.get(application, application)
    if rest:
        _put(spec, "attributes.custom_attributes", rest)
    return spec


def _put(spec: dict[str, Any], path: str, value: object) -> None:
    part, _, name = path.rpartition(".")
    (spec.setdefault(part, {}) if part else spec)[name] = value


def _undo_empty_environment(spec: dict[str, Any]) -> None:
    arguments = spec.get("arguments") or []
    if spec.get("executable") == "env" and arguments[:1] == ["-i"] and _RUN_PROGRAM in arguments:
        executable, *rest = arguments[arguments.index(_RUN_PROGRAM) + 2 :]
        spec |= {"executable": executable, "arguments": rest, "inherit_environment": False}


def _parse_count(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def _split_words(text: str) -> list[str] | None:
    try:
        return shlex.split(text)
    except ValueError:  # it was not quoted by osprofile
        return None


def _parse_exports(text: str) -> dict[str, str] | None:
    words = _split_words(text)
    return None if words is None else dict(word.partition("=")[::2] for word in words if word != "export")


_CONVERTERS: Final[dict[str, Any]] = {
    "ARGUMENTS": _split_words,
    "ENVIRONMENT": _parse_exports,
    "EXCLUSIVE": lambda text: text == "true",
    **dict.fromkeys(("NODES", "PROCESSES", "CPUS", "GPUS", "MEMORY", "WALLTIME"), _parse_count),
}
"""How the values of fields become those of members; the others are texts."""
