"""Many jobs on the simulated cluster (tests/simulated), on any machine, without a batch system.

    python benchmarks/simulated.py [--quick] [--jobs N] [--seed S]

Polls: the processor time of this process, and that of all, by the number of watched jobs, of which 1 % have changed
since the last poll; all jobs wait, or all run (then the times in all lines have changed). With ten times the jobs, it
may grow by as much as the time to compare two listings of these jobs in bare Python, which grows faster than the
number of jobs where they are no longer in the processor's cache. BLAH: 5,000 queued jobs, for which a client asks
during a week; the queries, and the memory.

With --jobs N, only this: N jobs of three users in ten days, through `TargetSystem`, whose process is killed at
random moments. START takes most of the time: 10,000 jobs took 18 minutes on two cores with other work, 108 ms each.
100,000 would take hours: what grows with their number is in the polls.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from paired import heading

sys.path.insert(0, str(Path(__file__).parents[1]))

from osprofile.jobs.state import JobState, JobStatus
from osprofile.jobs.store import Store
from osprofile.jobs.target_system import TargetSystem
from osprofile.jobs.timing import Timing
from osprofile.profile.repository import Repository
from tests.simulated.blah_client import BlahClient
from tests.simulated.site import run_site
from tests.simulated.test_ends import USERS, follow, harsh
from tests.simulated.truth import list_faults, read_ends

HOUR = 3600.0
CHANGE = 0.01
"""The share of the jobs that change between two polls."""
MEAN = 1e6
"""How long jobs wait or run (s of simulated time)."""
TOLERANCE = 1.4
MAX_MEMORY = 80
QUEUED = 5000


def processor_time(who: int) -> float:
    """Return the user and system seconds of this process, or of its children."""
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def read_memory(pid: int) -> float:
    """Return the MB that a process has in memory."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in text.splitlines() if line.startswith("VmRSS:")).split()[1]) / 1024


def compare_listings(count: int) -> float:
    """Return the processor seconds that a bare comparison of two listings of so many jobs takes."""
    listings = [
        "\n".join(f"{n}|{'RUNNING' if n % 100 == old else 'PENDING'}|0:0|n{n}|None" for n in range(count))
        for old in (0, 1)
    ]
    before = dict(line.split("|", 1) for line in listings[0].split("\n"))
    found = []
    for _ in range(5):
        begin = processor_time(resource.RUSAGE_SELF)
        after = dict(line.split("|", 1) for line in listings[1].split("\n"))
        changed = [number for number, state in after.items() if before.get(number) != state]
        found.append(processor_time(resource.RUSAGE_SELF) - begin)
        del changed
    return statistics.median(found)


