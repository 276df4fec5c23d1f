"""What `incarnate job rerun` does: submits the recorded requests of jobs again, with new keys."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

from osprofile.cli import common
from osprofile.cli.job import rows, waiter
from osprofile.cli.job.session import CommandSession, ErrorReporter, cancellable, find_jobs
from osprofile.errors import (
    JobNotFoundError,
    OSProfileError,
    SubmissionsFailedError,
    TargetError,
    format_message,
)
from osprofile.jobs.arrays import ARRAY_FIELD, format_indices
from osprofile.jobs.client import JobReference, query_jobs
from osprofile.jobs.record.names import generate_key
from osprofile.jobs.state import EndCause
from osprofile.jobs.submit.attempts import (
    list_all_runs,
    list_runs,
    merge_statuses,
    next_key,
    read_description,
)
from osprofile.late import NamedTuple
from osprofile.text import escape_unprintable, pluralize, quote_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from osprofile.cli.job.option_groups import TargetSelection
    from osprofile.jobs.fields import JobDescription
    from osprofile.jobs.record.store import JobRecord, Store
    from osprofile.jobs.state import JobStatus
    from osprofile.jobs.target_system import TargetSystem

_REPETITION_HINT: Final = "the same command submits what is missing, and no job twice"


@final
class Changes(NamedTuple):
    """What new jobs have in place of what the requests say: values of fields, and factors of attributes."""

    values: Mapping[str, str]
    factors: Mapping[str, str]


@final
@dataclass(slots=True)
class _Rerun:
    """A job that is to run again: `record` has its request. `indices`: only these tasks of an array, as `array` names them."""

    record: JobRecord
    indices: frozenset[int] | None = None
    array: str = ""
    key: str = ""
    job: JobReference | None = None
    """The new job, if it was submitted."""

    @property
    def name(self) -> str:
        """The id, in messages; the directory of a job that has none yet."""
        return self.record.status.job_id or self.record.directory


@cancellable
async def rerun_jobs(
    selection: TargetSelection,
    words: Sequence[str],
    file: str | None,
    changes: Changes,
    *,
    wait: bool,
    json: bool,
) -> int:
    """Submit the requests of ended jobs again, by ids or keys, else those of a file that failed; print the new ids."""
    failures = ErrorReporter()
    async with CommandSession(selection) as session:
        if file is None:
            wanted = await _select_named(session, words, failures)
        else:
            wanted = await _select_failed(session, file, failures)
        wanted = [] if failures.exit_code else await _split_arrays(session, wanted)
        groups = await _check_requests(session, wanted, changes, failures)
        if failures.exit_code:
            common.print_message("incarnate: nothing was submitted")
            return common.PASS_THROUGH_ERROR if wait else failures.exit_code
        await _submit_groups(groups, failures)
        jobs = [rerun.job for rerun in wanted if rerun.job is not None]
        for job in () if json else jobs:
            common.print_result(job.job_id)
        if wait:
            codes = await waiter.await_jobs(session, jobs, ErrorReporter(), time_limit=None, json=json)
            has_refused = failures.exit_code != 0
            return waiter.combine_exit_codes([*codes.values(), common.PASS_THROUGH_ERROR * has_refused])
        if json:
            rows.print_rows(list(map(session.build_submitted_row, jobs)), json=True)
    return failures.exit_code


# Which jobs


async def _select_named(
    session: CommandSession, words: Sequence[str], failures: ErrorReporter
) -> list[_Rerun]:
    """Return the jobs with these ids or keys; the tasks of one array together."""
    jobs = find_jobs(session, words, failures)
    await _refresh(session, jobs, failures)
    wanted: dict[int, _Rerun] = {}
    for job in jobs:
        record = job.record
        whole = None if record is None else session.store.find_whole_job(record)
        try:
            if record is None or whole is None or not whole.directory.startswith("/"):
                message = f"job {quote_name(job.job_id)} was not submitted here: its request is not recorded"
                raise JobNotFoundError(message, hint="submit it by incarnate job submit")
            if not record.status.state.is_terminal:
                message = f"job {quote_name(job.job_id)} has not ended: it is {record.status.state}"
                raise TargetError(message, hint="cancel it first, or submit another job")
        except OSProfileError as error:
            failures.report_error(error, "")
            continue
        rerun = wanted.setdefault(whole.number, _Rerun(whole, frozenset()))
        if record.array_index is None:
            rerun.indices = None
        elif rerun.indices is not None:
            rerun.indices |= {record.array_index}
    return list(wanted.values())


async def _select_failed(session: CommandSession, file: str, failures: ErrorReporter) -> list[_Rerun]:
    """Return the jobs of a file whose last runs failed; print how many of the others are not known, or have not ended."""
    submitted = session.store.find_job_file(file)
    if submitted is None or not session.is_selected(submitted[0]):
        message = (
            f"no submission of the jobs of {escape_unprintable(file)} is in the record {session.store.path}"
        )
        hint = "incarnate job submit --from submits them; for other jobs, give their ids or keys"
        raise JobNotFoundError(message, hint=hint)
    target_name, keys = submitted
    target = session.open_recorded_target(target_name)
    last = [runs[-1] for key in keys if (runs := list_runs(session.store, target_name, key))]
    await _refresh(session, [JobReference(r.status.job_id, target) for r in last if r.is_submitted], failures)
    wanted, live, unknown = [], 0, len(keys) - len(last)
    for key in keys:
        runs = list_runs(session.store, target_name, key)
        if not runs:
            continue
        statuses = merge_statuses(session.store, runs)
        failed = [index for index, status in statuses.items() if _must_run_again(status)]
        if not runs[-1].is_submitted and not runs[-1].has_live_owner:
            wanted.append(_Rerun(runs[-1]))
        elif not runs[-1].status.state.is_terminal:
            live += 1
        elif failed:
            indices = frozenset(index for index in failed if index is not None)
            wanted.append(_Rerun(runs[0], indices if 0 < len(indices) < len(statuses) else None))
    _report_others(file, len(keys), live, unknown, has_failed=bool(wanted))
    return wanted


def _report_others(file: str, total: int, live: int, unknown: int, *, has_failed: bool) -> None:
    """Print what is left out, and that nothing has failed."""
    parts = []
    if live:
        parts.append(f"{live} {'has' if live == 1 else 'have'} not ended")
    if unknown:
        parts.append(f"{unknown} {'is' if unknown == 1 else 'are'} not in the record")
    if not has_failed:
        parts.insert(0, "none has failed")
    if parts:
        hint = "incarnate job submit --from submits those that are not in the record" if unknown else ""
        message = f"incarnate: {escape_unprintable(file)}, {pluralize(total, 'job')}: {', '.join(parts)}"
        common.print_message(format_message(message, hint=hint))


async def _refresh(session: CommandSession, jobs: Iterable[JobReference], failures: ErrorReporter) -> None:
    """Bring the record of jobs, and of their last runs, up to date; report what cannot be asked."""
    live: dict[JobReference, None] = {}
    for job in jobs:
        record = job.record
        whole = None if record is None else session.store.find_whole_job(record)
        runs = list_runs(session.store, job.target.name, whole.key if whole is not None else None)
        for run in (record, *runs[-1:]):
            if run is not None and run.is_submitted and not run.status.state.is_terminal:
                live[JobReference(run.status.job_id, job.target)] = None
    for job, status in (await query_jobs(list(live))).items():
        if isinstance(status, OSProfileError):
            failures.report_job_error(job, status)


def _must_run_again(status: JobStatus) -> bool:
    return status.has_failed or status.cause is EndCause.DEPENDENCY


async def _split_arrays(session: CommandSession, wanted: Iterable[_Rerun]) -> list[_Rerun]:
    """Return the jobs, with several runs for tasks that their batch system does not take as one array."""
    split = []
    for rerun in wanted:
        if rerun.indices is None:
            split.append(rerun)
            continue
        _, percent, limit = rerun.record.array.partition("%")
        arrays = [f"{format_indices(rerun.indices)}{percent}{limit}"]
        details = session.store.read_details(rerun.record.number)
        with contextlib.suppress(OSProfileError):  # what is refused is reported when the request is checked
            target = session.open_recorded_target(rerun.record.target, details.context)
            arrays = await target.split_array(read_description(details, {}), rerun.indices)
        split += [_Rerun(rerun.record, array=array) for array in arrays]
    return split


# Keys


def _choose_keys(store: Store, wanted: Iterable[_Rerun]) -> None:
    """Assign each job the key of its next run: that of the last one, if that has not ended or is not submitted."""
    taken: set[tuple[str, str]] = set()
    for rerun in wanted:
        record = rerun.record
        runs = list_runs(store, record.target, record.key)
        if not runs:
            rerun.key = generate_key()
            continue
        last = runs[-1]
        key = last.key or ""
        if last.is_submitted and (last.number == record.number or last.status.state.is_terminal):
            key = next_key(key)
        while (record.target, key) in taken:
            key = next_key(key)
        taken.add((record.target, key))
        rerun.key = key


# Submission


async def _check_requests(
    session: CommandSession, wanted: Sequence[_Rerun], changes: Changes, failures: ErrorReporter
) -> Mapping[TargetSystem, Sequence[tuple[_Rerun, JobDescription]]]:
    """Return the requests, with their new keys, by target; report those that are refused."""
    _choose_keys(session.store, wanted)
    new_keys: defaultdict[tuple[str, str | None], list[str]] = defaultdict(list)
    for rerun in wanted:
        for name in (rerun.record.status.job_id, rerun.record.key):
            new_keys[rerun.record.target, name].append(rerun.key)
    groups: defaultdict[TargetSystem, list[tuple[_Rerun, JobDescription]]] = defaultdict(list)
    errors: list[tuple[str, OSProfileError]] = []
    limited: defaultdict[str, list[str]] = defaultdict(list)
    for rerun in sorted(wanted, key=lambda rerun: rerun.record.number):
        try:
            target, job = _read_job(session, rerun, new_keys, changes.values)
            scaled = await target.scale(job, changes.factors)
            if scaled.warning:
                limited[scaled.warning].append(rerun.name)
            groups[target].append((rerun, scaled.description))
        except OSProfileError as error:
            errors.append((rerun.name, error))
    for target, group in groups.items():
        reruns, jobs = zip(*group, strict=True)
        try:
            await target.check_many(jobs, keys=[rerun.key for rerun in reruns])
        except SubmissionsFailedError as refused:
            errors += [(reruns[position].name, error) for position, error in refused.errors.items()]
    failures.report_job_errors(errors)
    for warning, names in limited.items() if not failures.exit_code else ():
        common.print_message(f"incarnate: {rows.name_jobs(names)}: {warning}")
    return groups


async def _submit_groups(
    groups: Mapping[TargetSystem, Sequence[tuple[_Rerun, JobDescription]]], failures: ErrorReporter
) -> None:
    try:
        for target, group in groups.items():
            await _submit_group(target, group, failures)
    except asyncio.CancelledError:
        common.print_message(format_message("incarnate: interrupted", hint=_REPETITION_HINT))
        raise


async def _submit_group(
    target: TargetSystem, group: Sequence[tuple[_Rerun, JobDescription]], failures: ErrorReporter
) -> None:
    reruns, jobs = zip(*group, strict=True)

    def take_result(position: int, result: str | OSProfileError) -> None:
        if isinstance(result, str):
            reruns[position].job = JobReference(result, target)

    try:
        keys = [rerun.key for rerun in reruns]
        await target.submit_many(jobs, keys=keys, on_result=take_result, is_checked=True)
    except SubmissionsFailedError as error:
        failures.report_job_errors((reruns[position].name, e) for position, e in error.errors.items())
        common.print_message(format_message(f"incarnate: {error.summary}", hint=_REPETITION_HINT))


def _read_job(
    session: CommandSession,
    rerun: _Rerun,
    new_keys: Mapping[tuple[str, str | None], Sequence[str]],
    changes: Mapping[str, str],
) -> tuple[TargetSystem, JobDescription]:
    """Return the target and the recorded request of a job."""
    record = rerun.record
    details = session.store.read_details(record.number)
    if details.request is None:
        raise TargetError("its request is not recorded", hint="submit it by incarnate job submit")
    target = session.open_recorded_target(record.target, details.context)
    if rerun.array:
        changes = {**changes, ARRAY_FIELD: rerun.array}
    first = list_all_runs(session.store, record)[:1]  # its rules are not used up
    retry = session.store.read_details(first[0].number).retry if first else ()
    description = read_description(
        details._replace(retry=retry),
        changes,
        lambda word: _find_last_runs(session.store, record.target, word, new_keys),
    )
    return target, description


def _find_last_runs(
    store: Store, target: str, word: str, new_keys: Mapping[tuple[str, str | None], Sequence[str]]
) -> Sequence[str]:
    """Return the keys of the last runs of a job, which another job depends on by an id or key; the word if it is the only one."""
    if (target, word) in new_keys:
        return new_keys[target, word]
    record = store.find_by_key(target, word) or store.find_job(target, word)
    runs = list_runs(store, target, record.key if record is not None else None)
    if len(runs) < 2:
        return [word]
    last = runs[-1].key or word
    return new_keys.get((target, last), [last])
