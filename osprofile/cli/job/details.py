"""What `incarnate job show` does: prints everything that is known of one job.

The text has no character that acts on a terminal: control characters in what the user, the batch system
and others have given are escaped.
"""

from __future__ import annotations

import bisect
import contextlib
import itertools
import os
import shlex
import sys
import time
from typing import TYPE_CHECKING, Any, Final, final

from osprofile.cli import common
from osprofile.cli.job import rows
from osprofile.cli.job.efficiency import list_runs
from osprofile.cli.job.rows import SUBMITTING, JobRow
from osprofile.cli.job.session import CommandSession, ErrorReporter, cancellable, print_warning
from osprofile.cli.terminal import apply_style, supports_colours
from osprofile.errors import (
    IncarnationError,
    NotFoundError,
    OSProfileError,
    OutputError,
    ScriptFailedError,
    TargetError,
)
from osprofile.jobs.arrays import describe_tasks
from osprofile.jobs.diagnosis import Diagnosis, diagnose
from osprofile.jobs.efficiency import LONG_RUN, measure_efficiency
from osprofile.jobs.fields import DEPENDENCY_ATTRIBUTES, DEPENDENCY_FIELD
from osprofile.jobs.files.directory import JobFile
from osprofile.jobs.profiles import format_energy, tells_energy
from osprofile.jobs.record.names import CLUSTER_FIELD, parse_target_name
from osprofile.jobs.record.store import JobDetails
from osprofile.jobs.shell.loop import end_at_once_on_signal
from osprofile.jobs.state import JobState
from osprofile.late import NamedTuple
from osprofile.text import escape_unprintable, format_signal_name, format_size, quote_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from osprofile.cli.job.option_groups import TargetSelection
    from osprofile.jobs.client import JobReference
    from osprofile.jobs.record.store import JobRecord
    from osprofile.jobs.state import JobStatus

_SCRIPT_FILE: Final = ".gpe/script"
"""START writes the job's script to this file in the working directory."""
_LABEL_WIDTH: Final = 16
_TIME_FORMAT: Final = "%Y-%m-%d %H:%M:%S"


@cancellable
async def show_jobs(selection: TargetSelection, words: Sequence[str], *, script: bool, json: bool) -> int:
    """Print what is known of jobs, or of submissions by their working directories.

    With `script`, print the scripts that were submitted, as they are.
    """
    end_at_once_on_signal()
    failures = ErrorReporter()
    shown: list[_Job] = []
    async with CommandSession(selection, record_needed=False) as session:
        for word in session.expand_patterns(words):
            try:
                if script:
                    await _print_script(session, word)
                else:
                    shown.append(await _find_job(session, word, failures))
            except OSProfileError as error:
                failures.report_error(error, "")
        if json and not script:
            common.print_json([_encode_job(session, job) for job in shown])
        elif shown:
            common.print_result("\n\n".join("\n".join(_format_job(session, job)) for job in shown))
    return failures.exit_code


@final
class _Job(NamedTuple):
    """A job, or a submission without a job id, with what is recorded of it."""

    row: JobRow
    details: JobDetails
    directory: str
    """The working directory; that of the array for a task; empty if it is not known."""
    diagnosis: Diagnosis = Diagnosis()
    """Why it failed."""
    energy: str = ""
    """What energy it took, with its price; empty if that is not known."""


async def _find_job(session: CommandSession, word: str, failures: ErrorReporter) -> _Job:
    if (record := _find_unsubmitted(session, word)) is not None:
        row = session.build_interrupted_row(record)
        if record.has_live_owner:
            row = JobRow(record.target, record.status, record, SUBMITTING)
        return _Job(row, session.store.read_details(record.number), record.directory)
    target, directory = None, ""
    try:
        job = session.find_job(word)
    except OSProfileError as error:  # its profile cannot be used any more
        if (record := session.find_record(word)) is None:
            raise
        _report_silence(record, error, failures)
        row = session.build_row(record.target, record.status, record)
        whole = session.store.find_whole_job(record) or record
        directory = whole.directory if whole.directory.startswith("/") else ""
    else:
        row, target = await _query_row(session, job, failures), job.target
        with contextlib.suppress(OSProfileError):
            directory = await target.find_job_directory(row.status.job_id)
    tasks = (task.status for task in row.tasks)
    diagnosis = await diagnose(target, row.status, tasks, target_name=row.target)
    energy = format_energy(target.profile, row.status.energy) if target and row.status.energy else ""
    details = session.store.read_details(row.record.number) if row.record else JobDetails()
    return _Job(row, details, directory, diagnosis, energy)


