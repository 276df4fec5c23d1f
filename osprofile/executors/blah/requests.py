"""The requests of a client. `command` is always the command's name in the protocol, in upper case."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, final


@final
@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """A command that works in the background; `arguments` follow the request id on the line.

    Two requests are equal only if they are the same object: a client may use a `request_id` twice.
    """

    command: str
    request_id: str
    arguments: tuple[str, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class ImmediateRequest:
    """A command without a request id; `Connection.answer_request` answers it before the next one."""

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
    """QUIT. The connection has answered it, and ignores what the client sent after it."""
