"""The interface that blocks: what it does with threads, forks, interruptions and the end of a program."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

import osprofile
from osprofile import (
    Job,
    JobDescription,
    JobEvent,
    JobNotFoundError,
    JobSession,
    JobState,
    ScriptFailedError,
    SubmissionsFailedError,
    TargetSystem,
    Timing,
    ValueRefusedError,
)
from osprofile.jobs.submit.submitter import JobSubmitter
from tests.jobs.conftest import Toy, shell
from tests.waiting import PATIENCE, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from osprofile.profile.model import Profile

QUICK = Timing(min_poll_interval=0.05, max_poll_interval=0.2, grace_period=5.0)
NEVER = 3600.0


@pytest.fixture
def session(toy: Toy, tmp_path: Path) -> Iterator[JobSession]:
    with JobSession(toy.profile, store=str(tmp_path / "jobs.db"), timing=QUICK) as session:
        yield session


# A job's life


def test_a_job(session: JobSession) -> None:
    job = session.submit(shell("echo out; echo err >&2; exit 3"))
    status = job.wait()
    assert (status.job_id, status.state, status.exit_code) == (job.id, JobState.DONE, 3)
    assert (job.stdout(), job.stderr()) == ("out\n", "err\n")
    assert job.status() == status
    assert session.get_job(job.id) == job
    assert {job, Job(session, job.id)} == {job}
    assert os.path.isfile(os.path.join(job.directory(), "stdout"))
    assert repr(job) == f"<Job {job.id} on toy>"
    assert session.list_jobs() == []
    assert session.list_jobs(include_ended=True) == [job]


def test_a_program_and_its_arguments(
    load: Callable[[str], Profile], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    session = JobSession(load(""), store=str(tmp_path / "jobs.db"), timing=QUICK)
    (tmp_path / "fit").write_text('#!/bin/sh\necho "$1 in $PWD, $X"\n')
    (tmp_path / "fit").chmod(0o755)
    job = session.submit("./fit", "it's 3", walltime="10m", environment={"X": "x"}, key="k")
    assert job.wait().exit_code == 0
    assert job.stdout() == f"it's 3 in {tmp_path}, x\n"
    with pytest.raises(TypeError, match="leave others out"):
        session.submit(shell("true"), "x")
    (row,) = session.history()
    values = {"id": job.id, "key": "k", "name": job.name, "state": "DONE", "exit_code": 0}
    assert {name: row[name] for name in values} == values
    assert row["submitted"] <= row["ended"]
    assert {type(value) for value in row.values()} <= {str, int, float, type(None)}


def test_control(toy: Toy, session: JobSession) -> None:
    (toy.path / "stopped").touch()
    job = session.submit(shell("true"))
    assert job.status().state is JobState.QUEUED
    job.hold()
    assert job.status().state is JobState.HELD
    job.resume()
    assert job.status().state is JobState.QUEUED
    assert session.list_jobs() == [job]
    job.cancel()
    assert job.wait().state is JobState.REMOVED
    with pytest.raises(ScriptFailedError):
        job.cancel()


def test_a_job_is_found_by_its_key(session: JobSession) -> None:
    job = session.submit(shell("true", name="fit"), key="fit 1")
    assert session.get_job(key="fit 1") == job == session.get_job(job.id)
    assert (job.key, job.name) == ("fit 1", "fit")
    assert (session.get_job("99").key, session.get_job("99").name) == (None, "")
    with pytest.raises(JobNotFoundError, match="has the key 'fit 2'"):
        session.get_job(key="fit 2")
    with pytest.raises(ValueError, match="either an id or a key"):
        session.get_job()


def test_a_job_may_be_given_in_place_of_its_id(session: JobSession, tmp_path: Path) -> None:
    job = session.submit(shell("echo hello; exit 4"))
    assert session.wait_any([job], NEVER).exit_code == 4
    assert session.get_job(job) == session.get_job(job.id) == job
    for call in (session.watch, session.get_cached_status):
        assert call(job) == call(job.id)
    assert session.statuses([job]).keys() == {job.id}
    lists = [lambda wrong: session.wait_all([wrong]), lambda wrong: session.statuses([wrong])]
    for wrong in (None, 7, b"7"):
        for call in (session.watch, session.get_cached_status, *lists):
            with pytest.raises(TypeError, match=rf"^{wrong!r} is neither a Job nor the id of one"):
                call(wrong)  # type: ignore[arg-type]
    with JobSession("linux", store=str(tmp_path / "jobs.db")) as other:
        for call in (other.watch, other.get_job, lambda job: other.wait_any([job])):
            with pytest.raises(
                ValueError, match=rf"^job {job.id} is on {session.name}, and this session is for "
            ):
                call(job)


def test_an_id_of_another_form_is_that_of_no_job(tmp_path: Path) -> None:
    with JobSession("linux", store=str(tmp_path / "jobs.db")) as session:
        job = session.get_job("99")
        for call in (job.status, job.wait, job.hold, job.cancel, job.usage):
            with pytest.raises(JobNotFoundError, match="there is no job 99"):
                call()
        assert session.statuses(["99"]) == {}


@pytest.mark.race
def test_calls_with_one_key_at_once(session: JobSession) -> None:
    with ThreadPoolExecutor(6) as executor:
        jobs = [*executor.map(lambda key: session.submit(shell("true"), key=key), "k" * 6)]
    assert len(set(jobs)) == 1
    assert session.submit_many([shell("true")] * 3, keys=["l"] * 3)[0] != jobs[0]
    assert len(session.list_jobs(include_ended=True)) == 2


def test_an_array(session: JobSession) -> None:
    job = session.submit(shell("echo $GPE_ARRAY_INDEX; exit $((GPE_ARRAY_INDEX - 1))", array="1-2"))
    assert job.wait().state is JobState.FAILED
    tasks = job.task_statuses()
    assert {index: task.exit_code for index, task in tasks.items()} == {1: 0, 2: 1}
    assert session.get_job(tasks[2].job_id).stdout() == "2\n"
    with pytest.raises(JobNotFoundError, match="is an array"):
        job.stdout()


def test_another_session_knows_the_job(toy: Toy, tmp_path: Path) -> None:
    path = str(tmp_path / "jobs.db")
    with JobSession(toy.profile, store=path, timing=QUICK) as first:
        job_id = first.submit(shell("echo $V; exit 7", environment={"V": "a'b"}), key="k").id
    with JobSession(toy.profile, store=path, timing=QUICK) as second:
        job = second.get_job(job_id)
        assert (job.wait().exit_code, job.stdout()) == (7, "a'b\n")
        assert second.submit(shell("true"), key="k") == job


def test_output_of_jobs(session: JobSession, tmp_path: Path) -> None:
    odd = tmp_path / "it's $(touch x) -n.txt"
    job = session.submit(shell("printf '\\377'; sleep 0", stdout=str(odd), stderr="-e"))
    job.wait()
    assert (job.stdout(), job.stderr()) == ("�", "")
    odd.unlink()
    assert job.stdout() == ""
    with pytest.raises(JobNotFoundError, match="no stdout in the record"):
        session.get_job("999").stdout()


def test_output_that_is_no_file(session: JobSession) -> None:
    job = session.submit(shell("rm stdout; mkfifo stdout; rm stderr; mkdir stderr"))
    job.wait()
    for read in (job.stdout, job.stderr):
        with pytest.raises(ScriptFailedError, match="this is not a regular file"):
            read()
    job = session.submit(shell("echo x", stdout="/dev/null"))
    job.wait()
    assert job.stdout() == ""


def test_output_in_a_directory_that_is_gone(session: JobSession) -> None:
    job = session.submit(shell("true"))
    job.wait()
    os.rename(job.directory(), f"{job.directory()}.gone")
    with pytest.raises(ScriptFailedError, match="No such file"):
        job.stdout()


# Several jobs


def test_submit_many(session: JobSession) -> None:
    jobs = session.submit_many((shell(f"exit {n}") for n in range(12)), keys=[str(n) for n in range(12)])
    ended = session.wait_all(jobs)
    assert [ended[job.id].exit_code for job in jobs] == list(range(12))
    assert session.submit_many([shell("true")] * 2, keys=["3", "5"]) == [jobs[3], jobs[5]]


def test_submit_many_tells_what_was_submitted(session: JobSession) -> None:
    lost = shell("true", working_directory="/proc/none")
    with pytest.raises(SubmissionsFailedError) as caught:
        session.submit_many([shell("exit 1"), lost, shell("exit 2")])
    error = caught.value
    assert isinstance(error.errors[1], ScriptFailedError)
    assert (list(error.errors), error.job_ids[1]) == ([1], None)
    assert error.message.startswith("1 of 3 jobs were not submitted; job 2: ")
    ids = [job_id for job_id in error.job_ids if job_id]
    assert [session.get_job(job_id).wait().exit_code for job_id in ids] == [1, 2]


def test_submit_many_submits_nothing_if_a_job_is_refused(session: JobSession) -> None:
    known = session.submit(shell("true"), key="known")
    jobs = [
        shell("true"),
        shell("true", environment={"1": "x"}),
        shell("true", array="9-1"),
        shell("true", after_ok=["nobody"]),
        shell("true", after_ok=["later", known.id, "known"]),
        shell("true", after_ok="x", walltime=()),
        shell("true"),
        shell("true", environment={"1": "x"}),
    ]
    with pytest.raises(SubmissionsFailedError) as caught:
        session.submit_many(jobs, keys=[*"abcdef", "later", "known"])
    errors = caught.value.errors
    assert list(errors) == [1, 2, 3, 4, 5]
    assert [type(error) for error in errors.values()] == [
        ValueRefusedError, ValueRefusedError, JobNotFoundError, JobNotFoundError, ValueRefusedError
    ]  # fmt: skip
    assert caught.value.job_ids == (None,) * 8
    assert caught.value.message.startswith(
        "no job was submitted, because 5 of 8 are refused; job 2: field ENVIRONMENT"
    )
    assert session.list_jobs(include_ended=True) == [known]
    with pytest.raises(ValueError, match=r"^1 jobs have 2 keys: give one for each "):
        session.submit_many([shell("true")], keys=["a", "b"])


def test_what_is_no_job_and_no_profile_is_refused_in_words(session: JobSession, tmp_path: Path) -> None:
    wrong: Any
    with pytest.raises(TypeError, match=r"^None is not a JobDescription: give JobDescription"):
        session.submit(None)  # type: ignore[arg-type]
    for wrong in ("/bin/date", None):
        with pytest.raises(TypeError, match=f"^{wrong!r} is not a JobDescription"):
            session.submit_many([shell("true"), wrong])
    for call in (session.statuses, session.wait_all, session.wait_any):
        with pytest.raises(TypeError, match=r"^'12' is not a list of jobs: give \['12'\]"):
            call("12")
    assert session.list_jobs(include_ended=True) == []
    wrong = tmp_path
    with pytest.raises(TypeError, match="is neither a Profile nor the name of one"):
        JobSession(wrong)


def test_the_home_directory_in_the_path_of_the_record(
    toy: Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with JobSession(toy.profile, store="~/own.db") as session:
        assert session.store_path == str(tmp_path / "own.db")
    assert (tmp_path / "own.db").is_file()
    assert not (tmp_path / "~").exists()


def test_two_jobs_of_one_key_must_be_the_same(session: JobSession) -> None:
    jobs = [shell("exit 1"), shell("exit 2"), shell("exit 1"), shell("exit 3")]
    with pytest.raises(SubmissionsFailedError) as caught:
        session.submit_many(jobs, keys=["a", "a", "a", "b"])
    assert list(caught.value.errors) == [1]
    assert (
        caught.value.errors[1].message == "the key a is also that of an earlier job, whose request is another"
    )
    assert session.list_jobs(include_ended=True) == []


def test_a_text_that_is_no_quantity_is_refused_with_the_units(tmp_path: Path) -> None:
    session = JobSession("linux", store=str(tmp_path / "own.db"))
    for values, hint in (
        ({"walltime": "abc"}, "1h30m"), ({"memory": "4 GB"}, "4G"),
        ({"cputime": "10:00"}, "1h30m"), ({"walltime": 1.5}, "1h30m"),
    ):  # fmt: skip
        with pytest.raises(ValueRefusedError) as caught:
            session.submit(shell("true", **values))
        assert hint in caught.value.hint


def test_jobs_of_submit_many_may_depend_on_earlier_ones(session: JobSession, toy: Toy) -> None:
    """Each is submitted when the id of the one before it is known; this batch system only writes down that it waits."""
    (toy.path / "stopped").touch()
    chain = [shell("true", after_ok=[f"it's {n - 1}"] if n else []) for n in range(40)]
    jobs = session.submit_many(chain, keys=[f"it's {n}" for n in range(40)])
    waits = [(toy.path / "jobs" / job.id / "after").read_text().strip() for job in jobs]
    assert waits == ["", *(f"afterok:{job.id}" for job in jobs[:-1])]


def test_only_few_scripts_of_many_jobs_are_in_memory(
    toy: Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And each result is told as soon as it is known."""
    results: dict[int, object] = {}
    live: list[int] = []

    async def submit(target: TargetSystem) -> list[str]:
        submit_part = JobSubmitter.submit_jobs
        begun = 0

        async def count(
            submitter: JobSubmitter, jobs: Sequence[Any], on_result: Callable[..., object]
        ) -> None:
            nonlocal begun
            begun += len(jobs)
            live.append(begun)
            await submit_part(submitter, jobs, on_result)
            begun -= len(jobs)

        monkeypatch.setattr(JobSubmitter, "submit_jobs", count)
        return await target.submit_many([shell("true")] * 120, on_result=results.__setitem__)

    store = str(tmp_path / "jobs.db")
    with JobSession(toy.profile, store=store, timing=QUICK, max_parallel_scripts=2) as session:
        ids = session.run(submit)
        session.wait_all(ids)
    assert [results[position] for position in range(120)] == ids
    assert max(live) == 80


