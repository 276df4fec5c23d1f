"""Attributes: their ids, types and values.

An attribute is sent as `ID=value`. PREDEFINED has those that the original client knows; an agent
defines others by ATTR_DEF, and an undefined one is a STRING. The client drops a value that the
definition forbids, so that such values are never sent. Source: docs/protocols/ptp.md, 1.4, 4.2
and 4.3.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, final

from osprofile.executors.ptp.wire import LocalError, escape_non_ascii
from osprofile.text import quote_name, quote_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

AttributeValue = str | int | float | bool
"""The value of an attribute; any of them may be given as text."""

MAX_INTEGER: Final = 2**31 - 1
"""The client's INTEGER is signed and has 32 bits; BIGINTEGER has no limit."""

_INTEGER_PATTERN: Final = re.compile(r"[+-]?[0-9]{1,4000}\Z")
_ID_PATTERN: Final = re.compile(r"[^=\s]+\Z")


@final
class AttributeType(StrEnum):
    """The types of attributes (docs/protocols/ptp.md, 4.2)."""

    ARRAY = "ARRAY"
    BIGINTEGER = "BIGINTEGER"
    BOOLEAN = "BOOLEAN"
    DATE = "DATE"
    DOUBLE = "DOUBLE"
    ENUMERATED = "ENUMERATED"
    INTEGER = "INTEGER"
    STRING = "STRING"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeDefinition:
    """The definition of an attribute, as sent by ATTR_DEF.

    `minimum` and `maximum` are for numbers, both or neither; `values` are those of an ENUMERATED.
    `display`: whether the client shows it.
    """

    id: str
    type: AttributeType = AttributeType.STRING
    name: str = ""
    description: str = ""
    display: bool = True
    default: str = ""
    minimum: float | None = None
    maximum: float | None = None
    values: tuple[str, ...] = ()

    def validate_value(self, value: AttributeValue) -> str:
        """Return a value as text. Raises `LocalError` if the definition forbids it."""
        text = escape_non_ascii(_format_value(value))
        if problem := _find_problem(self, text):
            raise LocalError(f"attribute {quote_name(self.id)}: {quote_value(text)} {problem}")
        return text

    def format_arguments(self) -> list[str]:
        """Return the arguments of ATTR_DEF for this definition, after their number.

        Raises `LocalError` for a type that the original client does not read properly, and for a
        default that the definition itself forbids.
        """
        if self.type in _UNDEFINABLE_TYPES:
            raise LocalError(
                f"attribute {quote_name(self.id)}: the client cannot read the type {self.type} here"
            )
        if not _ID_PATTERN.match(self.id) or not self.id.isascii():
            raise LocalError(f"{quote_value(self.id)} is not an id of an attribute", hint="no '=', no blank")
        texts = [self.id, self.type.value, self.name or self.id, self.description]
        texts += ["true" if self.display else "false", self.validate_value(self.default)]
        if self.minimum is not None and self.maximum is not None:
            texts += [_format_limit(self, self.minimum), _format_limit(self, self.maximum)]
        texts += self.values
        return [str(len(texts)), *map(escape_non_ascii, texts)]


def _format_value(value: AttributeValue) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)  # of a StrEnum, too


def _format_limit(definition: AttributeDefinition, limit: float) -> str:
    return repr(float(limit)) if definition.type is AttributeType.DOUBLE else str(int(limit))


def _find_problem(definition: AttributeDefinition, text: str) -> str:
    """Return what is wrong with a value (empty: nothing)."""
    kind = definition.type
    if kind is AttributeType.ARRAY:
        return "would be split into characters by the client: it is never sent"
    if kind is AttributeType.BOOLEAN and text not in {"true", "false"}:
        return "is neither true nor false"
    if kind is AttributeType.ENUMERATED and text not in definition.values:
        return f"is not one of {' '.join(definition.values)}"
    return _find_problem_of_number(definition, text) if kind in NUMBER_TYPES else ""


def _find_problem_of_number(definition: AttributeDefinition, text: str) -> str:
    low, high, number = definition.minimum, definition.maximum, 0.0
    if definition.type is not AttributeType.DOUBLE and not _INTEGER_PATTERN.match(text):
        return "is not an integer"
    try:
        number = float(text) if definition.type is AttributeType.DOUBLE else int(text)
    except ValueError:
        return "is not a number"
    if definition.type is AttributeType.INTEGER and abs(number) > MAX_INTEGER:
        return "does not fit into 32 bits"
    if definition.type is AttributeType.DOUBLE and not math.isfinite(number):
        return "is not finite"
    if (low is not None and number < low) or (high is not None and number > high):
        return f"is outside {low} to {high}"
    return ""


