"""The settings of a facility, from TOML files (docs/facility.md, Settings).

name = "The cluster of our group"

[resources.cluster]
profile = "slurm"
host = "me@login.example.org"
"""

from __future__ import annotations

import contextlib
import json
import pwd
import re
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, final
from urllib.parse import urlsplit

from osprofile.errors import SettingError
from osprofile.executors.facility.users import USER_NAME, is_reserved
from osprofile.executors.settings import (
    NAME_HINT,
    Check,
    check_mapping,
    check_name,
    check_table,
    check_text,
    limit,
    read_file,
)
from osprofile.jobs.record.names import CLUSTER_FIELD, parse_host_context
from osprofile.jobs.record.store import put_user_name
from osprofile.text import suggest_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from urllib.parse import SplitResult

CONFIG_FILE: Final = "facility.toml"
RESOURCE_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}\Z")
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceSettings:
    """A resource: a profile, with the host and the cluster of its jobs.

    host: [USER@]HOST[:PORT], by ssh; empty for this machine. {user} stands for the user's name
    cluster: one of several clusters of the batch system
    attributes: what else clients are told of it
    """

    profile: str
    host: str = ""
    cluster: str = ""
    name: str = ""
    description: str = ""
    group: str = ""
    attributes: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    def build_context(self, user_name: str, *, is_shared: bool) -> dict[str, str]:
        """Return the special fields of a user's jobs; `is_shared`: the user is not the one of this process."""
        context = {"SUDO:USER": user_name} if is_shared else {}
        if self.host:
            context = parse_host_context(put_user_name(self.host, user_name))
        return {**context, **({CLUSTER_FIELD: self.cluster} if self.cluster else {})}


