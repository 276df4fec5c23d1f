"""Jobs that are submitted again: their keys, and what the record says of the next attempt.

Each run is a submission with a key of its own, KEY~2 behind KEY, whether a rule of the job asks for it or a user does: so
it is submitted once, whoever sees the end of the one before it, and whenever that process is killed.
"""

from __future__ import annotations

import contextlib
import posixpath
import re
from collections import defaultdict
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, final

from osprofile.errors import IncarnationError, ValueRefusedError
from osprofile.incarnation.field_rules import accepts_pattern, check_value
from osprofile.incarnation.plan import get_plan
from osprofile.jobs.arrays import ARRAY_FIELD, format_indices, parse_array
from osprofile.jobs.fields import (
    DEPENDENCY_ATTRIBUTES,
    DEPENDENCY_FIELD,
    FIELD_BY_ATTRIBUTE,
    JobDescription,
)
from osprofile.jobs.retries import (
    MAX_LIMIT,
    RetryRule,
    combine_factors,
    find_rule,
    multiply,
    parse_retries,
    use_up,
)
from osprofile.jobs.shell.output import START_TEMPLATE
from osprofile.jobs.state import FAILED_STATES, EndCause
from osprofile.late import NamedTuple
from osprofile.text import format_amount

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from osprofile.jobs.record.store import JobDetails, JobRecord, Store
    from osprofile.jobs.state import JobStatus
    from osprofile.jobs.submit.starts import StartScripts
    from osprofile.profile.model import Profile

_RUN_KEY: Final = re.compile(r"(.*)~([1-9][0-9]{0,8})", re.DOTALL)
"""The key of a later run: that of the first one, and the number of the run."""
_MAX_LISTED: Final = 60
"""Characters of the indices of tasks that a message names."""
_DIRECTORY: Final = FIELD_BY_ATTRIBUTE["directory"]
_FILES: Final = tuple(FIELD_BY_ATTRIBUTE[attribute] for attribute in ("stdin", "stdout", "stderr"))
_REQUEUE: Final = FIELD_BY_ATTRIBUTE["requeue"]
RETRY_FIELD: Final = "RETRY"
"""The field whose pattern says which rules a site allows, as they are written out: `NODE, at most 1`."""
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
    rename: Callable[[str], Iterable[str]] = lambda word: [word],
) -> JobDescription:
    """Return the recorded request of a job, with the values of some fields changed.

    `rename` returns the ids or keys that take the place of one on which the job depends.
    """
    fields = {**(details.request or {}), **changes}
    name = fields.pop("JOB_NAME", None)
    dependencies: defaultdict[str, Any] = defaultdict(list)
    conditions = [condition.split(":") for condition in fields.get(DEPENDENCY_FIELD, "").split(",")]
    if all(kind in _ATTRIBUTE_BY_CONDITION for kind, *_ in conditions):  # else the profile's own form
        del fields[DEPENDENCY_FIELD]
        for kind, *words in conditions:
            dependencies[_ATTRIBUTE_BY_CONDITION[kind]] += chain.from_iterable(map(rename, words))
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


def merge_statuses(store: Store, runs: Iterable[JobRecord]) -> dict[int | None, JobStatus]:
    """Return the last status of each task of an array that has run several times; of any other job, by None."""
    merged: dict[int | None, JobStatus] = {}
    for run in runs:
        tasks = store.list_tasks(run.target, run.status.job_id) if run.array else ()
        merged |= {task.array_index: task.status for task in tasks} or {None: run.status}
    return merged


# What is due


@final
class DueRetry(NamedTuple):
    """A run that has ended, and the rules that ask for another attempt: by the indices of tasks, or None for the whole job."""

    run: JobRecord
    rules: Mapping[int | None, RetryRule]

    def __str__(self) -> str:
        """Return the rules, each once."""
        return "; ".join(dict.fromkeys(map(str, self.rules.values())))


def find_due_retries(store: Store, record: JobRecord) -> list[DueRetry]:
    """Return what rules ask for now that a run has ended; nothing if none applies.

    Of an array, that is also what its earlier runs have left out: where the batch system takes only ranges of indices,
    several arrays run the tasks that failed, and they may not have been submitted all. A task counts as it ended last.
    """
    if not record.may_be_retried(record.status):
        return []
    due: dict[int | None, tuple[JobRecord, RetryRule]] = {}
    for run in _list_runs_until(store, record) if record.array else [record]:
        for task_index in parse_array(run.array).indices if run.array else ():
            due.pop(task_index, None)
        if run.aborted_at is not None:
            due.clear()  # it was cancelled
        elif run.status.state.is_terminal:
            rules = _read_rules(store, run)
            tasks = [run]
            if rules and run.array:
                tasks = store.list_tasks(run.target, run.status.job_id, states=FAILED_STATES) or tasks
            for task in tasks:
                if (rule := find_rule(rules, task.status)) is not None:
                    due[task.array_index] = (run, rule)
    by_run: dict[int, tuple[JobRecord, dict[int | None, RetryRule]]] = {}
    for index, (run, rule) in due.items():
        by_run.setdefault(run.number, (run, {}))[1][index] = rule
    return [DueRetry(run, rules_by_index) for run, rules_by_index in by_run.values()]


