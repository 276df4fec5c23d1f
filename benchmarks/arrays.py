"""The promise of arrays: a poll of their tasks costs what one of as many jobs does.

The batch system is a file, which GET_JOB_STATUS prints. Only this process's own processor time counts.
"""

from __future__ import annotations

import asyncio
import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from paired import Promise, compare, heading, rounds

from osprofile.jobs.record.store import Store
from osprofile.jobs.state import JobState, JobStatus
from osprofile.jobs.target_system import TargetSystem
from osprofile.jobs.timing import Timing
from osprofile.profile.repository import Repository

if TYPE_CHECKING:
    from collections.abc import Callable

MANY, SOME = 1000, 10
PROFILE = """<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" xmlns:idb="http://gpe.intel.com/idb"
    xmlns:ext="urn:osprofile:extension" name="bench" extends="linux">
  <osp:UspaceRoot>/var/tmp</osp:UspaceRoot>
  <osp:Delimiter>/</osp:Delimiter>
  <idb:Template name="GET_JOB_STATUS">
    <idb:Invocation name="ALL"><idb:Body>cat '{root}/states'</idb:Body></idb:Invocation>
    <idb:Field name="JOB_ID_PATTERN" isSettable="false"><idb:Value>[1-9][0-9]*(?:_[0-9]+)?</idb:Value></idb:Field>
    <idb:Field name="STATE" isSettable="false">
      <idb:Tag name="running">RUNNING</idb:Tag>
      <idb:Tag name="stopped">HELD</idb:Tag>
    </idb:Field>
  </idb:Template>
  <idb:Template name="START">
    <idb:Field name="JOB_ID_PATTERN" isSettable="false"><idb:Value>[1-9][0-9]*(?:_[0-9]+)?</idb:Value></idb:Field>
  </idb:Template>
</osp:Profile>
"""


class Watched:
    """A target system on which so many tasks of an array, or jobs, are watched."""

    def __init__(self, count: int, *, is_array: bool) -> None:
        root = Path(tempfile.mkdtemp(dir=os.environ["HOME"]))
        (root / "bench.xml").write_text(PROFILE.format(root=root))
        profile = Repository().load_file(str(root / "bench.xml"))
        self._loop = asyncio.new_event_loop()
        self._file, self._polls = root / "states", 0
        timing = Timing(min_poll_interval=3600, max_poll_interval=3600)
        self._store = Store(str(root / "jobs.db"))
        self._target = TargetSystem(profile, store=self._store, timing=timing)
        self._ids = [f"1_{index}" if is_array else str(index) for index in range(1, count + 1)]
        self._loop.run_until_complete(self._watch(f"1-{count}" if is_array else ""))

    async def _watch(self, array: str) -> None:
        self._write_states(0)
        if array:
            (record,) = self._store.begin_submissions(
                self._target.name, [("/d", {"script": "", "array": array})]
            )
            self._store.record_job_id(record.number, "1", dict(enumerate(self._ids, 1)))
            await self._target.watch("1")
        for job_id in self._ids if not array else ():
            self._store.adopt_job(self._target.name, JobStatus(job_id, JobState.UNKNOWN))
            await self._target.watch(job_id)
        await self._poll()

    def _write_states(self, changed: int) -> None:
        self._polls += 1
        words = (("running", "stopped")[self._polls % 2 and n < changed] for n in range(len(self._ids)))
        lines = [f"{job_id} {word} host=n\n" for job_id, word in zip(self._ids, words, strict=True)]
        self._file.write_text("".join(lines))

    def _poll_once(self, changed: int) -> float:
        self._write_states(changed)
        before = resource.getrusage(resource.RUSAGE_SELF)
        self._loop.run_until_complete(self._poll())
        after = resource.getrusage(resource.RUSAGE_SELF)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    async def _poll(self) -> None:
        await self._target.poll()
        await asyncio.sleep(0)  # what has changed is published and recorded
        await asyncio.sleep(0)

    def measure(self, changed: int) -> Callable[[], float]:
        """Return a measure: the processor seconds of a poll after so many have changed."""
        return lambda: self._poll_once(changed)

    def close(self) -> None:
        """Stop watching."""
        self._loop.run_until_complete(self._target.close())
        self._store.close()
        self._loop.close()


def main() -> int:
    """Compare and print; return 1 if a promise is broken."""
    heading()
    count = rounds()
    with tempfile.TemporaryDirectory(prefix="bench-arrays-") as directory:
        os.environ["HOME"] = directory
        begin = time.perf_counter()
        array = Watched(MANY, is_array=True)
        print(f"an array of {MANY} tasks is recorded and watched in {time.perf_counter() - begin:.3f} s")
        jobs = Watched(MANY, is_array=False)
        large = Watched(10 * MANY, is_array=True)
        cases = {"nothing changed": 0, f"{SOME} changed": SOME, "all changed": MANY}
        held = [
            compare(
                Promise(f"a poll of {MANY} tasks, {what}", f"{MANY} jobs", 1.5),
                array.measure(changed),
                jobs.measure(changed),
                count,
            )
            for what, changed in cases.items()
        ]
        promise = Promise(f"a poll of {10 * MANY} tasks, {SOME} changed", f"{MANY} tasks, all changed", 2)
        held.append(compare(promise, large.measure(SOME), array.measure(MANY), count))
        for watched in (array, jobs, large):
            watched.close()
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