def test_waiting_for_several(toy: Toy, session: JobSession) -> None:
    gates = [toy.path / f"gate{n}" for n in range(3)]
    jobs = [session.submit(shell(f"until [ -e {gate} ]; do sleep 0.02; done")) for gate in gates]
    gates[1].touch()
    assert session.wait_any(jobs).job_id == jobs[1].id
    with pytest.raises(TimeoutError, match=r"^not done after 0.2 s; the jobs go on$"):
        session.wait_all(jobs, timeout=0.2)
    ended = session.as_completed([job.id for job in jobs])
    assert next(ended).job_id == jobs[1].id
    gates[2].touch()
    assert next(ended).job_id == jobs[2].id
    gates[0].touch()
    assert [status.job_id for status in ended] == [jobs[0].id]
    assert list(session.as_completed([])) == []
    assert session.wait_all([]) == {}
    with pytest.raises(ValueError, match="needs a job"):
        session.wait_any([])


def test_a_timeout_leaves_the_job_alone(toy: Toy, session: JobSession) -> None:
    gate = toy.path / "gate"
    job = session.submit(shell(f"until [ -e {gate} ]; do sleep 0.02; done; exit 4"))
    with pytest.raises(TimeoutError):
        job.wait(0.1)
    with pytest.raises(TimeoutError, match=r"^not done after 0.1 s; the jobs go on$"):
        session.wait_any([job], 0.1)
    gate.touch()
    assert job.wait(NEVER).exit_code == 4


