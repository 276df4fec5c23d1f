"""A job's status as the API has it, and which jobs a list has (docs/protocols/iri.md, 4).

QUEUED    queued
RUNNING   active
HELD      held; active if it has begun and is suspended
DONE      completed with exit code 0; failed with any other one, or none
FAILED    failed
REMOVED   canceled
LOST      failed
UNKNOWN   active once it has run, else queued
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, final

from osprofile.executors.facility.job_spec import convert_job_name
from osprofile.executors.facility.problems import InvalidParameter, refuse_members
from osprofile.executors.failures import describe_start_failure
from osprofile.jobs.state import JobState
from osprofile.text import quote_value, suggest_names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from osprofile.jobs.record.store import JobRecord
    from osprofile.jobs.state import JobStatus

STATES: Final = ("new", "queued", "held", "active", "completed", "failed", "canceled")
_STATE_NAMES: Final = {
    JobState.QUEUED: "queued",
    JobState.RUNNING: "active",
    JobState.HELD: "held",
    JobState.FAILED: "failed",
    JobState.REMOVED: "canceled",
    JobState.LOST: "failed",
}
_FILTERS: Final = ("id", "name", "state")


def get_state(status: JobStatus) -> str:
    """Return the API's word for the state of a job."""
    if status.state is JobState.UNKNOWN:
        return "queued" if status.started is None else "active"
    if status.state is JobState.DONE:
        return "completed" if status.exit_code == 0 else "failed"
    return "active" if status.is_suspended else _STATE_NAMES[status.state]


def format_status(status: JobStatus, record: JobRecord | None, note: str = "") -> dict[str, Any]:
    """Return a JobStatus; `note` is put before the batch system's own words."""
    state = get_state(status)
    times = {"active": status.started, "queued": status.submitted, "held": status.submitted}
    moment = status.ended if status.state.is_terminal else times[state]
    message = "; ".join(filter(None, (note, _explain(status), status.reason)))
    result: dict[str, Any] = {"state": state}
    if moment is not None:
        result["time"] = moment
    if message:
        result["message"] = message
    if status.exit_code is not None:
        result["exit_code"] = status.exit_code
    if details := _format_details(status, record):
        result["meta_data"] = details
    return result


def _explain(status: JobStatus) -> str:
    if status.is_suspended:
        return "suspended"
    return describe_start_failure(status) if status.has_exited else status.describe_end()


def _format_details(status: JobStatus, record: JobRecord | None) -> dict[str, Any]:
    values: dict[str, Any] = {
        "native_state": status.native_state,
        "cause": status.cause and status.cause.value,
        "signal": status.signal,
        "hosts": list(status.hosts),
        "queue": status.queue,
        "submitted": status.submitted,
        "started": status.started,
        "ended": status.ended,
        "elapsed": status.elapsed,
        "cpu_time": status.cpu_time,
        "max_memory": status.max_memory,
        "energy": status.energy,
        "allocated_cpus": status.allocated_cpus,
        "allocated_memory": status.allocated_memory,
    }
    if record is not None and record.directory.startswith("/"):
        values["directory"] = record.directory
        for stream in ("stdout", "stderr"):
            if path := record.name_output_file(stream):
                values[stream] = path if path.startswith("/") else f"{record.directory}/{path}"
    return {name: value for name, value in values.items() if value not in (None, "", [])}


@final
class JobFilter(NamedTuple):
    """Which jobs a list has: by name of the filter, the values of which a job has one."""

    values: Mapping[str, frozenset[str]]

    @classmethod
    def parse(cls, filters: Mapping[str, object] | None) -> Self:
        """Return the filter of a request: {"state": "queued"} or {"state": ["queued", "held"]}, and id, name.

        Raises `ProblemError` for other filters and values.
        """
        values, refusals = {}, []
        for name, value in (filters or {}).items():
            items = value if isinstance(value, list) else [value]
            if name not in _FILTERS:
                refusals.append(InvalidParameter(name, f"no such filter: {suggest_names(name, _FILTERS)}"))
            elif not all(isinstance(item, str) for item in items):
                refusals.append(InvalidParameter(name, "give a text, or a list of texts"))
            elif name == "state" and (wrong := [item for item in items if item not in STATES]):
                reason = f"no such state: {quote_value(str(wrong[0]))}: {', '.join(STATES)}"
                refusals.append(InvalidParameter(name, reason))
            else:
                values[name] = frozenset(map(convert_job_name if name == "name" else str, items))
        if refusals:
            raise refuse_members(refusals)
        return cls(values)

    def matches(self, status: JobStatus, name: str) -> bool:
        """Return whether a job has one value of each filter."""
        found = {"id": status.job_id, "name": name, "state": get_state(status)}
        return all(found[key] in values for key, values in self.values.items())
