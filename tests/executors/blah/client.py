"""The client's side of BLAH, as docs/protocols/blah.md, 6, tells it of HTCondor's: what is written, what is read."""

from __future__ import annotations

from osprofile.executors.blah.messages import Request
from osprofile.executors.blah.protocol import Connection, Event


def escaped(text: str) -> bytes:
    r"""Escape an argument: blank, backslash, CR and LF get a backslash (docs/protocols/blah.md, 1.2)."""
    return "".join(f"\\{c}" if c in " \\\r\n" else c for c in text).encode("utf-8", "surrogateescape")


def command(*words: str) -> bytes:
    """Give a command's line."""
    return b" ".join(map(escaped, words)) + b"\r\n"


def fields(line: bytes) -> list[str]:
    r"""Split a line of the server's as a client does: `\c` is c, for any c; blanks separate."""
    found, word, at = list[str](), None, 0
    text = line.decode("utf-8", "surrogateescape")
    while at < len(text):
        character = text[at]
        if character in " \t":
            if word is not None:
                found.append(word)
            word = None
        else:
            if character == "\\":
                at += 1
                character = text[at]
            word = (word or "") + character
        at += 1
    return found if word is None else [*found, word]


class Client:
    """A connection, with what it wants done and what it says."""

    def __init__(self, connection: Connection | None = None) -> None:
        self.connection = connection or Connection()
        self.banner = self.connection.data_to_send()

    def events(self, data: bytes) -> list[Event]:
        """Send data; give what is to be done."""
        self.connection.receive_data(data)
        found = []
        while (event := self.connection.next_request()) is not None:
            found.append(event)
        return found

    def request(self, data: bytes) -> Request:
        """Send data that are one request; give it."""
        (event,) = self.events(data)
        assert isinstance(event, Request)
        return event

    def said(self) -> list[bytes]:
        """Give the lines that the server said since."""
        data = self.connection.data_to_send()
        lines = data.split(b"\r\n")
        assert lines.pop() == b""
        assert not any(c in line for line in lines for c in b"\r\n\0")
        return lines

    def say(self, data: bytes) -> list[bytes]:
        """Send data; give the lines that answer it."""
        self.events(data)
        return self.said()