def test_an_unknown_job(session: JobSession) -> None:
    job = session.submit(shell("sleep 100"))
    unknown = session.get_job("987654")
    for wait in (unknown.wait, unknown.status, lambda: session.watch(unknown)):
        with pytest.raises(JobNotFoundError):
            wait()
    with pytest.raises(JobNotFoundError):
        session.wait_all([job, "987654"])
    assert session.get_cached_status("987654") is None
    assert session.statuses(["987654"]) == {}
    assert session.statuses()[job.id].state in {JobState.QUEUED, JobState.RUNNING}
    job.cancel()


def test_what_the_class_has_no_method_for(session: JobSession) -> None:
    async def render(target: TargetSystem) -> str:
        return await target.render_start_script(JobDescription(executable="/bin/date"))

    assert "/bin/date" in session.run(render)

    async def hang(_target: TargetSystem) -> None:
        await asyncio.sleep(NEVER)

    with pytest.raises(TimeoutError):
        session.run(hang, timeout=0.1)


# Events


def test_listeners(session: JobSession, caplog: pytest.LogCaptureFixture) -> None:
    told: list[JobEvent] = []
    names: list[str] = []

    def fail(_event: JobEvent) -> None:
        message = "by intent"
        raise ValueError(message)

    def ask(event: JobEvent) -> None:  # a listener may call the session
        names.append(f"{threading.current_thread().name} {session.get_job(event.job_id).status().job_id}")

    for listener in (fail, lambda _event: sys.exit(3), told.append, ask):
        session.add_listener(listener)
    with caplog.at_level(logging.CRITICAL, "osprofile.jobs"):
        jobs = session.submit_many([shell(f"exit {n}") for n in range(5)])
        session.wait_all(jobs)
        wait_until(lambda: sum(e.state.is_terminal for e in told) == 5)
    ends = {event.job_id: event.status.exit_code for event in told if event.state.is_terminal}
    assert ends == {job.id: n for n, job in enumerate(jobs)}
    wait_until(lambda: len(names) == len(told))
    assert {name.split()[0] for name in names} == {"osprofile-events"}
    session.remove_listener(told.append)
    with pytest.raises(ValueError, match="not in list"):
        session.remove_listener(told.append)
    count = len(told)
    session.submit(shell("true")).wait()
    wait_until(lambda: len(names) > count)
    assert len(told) == count


