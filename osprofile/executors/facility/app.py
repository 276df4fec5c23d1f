"""The application of FastAPI: it parses requests, and answers with what the facility returns.

Nothing is decided here.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import re
from typing import TYPE_CHECKING, Annotated, Any, Final

import fastapi
from fastapi import Depends, File, Header, Path, Query, UploadFile
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from pydantic import BeforeValidator
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.responses import Response

from osprofile import __version__
from osprofile.errors import OSProfileError
from osprofile.executors.facility import filesystem, models
from osprofile.executors.facility.compute import Resource
from osprofile.executors.facility.facility import NODE_HOURS, SITE_ID, Account, Facility
from osprofile.executors.facility.gate import PREFIX, Gate, JsonResponse, name_request, respond
from osprofile.executors.facility.job_states import JobFilter
from osprofile.executors.facility.problems import (
    KIND_BY_STATUS,
    STATUS_BY_KIND,
    InvalidParameter,
    ProblemError,
    check_key,
    find_problem,
    refuse_members,
)
from osprofile.executors.facility.settings import require_extra

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence

    from starlette.types import ASGIApp

    from osprofile.executors.facility.tokens import Client

MAX_BODY_SIZE: Final = 1 << 20
"""Bytes of a request."""
MAX_UPLOAD_SIZE: Final = filesystem.MAX_SIZE + (64 << 10)
"""Bytes of an upload: the file, and what multipart/form-data puts around it."""
_ISO_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def _get_account(request: fastapi.Request) -> Account:
    account: Account = request.state.account
    return account


async def _forbid_other_parameters(request: fastapi.Request) -> None:
    """Refuse query parameters that an operation does not have, or that are given twice."""
    known = {param.alias for param in request.scope["route"].dependant.query_params}
    names = [name for name, _ in request.query_params.multi_items()]
    refusals = [
        InvalidParameter(n, "there is no such parameter") for n in dict.fromkeys(names) if n not in known
    ]
    repeated = {n for n in names if names.count(n) > 1 and n in known - _LIST_PARAMETERS}
    refusals += [InvalidParameter(n, "it is given twice") for n in sorted(repeated)]
    if refusals:
        raise refuse_members(refusals)


_LIST_PARAMETERS: Final = frozenset({"capability"})
User = Annotated[Account, Depends(_get_account)]
ResourceId = Annotated[str, Path()]


def _get_resource(user: User, resource_id: ResourceId) -> Resource:
    """Return the resource of the path: one that is not there is told before anything else of a request is checked."""
    return user.get_resource(resource_id)


UserResource = Annotated[Resource, Depends(_get_resource)]
Offset = Annotated[int, Query(ge=0)]
Limit = Annotated[int, Query(ge=0, le=1000)]
Name = Annotated[str | None, Query(min_length=1)]


def _require_iso_time(value: object) -> object:
    """Refuse a number, which pydantic would take for seconds."""
    if isinstance(value, str) and not _ISO_DATE.match(value):
        message = "it is no time of ISO 8601, as in 2026-12-31T12:00:00Z"
        raise ValueError(message)
    return value


_Time = Annotated[dt.datetime | None, BeforeValidator(_require_iso_time)]
Moment = Annotated[_Time, Query()]
IdempotencyKey = Annotated[str | None, Header(alias="Idempotency-Key")]
_bearer: Final = HTTPBearer(auto_error=False)


def _is_newer(item: Mapping[str, Any], since: dt.datetime | None) -> bool:
    if since is None:
        return True
    aware = since if since.tzinfo is not None else since.replace(tzinfo=dt.UTC)
    return dt.datetime.fromisoformat(str(item["last_modified"])) >= aware


def _answer_if_newer(item: Mapping[str, Any], since: dt.datetime | None) -> Response:
    return JsonResponse(item) if _is_newer(item, since) else Response(status_code=304)


def _filter_named(
    items: Iterable[dict[str, Any]],
    since: dt.datetime | None = None,
    offset: int = 0,
    limit: int = 1000,
    **values: str | None,
) -> list[dict[str, Any]]:
    """Return the named objects that were modified since then, and have all values that are given."""
    found = [
        item
        for item in items
        if _is_newer(item, since)
        and all(value is None or item.get(name) == value for name, value in values.items())
    ]
    return found[offset : offset + limit]


def build_app(
    facility: Facility, find_client: Callable[[str], Awaitable[Client | None]], hosts: Sequence[str] = ()
) -> ASGIApp:
    """Return the application. `find_client` takes a header Authorization; `hosts` are names beside the loopback's."""
    agents = _build_agents(facility) if facility.settings.mcp else None

    @contextlib.asynccontextmanager
    async def run(_app: fastapi.FastAPI) -> AsyncIterator[None]:
        async with agents.session_manager.run() if agents is not None else contextlib.nullcontext():
            yield
        await facility.close()

    app = fastapi.FastAPI(
        title="IRI Facility API",
        version="2.0.0",
        description=f"{facility.settings.name}, by osprofile {__version__}",
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=run,
        redirect_slashes=False,
        max_body_size=MAX_BODY_SIZE,
        servers=[{"url": facility.root.removesuffix(PREFIX)}],
    )
    _add_error_handlers(app, facility.root)
    for add_routes in (
        _add_facility,
        _add_status,
        _add_account,
        _add_compute,
        _add_filesystem,
        _add_storage,
        _add_tasks,
    ):
        add_routes(app, facility)
    if agents is not None:
        transport = agents.streamable_http_app(
            json_response=True,
            stateless_http=True,
            max_request_body_size=MAX_BODY_SIZE,
            host="",  # `Gate` looks at the header Host
        )
        app.router.routes.extend(transport.routes)
    return Gate(app, facility, find_client, hosts)


