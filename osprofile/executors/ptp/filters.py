"""Filters: which elements of the model are sent to a client.

A filter belongs to an element and has regular expressions for attributes: `<attr>Filter=<regex>`.
The element passes if each of its attributes that has an expression contains a match; attributes
that it does not have are ignored. With `filterChildren=true` its children must pass as well:
machines and queues of the resource manager, nodes of a machine, jobs of a queue, processes of a job.
A new filter replaces the element's old one, and one without expressions removes it. Source:
docs/protocols/ptp.md, 3.1; docs/ptp.md, Filters. The expressions are Java's because the clients are
Java programs; the original agent for PBS uses those of POSIX.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, final

from osprofile import javaregex
from osprofile.errors import JavaRegexError, JavaRegexTimeoutError, ValueRefusedError
from osprofile.executors.digits import parse_digits
from osprofile.executors.ptp.attributes import decode_attribute
from osprofile.text import quote_name, quote_value

if TYPE_CHECKING:
    from collections.abc import Iterable

log: Final = logging.getLogger("osprofile.ptp")
MAX_FILTERS: Final = 256
"""Elements that may have a filter."""
MAX_EXPRESSIONS: Final = 32
"""Expressions that one filter may have."""
MAX_EXPRESSION_LENGTH: Final = 1024
"""Characters of one expression."""
MATCH_TIME_LIMIT: Final = 2.0
"""Seconds of processor time that all expressions together may take in one update of the model. If they take longer, all
filters are removed, because an agent that matches does nothing else."""
_MATCH_CACHE_SIZE: Final = 16_384
_FILTER_SUFFIX: Final = "Filter"


@final
@dataclass(slots=True)
class _TimeBudget:
    """The seconds of processor time that remain for matching."""

    remaining: float = MATCH_TIME_LIMIT


@final
@dataclass(slots=True)
class FilterExpression:
    """A regular expression for the values of one attribute, with a cache of its results."""

    attribute: str
    pattern: javaregex.Pattern
    _results: dict[str, bool] = field(default_factory=dict)

    def matches_value(self, value: str, time_budget: _TimeBudget) -> bool:
        """Return whether a value contains a match; True if no time remains."""
        found = self._results.get(value)
        if found is None:
            if time_budget.remaining <= 0:
                return True
            found = self._search_value(value, time_budget)
            if len(self._results) >= _MATCH_CACHE_SIZE:
                self._results.clear()
            self._results[value] = found
        return found

    def _search_value(self, value: str, time_budget: _TimeBudget) -> bool:
        begun = time.thread_time()
        found = True
        try:
            found = self.pattern.find(value) is not None
        except JavaRegexTimeoutError:
            time_budget.remaining = 0.0
        except JavaRegexError as error:
            log.warning("a filter cannot be applied, the value passes: %s", error)
        time_budget.remaining -= time.thread_time() - begun
        return found


@final
@dataclass(frozen=True, slots=True)
class Filter:
    """The filter of the element `id`; `children`: it holds for the element's children, too."""

    id: int
    expressions: tuple[FilterExpression, ...] = ()
    children: bool = False


