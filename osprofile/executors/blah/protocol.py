r"""BLAH without input and output: bytes in, requests out, results in, bytes out.

    connection = Connection()
    connection.receive_data(data)
    while (request := connection.next_request()) is not None:
        ...                                     start the work, or `answer`, or end after `Quit`
    connection.finish(request, result)          later, in any order
    write(connection.data_to_send())            the banner first

The commands about the connection itself are answered here (seed 2.5; page "Commands"). A request
is answered `S` when it is taken: the window of a client never waits for a batch system.
"""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, TypeVar, final

from osprofile.errors import shown
from osprofile.executors.blah import requests as r
from osprofile.executors.blah.framing import LONGEST_LINE, Lines, TooLong, line, words
from osprofile.executors.blah.results import AnyResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

VERSION: Final = "$GahpVersion: 1.8.0 Mar 31 2008 osprofile\\ blahpd\\ (poly,new_esc_format) $"
"""The version as it stands on the wire; clients read its words."""

WINDOW: Final = 20_000
"""How many requests may be outstanding: taken, and their results not yet fetched."""
_WINDOW_BYTES: Final = 32 * 1024 * 1024
_MOST_IDS: Final = 1000
_REQUEST_ID: Final = re.compile(r"[+-]?0{0,18}[1-9][0-9]{0,18}\Z")
_SIGNAL: Final = re.compile(r"[1-9][0-9]?\Z")

Event: TypeAlias = r.AnyRequest | r.Immediate | r.Quit
_R = TypeVar("_R", bound=AnyResult)


class _Refused(Exception):  # noqa: N818  # it never leaves this module
    """A command that is answered E."""


class _Command(NamedTuple):
    """How a command with a request id becomes requests; `several`: of a list of job ids."""

    parameters: int
    make: Callable[..., r.AnyRequest]
    several: bool = False


def _signal(reqid: str, job_id: str, number: str) -> r.Signal:
    if not _SIGNAL.match(number):
        message = f"{shown(number)} is no signal's number"
        raise _Refused(message)
    return r.Signal(reqid, job_id, int(number))


_BACKGROUND: Final[dict[str, _Command]] = {
    "BLAH_GET_HOSTPORT": _Command(1, r.HostPort),
    "BLAH_JOB_CANCEL": _Command(2, r.Cancel, several=True),
    "BLAH_JOB_HOLD": _Command(2, r.Hold, several=True),
    "BLAH_JOB_REFRESH_PROXY": _Command(3, r.RefreshProxy),
    "BLAH_JOB_RESUME": _Command(2, r.Resume, several=True),
    "BLAH_JOB_SEND_PROXY_TO_WORKER_NODE": _Command(4, r.SendProxy),
    "BLAH_JOB_SIGNAL": _Command(3, _signal),
    "BLAH_JOB_STATUS": _Command(2, r.Status, several=True),
    "BLAH_JOB_STATUS_ALL": _Command(1, r.StatusAll),
    "BLAH_JOB_STATUS_SELECT": _Command(2, r.StatusSelect),
    "BLAH_JOB_SUBMIT": _Command(2, r.Submit),
    "BLAH_PING": _Command(2, r.Ping),
}
_IMMEDIATE: Final[dict[str, tuple[int, Callable[..., r.Immediate]]]] = {
    "BLAH_SET_GLEXEC_DN": (3, r.SetGlexecDn),
    "BLAH_SET_GLEXEC_OFF": (0, r.SetGlexecOff),
    "BLAH_SET_SUDO_ID": (1, r.SetSudoId),
    "BLAH_SET_SUDO_OFF": (0, r.SetSudoOff),
    "CACHE_PROXY_FROM_FILE": (2, r.CacheProxy),
    "UNCACHE_PROXY": (1, r.UncacheProxy),
    "USE_CACHED_PROXY": (1, r.UseCachedProxy),
}
_OWN: Final = frozenset(
    {"ASYNC_MODE_OFF", "ASYNC_MODE_ON", "COMMANDS", "QUIT", "RESULTS", "VERSION"}
)

COMMANDS: Final = frozenset({*_BACKGROUND, *_IMMEDIATE, *_OWN})
"""All commands there are."""

USUAL_COMMANDS: Final = frozenset(_BACKGROUND) - {"BLAH_GET_HOSTPORT"}
"""Those that need no configuration. HTCondor would use the proxy cache if it were listed (page)."""