def _list_runs_until(store: Store, record: JobRecord) -> Iterator[JobRecord]:
    for run in list_all_runs(store, record):
        if run.number == record.number:
            break
        yield run
    yield record


def _read_rules(store: Store, run: JobRecord) -> list[RetryRule]:
    with contextlib.suppress(ValueRefusedError):  # a later version may have other rules
        return parse_retries(store.read_details(run.number).retry)
    return []


def has_rule(store: Store, task: JobRecord) -> bool:
    """Return whether a rule of its array asks for another attempt of a task."""
    array = store.find_whole_job(task)
    return array is not None and find_rule(_read_rules(store, array), task.status) is not None


# Where the next attempt runs


def continue_job(starts: StartScripts, description: JobDescription, directory: str) -> JobDescription:
    """Return a job that goes on in the working directory of an earlier run: with its files, and adding to its output.

    It has a working directory of its own for what osprofile writes. Raises what START does.
    """
    get_value = starts.incarnate_start(_without_dependencies(description))[1].get_value
    files = {name: posixpath.join(directory, get_value(name)) for name in _FILES}
    own = get_value(_DIRECTORY)
    fields = {**description.fields, **files, _DIRECTORY: own or directory, "APPEND_OUTPUT": "true"}
    inputs = description.inputs if own else ()  # they are there, and may have changed
    return replace(
        description, fields=fields, inputs=inputs, directory=None, stdin=None, stdout=None, stderr=None
    )


def find_continued_directory(store: Store, record: JobRecord) -> str:
    """Return the working directory of an earlier run in which a job goes on; empty for any other job."""
    if not _RUN_KEY.fullmatch(record.key or ""):
        return ""
    request = store.read_details(record.number).request or {}
    paths = [f"{request.get(name, '')}/" for name in (_DIRECTORY, *_FILES)]
    directories = [run.directory for run in list_all_runs(store, record)]
    return next((d for d in directories if any(path.startswith(f"{d}/") for path in paths)), "")


def _without_dependencies(description: JobDescription) -> JobDescription:
    """Return a job that START can be incarnated for: keys are no ids yet."""
    return replace(description, after_ok=(), after_not_ok=(), after_any=())


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
    trial = _without_dependencies(description)
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


def split_array(starts: StartScripts, description: JobDescription, indices: Collection[int]) -> list[str]:
    """Return the values of ARRAY for some tasks of an array: one, unless the batch system takes only ranges of indices.

    Raises what START raises for an array of one task.
    """
    trial = _without_dependencies(description)
    _, percent, limit = starts.incarnate_start(trial)[1].get_value(ARRAY_FIELD).partition("%")

    def is_accepted(listing: str) -> bool:
        try:
            starts.incarnate_start(select_tasks(trial, f"{listing}{percent}{limit}"))
        except ValueRefusedError as error:
            if error.field == ARRAY_FIELD:
                return False
            raise
        return True

    listings = [format_indices(indices)]
    if not is_accepted(listings[0]):
        # PBS takes a single index only as the begin of a range
        ranges = listings[0].split(",")
        listings = [r if "-" in r or is_accepted(r) else f"{r}-{int(r) + 1}:2" for r in ranges]
        starts.incarnate_start(select_tasks(trial, f"{listings[0]}{percent}{limit}"))
    return [f"{listing}{percent}{limit}" for listing in listings]


def select_tasks(description: JobDescription, array: str) -> JobDescription:
    """Return a job that is an array of other tasks."""
    return replace(description, array=None, fields={**description.fields, ARRAY_FIELD: array})


@final
class NextAttempt(NamedTuple):
    """What is submitted next, and for which tasks of which run; `indices` are empty for a job that is no array."""

    run: JobRecord
    job: ScaledJob
    indices: Collection[int] = ()

    def describe(self) -> str:
        """Return why it is submitted, and for which tasks, for a message."""
        end = self.run.status.reason if self.indices else ""
        end = end or self.run.status.describe_end()
        if not self.indices:
            return f"{end}; submitted again"
        listed = format_indices(self.indices)
        if len(listed) > _MAX_LISTED:
            listed = str(len(self.indices))
            return f"{end}; {listed} tasks submitted again"
        return f"{end}; {'task' if len(self.indices) == 1 else 'tasks'} {listed} submitted again"


