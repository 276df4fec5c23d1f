"""What a submission and a poll of many jobs cost, by profile, each with the stand-in of its batch system.

A poll of 400 and of 4,000 jobs that run or wait is compared with a loop of the shell that reads and
prints as many lines. `strace` (Debian's package of this name) counts programs and forks, those of the
stand-in among them: two to six for each of its commands. `at` is left out: its list is files, not lines.
"""

from __future__ import annotations

import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from paired import Promise, compare, heading, memory_directory, rounds

sys.path.insert(0, str(Path(__file__).parents[1]))

from osprofile.profile.repository import Repository
from tests.profiles.conftest import PROFILES, Target
from tests.profiles.systems import SYSTEMS, At, Pbs, StandIn, make_stand_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.profiles.conftest import Job

LIMITS = {"slurmrest": 8.0, "kubernetes": 16.0, "pbs": 40.0}
"""How many times as long as the loop a poll of 4,000 jobs may take: jq reads the answers of two systems, and the
stand-in of PBS reads a file for each job."""
LIMIT = 6.0
FEW = 3
"""So many times as much for 400 jobs: the programs that each poll starts are most of it."""
MANY = 4000
BRIEF = ("slurm", "pbs", "flux")
"""The profiles that a brief run measures."""
WITHOUT_ZERO = str.maketrans("01234567", "12345678")
FORKS = {"clone", "clone3", "fork", "vfork"}


def multiply(system: StandIn, job: Job, number: int) -> None:
    """Let a batch system have so many jobs like one."""
    if isinstance(system, Pbs):
        directory = system.server.job(job)
        for n in range(1, number):
            shutil.copytree(directory, directory.with_name(str(n + 10**6)))
        return
    line, key = (system.directory / "jobs").read_text().splitlines()[-1], system.get_key(job, "")[0]
    with (system.directory / "jobs").open("a") as file:
        for n in range(1, number):
            parts = line.split(system.separator)
            column = system.key[0]
            # A number, or a name with one behind it; no id of Flux has a 0.
            another = re.sub(r"\d*$", f"{n:07o}".translate(WITHOUT_ZERO), key)
            parts[column] = parts[column].replace(key, another)
            file.write(system.separator.join(parts) + "\n")


def run(target: Target, script: Path) -> Callable[[], float]:
    """Return a measure: the processor time of a script and of what it starts."""

    def measure() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([target.shell, str(script)], env=target.env, stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    return measure


def count_processes(target: Target, script: Path) -> str:
    """Return how many programs and forks a script takes, in words."""
    if not shutil.which("strace"):
        return "not counted: strace is not installed"
    result = script.with_suffix(".strace")
    words = ["strace", "-f", "-c", "-o", str(result), target.shell, str(script)]
    subprocess.run(words, env=target.env, stdout=subprocess.DEVNULL, check=True)
    calls = {}
    for line in result.read_text().splitlines():  # % time, seconds, usecs/call, calls, errors if any, syscall
        words = line.split()
        if len(words) >= 5 and words[3].isdigit():
            calls[words[-1]] = int(words[3]) - (int(words[4]) if len(words) > 5 else 0)
    forks = sum(number for name, number in calls.items() if name in FORKS)
    return f"{calls.get('execve', 0)} programs, {forks} forks"


def measure_profile(name: str, number: int, times: int, count: bool) -> bool:
    """Measure one profile with so many jobs, and count its programs; return whether its promise holds."""
    profile = Repository([PROFILES]).load(name)
    with memory_directory() as directory:
        home = Path(directory)
        (home / "home").mkdir()

        def make_target(_: str, *path: Path) -> Target:
            return Target(profile, "/bin/sh", home / "home", home / "jobs", path=[*path])

        system = make_stand_in(name, make_target, home / "commands")
        target = system.target
        try:
            fields = {"EXECUTABLE": "/bin/true", **system.waits}
            start, poll, loop = home / "start", home / "poll", home / "loop"
            start.write_text(target.script("START", **fields))
            if count:
                print(f"a submission to {name}: {count_processes(target, start)}")
            multiply(system, target.start(**fields), number)
            poll.write_text(target.script("GET_JOB_STATUS", "ALL"))
            answer = subprocess.run(
                [target.shell, str(poll)], env=target.env, capture_output=True, text=True, check=True
            )
            told = answer.stdout.splitlines()
            if len(told) < number:
                message = f"{name} tells {len(told)} lines for {number} jobs"
                raise RuntimeError(message)
            (home / "answer").write_text(answer.stdout)
            loop.write_text(f"while read -r id line; do printf '%s\\n' \"$id $line\"; done < {home}/answer\n")
            if count:
                print(f"a poll of {number:,} jobs of {name}: {count_processes(target, poll)}")
            promise = Promise(
                f"a poll of {number:,} jobs of {name}",
                "a loop of the shell over their lines",
                LIMITS.get(name, LIMIT) * (FEW if number < MANY else 1),
            )
            return compare(promise, run(target, poll), run(target, loop), times)
        finally:
            system.close()


def main() -> int:
    """Measure each profile that has a stand-in; 1 where a promise is broken. A brief run polls 4,000 jobs of three."""
    heading()
    times, held = rounds(), True
    is_brief = times < 10
    for name, system in SYSTEMS.items():
        is_chosen = name in BRIEF if is_brief else system is not At
        if is_chosen and issubclass(system, StandIn) and shutil.which(system.needs):
            for number in (MANY,) if is_brief else (400, MANY):
                held = measure_profile(name, number, min(times, 7), not is_brief) and held
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
