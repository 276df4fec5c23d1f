"""START fails at any point, and FIND_JOB finds out: each key has one job, and none is forgotten."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import shutil
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from osprofile.errors import (
    OutcomeUnknownError,
    ScriptError,
    ScriptFailedError,
    ScriptTimeoutError,
    StoreError,
    SubmissionBusyError,
)
from osprofile.jobs.fields import JobDescription
from osprofile.jobs.record.store import Store
from osprofile.jobs.submit.starts import StartScripts
from osprofile.jobs.target_system import TargetSystem
from tests.jobs.conftest import QUICK, TOYSSH, TOYSUB, get_record, shell
from tests.records import begin_submission, execute_sql
from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from multiprocessing.synchronize import Barrier
    from pathlib import Path

    from tests.jobs.conftest import Toy

JOB = shell("true")
TAKES = TOYSUB.replace('echo "queued as $n"', "{then}")
"""The command that takes a job, and then does something else than print its id."""


def replace_command(toy: Toy, name: str, text: str) -> None:
    (toy.path / "bin" / name).write_text(text)
    (toy.path / "bin" / name).chmod(0o755)


def strike_once(toy: Toy, name: str, text: str, after: str) -> None:
    """Let a command's first call run other text; all later calls run `after`."""
    replace_command(
        toy, name, f'#!/bin/sh\nif mkdir "$TOY/struck.{name}" 2> /dev/null; then\n{text}\nfi\n{after}\n'
    )


def list_cut_keys(target: TargetSystem) -> list[str | None]:
    """Return the keys of the interrupted submissions."""
    return [record.key for record in target.store.list_interrupted_submissions(target.name)]


async def check_key(toy: Toy, target: TargetSystem) -> None:
    """Check that the key stands for the one job, however often it is submitted."""
    for _ in range(2):
        assert await target.submit(JOB, key="k") == "1"
    assert list_cut_keys(target) == []
    (record,) = target.store.list_all_jobs()
    assert await target.find_job_directory("1") == record.directory
    assert await target._starts.find_job_directory("1") == record.directory
    assert toy.submissions == [record.directory]


@pytest.fixture(params=["here", "ssh"])
def context(toy: Toy, request: pytest.FixtureRequest) -> dict[str, str]:
    """Return the context of this host, and that of another one: ssh tells a killed shell by 255."""
    (toy.path / "stopped").touch()
    replace_command(toy, "toyssh", TOYSSH.replace("rc=$?", "rc=$?; [ $rc -ne 137 ] || rc=255"))
    return {"SSH:HOST": "toy"} if request.param == "ssh" else {}


@pytest.fixture
def here(toy: Toy) -> TargetSystem:
    """Return the target system of this machine."""
    return TargetSystem(toy.profile, store=Store(f"{toy.path}/jobs.db"), timing=QUICK)


@pytest.fixture
def target(toy: Toy, context: dict[str, str]) -> TargetSystem:
    """Return the target system of this machine, or of another one."""
    return TargetSystem(toy.profile, context, store=Store(f"{toy.path}/jobs.db"), timing=QUICK)


FLOCK = 'exec /usr/bin/flock "$@"'
FOUND = {
    "START killed before the mark": ("flock", "kill -s KILL $PPID; exit 1", FLOCK),
    "START killed, the submission goes on": ("flock", "sleep 0.2 & kill -s KILL $PPID", FLOCK),
    "the submission killed before the batch system has the job": ("toysub", "kill -s KILL 0", TOYSUB),
    "the submission killed when the batch system has the job": (
        "toysub",
        TAKES.replace("{then}", "kill -s KILL 0"),
        "exit 9",
    ),
    "refused, but taken": (
        "toysub",
        TAKES.replace("{then}", "echo timeout >&2; exit 3"),
        "exit 9",
    ),
    "refused with 75, but taken": ("toysub", TAKES.replace("{then}", "exit 75"), "exit 9"),
    "taken, and the answer has no id": ("toysub", TAKES.replace("{then}", "echo thank you"), "exit 9"),
    "taken, and no answer": ("toysub", TAKES.replace("{then}", ":"), "exit 9"),
}


