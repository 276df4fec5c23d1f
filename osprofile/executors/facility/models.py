"""The requests and answers of the API as models of pydantic: they parse bodies, and make the OpenAPI document.

Names and limits are those of docs/protocols/iri.md. Members that are not here are refused.
"""

from __future__ import annotations

import datetime as dt  # noqa: TC003  # pydantic reads the annotations
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field

from osprofile.executors.facility.filesystem import MAX_SIZE

Text = Annotated[str, Field(min_length=1)]
Compression = Literal[
    "urn:doe-iri:compression:none",
    "urn:doe-iri:compression:gzip",
    "urn:doe-iri:compression:bzip2",
    "urn:doe-iri:compression:xz",
]
_ACCOUNT = r"^([A-Za-z0-9_][A-Za-z0-9_.-]*)?$"
_PARTS = r"([A-Za-z0-9._~!$&'()*+,;=@/-]|%[0-9A-Fa-f]{2})+"
Urn = Annotated[
    str, Field(min_length=15, pattern=rf"^urn:doe-iri:[A-Za-z0-9][A-Za-z0-9-]{{0,31}}:{_PARTS}(:{_PARTS})*$")
]
AllocationUrn = Annotated[
    str, Field(min_length=24, pattern=rf"^urn:doe-iri:allocation:{_PARTS}(:{_PARTS})*$")
]
LogicalName = Literal["home", "scratch", "project", "campaign", "archive", "shared", "temporary"]
StorageIntent = Literal["read", "write", "staging", "long-term-storage"]
AccessProtocol = Literal["globus", "xrootd", "s3"]
MAX_NUMBER = 1 << 53
"""Up to here, a number of JSON is exact wherever it is read."""


def _take_whole(value: object) -> object:
    """Return 1.0 as the integer that it is in JSON."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Whole = BeforeValidator(_take_whole)
Count = Annotated[int, Field(ge=1, lt=MAX_NUMBER), Whole]


class Request(BaseModel):
    """A part of a request."""

    model_config = ConfigDict(extra="forbid", strict=True)


class ResourceSpec(Request):
    """The resources of a job."""

    attributes: dict[str, Any] | None = None
    node_count: Count | None = None
    process_count: Count | None = None
    processes_per_node: Count | None = None
    cpu_cores_per_process: Count | None = None
    gpu_cores_per_process: Count | None = None
    exclusive_node_use: bool | None = True
    memory: Annotated[Count | None, Field(description="Bytes, of all nodes together.")] = None


class JobAttributes(Request):
    """What a job requests of the batch system."""

    attributes: dict[str, Any] | None = None
    duration: Annotated[Count | None, Field(description="Seconds.")] = None
    queue_name: Text | None = None
    account: Text | None = None
    reservation_id: Text | None = None
    custom_attributes: Annotated[
        dict[str, str] | None, Field(description="Values of further fields of the profile, by name.")
    ] = None


class VolumeMount(Request):
    """A directory of the host in a container."""

    attributes: dict[str, Any] | None = None
    source: Text
    target: Text
    read_only: bool | None = True


class Container(Request):
    """The container in which the program runs."""

    attributes: dict[str, Any] | None = None
    image: Text
    volume_mounts: list[VolumeMount] | None = None


class JobSpec(Request):
    """A job, as PSI/J specifies it."""

    executable: Text | None = None
    container: Container | None = None
    arguments: list[str] | None = None
    directory: Text | None = None
    name: Text | None = None
    inherit_environment: bool | None = True
    environment: dict[str, str] | None = None
    stdin_path: Text | None = None
    stdout_path: Text | None = None
    stderr_path: Text | None = None
    resources: ResourceSpec | None = None
    attributes: JobAttributes | None = None
    pre_launch: Text | None = None
    post_launch: Text | None = None
    launcher: Text | None = None


class PathRequest(Request):
    """A file."""

    path: Text


class ListRequest(PathRequest):
    """A directory."""

    showHidden: bool | None = False  # noqa: N815
    numericUid: bool | None = False  # noqa: N815
    recursive: bool | None = False
    dereference: bool | None = False


class StatRequest(PathRequest):
    """A file, or what a link leads to."""

    dereference: bool | None = False


class ViewRequest(PathRequest):
    """A part of a file, by bytes."""

    size: Annotated[int, Field(ge=0, le=MAX_SIZE), Whole] | None = 0
    offset: Annotated[int, Field(ge=0, lt=MAX_NUMBER), Whole] | None = 0


class HeadRequest(PathRequest):
    """The first part of a file, or all but the last one."""

    bytes: Annotated[int, Field(ge=0, le=MAX_SIZE), Whole] | None = None
    lines: Annotated[int, Field(ge=0, lt=1 << 31), Whole] | None = None
    skipTrailing: bool | None = False  # noqa: N815


class TailRequest(PathRequest):
    """The last part of a file, or all but the first one."""

    bytes: Annotated[int, Field(ge=1, le=MAX_SIZE), Whole] | None = None
    lines: Annotated[int, Field(ge=1, lt=1 << 31), Whole] | None = None
    skipHeading: bool | None = False  # noqa: N815


class MakeDirectoryRequest(PathRequest):
    """A new directory."""

    parent: bool | None = False


class ModeRequest(PathRequest):
    """A file with its new permissions."""

    mode: Annotated[str, Field(pattern="^[0-7]{3,4}$", description="Octal digits.")]


class OwnerRequest(PathRequest):
    """A file with its new owner, or its new group."""

    owner: Annotated[str | None, Field(pattern=_ACCOUNT)] = ""
    group: Annotated[str | None, Field(pattern=_ACCOUNT)] = ""


class LinkRequest(PathRequest):
    """A file, and a symbolic link to it."""

    link_path: Text


class TargetRequest(PathRequest):
    """A file or directory, and where it is to be."""

    path: Annotated[
        Text,
        Field(validation_alias=AliasChoices("path", "source_path"), description="Also called source_path."),
    ]
    target_path: Text


class CopyRequest(TargetRequest):
    """A file or directory, and the path of its copy."""

    dereference: bool | None = False


class ExtractRequest(TargetRequest):
    """An archive, and the directory for its files."""

    compression: Compression | None = "urn:doe-iri:compression:gzip"


class CompressRequest(CopyRequest):
    """A file or directory, and the path of its archive."""

    match_pattern: str | None = None
    compression: Compression | None = "urn:doe-iri:compression:gzip"


class Status(StrEnum):
    """The status of a resource."""

    UP = "up"
    DOWN = "down"
    DEGRADED = "degraded"
    UNKNOWN = "unknown"


class InvalidParam(BaseModel):
    """A member of a request that is refused."""

    name: str
    reason: str


class Problem(BaseModel):
    """Why a request failed, by RFC 9457."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    invalid_params: list[InvalidParam] | None = None