async def measure_polls(count: int, polls: int, *, is_running: bool) -> dict[str, float]:
    """Watch so many jobs; return the medians of the seconds of a poll, and the MB of this process."""
    wait = 1e-3 if is_running else MEAN
    with run_site(["ann"], wait=wait, run=MEAN, memory=[1e9], lag=[0]) as site:
        os.environ.update(site.environment("ann"))
        ids = site.ask(fill=count, user="ann")
        site.ask(advance=1.0)
        before = read_memory(os.getpid())
        store = Store(str(site.root / "jobs.db"))
        profile = Repository([str(site.root / "profiles")]).load("simulated")
        timing = Timing(min_poll_interval=1e6, max_poll_interval=1e6)
        async with TargetSystem(profile, {"USER_NAME": "ann"}, store=store, timing=timing) as target:
            for number in ids:
                store.adopt_job(target.name, JobStatus(str(number), JobState.QUEUED))
            begin = processor_time(resource.RUSAGE_SELF)
            for number in ids:
                await target.watch(str(number))
            watching = processor_time(resource.RUSAGE_SELF) - begin
            await target.poll()
            await asyncio.sleep(0.1)
            own, whole = [], []
            for _ in range(polls):
                site.ask(advance=CHANGE * MEAN)
                mine, others = (processor_time(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
                await target.poll()
                await asyncio.sleep(0.1)  # what has changed is published and recorded
                own.append(processor_time(resource.RUSAGE_SELF) - mine)
                whole.append(own[-1] + processor_time(resource.RUSAGE_CHILDREN) - others)
            memory = read_memory(os.getpid()) - before
        store.close()
    return {
        "own": statistics.median(own),
        "whole": statistics.median(whole),
        "memory": memory,
        "watching": watching,
        "peer": compare_listings(count),
    }


def compare_polls(counts: list[int], polls: int) -> bool:
    """Measure each number of jobs in a process of its own; return whether the growth is as promised."""
    held = []
    for what in ("waiting", "running"):
        last: dict[str, float] = {}
        for count in counts:
            words = [sys.executable, __file__, "--watch", str(count), "--rounds", str(polls), "--state", what]
            found = json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout)
            print(
                f"{count} {what} jobs: a poll takes {found['own'] * 1e3:.1f} ms of our processor time, "
                f"{found['whole'] * 1e3:.1f} ms of all; {found['memory']:.1f} MB; "
                f"to begin to watch them takes {found['watching'] * 1e3:.1f} ms; "
                f"a comparison of two listings takes {found['peer'] * 1e3:.1f} ms",
                flush=True,
            )
            if last:
                most = TOLERANCE * max(10, found["peer"] / last["peer"])
                held += [found[key] <= most * last[key] for key in ("own", "whole", "watching")]
            last = found
    print(f"growth: {'held' if all(held) else 'BROKEN'}")
    return all(held)


def follow_jobs(jobs: int, seed: int) -> bool:
    """Run a plan of so many jobs, with kills; return whether each end is told as it was."""
    options = harsh(seed, max(50, jobs / 5))
    with run_site(USERS, participants=USERS, **options) as site, ThreadPoolExecutor() as executor:
        plans = {user: site.write_plan(user, jobs // len(USERS), 10, seed) for user in USERS}
        begin = time.perf_counter()
        codes = [*executor.map(lambda user: follow(site, user), USERS)]
        took = time.perf_counter() - begin
        truth = site.ask(truth=True)
        faults = []
        for user, plan in plans.items():
            store = Store(str(site.root / "homes" / user / "jobs.db"))
            faults += list_faults(truth, [job["key"] for job in plan], read_ends(store, "simulated"))
            store.close()
    print(*faults[:10], sep="\n")
    print(
        f"{jobs} jobs in {truth['now'] / 86400:.1f} days took {took:.0f} s, {took / jobs * 1e3:.0f} ms each; "
        f"{truth['kills']} kills, commands {truth['counts']}; {len(faults)} faults, exit codes {codes}"
    )
    return not faults and codes == [0, 0, 0]


def ask_for_a_week(hours: float) -> bool:
    """Keep jobs queued, and ask the BLAH daemon for them; return whether the promises hold."""
    names = ("ann", "client of ann")
    with run_site(["ann"], participants=names, wait=1e12) as site:
        ids = site.ask(fill=QUEUED, user="ann")
        (site.root / "homes" / "ann" / "osprofile").mkdir()
        store = Store(str(site.root / "homes" / "ann" / "osprofile" / "jobs.db"))
        for number in ids:
            store.adopt_job("simulated", JobStatus(str(number), JobState.QUEUED))
        store.close()
        client = BlahClient(site, "ann", [])

        async def ask() -> tuple[int, float, float]:
            rounds, begin = 0, 0.0
            await client.daemon.start()
            while client.participant.time.now < 7 * 24 * HOUR:
                answers = await asyncio.gather(
                    *(client.daemon.ask("BLAH_JOB_STATUS", f"simulated/20330518/{number}") for number in ids)
                )
                if any(answer[2] != "1" for answer in answers):
                    raise RuntimeError(answers[0])
                rounds += 1
                begin = begin or read_memory(client.daemon.process.pid)
                await client.participant.sleep(hours * HOUR)
            end = read_memory(client.daemon.process.pid)
            queries = site.ask(truth=True)["counts"]["squeue"]
            await client.daemon.end()
            print(
                f"{QUEUED} queued jobs through BLAH, {rounds} rounds in a week: {queries} queries "
                f"(one a round: {'held' if queries == rounds else 'BROKEN'})"
            )
            return queries - rounds, begin, end

        more, begin, end = asyncio.run(ask())
    print(
        f"memory of the daemon: {begin:.1f} MB, after a week {end:.1f} MB "
        f"(at most {MAX_MEMORY}: {'held' if end < MAX_MEMORY else 'BROKEN'})"
    )
    return more == 0 and end < MAX_MEMORY


def main() -> int:
    """Measure and print; return 1 if a promise is broken."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="a brief run, as CI makes it")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--watch", type=int, default=0)
    parser.add_argument("--state", default="waiting")
    given = parser.parse_args()
    if given.watch:
        is_running = given.state == "running"
        print(json.dumps(asyncio.run(measure_polls(given.watch, given.rounds, is_running=is_running))))
        return 0
    heading()
    if given.jobs:
        return 0 if follow_jobs(given.jobs, given.seed) else 1
    counts = [10, 100, 1000, 10_000] if given.quick else [10, 100, 1000, 10_000, 100_000]
    held = [compare_polls(counts, given.rounds), ask_for_a_week(24 if given.quick else 2)]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
