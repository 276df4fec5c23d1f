"""Following a log that has a file a day: PBS's server logs, and what the generator writes itself."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import Final, final

from osprofile.events.tail import BLOCK, Chain, Starts, problem_of

_AGAIN: Final = 2.0
"""Seconds between two looks for a later day's file."""


@final
class Days:
    """A log with a file a day, named YYYYMMDD, in one directory.

    Begins with the day `first` (as its file is named), or the next there is. A day's file is
    left when it was read to its end and a later one is there; it may itself be rotated by size.
    """

    def __init__(self, directory: str, first: str, block: int = BLOCK) -> None:
        self.fresh = False
        self._trouble = ""
        self._directory = directory
        self._day = first
        self._block = block
        self._chain: Chain | None = None
        self._next = ""
        self._looked = 0.0

    @property
    def problem(self) -> str:
        """Why the directory, or the day's file that is to be read next, cannot be read."""
        return self._trouble or (self._chain.problem if self._chain else "")

    def read(self) -> bytes:
        """Give the next whole lines, of one day."""
        while True:
            if self._chain is None and not self._begin(self._later(self._day, same=True)):
                return b""
            chain = self._chain
            if chain is None:
                return b""
            data = chain.read()
            if data:
                self.fresh = chain.fresh
                self._looked = 0.0
                return data
            if not self._next:
                self._next = self._later(self._day)
                if not self._next:
                    return b""
            elif chain.unfinished():
                return b""
            else:
                chain.close()
                self._begin(self._next)

    def left(self) -> int:
        """Give how many bytes of the day that is being read, and of later ones, are unread."""
        if self._chain is None:
            self._begin(self._later(self._day, same=True))
        total = self._chain.left() if self._chain else 0
        for name in self._days():
            if name > self._day:
                with suppress(OSError):
                    total += os.stat(os.path.join(self._directory, name)).st_size
        return total

    def close(self) -> None:
        """Close the file that is being read."""
        if self._chain:
            self._chain.close()
        self._chain = None

    def _begin(self, day: str) -> bool:
        if not day:
            return False
        wanted = Starts(older_wanted=lambda _this, _older: True)
        path = os.path.join(self._directory, day)
        self._chain = Chain(path, 1, wanted, self._block)
        self._day, self._next = day, ""
        return True

    def _days(self) -> list[str]:
        """Give the names of the days' files from the present one on, in order."""
        try:
            with os.scandir(self._directory) as found:
                files = {file.name for file in found if file.is_file()}
        except OSError as error:
            self._trouble = problem_of(error, self._directory)
            return []
        self._trouble = ""
        days = (n for n in files if len(n) == 8 and n.isascii() and n.isdigit())
        return sorted(day for day in days if day >= self._day)

    def _later(self, day: str, *, same: bool = False) -> str:
        """Give the first later day that has a file, looking no more than once in a while."""
        if self._looked and time.monotonic() - self._looked < _AGAIN:
            return ""
        self._looked = time.monotonic()
        return next((d for d in self._days() if d > day or (same and d == day)), "")


def day_of(moment: float, *, utc: bool = False) -> str:
    """Give the name of the day's file that holds a moment (seconds since 1970)."""
    now = time.gmtime(moment) if utc else time.localtime(moment)
    return time.strftime("%Y%m%d", now)
