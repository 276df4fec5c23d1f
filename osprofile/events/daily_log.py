"""Follow a log that has a file for each day: PBS's server logs, and the generator's own output."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import final

from osprofile.events import tail
from osprofile.events.tail import BLOCK_SIZE, REPLAY_ALL, RotatedLog, describe_read_error
from osprofile.events.timestamps import is_number


@final
class DailyLog:
    """A log with a file for each day, named YYYYMMDD, in one directory.

    Reading begins with the file named `first_day`, or the first later one. The next day's file
    follows when the current one was read to its end. A day's file may itself be rotated by size.
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
        """Why the directory or the current day's file cannot be read; empty if it can."""
        return self._directory_problem or (self._current_log.problem if self._current_log else "")

    def read_lines(self) -> bytes:
        """Return the next whole lines, all of one day; b"" if there are none now."""
        while True:
            if self._current_log is None and not self._open_day(
                self._find_later_day(self._current_day, include_same=True)
            ):
                return b""
            log = self._current_log
            if log is None:
                return b""
            data = log.read_lines()
            if data:
                self.starts_new_file = log.starts_new_file
                self._last_scan = 0.0
                return data
            # This file is read once more after the next day's file appeared: lines may have been
            # written to it in between.
            if not self._next_day:
                self._next_day = self._find_later_day(self._current_day)
                if not self._next_day:
                    return b""
            elif log.has_unfinished_line():
                return b""
            else:
                log.close()
                self._open_day(self._next_day)

    def count_unread_bytes(self) -> int:
        """Return the number of unread bytes in the current day's file and later ones."""
        if self._current_log is None:
            self._open_day(self._find_later_day(self._current_day, include_same=True))
        total = self._current_log.count_unread_bytes() if self._current_log else 0
        for name in self._list_days():
            if name > self._current_day:
                with suppress(OSError):
                    total += os.stat(os.path.join(self._directory, name)).st_size
        return total

    def _open_day(self, day: str) -> bool:
        if not day:
            return False
        path = os.path.join(self._directory, day)
        self._current_log = RotatedLog(path, 1, REPLAY_ALL, self._block_size)
        self._current_day, self._next_day = day, ""
        return True

    def _list_days(self) -> list[str]:
        """Return the names of the current day's file and later ones, in order."""
        try:
            with os.scandir(self._directory) as entries:
                is_file_by_name = {entry.name: entry.is_file() for entry in entries}
        except OSError as error:
            self._directory_problem = describe_read_error(error, self._directory)
            return []
        self._directory_problem = ""
        names = (name for name in is_file_by_name if len(name) == 8 and is_number(name))
        days = sorted(name for name in names if name >= self._current_day)
        if days and not is_file_by_name[days[-1]]:
            path = os.path.join(self._directory, days[-1])
            self._directory_problem = f"{path} cannot be read: Not a regular file"
        return [day for day in days if is_file_by_name[day]]

    def _find_later_day(self, day: str, *, include_same: bool = False) -> str:
        """Return the first later day that has a file, or ""; scan once per `RECHECK_INTERVAL` at most."""
        if self._last_scan and time.monotonic() - self._last_scan < tail.RECHECK_INTERVAL:
            return ""
        self._last_scan = time.monotonic()
        return next((d for d in self._list_days() if d > day or (include_same and d == day)), "")


def format_day_name(moment: float, *, utc: bool = False) -> str:
    """Return the name of the file for the day of a time (seconds since 1970)."""
    return time.strftime("%Y%m%d", time.gmtime(moment) if utc else time.localtime(moment))
