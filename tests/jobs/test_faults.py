"""A batch system out of order: an error in its own words, states that stay, and the others go on.

The batch systems' commands are scripts in a directory of the test's own, which a site's profile
puts on the PATH; each test breaks one and mends it again. The machine's own are out of reach.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
import signal
import sqlite3
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest

from osprofile.errors import (
    OSProfileError,
    OutcomeUnknownError,
    OutputError,
    ScriptFailedError,
    ScriptTimeoutError,
    StoreError,
    ValueRefusedError,
)
from osprofile.incarnation.incarnate import static_scripts
from osprofile.incarnation.static_scripts import deployment_script
from osprofile.jobs.record import file as record_file
from osprofile.jobs.record.store import Store
from osprofile.jobs.shell import process
from osprofile.jobs.shell.scripts import get_shell_command, run_script
from osprofile.jobs.state import JobState
from osprofile.jobs.target_system import TargetSystem
from osprofile.jobs.timing import Timing
from osprofile.jobs.watch.live_job import UNKNOWN_JOB_REASON
from osprofile.profile.repository import Repository
from tests.jobs.conftest import get_record, shell
from tests.profiles.test_pbs import OPENPBS
from tests.waiting import PATIENCE, wait_until_async

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from osprofile.profile.model import Profile

TOOLS = [
    "awk", "cat", "chmod", "cmp", "date", "env", "find", "flock", "grep", "id", "ln", "ls", "mkdir", "mktemp", "mv", "namei",
    "printf", "rm", "sed", "setsid", "sh", "sleep", "sort", "tail", "tee", "touch", "wc", "xargs", "yes",
]  # fmt: skip
SBATCH = """#!/bin/sh
n=1
until mkdir "$FAKE/jobs/$n" 2> /dev/null; do
  [ -d "$FAKE/jobs" ] || exit # the test has ended
  n=$((n + 1))
done
pwd > "$FAKE/jobs/$n/directory"
echo PENDING > "$FAKE/jobs/$n/state"
echo "$n"
"""
SQUEUE = """#!/bin/sh
want='' format='' found=''
while [ $# -gt 0 ]; do
  case $1 in
  -j) want=$2; shift ;;
  -o) format=$2; shift ;;
  -O | -t | -u) shift ;;
  esac
  shift
done
for d in "$FAKE"/jobs/*; do
  n=${d##*/} code=0
  [ -e "$d/state" ] || continue
  case ",$want," in ,, | *",$n,"*) ;; *) continue ;; esac
  read -r state < "$d/state"
  [ ! -e "$d/code" ] || read -r code < "$d/code"
  found=y
  case $format in
  '%i %T') echo "$n $state" ;;
  '%F|%Z|%o') echo "$n|$(cat "$d/directory")|.gpe/script" ;;
  *) echo "$n|$state|$code|n/a|None|" ;;
  esac
done
case $want in '' | *,*) found=y ;; esac
[ -n "$found" ] || { echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1; }
"""
SITE = """<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile"
    xmlns:idb="http://gpe.intel.com/idb" name="{name}" extends="{name}">
  <osp:UspaceRoot>{here}/work</osp:UspaceRoot>
  <osp:Delimiter>/</osp:Delimiter>
  <idb:Template name="SHELL">
    <idb:Invocation name="">
      <idb:Body>env -i FAKE={here} FAKE_PBS={here} HOME={here}/home PATH={here}/bin:{here}/tools shell -s</idb:Body>
    </idb:Invocation>
    <idb:Invocation name="SSH"><idb:Body>false</idb:Body></idb:Invocation>
  </idb:Template>