def test_a_session_queries_its_jobs_on_its_own(session: JobSession) -> None:
    job, *others = session.submit_many([shell("exit 2")] * 2)
    wait_until(lambda: (status := session.get_cached_status(job.id)) and status.exit_code == 2)
    others.append(session.submit(shell("true")))
    for other in others:
        wait_until(lambda other=other: session.get_cached_status(other.id).state is JobState.DONE)


def test_a_session_keeps_no_ended_job_in_memory(session: JobSession) -> None:
    async def list_kept(target: TargetSystem) -> set[str]:
        return set(target.jobs.by_id)

    job, array, other = session.submit_many([shell("exit 2"), shell("true", array="1-3"), shell("sleep 600")])
    assert job.wait().exit_code == 2
    assert array.wait().exit_code == 0
    wait_until(lambda: session.run(list_kept) == {other.id})
    known = session.get_cached_status(job)
    assert known is not None
    assert (known.exit_code, job.status().exit_code, job.wait().exit_code) == (2, 2, 2)
    assert len(array.task_statuses()) == 3
    assert array.status().reason == array.wait().reason
    other.cancel()
    assert other.wait().state is JobState.REMOVED
    wait_until(lambda: not session.run(list_kept))


def test_close_waits_for_the_listeners(toy: Toy, tmp_path: Path) -> None:
    told = []
    with JobSession(toy.profile, store=str(tmp_path / "jobs.db"), timing=QUICK) as session:
        session.add_listener(lambda event: (time.sleep(0.3), told.append(event.state)))
        session.submit(shell("true")).wait()
    assert told[-1] is JobState.DONE


