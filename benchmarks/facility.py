"""The promise of the facility: a list of 1,000 jobs, of 10,000 that are known, asks the batch system once, or not at all.

The list is made as the API's `getJobs` makes it, without HTTP. While the last answer of the batch system is fresh, it is compared
with what its own JSON takes; with a query, with what it takes without one.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sqlite3
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paired import Promise, compare, heading, rounds
from record import JOBS, PROFILE, REQUEST, REQUESTS

from osprofile.executors.facility.compute import Health, Resource
from osprofile.executors.facility.job_states import JobFilter
from osprofile.jobs.record.store import Store
from osprofile.jobs.target_system import TargetSystem
from osprofile.profile.repository import Repository

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

ENDED, LIVE = 9_000, 1_000


def generate_jobs() -> Iterator[tuple[object, ...]]:
    """Yield the columns of the jobs."""
    now = time.time()
    for number in range(ENDED):
        history = f"RUNNING {now - 9:.3f}\nDONE {now - 4:.3f}\n"
        yield "bench", f"/d{number}", f"e{number}", f"k{number}", "DONE", now - 9, now - 9, now - 4, history
    for number in range(LIVE):
        yield "bench", f"/b{number}", f"b{number}", None, "RUNNING", now, now, None, f"RUNNING {now:.3f}\n"


def open_resource(root: Path) -> Resource:
    """Return a resource whose record has the jobs, and whose batch system has those that live."""
    (root / "bench.xml").write_text(PROFILE.format(name="bench", root=root))
    (root / "states").write_text("".join(f"b{number} running\n" for number in range(LIVE)))
    path = str(root / "jobs.db")
    Store(path).close()
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.executemany(JOBS, generate_jobs())
        db.execute(REQUESTS, (REQUEST,))
    target = TargetSystem(Repository([str(root)]).load("bench"), store=Store(path))
    return Resource("cluster", target, 3600.0, Health())


def main() -> int:
    """Compare and print; return 1 if a promise is broken."""
    heading()
    with tempfile.TemporaryDirectory(prefix="bench-facility-") as directory, asyncio.Runner() as runner:
        os.environ["HOME"] = directory
        resource = open_resource(Path(directory))
        found: list[dict[str, Any]] = []

        async def list_jobs(max_age: float, queries: int) -> None:
            resource._max_age = max_age  # noqa: SLF001
            before = resource.target.query_count
            found[:] = await resource.list_jobs(
                JobFilter({}), offset=0, limit=1000, historical=False, include_spec=False
            )
            asked = resource.target.query_count - before
            if (len(found), asked) != (LIVE, queries):
                message = f"{len(found)} jobs by {asked} queries"
                raise RuntimeError(message)

        def measure(work: Callable[[], Coroutine[Any, Any, object]]) -> Callable[[], float]:
            def run() -> float:
                begin = time.perf_counter()
                runner.run(work())
                return time.perf_counter() - begin

            return run

        async def format_found() -> None:
            for _ in range(10):
                json.dumps(found)

        runner.run(list_jobs(0.0, 1))
        promises = (
            (
                Promise("a fresh list of 1,000 of 10,000 jobs, no query", "ten times its JSON", 3),
                lambda: list_jobs(3600.0, 0),
                format_found,
            ),
            (
                Promise("the same by one query", "without one", 3),
                lambda: list_jobs(0.0, 1),
                lambda: list_jobs(3600.0, 0),
            ),
        )
        held = [compare(promise, measure(ours), measure(peer), rounds()) for promise, ours, peer in promises]
        runner.run(resource.close())
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
