"""Jobs that are submitted again: their keys, and what the record says of the next attempt.

Each run is a submission with a key of its own, KEY~2 behind KEY, whether a rule of the job asks for it or a user does: so
it is submitted once, whoever sees the end of the one before it, and whenever that process is killed.
"""

from __future__ import annotations

import contextlib
import re
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, final

from osprofile.errors import ValueRefusedError
from osprofile.jobs.fields import (
    DEPENDENCY_ATTRIBUTES,
    DEPENDENCY_FIELD,
    FIELD_BY_ATTRIBUTE,
    JobDescription,
)
from osprofile.jobs.retries import RetryRule, find_rule, multiply, parse_retries
from osprofile.jobs.shell.output import START_TEMPLATE
from osprofile.jobs.state import FAILED_STATES
from osprofile.late import NamedTuple
from osprofile.text import format_amount

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from osprofile.jobs.record.store import JobDetails, JobRecord, Store
    from osprofile.jobs.submit.starts import StartScripts
    from osprofile.profile.model import Profile

_RUN_KEY: Final = re.compile(r"(.*)~([1-9][0-9]{0,8})", re.DOTALL)
"""The key of a later run: that of the first one, and the number of the run."""
_ATTRIBUTE_BY_CONDITION: Final = {condition: a for a, condition in DEPENDENCY_ATTRIBUTES.items()}


def next_key(key: str) -> str:
    """Return the key of the next run of a job: `sweep~2` behind `sweep`."""
    match = _RUN_KEY.fullmatch(key)
    return f"{match[1]}~{int(match[2]) + 1}" if match else f"{key}~2"


def list_runs(store: Store, target: str, key: str | None) -> list[JobRecord]:
    """Return the recorded runs of the job with a key, from that of the key on, oldest first."""
    runs = []
    while key is not None and (record := store.find_by_key(target, key)) is not None:
        runs.append(record)
        key = next_key(key)
    return runs


def list_all_runs(store: Store, record: JobRecord) -> list[JobRecord]:
    """Return all recorded runs of a job, this one among them, oldest first."""
    match = _RUN_KEY.fullmatch(record.key or "")
    runs = list_runs(store, record.target, match[1]) if match else []
    return (
        runs if record.number in {run.number for run in runs} else list_runs(store, record.target, record.key)
    )


def read_description(
    details: JobDetails,
    changes: Mapping[str, str],
    rename: Callable[[str], str] = str,
) -> JobDescription:
    """Return the recorded request of a job, with the values of some fields changed.

    `rename` returns the id or key that takes the place of one on which the job depends.
    """
    fields = {**(details.request or {}), **changes}
    name = fields.pop("JOB_NAME", None)
    dependencies: defaultdict[str, Any] = defaultdict(list)
    conditions = [condition.split(":") for condition in fields.get(DEPENDENCY_FIELD, "").split(",")]
    if all(kind in _ATTRIBUTE_BY_CONDITION for kind, *_ in conditions):  # else the profile's own form
        del fields[DEPENDENCY_FIELD]
        for kind, *words in conditions:
            dependencies[_ATTRIBUTE_BY_CONDITION[kind]] += map(rename, words)
    return JobDescription(
        name=name,
        application=details.application,
        fields=fields,
        inputs=[*details.files.inputs.values()],
        fetch=details.files.fetch,
        fetch_to=details.files.fetch_to or None,
        passed_options=details.passed_options,
        retry=details.retry,
        **dependencies,
    )


@final
class DueRetry(NamedTuple):
    """A rule that asks for another attempt of an ended job, and the key of this; `record`, if it is recorded already."""

    rule: RetryRule
    key: str
    record: JobRecord | None


def find_due_retry(store: Store, record: JobRecord) -> DueRetry | None:
    """Return what a rule of a job asks for now that it has ended; None if no rule applies to its end."""
    if record.key is None or record.status.state not in FAILED_STATES:
        return None
    rule = None
    with contextlib.suppress(ValueRefusedError):  # a later version may have other rules
        rule = find_rule(parse_retries(store.read_details(record.number).retry), record.status)
    if rule is None:
        return None
    key = next_key(record.key)
    return DueRetry(rule, key, store.find_by_key(record.target, key))


# What the next attempt gets


@final
class ScaledJob(NamedTuple):
    """A job with more of some amounts: these by attribute, and all those of which the site allows less than was asked for."""

    description: JobDescription
    amounts: Mapping[str, str]
    limited: Mapping[str, str]

    def __str__(self) -> str:
        """Return the new amounts as options take them."""
        return _format_amounts(self.amounts)

    @property
    def warning(self) -> str:
        """What to tell the user; empty if the job has all that was asked for."""
        return f"{_format_amounts(self.limited)}, the most that the site allows" if self.limited else ""