@pytest.mark.race
@pytest.mark.parametrize("fault", FOUND)
async def test_a_job_is_submitted_once(toy: Toy, target: TargetSystem, fault: str) -> None:
    strike_once(toy, *FOUND[fault])
    await check_key(toy, target)
    assert (toy.path / f"struck.{FOUND[fault][0]}").exists()


@pytest.mark.parametrize("status", [1, 75, 170])
async def test_a_refused_job_leaves_no_record(toy: Toy, target: TargetSystem, status: int) -> None:
    strike_once(toy, "toysub", f"echo 'the queue is closed' >&2; exit {status}", TOYSUB)
    with pytest.raises(ScriptFailedError, match="the queue is closed") as caught:
        await target.submit(JOB, key="k")
    assert caught.value.exit_status == (1 if status == 75 else status)
    assert target.store.list_all_jobs() == []
    await check_key(toy, target)


@pytest.mark.parametrize("then", ["echo timeout >&2; exit 3", "kill -s KILL 0", "echo thank you", ":"])
@pytest.mark.parametrize("is_taken", [True, False])
async def test_a_submission_stays_while_the_batch_system_is_away(
    toy: Toy, target: TargetSystem, then: str, is_taken: bool
) -> None:
    strike_once(toy, "toysub", TAKES.replace("{then}", then) if is_taken else f"{then}\nexit", "exit 9")
    (toy.path / "broken").write_text("toyfind: the server is away\n")
    for _ in range(2):
        with pytest.raises(
            OutcomeUnknownError, match=r"(?s)START failed .*: FIND_JOB failed .* is away"
        ) as e:
            await target.submit(JOB, key="k")
        assert "whether the job was submitted is not known" in e.value.message
        assert list_cut_keys(target) == ["k"]
    (answer,) = await target.recover_submissions(resubmit=False)
    assert isinstance(answer.error, ScriptFailedError)
    (toy.path / "broken").unlink()
    replace_command(toy, "toysub", TOYSUB)
    if not is_taken and then in {"echo thank you", ":"}:  # which the batch system said
        with pytest.raises(OutcomeUnknownError, match="toysub has answered"):
            await target.submit(JOB, key="k")
        assert list_cut_keys(target) == ["k"]
        (mark,) = toy.path.parent.glob("work/*/*/.gpe/submitting")
        mark.unlink()
    await check_key(toy, target)


@pytest.mark.parametrize("is_taken", [True, False])
async def test_finding_submits_nothing(toy: Toy, target: TargetSystem, is_taken: bool) -> None:
    then = "kill -s KILL 0"
    strike_once(toy, "toysub", TAKES.replace("{then}", then) if is_taken else then, TOYSUB)
    (toy.path / "broken").write_text("toyfind: the server is away\n")
    with pytest.raises(OutcomeUnknownError):
        await target.submit(JOB, key="k")
    (toy.path / "broken").unlink()
    for answer in await target.recover_submissions(resubmit=False):
        assert (answer.job_id, answer.error) == ("1" if is_taken else None, None)
    assert len(toy.submissions) == is_taken
    assert list_cut_keys(target) == ([] if is_taken else ["k"])
    await check_key(toy, target)


async def test_start_is_repeated_once(toy: Toy, target: TargetSystem) -> None:
    replace_command(toy, "toysub", '#!/bin/sh\necho x >> "$TOY/calls"\nkill -s KILL 0\n')
    for calls in (2, 4):
        with pytest.raises(OutcomeUnknownError, match="exit status 75"):
            await target.submit(JOB, key="k")
        assert (toy.path / "calls").read_text().count("x") == calls
        assert list_cut_keys(target) == ["k"]
    replace_command(toy, "toysub", TOYSUB)
    await check_key(toy, target)


@pytest.mark.parametrize("is_refused", [True, False])
async def test_what_find_job_prints_is_no_id(toy: Toy, is_refused: bool) -> None:
    """There may be a job, and there may be none: the submission stays."""
    (toy.path / "stopped").touch()
    replace_command(toy, "toyssh", '#!/bin/sh\nsh -s || exit\n[ ! -e "$TOY/noise" ] || echo "what is this"\n')
    (toy.path / "noise").touch()
    if is_refused:
        strike_once(toy, "toysub", "echo closed >&2; exit 170", TOYSUB)
    async with TargetSystem(toy.profile, {"SSH:HOST": "toy"}, timing=QUICK) as target:
        for _ in range(2):
            with pytest.raises(
                OutcomeUnknownError, match=r"FIND_JOB printed '.*, in which JOB_ID_PATTERN of"
            ):
                await target.submit(JOB, key="k")
            assert list_cut_keys(target) == ["k"]
        (toy.path / "noise").unlink()
        await check_key(toy, target)


