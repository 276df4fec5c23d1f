"""Following a log that has a file a day: PBS's server logs, and what the generator writes itself."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import Final, final

from osprofile.events.tail import BLOCK_SIZE, RotatedLog, StartPolicy, describe_os_error

_RESCAN_INTERVAL: Final = 2.0
"""Seconds between two looks for a later day's file."""


@final
class DailyLog:
    """A log with a file a day, named YYYYMMDD, in one directory.

    Begins with the day `first_day` (as its file is named), or the next there is. A day's file is
    left when it was read to its end and a later one is there; it may itself be rotated by size.
    """

    def __init__(self, directory: str, first_day: str, block_size: int = BLOCK_SIZE) -> None:
        self.starts_new_file = False
        self._directory_problem = ""
        self._directory = directory
        self._current_day = first_day
        self._block_size = block_size
        self._current_log: RotatedLog | None = None
        self._next_day = ""
        self._last_scan = 0.0

    @property
    def problem(self) -> str:
        """Why the directory, or the day's file that is to be read next, cannot be read."""
        return self._directory_problem or (self._current_log.problem if self._current_log else "")

    def read_lines(self) -> bytes:
        """Give the next whole lines, of one day."""
        while True:
            if self._current_log is None and not self._open_day(
                self._find_later_day(self._current_day, include_same=True)
            ):
                return b""
            chain = self._current_log
            if chain is None:
                return b""
            data = chain.read_lines()
            if data:
                self.starts_new_file = chain.starts_new_file
                self._last_scan = 0.0
                return data
            if not self._next_day:
                self._next_day = self._find_later_day(self._current_day)
                if not self._next_day:
                    return b""
            elif chain.has_unfinished_line():
                return b""
            else:
                chain.close()
                self._open_day(self._next_day)

    def count_unread_bytes(self) -> int:
        """Give how many bytes of the day that is being read, and of later ones, are unread."""
        if self._current_log is None:
            self._open_day(self._find_later_day(self._current_day, include_same=True))
        total = self._current_log.count_unread_bytes() if self._current_log else 0
        for name in self._list_days():
            if name > self._current_day:
                with suppress(OSError):
                    total += os.stat(os.path.join(self._directory, name)).st_size
        return total

    def close(self) -> None:
        """Close the file that is being read."""
        if self._current_log:
            self._current_log.close()
        self._current_log = None

    def _open_day(self, day: str) -> bool:
        if not day:
            return False
        wanted = StartPolicy(needs_older_file=lambda _this, _older: True)
        path = os.path.join(self._directory, day)
        self._current_log = RotatedLog(path, 1, wanted, self._block_size)
        self._current_day, self._next_day = day, ""
        return True

    def _list_days(self) -> list[str]:
        """Give the names of the days' files from the present one on, in order."""
        try:
            with os.scandir(self._directory) as found:
                files = {file.name for file in found if file.is_file()}
        except OSError as error:
            self._directory_problem = describe_os_error(error, self._directory)
            return []
        self._directory_problem = ""
        days = (n for n in files if len(n) == 8 and n.isascii() and n.isdigit())
        return sorted(day for day in days if day >= self._current_day)

    def _find_later_day(self, day: str, *, include_same: bool = False) -> str:
        """Give the first later day that has a file, looking no more than once in a while."""
        if self._last_scan and time.monotonic() - self._last_scan < _RESCAN_INTERVAL:
            return ""
        self._last_scan = time.monotonic()
        return next((d for d in self._list_days() if d > day or (include_same and d == day)), "")


def format_day_name(moment: float, *, utc: bool = False) -> str:
    """Give the name of the day's file that holds a moment (seconds since 1970)."""
    now = time.gmtime(moment) if utc else time.localtime(moment)
    return time.strftime("%Y%m%d", now)
