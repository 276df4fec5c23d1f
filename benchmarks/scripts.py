"""The promises: START takes little processor time, a job of this machine begins soon, and a poll of an array is cheap.

START of `slurm`, with a stand-in for sbatch, starts ten programs: sh, mkdir, namei, flock, awk, setsid
(which becomes the stand-in, a shell), ln twice, rm, and the shell that reads the script. Its
guarantees (one submission, none lost) may take one and a half times as much again as a shell that starts as
many programs.

START of `linux` is compared with `sh -c`, to the moment at which the job's program runs. It starts nine
programs before that, or eight if it leaves the shell that reads the script out; each is measured by itself in the same run.

A poll of `flux`, as of each profile that extends `batch`, is compared with a loop of the shell that reads and
prints as many lines. Of the jobs a quarter waits, runs, has ended and left a record, or ended by KILL and left none.
A poll of an array of `linux` of which a thousand tasks wait is compared with a shell that looks for ten files of each.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from itertools import count
from pathlib import Path

from paired import Promise, compare, deploy, heading, memory_directory, process, rounds

import osprofile

PROGRAMS = 10
BEGIN_LIMIT = 14
"""The aim is 5: what the programs take that START runs before the job's own is printed, and is most of it."""
POLL_LIMITS = {400: 16, 4000: 8}
"""For so many jobs, how many times as long as a loop of the shell a poll may take."""
TASKS = 1000
ARRAY_POLL_LIMIT = 3


def measure_begin(words: list[str], pipe: Path) -> float:
    """Return the seconds until a program that is started by a command writes to the named pipe."""
    actions = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(reader, True)
    writer = os.open(pipe, os.O_WRONLY)  # without one, the pipe is at its end until the program has opened it
    begin = time.perf_counter()
    pid = os.posix_spawn(words[0], words, os.environ, file_actions=actions)
    os.read(reader, 64)  # all of it: the next measurement must not find the rest
    took = time.perf_counter() - begin
    os.close(writer)
    os.close(reader)
    os.waitpid(pid, 0)
    return took


def print_breakdown(home: Path, times: int) -> None:
    """Print what each program takes by itself that START of `linux` runs before the job's own program."""
    lock, file, link = home / "lock", home / "file", home / "link"
    lock.touch()
    file.write_text("line\n" * 20)
    programs = {
        "sh": (3, ["/bin/sh", "-c", ":"]),
        "setsid": (2, ["/usr/bin/setsid", "/bin/true"]),
        "mkdir": (1, ["/bin/mkdir", "-p", "--", str(home), str(home / "a" / "b")]),
        "namei": (1, ["/usr/bin/namei", "-mo", "--", str(home)]),
        "flock": (1, ["/usr/bin/flock", str(lock), "/bin/true"]),
        "awk": (1, ["/usr/bin/awk", "END { print }", str(file)]),
        "ln": (1, ["/bin/ln", "-f", str(file), str(link)]),
    }
    measured = {}
    for name, (number, words) in programs.items():
        actions = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
        took = []
        for _ in range(times):
            begin = time.perf_counter()
            os.waitpid(os.posix_spawn(words[0], words, os.environ, file_actions=actions), 0)
            took.append(time.perf_counter() - begin)
        measured[name] = number * statistics.median(took)
        print(f"    {number} {name}: {measured[name] * 1e3:.2f} ms")
    print(f"    these programs together: {sum(measured.values()) * 1e3:.1f} ms")


def compare_begins(home: Path, times: int) -> bool:
    """Compare a job of `linux` with `sh -c`; return whether the promise holds."""
    profile = osprofile.load("linux")
    deploy(profile)
    numbers = count()
    pipe, script = home / "pipe", home / "start-linux"
    os.mkfifo(pipe)
    work = f"echo x > {pipe}"
    peer = ["/bin/sh", "-c", f"/bin/sh -c '{work}'; :"]

    def begin_job() -> float:
        context = {"USER_NAME": "me", "WORKING_DIRECTORY": f"{home}/linux{next(numbers)}"}
        fields = {"EXECUTABLE": "/bin/sh", "ARGUMENTS": f"-c '{work}'"}
        script.write_text(osprofile.incarnate(profile, "START", fields=fields, context=context).text)
        return measure_begin(["/bin/sh", str(script)], pipe)

    promise = Promise("START of linux to the running program", "sh -c and the program", BEGIN_LIMIT)
    held = compare(promise, begin_job, lambda: measure_begin(peer, pipe), times)
    print_breakdown(home, times)
    return held


