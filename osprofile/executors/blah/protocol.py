r"""The protocol, without input or output: bytes in, requests out, results in, bytes out.

    connection = Connection()
    connection.receive_data(data)
    while (request := connection.next_request()) is not None:
        ...                                     start the work, `answer_request`, or end after `Quit`
    connection.finish_request(request, result)  later, in any order
    write(connection.data_to_send())            the banner first

Commands about the connection itself are answered here (docs/protocols/blah.md, 2.2). A request is
answered `S` when it is accepted: the client's window never waits for a batch system.
"""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, final

from osprofile.executors.blah.messages import (
    MAX_LINE_LENGTH,
    ImmediateRequest,
    LineSplitter,
    Quit,
    Reply,
    Request,
    encode_line,
    split_line,
)
from osprofile.text import quote_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from osprofile.executors.blah.messages import Result

VERSION_BANNER: Final = "$GahpVersion: 1.8.0 Mar 31 2008 osprofile\\ blahpd\\ (poly,new_esc_format) $"
"""The version as it is sent, with its escapes; clients parse it."""

DEFAULT_WINDOW: Final = 20_000
"""How many requests may be outstanding: accepted, but their results not fetched yet."""
_MAX_WINDOW_BYTES: Final = 32 * 1024 * 1024  # of outstanding requests and results: bounds the memory
_MAX_JOB_IDS: Final = 1000  # in one command: a line of 16 MiB could become millions of requests
_REQUEST_ID: Final = re.compile(r"[+-]?0{0,18}[1-9][0-9]{0,18}\Z")
_SIGNAL_NUMBER: Final = re.compile(r"[1-9][0-9]?\Z")

Event: TypeAlias = Request | ImmediateRequest | Quit


class _CommandError(Exception):  # it never leaves this module
    """A command that is answered E."""


def _check_signal_arguments(arguments: Sequence[str]) -> None:
    number = arguments[1]
    if not _SIGNAL_NUMBER.match(number):
        message = f"{quote_value(number)} is not a signal number"
        raise _CommandError(message)


class _CommandSpec(NamedTuple):
    """A command that works in the background.

    parameter_count: with the request id
    failure_extras: the extra fields of a failure's result line, "" for `N/A`; a success has as many
    takes_job_list: whether it takes several job ids at once, and becomes a request for each
    check_arguments: raises `_CommandError` for a malformed argument after the request id
    """

    parameter_count: int
    failure_extras: tuple[str, ...] = ()
    takes_job_list: bool = False
    check_arguments: Callable[[Sequence[str]], None] | None = None


_BACKGROUND_COMMANDS: Final = {
    "BLAH_JOB_CANCEL": _CommandSpec(2, takes_job_list=True),
    "BLAH_JOB_HOLD": _CommandSpec(2, takes_job_list=True),
    "BLAH_JOB_REFRESH_PROXY": _CommandSpec(3),
    "BLAH_JOB_RESUME": _CommandSpec(2, takes_job_list=True),
    "BLAH_JOB_SEND_PROXY_TO_WORKER_NODE": _CommandSpec(4),
    "BLAH_JOB_SIGNAL": _CommandSpec(3, ("0",), check_arguments=_check_signal_arguments),
    "BLAH_JOB_STATUS": _CommandSpec(2, ("0", ""), takes_job_list=True),
    "BLAH_JOB_STATUS_ALL": _CommandSpec(1, ("",)),
    "BLAH_JOB_STATUS_SELECT": _CommandSpec(2, ("",)),
    "BLAH_JOB_SUBMIT": _CommandSpec(2, ("",)),
    "BLAH_PING": _CommandSpec(2),
}
_IMMEDIATE_PARAMETER_COUNTS: Final = {"CACHE_PROXY_FROM_FILE": 2, "UNCACHE_PROXY": 1, "USE_CACHED_PROXY": 1}
_CONNECTION_COMMANDS: Final = frozenset(
    {"ASYNC_MODE_OFF", "ASYNC_MODE_ON", "COMMANDS", "QUIT", "RESULTS", "VERSION"}
)

PROXY_CACHE_COMMANDS: Final = frozenset(_IMMEDIATE_PARAMETER_COUNTS)
"""Offered only where a site has configured them: HTCondor uses the cache if they are listed
(docs/protocols/blah.md, 6.1)."""
DEFAULT_COMMANDS: Final = frozenset(_BACKGROUND_COMMANDS)
"""The commands that need no configuration, beside those about the connection."""
ALL_COMMANDS: Final = DEFAULT_COMMANDS | PROXY_CACHE_COMMANDS | _CONNECTION_COMMANDS