def _format_amounts(amounts: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in amounts.items())


def scale(starts: StartScripts, description: JobDescription, factors: Mapping[str, str]) -> ScaledJob:
    """Return a job with its amounts multiplied by `factors`, as far as the profile allows.

    With the queue `auto`, it may be another queue that allows it. Raises `ValueRefusedError` for an amount that the job does
    not have, and what START raises.
    """
    trial = replace(description, after_ok=(), after_not_ok=(), after_any=())  # the keys in these are no ids
    amounts: dict[str, str] = {}
    limited: dict[str, str] = {}
    for attribute, factor in factors.items():
        name = FIELD_BY_ATTRIBUTE[attribute]
        text = starts.incarnate_start(trial)[1].get_value(name)
        if not (text.isascii() and text.isdecimal()):
            message = f"{attribute}*{factor}: the job has no {attribute} that can be multiplied"
            raise ValueRefusedError(message, field="retry", hint=f"give it a value for {attribute}")
        wanted = multiply(int(text), factor)
        for amount in (wanted, *_list_limits(starts.profile, name, int(text), wanted)):
            changed = _set_amount(trial, attribute, amount)
            try:
                starts.incarnate_start(changed)
            except ValueRefusedError:
                continue
            trial, amounts[attribute] = changed, format_amount(name, str(amount))
            if amount != wanted:
                limited[attribute] = amounts[attribute]
            break
        else:
            limited[attribute] = format_amount(name, text)
    after = {attribute: getattr(description, attribute) for attribute in DEPENDENCY_ATTRIBUTES}
    return ScaledJob(replace(trial, **after), amounts, limited)


def _list_limits(profile: Profile, name: str, above: int, below: int) -> list[int]:
    """Return the limits of a field, also those for values of others, such as queues, between two numbers, largest first."""
    field = profile.find_field(profile.get_template(START_TEMPLATE), name)
    declared = [case for case in profile.cases if case.name == name] + ([field] if field is not None else [])
    limits = {int(f.maximum) for f in declared if f.maximum is not None and above < f.maximum < below}
    return sorted(limits, reverse=True)


def _set_amount(description: JobDescription, attribute: str, amount: int) -> JobDescription:
    name = FIELD_BY_ATTRIBUTE[attribute]
    if name in description.fields:
        return replace(description, fields={**description.fields, name: str(amount)})
    return replace(description, **{attribute: amount})  # type: ignore[arg-type]  # an amount takes a number


def fit_rules(starts: StartScripts, description: JobDescription) -> Iterator[tuple[RetryRule, str]]:
    """Yield the rules of a job as far as the site's limits let them apply, each with what to tell the user of these.

    Raises `ValueRefusedError` for a rule that is malformed or cannot apply.
    """
    rules = parse_retries(description.retry)
    if rules and description.array:
        message = "retry: the tasks of an array are not submitted again by a rule"
        raise ValueRefusedError(
            message, field="retry", hint="incarnate job rerun runs those that failed; or submit single jobs"
        )
    for rule in rules:
        told = ""
        for number, scaled in enumerate(_list_attempts(starts, description, rule)):
            if scaled.warning and not told:
                whose = f"attempt {number + 2} gets" if scaled.amounts else "the job has"
                told = f"retry {rule}: {whose} {scaled.warning}"
            if not scaled.amounts:
                told += f"; there is no attempt {number + 2}"
                yield rule._replace(limit=number), told
                break
        else:
            yield rule, told


def list_last_attempts(starts: StartScripts, description: JobDescription) -> list[JobDescription]:
    """Return a job, and the last attempt by each of its rules; none of them has rules any more. Raises what `scale` does."""
    last = [description]
    for rule in parse_retries(description.retry):
        attempts = [scaled.description for scaled in _list_attempts(starts, description, rule)]
        last.append((attempts or [description])[-1])
    return [replace(job, retry=()) for job in last]


def _list_attempts(starts: StartScripts, description: JobDescription, rule: RetryRule) -> Iterator[ScaledJob]:
    """Yield the attempts by a rule; one without amounts is none, as the site allows no more, and is the last."""
    for _ in range(rule.limit if rule.factors else 0):
        scaled = scale(starts, description, rule.factors)
        yield scaled
        if not scaled.amounts:
            return
        description = scaled.description