def _report_silence(record: JobRecord, error: OSProfileError, failures: ErrorReporter) -> None:
    """Print in one line why a target system does not answer; an error if the end is not recorded."""
    told = f"{record.target} does not answer: {' '.join(error.message.split())}"
    if record.status.state.is_terminal:
        print_warning(told)
    else:
        command = shlex.join(["incarnate", "job", "forget", "--force", record.target])
        hint = f"{error.hint}; {command} forgets its jobs" if isinstance(error, NotFoundError) else ""
        failures.report_error(TargetError(f"{told}; this is the last known state", hint=hint), "")


def _find_unsubmitted(session: CommandSession, word: str) -> JobRecord | None:
    """Return the submission in a working directory, if its job has no id yet."""
    records = session.store.find_directory_on_all_targets(word)
    return next((r for r in records if session.is_selected(r.target) and not r.is_submitted), None)


async def _query_row(session: CommandSession, job: JobReference, failures: ErrorReporter) -> JobRow:
    """Return the row of a job, with what is recorded of it if the target system does not answer."""
    record = job.record
    has_ended = record is not None and record.status.state.is_terminal
    lacks_energy = record is not None and record.status.energy is None and tells_energy(job.target.profile)
    if record is not None and has_ended and record.status.cpu_time is not None and not lacks_energy:
        return session.build_row(job.target.name, record.status, record)
    try:
        status = await _query_usage(job)
    except OSProfileError as error:
        if record is None:
            error.hint = error.hint or session.suggest_other_targets(job)
            raise
        if has_ended:
            _warn_of_usage(job, error)
        else:
            failures.report_error(error, f"{job.target.name}: showing the last known state")
        status = record.status
    return session.build_row(job.target.name, status)


async def _query_usage(job: JobReference) -> JobStatus:
    """Return the status of a job, with what it took unless that query alone fails."""
    try:
        return await job.target.query_usage(job.job_id)
    except (IncarnationError, OutputError, ScriptFailedError) as error:
        status = await job.target.status(job.job_id)
        _warn_of_usage(job, error)
        return status


def _warn_of_usage(job: JobReference, error: OSProfileError) -> None:
    print_warning(f"{job.target.name}: what the job took is not known: {error.message}")


async def _print_script(session: CommandSession, word: str) -> None:
    record = _find_unsubmitted(session, word)
    if record is not None:
        common.print_result(record.script or "")
        return
    job = session.find_job(word)
    file = JobFile(await job.target.find_job_directory(job.job_id), _SCRIPT_FILE)
    part = await job.target.files.read_file_part(file)
    if part is None:
        message = f"the script of job {quote_name(job.job_id)}, {file.path}, is not there"
        raise TargetError(message, hint="it was deleted")
    while part is not None and part.data:
        sys.stdout.buffer.write(part.data)
        sys.stdout.buffer.flush()
        part = await job.target.files.read_file_part(file, part.position)


# What is known


def _find_files(session: CommandSession, job: _Job) -> dict[str, str]:
    """Return the paths of the job's standard streams by name, as far as they are recorded."""
    record, stdin = job.row.record, (job.details.request or {}).get("STDIN")
    whole = None if record is None else session.store.find_whole_job(record)
    files = {}
    if record is not None and whole is not None:
        index = "INDEX" if record.array else record.array_index
        files = {stream: whole.name_output_file(stream, index) for stream in ("stdout", "stderr")}
    names = {**files, "stdin": stdin}
    return {stream: os.path.join(job.directory, name) for stream, name in names.items() if name}


