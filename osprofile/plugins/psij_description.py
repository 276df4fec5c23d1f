"""A job of PSI/J as a `JobDescription`. What has no counterpart is refused by its name, never ignored.

The job runs the command of PSI/J's launcher. The program's own files are the launcher's business; the job's
standard output is what the launcher itself prints.
"""

from __future__ import annotations

import math
import os
import re
from typing import TYPE_CHECKING, Final

from psij import InvalidJobException, ResourceSpecV1
from psij.launchers.script_based_launcher import ScriptBasedLauncher

import osprofile

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from psij import Job, JobAttributes, JobSpec, Launcher

ATTRIBUTE_PREFIX: Final = "osprofile"
"""The custom attribute `osprofile.FIELD` is the value of the profile's field."""
_LAUNCHER_OUTPUT: Final = "stdout"
_NODE_FILE: Final = "psij_nodefile"
_SETS_NODE_FILE: Final = 'PSIJ_NODEFILE=$GPE_NODE_FILE; export PSIJ_NODEFILE; exec "$@"'
_EMPTIES_ENVIRONMENT: Final = 'exec env -i "PSIJ_NODEFILE=$GPE_NODE_FILE" "$@"'
_UNSAFE_IN_REDIRECTION: Final = re.compile(r"[\s*?\[\\]")
"""The launchers' scripts write `1>$path` without quotes: bash would split these, or search for files."""
_MEBIBYTE: Final = 1 << 20
_UNSUPPORTED: Final = ("stage_in", "stage_out", "cleanup")
"""Properties of JobSpec in versions after 0.9.11."""
_PROPERTY_BY_FIELD: Final = {
    "ARGUMENTS": "executable, arguments, environment or a path",
    "CPUS": "resources.cpu_cores_per_process",
    "DIRECTORY": "directory",
    "ENVIRONMENT": "environment",
    "EXCLUSIVE": "resources.exclusive_node_use",
    "GPUS": "resources.gpu_cores_per_process",
    "JOB_NAME": "name",
    "MEMORY": "resources.memory",
    "NODES": "resources.node_count",
    "PROCESSES": "resources.process_count",
    "PROJECT": "attributes.account",
    "QUEUE": "attributes.queue_name",
    "RESERVATION": "attributes.reservation_id",
    "WALLTIME": "attributes.duration",
}


def build_description(
    job: Job, launcher: Launcher, executor_name: str, field_names: Collection[str]
) -> osprofile.JobDescription:
    """Return the description of a job that a launcher starts.

    `field_names` are the profile's fields. Raises `psij.InvalidJobException` for what cannot be mapped;
    the limits of the profile are checked when the job is submitted.
    """
    spec = job.spec
    if spec is None or not spec.executable:
        raise InvalidJobException("executable: a job needs a program: give its path")
    for name in _UNSUPPORTED:
        if getattr(spec, name, None):
            raise InvalidJobException(f"{name}: osprofile's executors do not copy or remove files")
    environment = {name: str(value) for name, value in (spec.environment or {}).items()}
    fields = _build_fields(spec, executor_name, field_names)
    resources, attributes = _get_resources(spec), spec.attributes
    nodes, processes, per_node = _count_processes(resources)
    name = spec.name or ""
    has_node_file = "NODE_FILE" in field_names and "NODE_FILE" not in fields
    return osprofile.JobDescription(
        executable="/bin/sh",
        arguments=_build_arguments(spec, environment, _get_launch_command(job, spec, launcher)),
        environment=environment,
        stdout=_LAUNCHER_OUTPUT,
        stderr=_LAUNCHER_OUTPUT,
        name=osprofile.build_job_name(os.path.basename(name) if name == spec.executable else name),
        nodes=nodes,
        processes=processes,
        cpus=resources.cpu_cores_per_process,
        gpus=resources.gpu_cores_per_process and resources.gpu_cores_per_process * per_node,
        memory=None if resources.memory is None else math.ceil(resources.memory / (nodes or 1) / _MEBIBYTE),
        exclusive=resources.exclusive_node_use or None,
        walltime=None if attributes.duration is None else math.ceil(attributes.duration.total_seconds()),
        queue=attributes.queue_name,
        project=attributes.account,
        reservation=attributes.reservation_id,
        node_file=_NODE_FILE if has_node_file else None,
        fields=fields,
    )