</osp:Profile>
"""
COMMANDS = {"slurm": ("sbatch", "squeue"), "pbs": ("qsub", "qstat"), "linux": ("setsid", "shell")}
"""What submits, and what is asked: `linux` knows its processes by itself, from a shell."""
QUICK = Timing(
    min_poll_interval=0.05,
    max_poll_interval=0.2,
    max_retry_interval=0.2,
    grace_period=60,
    script_timeout=PATIENCE,
)
JOB = shell("until [ -e go ]; do sleep 0.05; done; exit 3")


@dataclass
class FaultySite:
    """A machine whose commands can be broken."""

    name: str
    here: Path
    profile: Profile
    commands: dict[str, bytes] = field(default_factory=dict)

    @property
    def submit_command(self) -> str:
        return COMMANDS[self.name][0]

    @property
    def query_command(self) -> str:
        return COMMANDS[self.name][1]

    def replace_command(self, command: str, text: str | None) -> None:
        """Replace a command by a script; None: there is no such command."""
        path = self.here / "bin" / command
        if text is None:
            path.unlink()
            (self.here / "tools" / command).unlink(missing_ok=True)
        else:
            path.unlink(missing_ok=True)
            path.write_text(text)
            path.chmod(0o755)

    def restore_commands(self) -> None:
        """Restore all commands."""
        for name, data in self.commands.items():
            new = self.here / "new"
            new.write_bytes(data)
            new.chmod(0o755)
            new.rename(self.here / "bin" / name)

    @property
    def jobs(self) -> list[str]:
        """The jobs that the batch system has."""
        path = self.here / ("home/.gpe/jobs/linux" if self.name == "linux" else "jobs")
        return sorted({*os.listdir(path)} - {"live"}) if path.exists() else []

    def end(self, job_id: str) -> None:
        """Let a job end with exit code 3."""
        if self.name == "linux":
            (self.here / "home/.gpe/jobs/linux" / job_id / "go").touch()
            return
        job = self.here / "jobs" / job_id.partition(".")[0]
        told = {
            "slurm": {"code": "768", "state": "FAILED"},
            "pbs": {"exit": "3", "substate": "93", "state": "F"},
        }[self.name]
        for name, text in told.items():
            (job / name).write_text(text + "\n")

    def pids(self) -> list[int]:
        """Return the ids of the processes that broken commands have noted."""
        file = self.here / "pids"
        return [int(line) for line in file.read_text().split()] if file.exists() else []


def is_alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


@pytest.fixture
def make_site(tmp_path: Path) -> Iterator[Callable[[str], FaultySite]]:
    made = []

    def make(name: str) -> FaultySite:
        for directory in ("bin", "tools", "jobs", "home", f"profiles/{name}"):
            (tmp_path / directory).mkdir(parents=True)
        (tmp_path / f"profiles/{name}/profile.xml").write_text(SITE.format(name=name, here=tmp_path))
        for tool in TOOLS:
            (tmp_path / "tools" / tool).symlink_to(shutil.which(tool) or tool)
        site = FaultySite(name, tmp_path, Repository([str(tmp_path / "profiles")]).load(name))
        site.commands = {
            "shell": b'#!/bin/sh\nexec sh "$@"\n',
            "sbatch": SBATCH.encode(),
            "squeue": SQUEUE.encode(),
            "setsid": f'#!/bin/sh\nexec {shutil.which("setsid")} "$@"\n'.encode(),
        }
        for command in ("job.sh", "qsub", "qselect", "qstat"):
            site.commands[command] = (OPENPBS / command).read_bytes()
        site.restore_commands()
        made.append(site)
        return site

    yield make
    for site in made:
        site.restore_commands()
        for pid in site.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if site.name == "linux":
            for job in site.jobs:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(int(job.partition("-")[0]), signal.SIGKILL)


@pytest.fixture(params=COMMANDS)
def site(request: pytest.FixtureRequest, make_site: Callable[[str], FaultySite]) -> FaultySite:
    return make_site(request.param)


@pytest.fixture
def target(site: FaultySite) -> TargetSystem:
    return TargetSystem(site.profile, timing=QUICK)


HANGS = """#!/bin/sh
{trap}
sleep 1000 &
echo "$$ $!" >> "$FAKE/pids"
wait
"""
GARBAGE = "#!/bin/sh\nprintf '\\377\\376\\033[2J what is this\\001 12 34\\n\\n\\303|||x\\n'\n"
STRIKE = "#!/bin/sh\necho 'the cluster is on strike'\nexit 3\n"
DEAD = "#!/bin/sh\nkill -s SEGV $$\n"

# What is wrong; which error that is, through a batch system's command and through the shell; words
QUESTIONS = {
    "missing": (None, ScriptFailedError, ScriptFailedError, "not found|No such file"),
    "hanging": (HANGS.format(trap=""), ScriptTimeoutError, ScriptTimeoutError, "1 s"),
    "stubborn": (
        HANGS.format(trap="trap '' TERM"),
        ScriptTimeoutError,
        ScriptTimeoutError,
        "did not end within 1 s and was ended",
    ),
    "garbage": (GARBAGE, ScriptFailedError, OutputError, "what is this"),
    "endless": ("#!/bin/sh\nyes\n", ScriptTimeoutError, OutputError, "1 s|more than 64 MiB"),
    "dying": (DEAD, ScriptFailedError, OutcomeUnknownError, "exit status 139|signal 11|Segmentation fault"),
    "words on stdout": (STRIKE, ScriptFailedError, ScriptFailedError, "the cluster is on strike"),
}


@pytest.mark.hunt(2)
@pytest.mark.parametrize("fault", QUESTIONS)
async def test_questions(
    site: FaultySite, fault: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, by_command, by_shell, words = QUESTIONS[fault]
    monkeypatch.setattr(process, "KILL_GRACE", 0.3)
    error = by_shell if site.name == "linux" else by_command
    caplog.set_level(logging.WARNING)
    async with TargetSystem(site.profile, timing=QUICK) as target:
        job, other = await target.submit(JOB), await target.submit(JOB)
        before = await target.statuses()
        assert {s.state for s in before.values()} <= {JobState.QUEUED, JobState.RUNNING}
        events = target.events()
        if error is ScriptTimeoutError:
            target._shell._time_limit = 1
        site.replace_command(site.query_command, text)
        with pytest.raises(error, match=words) as caught:
            await target.statuses()
        assert str(caught.value).startswith("GET_JOB_STATUS")
        await wait_until_async(lambda: caplog.records)
        assert {j: target.jobs.get_status(j).state for j in (job, other)} == {
            j: s.state for j, s in before.items()
        }
        assert [r.missing for r in target.store.list_live_jobs(target.name)] == [None, None]
        site.restore_commands()
        target._shell._time_limit = 30
        site.end(job)
        event = await anext(events)
        assert (event.job_id, event.state, event.status.exit_code) == (job, JobState.DONE, 3)
        assert (await target.statuses())[other].state is before[other].state
    assert all(record.levelno == logging.WARNING for record in caplog.records), caplog.text
    assert "job states are not updated" in caplog.text
    assert not any(map(is_alive, site.pids())), "a hanging command was left behind"


async def test_a_submit_command_that_ends_with_127_may_have_submitted(
    make_site: Callable[[str], FaultySite],
) -> None:
    """A site's own sbatch may need another command that is not there. Nothing is certain but that sbatch is missing."""
    site = make_site("slurm")
    site.replace_command("sbatch", f"{SBATCH}no-such-command\n")
    site.replace_command("squeue", "#!/bin/sh\necho 'Unable to contact slurm controller' >&2\nexit 1\n")
    async with TargetSystem(site.profile, timing=QUICK) as target:
        with pytest.raises(OutcomeUnknownError):
            await target.submit(JOB, key="k")
        site.restore_commands()
        assert [await target.submit(JOB, key="k")] == site.jobs == ["1"]


