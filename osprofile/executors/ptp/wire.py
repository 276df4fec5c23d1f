"""Frames as bytes: what both directions share.

    frame = LENGTH " " ID ":" TID ":" NUM_ARGS *( " " ARGLEN ":" bytes )

All numbers are hexadecimal and of fixed length; LENGTH counts the bytes after it, the first space
included. Everything is US-ASCII, and nothing stands between two frames. The reader and the writer
are both made from the table below. Sources: seed, "Message Format", "String Format", "Commands";
the protocol page, "Grammar".
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple, final

from osprofile.errors import shown
from osprofile.executors.ptp.errors import LocalError, RemoteError


@final
class Number(NamedTuple):
    """A hexadecimal number of fixed length, and what stands before it."""

    name: str
    before: str
    digits: int

    @property
    def largest(self) -> int:
        """The largest value that fits."""
        return int(16**self.digits) - 1

    @property
    def size(self) -> int:
        """How many bytes it takes with what stands before it."""
        return len(self.before) + self.digits

    @property
    def format(self) -> str:
        """How it is written: lower-case digits, as the original software does."""
        return f"{self.before}%0{self.digits}x"


LENGTH: Final = Number("LENGTH", "", 8)
HEADER: Final = (Number("ID", " ", 4), Number("TID", ":", 8), Number("NUM_ARGS", ":", 8))
ARGUMENT: Final = Number("ARGLEN", " ", 8)
AFTER_ARGLEN: Final = ":"
"""The layout of a frame: LENGTH, HEADER, then for each argument ARGUMENT, this, and its bytes."""

HEADER_SIZE: Final = sum(number.size for number in HEADER)
ARGUMENT_SIZE: Final = ARGUMENT.size + len(AFTER_ARGLEN)
_LENGTH_FORMAT: Final = LENGTH.format
_HEADER_FORMAT: Final = "".join(number.format for number in HEADER)
_ARGUMENT_FORMAT: Final = f"{ARGUMENT.format}{AFTER_ARGLEN}%s"
_HEX: Final = re.compile(rb"[0-9A-Fa-f]*")

MAX_COMMAND: Final = 4 * 1024 * 1024
"""The longest frame that is read. Arguments and environment of a program fit into 2 MiB on Linux
(ARG_MAX with the usual stack), and a client sends each with ten bytes around it and a few other
attributes beside it; a client that means to send more than twice that has lost count."""


@final
class Frame(NamedTuple):
    """A command or an event: its number, its transaction, its arguments (US-ASCII)."""

    id: int
    tid: int
    args: tuple[str, ...] = ()

    def __bytes__(self) -> bytes:
        return encode(self.id, self.tid, self.args)


def encode(id_: int, tid: int, args: tuple[str, ...] | list[str] = ()) -> bytes:
    """Give a frame's bytes.

    Raises `LocalError` for what is not US-ASCII, and for a number that does not fit.
    """
    for number, value in zip(HEADER, (id_, tid, len(args)), strict=True):
        if not 0 <= value <= number.largest:
            raise LocalError(f"{number.name} {value} has no {number.digits} hexadecimal digits")
    pieces = [_ARGUMENT_FORMAT % (len(text), text) for text in args]
    pieces.insert(0, _HEADER_FORMAT % (id_, tid, len(args)))
    try:
        body = "".join(pieces).encode("ascii")
    except UnicodeEncodeError:
        wrong = next(text for text in args if not text.isascii())
        message = f"{shown(wrong)} is not US-ASCII: the client would drop the session"
        raise LocalError(message) from None
    if len(body) > LENGTH.largest:
        raise LocalError(f"a frame of {len(body)} bytes is too long for its LENGTH")
    return (_LENGTH_FORMAT % len(body)).encode() + body


def ascii_text(text: str) -> str:
    r"""Give a text as the wire can carry it: what is not US-ASCII as `\xe9` or `\u2019`."""
    return text if text.isascii() else text.encode("ascii", "backslashreplace").decode("ascii")


@final
class Reader:
    """Bytes in, in any pieces; frames out.

    It holds no more than one frame that is not whole, at most `limit` bytes, and what came after
    it in the same piece.
    """

    def __init__(self, limit: int = MAX_COMMAND) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._offset = 0  # of the buffer's first byte
        self._length: int | None = None
        self._broken: RemoteError | None = None
        self._ended = False

    @property
    def ended(self) -> bool:
        """Whether the input has ended, and everything that came has been read."""
        return self._ended and not self._buffer

    def receive_data(self, data: bytes) -> None:
        """Take what came; no bytes at all mean the input's end."""
        if self._broken is None:
            self._buffer += data
        self._ended = self._ended or not data

    def next_frame(self) -> Frame | None:
        """Give the next frame, or None where more data is needed.

        Raises `RemoteError`; after a fatal one the same again.
        """
        if self._broken is not None:
            raise self._broken
        try:
            body = self._next_body()
        except RemoteError as error:
            self._broken = error
            self._buffer.clear()
            raise
        return None if body is None else _Body(body, self._offset - len(body)).frame()

    def _next_body(self) -> bytes | None:
        size = LENGTH.size
        if self._length is None and len(self._buffer) >= size:
            self._length = self._read_length()
        end = size + (self._length or 0)
        if self._length is not None and len(self._buffer) >= end:
            body = bytes(memoryview(self._buffer)[size:end])
            del self._buffer[:end]
            self._offset += end
            self._length = None
            return body
        if self._ended and self._buffer:
            missing = "" if self._length is None else f" of {end} bytes"
            message = f"the input ended inside a frame{missing}"
            raise RemoteError(message, offset=self._offset + len(self._buffer), fatal=True)
        return None

    def _read_length(self) -> int:
        length = _number(LENGTH, self._buffer, 0, self._offset, fatal=True)
        if length < HEADER_SIZE:
            message = f"LENGTH {length} is too small for a frame"
            hint = f"at least {HEADER_SIZE}"
            raise RemoteError(message, offset=self._offset, fatal=True, hint=hint)
        if length > self._limit:
            message = f"LENGTH {length} is too large"
            hint = f"at most {self._limit} bytes are read as one command"
            raise RemoteError(message, offset=self._offset, fatal=True, hint=hint)
        return length