def _get_account_of_agent(context: Any) -> Account:
    account: Account = context.request.state.account
    return account


def _note_of_agent(context: Any, facts: Mapping[str, object]) -> None:
    context.request.state.audit.update(facts)


def _build_agents(facility: Facility) -> Any:
    """Return the server of tools for agents, at /mcp."""
    with require_extra("mcp", "mcp = true: "):
        from osprofile.executors.facility.mcp_server import build_server
    return build_server(facility, _get_account_of_agent, _note_of_agent)


def _add_error_handlers(app: fastapi.FastAPI, root: str) -> None:
    async def answer_problem(request: fastapi.Request, error: Exception) -> Response:
        return respond(find_problem(error, name_request(request.scope)), root, request.url.path)

    async def answer_validation(request: fastapi.Request, error: Exception) -> Response:
        details = error.errors() if isinstance(error, RequestValidationError) else ()
        return respond(refuse_members(list(_list_invalid(details))), root, request.url.path)

    async def answer_http(request: fastapi.Request, error: Exception) -> Response:
        if not isinstance(error, StarletteHTTPException):
            raise error
        kind = KIND_BY_STATUS.get(error.status_code, "invalid-parameter")
        hint = f"the API is at {PREFIX}" if kind == "not-found" else ""
        response = respond(ProblemError(kind, str(error.detail), hint=hint), root, request.url.path)
        if error.status_code == STATUS_BY_KIND["method-not-allowed"]:
            response.headers["Allow"] = ", ".join(_list_methods(app, request.url.path))
        return response

    app.add_exception_handler(OSProfileError, answer_problem)
    app.add_exception_handler(Exception, answer_problem)
    app.add_exception_handler(RequestValidationError, answer_validation)
    app.add_exception_handler(StarletteHTTPException, answer_http)


def _list_methods(app: fastapi.FastAPI, path: str) -> list[str]:
    """Return the methods of a path: each has a route of its own."""
    routes = [r for r in app.routes if isinstance(r, APIRoute) and r.path_regex.match(path)]
    return sorted({method for route in routes for method in route.methods or ()})