def test_a_listener_may_close_the_session(toy: Toy, tmp_path: Path) -> None:
    session = JobSession(toy.profile, store=str(tmp_path / "jobs.db"), timing=QUICK)
    closed = threading.Event()

    def close(event: JobEvent) -> None:
        if event.state.is_terminal:
            session.close()
            closed.set()

    session.add_listener(close)
    session.submit(shell("true"))
    assert closed.wait(PATIENCE)
    with pytest.raises(RuntimeError, match="closed"):
        session.list_jobs()


# Threads, closing


def test_any_thread_may_call(session: JobSession) -> None:
    with ThreadPoolExecutor(8) as executor:
        codes = executor.map(lambda n: session.submit(shell(f"exit {n}")).wait().exit_code, range(8))
        assert [*codes] == [*range(8)]


def test_a_closed_session(toy: Toy, tmp_path: Path) -> None:
    session = JobSession(toy.profile, store=str(tmp_path / "jobs.db"), timing=QUICK)
    job = session.submit(shell("true"))
    session.close()
    session.close()
    assert "closed" in repr(session)
    for call in (job.status, session.list_jobs, lambda: session.submit(shell("true"))):
        with pytest.raises(RuntimeError, match="the session is closed"):
            call()  # type: ignore[operator]


def test_closing_ends_the_waiting_of_other_threads(toy: Toy, tmp_path: Path) -> None:
    session = JobSession(toy.profile, store=str(tmp_path / "jobs.db"), timing=QUICK)
    job = session.submit(shell("sleep 60"))
    with ThreadPoolExecutor() as executor:
        waiting = executor.submit(job.wait)
        time.sleep(0.3)
        session.close()
        assert isinstance(waiting.exception(PATIENCE), RuntimeError)
    with JobSession(toy.profile, store=str(tmp_path / "jobs.db")) as other:
        other.get_job(job.id).cancel()