def find_property(field_name: str) -> str:
    """Return the property of PSI/J that gives a field its value; empty if there is none."""
    return _PROPERTY_BY_FIELD.get(field_name, "")


def _get_resources(spec: JobSpec) -> ResourceSpecV1:
    resources = spec.resources or ResourceSpecV1()
    if not isinstance(resources, ResourceSpecV1):
        raise InvalidJobException(f"resources: version {resources.version} is not supported: give version 1")
    return resources


def _count_processes(resources: ResourceSpecV1) -> tuple[int | None, int | None, int]:
    """Return the numbers of nodes and processes, None for the default, and that of processes per node."""
    counts = resources.node_count, resources.process_count, resources.processes_per_node
    if all(count is None for count in counts):
        return None, None, 1
    computed = ResourceSpecV1(*counts)  # PSI/J does not compute again when a property is set later
    nodes, processes = computed.computed_node_count, computed.computed_process_count
    if (nodes, processes) != (resources.computed_node_count, resources.computed_process_count):
        raise InvalidJobException(
            "resources: the counts were changed after the object was made, and launchers use the old "
            "ones: give them to the constructor of ResourceSpecV1"
        )
    return nodes, processes, computed.computed_processes_per_node


def _build_fields(spec: JobSpec, executor_name: str, field_names: Collection[str]) -> dict[str, str]:
    """Return the values of further fields: of DIRECTORY, and of the custom attributes."""
    fields = {} if spec.directory is None else {"DIRECTORY": str(spec.directory)}
    attributes: JobAttributes = spec.attributes
    for attribute, value in (attributes.custom_attributes or {}).items():
        name = _remove_prefix(attribute, executor_name)
        field_name = name if name in field_names else name.upper().replace("-", "_")
        if field_name in fields:
            raise InvalidJobException(f"custom attribute {attribute!r}: field {field_name} is given twice")
        fields[field_name] = _format_value(attribute, value)
    return fields


def _remove_prefix(attribute: str, executor_name: str) -> str:
    """Return the name of the field in the name of a custom attribute."""
    for prefix in (ATTRIBUTE_PREFIX, executor_name):
        if attribute.lower().startswith(f"{prefix.lower()}.") and len(attribute) > len(prefix) + 1:
            return attribute[len(prefix) + 1 :]
    message = f"custom attribute {attribute!r} is not {ATTRIBUTE_PREFIX}.FIELD or {executor_name}.FIELD"
    raise InvalidJobException(f"{message}: name a field of the profile")


def _format_value(attribute: str, value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int)):
        return str(value)
    raise InvalidJobException(f"custom attribute {attribute!r}: {value!r} is no string, integer or boolean")


def _get_launch_command(job: Job, spec: JobSpec, launcher: Launcher) -> list[str]:
    if isinstance(launcher, ScriptBasedLauncher):
        paths = {"stdin": spec.stdin_path, "stdout": spec.stdout_path, "stderr": spec.stderr_path}
        for name, path in paths.items():
            if path is not None and _UNSAFE_IN_REDIRECTION.search(str(path)):
                raise InvalidJobException(
                    f"{name}_path: {str(path)!r} has a blank, or one of * ? [ \\, which PSI/J's launchers "
                    f"cannot handle: use another path"
                )
    try:
        return launcher.get_launch_command(job)
    except ValueError as error:
        raise InvalidJobException(f"launcher {spec.launcher}: {error}", exception=error) from error


def _build_arguments(spec: JobSpec, environment: Mapping[str, str], command: list[str]) -> list[str]:
    if spec.inherit_environment:
        return ["-c", _SETS_NODE_FILE, "sh", *command]
    variables = [f"{name}={value}" for name, value in environment.items()]
    return ["-c", _EMPTIES_ENVIRONMENT, "sh", *variables, *command]
