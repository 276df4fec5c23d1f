"""Frames as bytes, in both directions, and what is wrong with them.

    frame = LENGTH " " ID ":" TID ":" NUM_ARGS *( " " ARGLEN ":" bytes )

All numbers are hexadecimal and of fixed length; LENGTH counts the bytes after it, the first space
included. Everything is US-ASCII, and nothing stands between two frames. The reader and the writer
both use the table below. Ids of elements, and ranks, are sent as range sets:

    set = range *( "," range ) ; range = N | LOW "-" HIGH

A refused job, or a batch system that fails, is no violation of the protocol: it is reported by an
event. Source: docs/protocols/ptp.md, 1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, Self, final

from osprofile.errors import OSProfileError
from osprofile.text import quote_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


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


@final
class HexNumber(NamedTuple):
    """A hexadecimal number of fixed length, and the text before it."""

    name: str
    prefix: str
    digits: int

    @property
    def max_value(self) -> int:
        """The largest value with so many digits."""
        return int(16**self.digits) - 1

    @property
    def size(self) -> int:
        """The number of bytes, with the prefix."""
        return len(self.prefix) + self.digits

    @property
    def template(self) -> str:
        """The format: lower-case digits, as in the original software."""
        return f"{self.prefix}%0{self.digits}x"


LENGTH: Final = HexNumber("LENGTH", "", 8)
HEADER: Final = (HexNumber("ID", " ", 4), HexNumber("TID", ":", 8), HexNumber("NUM_ARGS", ":", 8))
ARGUMENT: Final = HexNumber("ARGLEN", " ", 8)
AFTER_ARGLEN: Final = ":"
"""The layout of a frame: LENGTH, HEADER, then for each argument ARGUMENT, this, and its bytes."""

HEADER_SIZE: Final = sum(number.size for number in HEADER)
ARGUMENT_SIZE: Final = ARGUMENT.size + len(AFTER_ARGLEN)
_LENGTH_FORMAT: Final = LENGTH.template
_HEADER_FORMAT: Final = "".join(number.template for number in HEADER)
_ARGUMENT_FORMAT: Final = f"{ARGUMENT.template}{AFTER_ARGLEN}%s"
_HEX: Final = re.compile(rb"[0-9A-Fa-f]*")

MAX_COMMAND_SIZE: Final = 4 * 1024 * 1024
"""The longest frame that is read. Linux limits arguments and environment of a program to 2 MiB
(ARG_MAX with the usual stack). A client sends each of them with ten bytes around it, and a few other
attributes: twice that limit is always enough."""


@final
class Frame(NamedTuple):
    """A command or an event: its number, its transaction, its arguments (of an event, US-ASCII)."""

    id: int
    tid: int
    args: tuple[str, ...] = ()


def encode_frame(id_: int, tid: int, args: Sequence[str] = ()) -> bytes:
    """Return a frame's bytes.

    Raises `LocalError` for text that is not US-ASCII, and for a number with too many digits.
    """
    for number, value in zip(HEADER, (id_, tid, len(args)), strict=True):
        if not 0 <= value <= number.max_value:
            raise LocalError(f"{number.name} {value} does not fit into {number.digits} hexadecimal digits")
    pieces = [_ARGUMENT_FORMAT % (len(text), text) for text in args]
    pieces.insert(0, _HEADER_FORMAT % (id_, tid, len(args)))
    try:
        body = "".join(pieces).encode("ascii")
    except UnicodeEncodeError:
        wrong = next(text for text in args if not text.isascii())
        message = f"{quote_value(wrong)} is not US-ASCII: the client would end the session"
        raise LocalError(message) from None
    if len(body) > LENGTH.max_value:
        raise LocalError(f"a frame of {len(body)} bytes is too long for its LENGTH")
    return (_LENGTH_FORMAT % len(body)).encode() + body


def escape_non_ascii(text: str) -> str:
    r"""Return a text with characters outside of US-ASCII escaped, as `\xe9` or `\u2019`."""
    return text if text.isascii() else text.encode("ascii", "backslashreplace").decode("ascii")


@final
class FrameReader:
    """Parses frames from bytes that arrive in any pieces.

    It holds at most one incomplete frame, of up to `max_length` bytes, and the last piece.
    """

    def __init__(self, max_length: int = MAX_COMMAND_SIZE) -> None:
        self._max_length = max_length
        self._buffer = bytearray()
        self._offset = 0  # of the buffer's first byte
        self._length: int | None = None
        self._fatal_error: RemoteError | None = None
        self._input_ended = False

    @property
    def has_ended(self) -> bool:
        """Whether the input has ended and all of it has been parsed."""
        return self._input_ended and not self._buffer

    def receive_data(self, data: bytes) -> None:
        """Add received bytes; empty ones are the end of the input."""
        if self._fatal_error is None:
            self._buffer += data
        self._input_ended = self._input_ended or not data

    def next_frame(self) -> Frame | None:
        """Return the next frame; None if more data is needed.

        Raises `RemoteError`, and after a fatal one the same again.
        """
        if self._fatal_error is not None:
            raise self._fatal_error
        try:
            body = self._read_body()
        except RemoteError as error:
            self._fatal_error = error
            self._buffer.clear()
            raise
        return None if body is None else _BodyParser(body, self._offset - len(body)).parse_frame()

    def _read_body(self) -> bytes | None:
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
        if self._input_ended and self._buffer:
            missing = "" if self._length is None else f" of {end} bytes"
            message = f"the input ended inside a frame{missing}"
            raise RemoteError(message, offset=self._offset + len(self._buffer), fatal=True)
        return None

    def _read_length(self) -> int:
        length = _parse_hex_number(LENGTH, self._buffer, 0, self._offset, fatal=True)
        if length < HEADER_SIZE:
            message = f"LENGTH {length} is too small for a frame"
            hint = f"at least {HEADER_SIZE}"
            raise RemoteError(message, offset=self._offset, fatal=True, hint=hint)
        if length > self._max_length:
            message = f"LENGTH {length} is too large"
            hint = f"at most {self._max_length} bytes are read as one command"
            raise RemoteError(message, offset=self._offset, fatal=True, hint=hint)
        return length


@final
class _BodyParser:
    """A frame's bytes after LENGTH, read from left to right."""

    def __init__(self, data: bytes, offset: int) -> None:
        self._data = data
        self._offset = offset
        self._position = 0

    def parse_frame(self) -> Frame:
        id_, tid, count = map(self._parse_number, HEADER)
        left = len(self._data) - self._position
        if count * ARGUMENT_SIZE > left:
            at = self._position - HEADER[-1].digits
            raise self._make_error(f"NUM_ARGS {count} is too large for the {left} bytes that follow", at)
        args = tuple(self._parse_argument() for _ in range(count))
        if self._position < len(self._data):
            raise self._make_error(f"{len(self._data) - self._position} bytes after the last argument")
        return Frame(id_, tid, args)

    def _parse_argument(self) -> str:
        length = self._parse_number(ARGUMENT)
        begin = self._position + len(AFTER_ARGLEN)
        if self._data[self._position : begin] != AFTER_ARGLEN.encode():
            raise self._make_error(f"{AFTER_ARGLEN!r} must follow ARGLEN")
        end = begin + length
        if end > len(self._data):
            at = self._position - ARGUMENT.digits
            raise self._make_error(f"ARGLEN {length} goes beyond the frame's end", at)
        self._position = end
        # No client sends other bytes than US-ASCII; who does is to have an answer all the same.
        return self._data[begin:end].decode("utf-8", "surrogateescape")

    def _parse_number(self, number: HexNumber) -> int:
        value = _parse_hex_number(number, self._data, self._position, self._offset, fatal=False)
        self._position += number.size
        return value

    def _make_error(self, message: str, at: int | None = None) -> RemoteError:
        offset = self._offset + (self._position if at is None else at)
        return RemoteError(message, offset=offset, fatal=False)


