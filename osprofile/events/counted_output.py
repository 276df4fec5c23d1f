"""An output that counts the events for `osprofile.metrics`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, final

from osprofile.metrics import METRICS

if TYPE_CHECKING:
    from osprofile.events.output import EventOutput


@final
class CountedOutput:
    """Writes to another output, and counts the lines."""

    def __init__(self, output: EventOutput) -> None:
        self._output = output
        METRICS.add("osprofile_events_total", 0.0)

    def write_lines(self, data: bytes) -> bool:
        """Write whole lines, and count them."""
        METRICS.add("osprofile_events_total", data.count(b"\n"))
        METRICS.set("osprofile_last_event_timestamp_seconds", time.time())
        return self._output.write_lines(data)

    def wait(self, seconds: float) -> bool:
        """Wait; see `EventOutput.wait`."""
        return self._output.wait(seconds)