async def test_an_empty_answer(site: FaultySite, target: TargetSystem) -> None:
    """Nobody knows the jobs any more: that is no failure, and no end before the grace period.

    For `linux`, the script itself prints nothing: that is no answer, as its last line is missing. PBS's qstat always
    prints something about a job that it is asked for.
    """
    job = await target.submit(JOB)
    before = await target.statuses()
    events = target.events()
    site.replace_command(site.query_command, "#!/bin/sh\n")
    if target.profile.name in {"linux", "pbs"}:
        with pytest.raises(
            (OutputError, ScriptFailedError), match=r"without its last line|qstat printed nothing"
        ):
            await target.statuses()
        expected = target.jobs.get_status(job)
    else:
        (found,) = (await target.statuses()).values()
        expected = target.jobs.get_status(job)  # it may have begun since `before`
        assert found == expected._replace(reason=UNKNOWN_JOB_REASON)
    assert expected.state in {before[job].state, JobState.RUNNING}
    await wait_until_async(lambda: target.query_count >= 6)
    assert target.jobs.get_status(job) == expected
    site.restore_commands()
    site.end(job)
    await target.status(
        job
    )  # a poll asks for a missing job by its id only after a quarter of the grace period
    event = await anext(events)
    assert (event.state, event.status.exit_code) == (JobState.DONE, 3)


