"""The facility: its resources and users, and their descriptions in the API.

Each user has an account: a record of jobs, resources whose SHELL runs as that user, and tasks. Only here is known how many
there are.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import functools
import glob
import logging
import os
import re
import time
from typing import TYPE_CHECKING, Any, Final, final

from osprofile.errors import OSProfileError, SettingError
from osprofile.executors.facility.compute import Health, Quota, Resource
from osprofile.executors.facility.job_spec import MEMBER_BY_FIELD
from osprofile.executors.facility.problems import ProblemError
from osprofile.executors.facility.rate import MAX_AT_ONCE, Rate
from osprofile.executors.facility.tasks import TaskList
from osprofile.executors.facility.users import is_user
from osprofile.jobs.client import JobClient
from osprofile.jobs.profiles import describe_job_fields, keep_profile, load_for_jobs, load_profile
from osprofile.jobs.record.store import default_store_path, put_user_name
from osprofile.jobs.timing import Timing
from osprofile.text import suggest_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from osprofile.executors.facility.settings import Settings
    from osprofile.jobs.target_system import TargetSystem

log: Final = logging.getLogger("osprofile.facility")
FACILITY_ID: Final = "facility"
SITE_ID: Final = "site"
RESOURCE_TYPE: Final = "urn:doe-iri:resource:compute"
NODE_HOURS: Final = "urn:doe-iri:allocation:compute:node-hours"
_QUEUE_TIMEOUT: Final = 30.0
"""In seconds: how long a request waits while a batch system takes no more jobs."""
_ENDPOINTS: Final = ("compute", "filesystem")
_HIDDEN_FIELDS: Final = frozenset({"ARGUMENTS", "ENVIRONMENT"})


@final
class Account:
    """A user of the facility: the resources as that user, by id, and the user's tasks."""

    def __init__(
        self, user_name: str, resources: Mapping[str, Resource], client: JobClient, rate: Rate
    ) -> None:
        self.user_name, self.resources, self.rate = user_name, resources, rate
        self.tasks = TaskList()
        self._client = client

    def start(self) -> None:
        """Follow the jobs of the record from now on."""
        for resource in self.resources.values():
            resource.start()
            self._client.recover_submissions(resource.target)

    def get_resource(self, resource_id: str) -> Resource:
        """Return a resource. Raises `ProblemError` if there is none."""
        if resource_id not in self.resources:
            hint = suggest_names(resource_id, self.resources)
            raise ProblemError("not-found", "there is no such resource", hint=hint)
        return self.resources[resource_id]

    async def close(self) -> None:
        """Stop the tasks, and stop following jobs, which continue to run."""
        await self.tasks.close()
        for resource in self.resources.values():
            await resource.close()
        await self._client.close()


