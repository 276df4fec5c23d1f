"""Violations of the protocol.

    OSProfileError
     +- PTPError
         +- RemoteError   the client sent what the protocol does not allow
         +- LocalError    we were about to send what the protocol does not allow

A refused job, or a batch system that fails, is not a violation: it is reported by an event.
"""

from __future__ import annotations

from typing import final

from osprofile.errors import OSProfileError


class PTPError(OSProfileError):
    """The protocol's rules were broken."""


@final
class RemoteError(PTPError):
    """The client broke a rule; `offset` is the first wrong byte, from the start of the session.

    After a `fatal` error the start of the next frame is not known: the session is over. After any
    other error the frame is dropped and the next one can be read.
    """

    def __init__(self, message: str, *, offset: int, fatal: bool, hint: str = "") -> None:
        super().__init__(f"byte {offset}: {message}", hint=hint)
        self.offset = offset
        self.fatal = fatal


@final
class LocalError(PTPError):
    """We were about to break a rule: the client would drop the event or end the session."""
