r"""BLAH without input and output: bytes in, requests out, results in, bytes out.

    connection = Connection()
    connection.receive_data(data)
    while (request := connection.next_request()) is not None:
        ...                                     start the work, or `answer_request`, or end after `Quit`
    connection.finish(request, result)          later, in any order
    write(connection.data_to_send())            the banner first

The commands about the connection itself are answered here (seed 2.5; page "Commands"). A request
is answered `S` when it is taken: the window of a client never waits for a batch system.
"""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, TypeVar, final

from osprofile.errors import quote_value
from osprofile.executors.blah import requests as r
from osprofile.executors.blah.framing import (
    MAX_LINE_LENGTH,
    LineSplitter,
    OversizedLine,
    encode_line,
    split_line,
)
from osprofile.executors.blah.results import AnyResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

VERSION_BANNER: Final = (
    "$GahpVersion: 1.8.0 Mar 31 2008 osprofile\\ blahpd\\ (poly,new_esc_format) $"
)
"""The version as it stands on the wire; clients read its words."""

DEFAULT_WINDOW: Final = 20_000
"""How many requests may be outstanding: taken, and their results not yet fetched."""
_MAX_WINDOW_BYTES: Final = 32 * 1024 * 1024
_MAX_JOB_IDS: Final = 1000
_REQUEST_ID: Final = re.compile(r"[+-]?0{0,18}[1-9][0-9]{0,18}\Z")
_SIGNAL_NUMBER: Final = re.compile(r"[1-9][0-9]?\Z")

Event: TypeAlias = r.AnyRequest | r.ImmediateRequest | r.Quit
_ResultT = TypeVar("_ResultT", bound=AnyResult)


class _CommandError(Exception):  # it never leaves this module
    """A command that is answered E."""


class _CommandSpec(NamedTuple):
    """How a command with a request id becomes requests; `takes_job_list`: of a list of job ids."""

    parameter_count: int
    make_request: Callable[..., r.AnyRequest]
    takes_job_list: bool = False


def _make_signal_request(reqid: str, job_id: str, number: str) -> r.Signal:
    if not _SIGNAL_NUMBER.match(number):
        message = f"{quote_value(number)} is no signal's number"
        raise _CommandError(message)
    return r.Signal(reqid, job_id, int(number))


_BACKGROUND_COMMANDS: Final[dict[str, _CommandSpec]] = {
    "BLAH_GET_HOSTPORT": _CommandSpec(1, r.HostPort),
    "BLAH_JOB_CANCEL": _CommandSpec(2, r.Cancel, takes_job_list=True),
    "BLAH_JOB_HOLD": _CommandSpec(2, r.Hold, takes_job_list=True),
    "BLAH_JOB_REFRESH_PROXY": _CommandSpec(3, r.RefreshProxy),
    "BLAH_JOB_RESUME": _CommandSpec(2, r.Resume, takes_job_list=True),
    "BLAH_JOB_SEND_PROXY_TO_WORKER_NODE": _CommandSpec(4, r.SendProxy),
    "BLAH_JOB_SIGNAL": _CommandSpec(3, _make_signal_request),
    "BLAH_JOB_STATUS": _CommandSpec(2, r.Status, takes_job_list=True),
    "BLAH_JOB_STATUS_ALL": _CommandSpec(1, r.StatusAll),
    "BLAH_JOB_STATUS_SELECT": _CommandSpec(2, r.StatusSelect),
    "BLAH_JOB_SUBMIT": _CommandSpec(2, r.Submit),
    "BLAH_PING": _CommandSpec(2, r.Ping),
}
_IMMEDIATE_COMMANDS: Final[dict[str, tuple[int, Callable[..., r.ImmediateRequest]]]] = {
    "BLAH_SET_GLEXEC_DN": (3, r.SetGlexecDn),
    "BLAH_SET_GLEXEC_OFF": (0, r.SetGlexecOff),
    "BLAH_SET_SUDO_ID": (1, r.SetSudoId),
    "BLAH_SET_SUDO_OFF": (0, r.SetSudoOff),
    "CACHE_PROXY_FROM_FILE": (2, r.CacheProxy),
    "UNCACHE_PROXY": (1, r.UncacheProxy),
    "USE_CACHED_PROXY": (1, r.UseCachedProxy),
}
_CONNECTION_COMMANDS: Final = frozenset(
    {"ASYNC_MODE_OFF", "ASYNC_MODE_ON", "COMMANDS", "QUIT", "RESULTS", "VERSION"}
)

