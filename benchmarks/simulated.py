"""Many jobs on the simulated cluster (tests/simulated), on any machine, without a batch system.

    python benchmarks/simulated.py [--quick] [--jobs N] [--seed S]

Polls: the processor time of this process, and that of all, by the number of watched jobs, of which 1 % have changed
since the last poll; all jobs wait, or all run (then the times in all lines have changed). With ten times the jobs, it
may grow by as much as the time to compare two listings of these jobs in bare Python, which grows faster than the
number of jobs where they are no longer in the processor's cache. What one more job takes of the memory does not grow,
nor does the time to begin to watch one more.
BLAH: 5,000 jobs that are kept queued, for which a client asks during a week, and submits one for each that has ended;
the ends, the queries, and the memory.

With --jobs N, only this: N jobs of three users in ten days, of which one of 20 is submitted by itself, through
`TargetSystem`, BLAH, and PSI/J if it is installed, and the others are tasks of arrays of up to 1,000. All processes are
killed at random moments, and each end is compared with the truth. The scripts of START and GET_JOB_STATUS take most of the time.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import itertools
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from paired import heading

sys.path.insert(0, str(Path(__file__).parents[1]))

from osprofile.jobs.record.store import Store
from osprofile.jobs.state import JobState, JobStatus
from osprofile.jobs.target_system import TargetSystem
from osprofile.jobs.timing import Timing
from osprofile.metrics import WRITE_INTERVAL
from osprofile.profile.repository import Repository
from tests.simulated import psij_client
from tests.simulated.blah_client import BlahClient, convert_end
from tests.simulated.site import list_keys, run_site
from tests.simulated.test_ends import USERS, follow, harsh
from tests.simulated.truth import list_array_faults, list_faults, read_ends

if TYPE_CHECKING:
    from tests.simulated.site import Site

HOUR = 3600.0
DAYS = 10
PSIJ_PROGRAM = "tests.simulated.psij_client"
CHANGE = 0.01
"""The share of the jobs that change between two polls."""
MEAN = 1e6
"""How long jobs wait or run (s of simulated time)."""
TOLERANCE = 1.4
MAX_MEMORY = 80
MEMORY_TOLERANCE = 1.1
"""The first day is left out: what the daemon needs to submit is loaded when the first job has ended."""
MEMORY_OF_JOB_TOLERANCE = 2
"""What one more job takes may be so many times what it took among a tenth of the jobs."""
WATCH_TOLERANCE = 2
"""To begin to watch one of the last tenth of the jobs may take so many times what one of the first tenth takes."""
COUNT_TO_COMPARE = 1000
"""With fewer jobs, a tenth of them is too few for a median."""
TOLD_AFTER = 48 * HOUR
"""After so long, each end is known: a job that nobody knows is lost after 12 hours that were seen in three rounds."""
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
            took = []
            for number in ids:
                begin = time.process_time()
                await target.watch(str(number))
                took.append(time.process_time() - begin)
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
        "watching": sum(took),
        "first": statistics.median(took[: max(1, count // 10)]),
        "last": statistics.median(took[-max(1, count // 10) :]),
        "peer": compare_listings(count),
    }


def measure_all_polls(what: str, counts: list[int], polls: int) -> list[dict[str, float]]:
    """Measure and print each number of jobs, in a process of its own."""
    every = []
    for count in counts:
        words = [sys.executable, __file__, "--watch", str(count), "--rounds", str(polls), "--state", what]
        found = json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout)
        print(
            f"{count} {what} jobs: a poll takes {found['own'] * 1e3:.1f} ms of our processor time, "
            f"{found['whole'] * 1e3:.1f} ms of all; {found['memory']:.1f} MB; to begin to watch them takes "
            f"{found['watching'] * 1e3:.1f} ms, {found['first'] * 1e6:.0f} us for one of the first, "
            f"{found['last'] * 1e6:.0f} us for one of the last; "
            f"a comparison of two listings takes {found['peer'] * 1e3:.1f} ms",
            flush=True,
        )
        every.append(found)
    return every


def grows_as_promised(counts: list[int], every: list[dict[str, float]]) -> bool:
    """Return whether the figures of each number of jobs grow from those of the number before as is promised."""
    held, added = [], math.inf
    for (few, before), (many, after) in itertools.pairwise(zip(counts, every, strict=True)):
        most = TOLERANCE * max(10, after["peer"] / before["peer"])
        held += [after[key] <= most * before[key] for key in ("own", "whole")]
        job = (after["memory"] - before["memory"]) / (many - few)
        held.append(job <= MEMORY_OF_JOB_TOLERANCE * added)
        added = job
        if many >= COUNT_TO_COMPARE:
            held.append(after["last"] <= WATCH_TOLERANCE * after["first"])
    return all(held)


def compare_polls(counts: list[int], polls: int) -> bool:
    """Return whether the growth is as promised.

    If it is not, all is measured once more, and the lower figures count: the speed of a shared machine changes by half
    from one process to the next.
    """
    held = []
    for what in ("waiting", "running"):
        every = measure_all_polls(what, counts, polls)
        if not grows_as_promised(counts, every):
            again = measure_all_polls(what, counts, polls)
            every = [
                {key: min(one[key], other[key]) for key in one}
                for one, other in zip(every, again, strict=True)
            ]
        held.append(grows_as_promised(counts, every))
    print(f"growth: {'held' if all(held) else 'BROKEN'}")
    return all(held)


def has_psij() -> bool:
    """Return whether PSI/J is there, with the executors of the plugin."""
    return importlib.util.find_spec("psij") is not None


async def follow_all(site: Site, clients: list[BlahClient], modules: list[str]) -> list[int]:
    """Follow the jobs of all users in all ways; return the exit codes of their programs."""
    programs = [(user, module) for user in USERS for module in modules]
    codes = asyncio.gather(*(asyncio.to_thread(follow, site, *program) for program in programs))
    try:
        await asyncio.gather(*(client.run() for client in clients))
    except BaseException:
        site.process.kill()  # which ends the programs, too
        raise
    return await codes


def follow_jobs(jobs: int, seed: int) -> bool:
    """Run plans of so many jobs, with kills; return whether each end is told as it was.

    One of 20 is a single job: through `TargetSystem`, BLAH, or PSI/J if it is installed. The others are tasks of
    arrays, through `TargetSystem`.
    """
    modules = ["tests.simulated.follow", *([PSIJ_PROGRAM] if has_psij() else [])]
    single = jobs // len(USERS) // 20 // (len(modules) + 1)
    tasks = jobs // len(USERS) - single * (len(modules) + 1)
    names = [name for user in USERS for name in (user, f"blah of {user}", f"client of {user}")]
    names += [f"psij of {user}" for user in USERS if has_psij()]
    options = {**harsh(seed, max(100, jobs / 20)), "kill_pause": 12 * HOUR, "grain": HOUR / 6}
    faults, told = [], 0
    with run_site(USERS, participants=names, **options) as site:
        plans = {user: site.write_plan(user, single, DAYS, seed, tasks=tasks) for user in USERS}
        blah_plans = {user: site.write_plan(user, single, DAYS, seed, kind="blah") for user in USERS}
        psij_plans = {user: site.write_plan(user, single, DAYS, seed, kind="psij") for user in USERS}
        clients = [BlahClient(site, user, plan) for user, plan in blah_plans.items()]
        begin, worked = time.perf_counter(), processor_time(resource.RUSAGE_CHILDREN)
        codes = asyncio.run(follow_all(site, clients, modules))
        took = time.perf_counter() - begin
        truth = site.ask(truth=True)
        for client, user in zip(clients, USERS, strict=True):
            home = site.root / "homes" / user
            store = Store(str(home / "jobs.db"))
            ways = [(plans[user], read_ends(store, "simulated"), lambda end: end)]
            ways.append((blah_plans[user], client.ends, convert_end))
            if has_psij():
                ways.append((psij_plans[user], psij_client.read_ends(home), psij_client.convert_end))
            for plan, ends, convert in ways:  # two answers: see tests/simulated/test_ends.py
                faults += list_faults(truth, list_keys(plan), ends, convert, answers=2)
                told += len(list_keys(plan))
            faults += list_array_faults(store, "simulated")
            store.close()
    worked = processor_time(resource.RUSAGE_CHILDREN) - worked
    print(*faults[:10], sep="\n")
    print(
        f"{told} jobs in {truth['now'] / 86400:.1f} days, of which {3 * single} single ones through TargetSystem, "
        f"as many through BLAH{', and PSI/J' if has_psij() else ''}; the others are tasks of {len(truth['arrays'])} arrays. "
        f"It took {took:.0f} s, {worked:.0f} s of processor time; kills: {truth['kills']}, commands: {truth['counts']}"
    )
    print(f"0 wrong, 0 lost, 0 doubled: {f'BROKEN, {len(faults)}' if faults else 'held'}")
    return not faults and not any(codes)


async def keep_queue_full(site: Site, client: BlahClient, hours: float) -> tuple[list[float], float, int]:
    """Ask for the client's jobs during a week, and submit one for each that has ended.

    Return the MB of the daemon after each round, how often it has polled, and how many queries the cluster has seen.
    """
    memory = []
    await client.daemon.start()
    while client.participant.time.now < 7 * 24 * HOUR:
        await client.do_round()
        memory.append(read_memory(client.daemon.process.pid))
        missing = QUEUED + len(client.ends) - len(client.plan)
        now = client.participant.time.now
        new = range(len(client.plan), len(client.plan) + missing)
        client.plan += [{"key": f"ann-{n}", "submitted": now, "cancelled": None} for n in new]
        await client.participant.sleep(hours * HOUR)
    await asyncio.sleep(WRITE_INTERVAL + 1)  # time stands still: this client does not sleep in it
    polls = read_metric(client.metrics, "osprofile_polls_total")
    queries = site.ask(truth=True)["counts"]["squeue"]
    await client.daemon.end()
    return memory, polls, queries


def read_metric(path: Path, name: str) -> float:
    """Return the sum of a counter of the daemon."""
    lines = [line for line in path.read_text().splitlines() if line.startswith(name)]
    return sum(float(line.rpartition(" ")[2]) for line in lines)


def ask_for_a_week(hours: float, ends: int) -> bool:
    """Keep jobs queued through the BLAH daemon while about so many end; return whether the promises hold."""
    names = ("blah of ann", "client of ann")
    with run_site(["ann"], participants=names, wait=7 * 24 * HOUR * QUEUED / ends, lag=[0]) as site:
        ids = site.ask(fill=QUEUED, user="ann", owner="blah of ann")
        (site.root / "homes" / "ann" / "osprofile").mkdir()
        store = Store(str(site.root / "homes" / "ann" / "osprofile" / "jobs.db"))
        for number in ids:
            store.adopt_job("simulated", JobStatus(str(number), JobState.QUEUED))
        store.close()
        plan = [{"key": f"fill-{n}", "submitted": 0.0, "cancelled": None} for n in range(QUEUED)]
        client = BlahClient(site, "ann", plan)
        client.ids = {f"fill-{n}": f"simulated/20330518/{number}" for n, number in enumerate(ids)}
        begin = time.perf_counter()
        memory, polls, queries = asyncio.run(keep_queue_full(site, client, hours))
        took = time.perf_counter() - begin
        truth = site.ask(truth=True)
        ended = {job["name"]: job["ended"] for job in truth["jobs"] if job["ended"] is not None}
        known = {name for name, end in ended.items() if end < truth["now"] - TOLD_AFTER}
        faults = list_faults(truth, known.union(client.ends), client.ends, convert_end, answers=2)
    print(*faults[:10], sep="\n")
    first_day = memory[round(24 / hours)]
    held = {
        "one query a poll": queries == polls,
        "each end told as it was": not faults and bool(known),
        f"at most {MAX_MEMORY} MB": max(memory) < MAX_MEMORY,
        "memory at the end as after the first day": memory[-1] <= MEMORY_TOLERANCE * first_day,
    }
    print(
        f"{QUEUED} jobs kept queued through BLAH for a week, {len(memory)} rounds of a client in {took:.0f} s: "
        f"{len(ended)} jobs ended, {len(client.ends)} told, {truth['counts'].get('sbatch', 0)} submitted; {polls:.0f} polls with {queries} "
        f"queries, {truth['counts'].get('squeue of one', 0)} queries for one job; "
        f"memory of the daemon: {memory[0]:.1f} MB, after a day {first_day:.1f} MB, "
        f"in the middle {memory[len(memory) // 2]:.1f} MB, at the end {memory[-1]:.1f} MB"
    )
    for promise, is_held in held.items():
        print(f"{promise}: {'held' if is_held else 'BROKEN'}")
    return all(held.values())


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
    held = [
        compare_polls(counts, given.rounds),
        ask_for_a_week(12, 100) if given.quick else ask_for_a_week(2, 1500),
    ]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