@final
class Filters:
    """The filters of one session."""

    def __init__(self) -> None:
        self._by_id: dict[int, Filter] = {}
        self._time_budget = _TimeBudget()

    def __len__(self) -> int:
        return len(self._by_id)

    def set_filter(self, new: Filter) -> None:
        """Set an element's filter. Raises `ValueRefusedError` if there are too many."""
        if not new.expressions:
            self._by_id.pop(new.id, None)
            return
        if new.id not in self._by_id and len(self) >= MAX_FILTERS:
            message = f"{MAX_FILTERS} elements have a filter already"
            hint = "a filter without expressions takes an element's filter away"
            raise ValueRefusedError(message, field="id", hint=hint)
        self._by_id[new.id] = new

    def drop_filter(self, id_: int) -> None:
        """Remove the filter of an element that is gone."""
        self._by_id.pop(id_, None)

    def clear(self) -> None:
        """Remove all filters."""
        self._by_id.clear()

    def start_time_limit(self) -> None:
        """Start the time limit of an update, MATCH_TIME_LIMIT."""
        self._time_budget.remaining = MATCH_TIME_LIMIT

    def drop_all_if_overdue(self) -> bool:
        """Remove all filters if the last update took too long; return whether it did."""
        if self._time_budget.remaining > 0:
            return False
        self.clear()
        self.start_time_limit()
        return True

    def get_child_filter(self, parent: int) -> Filter | None:
        """Return the filter for the children of an element, if there is one."""
        found = self._by_id.get(parent)
        return found if found is not None and found.children else None

    def passes_filter(self, filter_: Filter, attributes: Iterable[str]) -> bool:
        """Return whether an element with these attributes, in wire format, passes one filter."""
        pairs = (attribute.split("=", 1) for attribute in attributes)
        return all(
            expression.attribute != name or expression.matches_value(value, self._time_budget)
            for name, value in pairs
            for expression in filter_.expressions
        )

    def accepts_element(self, id_: int | None, parent: int | None, attributes: Iterable[str]) -> bool:
        """Return whether an element passes its own filter and its parent's.

        An id is None for an element that was never sent. `attributes` are in wire format.
        """
        own = None if id_ is None else self._by_id.get(id_)
        above = None if parent is None else self.get_child_filter(parent)
        return all(self.passes_filter(filter_, attributes) for filter_ in (own, above) if filter_ is not None)


def parse_filter(arguments: Iterable[str], default: Filter | None = None) -> Filter:
    """Return the filter that the arguments of FILTER_EVENTS describe.

    `default` has the id and `children` for arguments without them. Unknown arguments are ignored,
    as the original agent does. Raises `ValueRefusedError` for a missing id, a malformed value, a
    malformed expression, and for what is over the limits.
    """
    id_ = None if default is None else default.id
    children = default is not None and default.children
    expressions = []
    for name, value in filter(None, map(decode_attribute, arguments)):
        if name == "id":
            id_ = _parse_element_id(value)
        elif name == "filterChildren":
            children = _parse_flag(value)
        elif name.endswith(_FILTER_SUFFIX) and name != _FILTER_SUFFIX:
            expressions.append(_parse_expression(name, value))
    if id_ is None:
        raise ValueRefusedError("no element is given", field="id", hint="id=<its element id>")
    if len(expressions) > MAX_EXPRESSIONS:
        message = f"a filter of {len(expressions)} expressions"
        raise ValueRefusedError(message, field="id", hint=f"at most {MAX_EXPRESSIONS}")
    return Filter(id_, tuple(expressions), children)


def _parse_element_id(value: str) -> int:
    number = parse_digits(value, 10)
    if number is None:
        message = f"attribute id: {quote_value(value)} is not an element id"
        raise ValueRefusedError(message, field="id", hint="digits only")
    return number


def _parse_flag(value: str) -> bool:
    if value not in {"true", "false"}:
        message = f"attribute filterChildren: {quote_value(value)} is neither true nor false"
        raise ValueRefusedError(message, field="filterChildren")
    return value == "true"


def _parse_expression(name: str, value: str) -> FilterExpression:
    if len(value) > MAX_EXPRESSION_LENGTH:
        message = f"attribute {quote_name(name)}: an expression of {len(value)} characters"
        raise ValueRefusedError(message, field=name, hint=f"at most {MAX_EXPRESSION_LENGTH}")
    try:
        pattern = javaregex.compile(value)
        pattern.find("")  # an expression that we do not support may be found only here
    except JavaRegexError as error:
        message = f"attribute {quote_name(name)}: {error.message}"
        raise ValueRefusedError(message, field=name, hint=error.hint) from None
    return FilterExpression(name.removesuffix(_FILTER_SUFFIX), pattern)
