"""Submissions that are cut off at any point: no job is lost, none is submitted twice."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from types import BuiltinFunctionType, ModuleType
from typing import TYPE_CHECKING

import pytest

import osprofile.jobs
from osprofile.errors import OSProfileError, OutcomeUnknownError
from osprofile.jobs.record.store import Store
from osprofile.jobs.state import JobState
from osprofile.jobs.target_system import TargetSystem
from tests.hunting import rounds
from tests.jobs.conftest import QUICK, get_record, shell

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import FrameType
    from typing import Any

    from osprofile.profile.model import Profile
    from tests.jobs.conftest import Toy

pytestmark = pytest.mark.race

OURS = os.path.dirname(osprofile.jobs.__file__)
JOB = shell("exit 3")
OUTSIDE = {"posix", "_posixsubprocess", "select", "socket", "_sqlite3", "sqlite3"}
"""The modules whose functions and objects reach what outlives this process. Between two calls of them nothing changes."""
EACH = 4
"""Each test kills before every fourth call of them; together, with HUNT=1, they kill before all."""


def is_outside(function: object) -> bool:
    if not isinstance(function, BuiltinFunctionType):
        return False
    owner = function.__self__
    module = owner.__name__ if isinstance(owner, ModuleType) else type(owner).__module__
    return module in OUTSIDE and function.__name__ != "fspath"


def kill_at(call: int) -> Callable[..., Any]:
    """Return a profile function that kills this process before the n-th call that reaches outside of it.

    Calls count where the record is made, and from where a submission is recorded: before, there is nothing to lose.
    """
    remaining, has_begun = call, False

    def profile(frame: FrameType, event: str, function: object) -> None:
        nonlocal remaining, has_begun
        code = frame.f_code
        has_begun = has_begun or (code.co_name == "begin_submissions" and code.co_filename.startswith(OURS))
        counts = has_begun or code.co_filename.endswith("record/file.py")
        if counts and event == "c_call" and is_outside(function):
            remaining -= 1
            if remaining <= 0:
                os.kill(os.getpid(), signal.SIGKILL)

    return profile


async def submit(toy: Toy, store: str, key: str) -> str:
    async with TargetSystem(toy.profile, store=Store(store), timing=QUICK) as target:
        return await target.submit(JOB, key=key)


def submit_killed(toy: Toy, store: str, key: str, call: int) -> bool:
    """Submit in a process that is killed before the n-th call; return False if it ended before."""
    pid = os.fork()
    if pid == 0:
        try:
            sys.setprofile(kill_at(call))
            asyncio.run(submit(toy, store, key))
            sys.setprofile(None)
        finally:
            os._exit(0)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status) == -signal.SIGKILL


@pytest.mark.hunt(EACH)
@pytest.mark.parametrize("first", range(1, EACH + 1))
def test_killed_between_every_two_steps(toy: Toy, tmp_path: Path, first: int) -> None:
    (toy.path / "stopped").touch()
    asyncio.run(submit(toy, str(tmp_path / "warm.db"), "warm"))  # imports count no calls
    points, completed, call = 0, 0, first
    while submit_killed(toy, store := str(tmp_path / f"{call}.db"), "k", call):
        points += 1
        before = len(toy.submissions)

        async def recover(path: str = store) -> int:
            async with TargetSystem(toy.profile, store=Store(path), timing=QUICK) as target:
                again = await target.recover_submissions()
                assert [(r.error, bool(r.job_id)) for r in again] == [(None, True)] * len(again)
                assert await target.recover_submissions() == []
                recorded = [r.status.job_id for r in target.store.list_all_jobs()]
                job = await target.submit(JOB, key="k")
                # with the record of it, the same job; without, a first one
                assert recorded in ([job], [])
                known = await target.statuses()
                assert known.keys() == {job}
                record = target.store.find_by_key("toy", "k")
                assert record is not None
                assert toy.submissions.count(record.directory) == 1
                return len(again)

        completed += asyncio.run(recover())
        # The killed one may have been cut between a submission and its note; nothing else was submitted.
        assert len(set(toy.submissions)) == len(toy.submissions) <= before + 1
        call += rounds(EACH, 2 * EACH)
        shutil.rmtree(toy.path / "jobs")  # what lists them would take longer each time
        (toy.path / "jobs").mkdir()
        (toy.path / "submissions").unlink(missing_ok=True)
    assert points > rounds(10, 2)
    assert completed > rounds(3, 1)


async def test_a_cancelled_submission_is_completed(toy: Toy) -> None:
    async with TargetSystem(toy.profile, timing=QUICK) as target:
        task = asyncio.create_task(target.submit(JOB))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        (again,) = await target.recover_submissions()
        assert again.job_id
        assert (await target.wait(again.job_id)).exit_code == 3
    assert toy.submissions == [again.record.directory]


async def test_a_start_that_fails_behind_the_submission_loses_no_job(
    toy: Toy, caplog: pytest.LogCaptureFixture
) -> None:
    """The batch system has the job, then START fails: the id comes back all the same."""
    link = toy.path / "bin/ln"
    link.write_text(
        '#!/bin/sh\ncase $* in *-sfn*) echo "no ln today" >&2; exit 1 ;; esac\nexec /bin/ln "$@"\n'
    )
    link.chmod(0o755)
    async with TargetSystem(toy.profile, timing=QUICK) as target:
        job = await target.submit(JOB)
        assert (await target.wait(job)).exit_code == 3
    assert len(toy.submissions) == 1
    assert "was submitted, but: START failed (exit status 1): no ln today" in caplog.text


ANSWERS = {
    "an id that the pattern does not know": ("printf 'f4jG2v\\n'; exit 0", "START printed 'f4jG2v'"),
    "no id": ("exit 0", "START printed nothing"),
    "START does not know either": (
        "echo 'START: f4jG2v: whether the job was submitted is not known' >&2; exit 75",
        r"START failed \(exit status 75\): START: f4jG2v: ",
    ),
}


@pytest.mark.parametrize("answer", ANSWERS)
async def test_an_answer_that_cannot_be_read_leaves_the_submission(
    toy_without_find: Toy, answer: str
) -> None:
    """The job may run: nothing is forgotten, and START finds it when the answer can be read."""
    toy = toy_without_find
    text, words = ANSWERS[answer]
    (toy.path / "stopped").touch()
    # Behind START, which has submitted the job; its answer is lost, as is the id in the directory.
    ssh = 'sh -s > "$TOY/printed" || exit\n[ ! -e "$TOY/odd" ] || . "$TOY/odd"\ncat "$TOY/printed"\n'
    (toy.path / "bin/toyssh").write_text(f"#!/bin/sh\n{ssh}")
    context = {"SSH:HOST": "toy"}
    async with TargetSystem(toy.profile, context, timing=QUICK) as target:
        (toy.path / "odd").write_text(
            f"for f in {toy.path.parent / 'work'}/*/*/.gpe/id; do\n"
            f'  [ ! -e "$f" ] || {{ mv "$f" "$f.away"; {text}; }}\ndone\n'
        )
        with pytest.raises(OutcomeUnknownError, match=words) as caught:
            await target.submit(JOB, key="k")
        assert caught.value.message.count("whether the job was submitted is not known") == 1
        assert [record.key for record in target.store.list_interrupted_submissions(target.name)] == ["k"]
        (toy.path / "odd").unlink()
        for file in toy.path.parent.glob("work/*/*/.gpe/*.away"):
            file.rename(file.with_suffix(""))
        job = await target.submit(JOB, key="k")
        assert [record.status.job_id for record in target.store.list_all_jobs()] == [job] == ["1"]
    assert len(toy.submissions) == 1


SECOND_STARTS = {
    "its host is not found": "echo 'ssh: Could not resolve hostname toy: Name or service not known' >&2; exit 255",
    "it can do nothing": "sed 's/^mkdir .*/exit 73/; s/^cd -- .*/exit 75/' | sh -s; exit",
}


@pytest.mark.parametrize("second", SECOND_STARTS)
async def test_a_second_start_that_does_nothing_loses_no_job(toy: Toy, second: str) -> None:
    """The connection breaks as the job is submitted; what the next one is told is no word about the first."""
    (toy.path / "stopped").touch()
    with (toy.path / "bin/toysub").open("a") as command:
        command.write('kill -s KILL "$PPID"\n')  # START, before it has the id
    ssh = toy.path / "bin/toyssh"
    ssh.write_text(
        f"""#!/bin/sh
