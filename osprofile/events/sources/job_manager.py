"""The files that the generator itself writes with `-d DIR`: its own lines, a file for each day in UTC.

The directory is that of `--log-path` or `log_path`, else `$JOB_MANAGER_SEG_LOG_PATH`, else Globus's
directory for `$JOB_MANAGER_SEG_SCHEDULER`. Without a timestamp, reading begins with today's file.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Final

from osprofile.events.daily_log import DailyLog, format_day_name
from osprofile.events.sources.base import LogSource
from osprofile.events.sources.fork import LineParser

if TYPE_CHECKING:
    from osprofile.events.sources.base import Source, SourceOptions

GLOBUS_LOG_PREFIX: Final = "/var/lib/globus/globus-seg-"


def open_source(options: SourceOptions) -> Source:
    """Open the directory of the generator's files."""
    scheduler = os.environ.get("JOB_MANAGER_SEG_SCHEDULER", "")
    globus_directory = f"{GLOBUS_LOG_PREFIX}{scheduler}" if scheduler and "/" not in scheduler else ""
    path = options.choose_log_path(os.environ.get("JOB_MANAGER_SEG_LOG_PATH") or globus_directory)
    since = options.since or int(time.time()) // 86_400 * 86_400
    log = DailyLog(path, format_day_name(since, utc=True))
    return LogSource([(log, LineParser(since, extended=options.extended))])
