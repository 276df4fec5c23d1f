"""The promise of the record: with a million ended and 100,000 live jobs, each command takes at most twice as long.

The peer is a record with 1,000 jobs, a tenth of them live. Both are filled by direct transactions. Most live
jobs are on a target system of their own: a list of them is as long as they are many, so it is compared by the
job. The commands are asked for the other one, which has all ended jobs and ten live ones. They count with
their processor time, and that of their scripts.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import sqlite3
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from paired import Promise, compare, heading, process, rounds, timed

from osprofile.jobs.record.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ENDED, LIVE = (200_000, 20_000) if "--quick" in sys.argv else (1_000_000, 100_000)
FEW_ENDED, FEW_LIVE, OWN_LIVE = 900, 100, 10
DAY = 86400.0
COMMANDS = ("list", "list ID", "show ID", "submit", "forget ID")
PROFILE = """<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" xmlns:idb="http://gpe.intel.com/idb"
    xmlns:ext="urn:osprofile:extension" name="{name}" extends="linux">
  <osp:UspaceRoot>{root}</osp:UspaceRoot>
  <osp:Delimiter>/</osp:Delimiter>
  <idb:Template name="GET_JOB_STATUS">
    <idb:Invocation name="ALL"><idb:Body>cat '{root}/states'</idb:Body></idb:Invocation>
    <idb:Invocation name=""><idb:Body>grep '&lt;JOB_ID/'/'\''&gt; ' '{root}/states'</idb:Body></idb:Invocation>
    <idb:Field name="JOB_ID_PATTERN" isSettable="false"><idb:Value>[a-z0-9]+</idb:Value></idb:Field>
    <idb:Field name="STATE" isSettable="false"><idb:Tag name="running">RUNNING</idb:Tag></idb:Field>
  </idb:Template>
  <idb:Template name="START">
    <idb:Invocation name=""><idb:Body>: '&lt;EXECUTABLE/'/'\\''&gt;' '&lt;DIRECTORY/'/'\\''&gt;'
d='&lt;WORKING_DIRECTORY/'/'\\''&gt;'
printf 'n%s\\n' "${{d##*-}}"</idb:Body></idb:Invocation>
    <idb:Field name="JOB_ID_PATTERN" isSettable="false"><idb:Value>[a-z0-9]+</idb:Value></idb:Field>
  </idb:Template>
