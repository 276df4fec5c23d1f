"""Job events from a scheduler's log, for a profile that has the template EVENTS.

Its text is a command that prints events as `osprofile-seg` does; `-t TIMESTAMP` is appended to it. The
variation SSH is for another host. The optional fixed field EVENT_ID_PATTERN is a Java regular
expression: ids of the log that it does not match are ignored, and its group id is the job's id.
"""

from __future__ import annotations

import asyncio
import re
import time
from typing import TYPE_CHECKING, Final, final

from osprofile.jobs.listener import EventListener
from osprofile.jobs.script_output import get_output_pattern
from osprofile.jobs.shell import find_shell_variation, get_template_command
from osprofile.jobs.state import JobEvent
from osprofile.jobs.target_names import format_target_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from osprofile.jobs.early_events import EarlyEvents
    from osprofile.profile.model import Profile

EVENTS_TEMPLATE: Final = "EVENTS"
EVENT_ID_FIELD: Final = "EVENT_ID_PATTERN"
_EXPIRY_INTERVAL: Final = 60.0
"""Seconds between two removals of old early events."""


def has_event_log(profile: Profile, context: Mapping[str, str]) -> bool:
    """Return whether a profile has EVENTS for this context: for this host, or for another host or user."""
    template = profile.templates.get(EVENTS_TEMPLATE)
    return template is not None and find_shell_variation(context) in template.invocations


@final
class EventLogSource:
    """Calls `on_event` with the events of a target's log, while `run` runs."""

    def __init__(
        self,
        profile: Profile,
        context: Mapping[str, str],
        early_events: EarlyEvents,
        on_event: Callable[[JobEvent], object],
        store_path: str,
    ) -> None:
        """Raise what `incarnate` raises, and `InvalidProfileError`.

        `store_path` is the file of the jobs' record; the checkpoint of the log is kept beside it.
        """
        words = get_template_command(profile, EVENTS_TEMPLATE, context)
        self._pattern = None
        if profile.find_field(profile.get_template(EVENTS_TEMPLATE), EVENT_ID_FIELD) is not None:
            self._pattern = get_output_pattern(profile, EVENTS_TEMPLATE, EVENT_ID_FIELD, ("id",))
        self._early_events, self._on_event = early_events, on_event
        host_context = {name: value for name, value in context.items() if name != "SSH:PORT"}
        name = re.sub(r"[^A-Za-z0-9_.-]", "_", format_target_name(profile, host_context))
        checkpoint_path = None if store_path == ":memory:" else f"{store_path}.{name}.since"
        self._listener = EventListener(
            words,
            self._handle_event,
            checkpoint_path=checkpoint_path,
            get_oldest_early_timestamp=lambda: early_events.find_oldest_timestamp(time.time()),
        )

    @property
    def is_reliable(self) -> bool:
        """Whether the log reports all jobs now; see `EventListener.is_reliable`."""
        return self._listener.is_reliable

    async def run(self) -> None:
        """Read the log until cancelled."""
        expiry_task = asyncio.ensure_future(self._expire_early_events())
        try:
            await self._listener.run()
        finally:
            expiry_task.cancel()

    async def _expire_early_events(self) -> None:
        while True:
            await asyncio.sleep(_EXPIRY_INTERVAL)
            self._early_events.expire(time.time())

    def _handle_event(self, event: JobEvent) -> None:
        if self._pattern is not None:
            match = self._pattern.matches(event.job_id) if event.job_id.isprintable() else None
            job_id = match.group("id") if match else None
            if not job_id:
                return
            event = JobEvent(event.timestamp, event.status._replace(job_id=job_id))
        self._on_event(event)
