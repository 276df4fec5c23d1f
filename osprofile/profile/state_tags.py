"""What a profile's tags may say of nodes and queues: words of our own, which no protocol's are.

A batch system's own word without a tag is UNKNOWN: never guessed.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, final


@final
class NodeState(StrEnum):
    """UP: it runs jobs or could; DOWN: it takes none; ERROR: something is wrong with it."""

    UP = "UP"
    DOWN = "DOWN"
    ERROR = "ERROR"
    UNKNOWN = "UNKNOWN"


@final
class QueueState(StrEnum):
    """OPEN: it takes jobs and starts them; STOPPED: one of the two it does not."""

    OPEN = "OPEN"
    STOPPED = "STOPPED"
    UNKNOWN = "UNKNOWN"


NODE_STATE_TAGS: Final = tuple(s.value for s in NodeState if s is not NodeState.UNKNOWN)
"""What a tag of the field NODE_STATE may give."""
QUEUE_STATE_TAGS: Final = tuple(s.value for s in QueueState if s is not QueueState.UNKNOWN)
"""What a tag of the field QUEUE_STATE may give."""