def _list_invalid(errors: Sequence[Any]) -> Iterable[InvalidParameter]:
    """Return what FastAPI refuses: the paths of members, without where they were found (body, query)."""
    for error in errors:
        place = [str(part) for part in error.get("loc", ())]
        yield InvalidParameter(".".join(place[1:]) or "body", str(error.get("msg", "it is not valid")))


_PROBLEMS: Final[dict[int | str, dict[str, Any]]] = {
    304: {"description": "It has not changed since then."},
    **{
        status: {"model": models.Problem, "content": {"application/problem+json": {}}}
        for status in (400, 401, 403, 404, 405, 408, 409, 413, 422, 429, 500, 501, 503, 504)
    },
}


def _route(
    app: fastapi.FastAPI,
    method: str,
    path: str,
    operation_id: str,
    model: Any,
    *,
    is_public: bool = False,
    status: int = 200,
    max_body_size: int | None = None,
) -> Callable[[Callable[..., Awaitable[Any]]], Callable[..., Awaitable[Any]]]:
    """Return a decorator for the function of an operation, which returns JSON."""

    def add(function: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        dependencies = [Depends(_forbid_other_parameters)] + ([] if is_public else [Depends(_bearer)])
        group = path.split("/")[1]
        responses: dict[int | str, dict[str, Any]] = dict(_PROBLEMS)
        app.api_route(
            PREFIX + path,
            methods=[method],
            operation_id=operation_id,
            response_model=None,
            status_code=status,
            responses={**responses, status: {"model": model} if model is not None else {}},
            response_class=Response if model is None else JsonResponse,
            dependencies=dependencies,
            tags=[group],
            max_body_size=max_body_size,
        )(function)
        return function

    return add


def _add_facility(app: fastapi.FastAPI, facility: Facility) -> None:
    @_route(app, "GET", "/facility", "getFacility", models.Facility, is_public=True)
    async def get_facility(modified_since: Moment = None) -> Any:
        return _answer_if_newer(facility.format_facility(), modified_since)

    @_route(app, "GET", "/facility/sites", "getSites", list[models.Site], is_public=True)
    async def get_sites(
        modified_since: Moment = None,
        name: Name = None,
        offset: Offset = 0,
        limit: Limit = 100,
        short_name: Name = None,
    ) -> Any:
        sites = [facility.format_site()]
        return JsonResponse(
            _filter_named(sites, modified_since, offset, limit, name=name, short_name=short_name)
        )

    @_route(app, "GET", "/facility/sites/{site_id}", "getSite", models.Site, is_public=True)
    async def get_site(site_id: str, modified_since: Moment = None) -> Any:
        if site_id != SITE_ID:
            raise ProblemError("not-found", "there is no such site")
        return _answer_if_newer(facility.format_site(), modified_since)


def _add_status(app: fastapi.FastAPI, facility: Facility) -> None:
    @_route(app, "GET", "/status/resources", "getResources", list[models.Resource], is_public=True)
    async def get_resources(
        name: Name = None,
        description: Name = None,
        group: Name = None,
        offset: Offset = 0,
        limit: Limit = 100,
        modified_since: Moment = None,
        resource_type: Annotated[models.Urn | None, Query()] = None,
        current_status: Annotated[models.Status | None, Query()] = None,
        capability: Annotated[list[models.AllocationUrn] | None, Query()] = None,
    ) -> Any:
        resources = [
            resource
            for resource in await facility.list_resources()
            if (description is None or description in resource["description"])
            and (resource_type is None or f"{resource['resource_type']}:".startswith(f"{resource_type}:"))
            and (not capability or NODE_HOURS in capability)
        ]
        status = current_status and current_status.value
        return JsonResponse(
            _filter_named(
                resources, modified_since, offset, limit, name=name, group=group, current_status=status
            )
        )

    @_route(app, "GET", "/status/resources/{resource_id}", "getResource", models.Resource, is_public=True)
    async def get_resource(resource_id: ResourceId) -> Any:
        return JsonResponse(await facility.format_resource(resource_id))

    @_route(app, "GET", "/status/incidents", "getIncidents", list[models.Incident], is_public=True)
    async def get_incidents(
        name: Name = None,
        description: Name = None,
        status: Annotated[models.Status | None, Query()] = None,
        type_: Annotated[models.IncidentType | None, Query(alias="type")] = None,
        from_: Annotated[_Time, Query(alias="from")] = None,
        time_: Annotated[_Time, Query(alias="time")] = None,
        to: Moment = None,
        modified_since: Moment = None,
        resource_id: Name = None,
        offset: Offset = 0,
        limit: Limit = 100,
        resolution: Annotated[models.Resolution | None, Query()] = None,
    ) -> Any:
        return JsonResponse([])

    @_route(app, "GET", "/status/incidents/{incident_id}", "getIncident", models.Incident, is_public=True)
    async def get_incident(incident_id: str) -> Any:
        raise ProblemError("not-found", "there is no such incident")

    @_route(app, "GET", "/status/events", "getEventsByIncident", list[models.Event], is_public=True)
    async def get_events(
        incident_id: Name = None,
        resource_id: Name = None,
        name: Name = None,
        description: Name = None,
        status: Annotated[models.Status | None, Query()] = None,
        from_: Annotated[_Time, Query(alias="from")] = None,
        time_: Annotated[_Time, Query(alias="time")] = None,
        to: Moment = None,
        modified_since: Moment = None,
        offset: Offset = 0,
        limit: Limit = 100,
    ) -> Any:
        return JsonResponse([])

    @_route(app, "GET", "/status/events/{event_id}", "getEventByIncident", models.Event, is_public=True)
    async def get_event(event_id: str) -> Any:
        raise ProblemError("not-found", "there is no such event")


def _add_account(app: fastapi.FastAPI, facility: Facility) -> None:
    projects = "/account/projects"
    allocations = f"{projects}/{{project_id}}/project_allocations"
    user_allocations = f"{allocations}/{{project_allocation_id}}/user_allocations"

    def find_project(account: Account, project_id: str) -> dict[str, Any]:
        for project in facility.list_projects(account):
            if project["id"] == project_id:
                return project
        raise ProblemError("not-found", "there is no such project")

    def refuse_allocation(account: Account, project_id: str) -> ProblemError:
        find_project(account, project_id)
        return ProblemError("not-found", "there is no such allocation: profiles have no allocations")

    @_route(app, "GET", "/account/capabilities", "getCapabilities", list[models.Capability], is_public=True)
    async def get_capabilities(
        name: Name = None,
        modified_since: Moment = None,
        offset: Annotated[int, Query(ge=0, le=1000)] = 0,
        limit: Limit = 100,
    ) -> Any:
        return JsonResponse(
            _filter_named(facility.list_capabilities(), modified_since, offset, limit, name=name)
        )

    @_route(
        app,
        "GET",
        "/account/capabilities/{capability_id}",
        "getCapability",
        models.Capability,
        is_public=True,
    )
    async def get_capability(capability_id: str, modified_since: Moment = None) -> Any:
        return _answer_if_newer(facility.format_capability(capability_id), modified_since)

    @_route(app, "GET", "/account/whoami", "whoami", models.WhoAmI)
    async def whoami(user: User) -> Any:
        return JsonResponse({"username": user.user_name})

    @_route(app, "GET", projects, "getProjects", list[models.Project])
    async def get_projects(user: User) -> Any:
        return JsonResponse(facility.list_projects(user))

    @_route(app, "GET", f"{projects}/{{project_id}}", "getProject", models.Project)
    async def get_project(user: User, project_id: str) -> Any:
        return JsonResponse(find_project(user, project_id))

    @_route(app, "GET", allocations, "getProjectAllocationsByProject", list[models.ProjectAllocation])
    async def get_allocations(user: User, project_id: str) -> Any:
        find_project(user, project_id)
        return JsonResponse([])

    @_route(
        app,
        "GET",
        f"{allocations}/{{project_allocation_id}}",
        "getProjectAllocationByProject",
        models.ProjectAllocation,
    )
    async def get_allocation(user: User, project_id: str, project_allocation_id: str) -> Any:
        raise refuse_allocation(user, project_id)

    @_route(
        app, "GET", user_allocations, "getUserAllocationsByProjectAllocation", list[models.UserAllocation]
    )
    async def get_user_allocations(user: User, project_id: str, project_allocation_id: str) -> Any:
        raise refuse_allocation(user, project_id)

    @_route(
        app,
        "GET",
        f"{user_allocations}/{{user_allocation_id}}",
        "getUserAllocationByProjectAllocation",
        models.UserAllocation,
    )
    async def get_user_allocation(
        user: User,
        project_id: str,
        project_allocation_id: str,
        user_allocation_id: str,
    ) -> Any:
        raise refuse_allocation(user, project_id)


def _add_compute(app: fastapi.FastAPI, facility: Facility) -> None:
    @_route(app, "GET", "/compute/resources", "getComputeResources", list[models.Resource], is_public=True)
    async def get_resources() -> Any:
        return JsonResponse(await facility.list_resources())

    @_route(app, "POST", "/compute/job/{resource_id}", "launchJob", models.Job)
    async def launch_job(
        request: fastapi.Request, resource: UserResource, job_spec: models.JobSpec, key: IdempotencyKey = None
    ) -> Any:
        resource.require_no_confirmation()
        spec = job_spec.model_dump(exclude_unset=True)
        job = await resource.launch_job(spec, check_key(key, "Idempotency-Key"))
        request.state.audit["job"] = job["id"]
        return JsonResponse(job)

    @_route(app, "PUT", "/compute/job/{resource_id}/{job_id}", "updateJob", models.Job)
    async def update_job(
        resource: UserResource, job_id: str, job_spec: models.JobSpec, key: IdempotencyKey = None
    ) -> Any:
        check_key(key, "Idempotency-Key")
        return JsonResponse(await resource.update_job(job_id, job_spec.model_dump(exclude_unset=True)))

    @_route(app, "GET", "/compute/status/{resource_id}/{job_id}", "getJob", models.Job)
    async def get_job(
        resource: UserResource, job_id: str, *, historical: bool = True, include_spec: bool = False
    ) -> Any:
        return JsonResponse(await resource.get_job(job_id, historical=historical, include_spec=include_spec))

    @_route(app, "POST", "/compute/status/{resource_id}", "getJobs", list[models.Job])
    async def get_jobs(
        resource: UserResource,
        filters: dict[str, Any] | None = None,
        offset: Offset = 0,
        limit: Limit = 100,
        *,
        historical: bool = False,
        include_spec: bool = False,
    ) -> Any:
        return JsonResponse(
            await resource.list_jobs(
                JobFilter.parse(filters),
                offset=offset,
                limit=limit,
                historical=historical,
                include_spec=include_spec,
            )
        )

    @_route(app, "DELETE", "/compute/cancel/{resource_id}/{job_id}", "cancelJob", None, status=204)
    async def cancel_job(resource: UserResource, job_id: str) -> Any:
        resource.require_no_confirmation()
        await resource.cancel_job(job_id)
        return Response(status_code=204)


_BODIES: Final[dict[str, type[models.PathRequest]]] = {
    "ls": models.ListRequest,
    "stat": models.StatRequest,
    "file": models.PathRequest,
    "view": models.ViewRequest,
    "head": models.HeadRequest,
    "tail": models.TailRequest,
    "download": models.PathRequest,
    "rm": models.PathRequest,
    "checksum": models.PathRequest,
    "chmod": models.ModeRequest,
    "chown": models.OwnerRequest,
    "compress": models.CompressRequest,
    "cp": models.CopyRequest,
    "extract": models.ExtractRequest,
    "mkdir": models.MakeDirectoryRequest,
    "mv": models.TargetRequest,
    "symlink": models.LinkRequest,
}
_CREATING: Final = frozenset({"compress", "cp", "extract", "mkdir", "mv", "symlink"})
"""The operations that are answered with 201."""


def _add_filesystem(app: fastapi.FastAPI, facility: Facility) -> None:
    @_route(
        app, "POST", "/filesystem/resources", "getFilesystemResources", list[models.Resource], is_public=True
    )
    async def get_resources() -> Any:
        return JsonResponse(await facility.list_resources())

    def add_operation(command: str, body: type[models.PathRequest]) -> None:
        model, status = models.TaskSubmitResponse, 201 if command in _CREATING else 200

        async def begin(
            request: fastapi.Request, user: User, resource: UserResource, request_model: models.PathRequest
        ) -> Any:
            args, target = request_model.model_dump(exclude_none=True, mode="json"), resource.target
            request.state.audit["files"] = args
            filesystem.check_request(command, args)
            task = user.tasks.start(command, args, filesystem.run_operation(target, command, args))
            return JsonResponse(facility.format_task_answer(task.task_id), status)

        begin.__annotations__["request_model"] = body
        _route(app, "POST", f"/filesystem/{command}/{{resource_id}}", command, model, status=status)(begin)

    for command, body in _BODIES.items():
        add_operation(command, body)

    @_route(
        app,
        "POST",
        "/filesystem/upload/{resource_id}",
        "upload",
        models.TaskSubmitResponse,
        max_body_size=MAX_UPLOAD_SIZE,
    )
    async def upload(
        request: fastapi.Request,
        user: User,
        resource: UserResource,
        path: Annotated[str, Query()],
        file: Annotated[UploadFile, File()],
    ) -> Any:
        request.state.audit["files"] = {"path": path}
        filesystem.check_path(path)
        content = await file.read()
        if len(content) > filesystem.MAX_SIZE:
            raise ProblemError("too-large", f"a file has at most {filesystem.MAX_SIZE} bytes")
        task = user.tasks.start("upload", {"path": path}, filesystem.upload(resource.target, path, content))
        return JsonResponse(facility.format_task_answer(task.task_id))


def _add_storage(app: fastapi.FastAPI, _facility: Facility) -> None:
    message = "storage is not available: profiles do not describe file systems"

    @_route(
        app, "GET", "/storage/locations/{resource_id}", "getStorageLocations", list[models.StorageInstance]
    )
    async def get_locations(
        _resource: UserResource,
        logicalpath: Annotated[models.LogicalName | None, Query()] = None,
        project: Annotated[str | None, Query()] = None,
        allocation: Annotated[str | None, Query()] = None,
        intent: Annotated[models.StorageIntent | None, Query()] = None,
    ) -> Any:
        raise ProblemError("not-implemented", message)

    @_route(
        app,
        "GET",
        "/storage/access-endpoints/{resource_id}",
        "getStorageAccessEndpoints",
        list[models.AccessEndpoint],
    )
    async def get_access_endpoints(
        _resource: UserResource,
        protocol: Annotated[models.AccessProtocol | None, Query()] = None,
        endpoint_id: Annotated[str | None, Query()] = None,
    ) -> Any:
        raise ProblemError("not-implemented", message)


def _add_tasks(app: fastapi.FastAPI, _facility: Facility) -> None:
    @_route(app, "GET", "/task/{task_id}", "getTask", models.Task)
    async def get_task(user: User, task_id: str) -> Any:
        return JsonResponse(user.tasks.get(task_id).format())

    @_route(app, "GET", "/task", "getTasks", list[models.Task])
    async def get_tasks(user: User) -> Any:
        return JsonResponse([task.format() for task in user.tasks.list()])

    @_route(app, "DELETE", "/task/{task_id}", "deleteTask", str)
    async def delete_task(user: User, task_id: str) -> Any:
        user.tasks.delete(task_id)
        return JsonResponse(f"Task {task_id} deleted successfully")
