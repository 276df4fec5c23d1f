"""The errors of the executors: what is wrong with the request of a client."""

from __future__ import annotations

from osprofile.errors import RequestError


class ClassAdError(RequestError):
    """A ClassAd that cannot be read.

    `offset` counts characters from the start of the text, `line` and `column` count from 1;
    `expected` says what was expected there, or is empty.
    """

    def __init__(self, message: str, text: str, offset: int, *, expected: str = "") -> None:
        self.offset = offset
        self.line = text.count("\n", 0, offset) + 1
        self.column = offset - text.rfind("\n", 0, offset)
        self.expected = expected
        expectation = f", but {expected} was expected" if expected else ""
        super().__init__(f"line {self.line}, column {self.column}: {message}{expectation}")


class AttributeRefusedError(RequestError):
    """An attribute of a job has a value that cannot be used; `attribute` is its name."""

    def __init__(self, message: str, *, attribute: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.attribute = attribute


class JobIdError(RequestError):
    """A malformed job id."""