@final
class Facility:
    """The facility of the settings; `root` is the public address of the API, without a `/` at its end.

    `user_name` is that of this process. Profiles are loaded at once. Raises `OSProfileError` for one that is missing or
    wrong, and was not kept.
    """

    def __init__(self, settings: Settings, user_name: str, root: str) -> None:
        self.settings, self.root = settings, root
        self._started = time.time()
        self._users = self._list_users() if settings.is_shared else [user_name]
        """The users whose jobs are followed before they come."""
        some_user = next(iter(self._users), user_name)
        record = self._get_store_path(some_user)
        self.profiles = {
            resource_id: load_for_jobs(
                functools.partial(load_profile, resource.profile, settings.profiles), resource.profile, record
            )
            for resource_id, resource in settings.resources.items()
        }
        """The profiles of the resources by their ids; kept here too, as each user has a record."""
        for profile in self.profiles.values():
            keep_profile(profile, record)
        self._health = {resource_id: Health() for resource_id in self.profiles}
        self._accounts: dict[str, Account] = {}
        self._check_resources(some_user)

    def _check_resources(self, user_name: str) -> None:
        """Raise `OSProfileError` if a user cannot have the resources, or has one twice."""
        names: dict[str, str] = {}
        client = JobClient(":memory:")
        with contextlib.closing(client.store):
            for resource_id in self.profiles:
                name = self._open_target(resource_id, user_name, client).name
                if name in names:
                    message = f"resources.{resource_id} is the same as resources.{names[name]}: {name}"
                    raise SettingError(message, hint="leave one of them out")
                names[name] = resource_id

    def _open_target(self, resource_id: str, user_name: str, client: JobClient) -> TargetSystem:
        settings = self.settings
        context = settings.resources[resource_id].build_context(user_name, is_shared=settings.is_shared)
        return client.open_target(self.profiles[resource_id], context)

    def _get_store_path(self, user_name: str) -> str:
        path = self.settings.store or default_store_path()
        if self.settings.is_shared and not self.settings.store:
            path = os.path.join(os.path.dirname(path), "facility", "{user}.db")
        return put_user_name(path, user_name)

    def _list_users(self) -> list[str]:
        """Return the users that have a record; those of the table, if there is one."""
        path = self._get_store_path("{user}")
        pattern = re.compile(re.escape(path).replace(re.escape("{user}"), "([^/]+)"))
        found = {
            match[1] for file in glob.iglob(path.replace("{user}", "*")) if (match := pattern.fullmatch(file))
        }
        users = found & {*self.settings.users.values()} if self.settings.users else found
        return sorted(name for name in users if is_user(self.settings, name))

    def open_account(self, user_name: str) -> Account:
        """Return the account of a user, which is opened if it is not yet."""
        if user_name not in self._accounts:
            client = JobClient(
                self._get_store_path(user_name),
                timing=Timing(queue_timeout=_QUEUE_TIMEOUT),
                max_parallel_scripts=self.settings.at_once,
            )
            quota = Quota(self.settings.live_jobs)
            resources = {
                resource_id: Resource(
                    resource_id,
                    self._open_target(resource_id, user_name, client),
                    self.settings.max_age,
                    self._health[resource_id],
                    quota,
                )
                for resource_id in self.profiles
            }
            at_once = MAX_AT_ONCE if self.settings.is_shared else 0
            rate = Rate(self.settings.requests_per_minute, at_once)
            self._accounts[user_name] = Account(user_name, resources, client, rate)
            self._accounts[user_name].start()
        return self._accounts[user_name]

    def start(self) -> None:
        """Follow the jobs of the users that have a record from now on, and those of others when they come.

        Raises `OSProfileError` for the record of the only user; of many, the others do not depend on it.
        """
        for user_name in self._users:
            try:
                self.open_account(user_name)
            except OSProfileError as error:
                if not self.settings.is_shared:
                    raise
                log.warning("the jobs of %s are not followed: %s", user_name, error)

    async def close(self) -> None:
        """Stop following jobs, which continue to run."""
        for account in self._accounts.values():
            await account.close()

    # Facility and status

    def format_facility(self) -> dict[str, Any]:
        """Return the facility."""
        settings = self.settings
        facility = self._describe(FACILITY_ID, "/facility", settings.name, settings.description)
        facility |= {"short_name": settings.name, "site_uris": [f"{self.root}/facility/sites/{SITE_ID}"]}
        if settings.organization:
            facility["organization_name"] = settings.organization
        if settings.support_uri:
            facility["support_uri"] = settings.support_uri
        return facility

    def format_site(self) -> dict[str, Any]:
        """Return the only site."""
        settings = self.settings
        return self._describe(SITE_ID, f"/facility/sites/{SITE_ID}", settings.name, settings.description) | {
            "short_name": settings.name,
            "operating_organization": settings.organization or None,
            "resource_uris": [f"{self.root}/status/resources/{name}" for name in self.profiles],
            **settings.address,
        }

    async def format_resource(self, resource_id: str) -> dict[str, Any]:
        """Return a resource, with whether its batch system answers. Raises `ProblemError`."""
        if resource_id not in self.profiles:
            raise ProblemError("not-found", "there is no such resource")
        settings, health = self.settings.resources[resource_id], self._health[resource_id]
        if not self.settings.is_shared:  # else it is known from what users ask: nobody else asks anything
            for account in self._accounts.values():
                await health.check(account.resources[resource_id].target)
        found = self._describe(
            resource_id,
            f"/status/resources/{resource_id}",
            settings.name or resource_id,
            settings.description or f"the profile {settings.profile}",
            max(self._started, health.since),
        )
        if settings.attributes:
            found["attributes"] = dict(settings.attributes)
        return found | {
            "group": settings.group or settings.profile,
            "current_status": health.status,
            "resource_type": RESOURCE_TYPE,
            "supported_endpoints": list(_ENDPOINTS),
            "site_uri": f"{self.root}/facility/sites/{SITE_ID}",
            "capability_uris": [f"{self.root}/account/capabilities/{resource_id}"],
        }

    async def list_resources(self) -> list[dict[str, Any]]:
        """Return all resources."""
        return [*await asyncio.gather(*map(self.format_resource, self.profiles))]

    # Accounts

    def format_capability(self, resource_id: str) -> dict[str, Any]:
        """Return what can be asked for of a resource: the members of a JobSpec, with their limits. Raises `ProblemError`."""
        if resource_id not in self.profiles:
            raise ProblemError("not-found", "there is no such capability")
        name = self.settings.resources[resource_id].name or resource_id
        capability = self._describe(
            resource_id, f"/account/capabilities/{resource_id}", name, f"node hours of {name}"
        )
        fields = describe_job_fields(self.profiles[resource_id]).fields
        capability["units"] = [NODE_HOURS]
        capability["attributes"] = {
            "job_spec": {
                MEMBER_BY_FIELD.get(field, f"attributes.custom_attributes.{field}"): _describe_values(
                    row.description, row.default, row.range_text, row.tags
                )
                for field, row in fields.items()
                if field not in _HIDDEN_FIELDS
            }
        }
        return capability

    def list_capabilities(self) -> list[dict[str, Any]]:
        """Return the capabilities of all resources."""
        return [self.format_capability(resource_id) for resource_id in self.profiles]

    def list_projects(self, account: Account) -> list[dict[str, Any]]:
        """Return the projects that the profiles name: the default of the field PROJECT, and its tags."""
        found: dict[str, list[str]] = {}
        for resource_id, resource in account.resources.items():
            row = describe_job_fields(resource.target.profile).fields.get("PROJECT")
            for project in dict.fromkeys(filter(None, (row.default, *row.tags))) if row is not None else ():
                found.setdefault(project, []).append(resource_id)
        return [
            {
                "id": project,
                "name": project,
                "description": f"a project of {', '.join(resource_ids)}",
                "user_ids": [account.user_name],
                "last_modified": _format_time(self._started),
                "self_uri": f"{self.root}/account/projects/{project}",
            }
            for project, resource_ids in found.items()
        ]

    def format_task_answer(self, task_id: str) -> dict[str, Any]:
        """Return the answer to a request that has begun a task."""
        return {"task_id": task_id, "task_uri": f"{self.root}/task/{task_id}"}

    def _describe(
        self, object_id: str, path: str, name: str, description: str, modified: float | None = None
    ) -> dict[str, Any]:
        """Return what all named objects have."""
        uri = f"{self.root}{path}"
        return {
            "id": object_id,
            "name": name,
            "description": description or name,
            "last_modified": _format_time(modified or self._started),
            "self_uri": uri,
            "_links": {"self": {"href": uri}},
        }


def _describe_values(description: str, default: str, limits: str, tags: Sequence[str]) -> dict[str, Any]:
    values: dict[str, Any] = {"description": description}
    if default:
        values["default"] = default
    if limits:
        values["limits"] = limits
    if tags:
        values["values"] = list(tags)
    return values


def _format_time(moment: float) -> str:
    return dt.datetime.fromtimestamp(moment, dt.UTC).isoformat()
