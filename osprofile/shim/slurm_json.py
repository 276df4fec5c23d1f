"""What `squeue --json` and `sacct --json` print, in the form of Slurm 23.02 (its data_parser v0.0.39).

Source: https://slurm.schedmd.com/rest_api.html of 23.02, `openapi_job_info` and `dbv0.0.39_job`. Of a job, there are the members
that the stand-ins know; times are seconds since 1970, 0 where they are not known, sizes MiB, limits minutes.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from osprofile.shim.client import has_started
from osprofile.shim.command import get_elapsed, print_lines
from osprofile.shim.programs import VERSIONS
from osprofile.shim.slurm import count_cpus, format_exit_code, get_group_name, get_reason, get_state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from osprofile.shim.client import Client, Entry


def print_jobs(
    client: Client, entries: Iterable[Entry], describe: Callable[[Client, Entry], dict[str, Any]]
) -> None:
    """Print jobs as one JSON object."""
    major, minor, micro = VERSIONS["slurm"].removeprefix("slurm ").split(".")
    version = {"major": int(major), "micro": int(micro), "minor": int(minor)}
    found = {
        "meta": {
            "plugin": {"type": "openapi/v0.0.39", "name": "osprofile"},
            "Slurm": {"version": version, "release": f"{major}.{minor}.{micro}"},
        },
        "errors": [],
        "warnings": [],
        "jobs": [describe(client, entry) for entry in entries],
    }
    print_lines([json.dumps(found, indent=2)])


def describe_live_job(client: Client, entry: Entry) -> dict[str, Any]:
    """Return a job as squeue describes it."""
    record, status = entry.record, entry.status
    limit = record.walltime
    started = _round(status.started)
    expected_end = started + limit if started and limit else 0
    code, _, number = format_exit_code(status).partition(":")
    return {
        "account": client.get_requested(record, "PROJECT"),
        "array_job_id": _number(None if entry.index is None else entry.number, absent=0),
        "array_task_id": _number(entry.index),
        "batch_flag": True,
        "batch_host": status.hosts[0] if status.hosts else "",
        "cluster": client.default_queue,
        "cpus": _number(count_cpus(client, entry)),
        "cpus_per_task": _number(client.count_requested(record, "CPUS")),
        "current_working_directory": client.get_requested(record, "DIRECTORY"),
        "end_time": _round(status.ended) or expected_end,
        "exit_code": _number(int(code) << 8 | int(number)),
        "features": client.get_requested(record, "CONSTRAINT"),
        "group_id": os.getegid(),
        "group_name": get_group_name(),
        "job_id": entry.number,
        "job_state": get_state(status).name,
        "memory_per_node": _number(_read_number(client.get_requested(record, "MEMORY"))),
        "name": record.name,
        "node_count": _number(client.count_requested(record, "NODES")),
        "nodes": ",".join(status.hosts),
        "partition": client.get_queue(entry),
        "qos": client.get_requested(record, "QOS"),
        "start_time": started,
        "state_reason": get_reason(entry),
        "submit_time": _round(record.status.submitted),
        "tasks": _number(client.count_requested(record, "PROCESSES")),
        "time_limit": _limit(limit),
        "user_id": os.geteuid(),
        "user_name": client.user_name,
    }


def describe_accounted_job(client: Client, entry: Entry) -> dict[str, Any]:
    """Return a job as sacct describes it. There are no steps."""
    record, status = entry.record, entry.status
    code, _, number = format_exit_code(status).partition(":")
    exit_code: dict[str, Any] = {
        "status": "SIGNALED" if number != "0" else "SUCCESS" if code == "0" else "ERROR"
    }
    if number != "0":
        exit_code["signal"] = {"signal_id": int(number)}
    if not status.state.is_terminal:
        exit_code["status"] = "PENDING"
    nodes, cpus = client.count_requested(record, "NODES"), count_cpus(client, entry)
    requested = [_count("cpu", cpus), _count("node", nodes)]
    seconds = status.cpu_time or 0.0
    total = {"seconds": int(seconds), "microseconds": int(seconds % 1 * 1e6)}
    return {
        "account": client.get_requested(record, "PROJECT"),
        "allocation_nodes": nodes if has_started(status) else 0,
        "array": {
            "job_id": 0 if entry.index is None else entry.number,
            "task_id": _number(entry.index),
            "task": "" if entry.index is None else str(entry.index),
        },
        "cluster": client.default_queue,
        "constraints": client.get_requested(record, "CONSTRAINT"),
        "exit_code": {**exit_code, "return_code": int(code)},
        "group": get_group_name(),
        "job_id": entry.number,
        "name": record.name,
        "nodes": ",".join(status.hosts) or "None assigned",
        "partition": client.get_queue(entry),
        "qos": client.get_requested(record, "QOS"),
        "required": {
            "CPUs": cpus,
            "memory_per_node": _number(_read_number(client.get_requested(record, "MEMORY"))),
        },
        "state": {"current": get_state(status).name, "reason": get_reason(entry)},
        "steps": [],
        "time": {
            "elapsed": int(get_elapsed(status)),
            "eligible": _round(record.status.submitted),
            "end": _round(status.ended),
            "limit": _limit(record.walltime),
            "start": _round(status.started),
            "submission": _round(record.status.submitted),
            "suspended": 0,
            "total": total,
        },
        "tres": {"allocated": requested if has_started(status) else [], "requested": requested},
        "user": client.user_name,
        "working_directory": client.get_requested(record, "DIRECTORY"),
    }


def _number(value: int | None, absent: int | None = None) -> dict[str, Any]:
    """Return a number as Slurm writes one that may be absent, or not limited."""
    if value is None:
        return {"set": absent is not None, "infinite": False, "number": absent or 0}
    return {"set": True, "infinite": False, "number": value}


def _limit(seconds: float | None) -> dict[str, Any]:
    return _number(-(-int(seconds) // 60)) if seconds else {"set": False, "infinite": True, "number": 0}


def _count(kind: str, number: int) -> dict[str, Any]:
    return {"type": kind, "name": "", "count": number}


def _read_number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() else None


def _round(moment: float | None) -> int:
    return int(moment or 0)
