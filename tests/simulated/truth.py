"""Compare what the record says of jobs with what the cluster knows of them.

An end must be told as it was, if the batch system has shown it to a process of ours that lived on. If it forgot the
job before, gave an empty answer, or killed the process at that moment, only the job's directory tells: the exit status
that it left, or nothing, and then the job is LOST. A task of an array that was removed before this was known is
REMOVED, unless it ended with an exit code.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from osprofile.jobs.shell.output import interpret_exit
from osprofile.jobs.state import EndCause, JobState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from osprofile.jobs.record.store import Store
    from osprofile.jobs.state import JobStatus

End = tuple[JobState, int | None, int | None, EndCause | None]


def list_faults(
    truth: dict[str, Any],
    keys: Iterable[str],
    told: Mapping[str, tuple[str, object]],
    convert: Callable[[End], object] = lambda end: end,
    answers: int = 1,
) -> list[str]:
    """Return what is wrong about the jobs of these keys: wrong, lost or doubled jobs.

    `told` has the id and the end of each job by its key; `convert` makes such an end of a true one. After so many
    `answers` that showed the end to one process, that process must know it.
    """
    faults = []
    by_name = defaultdict(list)
    for job in truth["jobs"]:
        by_name[name_task(job["name"], job["index"])].append(job)
    for key in keys:
        jobs = by_name[key]
        if key not in told:
            faults.append(f"{key} is lost: {jobs}")
            continue
        job_id, end = told[key]
        have_run = [job for job in jobs if job["has_run"]]
        if len(have_run) > 1:
            faults.append(f"{key} is doubled: {jobs}")
            continue
        own = [job for job in jobs if job["id"] == job_id]
        if not own or any(job not in own for job in have_run):
            faults.append(f"{key} is not job {job_id}: {jobs}")
        elif end not in (allowed := [*map(convert, list_ends(own[0], truth["deaths"], answers))]):
            faults.append(f"{key}, job {job_id}: {end}, not one of {allowed}: {own[0]}")
    return faults


def name_task(name: str, index: int | None) -> str:
    """Return the name of a job, with its index if it is a task."""
    return name if index is None else f"{name}[{index}]"


def read_ends(store: Store, target: str) -> dict[str, tuple[str, object]]:
    """Return the ids and the ends of a record's jobs by their names; in place of an array, those of its tasks."""
    records = [record for record in store.list_all_jobs(target) if record.is_submitted]
    jobs = [record for record in records if not record.array]
    for array in records:
        if array.array:
            jobs += store.list_tasks(target, array.status.job_id)
    return {name_task(job.name, job.array_index): (job.status.job_id, get_end(job.status)) for job in jobs}


def list_array_faults(store: Store, target: str) -> list[str]:
    """Return what is wrong about the arrays of a record: each must have ended as its tasks have."""
    faults = []
    for array in store.list_all_jobs(target):
        if array.array:
            ends = {get_end(task.status) for task in store.list_tasks(target, array.status.job_id)}
            states = {end[0] for end in ends}
            expected = JobState.FAILED
            if ends == {(JobState.DONE, 0, None, None)}:
                expected = JobState.DONE
            elif states == {JobState.REMOVED}:
                expected = JobState.REMOVED
            if array.status.state is not expected:
                faults.append(
                    f"array {array.status.job_id} of {array.name}: {array.status.state}, not {expected}"
                )
    return faults


def get_end(status: JobStatus) -> End:
    """Return what counts of a job's end."""
    return status.state, status.exit_code, status.signal, status.cause


def list_ends(job: dict[str, Any], deaths: dict[str, float], answers: int = 1) -> list[End]:
    """Return what may be said of a job's end."""
    if job["ended"] is None:
        return []
    exact = get_true_end(job)
    ends = [exact]
    removed: End = (JobState.REMOVED, None, None, EndCause.USER)
    if job["removed_by_user"] and exact[0] is JobState.FAILED:
        ends.append(removed)  # it ended just before
    was_shown = any(
        len([moment for moment in moments if moment != deaths.get(session)]) >= answers
        for session, moments in job["shown_to"].items()
    )
    if not was_shown:
        status = job["status_file"]
        left = None if status is None else interpret_exit(JobState.DONE, cause=None, code=status, signal=None)
        ends.append(left or (JobState.LOST, None, None, None))
        if job["array_was_removed"] and (left is None or left[0] is JobState.FAILED):
            ends.append(removed)  # ABORT takes it for one of the tasks that it removed
    return ends


def get_true_end(job: dict[str, Any]) -> End:
    """Return how a job ended."""
    match job["end"]:
        case "exit":
            return JobState.DONE, 0, None, None
        case "code" | "stray":
            return JobState.DONE, job["code"], None, None
        case "signal":
            return JobState.FAILED, None, job["code"], EndCause.SIGNAL
        case "cancelled" | "withdrawn":
            return JobState.REMOVED, None, None, EndCause.USER
        case end:
            cause = {
                "time": EndCause.TIME, "memory": EndCause.MEMORY, "node": EndCause.NODE,
                "preempted": EndCause.PREEMPTED,
            }[end]  # fmt: skip
            return JobState.FAILED, None, None, cause