@final
class Connection:
    """The server's end of one client's connection.

    `commands` are offered beside those about the connection; any other command is unknown. `window`
    is how many requests may be outstanding. A request beyond it is answered `F Threads limit
    reached`, which makes HTCondor shrink its own window. This works only while a request is
    outstanding (docs/protocols/blah.md, 6.2), so that one is always accepted. A line longer than
    `max_line_length` bytes is answered E.
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
        self._received_lines: deque[bytes | None] = deque()
        self._ready_events: deque[Event] = deque()
        self._unanswered_request: ImmediateRequest | None = None
        self._pending_requests: dict[Request, int] = {}
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
            "VERSION": lambda: self._output.append(b"S " + VERSION_BANNER.encode("ascii") + b"\r\n"),
        }
        self.has_quit = False
        """Whether the client has said QUIT."""

    @property
    def outstanding_count(self) -> int:
        """How many accepted requests have a result that the client has not fetched, or none yet."""
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
        """Add bytes from the client, in pieces of any size; ignore them after QUIT."""
        if not self.has_quit:
            self._received_lines.extend(self._line_splitter.feed_data(data))

    def next_request(self) -> Event | None:
        """Return the next request; None if more data is needed.

        An `ImmediateRequest` must be answered before the next call, so that replies keep the order
        of the commands; otherwise that call raises RuntimeError.
        """
        if self._unanswered_request is not None:
            message = f"{self._unanswered_request} is not answered yet"
            raise RuntimeError(message)
        while not self._ready_events and self._received_lines and not self.has_quit:
            self._process_line(self._received_lines.popleft())
        if not self._ready_events:
            return None
        event = self._ready_events.popleft()
        if isinstance(event, ImmediateRequest):
            self._unanswered_request = event
        return event

    def answer_request(self, reply: Reply) -> None:
        """Answer the last `ImmediateRequest`. Raises RuntimeError if none is unanswered."""
        if self._unanswered_request is None:
            message = "there is nothing to answer"
            raise RuntimeError(message)
        self._unanswered_request = None
        self._write_reply(reply.letter, reply.text)

    def finish_request(self, request: Request, result: Result) -> None:
        """Queue a request's result; the client fetches results in the order of these calls.

        Raises ValueError for a wrong number of extra fields, and if the request is finished already.
        """
        expected = _BACKGROUND_COMMANDS[request.command].failure_extras
        extras = result.extras or (expected if result.code else ())
        if len(extras) != len(expected):
            message = f"{request.command} needs {len(expected)} extra fields, not {len(extras)}"
            raise ValueError(message)
        if request not in self._pending_requests:
            message = f"{request.command} {request.request_id} is not outstanding"
            raise ValueError(message)
        self._pending_bytes -= self._pending_requests.pop(request)
        line = encode_line(request.request_id, str(result.code), result.text, *extras)
        self._results.append(line)
        self._unfetched_bytes += len(line)
        if self._async_mode and not self._result_announced:
            self._result_announced = True
            self._output.append(b"R\r\n")

    def data_to_send(self) -> bytes:
        """Return the bytes to send to the client that earlier calls have not returned."""
        data = b"".join(self._output)
        self._output.clear()
        return data

    # Commands

    def _process_line(self, line: bytes | None) -> None:
        if line is None:
            self._write_reply("E", "Line too long")
            return
        name, *arguments = split_line(line) or [""]
        name = name.upper() if name.isascii() else ""
        try:
            if name in self._connection_commands:
                _check_parameter_count(0, arguments)
                self._connection_commands[name]()
            elif name not in self._commands:
                self._write_reply("E", "Unknown command")
            elif name in _IMMEDIATE_PARAMETER_COUNTS:
                _check_parameter_count(_IMMEDIATE_PARAMETER_COUNTS[name], arguments)
                self._ready_events.append(ImmediateRequest(name, (*arguments,)))
            else:
                self._accept_requests(_make_requests(name, arguments), len(line))
        except _CommandError as error:
            self._write_reply("E", str(error))

    def _accept_requests(self, requests: Sequence[Request], size: int) -> None:
        if self.outstanding_count and (
            self.outstanding_count + len(requests) > self._window
            or self._pending_bytes + self._unfetched_bytes + size > _MAX_WINDOW_BYTES
        ):
            self._write_reply("F", "Threads limit reached")
            return
        for request in requests:
            self._pending_requests[request] = size // len(requests)
            self._pending_bytes += size // len(requests)
            self._ready_events.append(request)
        self._write_reply("S")

    def _write_reply(self, *fields: str) -> None:
        self._output.append(encode_line(*fields))

    # Commands about the connection

    def _set_async_mode(self, *, on: bool) -> None:
        self._async_mode = on
        self._write_reply("S", f"Async mode {'on' if on else 'off'}")

    def _list_commands(self) -> None:
        self._write_reply("S", *sorted(self._commands))

    def _handle_quit(self) -> None:
        self.has_quit = True
        self._received_lines.clear()
        self._ready_events.append(Quit())
        self._write_reply("S", "Server exiting")

    def _send_results(self) -> None:
        self._result_announced = False
        self._write_reply("S", str(len(self._results)))
        self._output += self._results
        self._results.clear()
        self._unfetched_bytes = 0


def _check_parameter_count(expected: int, arguments: Sequence[str]) -> None:
    if len(arguments) != expected:
        message = f"expected {expected} parameters, {len(arguments)} found"
        raise _CommandError(message)


def _make_requests(command: str, arguments: Sequence[str]) -> list[Request]:
    """Return a command's requests; for several jobs they have the request ids `ID.0`, `ID.1` and so on."""
    spec = _BACKGROUND_COMMANDS[command]
    _check_parameter_count(spec.parameter_count, arguments)
    request_id, *parameters = arguments
    if not _REQUEST_ID.match(request_id):
        message = f"request id {quote_value(request_id)} is not an integer other than 0"
        raise _CommandError(message)
    if spec.check_arguments is not None:
        spec.check_arguments(parameters)
    if not spec.takes_job_list:
        return [Request(command, request_id, (*parameters,))]
    job_ids = parameters[0].split() or [""]
    if len(job_ids) > _MAX_JOB_IDS:
        message = f"expected at most {_MAX_JOB_IDS} job ids, {len(job_ids)} found"
        raise _CommandError(message)
    if len(job_ids) == 1:
        return [Request(command, request_id, (job_ids[0],))]
    return [Request(command, f"{request_id}.{number}", (job_id,)) for number, job_id in enumerate(job_ids)]
