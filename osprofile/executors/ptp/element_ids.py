"""Element ids: taken from blocks, one kind's ids beside each other, so that range sets stay short.

Source: seed, "Numeric Element IDs".
"""

from __future__ import annotations

from typing import Final, final

from osprofile.executors.ptp.errors import LocalError
from osprofile.executors.ptp.events import Element
from osprofile.executors.ptp.ranges import MAX_ID

ID_SPACE_SIZE: Final = 2**24
"""How many ids a resource manager has: its base id is a multiple of this."""

ID_BLOCK_SIZES: Final = {
    Element.MACHINE: 16,
    Element.QUEUE: 256,
    Element.NODE: 4096,
    Element.JOB: 4096,
}
"""By kind, how many ids are set aside at a time."""


@final
class IdAllocator:
    """Element ids above a base id, in blocks of one kind."""

    def __init__(self, base_id: int) -> None:
        self._next_id = base_id + 1
        self._end_id = min(base_id + ID_SPACE_SIZE, MAX_ID)
        self._reserved_ids: dict[Element, range] = {}

    def allocate_ids(self, element: Element, count: int) -> range:
        """Give so many new ids that follow each other; `LocalError` when all are used up."""
        left = self._reserved_ids.get(element, range(0))
        if len(left) < count:
            left = range(self._next_id, self._next_id + max(ID_BLOCK_SIZES[element], count))
            if left.stop > self._end_id:
                raise LocalError("the resource manager has used up its element ids")
            self._next_id = left.stop
        self._reserved_ids[element] = left[count:]
        return left[:count]
