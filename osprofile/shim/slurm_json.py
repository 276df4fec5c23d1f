"""What `squeue --json` and `sacct --json` print, in the form of Slurm 23.11 and later (its data_parser v0.0.40).

Source: https://slurm.schedmd.com/rest_api.html of 23.11, `v0.0.40_job_info` and `v0.0.40_job`. Of a job, there are the members
that the stand-ins know; times are seconds since 1970, 0 where they are not known, sizes MiB, limits minutes.
"""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING, Any

from osprofile.shim.command import print_lines
from osprofile.shim.facts import Facts
from osprofile.shim.programs import VERSIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from osprofile.shim.client import Client, Entry


def print_jobs(client: Client, entries: Iterable[Entry], describe: Callable[[Facts], dict[str, Any]]) -> None:
    """Print jobs as one JSON object."""
    release = VERSIONS["slurm"].removeprefix("slurm ")
    version = dict(zip(("major", "minor", "micro"), release.split("."), strict=True))
    found = {
        "jobs": [_describe(facts) | describe(facts) for facts in (Facts(client, entry) for entry in entries)],
        "meta": {
            "plugin": {"type": "", "name": "osprofile", "data_parser": "data_parser/v0.0.40"},
            "slurm": {"version": version, "release": release, "cluster": client.default_queue},
        },
        "errors": [],
        "warnings": [],
    }
    print_lines([json.dumps(found, indent=2)])


def _describe(job: Facts) -> dict[str, Any]:
    """Return what squeue and sacct have under the same names."""
    return {
        "account": job.account or "",
        "cluster": job.cluster,
        "exit_code": _describe_exit_code(job),
        "job_id": job.number,
        "name": job.name,
        "nodes": job.hosts,
        "partition": job.queue,
        "qos": job.qos or "",
    }


def describe_live_job(job: Facts) -> dict[str, Any]:
    """Return a job as squeue describes it."""
    return {
        "array_job_id": _number(0 if job.index is None else job.number),
        "array_task_id": _number(job.index),
        "batch_flag": True,
        "batch_host": job.batch_host or "",
        "cpus": _number(job.cpus),
        "cpus_per_task": _number(job.cpus_per_task),
        "current_working_directory": job.directory or "",
        "end_time": _number(job.expected_end or 0),
        "features": job.constraint or "",
        "group_id": job.group_id,
        "group_name": job.group,
        "job_state": [job.state],
        "memory_per_node": _number(job.memory),
        "node_count": _number(job.nodes),
        "start_time": _number(job.started or 0),
        "state_reason": job.reason,
        "submit_time": _number(job.submitted or 0),
        "tasks": _number(job.tasks),
        "time_limit": _limit(job),
        "user_id": job.user_id,
        "user_name": job.user,
    }


def describe_accounted_job(job: Facts) -> dict[str, Any]:
    """Return a job as sacct describes it. There are no steps."""
    requested = [
        {"type": kind, "name": "", "id": number, "count": count}
        for kind, number, count in (("cpu", 1, job.cpus), ("node", 4, job.nodes))
    ]
    seconds = job.cpu_time or 0.0
    return {
        "allocation_nodes": job.allocated_nodes,
        "array": {
            "job_id": 0 if job.index is None else job.number,
            "task_id": _number(job.index),
            "task": "" if job.index is None else str(job.index),
        },
        "constraints": job.constraint or "",
        "group": job.group,
        "nodes": job.hosts or "None assigned",
        "required": {
            "CPUs": job.cpus,
            "memory_per_cpu": _number(None),
            "memory_per_node": _number(job.memory),
        },
        "state": {"current": [job.state], "reason": job.reason},
        "steps": [],
        "time": {
            "elapsed": job.raw_elapsed,
            "eligible": int(job.submitted or 0),
            "end": int(job.ended or 0),
            "limit": _limit(job),
            "planned": _number(job.waited),
            "start": int(job.started or 0),
            "submission": int(job.submitted or 0),
            "suspended": 0,
            "total": {"seconds": int(seconds), "microseconds": int(seconds % 1 * 1e6)},
        },
        "tres": {"allocated": requested if job.has_started else [], "requested": requested},
        "user": job.user,
        "working_directory": job.directory or "",
    }


def _describe_exit_code(job: Facts) -> dict[str, Any]:
    code, number = map(int, job.exit_code.split(":"))
    end = "SIGNALED" if number else "ERROR" if code else "SUCCESS"
    status = end if job.status.state.is_terminal else "PENDING"
    names = {s.value: s.name.removeprefix("SIG") for s in signal.Signals}
    return {
        "status": [status],
        "return_code": _number(code),
        "signal": {"id": _number(number or None), "name": names.get(number, "")},
    }


def _number(value: float | None) -> dict[str, Any]:
    """Return a number as Slurm writes one that may be absent, or not limited."""
    return {"set": value is not None, "infinite": False, "number": int(value or 0)}


def _limit(job: Facts) -> dict[str, Any]:
    minutes = job.limit_in_minutes
    return {"set": minutes is not None, "infinite": minutes is None, "number": minutes or 0}