class Answer(BaseModel):
    """What all objects have."""

    attributes: Annotated[dict[str, Any] | None, Field(description="What is particular to this type.")] = None


class NamedObject(Answer):
    """What all named objects have."""

    model_config = ConfigDict(serialize_by_alias=True)

    id: str
    name: str
    description: str
    last_modified: dt.datetime
    self_uri: str
    links: Annotated[dict[str, Any], Field(alias="_links")]


class Facility(NamedObject):
    """The facility."""

    short_name: str
    site_uris: list[str]
    organization_name: str | None = None
    support_uri: str | None = None


class Site(NamedObject):
    """A place of the facility."""

    short_name: str
    operating_organization: str | None
    country_name: str | None = None
    locality_name: str | None = None
    state_or_province_name: str | None = None
    street_address: str | None = None
    unlocode: str | None = None
    altitude: float | None = None
    latitude: float | None = None
    longitude: float | None = None
    resource_uris: list[str]


class Resource(NamedObject):
    """A machine with a batch system."""

    group: str
    current_status: Status
    resource_type: str
    supported_endpoints: list[Literal["compute", "filesystem"]]
    site_uri: str
    capability_uris: list[str]


class Event(NamedObject):
    """A change of a resource's status."""

    occurred_at: dt.datetime
    status: Status
    resource_uri: str
    incident_uri: str | None


class IncidentType(StrEnum):
    """The type of an incident."""

    PLANNED = "planned"
    UNPLANNED = "unplanned"
    RESERVATION = "reservation"


class Resolution(StrEnum):
    """How an incident ended."""

    UNRESOLVED = "unresolved"
    CANCELLED = "cancelled"
    COMPLETED = "completed"
    EXTENDED = "extended"
    PENDING = "pending"


class Incident(NamedObject):
    """An incident."""

    status: Status
    start: dt.datetime
    end: dt.datetime | None = None
    type: IncidentType
    resolution: Resolution
    event_uris: list[str]
    resource_uris: list[str]


class Capability(NamedObject):
    """What can be asked for of a resource."""

    units: list[str]


class WhoAmI(BaseModel):
    """The user of a token."""

    username: str


class Project(Answer):
    """A project that pays for jobs."""

    id: str
    name: str
    description: str
    user_ids: list[str]
    last_modified: dt.datetime
    self_uri: str


class AllocationEntry(Answer):
    """An amount."""

    allocation: float
    usage: float
    unit: str


class ProjectAllocation(Answer):
    """What a project may use of a capability."""

    id: str
    entries: list[AllocationEntry]
    project_uri: str
    capability_uri: str


class UserAllocation(Answer):
    """What a user may use of a project."""

    id: str
    user_id: str
    entries: list[AllocationEntry]
    project_allocation_uri: str


class JobStatus(Answer):
    """The status of a job."""

    state: Literal["new", "queued", "held", "active", "completed", "failed", "canceled"]
    time: float | None = None
    message: str | None = None
    exit_code: int | None = None
    meta_data: dict[str, Any] | None = None


class Job(Answer):
    """A job."""

    id: str
    status: JobStatus | None = None
    job_spec: JobSpec | None = None


class TaskSubmitResponse(BaseModel):
    """A task that has begun."""

    task_id: str
    task_uri: str


class TaskCommand(BaseModel):
    """What a task does."""

    router: str
    command: str
    args: dict[str, Any]


class Task(BaseModel):
    """A task."""

    id: str
    status: Literal["pending", "active", "completed", "failed", "canceled"]
    result: dict[str, Any] | None = None
    command: TaskCommand | None = None


class StorageInstance(BaseModel):
    """A file system."""

    logical_name: LogicalName
    path: str
    filesystem: str | None = None
    performance_tier: str | None = None
    purge_policy_days: int | None = None
    shared: bool | None = None
    access: dict[Literal["read", "write", "execute"], bool]


class AccessEndpoint(BaseModel):
    """A way to a file system."""

    id: str
    resource_id: str
    protocol: AccessProtocol
    display_name: str | None = None
    auth_type: str
    capabilities: list[Literal["list", "read", "write", "transfer", "streaming"]]
    endpoint_id: str | None = None
    uri: str | None = None
    root_path: str | None = None
    endpoint: str | None = None
    bucket: str | None = None
    region: str | None = None
    endpoint_url: str | None = None
