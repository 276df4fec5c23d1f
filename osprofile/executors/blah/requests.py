"""What a client asks for. `command` is the command's name in the protocol."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, final


@final
@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """A command that works in the background; `arguments` are what follows the request id.

    A client may use a `request_id` twice: two requests are equal only if they are the same object.
    """

    command: str
    request_id: str
    arguments: tuple[str, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class ImmediateRequest:
    """A command that `Connection.answer_request` must answer before the next request is read."""

    command: str
    arguments: tuple[str, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Reply:
    """The one line that answers a command at once: success, failure or error, and a text."""

    letter: Literal["S", "F", "E"]
    text: str


@final
@dataclass(frozen=True, slots=True)
class Quit:
    """QUIT. It is answered already; what the client sent after it is ignored."""