def _list_states(row: JobRow, details: JobDetails) -> list[tuple[str, float]]:
    """Return the states of a job with their times, also those that only the status tells."""
    status = row.status
    states = [(state.value, moment) for state, moment in details.history]
    end = states.pop() if states and details.history[-1][0].is_terminal else None
    if status.started is not None:
        run = (JobState.RUNNING.value, status.started)
        runs = [number for number, (state, _) in enumerate(states) if state == run[0]]
        if not runs:
            bisect.insort(states, run, key=lambda state: state[1])
        elif len(runs) == 1:  # it is known more exactly than when it was seen
            states[runs[0]] = run
    if status.submitted is not None:
        states.insert(0, (JobState.QUEUED.value, status.submitted))
    if end is None and status.state.is_terminal and status.ended is not None:
        end = (status.state.value, status.ended)
    if end is not None:
        states.append(end)
    # a state that was seen is told by the time of the query, which may be after its end
    moments = itertools.accumulate((moment for _, moment in reversed(states)), min)
    return [(state, moment) for (state, _), moment in zip(reversed(states), moments, strict=True)][::-1]


def _find_dependencies(session: CommandSession, row: JobRow, details: JobDetails) -> list[dict[str, Any]]:
    """Return the jobs that a job was to wait for, with their last known states."""
    dependencies = []
    for condition in filter(None, (details.request or {}).get(DEPENDENCY_FIELD, "").split(",")):
        kind, *names = condition.split(":")
        for name in names:
            record = session.store.find_by_key(row.target, name) or session.store.find_job(row.target, name)
            dependencies.append(
                {
                    "condition": kind,
                    "job": name,
                    "id": (record.status.job_id or None) if record else None,
                    "state": record.status.state.value if record else None,
                    "exit_code": record.status.exit_code if record else None,
                }
            )
    return dependencies


def _encode_job(session: CommandSession, job: _Job) -> dict[str, object]:
    """Return a job for JSON: what `job list` prints of it, and the rest."""
    row, details, directory, diagnosis, _ = job
    status, record = row.status, row.record
    files = _find_files(session, job)
    return {
        **rows.encode_row(row),
        "directory": directory or None,
        "queue": _find_queue(status, details) or None,
        "walltime": record.walltime if record else None,
        "stdin": files.get("stdin"),
        "stdout": files.get("stdout"),
        "stderr": files.get("stderr"),
        "inputs": list(details.files.inputs.values()),
        "fetch": list(details.files.fetch),
        "fetch_to": details.files.fetch_to or None,
        "application": details.application,
        "fields": dict(details.request) if details.request is not None else None,
        "dependencies": _find_dependencies(session, row, details),
        "retry": list(details.retry),
        "attempts": [_encode_attempt(run) for run in _list_attempts(session, row)],
        "history": [{"state": state, "time": moment} for state, moment in _list_states(row, details)],
        "error_lines": list(diagnosis.lines),
        "likely_cause": diagnosis.cause or None,
        "setup_lines": list(diagnosis.setup_lines),
        "efficiency": measure_efficiency(list_runs(row, details.request)).encode(),
    }


def _list_attempts(session: CommandSession, row: JobRow) -> list[JobRecord]:
    """Return the runs of a job, also those that a user asked for; none of a job that ran once."""
    if row.record is None or row.record.key is None:
        return []
    from osprofile.jobs.submit.attempts import list_all_runs  # late: few jobs run again

    runs = list_all_runs(session.store, row.record)
    return runs if len(runs) > 1 else []


def _encode_attempt(record: JobRecord) -> dict[str, Any]:
    status = record.status
    return {
        "id": status.job_id or None,
        "key": record.key,
        "array": record.array or None,
        "state": status.state.value,
        "exit_code": status.exit_code,
        "signal": status.signal,
        "cause": status.cause,
    }


def _find_queue(status: JobStatus, details: JobDetails) -> str:
    return status.queue or (details.request or {}).get("QUEUE", "")


# Text


def _format_job(session: CommandSession, job: _Job) -> Iterator[str]:
    """Yield the lines of the text."""
    row, details, directory, diagnosis, _ = job
    name = row.status.job_id or directory
    yield f"job {escape_unprintable(name)}"
    coloured = supports_colours(sys.stdout)
    for label, value in _list_facts(session, job):
        if value:
            shown = escape_unprintable(value)
            if label == "state" and coloured:
                shown = apply_style(rows.choose_style(row), shown)
            yield f"  {label:<{_LABEL_WIDTH}}{shown}"
    yield from _format_request(details)
    yield from _format_attempts(_list_attempts(session, row))
    states = _list_states(row, details)
    yield "states, when they were seen"
    for state, moment in states:
        yield f"  {_format_time(moment)}  {state}"
    if not states:
        yield "  (not recorded)"
    outputs = {"output of the site's own lines": diagnosis.setup_lines, "error output": diagnosis.lines}
    for label, lines in outputs.items():
        if lines:
            yield f"{label}, the last lines"
            yield from (f"  {escape_unprintable(line)}".rstrip() for line in lines)
    if diagnosis.cause:
        yield f"likely cause: {escape_unprintable(diagnosis.cause)}"