def make_jobs(home: Path, number: int) -> None:
    """Make the directories of so many jobs, and a stand-in for `flux` that lists them."""
    lines = []
    for n in range(number):
        job = "f" + f"{n:o}".translate(str.maketrans("0", "9"))  # no id of Flux has a 0
        state, code = [("SCHED", "-"), ("RUN", "-"), ("COMPLETED", "0"), ("FAILED", "137")][n % 4]
        lines.append(f"{job} {state}/16 {code}\n")
        directory = home / "work" / job / ".gpe"
        directory.mkdir(parents=True)
        if state == "COMPLETED":
            (directory.parent / ".gpe_exit_status").write_text("0\n")
        link = home / ".gpe/jobs/flux" / job
        link.parent.mkdir(parents=True, exist_ok=True)
        if state != "FAILED":
            link.symlink_to(directory.parent)
    (home / "list").write_text("".join(lines))
    flux = home / "flux"
    flux.write_text(f"#!/bin/sh\ncat {home}/list\n")
    flux.chmod(0o700)


def compare_polls(limit: float, number: int, times: int) -> bool:
    """Compare a poll of so many jobs with a loop of the shell over their lines."""
    profile = osprofile.load("flux")
    with memory_directory() as directory:
        home = Path(directory)
        os.environ |= {"HOME": directory, "PATH": f"{directory}:/usr/bin:/bin"}
        deploy(profile)
        make_jobs(home, number)
        script, loop = home / "poll", home / "loop"
        context = {"USER_NAME": "me"}
        script.write_text(
            osprofile.incarnate(profile, "GET_JOB_STATUS", variation="ALL", context=context).text
        )
        loop.write_text(f"while read -r id line; do printf '%s\\n' \"$id $line\"; done < {home}/list\n")
        promise = Promise(f"a poll of {number:,} jobs of flux", "a loop of the shell over their lines", limit)
        return compare(promise, *(process(["/bin/sh", str(f)]) for f in (script, loop)), times)


def compare_array_polls(home: Path, times: int) -> bool:
    """Compare a poll of tasks that wait, while one runs, with a look for their files; return whether the promise holds."""
    profile = osprofile.load("linux")
    poll, peer, directory = home / "poll", home / "peer", home / "array"
    poll.write_text(osprofile.incarnate(profile, "GET_JOB_STATUS", variation="ALL").text)
    tests = "".join(f'[ -e "$d/{n}" ] || ' for n in range(10))
    peer.write_text(f"for d in {directory}/.gpe/tasks/*; do {tests}echo $d; done\n")
    context = {"USER_NAME": "me", "WORKING_DIRECTORY": str(directory)}
    fields = {"EXECUTABLE": "/bin/sleep", "ARGUMENTS": "600", "ARRAY": f"1-{TASKS}%1"}
    start = osprofile.incarnate(profile, "START", fields=fields, context=context).text
    job_id = subprocess.run(["sh"], input=start, capture_output=True, text=True, check=True).stdout.strip()
    try:
        while not (directory / ".gpe/tasks/1/.gpe/session").exists():
            time.sleep(0.01)
        promise = Promise(
            f"a poll of {TASKS} tasks that wait", "a look for ten files of each", ARRAY_POLL_LIMIT
        )
        return compare(promise, process(["/bin/sh", str(poll)]), process(["/bin/sh", str(peer)]), times)
    finally:
        abort = osprofile.incarnate(profile, "ABORT", fields={"JOB_ID": job_id}).text
        subprocess.run(["sh"], input=abort, text=True, check=True)


def main() -> int:
    """Compare and print; 1 where the promise is broken."""
    heading()
    profile = osprofile.load("slurm")
    numbers = count()
    with memory_directory() as directory:
        home = Path(directory)
        sbatch = home / "sbatch"
        sbatch.write_text("#!/bin/sh\necho 12\n")
        sbatch.chmod(0o700)
        os.environ |= {"HOME": directory, "PATH": f"{directory}:/usr/bin:/bin"}
        deploy(profile)
        script, programs = home / "start", home / "programs"
        programs.write_text("/bin/true\n" * (PROGRAMS - 1))
        start_script, start_programs = (process(["/bin/sh", str(f)]) for f in (script, programs))

        def start_job() -> float:
            context = {"USER_NAME": "me", "WORKING_DIRECTORY": f"{directory}/job{next(numbers)}"}
            script.write_text(osprofile.incarnate(profile, "START", context=context).text)
            return start_script()

        promise = Promise("START of slurm", f"a shell that starts {PROGRAMS - 1} programs", 2.5)
        held = compare(promise, start_job, start_programs, rounds())
        held = compare_begins(home, rounds()) and held
        held = compare_array_polls(home, rounds()) and held
        time.sleep(0.5)  # the last job still writes
    for number, limit in POLL_LIMITS.items():
        held = compare_polls(limit, number, rounds()) and held
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
