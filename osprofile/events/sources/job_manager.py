"""The files that the generator itself writes with `-d DIR`: one a day in Greenwich, its own lines.

The directory is the command line's or `log_path`, else `$JOB_MANAGER_SEG_LOG_PATH`, else Globus's for the
scheduler that `$JOB_MANAGER_SEG_SCHEDULER` names. Without a timestamp, it begins with today's file.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Final

from osprofile.events.days import Days, day_of
from osprofile.events.sources.base import LogSource
from osprofile.events.sources.fork import Lines

if TYPE_CHECKING:
    from osprofile.events.sources.base import Options, Source

GLOBUS: Final = "/var/lib/globus/globus-seg-"


def open_source(options: Options) -> Source:
    """Open the directory."""
    scheduler = os.environ.get("JOB_MANAGER_SEG_SCHEDULER", "")
    standard = f"{GLOBUS}{scheduler}" if scheduler and "/" not in scheduler else ""
    path = options.path(os.environ.get("JOB_MANAGER_SEG_LOG_PATH") or standard)
    since = options.since or int(time.time()) // 86_400 * 86_400
    log = Days(path, day_of(since, utc=True))
    return LogSource([(log, Lines(since, extended=options.extended))])
