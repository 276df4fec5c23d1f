"""The sources of the event generator, each a table from a log's line to an event.

A source is a function `open_source(Options) -> Source` (see `base`). Further ones are found by
the entry point group `osprofile.event_sources`: the entry point's name is the generator's `-s NAME`,
its value such a function. The names here go first.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from osprofile.errors import EventError, quote_value, suggest_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from osprofile.events.sources.base import Source, SourceOptions

SOURCE_NAMES: Final = ("condor", "fork", "job_manager", "lsf", "pbs", "sge", "slurm")
ENTRY_POINT_GROUP: Final = "osprofile.event_sources"


def find_source(name: str) -> Callable[[SourceOptions], Source]:
    """Give the function that opens a source; raises `EventError` for a name that nobody has."""
    if name in SOURCE_NAMES:
        found: Callable[[SourceOptions], Source] = import_module(f"{__name__}.{name}").open_source
        return found
    from importlib.metadata import entry_points

    further = {point.name: point for point in entry_points(group=ENTRY_POINT_GROUP)}
    if name not in further:
        message = f"there is no source of events {quote_value(name)}"
        raise EventError(message, hint=suggest_names(name, [*SOURCE_NAMES, *further]))
    try:
        found = further[name].load()
    except Exception as error:
        message = f"source {name} ({further[name].value}) cannot be loaded: {error}"
        raise EventError(message) from error
    return found