[ ! -e "$TOY/cut" ] || {{ {SECOND_STARTS[second]}; }}
sh -s
rc=$?
[ ! -s "$TOY/submissions" ] || {{ : > "$TOY/cut"; exit 255; }}
exit "$rc"
"""
    )
    async with TargetSystem(toy.profile, {"SSH:HOST": "toy"}, timing=QUICK) as target:
        with pytest.raises(OutcomeUnknownError, match="whether the job was submitted is not known"):
            await target.submit(JOB, key="k")
        with pytest.raises(OSProfileError):
            await target.submit(JOB, key="k")
        ssh.write_text("#!/bin/sh\nexec sh -s\n")
        assert await target.submit(JOB, key="k") == "1"
    assert len(toy.submissions) == 1


async def test_a_submission_that_is_found_is_made_whole(toy: Toy) -> None:
    """START killed between the job's id and its link: without a link, nobody finds the job's end."""
    link = toy.path / "bin/ln"
    link.write_text('#!/bin/sh\ncase $* in *-sfn*) kill -s KILL $PPID; exit 1 ;; esac\nexec /bin/ln "$@"\n')
    link.chmod(0o755)
    (toy.path / "stopped").touch()
    store = Store()
    async with TargetSystem(toy.profile, store=store, timing=QUICK) as target:
        with pytest.raises(OutcomeUnknownError, match="killed by signal 9"):
            await target.submit(JOB, key="k")
    link.unlink()
    async with TargetSystem(toy.profile, store=store, timing=QUICK) as target:
        (found,) = await target.recover_submissions(resubmit=False)
        assert found.job_id == await target.submit(JOB, key="k") == "1"
    async with TargetSystem(toy.profile, timing=QUICK) as target:  # without the record
        assert await target.find_job_directory("1") == found.record.directory
    assert toy.submissions == [found.record.directory]


async def test_a_link_that_is_lost_is_made_anew(
    load: Callable[[str], Profile], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job runs on, and is found by its directory."""
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    store = Store()
    async with TargetSystem(load(""), store=store, timing=QUICK) as target:
        job_id = await target.submit(JOB)
        record = get_record(store, target.name, job_id)
        link = home / ".gpe" / "jobs" / "made" / job_id
        link.unlink()
        end = await target.wait(job_id)
        assert (end.state, end.exit_code) == (JobState.DONE, 3)
    assert link.samefile(record.directory)