def _parse_hex_number(
    number: HexNumber, data: bytes | bytearray, at: int, offset: int, *, fatal: bool
) -> int:
    """Return the number whose prefix begins at `at`; `offset` is that of `data` in the input."""
    begin = at + len(number.prefix)
    if bytes(data[at:begin]) != number.prefix.encode():
        message = f"{number.prefix!r} must stand before {number.name}"
        raise RemoteError(message, offset=offset + at, fatal=fatal)
    end = begin + number.digits
    digits = bytes(data[begin:end])
    good = _HEX.match(digits)
    right = good.end() if good else 0
    if right < number.digits:
        message = f"{number.name} must have {number.digits} hexadecimal digits"
        raise RemoteError(message, offset=offset + begin + right, fatal=fatal)
    return int(digits, 16)


# Range sets

MAX_ID: Final = 2**31 - 1
"""The original client holds ids and ranks in signed 32-bit integers."""


@final
@dataclass(frozen=True, slots=True)
class RangeSet:
    """A set of numbers from 0 to MAX_ID, as spans (first, last) that neither overlap nor touch.

    `str()` is the shortest notation; that of the empty set, which clients refuse, is empty.
    """

    spans: tuple[tuple[int, int], ...] = ()

    @classmethod
    def from_numbers(cls, numbers: Iterable[int]) -> Self:
        """Return the set of these numbers. Raises `LocalError` for one that is out of range."""
        if isinstance(numbers, range) and numbers.step == 1:
            spans = [(numbers.start, numbers.stop - 1)] if numbers else []
        else:
            spans = list(_find_spans(sorted(set(numbers))))
        if spans and not (spans[0][0] >= 0 and spans[-1][1] <= MAX_ID):
            wrong = spans[0][0] if spans[0][0] < 0 else spans[-1][1]
            raise LocalError(f"{wrong} is not an id", hint=f"0 to {MAX_ID}")
        return cls(tuple(spans))

    def __str__(self) -> str:
        return ",".join([f"{low}-{high}" if low < high else f"{low}" for low, high in self.spans])

    def __iter__(self) -> Iterator[int]:
        for low, high in self.spans:
            yield from range(low, high + 1)


def _find_spans(numbers: list[int]) -> Iterator[tuple[int, int]]:
    """Yield the spans of sorted numbers without repetition."""
    if not numbers:
        return
    first = last = numbers[0]
    for number in numbers:
        if number > last + 1:
            yield first, last
            first = number
        last = number
    yield first, last