ALL_COMMANDS: Final = frozenset(
    {*_BACKGROUND_COMMANDS, *_IMMEDIATE_COMMANDS, *_CONNECTION_COMMANDS}
)
"""All commands there are."""

DEFAULT_COMMANDS: Final = frozenset(_BACKGROUND_COMMANDS) - {"BLAH_GET_HOSTPORT"}
"""Those that need no configuration. HTCondor would use the proxy cache if it were listed (page)."""


@final
class Connection:
    """The server's end of one client's connection.

    `commands` are those that are configured, beside the six that always are: the others are
    unknown, and are not listed. `window` bounds what is outstanding: what goes beyond is answered
    `F Threads limit reached`, by which HTCondor shrinks its own window; never while nothing
    is outstanding. A line longer than `max_line_length` bytes is answered E.
    """

    def __init__(
        self,
        commands: Iterable[str] = DEFAULT_COMMANDS,
        *,
        window: int = DEFAULT_WINDOW,
        max_line_length: int = MAX_LINE_LENGTH,
    ) -> None:
        self._commands = ALL_COMMANDS.intersection(commands) | _CONNECTION_COMMANDS
        self._window = window
        self._line_splitter = LineSplitter(max_line_length)
        self._received_lines: deque[bytes | OversizedLine] = deque()
        self._ready_events: deque[Event] = deque()
        self._unanswered_request: r.ImmediateRequest | None = None
        self._pending_requests: dict[r.Request[AnyResult], int] = {}
        self._pending_bytes = 0
        self._results: list[bytes] = []
        self._unfetched_bytes = 0
        self._async_mode = self._result_announced = False
        self._output = [VERSION_BANNER.encode("ascii") + b"\r\n"]
        self._connection_commands: dict[str, Callable[[], None]] = {
            "ASYNC_MODE_OFF": lambda: self._set_async_mode(on=False),
            "ASYNC_MODE_ON": lambda: self._set_async_mode(on=True),
            "COMMANDS": self._list_commands,
            "QUIT": self._handle_quit,
            "RESULTS": self._send_results,
            "VERSION": lambda: self._output.append(
                b"S " + VERSION_BANNER.encode("ascii") + b"\r\n"
            ),
        }
        self.closed = False
        """Whether the client has said QUIT."""

    @property
    def outstanding_count(self) -> int:
        """How many requests were taken whose results the client has not fetched."""
        return len(self._pending_requests) + len(self._results)

    @property
    def unfinished_count(self) -> int:
        """How many requests have no result yet."""
        return len(self._pending_requests)

    @property
    def unfetched_bytes(self) -> int:
        """How many bytes of results the client has not fetched."""
        return self._unfetched_bytes

    def receive_data(self, data: bytes) -> None:
        """Take what the client wrote, in pieces of any size. After QUIT it is thrown away."""
        if not self.closed:
            self._received_lines.extend(self._line_splitter.feed_data(data))

    def next_request(self) -> Event | None:
        """Give the next thing to do; None: more data is needed.

        An `Immediate` one must be answered before the next is taken, so that replies keep the
        order of the commands (RuntimeError).
        """
        if self._unanswered_request is not None:
            message = f"{self._unanswered_request} is not answered yet"
            raise RuntimeError(message)
        while not self._ready_events and self._received_lines and not self.closed:
            self._process_line(self._received_lines.popleft())
        if not self._ready_events:
            return None
        event = self._ready_events.popleft()
        if not isinstance(event, r.Request | r.Quit):
            self._unanswered_request = event
        return event

    def answer_request(self, reply: r.Reply) -> None:
        """Answer the `Immediate` request that was taken last (RuntimeError if there is none)."""
        if self._unanswered_request is None:
            message = "there is nothing to answer"
            raise RuntimeError(message)
        self._unanswered_request = None
        self._write_reply(reply.letter, reply.text)

    def finish_request(self, request: r.Request[_ResultT], result: _ResultT) -> None:
        """Queue a request's result; the client fetches results in the order of these calls.

        TypeError for a result of another request's kind, ValueError for a request that is finished
        already or was never taken.
        """
        if type(result) is not request.result_class:
            message = (
                f"{type(request).__name__} needs a {request.result_class.__name__}, not {result!r}"
            )
            raise TypeError(message)
        if request not in self._pending_requests:
            message = f"{type(request).__name__} {request.request_id} is not outstanding"
            raise ValueError(message)
        self._pending_bytes -= self._pending_requests.pop(request)
        self._results.append(encode_line(request.request_id, *result.fields))
        self._unfetched_bytes += len(self._results[-1])
        if self._async_mode and not self._result_announced:
            self._result_announced = True
            self._output.append(b"R\r\n")

    def data_to_send(self) -> bytes:
        """Give what is to be written, whole lines, and forget it."""
        data = b"".join(self._output)
        self._output.clear()
        return data

    # One line

    def _process_line(self, received: bytes | OversizedLine) -> None:
        if isinstance(received, OversizedLine):
            self._write_reply("E", "Line too long")
            return
        name, *arguments = split_line(received) or [""]
        name = name.upper() if name.isascii() else ""
        try:
            if name in self._connection_commands:
                _check_parameter_count(0, arguments)
                self._connection_commands[name]()
            elif name not in self._commands:
                self._write_reply("E", "Unknown command")
            elif name in _IMMEDIATE_COMMANDS:
                count, make = _IMMEDIATE_COMMANDS[name]
                _check_parameter_count(count, arguments)
                self._ready_events.append(make(*arguments))
            else:
                self._accept_command(_BACKGROUND_COMMANDS[name], arguments, len(received))
        except _CommandError as error:
            self._write_reply("E", str(error))

    def _accept_command(self, command: _CommandSpec, arguments: list[str], size: int) -> None:
        _check_parameter_count(command.parameter_count, arguments)
        events = _make_requests(command, *arguments)
        if self.outstanding_count and (
            self.outstanding_count + len(events) > self._window
            or self._pending_bytes + self._unfetched_bytes + size > _MAX_WINDOW_BYTES
        ):
            self._write_reply("F", "Threads limit reached")
            return
        for event in events:
            self._pending_requests[event] = size // len(events)
            self._pending_bytes += size // len(events)
            self._ready_events.append(event)
        self._write_reply("S")

    def _write_reply(self, *fields: str) -> None:
        self._output.append(encode_line(*fields))

    # The commands about the connection

    def _set_async_mode(self, *, on: bool) -> None:
        self._async_mode = on
        self._write_reply("S", f"Async mode {'on' if on else 'off'}")

    def _list_commands(self) -> None:
        self._write_reply("S", *sorted(self._commands))

    def _handle_quit(self) -> None:
        self.closed = True
        self._received_lines.clear()
        self._ready_events.append(r.Quit())
        self._write_reply("S", "Server exiting")

    def _send_results(self) -> None:
        self._result_announced = False
        self._write_reply("S", str(len(self._results)))
        self._output += self._results
        self._results.clear()
        self._unfetched_bytes = 0


def _check_parameter_count(expected: int, arguments: list[str]) -> None:
    if len(arguments) != expected:
        message = f"expected {expected} parameters, {len(arguments)} found"
        raise _CommandError(message)


def _make_requests(command: _CommandSpec, reqid: str, *arguments: str) -> list[r.AnyRequest]:
    """Give the requests of a command: of each job one, with the ids `reqid.0`, `reqid.1` if several."""
    if not _REQUEST_ID.match(reqid):
        message = f"request id {quote_value(reqid)} is no integer other than 0"
        raise _CommandError(message)
    if not command.takes_job_list:
        return [command.make_request(reqid, *arguments)]
    ids = arguments[0].split() or [""]
    if len(ids) > _MAX_JOB_IDS:
        message = f"expected at most {_MAX_JOB_IDS} job ids, {len(ids)} found"
        raise _CommandError(message)
    if len(ids) == 1:
        return [command.make_request(reqid, ids[0])]
    return [command.make_request(f"{reqid}.{number}", job_id) for number, job_id in enumerate(ids)]