@pytest.mark.parametrize("name", ["slurm", "pbs"])
async def test_an_unknown_word_and_a_broken_line(
    make_site: Callable[[str], FaultySite], name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A word that the profile does not know, and a line that breaks off, stop nobody else."""
    site = make_site(name)
    async with TargetSystem(site.profile, timing=QUICK) as target:
        strange, broken, good = [await target.submit(JOB) for _ in range(3)]
        await target.statuses()
        n = strange.partition(".")[0]
        (site.here / "jobs" / n / "state").write_text("PURPLE\n")
        b = broken.partition(".")[0]
        edit = {"slurm": f"s/^{b}|.*/{b}|RUN/", "pbs": f"s/^Job Id: {b}[.].*/Job Id: {b}/"}
        real = site.here / "bin" / f"real-{site.query_command}"
        (site.here / "bin" / site.query_command).rename(real)
        site.replace_command(site.query_command, f'#!/bin/sh\n{real} "$@" | sed -e "{edit[name]}"\n')
        site.end(good)
        assert (await target.wait(good)).exit_code == 3
        known = await target.statuses()
        assert (known[strange].state, known[strange].native_state) == (JobState.QUEUED, "PURPLE")
        assert known[strange].unknown_word
        assert known[broken].state is JobState.QUEUED
        now = await target.status(strange)
        assert (now.state, now.native_state, now.unknown_word) == (JobState.QUEUED, "PURPLE", True)
        site.restore_commands()
        for job in (strange, broken):
            site.end(job)
            await target.status(job)
            assert (await target.wait(job)).exit_code == 3
    assert "is in state 'PURPLE'" in caplog.text


async def test_a_query_that_fails_for_one_job_alone(make_site: Callable[[str], FaultySite]) -> None:
    """It is listed no more, and just then nobody can say what became of it: it is not missing."""
    site = make_site("slurm")
    real = site.here / "real-squeue"
    async with TargetSystem(site.profile, timing=QUICK) as target:
        job = await target.submit(JOB)
        before = await target.statuses()
        (site.here / "jobs/1/state").rename(site.here / "jobs/1/away")
        (site.here / "bin" / "squeue").rename(real)
        words = "slurm_load_jobs error: Unable to contact slurm controller"
        refuses = f'case " $* " in *" -j "*) echo "{words}" >&2; exit 1 ;; esac'
        site.replace_command("squeue", f'#!/bin/sh\n{refuses}\nexec {real} "$@"\n')
        assert (await target.statuses())[job].state is before[job].state
        assert [r.missing for r in target.store.list_live_jobs(target.name)] == [None]
        with pytest.raises(ScriptFailedError, match=words):
            await target.status(job)


WAYS = {"recorded": True, "not recorded": False}


@pytest.mark.parametrize("recorded", WAYS.values(), ids=WAYS)
async def test_an_id_that_the_batch_system_tells_in_a_longer_form(
    make_site: Callable[[str], FaultySite], recorded: bool
) -> None:
    """PBS takes 1 for 1.pbs0, and tells of the job by its whole id."""
    site = make_site("pbs")
    site.replace_command("qdel", (OPENPBS / "qdel").read_text())
    store = Store()
    async with TargetSystem(site.profile, store=store, timing=QUICK) as target:
        for number in ("1", "2", "3"):
            assert await target.submit(JOB) == f"{number}.pbs0"
    kept = store if recorded else None
    async with TargetSystem(site.profile, store=kept, timing=QUICK) as target:
        events = target.events()
        assert (await target.watch("1")).job_id == "1.pbs0"
        waiting = asyncio.ensure_future(target.wait("1"))
        await asyncio.sleep(1)
        assert not waiting.done()
        known = target.get_cached_status("1")
        assert known is not None
        assert known.state is JobState.QUEUED
        site.end("1.pbs0")
        ended = await waiting
        assert (ended.job_id, ended.exit_code) == ("1.pbs0", 3)
        assert (await anext(events)).job_id == "1.pbs0"
        for job in ("1", "1.pbs0"):
            for again in (await target.status(job), await target.wait(job)):
                assert (again.job_id, again.exit_code) == ("1.pbs0", 3)
        found = await target.statuses(["1", "2", "2.pbs0"])
        assert {j: (s.job_id, s.state) for j, s in found.items()} == {
            "1": ("1.pbs0", JobState.DONE),
            "2": ("2.pbs0", JobState.QUEUED),
            "2.pbs0": ("2.pbs0", JobState.QUEUED),
        }
        await target.watch("2")
        target.unwatch("2")
        assert target.get_cached_status("2") is None
        await target.abort("3")
        if recorded:
            assert get_record(store, "pbs", "3.pbs0").aborted_at is not None
        assert (await target.wait("3")).state is JobState.REMOVED


# What submits; words; is the outcome known, by a batch system's command and by linux's setsid?
SUBMISSIONS = {
    "missing": (None, "not found|No such file", True, True),
    "garbage": (GARBAGE, "what is this|is not known", False, False),
    "dying": (DEAD, "exit status 139|Segmentation fault", True, True),
    "words on stdout": (STRIKE, "the cluster is on strike|is not known", True, False),
    "nothing": ("#!/bin/sh\n", "without a job id|the submission failed", False, True),
}


@pytest.mark.parametrize("fault", SUBMISSIONS)
async def test_submissions(site: FaultySite, target: TargetSystem, fault: str) -> None:
    text, words, by_command, by_setsid = SUBMISSIONS[fault]
    is_known = by_setsid if site.name == "linux" else by_command
    job = await target.submit(JOB)
    site.replace_command(site.submit_command, text)
    error = ScriptFailedError if is_known else OutcomeUnknownError
    with pytest.raises(error, match=words) as caught:
        await target.submit(JOB)
    is_refused = is_known and text == STRIKE
    assert (" refused the job: " in str(caught.value)) == is_refused
    assert str(caught.value).startswith("START failed") != is_refused
    assert site.jobs == [site.jobs[0]]
    assert len(target.store.list_interrupted_submissions(target.name)) == (not is_known)
    site.end(job)  # the other job goes on
    assert (await target.wait(job)).exit_code == 3
    site.restore_commands()
    await target.submit(JOB)


async def test_a_submission_that_hangs(site: FaultySite) -> None:
    """It is cut off, may have been submitted, and is completed later. Others go on meanwhile."""
    path = str(site.here / "jobs.db")
    async with TargetSystem(site.profile, store=Store(path), timing=QUICK) as target:
        job = await target.submit(JOB)
        site.replace_command(site.submit_command, HANGS.format(trap=""))
        hanging = asyncio.ensure_future(target.submit(JOB, key="k"))
        await wait_until_async(site.pids)
        site.end(job)
        assert (await target.wait(job)).exit_code == 3
        assert not hanging.done()
        hanging.cancel()
        with pytest.raises(asyncio.CancelledError):
            await hanging
    async with TargetSystem(
        site.profile, store=Store(path), timing=replace(QUICK, script_timeout=1)
    ) as target:
        with pytest.raises(OutcomeUnknownError, match="START: did not end within 1 s"):
            await target.submit(JOB, key="k")
        assert [r.key for r in target.store.list_interrupted_submissions(target.name)] == ["k"]
        before = site.jobs
        for pid in site.pids():  # a hanging submission is not killed: it may yet get done
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        site.restore_commands()
    async with TargetSystem(site.profile, store=Store(path), timing=QUICK) as target:
        (found,) = await target.recover_submissions()
        assert found.error is None
        assert found.job_id is not None
        assert await target.submit(JOB, key="k") == found.job_id
        assert len(site.jobs) == len(before) + 1
        site.end(found.job_id)
        assert (await target.wait(found.job_id)).exit_code == 3


async def test_an_id_file_of_somebody_else_is_no_job(site: FaultySite, target: TargetSystem) -> None:
    directory = site.here / "given"
    (directory / ".gpe").mkdir(mode=0o700, parents=True)
    directory.chmod(0o700)
    (directory / ".gpe/id").write_text("$(touch hacked); no id\n")
    with pytest.raises(OutcomeUnknownError, match="does not contain a job id"):
        await target.submit(shell("true", working_directory=str(directory)))
    assert {path.name for path in (directory / ".gpe").iterdir()} <= {"id", "lock"}  # nothing was submitted


@pytest.mark.parametrize(
    ("directory", "words"),
    [
        ("/dev/null/job", "Not a directory|File exists|not a directory"),
        ("/proc/job", "No such file or directory|Permission denied"),
        ("relative", "field WORKING_DIRECTORY: .*does not match"),
        ("/tmp/../tmp/x", "field WORKING_DIRECTORY: .*does not match"),
        ("/tmp/a\nb", "field WORKING_DIRECTORY: .*does not match"),
        ("/", "field WORKING_DIRECTORY: .*does not match"),
    ],
)
async def test_working_directories_that_cannot_be(
    site: FaultySite, target: TargetSystem, directory: str, words: str
) -> None:
    with pytest.raises((ScriptFailedError, ValueRefusedError), match=words):
        await target.submit(shell("true", working_directory=directory))
    assert target.store.list_all_jobs() == []
    assert site.jobs == []


async def test_files_that_cannot_grow(site: FaultySite, target: TargetSystem) -> None:
    """As on a full disk: the job script cannot be written whole, and so nothing is submitted."""
    deployment = deployment_script(static_scripts(site.profile, {}))
    command = get_shell_command(site.profile, {})
    assert (await asyncio.to_thread(run_script, command, deployment)).exit_code == 0
    for trap in ("trap '' XFSZ", ""):
        site.replace_command("shell", f'#!/bin/sh\n{trap}\nulimit -f 1\nexec sh "$@"\n')
        with pytest.raises((ScriptFailedError, OutcomeUnknownError), match=r"START"):
            await target.submit(shell("true " + "x" * 5000))
        assert site.jobs == []
        assert not [*site.here.glob("work/*/*/.gpe/id")]


# The record


def lock_database(path: str) -> sqlite3.Connection:
    """Lock the database as a process that never ends its transaction."""
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    return other


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(record_file, "LOCK_TIMEOUT", 0.05)
    return str(tmp_path / "jobs.db")


async def test_nothing_is_submitted_that_cannot_be_recorded(site: FaultySite, record: str) -> None:
    async with TargetSystem(site.profile, store=Store(record), timing=QUICK) as target:
        job = await target.submit(JOB)
        with contextlib.closing(lock_database(record)), pytest.raises(StoreError, match="locked"):
            await target.submit(JOB)
        size = target.store._db.execute("PRAGMA page_count").fetchone()[0]
        target.store._db.execute(f"PRAGMA max_page_count = {size}")
        with pytest.raises(StoreError, match="full"):
            await target.submit(shell("true " + "x" * 100_000))
        assert len(site.jobs) == 1
        site.end(job)
        assert (await target.wait(job)).exit_code == 3


WAITS = """#!/bin/sh
touch "$FAKE/begun"
until [ -e "$FAKE/go" ]; do sleep 0.02; done
{then}
"""


async def test_an_id_comes_back_though_it_cannot_be_recorded(
    site: FaultySite, record: str, caplog: pytest.LogCaptureFixture
) -> None:
    real = site.here / f"real-{site.submit_command}"
    async with TargetSystem(site.profile, store=Store(record), timing=QUICK) as target:
        (site.here / "bin" / site.submit_command).rename(real)
        site.replace_command(site.submit_command, WAITS.format(then=f'exec {real} "$@"'))
        going = asyncio.ensure_future(target.submit(JOB, key="k"))
        await wait_until_async((site.here / "begun").exists)
        with contextlib.closing(lock_database(record)):
            (site.here / "go").touch()
            job = await going
            assert await target.submit(JOB, key="k") == job
        assert len(site.jobs) == 1
        assert await target.submit(JOB, key="k") == job
        assert target.store.find_job(target.name, job) is not None
        site.end(job)
        assert (await target.wait(job)).exit_code == 3
    assert "is not recorded" in caplog.text
    assert "locked" in caplog.text


async def test_a_failure_is_told_though_it_cannot_be_recorded(site: FaultySite, record: str) -> None:
    async with TargetSystem(site.profile, store=Store(record), timing=QUICK) as target:
        site.replace_command(site.submit_command, WAITS.format(then="echo 'on strike' >&2; exit 3"))
        going = asyncio.ensure_future(target.submit(JOB))
        await wait_until_async((site.here / "begun").exists)
        with contextlib.closing(lock_database(record)):
            (site.here / "go").touch()
            with pytest.raises(ScriptFailedError, match="on strike"):
                await going
    assert site.jobs == []


async def test_a_job_is_aborted_though_that_cannot_be_recorded(
    make_site: Callable[[str], FaultySite], record: str
) -> None:
    site = make_site("linux")
    async with TargetSystem(site.profile, store=Store(record), timing=QUICK) as target:
        job = await target.submit(JOB)
        with contextlib.closing(lock_database(record)):
            await target.abort(job)
            assert (await target.wait(job)).state is JobState.REMOVED


async def test_a_record_that_is_damaged_underneath(site: FaultySite, record: str) -> None:
    """It is told as what it is; without it, live jobs can still be reached."""
    first = Store(record)
    async with TargetSystem(site.profile, store=first, timing=QUICK) as target:
        job = await target.submit(JOB)
    first.close()
    with open(record, "r+b") as file:  # noqa: ASYNC230
        file.seek(100)
        file.write(b"\xff" * 3000)
    with pytest.raises(StoreError, match=r"jobs\.db"):
        async with TargetSystem(site.profile, store=Store(record), timing=QUICK) as target:
            await target.submit(JOB)
    async with TargetSystem(site.profile, timing=QUICK) as target:
        assert (await target.status(job)).state in {JobState.QUEUED, JobState.RUNNING}
        site.end(job)
        assert (await target.wait(job)).exit_code == 3
    assert len(site.jobs) == 1


def unwritable(directory: Path) -> int:
    """Open a record there as a user who may not write; give the exit code: 0 for a `StoreError`."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            Store(str(directory / "sub" / "jobs.db"))
        except StoreError as error:
            code = 0 if "Permission denied" in str(error) else 2
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_a_directory_where_no_record_can_be(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    try:
        assert unwritable(tmp_path) == 0
    finally:
        tmp_path.chmod(0o755)
    assert os.listdir(tmp_path) == []


def test_nothing_of_a_script_outlives_its_time_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even what ignores TERM, when the shell itself has gone of it."""
    monkeypatch.setattr(process, "KILL_GRACE", 0.3)
    script = f"""sh -c 'trap "" TERM; echo $$ > {tmp_path}/pid; exec sleep 1000' & wait"""
    with pytest.raises(ScriptTimeoutError):
        asyncio.run(process.run_process(["sh", "-s"], script.encode(), 1))
    assert not is_alive(int((tmp_path / "pid").read_text()))


def test_what_a_script_prints_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "MAX_OUTPUT_SIZE", 100_000)
    for stream in ("", " >&2"):
        with pytest.raises(OSProfileError, match="printed more than"):
            asyncio.run(process.run_process(["sh", "-s"], f"yes{stream}".encode(), 60))
