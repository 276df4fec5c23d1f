"""The sources of the event generator; each module converts the lines of one scheduler's log.

Each module has a function `open_source(SourceOptions) -> Source` (see `base`). Other packages register
sources in the entry point group `osprofile.event_sources`: the entry point's name is the generator's
`-s NAME`, its value such a function. `SOURCE_NAMES` take precedence.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from osprofile.events.errors import EventError
from osprofile.text import quote_value, suggest_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from osprofile.events.sources.base import Source, SourceOptions

SOURCE_NAMES: Final = ("condor", "fork", "job_manager", "lsf", "pbs", "sge", "slurm")
ENTRY_POINT_GROUP: Final = "osprofile.event_sources"


def find_source(name: str) -> Callable[[SourceOptions], Source]:
    """Return the function that opens a source; raise `EventError` if there is none of this name."""
    open_source: Callable[[SourceOptions], Source]
    if name in SOURCE_NAMES:
        open_source = import_module(f"{__name__}.{name}").open_source
        return open_source
    from importlib.metadata import entry_points

    points = {point.name: point for point in entry_points(group=ENTRY_POINT_GROUP)}
    if name not in points:
        message = f"there is no source of events {quote_value(name)}"
        raise EventError(message, hint=suggest_names(name, [*SOURCE_NAMES, *points]))
    try:
        open_source = points[name].load()
    except Exception as error:
        message = f"source {name} ({points[name].value}) cannot be loaded: {error}"
        raise EventError(message) from error
    return open_source
