"""Element ids: taken from blocks, one kind's ids beside each other, so that range sets stay short.

Source: seed, "Numeric Element IDs".
"""

from __future__ import annotations

from typing import Final, final

from osprofile.executors.ptp.errors import LocalError
from osprofile.executors.ptp.events import Element
from osprofile.executors.ptp.ranges import LARGEST_ID

IDS: Final = 2**24
"""How many ids a resource manager has: its base id is a multiple of this."""

BLOCK: Final = {Element.MACHINE: 16, Element.QUEUE: 256, Element.NODE: 4096, Element.JOB: 4096}
"""By kind, how many ids are set aside at a time."""


@final
class Ids:
    """Element ids above a base id, in blocks of one kind."""

    def __init__(self, base_id: int) -> None:
        self._next = base_id + 1
        self._end = min(base_id + IDS, LARGEST_ID)
        self._left: dict[Element, range] = {}

    def take(self, element: Element, count: int) -> range:
        """Give so many new ids that follow each other; `LocalError` when all are used up."""
        left = self._left.get(element, range(0))
        if len(left) < count:
            left = range(self._next, self._next + max(BLOCK[element], count))
            if left.stop > self._end:
                raise LocalError("the resource manager has used up its element ids")
            self._next = left.stop
        self._left[element] = left[count:]
        return left[:count]