def _format_attempts(runs: Iterable[JobRecord]) -> Iterator[str]:
    for number, run in enumerate(runs, 1):
        if number == 1:
            yield "attempts"
        words = [run.status.job_id or "-", run.status.state.value, rows.format_outcome(run.status)]
        if run.array:
            words.append(f"tasks {run.array}")
        yield f"  {number}  {escape_unprintable('  '.join(filter(None, words)))}"


def _list_facts(session: CommandSession, job: _Job) -> Iterator[tuple[str, str]]:
    """Yield labels and values; an empty value is not known."""
    row, details, directory = job.row, job.details, job.directory
    status, record = row.status, row.record
    profile, context = parse_target_name(row.target)
    word = status.native_state
    yield "state", f"{row.state} ({word})" if word and word != row.state else row.state
    yield "cause", f"{status.cause} ({status.cause.description})" if status.cause else ""
    yield "exit code", "" if status.exit_code is None else str(status.exit_code)
    yield "signal", "" if status.signal is None else format_signal_name(status.signal)
    tasks = describe_tasks(task.status for task in row.tasks) if row.tasks else ""
    yield _find_reason(row, tasks)
    if record is not None:
        yield "name", record.name
        yield "key", record.key or ""
    yield "profile", profile
    yield "cluster", context.get(CLUSTER_FIELD, "")
    yield "host", row.target.partition("@")[2]
    yield "queue", _find_queue(status, details)
    yield "nodes", " ".join(status.hosts)
    if record is not None and record.array:
        yield "array", record.array
        yield "tasks", tasks
    if record is not None and record.array_id is not None:
        yield "task", f"{record.array_index} of array {record.array_id}"
    yield from _list_times(row)
    yield from _list_usage(row, details.request)
    yield "energy", job.energy
    for found in _find_dependencies(session, row, details):
        attribute = {c: a for a, c in DEPENDENCY_ATTRIBUTES.items()}.get(
            found["condition"], found["condition"]
        )
        yield attribute.replace("_", " "), _describe_dependency(found)
    yield "directory", directory
    yield from _find_files(session, job).items()
    yield "inputs", " ".join(map(shlex.quote, details.files.inputs.values()))
    yield "fetch", " ".join(map(shlex.quote, details.files.fetch))
    yield "fetch to", details.files.fetch_to
    yield "application", details.application or ""
    yield "retry", "; ".join(details.retry)


def _find_reason(row: JobRow, tasks: str) -> tuple[str, str]:
    """Return a label and the reason of the state; nothing if it only repeats the numbers of an array's tasks."""
    is_repeated = bool(row.tasks) and (row.reason == tasks or row.reason != row.status.reason)
    reason = "" if is_repeated else " ".join(row.reason.split())
    is_waiting = row.status.state in {JobState.QUEUED, JobState.HELD} and not row.status.unknown_word
    if row.submission_state or not is_waiting:
        return "reason", reason
    return "waits" if reason.startswith("not before ") else "waits for", reason.removeprefix("waits for ")


def _describe_dependency(found: Mapping[str, Any]) -> str:
    if found["state"] is None:
        return f"{found['job']} (not in the record)"
    state = found["state"] if found["exit_code"] is None else f"{found['state']} {found['exit_code']}"
    is_key = found["id"] not in {None, found["job"]}
    return f"{found['job']} ({found['id']}, {state})" if is_key else f"{found['job']} ({state})"


