"""Filters: which elements of the model a client wants to be told of.

A filter belongs to an element and has regular expressions for attributes: `<attr>Filter=<regex>`.
The element passes where each of its attributes that has an expression matches it somewhere; an
attribute that it does not have is not asked for. With `filterChildren=true` the elements right below
it must pass as well: machines and queues below the resource manager, nodes below a machine, jobs
below a queue, processes below a job. A new filter takes the place of the element's old one, and one
without expressions takes it away. The expressions are Java's, as the clients are. Sources: the
protocol page, "Commands", and what the original's PBS agent does, which reads expressions of POSIX.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, final

from osprofile import javaregex
from osprofile.errors import (
    JavaRegexError,
    JavaRegexTimeoutError,
    ValueRefusedError,
    quote_name,
    quote_value,
)
from osprofile.executors.ptp.attributes import decode_attribute

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

log: Final = logging.getLogger("osprofile.ptp")
MAX_FILTERS: Final = 256
"""Elements that may have a filter."""
MAX_EXPRESSIONS: Final = 32
"""Expressions that one filter may have."""
MAX_EXPRESSION_LENGTH: Final = 1024
"""Characters of one expression."""
MATCH_TIME_LIMIT: Final = 2.0
"""How long all expressions may match while the model is brought up to date once. When they need
more, all filters are given up: an agent that matches does nothing else."""
_MATCH_CACHE_SIZE: Final = 16_384
_FILTER_SUFFIX: Final = "Filter"


@final
@dataclass(slots=True)
class _TimeBudget:
    """The seconds that are left for matching."""

    remaining: float = MATCH_TIME_LIMIT


@final
@dataclass(slots=True)
class FilterExpression:
    """A regular expression for the values of one attribute; what it said of a value is remembered."""

    attribute: str
    pattern: javaregex.Pattern
    _results: dict[str, bool] = field(default_factory=dict)

    def matches_value(self, value: str, time_budget: _TimeBudget) -> bool:
        """Say whether it matches somewhere in a value; every value passes when the time is over."""
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
        begun = time.monotonic()
        found = True
        try:
            found = self.pattern.find(value) is not None
        except JavaRegexTimeoutError:
            time_budget.remaining = 0.0
        except JavaRegexError as error:
            log.warning("a filter cannot be asked, the value passes: %s", error)
        time_budget.remaining -= time.monotonic() - begun
        return found


@final
@dataclass(frozen=True, slots=True)
class Filter:
    """What a client wants to know of the element `id`, and of the elements below it."""

    id: int
    expressions: tuple[FilterExpression, ...] = ()
    children: bool = False

    def matches_attributes(self, attributes: Iterable[str], time_budget: _TimeBudget) -> bool:
        """Say whether an element with these attributes, as on the wire, passes."""
        for attribute in attributes:
            name, _, value = attribute.partition("=")
            asked = [e for e in self.expressions if e.attribute == name]
            if not all(expression.matches_value(value, time_budget) for expression in asked):
                return False
        return True


@final
class Filters:
    """The filters of one session."""

    def __init__(self) -> None:
        self._by_id: dict[int, Filter] = {}
        self._time_budget = _TimeBudget()

    def __len__(self) -> int:
        return len(self._by_id)

    def set_filter(self, new: Filter) -> None:
        """Take a filter in place of the element's old one; `ValueRefusedError` for one too many."""
        if not new.expressions:
            self._by_id.pop(new.id, None)
            return
        if new.id not in self._by_id and len(self) >= MAX_FILTERS:
            message = f"{MAX_FILTERS} elements have a filter already"
            hint = "a filter without expressions takes an element's filter away"
            raise ValueRefusedError(message, field="id", hint=hint)
        self._by_id[new.id] = new

    def drop_filter(self, id_: int) -> None:
        """Forget the filter of an element that is gone."""
        self._by_id.pop(id_, None)

    def clear(self) -> None:
        """Forget all filters."""
        self._by_id.clear()

    def start_time_limit(self) -> None:
        """Give the expressions their time, SECONDS in all."""
        self._time_budget.remaining = MATCH_TIME_LIMIT

    def drop_all_if_overdue(self) -> bool:
        """Say whether the time was not enough; there are no filters any more then."""
        if self._time_budget.remaining > 0:
            return False
        self.clear()
        self.start_time_limit()
        return True

    def get_child_filter(self, parent: int) -> Filter | None:
        """Give the filter that the elements right below an element have to pass, if there is one."""
        found = self._by_id.get(parent)
        return found if found is not None and found.children else None

    def passes_filter(self, filter_: Filter, attributes: Iterable[str]) -> bool:
        """Say whether an element with these attributes passes one filter."""
        return filter_.matches_attributes(attributes, self._time_budget)

    def accepts_element(
        self, id_: int | None, parent: int | None, attributes: Callable[[], Iterable[str]]
    ) -> bool:
        """Say whether an element is to be told; None is the id of what was never told.

        `attributes` gives the attributes as on the wire; it is called where there is a filter.
        """
        own = None if id_ is None else self._by_id.get(id_)
        above = None if parent is None else self.get_child_filter(parent)
        asked = [filter_ for filter_ in (own, above) if filter_ is not None]
        if not asked:
            return True
        texts = tuple(attributes())
        return all(self.passes_filter(filter_, texts) for filter_ in asked)


def parse_filter(arguments: Iterable[str], default: Filter | None = None) -> Filter:
    """Give the filter that the arguments of FILTER_EVENTS describe.

    `default` has the id and `children` of one that does not say them. What is neither `id`,
    `filterChildren` nor an expression is passed over, as the original does. Raises
    `ValueRefusedError` for a missing id, a word that is neither true nor false and what is over the
    limits, and for an expression that is none.
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
    if not (value.isascii() and value.isdigit() and len(value) <= 10):
        message = f"attribute id: {quote_value(value)} is no element id"
        raise ValueRefusedError(message, field="id", hint="digits only")
    return int(value)


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
        pattern.find("")  # what Java itself takes, and we cannot honour, may be found out here
    except JavaRegexError as error:
        message = f"attribute {quote_name(name)}: {error.message}"
        raise ValueRefusedError(message, field=name, hint=error.hint) from None
    return FilterExpression(name.removesuffix(_FILTER_SUFFIX), pattern)