@final
class _Body:
    """A frame's bytes after LENGTH, read from left to right."""

    def __init__(self, data: bytes, offset: int) -> None:
        self._data = data
        self._offset = offset
        self._at = 0

    def frame(self) -> Frame:
        id_, tid, count = map(self._number, HEADER)
        left = len(self._data) - self._at
        if count * ARGUMENT_SIZE > left:
            at = self._at - HEADER[-1].digits
            raise self._error(f"NUM_ARGS {count} is too large for the {left} bytes that follow", at)
        args = tuple(self._argument() for _ in range(count))
        if self._at < len(self._data):
            raise self._error(f"{len(self._data) - self._at} bytes after the last argument")
        return Frame(id_, tid, args)

    def _argument(self) -> str:
        length = self._number(ARGUMENT)
        begin = self._at + len(AFTER_ARGLEN)
        if self._data[self._at : begin] != AFTER_ARGLEN.encode():
            raise self._error(f"{AFTER_ARGLEN!r} must follow ARGLEN")
        end = begin + length
        if end > len(self._data):
            at = self._at - ARGUMENT.digits
            raise self._error(f"ARGLEN {length} goes beyond the frame's end", at)
        self._at = end
        try:
            return self._data[begin:end].decode("ascii")
        except UnicodeDecodeError as error:
            raise self._error("not US-ASCII", begin + error.start) from None

    def _number(self, number: Number) -> int:
        value = _number(number, self._data, self._at, self._offset, fatal=False)
        self._at += number.size
        return value

    def _error(self, message: str, at: int | None = None) -> RemoteError:
        offset = self._offset + (self._at if at is None else at)
        return RemoteError(message, offset=offset, fatal=False)


def _number(number: Number, data: bytes | bytearray, at: int, offset: int, *, fatal: bool) -> int:
    """Read a number that begins at `at` with what stands before it; `offset` is that of `data`."""
    begin = at + len(number.before)
    if bytes(data[at:begin]) != number.before.encode():
        message = f"{number.before!r} must stand before {number.name}"
        raise RemoteError(message, offset=offset + at, fatal=fatal)
    end = begin + number.digits
    digits = bytes(data[begin:end])
    good = _HEX.match(digits)
    right = good.end() if good else 0
    if right < number.digits:
        message = f"{number.name} must have {number.digits} hexadecimal digits"
        raise RemoteError(message, offset=offset + begin + right, fatal=fatal)
    return int(digits, 16)