def test_a_call_inside_the_loop_is_refused(session: JobSession) -> None:
    async def ask(_target: TargetSystem) -> object:
        await asyncio.sleep(0)
        return session.list_jobs()

    with pytest.raises(RuntimeError, match="would wait for itself"):
        session.run(ask)


def test_in_a_running_event_loop(session: JobSession) -> None:
    """As in a notebook, whose cells run inside a loop."""

    async def cell() -> int | None:
        await asyncio.sleep(0)
        return session.submit(shell("exit 5")).wait().exit_code

    assert asyncio.run(cell()) == 5


def test_a_profile_that_cannot_be_used(toy: Toy, tmp_path: Path) -> None:
    with pytest.raises(osprofile.ProfileNotFoundError):
        JobSession("no-such-profile")
    (tmp_path / "record").write_text("not a database, but long enough to look at\n" * 20)
    with pytest.raises(osprofile.StoreError):
        JobSession(toy.profile, store=str(tmp_path / "record"))
    with pytest.raises(osprofile.UnknownFieldError):
        JobSession("linux", {"CLUSTER": "x"}, store=":memory:")
    with pytest.raises(ValueError, match="less than 1"):
        JobSession("linux", store=":memory:", max_parallel_scripts=0)


# Processes: each in a program of its own

PROGRAM = """\
import os, signal, sys, threading, time
import osprofile
def job(text): return osprofile.JobDescription(executable="/bin/sh", arguments=["-c", text])
session = osprofile.JobSession("linux", store="jobs.db")
"""