def _list_times(row: JobRow) -> Iterator[tuple[str, str]]:
    """Yield the times; what is only known from the queries that saw it was before that."""
    status = row.status
    submitted, started, ended = status.submitted, status.started, status.ended
    # by the run time that the batch system told
    is_exact = status.elapsed is not None and (status.end_reported or not status.state.is_terminal)
    if submitted is not None:
        yield "submitted", _format_time(submitted)
    if started is not None and is_exact:
        waited = f" (waited {rows.format_elapsed(submitted, started)})" if submitted is not None else ""
        yield "started", _format_time(started) + waited
    elif started is not None:
        yield "started", f"before {_format_time(started)}"
    if ended is not None:
        knows_run_time = status.elapsed is not None or (started is not None and status.end_reported)
        ran = f" (ran {rows.format_run_time(status, started)})" if knows_run_time else ""
        yield "ended", f"{'' if status.end_reported else 'before '}{_format_time(ended)}{ran}"
    elif started is not None and status.state is JobState.RUNNING:
        yield "runs for", rows.format_elapsed(started, None)


def _list_usage(row: JobRow, request: Mapping[str, str] | None) -> Iterator[tuple[str, str]]:
    """Yield what the job took and, of a job that was asked for here, the share of what it asked for; of an array, of all."""
    status = row.status
    if row.record is not None and row.record.walltime:
        yield "time limit", _format_duration(row.record.walltime)
    if status.elapsed is not None:
        yield "elapsed", _format_duration(status.elapsed)
    elif row.tasks and status.end_reported and status.started is not None and status.ended is not None:
        whole = _format_duration(status.ended - status.started)
        yield "elapsed", f"{whole} (from the start of the first task to the end of the last one)"
    runs = list_runs(row, request)
    used = measure_efficiency(runs)
    if status.cpu_time is not None:
        is_long = sum(run.status.elapsed or 0.0 for run in runs) >= LONG_RUN
        share = (
            f" ({used.cpus.share:.0%} of {used.cpus.asked:.3g} CPUs)" if is_long and used.cpus.share else ""
        )
        yield "processor time", _format_duration(status.cpu_time) + share.replace(" 1 CPUs", " 1 CPU")
    if status.max_memory is not None:
        share = (
            f" ({used.memory.share:.0%} of {format_size(used.memory.asked or 0)})"
            if used.memory.share
            else ""
        )
        yield "largest memory", format_size(status.max_memory) + share
    if used.advised_options:
        yield "next time", f"{used.advised_options} would be enough"


def _format_time(moment: float) -> str:
    """Return a moment in local time."""
    with contextlib.suppress(ValueError, OverflowError, OSError):  # a batch system's nonsense
        return time.strftime(_TIME_FORMAT, time.localtime(moment))
    return f"{moment:.0f} s since 1970"


def _format_duration(seconds: float) -> str:
    return rows.format_seconds(seconds) if seconds >= 60 else f"{seconds:.3g} s"


# The request


def _format_request(details: JobDetails) -> Iterator[str]:
    """Yield the fields as submitted, and the variables of ENVIRONMENT."""
    yield "fields as submitted"
    if details.request is None:
        yield "  (not recorded)"
        return
    variables = _split_exports(details.request.get("ENVIRONMENT", ""))
    shown = {n: v for n, v in details.request.items() if n != "ENVIRONMENT" or variables is None}
    yield from _format_assignments(shown)
    if variables:
        yield "environment"
        yield from _format_assignments(variables)


def _format_assignments(values: Mapping[str, str]) -> Iterable[str]:
    return (f"  {escape_unprintable(name)}={_quote_assigned(value)}" for name, value in values.items())


def _split_exports(text: str) -> dict[str, str] | None:
    """Return the variables that a value of ENVIRONMENT sets; None if it does anything else."""
    try:
        words = shlex.split(text)
    except ValueError:
        return None
    if words[::2] != ["export"] * len(words[1::2]):
        return None
    pairs = [word.partition("=") for word in words[1::2]]
    return {name: value for name, _, value in pairs} if all(equals for _, equals, _ in pairs) else None


def _quote_assigned(value: str) -> str:
    """Return a value on one line: as it is, or as bash's $'...' if it has control characters or blanks at an end."""
    if value.isprintable() and value == value.strip() and not value.startswith("$'"):
        return value
    return f"$'{''.join(map(_escape_character, value))}'"


def _escape_character(character: str) -> str:
    if character in "\\'":
        return f"\\{character}"
    if character.isprintable():
        return character
    if "\udc80" <= character <= "\udcff":  # a byte that is not UTF-8
        return f"\\x{ord(character) - 0xDC00:02x}"
    named = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(character)
    return named or (f"\\x{ord(character):02x}" if character.isascii() else f"\\U{ord(character):08x}")