async def test_a_shell_that_cannot_be_started(
    toy: Toy, target: TargetSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """START did not run: a first submission leaves no record, an earlier one stays."""
    (toy.path / "broken").write_text("toyfind: the server is away\n")
    strike_once(toy, "toysub", TAKES.replace("{then}", "kill -s KILL 0"), "exit 9")
    for before in ([], ["k"]):
        with monkeypatch.context() as patch:
            patch.setenv("PATH", "/nonexistent")
            with pytest.raises(ScriptError, match="cannot start 'env'"):
                await target.submit(JOB, key="k")
        assert list_cut_keys(target) == before
        with pytest.raises(OutcomeUnknownError):
            await target.submit(JOB, key="k")
    (toy.path / "broken").unlink()
    await check_key(toy, target)


@pytest.mark.parametrize("resubmit", [True, False])
@pytest.mark.parametrize("is_taken", [True, False])
def test_processes_that_recover_at_the_same_time(toy: Toy, resubmit: bool, is_taken: bool) -> None:
    (toy.path / "stopped").touch()
    (toy.path / "broken").write_text("toyfind: the server is away\n")
    then = "kill -s KILL 0"
    strike_once(toy, "toysub", TAKES.replace("{then}", then) if is_taken else then, TOYSUB)
    path = str(toy.path / "jobs.db")

    async def main() -> None:
        async with TargetSystem(toy.profile, store=Store(path), timing=QUICK) as target:
            with pytest.raises(OutcomeUnknownError):
                await target.submit(JOB, key="k")

    async def recover() -> None:
        async with TargetSystem(toy.profile, store=Store(path), timing=QUICK) as target:
            for answer in await target.recover_submissions(resubmit=resubmit):
                assert answer.error is None or isinstance(answer.error, StoreError), answer
                assert answer.job_id in (["1"] if is_taken and not resubmit else ["1", None]), answer

    async def check() -> None:
        async with TargetSystem(toy.profile, store=Store(path), timing=QUICK) as target:
            assert list_cut_keys(target) == ([] if is_taken or resubmit else ["k"])
            await check_key(toy, target)

    asyncio.run(main())
    (toy.path / "broken").unlink()
    children = []
    begin = time.time() + 0.3  # together, as far as that is possible
    for _ in range(4):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                time.sleep(max(0.0, begin - time.time()))
                asyncio.run(recover())
                code = 0
            finally:
                os._exit(code)
        children.append(pid)
    assert [os.waitpid(pid, 0)[1] for pid in children] == [0] * len(children)
    asyncio.run(check())


async def test_a_record_that_is_gone(toy: Toy, context: dict[str, str]) -> None:
    """The directory is enough to find its job, or to submit one: it is never two."""
    (toy.path / "broken").write_text("toyfind: the server is away\n")
    strike_once(toy, "toysub", TAKES.replace("{then}", "kill -s KILL 0"), "exit 9")
    job = replace(JOB, working_directory=str(toy.path.parent / "given"))
    for words in ("server is away", "server is away"):
        async with TargetSystem(toy.profile, context, timing=QUICK) as target:
            with pytest.raises(OutcomeUnknownError, match=words):
                await target.submit(job)
    (toy.path / "broken").unlink()
    for _ in range(2):
        async with TargetSystem(toy.profile, context, timing=QUICK) as target:
            assert await target.submit(job) == "1"
    assert toy.submissions == [job.working_directory]


async def test_a_record_that_cannot_be_written(
    toy: Toy, target: TargetSystem, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FIND_JOB's id comes back all the same, and an error is the first one."""
    strike_once(toy, "toysub", TAKES.replace("{then}", "kill -s KILL 0"), "exit 9")
    run = StartScripts.run_start_script

    async def lose_record(starts: StartScripts, script: str) -> str:
        execute_sql(target.store, "ALTER TABLE job RENAME TO away")
        return await run(starts, script)

    monkeypatch.setattr(StartScripts, "run_start_script", lose_record)
    assert await target.submit(JOB, key="k") == "1"
    execute_sql(target.store, "ALTER TABLE away RENAME TO job")
    await check_key(toy, target)
    assert "job 1 in" in caplog.text
    assert "is not recorded" in caplog.text


async def test_find_job_has_its_own_time_limit(toy: Toy, context: dict[str, str]) -> None:
    """It waits for a submission that is under way, which is not cut off."""
    go = toy.path / "go"
    replace_command(
        toy,
        "toysub",
        TOYSUB.replace("n=1", f"until [ -e {go} ] || [ ! -d {go.parent} ]; do sleep 0.02; done; n=1", 1),
    )
    store = Store()
    in_time = replace(QUICK, script_timeout=0.5)
    async with TargetSystem(toy.profile, context, store=store, timing=in_time) as target:
        words = r"START: did not end within 0\.5 s.*: FIND_JOB: did not end within 0\.5 s"
        for _ in range(2):
            with pytest.raises(OutcomeUnknownError, match=words):
                await target.submit(JOB, key="k")
            assert list_cut_keys(target) == ["k"]
        (answer,) = await target.recover_submissions(resubmit=False)
        assert isinstance(answer.error, ScriptTimeoutError)
    go.touch()
    async with TargetSystem(toy.profile, context, store=store, timing=QUICK) as target:
        await check_key(toy, target)


async def test_a_profile_without_find_job(toy_without_find: Toy) -> None:
    """The file with the id tells of a job; without it, START is repeated only when that is asked for."""
    toy = toy_without_find
    (toy.path / "stopped").touch()
    strike_once(toy, "toysub", "kill -s KILL 0", 'echo x >> "$TOY/calls"; echo closed >&2; exit 9')
    async with TargetSystem(toy.profile, timing=QUICK) as target:
        with pytest.raises(OutcomeUnknownError, match="exit status 75"):
            await target.submit(JOB, key="k")
        (answer,) = await target.recover_submissions(resubmit=False)
        assert (answer.job_id, answer.error) == (None, None)
        assert not (toy.path / "calls").exists()
        with pytest.raises(ScriptFailedError, match="closed"):
            await target.submit(JOB, key="k")
        assert list_cut_keys(target) == ["k"]  # the first START may have submitted it
        replace_command(toy, "toysub", TOYSUB)
        await check_key(toy, target)


async def test_a_start_that_did_nothing_is_not_searched_for(toy: Toy, here: TargetSystem) -> None:
    """Its directory is not safe, or away: FIND_JOB is not run there. An earlier submission stays on record."""
    start = toy.path.parent / "start"
    replace_command(toy, "mkdir", "#!/bin/sh\nkill -s KILL $PPID\n")
    with pytest.raises(OutcomeUnknownError):
        await here.submit(JOB, key="k")
    replace_command(toy, "mkdir", f"#!/bin/sh\necho nothing >&2\necho x >> {start}\nexit 73\n")
    for key in ("k", "new"):
        with pytest.raises(ScriptFailedError, match="nothing"):
            await here.submit(JOB, key=key)
        assert list_cut_keys(here) == ["k"]
    assert start.read_text() == "x\nx\n"
    assert toy.submissions == []


@pytest.mark.parametrize("array", [None, "1-2"])
async def test_a_job_that_ended_before_it_could_be_recorded(
    toy: Toy, array: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end that was seen counts, although the batch system has forgotten the job in between."""
    (toy.path / "stopped").touch()

    def fail(*_: object) -> None:
        raise StoreError("the disk is full")

    async with TargetSystem(toy.profile, timing=QUICK) as target:
        with monkeypatch.context() as patch:
            patch.setattr(Store, "record_job_id", fail)
            job_id = await target.submit(shell("true", array=array), key="k")
            job_ids = [f"{job_id}_1", f"{job_id}_2"] if array else [job_id]
            waiting = asyncio.create_task(target.wait(job_id))
            await asyncio.sleep(0.1)
            for each in job_ids:
                toy.state(each, "END 0")
            assert (await waiting).exit_code == 0
        for each in job_ids:
            toy.state(each, None)
        assert await target.submit(shell("true", array=array), key="k") == job_id
        assert (await target.wait(job_id)).exit_code == 0
        await asyncio.sleep(0)
        for each in {job_id, *job_ids}:
            record = get_record(target.store, "toy", each)
            assert (record.status.state.value, record.status.exit_code) == ("DONE", 0)


@pytest.mark.parametrize("is_live", [True, False])
async def test_those_who_wait_for_a_job_whose_id_is_given_again(
    toy: Toy, here: TargetSystem, is_live: bool
) -> None:
    """They are not told the end of the new job; those who knew the same job by its id only are."""
    (toy.path / "stopped").touch()
    job_id = await here.submit(JOB, key="k")
    (record,) = here.store.list_all_jobs()
    if not is_live:  # the submission was interrupted, and its job adopted by its id
        execute_sql(here.store, "UPDATE job SET job_id = NULL, owner = NULL, script = 'exit 1'")
        here.unwatch(job_id)
    waiting = asyncio.create_task(here.wait(job_id))
    await asyncio.sleep(0.2)
    if is_live:
        shutil.rmtree(toy.path / "jobs" / job_id)
        assert await here.submit(JOB) == job_id
    else:
        (recovered,) = await here.recover_submissions(resubmit=False)
        assert recovered.job_id == job_id
    toy.state(job_id, "END 0")
    status = await waiting
    assert (status.state.value, status.exit_code) == (("LOST", None) if is_live else ("DONE", 0))
    assert record.key == "k"


async def test_a_key_with_another_request(toy: Toy, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It is the job of the key, with a warning of what differs; a request without a program has only the key."""
    path = str(tmp_path / "jobs.db")
    for again, differences in (
        (JOB, ""),
        (JobDescription(), ""),
        (shell("false"), "arguments differs"),
        (replace(JOB, walltime=60, name="n"), "name, walltime differ"),
        (replace(JOB, fields={"SETUP": ":"}), "SETUP differs"),
    ):
        async with TargetSystem(toy.profile, store=Store(path), timing=QUICK) as target:
            job = await target.submit(JOB, key="k k")
            caplog.clear()
            assert await target.submit(again, key="k k") == job == "1"
        warnings = [record.getMessage() for record in caplog.records]
        text = f"the key 'k k' belongs to job 1, whose request was another ({differences}): it is returned;"
        assert warnings == ([f"{text} for a new job give a new key"] if differences else [])
    assert len(toy.submissions) == 1


def submit_in_process(toy: Toy, path: str, go: Barrier, answers: multiprocessing.Queue[str]) -> None:
    """Submit a job with a key, when all processes are there."""

    async def main() -> None:
        async with TargetSystem(toy.profile, store=Store(path), timing=QUICK) as target:
            go.wait()
            answers.put(await target.submit(JOB, key="k"))

    asyncio.run(main())


@pytest.mark.race
def test_processes_that_submit_the_same_key_get_the_same_job(toy: Toy, tmp_path: Path) -> None:
    path = str(tmp_path / "jobs.db")
    Store(path).close()
    replace_command(toy, "toysub", TOYSUB.replace("n=1\n", "sleep 0.5; n=1\n"))
    fork = multiprocessing.get_context("fork")
    go, answers = fork.Barrier(4), fork.Queue()
    processes = [fork.Process(target=submit_in_process, args=(toy, path, go, answers)) for _ in range(4)]
    for process in processes:
        process.start()
    assert [answers.get(timeout=PATIENCE) for _ in processes] == ["1"] * 4
    for process in processes:
        process.join()
    assert len(toy.submissions) == 1


async def test_a_submission_that_another_process_does_not_end(toy: Toy, tmp_path: Path) -> None:
    """It is waited for, but not for ever; the hint says what to do."""
    store = Store(str(tmp_path / "jobs.db"))
    timing = replace(QUICK, script_timeout=0.2)
    async with TargetSystem(toy.profile, store=store, timing=timing) as target:
        record = begin_submission(store, target.name, "/d", script="true", key="k")
        with pytest.raises(SubmissionBusyError) as caught:
            await target.submit(JOB, key="k")
        assert caught.value.hint == "repeat the submission with the same key when that has ended"
        store.delete_record(record.number)  # the batch system has refused it
        assert await target.submit(JOB, key="k") == "1"