@final
class Connection:
    """The server's end of one client's connection.

    `commands` are those that are configured, beside the six that always are: the others are
    unknown, and are not listed. `window` bounds what is outstanding: what goes beyond is answered
    `F Threads limit reached`, by which HTCondor shrinks its own window; never while nothing
    is outstanding. A line longer than `longest_line` bytes is answered E.
    """

    def __init__(
        self,
        commands: Iterable[str] = USUAL_COMMANDS,
        *,
        window: int = WINDOW,
        longest_line: int = LONGEST_LINE,
    ) -> None:
        self._commands = COMMANDS.intersection(commands) | _OWN
        self._window = window
        self._lines = Lines(longest_line)
        self._received: deque[bytes | TooLong] = deque()
        self._ready: deque[Event] = deque()
        self._unanswered: r.Immediate | None = None
        self._taken: dict[r.Request[AnyResult], int] = {}
        self._bytes = 0
        self._results: list[bytes] = []
        self._unfetched = 0
        self._notifies = self._notified = False
        self._output = [VERSION.encode("ascii") + b"\r\n"]
        self._own: dict[str, Callable[[], None]] = {
            "ASYNC_MODE_OFF": lambda: self._switch(on=False),
            "ASYNC_MODE_ON": lambda: self._switch(on=True),
            "COMMANDS": self._list,
            "QUIT": self._quit,
            "RESULTS": self._tell_results,
            "VERSION": lambda: self._output.append(b"S " + VERSION.encode("ascii") + b"\r\n"),
        }
        self.closed = False
        """Whether the client has said QUIT."""

    @property
    def outstanding(self) -> int:
        """How many requests were taken whose results the client has not fetched."""
        return len(self._taken) + len(self._results)

    @property
    def unfinished(self) -> int:
        """How many requests have no result yet."""
        return len(self._taken)

    @property
    def unfetched(self) -> int:
        """How many bytes of results the client has not fetched."""
        return self._unfetched

    def receive_data(self, data: bytes) -> None:
        """Take what the client wrote, in pieces of any size. After QUIT it is thrown away."""
        if not self.closed:
            self._received.extend(self._lines.feed(data))

    def next_request(self) -> Event | None:
        """Give the next thing to do; None: more data is needed.

        An `Immediate` one must be answered before the next is taken, so that replies keep the
        order of the commands (RuntimeError).
        """
        if self._unanswered is not None:
            message = f"{self._unanswered} is not answered yet"
            raise RuntimeError(message)
        while not self._ready and self._received and not self.closed:
            self._command(self._received.popleft())
        if not self._ready:
            return None
        event = self._ready.popleft()
        if not isinstance(event, r.Request | r.Quit):
            self._unanswered = event
        return event

    def answer(self, reply: r.Reply) -> None:
        """Answer the `Immediate` request that was taken last (RuntimeError if there is none)."""
        if self._unanswered is None:
            message = "there is nothing to answer"
            raise RuntimeError(message)
        self._unanswered = None
        self._reply(reply.letter, reply.text)

    def finish(self, request: r.Request[_R], result: _R) -> None:
        """Queue a request's result; the client fetches results in the order of these calls.

        TypeError for a result of another request's kind, ValueError for a request that is finished
        already or was never taken.
        """
        if type(result) is not request.result:
            message = f"{type(request).__name__} needs a {request.result.__name__}, not {result!r}"
            raise TypeError(message)
        if request not in self._taken:
            message = f"{type(request).__name__} {request.reqid} is not outstanding"
            raise ValueError(message)
        self._bytes -= self._taken.pop(request)
        self._results.append(line(request.reqid, *result.fields))
        self._unfetched += len(self._results[-1])
        if self._notifies and not self._notified:
            self._notified = True
            self._output.append(b"R\r\n")

    def data_to_send(self) -> bytes:
        """Give what is to be written, whole lines, and forget it."""
        data = b"".join(self._output)
        self._output.clear()
        return data

    # One line

    def _command(self, received: bytes | TooLong) -> None:
        if isinstance(received, TooLong):
            self._reply("E", "Line too long")
            return
        name, *arguments = words(received) or [""]
        name = name.upper() if name.isascii() else ""
        try:
            if name in self._own:
                _check_count(0, arguments)
                self._own[name]()
            elif name not in self._commands:
                self._reply("E", "Unknown command")
            elif name in _IMMEDIATE:
                count, make = _IMMEDIATE[name]
                _check_count(count, arguments)
                self._ready.append(make(*arguments))
            else:
                self._take(_BACKGROUND[name], arguments, len(received))
        except _Refused as error:
            self._reply("E", str(error))

    def _take(self, command: _Command, arguments: list[str], size: int) -> None:
        _check_count(command.parameters, arguments)
        events = _requests(command, *arguments)
        if self.outstanding and (
            self.outstanding + len(events) > self._window
            or self._bytes + self._unfetched + size > _WINDOW_BYTES
        ):
            self._reply("F", "Threads limit reached")
            return
        for event in events:
            self._taken[event] = size // len(events)
            self._bytes += size // len(events)
            self._ready.append(event)
        self._reply("S")

    def _reply(self, *fields: str) -> None:
        self._output.append(line(*fields))

    # The commands about the connection

    def _switch(self, *, on: bool) -> None:
        self._notifies = on
        self._reply("S", f"Async mode {'on' if on else 'off'}")

    def _list(self) -> None:
        self._reply("S", *sorted(self._commands))

    def _quit(self) -> None:
        self.closed = True
        self._received.clear()
        self._ready.append(r.Quit())
        self._reply("S", "Server exiting")

    def _tell_results(self) -> None:
        self._notified = False
        self._reply("S", str(len(self._results)))
        self._output += self._results
        self._results.clear()
        self._unfetched = 0


def _check_count(expected: int, arguments: list[str]) -> None:
    if len(arguments) != expected:
        message = f"expected {expected} parameters, {len(arguments)} found"
        raise _Refused(message)


def _requests(command: _Command, reqid: str, *arguments: str) -> list[r.AnyRequest]:
    """Give the requests of a command: of each job one, with the ids `reqid.0`, `reqid.1` if several."""
    if not _REQUEST_ID.match(reqid):
        message = f"request id {shown(reqid)} is no integer other than 0"
        raise _Refused(message)
    if not command.several:
        return [command.make(reqid, *arguments)]
    ids = arguments[0].split() or [""]
    if len(ids) > _MOST_IDS:
        message = f"expected at most {_MOST_IDS} job ids, {len(ids)} found"
        raise _Refused(message)
    if len(ids) == 1:
        return [command.make(reqid, ids[0])]
    return [command.make(f"{reqid}.{number}", job_id) for number, job_id in enumerate(ids)]
