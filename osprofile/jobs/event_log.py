"""States from a scheduler's log, where the profile has a template EVENTS.

Its text is a command, as SHELL's is, that prints events as `osprofile-seg` does; `-t TIMESTAMP` is added
to it. Its variation SSH is for another host. A fixed field EVENT_ID_PATTERN, a Java regex with the
group id, says which of the log's ids are jobs, and what the profile calls them.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Final, final

from osprofile.jobs.listener import EventListener
from osprofile.jobs.script_output import get_output_pattern
from osprofile.jobs.shell import SSH_VARIATION, get_template_command
from osprofile.jobs.state import JobEvent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from osprofile.jobs.monitor import JobMonitor
    from osprofile.profile.model import Profile

EVENTS_TEMPLATE: Final = "EVENTS"
EVENT_ID_FIELD: Final = "EVENT_ID_PATTERN"
_EXPIRY_INTERVAL: Final = 60.0
"""Seconds between two looks for events that nobody has asked for."""


def has_event_log(profile: Profile, context: Mapping[str, str]) -> bool:
    """Say whether a profile names a log for this context."""
    template = profile.templates.get(EVENTS_TEMPLATE)
    return (
        template is not None
        and (SSH_VARIATION if context.get("SSH:HOST") else "") in template.invocations
    )


@final
class EventLogSource:
    """Hands the events of a target's log to `on_event`, for as long as `run_script` runs."""

    def __init__(
        self,
        profile: Profile,
        context: Mapping[str, str],
        monitor: JobMonitor,
        on_event: Callable[[JobEvent], object],
        store_path: str,
    ) -> None:
        """`store_path` is the file of the jobs' record, beside which the restart's timestamp is kept.

        Raises what `incarnate` raises, and `InvalidProfileError`.
        """
        words = get_template_command(profile, EVENTS_TEMPLATE, context)
        named = (
            profile.find_field(profile.get_template(EVENTS_TEMPLATE), EVENT_ID_FIELD) is not None
        )
        self._pattern = (
            get_output_pattern(profile, EVENTS_TEMPLATE, EVENT_ID_FIELD, ("id",)) if named else None
        )
        self._monitor, self._on_event = monitor, on_event
        host = context.get("SSH:HOST", "")
        name = re.sub(r"[^A-Za-z0-9_.-]", "_", f"{profile.name}@{host}" if host else profile.name)
        datum = None if store_path == ":memory:" else f"{store_path}.{name}.since"
        self._listener = EventListener(
            words,
            self._handle_event,
            checkpoint_path=datum,
            get_oldest_early=lambda: monitor.oldest_early_timestamp,
        )

    @property
    def is_reliable(self) -> bool:
        """Whether the log can be relied on now."""
        return self._listener.is_reliable

    async def run(self) -> None:
        """Listen until cancelled."""
        expiring = asyncio.ensure_future(self._expire_early_events())
        try:
            await self._listener.run()
        finally:
            expiring.cancel()

    async def _expire_early_events(self) -> None:
        while True:
            await asyncio.sleep(_EXPIRY_INTERVAL)
            self._monitor.expire_early_events()

    def _handle_event(self, event: JobEvent) -> None:
        if self._pattern is not None:
            found = self._pattern.matches(event.job_id) if event.job_id.isprintable() else None
            job_id = found.group("id") if found else None
            if not job_id:
                return
            event = JobEvent(event.timestamp, event.status._replace(job_id=job_id))
        self._on_event(event)
