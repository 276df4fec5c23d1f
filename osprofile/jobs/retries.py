"""The rules by which an ended job is submitted again: `MEMORY: memory*2, walltime*1.5, at most 3`.

A rule names the cause of an end, as `incarnate job show` does, then what the next attempt gets more of, and how often
the rule applies: once, unless it says otherwise, so that nobody pays for more than was meant. `TIME: continue`: the next
attempt goes on in the directory of the one before it. Several rules in one text have a `;` between them. The same
text is the value of `--retry`, of a column `retry`, and of `JobDescription.retry`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import ValueRefusedError
from osprofile.jobs.fields import FIELDS, Kind
from osprofile.jobs.state import FAILED_STATES, EndCause, JobState
from osprofile.late import NamedTuple
from osprofile.text import quote_value, suggest_names

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from osprofile.jobs.state import JobStatus

_NEVER: Final[Mapping[str, str]] = {
    EndCause.USER: "whoever cancelled the job wants no other",
    EndCause.DEPENDENCY: "the job that it waited for would end in the same way",
}
CAUSES: Final = tuple(map(str, (*(cause for cause in EndCause if cause not in _NEVER), JobState.LOST)))
"""The causes that a rule may name. A LOST job may still run: its next attempt may run beside it."""
AMOUNTS: Final = tuple(
    name for name, row in FIELDS.items() if row.kind in {Kind.COUNT, Kind.MEMORY, Kind.DURATION}
)
"""The attributes of a job that a rule may multiply."""
_RULE: Final = re.compile(r"([^:,]*)[:,]?(.*)", re.DOTALL)
_FACTOR: Final = re.compile(r"([^\s*]+)\s*\*\s*([0-9]{1,4}(?:\.[0-9]{1,4})?)")
_LIMIT: Final = re.compile(r"(?:at\s+most\s+)?([0-9]{1,4})")
MAX_LIMIT: Final = 9999
"""The largest number that a rule may have."""
_CONTINUE: Final = "continue"
_FORM: Final = "a rule is as in 'MEMORY: memory*2, at most 3', 'TIME: continue, at most 5', or 'NODE'"


@final
class RetryRule(NamedTuple):
    """A rule: after an end by `cause`, the next attempt gets the `factors` of its amounts, at most `limit` times."""

    cause: str
    """One of CAUSES."""
    factors: Mapping[str, str] = {}
    """The factors as they are written, by attributes of `JobDescription`."""
    limit: int = 1
    """How many attempts may follow one by this rule."""
    continues: bool = False
    """Whether the next attempt goes on in the directory of the one before it."""

    def __str__(self) -> str:
        """Return the text of the rule."""
        words = [_CONTINUE] * self.continues + [f"{name}*{factor}" for name, factor in self.factors.items()]
        return f"{self.cause}{': ' * bool(words)}{', '.join(words)}, at most {self.limit}"


def parse_retries(value: object) -> list[RetryRule]:
    """Return the rules of a text, of several texts, or of a mapping from causes, as `{"NODE": 3, "MEMORY": "memory*2"}`.

    Raises `ValueRefusedError` for anything else.
    """
    texts: Iterable[object]
    if isinstance(value, Mapping):
        texts = [f"{cause}: {rest}" for cause, rest in value.items()]
    elif isinstance(value, str):
        texts = [value]
    else:
        texts = value if isinstance(value, Sequence) else [value]
    rules: dict[str, RetryRule] = {}
    for text in texts:
        if not isinstance(text, str):
            raise _refuse(f"{text!r} is no rule", _FORM)
        for part in filter(None, map(str.strip, text.split(";"))):
            rule = _parse_rule(part)
            if rules.setdefault(rule.cause, rule) is not rule:
                raise _refuse(f"{rule.cause} has two rules", "one rule may multiply several amounts")
    return list(rules.values())


def _parse_rule(text: str) -> RetryRule:
    cause, rest = (part.strip() for part in _RULE.fullmatch(text).groups())  # type: ignore[union-attr]  # it always matches
    if cause not in CAUSES:
        reason = _NEVER.get(cause, "is no cause of an end")
        hint = suggest_names(cause, CAUSES)
        known = f"known: {', '.join(CAUSES)}"
        raise _refuse(f"{quote_value(cause)} {reason}", hint if hint == known else f"{hint} {known}")
    factors: dict[str, str] = {}
    limit = None
    continues = False
    for item in map(str.strip, rest.split(",")) if rest else ():
        if limit is not None:
            raise _refuse(f"{quote_value(text)}: nothing may follow its number", _FORM)
        if match := _LIMIT.fullmatch(item):
            limit = int(match[1])
        elif item == _CONTINUE and not continues:
            continues = True
        elif match := _FACTOR.fullmatch(item):
            _check_factor(text, match[1], match[2], factors)
            factors[match[1]] = match[2]
        else:
            raise _refuse(f"{quote_value(text)}: {quote_value(item)} is neither a factor nor a number", _FORM)
    if continues and cause == JobState.LOST:
        message = f"{quote_value(text)}: a lost job may still run, and two attempts would share its directory"
        raise _refuse(message, f"leave {_CONTINUE} out")
    return RetryRule(cause, factors, 1 if limit is None else limit, continues)


def _check_factor(text: str, name: str, factor: str, factors: Mapping[str, str]) -> None:
    if name not in AMOUNTS:
        raise _refuse(
            f"{quote_value(text)}: {quote_value(name)} cannot be multiplied", suggest_names(name, AMOUNTS)
        )
    if name in factors:
        raise _refuse(f"{quote_value(text)}: {name} has two factors", "leave one of them out")
    if Fraction(factor) <= 1:
        raise _refuse(f"{quote_value(text)}: {factor} is not greater than 1", "as in 2 or 1.5")


def _refuse(message: str, hint: str) -> ValueRefusedError:
    return ValueRefusedError(f"retry: {message}", field="retry", hint=hint)


def multiply(amount: int, factor: str) -> int:
    """Return an amount multiplied by a factor as it is written, rounded up."""
    return math.ceil(amount * Fraction(factor))


def find_rule(rules: Iterable[RetryRule], status: JobStatus) -> RetryRule | None:
    """Return the rule that applies to the end of a job; None if there is none."""
    if status.state not in FAILED_STATES:
        return None
    cause = str(status.cause or status.state)
    return next((rule for rule in rules if rule.cause == cause), None)


def use_up(rules: Iterable[RetryRule], used: Collection[RetryRule]) -> list[str]:
    """Return the rules of the next attempt, as texts, when some have been used."""
    return [str(rule._replace(limit=rule.limit - (rule in used))) for rule in rules]


def combine_factors(rules: Iterable[RetryRule]) -> dict[str, str]:
    """Return the largest factor of each amount."""
    factors: dict[str, str] = {}
    for name, factor in (item for rule in rules for item in rule.factors.items()):
        factors[name] = max(factors.get(name, factor), factor, key=Fraction)
    return factors