</osp:Profile>
"""
JOBS = (
    "INSERT INTO job (target, directory, job_id, key, name, state, word, exit_code, hosts, reason,"
    " submitted, started, ended, elapsed, cpu_time, max_memory, stdout, stderr, history)"
    " VALUES (?, ?, ?, ?, 'job', ?, '', 0, 'node1', '', ?, ?, ?, 5.0, 4.0, 1000000, 'stdout', 'stderr', ?)"
)
REQUESTS = "INSERT INTO request SELECT number, directory, ? FROM job"
REQUEST = '{"fields": {"EXECUTABLE": "/bin/date", "WALLTIME": "3600"}, "application": null}'


class Record:
    """A record of so many jobs, and the measures of what is done with it."""

    def __init__(self, root: Path, ended: int, live: int) -> None:
        root.mkdir()
        self._path = str(root / "jobs.db")
        for name in ("bench", "busy"):
            (root / f"{name}.xml").write_text(PROFILE.format(name=name, root=root))
        (root / "states").write_text("".join(f"b{number} running\n" for number in range(OWN_LIVE)))
        Store(self._path).close()
        with contextlib.closing(sqlite3.connect(self._path)) as db, db:
            db.executemany(JOBS, generate_jobs(ended, live))
            db.execute(REQUESTS, (REQUEST,))
        self._store = Store(self._path)
        self._numbers = itertools.count()
        # Those that are deleted, from the newest on, and those that stay: in a long run, the small record has just enough.
        self._ended_ids = (f"e{number}" for number in range(ended - 1, 99, -1))
        self._lasting_ids = itertools.cycle(f"e{number}" for number in range(100))
        self._command = [sys.executable, "-m", "osprofile", "job"]
        self._options = ["--store", self._path, "--profiles", str(root), "--profile", "bench"]

    def measure_command(self, words: str) -> Callable[[], float]:
        """Return a measure: processor seconds of a command."""

        def measure() -> float:
            verb, *ids = words.split()
            arguments = [next(self._ended_ids if verb == "forget" else self._lasting_ids) for _ in ids]
            if verb == "submit":
                arguments = ["/bin/true"]
            return process([*self._command, verb, *self._options, *arguments])()

        return measure

    def measure(self, name: str, repeat: int = 20) -> Callable[[], float]:
        """Return a measure: seconds for a method of this class."""
        return timed(getattr(self, name), repeat)

    def open(self) -> None:
        """Open and close the record."""
        Store(self._path).close()

    def submit(self) -> None:
        """Record a submission and its end."""
        self._store.prune_ended_jobs(0.0)
        number = next(self._numbers)
        values = {"script": "s" * 2000, "key": f"s{number}"}
        (record,) = self._store.begin_submissions("bench", [(f"/s{number}", values)])
        self._store.record_job_id(record.number, f"s{number}")

    def find(self) -> None:
        """Find a job by its id, and what is recorded of it."""
        (record,) = self._store.find_on_all_targets(next(self._lasting_ids))
        self._store.read_details(record.number)

    def list(self) -> None:
        """List what `incarnate job list` lists."""
        self._store.list_live_jobs("bench")
        self._store.list_interrupted_submissions("bench")
        self._store.list_recent_jobs("bench", time.time() - DAY)

    def forget(self) -> None:
        """Delete a job."""
        (record,) = self._store.find_on_all_targets(next(self._ended_ids))
        self._store.delete_record(record.number)

    def prune(self) -> None:
        """Delete ten jobs that ended long ago."""
        for _ in range(10):
            number = next(self._numbers)
            values = ("bench", f"/p{number}", f"p{number}", None, "DONE", 1.0, 1.0, 2.0, "")
            self._store._db.execute(JOBS, values)  # noqa: SLF001  # no method records an end of long ago at once
        self._store.prune_ended_jobs(3.0)

    def list_live(self) -> float:
        """Return the processor seconds for each job of a list of all live jobs."""
        begin = time.process_time()
        count = len(self._store.list_live_jobs("busy"))
        return (time.process_time() - begin) / count

    def close(self) -> None:
        """Close the record."""
        self._store.close()


def generate_jobs(ended: int, live: int) -> Iterator[tuple[object, ...]]:
    """Yield the columns of the jobs."""
    now = time.time()
    for number in range(ended):
        at = now - 50 * DAY + number * (48 * DAY / ended)
        history = f"RUNNING {at:.3f}\nDONE {at + 5:.3f}\n"
        yield "bench", f"/d{number}", f"e{number}", f"auto-{number}", "DONE", at, at, at + 5, history
    for target, letter, count in (("busy", "l", live), ("bench", "b", OWN_LIVE)):
        for number in range(count):
            name = f"{letter}{number}"
            yield target, f"/{name}", name, f"auto-{name}", "RUNNING", now, now, None, f"RUNNING {now:.3f}\n"


def main() -> int:
    """Compare and print; return 1 if a promise is broken."""
    heading()
    count = rounds()
    with tempfile.TemporaryDirectory(prefix="bench-record-") as directory:
        os.environ["HOME"] = directory
        begin = time.perf_counter()
        large, small = (
            Record(Path(directory, "large"), ENDED, LIVE),
            Record(Path(directory, "small"), FEW_ENDED, FEW_LIVE),
        )
        print(f"{ENDED} ended and {LIVE} live jobs are recorded in {time.perf_counter() - begin:.0f} s")
        held = []
        for name in ("open", "submit", "find", "list", "forget", "prune"):
            promise = Promise(f"the record: {name}", "one of 1,000 jobs", 2)
            held.append(compare(promise, large.measure(name), small.measure(name), count))
        promise = Promise("each of all live jobs listed", "one of 100", 2)
        held.append(compare(promise, large.list_live, small.list_live, min(count, 7)))
        for words in COMMANDS:
            promise = Promise(f"incarnate job {words}", "with a record of 1,000 jobs", 2)
            held.append(compare(promise, large.measure_command(words), small.measure_command(words), count))
        large.close()
        small.close()
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
