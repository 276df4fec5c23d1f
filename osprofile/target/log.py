"""States from a scheduler's log, where the profile has a template EVENTS.

Its text is a command, as SHELL's is, that prints events as `osprofile-seg` does; `-t TIMESTAMP` is added
to it. Its variation SSH is for another host. A fixed field EVENT_ID_PATTERN, a Java regex with the
group id, says which of the log's ids are jobs, and what the profile calls them.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Final, final

from osprofile.events.event import JobEvent
from osprofile.events.listener import Listener
from osprofile.target.outputs import pattern_of
from osprofile.target.shell import SSH, command_words

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from osprofile.events.monitor import Monitor
    from osprofile.profile.model import Profile

EVENTS: Final = "EVENTS"
ID_PATTERN: Final = "EVENT_ID_PATTERN"
_EXPIRING: Final = 60.0
"""Seconds between two looks for events that nobody has asked for."""


def has_log(profile: Profile, context: Mapping[str, str]) -> bool:
    """Say whether a profile names a log for this context."""
    template = profile.templates.get(EVENTS)
    return template is not None and (SSH if context.get("SSH:HOST") else "") in template.invocations


@final
class LogSource:
    """Hands the events of a target's log to `hear`, for as long as `run` runs."""

    def __init__(
        self,
        profile: Profile,
        context: Mapping[str, str],
        monitor: Monitor,
        hear: Callable[[JobEvent], object],
        record: str,
    ) -> None:
        """`record` is the file of the jobs' record, beside which the restart's timestamp is kept.

        Raises what `incarnate` raises, and `InvalidProfileError`.
        """
        words = command_words(profile, EVENTS, context)
        named = profile.field(profile.template(EVENTS), ID_PATTERN) is not None
        self._pattern = pattern_of(profile, EVENTS, ID_PATTERN, ("id",)) if named else None
        self._monitor, self._hear = monitor, hear
        host = context.get("SSH:HOST", "")
        name = re.sub(r"[^A-Za-z0-9_.-]", "_", f"{profile.name}@{host}" if host else profile.name)
        datum = None if record == ":memory:" else f"{record}.{name}.since"
        self._listener = Listener(words, self._take, datum=datum, oldest=lambda: monitor.oldest)

    @property
    def is_steady(self) -> bool:
        """Whether the log can be relied on now."""
        return self._listener.is_steady

    async def run(self) -> None:
        """Listen until cancelled."""
        expiring = asyncio.ensure_future(self._expire())
        try:
            await self._listener.run()
        finally:
            expiring.cancel()

    async def _expire(self) -> None:
        while True:
            await asyncio.sleep(_EXPIRING)
            self._monitor.expire()

    def _take(self, event: JobEvent) -> None:
        if self._pattern is not None:
            found = self._pattern.matches(event.job_id) if event.job_id.isprintable() else None
            job_id = found.group("id") if found else None
            if not job_id:
                return
            event = JobEvent(event.timestamp, event.status._replace(job_id=job_id))
        self._hear(event)
