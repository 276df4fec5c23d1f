"""The settings of a site, from TOML files and the command line (docs/htcondor.md).

    map = { pbs = "torque" }        # GridType pbs means the profile torque
    held_as_idle = true             # a job held in the batch system is reported as idle

HTCondor starts the daemon without arguments, so it looks for these files by itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, final

from osprofile.errors import SettingError
from osprofile.executors.blah.messages import PROFILE_NAME
from osprofile.executors.blah.protocol import DEFAULT_WINDOW
from osprofile.executors.settings_files import read_table
from osprofile.text import quote_value, suggest_names

if TYPE_CHECKING:
    from collections.abc import Mapping

CONFIG_FILE: Final = "blahpd.toml"
_MAX_NUMBER: Final = 10**9


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings, each with its default. Times are in seconds.

    profiles: directories that are searched for profiles first
    map: the profile of a GridType that is not itself the name of a profile
    extra_submit_args: the options that BatchExtraSubmitArgs may have, and the field of each
    context: special fields of all jobs, as `"SSH:HOST" = "me@login"` for batch systems on another host
    store: the file of the job record; empty for the user's own
    log: the file of the log; empty for standard error. In both, {user} stands for the user's name
    metrics: a file for Prometheus, or 127.0.0.1:PORT (`osprofile.metrics.parse_destination`)
    window: how many requests may be outstanding
    at_once: how many scripts of one batch system may run at a time
    fastest, slowest: the shortest and longest interval between two polls of the jobs
    max_age: how old a reported status may be
    grace: after this time a job that the batch system does not know is lost
    retention: how long the directory and the record of a job stay when the client knows its end
    linger: how long running submissions may continue when the client has gone
    """

    profiles: tuple[str, ...] = ()
    map: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    extra_submit_args: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    context: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    store: str = ""
    log: str = ""
    log_level: str = "info"
    metrics: str = ""
    window: int = DEFAULT_WINDOW
    at_once: int = 8
    held_as_idle: bool = False
    proxy_required: bool = False
    proxy_cache: bool = False
    fastest: float = 1.0
    slowest: float = 60.0
    max_age: float = 5.0
    grace: float = 60.0
    retention: float = 86400.0
    linger: float = 2.0

    def with_grid_types(self, pairs: Mapping[str, str]) -> Settings:
        """Return the settings with `pairs` of a GridType and its profile added to `map`."""
        return replace(self, map=_validate_table("map", {**self.map, **pairs}))


def read_settings(path: str, settings: Settings) -> Settings:
    """Return settings with the changes of a file. Raises `SettingError` if it has errors."""
    table = read_table(path, "window = 100")
    names = [f.name for f in fields(Settings)]
    changes = {}
    for name, value in table.items():
        if name not in names:
            hint = suggest_names(name, names) or f"known: {', '.join(names)}"
            raise SettingError(f"{path}: there is no setting {quote_value(name)}", hint=hint)
        try:
            changes[name] = _TYPE_VALIDATORS[type(getattr(settings, name))](name, value)
        except SettingError as error:
            error.message = f"{path}: {error.message}"
            raise
    return replace(settings, **changes)


def _validate_text(name: str, value: object) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise SettingError(f"{name} = {value!r} is not a text")
    if name == "log_level" and value not in LOG_LEVELS:
        raise SettingError(f"{name} = {value!r}", hint=f"one of {', '.join(LOG_LEVELS)}")
    return value


def _validate_flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise SettingError(f"{name} = {value!r}", hint="true or false")
    return value


def _validate_count(name: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _MAX_NUMBER:
        raise SettingError(f"{name} = {value!r} is not an integer from 1 to {_MAX_NUMBER}")
    return value


def _validate_seconds(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MAX_NUMBER:
        raise SettingError(f"{name} = {value!r} is not a number of seconds")
    return float(value)


def _validate_text_list(name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise SettingError(f"{name} = {value!r} is not a list", hint=f'as in: {name} = ["a", "b"]')
    return tuple(_validate_text(name, item) for item in value)


def _validate_table(name: str, value: object) -> Mapping[str, str]:
    if not isinstance(value, dict):
        hint = f"as in: {name} = {_TABLE_EXAMPLES[name]}"
        raise SettingError(f"{name} = {value!r} is not a table", hint=hint)
    for key, item in value.items():
        _validate_text(f"{name}: {key}", item)
        for word in (key, item) if name == "map" else ():
            if not PROFILE_NAME.match(word):
                hint = "a letter or digit, then letters, digits, _ . -"
                raise SettingError(f"{name}: {word!r} is not a name", hint=hint)
        if name == "context" and key in _CONTEXT_HINTS:
            raise SettingError(f"{name}: {key} is not for the context", hint=_CONTEXT_HINTS[key])
        if name == "extra_submit_args" and not _OPTION_ENTRY.match(f"{key} {item}"):
            hint = f"an option, and a field or FIELD=VALUE, as in: {name} = {_TABLE_EXAMPLES[name]}"
            raise SettingError(f"{name}: {key!r} = {item!r}", hint=hint)
    return MappingProxyType(dict(value))


_TABLE_EXAMPLES: Final = {
    "map": '{ pbs = "torque" }',
    "extra_submit_args": '{ "--qos" = "QOS", "--exclusive" = "SHARED=no" }',
    "context": '{ "SSH:HOST" = "me@login" }',
}
_CONTEXT_HINTS: Final = {
    "USPACE_ROOT": "it is the profile's UspaceRoot: a profile of your own sets it",
    "WORKING_DIRECTORY": "each job has its own, below the profile's UspaceRoot",
    "PROFILE_NAME": "the setting map selects a profile",
}
"""The special fields that the context does not set, and what does."""
_OPTION_ENTRY: Final = re.compile(r"(?s)--?[A-Za-z0-9][A-Za-z0-9_.-]* [A-Za-z_][A-Za-z0-9_.-]*(?:=.*)?\Z")
LOG_LEVELS: Final = ("debug", "info", "warning", "error")
_TYPE_VALIDATORS: Final[dict[type, Any]] = {
    str: _validate_text,
    bool: _validate_flag,
    int: _validate_count,
    float: _validate_seconds,
    tuple: _validate_text_list,
    MappingProxyType: _validate_table,
}
