"""What can go wrong with the protocol itself.

    OSProfileError
     +- PTPError
         +- RemoteError   the client sent what the protocol does not allow
         +- LocalError    we were about to send what the protocol does not allow: our own mistake

A job that is refused, or a batch system that fails, is no error of the protocol: it is an event.
"""

from __future__ import annotations

from typing import final

from osprofile.errors import OSProfileError


class PTPError(OSProfileError):
    """The protocol's rules were broken."""


@final
class RemoteError(PTPError):
    """The client broke a rule; `offset` is the first wrong byte, counted from the session's begin.

    After a `fatal` one nobody knows where the next frame begins: the session is over. After any
    other the frame is dropped, and the next one can be read.
    """

    def __init__(self, message: str, *, offset: int, fatal: bool, hint: str = "") -> None:
        super().__init__(f"byte {offset}: {message}", hint=hint)
        self.offset = offset
        self.fatal = fatal


@final
class LocalError(PTPError):
    """We were about to break a rule: the original client would drop it, or drop the session."""