def build_attempts(starts: StartScripts, store: Store, due: DueRetry) -> list[NextAttempt]:
    """Return the next attempts of a run; none if the site now allows no more than the run had."""
    details = store.read_details(due.run.number)
    used = {rule.cause: rule for rule in due.rules.values()}
    left = use_up(parse_retries(details.retry), used.values())
    description = read_description(details._replace(retry=left), {})
    if any(rule.continues for rule in used.values()):
        description = continue_job(starts, description, due.run.directory)
    scaled = scale(starts, description, combine_factors(used.values()))
    gains = {c for c, rule in used.items() if not rule.factors or rule.factors.keys() & scaled.amounts.keys()}
    tasks = [index for index, rule in due.rules.items() if rule.cause in gains]
    indices = [index for index in tasks if index is not None]
    if not indices:
        return [NextAttempt(due.run, scaled)] if tasks else []
    return [
        NextAttempt(
            due.run,
            scaled._replace(description=select_tasks(scaled.description, array)),
            parse_array(array).indices,
        )
        for array in split_array(starts, scaled.description, indices)
    ]


def fit_rules(starts: StartScripts, description: JobDescription) -> Iterator[tuple[RetryRule, str]]:
    """Yield the rules of a job as far as the site's limits let them apply, each with what to tell the user of these.

    Raises `ValueRefusedError` for a rule that is malformed or cannot apply.
    """
    rules = parse_retries(description.retry)
    if rules:
        _check_array(starts, description)
    for rule in rules:
        _check_limits(starts.profile, rule)
        if rule.continues:
            _check_continuation(starts, description, rule)
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


def _check_array(starts: StartScripts, description: JobDescription) -> None:
    """Raise `ValueRefusedError` for an array of which no single task can be submitted again."""
    array = starts.incarnate_start(description)[1].get_value(ARRAY_FIELD)
    if not array:
        return
    try:
        split_array(starts, description, parse_array(array).indices[-1:])
    except ValueRefusedError as error:
        if error.field != ARRAY_FIELD:
            raise
        message = f"retry: tasks of an array cannot be submitted again alone: {error.message}"
        hint = "leave the rules out, or submit single jobs"
        raise ValueRefusedError(message, field="retry", hint=hint) from None


def _check_continuation(starts: StartScripts, description: JobDescription, rule: RetryRule) -> None:
    """Raise `ValueRefusedError` for a rule by which jobs go on where they were, if START cannot do that."""
    job = _without_dependencies(description)
    starts.incarnate_start(job)  # what is wrong without the rule comes first
    try:
        starts.incarnate_start(continue_job(starts, job, starts.new_job_directory()))
    except IncarnationError as error:
        message = f"retry: {rule}: jobs of this profile cannot go on in an earlier directory: {error.message}"
        hint = "leave continue out"
        raise ValueRefusedError(message, field="retry", location=error.location, hint=hint) from error


def _check_limits(profile: Profile, rule: RetryRule) -> None:
    """Raise `ValueRefusedError` for a rule that the site does not allow, by the pattern of its field RETRY.

    A rule that applies less often than another that the pattern allows is allowed, too: as it is for the next attempt.
    """
    field = profile.find_field(profile.get_template(START_TEMPLATE), RETRY_FIELD)
    if field is None or field.pattern is None:
        return
    more = (rule._replace(limit=limit) for limit in range(rule.limit, MAX_LIMIT + 1))
    if not any(accepts_pattern(field, str(other)) for other in more):
        check_value(field, str(rule))


def ask_for_requeue(starts: StartScripts, description: JobDescription) -> JobDescription:
    """Return a job that the batch system runs again if its node fails, where it can, and a rule asks for no more than that.

    Nobody needs to follow it then. What the user or the site says of REQUEUE stays.
    """
    rules = parse_retries(description.retry)
    is_wanted = any(rule.cause == EndCause.NODE and not rule.factors for rule in rules)
    if not is_wanted or description.requeue is not None or _REQUEUE in description.fields:
        return description
    if _REQUEUE not in get_plan(starts.profile, START_TEMPLATE, "", description.application).settable:
        return description
    start = starts.incarnate_start(_without_dependencies(description), strict=False)[1]
    return description if start.get_value(_REQUEUE) else replace(description, requeue=True)


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