def run_program(tmp_path: Path, text: str, *, status: int = 0) -> str:
    """Run a program in an empty home; return its output, with nothing on standard error."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM + textwrap.dedent(text)],
        cwd=tmp_path,
        env=os.environ | {"HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stderr) == (status, "")
    return done.stdout


def test_the_end_of_a_program(tmp_path: Path) -> None:
    """Nothing needs to be closed, and the job goes on."""
    text = """
    import pathlib
    session.add_listener(print)
    pathlib.Path("id").write_text(session.submit(job("sleep 1; exit 9")).id)
    """
    run_program(tmp_path, text)  # what it prints may be of two threads at once
    ended = run_program(
        tmp_path, f"print(session.get_job({(tmp_path / 'id').read_text()!r}).wait().exit_code)"
    )
    assert ended == "9\n"


def test_the_end_of_a_program_while_another_thread_waits(tmp_path: Path) -> None:
    text = """
    waiting = threading.Thread(target=session.submit(job("sleep 30")).wait, daemon=True)
    waiting.start()
    while not (jobs := session.list_jobs()):
        time.sleep(0.02)
    jobs[0].cancel()
    print("end")
    """
    assert run_program(tmp_path, text) == "end\n"


def test_a_fork(tmp_path: Path) -> None:
    text = """
    first = session.submit(job("exit 1"))
    child = os.fork()
    if not child:
        codes = first.wait().exit_code, session.submit(job("exit 2"), key="of the child").wait().exit_code
        os.write(1, repr(codes).encode() + b"\\n")
        sys.exit(0)
    os.waitpid(child, 0)
    print(first.wait().exit_code, len(session.list_jobs(include_ended=True)))
    """
    assert run_program(tmp_path, text) == "(1, 2)\n1 2\n"


def test_a_fork_while_another_thread_submits(tmp_path: Path) -> None:
    text = """
    thread = threading.Thread(target=lambda: [session.submit(job("true")) for _ in range(5)])
    thread.start()
    children = []
    for n in range(5):
        child = os.fork()
        if not child:
            session.submit(job("true"))
            os._exit(0)
        children.append(child)
        time.sleep(0.05)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    thread.join()
    print(codes, len(session.list_jobs(include_ended=True)))
    """
    assert run_program(tmp_path, text) == "[0, 0, 0, 0, 0] 10\n"


def test_a_fork_while_jobs_are_awaited(tmp_path: Path) -> None:
    text = """
    ended = session.as_completed([session.submit(job("true")), session.submit(job("sleep 1"))])
    next(ended)
    child = os.fork()
    if not child:
        try:
            next(ended)
        except RuntimeError as error:
            os.write(1, str(error).encode() + b"\\n")
        os._exit(0)
    os.waitpid(child, 0)
    print(next(ended).exit_code)
    """
    expected = "the jobs are awaited by the process that this one was forked from\n0\n"
    assert run_program(tmp_path, text) == expected


def test_an_interruption_ends_the_waiting_and_not_the_session(tmp_path: Path) -> None:
    text = """
    running = session.submit(job("sleep 2; exit 6"))
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        running.wait()
    except KeyboardInterrupt:
        print("interrupted")
    print(running.wait().exit_code)
    """
    assert run_program(tmp_path, text) == "interrupted\n6\n"


def test_an_interrupted_submission_is_completed_by_its_key(tmp_path: Path) -> None:
    text = """
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    for delay in (0.001, 0.01, 0.02, 0.03, 0.05):
        try:
            signal.setitimer(signal.ITIMER_REAL, delay)
            session.submit(job("exit 8"), key="k")
            signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            pass
    print(session.submit(job("exit 8"), key="k").wait().exit_code)
    print(len(session.list_jobs(include_ended=True)))
    """
    assert run_program(tmp_path, text) == "8\n1\n"


def test_the_record_is_that_of_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSPROFILE_STORE", str(tmp_path / "record"))
    with JobSession("linux") as session:
        assert session.store_path == str(tmp_path / "record")
    monkeypatch.setenv("OSPROFILE_STORE", "")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with JobSession("linux") as session:
        assert session.store_path == str(tmp_path / "osprofile/jobs.db")
