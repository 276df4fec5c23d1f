"""The error of the event generator."""

from __future__ import annotations

from osprofile.errors import OSProfileError


class EventError(OSProfileError):
    """A source of events or the generator's command line is wrong, or an event cannot be written."""