NUMBER_TYPES: Final = frozenset({AttributeType.INTEGER, AttributeType.BIGINTEGER, AttributeType.DOUBLE})
_UNDEFINABLE_TYPES: Final = frozenset({AttributeType.ARRAY, AttributeType.DATE})

_ENUMERATED_VALUES: Final = {
    "jobState": "STARTING RUNNING SUSPENDED COMPLETED",
    "machineState": "UP DOWN ALERT ERROR UNKNOWN",
    "messageLevel": "FATAL ERROR WARNING INFO DEBUG UNDEFINED",
    "nodeState": "UP DOWN ERROR UNKNOWN",
    "processState": "STARTING RUNNING SUSPENDED COMPLETED",
    "queueState": "NORMAL STOPPED",
    "rmState": "STARTING STARTED STOPPING STOPPED SUSPENDED ERROR",
}
_IDS_BY_TYPE: Final = {
    AttributeType.ARRAY: "debugArgs env progArgs",
    AttributeType.BOOLEAN: "debug debugStopInMain filterChildren launchedByPTP",
    AttributeType.INTEGER: (
        "ioForwarding jobNumProcs messageCode nodeNumber numNodes processExitCode processIndex processPID"
    ),
    AttributeType.STRING: (
        "errorMsg execName execPath id jobId jobStatus jobStatusMessage jobSubId messageText name "
        "nodeStatus processNodeId processSignalName processStatus processStderr processStdout "
        "queueId queueStatus rmDescription rmID rmType userId workingDir"
    ),
}


def _list_predefined() -> Iterable[AttributeDefinition]:
    for id_, values in _ENUMERATED_VALUES.items():
        kind = AttributeType.ENUMERATED
        yield AttributeDefinition(id=id_, type=kind, values=tuple(values.split()))
    for kind, ids in _IDS_BY_TYPE.items():
        for id_ in ids.split():
            yield AttributeDefinition(id=id_, type=kind)
    # The client drops an event with a negative error code.
    kind, limit = AttributeType.INTEGER, MAX_INTEGER
    yield AttributeDefinition(id="errorCode", type=kind, minimum=0, maximum=limit)


PREDEFINED: Final[Mapping[str, AttributeDefinition]] = MappingProxyType(
    {definition.id: definition for definition in _list_predefined()}
)
"""What the original client knows without ATTR_DEF; it ignores a definition of one of these."""


def encode_attribute(id_: str, value: AttributeValue) -> str:
    """Return `ID=value`, with characters outside of US-ASCII escaped.

    Raises `LocalError` for what the client would drop: a value that a predefined attribute cannot
    have, an array, a malformed id.
    """
    kind = _PREDEFINED_TYPES.get(id_)
    if kind is AttributeType.STRING and isinstance(value, str):  # first, as most are
        text = f"{id_}={value}"
        return text if text.isascii() else escape_non_ascii(text)
    if kind is AttributeType.ENUMERATED:
        return _encode_enumerated(id_, value)
    if kind is None and not _ID_PATTERN.match(id_):
        raise LocalError(f"{quote_value(id_)} is not an id of an attribute", hint="no '=', no blank")
    if kind is None or kind is AttributeType.STRING:
        return escape_non_ascii(f"{id_}={_format_value(value)}")
    if type(value) is int and 0 <= value <= MAX_INTEGER and kind is AttributeType.INTEGER:
        return f"{id_}={value}"  # no predefined one has narrower limits
    return f"{id_}={PREDEFINED[id_].validate_value(value)}"


_PREDEFINED_TYPES: Final = {id_: definition.type for id_, definition in PREDEFINED.items()}


@lru_cache(maxsize=256)
def _encode_enumerated(id_: str, value: AttributeValue) -> str:
    """Encode a value, with a cache: there are few, and each is sent for thousands of nodes."""
    return f"{id_}={PREDEFINED[id_].validate_value(value)}"


def decode_attribute(argument: str) -> tuple[str, str] | None:
    """Return id and value of an argument `ID=value`; None for any other argument."""
    id_, separator, value = argument.partition("=")
    return (id_, value) if separator and id_ else None
