"""The settings of a site, from TOML files and the command line (docs/htcondor.md).

    map = { pbs = "torque" }        # GridType pbs means the profile torque
    held_as_idle = true             # a job held in the batch system is reported as idle

HTCondor starts the daemon without arguments, so it looks for these files by itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import SettingError
from osprofile.executors.blah.protocol import DEFAULT_WINDOW
from osprofile.executors.settings import NAME_HINT, PROFILE_NAME, check_mapping, read_file

if TYPE_CHECKING:
    from collections.abc import Mapping

CONFIG_FILE: Final = "blahpd.toml"


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
        return replace(self, map=_check_texts_by_name("map", {**self.map, **pairs}))


def read_settings(path: str, settings: Settings) -> Settings:
    """Return settings with the changes of a file. Raises `SettingError` if it has errors."""
    return read_file(path, settings, dict.fromkeys(_TABLE_EXAMPLES, _check_texts_by_name), "window = 100")


def _check_texts_by_name(name: str, value: object) -> Mapping[str, str]:
    """Return a table of texts, which may have several lines."""
    table = check_mapping(name, value, f"{name} = {_TABLE_EXAMPLES[name]}")
    for key, item in table.items():
        if not isinstance(item, str) or "\0" in item:
            raise SettingError(f"{name}: {key} = {item!r} is not a text")
        for word in (key, item) if name == "map" else ():
            if not PROFILE_NAME.match(word):
                raise SettingError(f"{name}: {word!r} is not a name", hint=NAME_HINT)
        if name == "context" and key in _CONTEXT_HINTS:
            raise SettingError(f"{name}: {key} is not for the context", hint=_CONTEXT_HINTS[key])
        if name == "extra_submit_args" and not _OPTION_ENTRY.match(f"{key} {item}"):
            hint = f"an option, and a field or FIELD=VALUE, as in: {name} = {_TABLE_EXAMPLES[name]}"
            raise SettingError(f"{name}: {key!r} = {item!r}", hint=hint)
    return MappingProxyType(dict(table))


_TABLE_EXAMPLES: Final = {
    "map": '{ pbs = "torque" }',
    "extra_submit_args": '{ "--qos" = "QOS", "--exclusive" = "EXCLUSIVE=true" }',
    "context": '{ "SSH:HOST" = "me@login" }',
}
_CONTEXT_HINTS: Final = {
    "USPACE_ROOT": "it is the profile's UspaceRoot: a profile of your own sets it",
    "WORKING_DIRECTORY": "each job has its own, below the profile's UspaceRoot",
    "PROFILE_NAME": "the setting map selects a profile",
}
"""The special fields that the context does not set, and what does."""
_OPTION_ENTRY: Final = re.compile(r"(?s)--?[A-Za-z0-9][A-Za-z0-9_.-]* [A-Za-z_][A-Za-z0-9_.-]*(?:=.*)?\Z")