_DEFAULT_RESOURCES: Final = MappingProxyType({"linux": ResourceSettings(profile="linux")})


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings, each with its default. Times are in seconds.

    name, description, organization, support_uri, address: how the facility is described to clients
    port: the port of 127.0.0.1; 0 for a free one
    public_url: the address that clients use, if a reverse proxy is in front, as https://iri.example.org
    token_file: the file of the token; empty for facility-token beside the user's own record
    issuer, audience: whose tokens are valid, and for whom they must be; empty for one user
    jwks: the address or file of the issuer's keys; empty for what the issuer's own document says
    client_id, client_secret_file: who asks the issuer whether a token is valid; empty if its keys say so
    users: the users of this machine by the subjects of these tokens
    users_claim, users_command: or the claim that names the user, or the command that prints the name
    users_group: the group of this machine whose members alone are users
    requests_per_minute, live_jobs: what each user may have at most; 0 for any number
    profiles: directories that are searched for profiles first
    store: the file of the job record; empty for the user's own, or for facility/{user}.db beside it if there are many
    audit: the file with a line for each request
    log: the file of the log; empty for standard error. In all files, {user} stands for the user's name
    mcp: whether tools for agents are served, too, at /mcp
    metrics: a file for Prometheus, or 127.0.0.1:PORT
    at_once: how many scripts of one resource may run at a time
    max_age: how old a reported status may be
    resources: the resources by their ids
    """

    name: str = "osprofile"
    description: str = ""
    organization: str = ""
    support_uri: str = ""
    address: Mapping[str, str | float] = field(default_factory=lambda: MappingProxyType({}))
    port: int = 8020
    public_url: str = ""
    token_file: str = ""
    issuer: str = ""
    audience: str = ""
    jwks: str = ""
    client_id: str = ""
    client_secret_file: str = ""
    users: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    users_claim: str = ""
    users_command: tuple[str, ...] = ()
    users_group: str = ""
    requests_per_minute: int = 0
    live_jobs: int = 0
    profiles: tuple[str, ...] = ()
    store: str = ""
    audit: str = ""
    log: str = ""
    log_level: str = "info"
    mcp: bool = False
    metrics: str = ""
    at_once: int = 8
    max_age: float = 5.0
    resources: Mapping[str, ResourceSettings] = field(default_factory=lambda: _DEFAULT_RESOURCES)

    @property
    def is_shared(self) -> bool:
        """Whether it serves many users."""
        return bool(self.issuer)

    def check(self) -> None:
        """Raise `SettingError` if many users are served, but not each as that user, with a record of their own."""
        given = [name for name in _SHARED if getattr(self, name)]
        if not given:
            return
        sources = [name for name in given if name in _USER_SOURCES]
        missing = [name for name in ("issuer", "audience", "users") if name not in given]
        if missing and not (missing == ["users"] and sources):
            hint = f"many users need issuer, audience, and one of {', '.join(_USER_SOURCES)}; one user needs none"
            raise SettingError(f"{missing[0]} is missing", hint=hint)
        if len(sources) > 1:
            raise SettingError(f"{sources[1]} is given beside {sources[0]}", hint="one of them names a user")
        if bool(self.client_id) != bool(self.client_secret_file) or (self.client_id and self.jwks):
            message = "client_id needs client_secret_file, and no jwks"
            raise SettingError(message, hint="with them, the issuer is asked for each token")
        if not self.jwks:
            require_safe("issuer", self.issuer)
        self._check_shared()

    def _check_shared(self) -> None:
        if self.store and "{user}" not in self.store:
            raise SettingError(f"store = {self.store!r} has no {{user}}", hint="each user has a record")
        for resource_id, resource in self.resources.items():
            if resource.host and "{user}@" not in resource.host:
                message = (
                    f"resources.{resource_id}.host = {resource.host!r} is the same account for all users"
                )
                raise SettingError(message, hint="as in {user}@login.example.org")
        for user in self.users.values():
            with contextlib.suppress(KeyError):  # a user of another host
                if is_reserved(pwd.getpwnam(user)):
                    message = f"users: {user} is root, or whom this daemon runs as"
                    raise SettingError(message, hint="nothing runs as these")


_USER_SOURCES: Final = ("users", "users_claim", "users_command")
_SHARED: Final = (
    "issuer",
    "audience",
    "jwks",
    "client_id",
    "client_secret_file",
    *_USER_SOURCES,
    "users_group",
)
"""The settings of a facility for many users."""


def require_safe(name: str, address: str) -> str:
    """Return an address of the issuer. Raises `SettingError` unless it is https, or on this machine."""
    parts = _split_address(address)
    if parts is not None and (parts.scheme == "https" or parts.hostname in _LOOPBACK):
        return address
    message = f"{name} = {address!r}: whoever is on the way could replace the keys"
    raise SettingError(message, hint="https://..., or the path of a file for jwks")


def read_settings(path: str, settings: Settings) -> Settings:
    """Return settings with the changes of a file. Raises `SettingError` if it has errors."""
    return read_file(path, settings, _CHECKS, "port = 8020")


def _check_url(name: str, value: object) -> str:
    text = check_text(name, value).rstrip("/")
    if text and (_split_address(text) is None or any(c in text for c in "?#@\"'<> ")):
        raise SettingError(f"{name} = {value!r} is not an address", hint="as in https://iri.example.org")
    return text


def _split_address(text: str) -> SplitResult | None:
    """Return the parts of an address of HTTP; None if it is none."""
    with contextlib.suppress(ValueError):
        parts = urlsplit(text)
        if parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0:
            return parts
    return None


def _check_resources(name: str, value: object) -> Mapping[str, ResourceSettings]:
    if not isinstance(value, dict) or not value:
        raise SettingError(
            f"{name} = {value!r} has no tables", hint='as in: [resources.cluster] profile = "slurm"'
        )
    resources: dict[str, ResourceSettings] = {}
    for key, table in value.items():
        if not RESOURCE_ID.match(key):
            raise SettingError(f"{name}.{key}: not an id", hint=NAME_HINT)
        if not isinstance(table, dict) or "profile" not in table:
            raise SettingError(f"{name}.{key} has no profile", hint='as in: profile = "slurm"')
        checks: Mapping[str, Check] = {"profile": check_name, "attributes": _check_attributes}
        values = check_table(table, ResourceSettings, checks, f"{name}.{key}.")
        resources[key] = ResourceSettings(**values)
    return MappingProxyType(resources)


def _check_attributes(name: str, value: object) -> Mapping[str, Any]:
    attributes = check_mapping(name, value, 'vendor = "HPE"')
    try:
        json.dumps(attributes, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise SettingError(f"{name}: {error}", hint="texts, numbers, true, false, lists and tables") from None
    return MappingProxyType(attributes)


def _check_address(name: str, value: object) -> Mapping[str, str | float]:
    address = check_mapping(name, value, 'country_name = "France"')
    for member, item in address.items():
        if member not in _ADDRESS:
            raise SettingError(f"there is no setting {name}.{member}", hint=suggest_names(member, _ADDRESS))
        _ADDRESS[member](f"{name}.{member}", item)
    return MappingProxyType(address)


_ADDRESS: Final[Mapping[str, Check]] = {
    **dict.fromkeys(
        ("country_name", "locality_name", "state_or_province_name", "street_address", "unlocode"), check_text
    ),
    "altitude": limit(float, -1e6, 1e6, "a number"),
    "latitude": limit(float, -90, 90, "a number"),
    "longitude": limit(float, -180, 180, "a number"),
}
"""The members of a site that say where it is."""


def _check_users(name: str, value: object) -> Mapping[str, str]:
    users = check_mapping(name, value, '[users] "subject" = "alice"')
    for user in users.values():
        if not isinstance(user, str) or not USER_NAME.match(user):
            raise SettingError(f"{name}: {user!r} is not the name of a user", hint="as in alice")
    return MappingProxyType(users)


def _check_jwks(name: str, value: object) -> str:
    text = check_text(name, value)
    return text if not text or text.startswith("/") else require_safe(name, text)


def _check_command(name: str, value: object) -> tuple[str, ...]:
    if (
        not isinstance(value, list)
        or not all(isinstance(word, str) for word in value)
        or (value and not value[0].startswith("/"))
    ):
        raise SettingError(f"{name} = {value!r} is no command", hint='as in: ["/usr/local/bin/find-user"]')
    return tuple(value)


_CHECKS: Final[Mapping[str, Check]] = {
    "port": limit(int, 0, 65535),
    "at_once": limit(int, 1, 100),
    "max_age": limit(float, 0.1, 3600),
    "public_url": _check_url,
    "support_uri": _check_url,
    "address": _check_address,
    "resources": _check_resources,
    "users": _check_users,
    "users_command": _check_command,
    "requests_per_minute": limit(int, 0, 10**6),
    "live_jobs": limit(int, 0, 10**6),
    "jwks": _check_jwks,
}


@contextlib.contextmanager
def require_extra(name: str, subject: str = "") -> Iterator[None]:
    """Raise `SettingError`, whose message begins with `subject`, if a module of an extra of the package is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        hint = f"install it with its extra: pip install 'osprofile-hpc[{name}]'"
        raise SettingError(f"{subject}{error.name} is not installed", hint=hint) from None
