"""The promises of jobs in Python, against PSI/J's own executors (the extra `psij`).

Fifty jobs of one second until all ends are told: through osprofile.JobSession, and by PSI/J's `local`.

Submissions one after the other: through the plugin, and by PSI/J's executor for PBS with a qsub that, as the one
of PSI/J's own tests does, starts the job and looks half a second later whether it lives. Most of the peer's time is
this pause; what it takes without one is printed, too, and nothing is promised of it.
"""

from __future__ import annotations

import itertools
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.append(sys.path.pop(0))  # `import psij` must not find this file

from paired import Promise, compare, heading, rounds

import osprofile

if TYPE_CHECKING:
    from collections.abc import Callable

    from psij import JobExecutor

JOBS, SUBMISSIONS, PEER_SUBMISSIONS = 50, 200, 10
PROFILE = """\
<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" name="linux" extends="linux">
  <osp:UspaceRoot>{root}</osp:UspaceRoot>
  <osp:Delimiter>/</osp:Delimiter>
</osp:Profile>
"""
QSUB = """\
#!/bin/sh
(sleep 1; PBS_JOBID=$$ exec bash "$1") > /dev/null 2>&1 &
sleep "$QSUB_PAUSE" && kill -s 0 $! && echo "$$"
"""
QSTAT = """\
#!/bin/sh
echo '{"Jobs": {}}'
"""


def prepare(root: Path) -> None:
    """Set a directory for the jobs and the record, and a batch system for PSI/J."""
    os.environ |= {
        "HOME": str(root),
        "OSPROFILE_PATH": str(root / "profiles"),
        "OSPROFILE_STORE": str(root / "plugin.db"),
        "PATH": f"{root / 'bin'}:{os.environ['PATH']}",
    }
    texts = {"profiles/linux/profile.xml": PROFILE.format(root=root), "bin/qsub": QSUB, "bin/qstat": QSTAT}
    for name, text in texts.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
        (root / name).chmod(0o755)


def all_ends(root: Path) -> dict[str, Callable[[], float]]:
    """Return the measures: seconds from the first submission until all ends are told."""
    from psij import Job, JobExecutor, JobSpec

    numbers = itertools.count()

    def session() -> float:
        jobs = [osprofile.JobDescription(executable="/bin/sleep", arguments=["1"])] * JOBS
        begin = time.perf_counter()
        with osprofile.JobSession("linux", store=f"{root}/{next(numbers)}.db") as session:
            ends = session.wait_all(session.submit_many(jobs))
            took = time.perf_counter() - begin
        assert [end.exit_code for end in ends.values()] == [0] * JOBS  # noqa: S101
        return took

    def local() -> float:
        executor = JobExecutor.get_instance("local")
        jobs = [Job(JobSpec("/bin/sleep", ["1"])) for _ in range(JOBS)]
        begin = time.perf_counter()
        for job in jobs:
            executor.submit(job)
        ends = [job.wait() for job in jobs]
        took = time.perf_counter() - begin
        assert [end and end.exit_code for end in ends] == [0] * JOBS  # noqa: S101
        return took

    return {"session": session, "local": local}


def submission(executor: JobExecutor, count: int, *, pause: float = 0, wait: bool = False) -> float:
    """Return the seconds for one of so many submissions; `wait`: until the jobs have ended, not counted."""
    from psij import Job, JobSpec

    os.environ["QSUB_PAUSE"] = str(pause)
    jobs = [Job(JobSpec("/bin/true")) for _ in range(count)]
    begin = time.perf_counter()
    for job in jobs:
        executor.submit(job)
    took = time.perf_counter() - begin
    if wait:
        ends = [job.wait() for job in jobs]
        assert [end and end.exit_code for end in ends] == [0] * count  # noqa: S101
    return took / count


def main() -> int:
    """Compare and print; return 1 if a promise is broken."""
    heading()
    pairs = 3 if rounds() < 10 else 7
    with tempfile.TemporaryDirectory(prefix="bench-psij-", ignore_cleanup_errors=True) as directory:
        prepare(Path(directory))
        from psij import JobExecutor

        measures = all_ends(Path(directory))
        plugin, peer = (JobExecutor.get_instance(name) for name in ("osprofile-linux", "pbs_classic"))
        promise = Promise(f"{JOBS} jobs of 1 s through a JobSession", "PSI/J's local", 1.5)
        held = [compare(promise, measures["session"], measures["local"], pairs)]

        taken = []

        def submit() -> float:
            taken.append(submission(plugin, SUBMISSIONS, wait=True))
            return taken[-1]

        promise = Promise("a submission through the plugin", "PSI/J with its tests' qsub", 1 / 10)
        held.append(compare(promise, submit, lambda: submission(peer, PEER_SUBMISSIONS, pause=0.5), pairs))
        bare = [submission(peer, PEER_SUBMISSIONS) for _ in range(pairs)]
        print(
            f"submissions a second, one after the other: {1 / statistics.median(taken):.1f} through the plugin, "
            f"{1 / statistics.median(bare):.1f} by PSI/J with a qsub without a pause"
        )
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
