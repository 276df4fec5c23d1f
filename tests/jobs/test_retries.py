"""Jobs that are submitted again by a rule: what a rule says, what each attempt gets, and that none is lost or doubled."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osprofile.errors import ValueRefusedError
from osprofile.jobs.record.store import Store
from osprofile.jobs.retries import AMOUNTS, CAUSES, RetryRule, multiply, parse_retries
from osprofile.jobs.session import JobSession
from osprofile.jobs.state import EndCause, JobState
from osprofile.jobs.submit.attempts import find_due_retries, list_all_runs
from osprofile.jobs.target_system import TargetSystem
from osprofile.profile.repository import Repository
from tests.hunting import rounds
from tests.jobs.conftest import QUICK, get_record, shell
from tests.jobs.test_cut import is_outside
from tests.waiting import wait_until, wait_until_async

if TYPE_CHECKING:
    from types import FrameType

    from osprofile.jobs.record.store import JobRecord
    from osprofile.profile.model import Profile
    from tests.jobs.conftest import Toy

END = ': > "$TOY/jobs/$GPE_JOB_ID/killed"; echo {} > "$TOY/jobs/$GPE_JOB_ID/state"'
"""What a job runs that the batch system ends: the word is that of its state."""
NEEDS_800 = f'echo "$GPE_MEMORY $GPE_CPUS"; [ "$GPE_MEMORY" -ge 800 ] || {{ {END.format("OOM")}; }}'
SITE = """<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" xmlns:idb="http://gpe.intel.com/idb"
    xmlns:ext="urn:osprofile:extension" name="site" extends="toy">
  <osp:UspaceRoot>{root}</osp:UspaceRoot>
  <osp:Delimiter>/</osp:Delimiter>
  <idb:Template name="">
    <idb:Field name="MEMORY" ext:type="integer"><idb:Description>MiB.</idb:Description>
      <idb:Max>1000</idb:Max><idb:Default/></idb:Field>
    <idb:Field name="MEMORY" ext:for="QUEUE=small"><idb:Max>300</idb:Max></idb:Field>
    <idb:Field name="MEMORY" ext:for="QUEUE=large"><idb:Max>700</idb:Max></idb:Field>
  </idb:Template>
</osp:Profile>"""


# Rules


RULES: dict[str, tuple[object, list[RetryRule]]] = {
    "a cause": ("NODE", [RetryRule("NODE")]),
    "a factor": ("MEMORY: memory*2", [RetryRule("MEMORY", {"memory": "2"})]),
    "all of it": (
        "TIME: walltime * 1.5 , cpus*2, at most 3",
        [RetryRule("TIME", {"walltime": "1.5", "cpus": "2"}, 3)],
    ),
    "a number": ("NODE, at most 3", [RetryRule("NODE", {}, 3)]),
    "that goes on": ("TIME: continue, at most 5", [RetryRule("TIME", {}, 5, continues=True)]),
    "that goes on with more": (
        "MEMORY:memory*2,continue",
        [RetryRule("MEMORY", {"memory": "2"}, 1, continues=True)],
    ),
    "two in a text": ("NODE; TIME: walltime*2;", [RetryRule("NODE"), RetryRule("TIME", {"walltime": "2"})]),
    "two texts": (["NODE", "LOST: 2"], [RetryRule("NODE"), RetryRule("LOST", {}, 2)]),
    "a mapping": (
        {"NODE": 3, EndCause.MEMORY: "memory*2, at most 2"},
        [RetryRule("NODE", {}, 3), RetryRule("MEMORY", {"memory": "2"}, 2)],
    ),
    "none": ((), []),
    "nothing": ("", []),
}


@pytest.mark.parametrize("name", RULES)
def test_a_rule_is_read(name: str) -> None:
    value, rules = RULES[name]
    assert parse_retries(value) == rules
    assert parse_retries([str(rule) for rule in rules]) == rules


REFUSED = {
    "MEMRY": "'MEMRY' is no cause of an end",
    "node": "'node' is no cause",
    "USER": "'USER' whoever cancelled",
    "MEMORY: memry*2": "'memry' cannot be multiplied",
    "MEMORY: name*2": "'name' cannot be multiplied",
    "MEMORY: memory*1": "1 is not greater than 1",
    "MEMORY: memory*-2": "neither a factor nor a number",
    "MEMORY: memory*2, memory*3": "memory has two factors",
    "MEMORY: at most 2, memory*2": "nothing may follow its number",
    "MEMORY: at most x": "neither a factor nor a number",
    "TIME: continue, continue": "'continue' is neither a factor nor a number",
    "LOST: continue": "a lost job may still run",
    "MEMORY:,": "neither a factor nor a number",
    "NODE; NODE: 2": "NODE has two rules",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_rule_is_refused_with_what_is_allowed(text: str) -> None:
    with pytest.raises(ValueRefusedError) as caught:
        parse_retries(text)
    assert REFUSED[text] in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("value", [3, None, [3], {"NODE": None}, {"NODE": True}, {"NODE": -1}, b"NODE"])
def test_other_types_are_refused(value: object) -> None:
    with pytest.raises(ValueRefusedError, match="retry: "):
        parse_retries(value)


WORDS = st.sampled_from(
    [*CAUSES, *AMOUNTS, "continue", ":", ",", ";", "*", "2", "1.5", "at most", " ", "\n", "~", "²", "0"]
)


@given(st.one_of(st.text(), st.lists(WORDS, max_size=12).map("".join)))
def test_any_text_is_rules_that_can_be_written_or_is_refused(text: str) -> None:
    try:
        rules = parse_retries(text)
    except ValueRefusedError:
        return
    assert parse_retries([str(rule) for rule in rules]) == rules


@given(st.integers(1, 2**40), st.decimals(1, 9999, places=4))
def test_an_amount_grows(amount: int, factor: object) -> None:
    grown = multiply(amount, str(factor))
    assert grown >= amount
    assert multiply(100, "1.1") == 110


# Attempts


def list_attempts(store: Store, target: str, job_id: str) -> list[JobRecord]:
    return list_all_runs(store, get_record(store, target, job_id))


def read(path: Path) -> str:
    return path.read_text() if path.exists() else ""


async def test_each_attempt_gets_more_until_it_is_enough(
    target: TargetSystem, caplog: pytest.LogCaptureFixture
) -> None:
    async with target:
        job = shell(NEEDS_800, memory=200, cpus=2, retry="MEMORY: memory*2, cpus*1.5, at most 3")
        first = await target.submit(job)
        end = await target.wait(first)
        runs = list_attempts(target.store, target.name, first)
        assert [(r.status.state, r.status.cause) for r in runs] == [
            (JobState.FAILED, EndCause.MEMORY),
            (JobState.FAILED, EndCause.MEMORY),
            (JobState.DONE, None),
        ]
        assert end == runs[-1].status
        assert (runs[0].status.job_id, end.exit_code) == (first, 0)
        outputs = [await target.read_stdout(run.status.job_id) for run in runs]
        assert outputs == [b"200 2\n", b"400 3\n", b"800 5\n"]
        left = [target.store.read_details(run.number).retry for run in runs]
        assert left[1:] == [
            ("MEMORY: memory*2, cpus*1.5, at most 2",),
            ("MEMORY: memory*2, cpus*1.5, at most 1",),
        ]
        # who waits once more follows the same attempts
        assert await target.wait(first) == end
        assert len(target.store.list_all_jobs()) == 3
    assert "it exceeded its memory limit; submitted again as job 2: memory 400M, cpus 3" in caplog.text


async def test_a_rule_applies_once_unless_it_says_more(target: TargetSystem) -> None:
    async with target:
        job = await target.submit(shell(END.format("DEAD"), retry=["NODE", "TIME: cpus*2", "LOST"], cpus=1))
        end = await target.wait(job)
        assert (end.job_id, end.cause) == ("2", EndCause.NODE)
        assert target.store.read_details(2).retry == ("TIME: cpus*2, at most 1", "LOST, at most 1")


@pytest.mark.parametrize("text", ["exit 3", "kill -s KILL $$", END.format("LATE"), END.format("GONE")])
async def test_no_other_end_is_followed_by_an_attempt(target: TargetSystem, text: str) -> None:
    async with target:
        job = await target.submit(shell(text, retry="MEMORY: memory*2; NODE", memory=100))
        assert (await target.wait(job)).job_id == job
        assert await target.retry(job) is None
        assert len(target.store.list_all_jobs()) == 1


async def test_a_cause_that_comes_late_counts(toy: Toy) -> None:
    """As long as the batch system is silent, or does not know the job, nothing is submitted; then its word decides."""
    async with TargetSystem(toy.profile, timing=QUICK) as target:
        (toy.path / "stopped").touch()
        job = await target.submit(shell("exit 0", retry="NODE"))
        waiting = asyncio.create_task(target.wait(job))
        (toy.path / "broken").write_text("no answer\n")
        asked = read(toy.path / "asked")
        await wait_until_async(lambda: len(read(toy.path / "asked")) > len(asked) + 4)
        assert len(target.store.list_all_jobs()) == 1
        (toy.path / "stopped").unlink()
        (toy.path / f"jobs/{job}/state").write_text("DEAD\n")
        (toy.path / "broken").unlink()
        end = await waiting
        assert (end.job_id, end.exit_code) == ("2", 0)


async def test_an_attempt_has_all_that_its_job_was_submitted_with(toy: Toy, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("seven\n")
    job = shell(
        f'cat data; echo "$COLOUR"; {END.format("DEAD")}',
        name="fit",
        environment={"COLOUR": "red"},
        inputs=[str(tmp_path / "data")],
        fetch=["stdout"],
        retry={"NODE": 1},
    )
    async with TargetSystem(
        toy.profile, {"VERSION:X": "1"}, store=Store(str(tmp_path / "r")), timing=QUICK
    ) as target:
        first = await target.submit(job, key="k")
    # another process, which was not told the special fields
    async with TargetSystem(toy.profile, store=Store(str(tmp_path / "r")), timing=QUICK) as target:
        end = await target.wait(first)
        one, two = (
            target.store.read_details(run.number) for run in list_attempts(target.store, "toy", first)
        )
        assert two._replace(history=one.history, retry=one.retry) == one
        assert one.context["VERSION:X"] == "1"
        assert (await target.read_stdout(end.job_id)) == b"seven\nred\n"
        record = target.store.find_by_key("toy", "k~2")
        assert record is not None
        assert (record.name, record.status.job_id) == ("fit", end.job_id)


async def test_an_attempt_that_cannot_be_submitted_stays_due(
    toy: Toy, caplog: pytest.LogCaptureFixture
) -> None:
    async with TargetSystem(toy.profile, timing=QUICK) as target:
        job = await target.submit(shell(END.format("DEAD"), retry="NODE"))
        await wait_until_async(lambda: read(toy.path / "jobs/1/state") == "DEAD\n")
        toysub = (toy.path / "bin/toysub").read_text()
        (toy.path / "bin/toysub").write_text("#!/bin/sh\necho 'no more today' >&2; exit 1\n")
        end = await target.wait(job)
        assert end.job_id == job
        assert "job 1 is not submitted again: " in caplog.text
        assert find_due_retries(target.store, get_record(target.store, "toy", job))
        (toy.path / "bin/toysub").write_text(toysub)
        assert (await target.wait(job)).job_id == "2"


async def test_an_older_job_with_the_key_of_an_attempt_is_none(
    target: TargetSystem, caplog: pytest.LogCaptureFixture
) -> None:
    """A user has given its key to another job, or it is left of an earlier job whose record is gone."""
    async with target:
        older = await target.submit(shell("exit 0"), key="k~2")
        job = await target.submit(shell(END.format("DEAD"), retry="NODE"), key="k")
        end = await target.wait(job)
        assert (end.job_id, end.cause) == (job, EndCause.NODE)
        assert target.list_attempts(job) == [job]
        assert (await target.wait(older)).exit_code == 0
        assert len(target.store.list_all_jobs()) == 2
    assert "is not submitted again: its next attempt would have the key k~2, which an older" in caplog.text


async def test_all_who_wait_follow_one_attempt(toy: Toy, tmp_path: Path) -> None:
    stores = [Store(str(tmp_path / "record")) for _ in range(3)]
    targets = [TargetSystem(toy.profile, store=store, timing=QUICK) for store in stores]
    job = await targets[0].submit(shell(END.format("DEAD"), retry="NODE, at most 2"))
    ends = await asyncio.gather(*(target.wait(job) for target in targets for _ in range(2)))
    assert {end.job_id for end in ends} == {"3"}
    assert len(toy.submissions) == 3
    for target in targets:
        await target.close()


async def test_an_id_that_is_used_again_has_an_attempt_of_its_own(toy: Toy) -> None:
    async with TargetSystem(toy.profile, timing=QUICK) as target:
        job = shell(END.format("DEAD"), retry="NODE")
        assert await target.submit(job, key="first") == "1"
        assert (await target.wait("1")).job_id == "2"
        shutil.rmtree(toy.path / "jobs/1")
        assert await target.submit(job, key="second") == "1"
        assert (await target.wait("1")).job_id == "3"
        assert len(toy.submissions) == 4


def test_a_session_follows(toy: Toy) -> None:
    with JobSession(toy.profile, store=":memory:", timing=QUICK) as session:
        jobs = session.submit_many([shell(END.format("DEAD"), retry="NODE"), shell("exit 4", retry="NODE")])
        ends = session.wait_all(jobs)
        assert [ends[job.id].cause for job in jobs] == [EndCause.NODE, None]
        assert jobs[0].wait().job_id not in {job.id for job in jobs}
        assert jobs[1].wait().job_id == jobs[1].id


def test_a_session_in_which_nobody_waits_follows_too(toy: Toy, caplog: pytest.LogCaptureFixture) -> None:
    with JobSession(toy.profile, store=":memory:", timing=QUICK) as session:
        told: list[tuple[str, JobState]] = []
        session.add_listener(lambda event: told.append((event.job_id, event.state)))
        session.submit(shell(END.format("DEAD"), retry="NODE, at most 2"), key="k")
        wait_until(lambda: ("3", JobState.FAILED) in told)
        assert {job_id for job_id, state in told if state is JobState.FAILED} == {"1", "2", "3"}
        end = session.get_job(key="k").wait()
        assert (end.job_id, len(toy.submissions)) == ("3", 3)
    assert sum("submitted again as job" in record.message for record in caplog.records) == 2


async def test_a_retry_that_is_cut_by_the_end_of_a_session_is_completed(toy: Toy, tmp_path: Path) -> None:
    store = str(tmp_path / "record")
    async with TargetSystem(toy.profile, store=Store(store), timing=QUICK) as target:
        job = await target.submit(shell(END.format("DEAD"), retry="NODE"))
        (toy.path / "bin/toysub").rename(toy.path / "bin/toysub.real")
        slow = ': > "$TOY/begun"; until [ -e "$TOY/go" ]; do sleep 0.05; done; exec toysub.real "$@"'
        (toy.path / "bin/toysub").write_text(f"#!/bin/sh\n{slow}\n")
        (toy.path / "bin/toysub").chmod(0o755)
        waiting = asyncio.create_task(target.wait(job))
        await wait_until_async((toy.path / "begun").exists)
    with pytest.raises(asyncio.CancelledError):
        await waiting
    (toy.path / "go").touch()
    async with TargetSystem(toy.profile, store=Store(store), timing=QUICK) as target:
        assert (await target.wait(job)).job_id == "2"
        assert len(toy.submissions) == 2


# In the same directory


HERE = """<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" name="here" extends="linux">
  <osp:UspaceRoot>{root}</osp:UspaceRoot>
  <osp:Delimiter>/</osp:Delimiter>
</osp:Profile>"""
STEPS = 'echo "$(cat data) $(ls | grep -c step)"; : > "step.$GPE_JOB_ID"; '


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Profile:
    """Return a profile of this machine, whose jobs stay below a directory of the test, where those of batch systems are."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "here.xml").write_text(HERE.format(root=tmp_path / ".gpe/work"))
    return Repository([str(tmp_path)]).load("here")


@pytest.mark.parametrize("place", ["own", "given"])
async def test_an_attempt_goes_on_where_the_one_before_it_was(
    here: Profile, tmp_path: Path, place: str
) -> None:
    """With its files and its inputs, which are not copied again, and adding to its output; as often as the rule says."""
    (tmp_path / "data").write_text("seven\n")
    (tmp_path / "given").mkdir()
    (tmp_path / "given/data").write_text("seven\n")
    more = {"inputs": [str(tmp_path / "data")]} if place == "own" else {"directory": str(tmp_path / "given")}
    text = f"{STEPS} tr a-z A-Z < data > new; mv new data; exec sleep 60"
    job = shell(text, walltime=1, stdout="out", retry="TIME: continue, at most 2", **more)
    async with TargetSystem(here, store=Store(str(tmp_path / "r")), timing=QUICK) as target:
        first = await target.submit(job)
        end = await target.wait(first)
        runs = list_attempts(target.store, target.name, first)
        assert [run.status.cause for run in runs] == [EndCause.TIME] * 3
        assert (end.job_id, len({run.directory for run in runs})) == (runs[2].status.job_id, 3)
        assert await target.read_stdout(end.job_id) == b"seven 0\nSEVEN 1\nSEVEN 2\n"
        assert await target.read_stdout(first) == await target.read_stdout(end.job_id)
        assert await target.retry(end.job_id) is None
        assert [target.store.read_details(run.number).retry for run in runs] == [
            ("TIME: continue, at most 2",),
            ("TIME: continue, at most 1",),
            (),
        ]
        files = ["out", "step*"] if place == "own" else ["out"]
        fetched = await target.fetch(end.job_id, files, str(tmp_path / "got"))
        steps = {f"step.{run.status.job_id}" for run in runs if place == "own"}
        assert {os.path.basename(file.path) for file in fetched} == {"out"} | steps


async def test_the_tasks_of_an_array_go_on(here: Profile, tmp_path: Path) -> None:
    text = """i=$GPE_ARRAY_INDEX; echo "$i" >> "runs.$i"; echo "$(wc -l < "runs.$i")"; [ "$i" = 1 ] || [ -e saved ] ||
        { : > saved; exec sleep 60; }"""
    async with TargetSystem(here, store=Store(str(tmp_path / "r")), timing=QUICK) as target:
        first = await target.submit(shell(text, array="1-2", walltime=2, retry="TIME: continue"))
        end = await target.wait(first)
        assert (end.state, end.exit_code) == (JobState.DONE, 0)
        one, two = list_attempts(target.store, target.name, first)
        assert (one.directory == two.directory, read(Path(one.directory, "runs.2"))) == (False, "2\n2\n")
        outputs = [read(Path(one.directory, f"stdout.{index}")) for index in (1, 2)]
        assert outputs == ["1\n", "1\n2\n"]
        fetched = await target.fetch(two.status.job_id, ["runs.*"], str(tmp_path / "got"))
        assert len(fetched) == 2


@pytest.mark.parametrize("text", ["exit 3", "kill -s KILL $$", "kill -s USR1 $$"])
async def test_only_the_cause_of_a_rule_lets_a_job_go_on(here: Profile, text: str) -> None:
    async with TargetSystem(here, store=Store(":memory:"), timing=QUICK) as target:
        job = shell(text, walltime=60, signal="USR1@1", retry="TIME: continue, at most 9")
        first = await target.submit(job)
        assert (await target.wait(first)).job_id == first
        assert len(target.store.list_all_jobs()) == 1


async def test_a_job_that_is_cancelled_does_not_go_on(here: Profile) -> None:
    async with TargetSystem(here, store=Store(":memory:"), timing=QUICK) as target:
        rules = "TIME: continue, at most 9; NODE; SIGNAL"
        job = await target.submit(shell("sleep 60", walltime=600, signal="TERM@1", retry=rules))
        await target.abort(job)
        assert (await target.wait(job)).state is JobState.REMOVED
        assert len(target.store.list_all_jobs()) == 1


async def test_a_profile_whose_programs_run_in_the_working_directory_alone_refuses_to_go_on(
    target: TargetSystem,
) -> None:
    async with target:
        with pytest.raises(ValueRefusedError, match="continue, at most 1: jobs of this profile cannot go on"):
            await target.submit(shell("exit 0", retry="TIME: continue"))
        assert target.store.list_all_jobs() == []


# The site's limits


async def test_a_site_says_which_rules_it_allows(toy: Toy) -> None:
    pattern = "(?:NODE|PREEMPTED), at most 2|MEMORY: .*"
    field = f'<idb:Field name="RETRY" isSettable="false" ext:pattern="{pattern}">'
    field += "<idb:Description>NODE and PREEMPTED alone.</idb:Description><idb:Value/></idb:Field>"
    text = SITE.format(root=toy.path.parent / "work").replace("</idb:Template>", f"{field}</idb:Template>")
    profiles = toy.path.parent / "profiles"
    (profiles / "site").mkdir()
    (profiles / "site/profile.xml").write_text(text)
    async with TargetSystem(Repository([str(profiles)]).load("site"), timing=QUICK) as target:
        for rule in ("NODE, at most 3", "NODE: cpus*2", "LOST", "MEMORY"):
            with pytest.raises(ValueRefusedError, match="does not match the pattern") as caught:
                await target.submit(shell("exit 0", cpus=1, retry=["PREEMPTED", rule]))
            assert caught.value.hint == "NODE and PREEMPTED alone."
            assert str(caught.value.location).startswith(f"{profiles}/site/profile.xml:")
        assert target.store.list_all_jobs() == []
        job = await target.submit(shell("exit 0", memory=9, retry=["NODE, 2", "MEMORY: memory*2"]))
        assert (await target.wait(job)).exit_code == 0
        # what is left of a rule is allowed, as well
        job = await target.submit(shell(END.format("DEAD"), retry="NODE, 2"))
        await target.wait(job)
        assert len(list_attempts(target.store, target.name, job)) == 3


REQUEUES: dict[str, tuple[str, dict[str, object], bool]] = {
    "asked for": ("slurm", {"retry": "NODE, at most 3"}, True),
    "in the same directory": ("sge", {"retry": "MEMORY: memory*2; NODE: continue", "memory": 9}, True),
    "the user says otherwise": ("slurm", {"retry": "NODE", "requeue": False}, False),
    "another cause": ("slurm", {"retry": "TIME"}, False),
    "with more": ("slurm", {"retry": "NODE: walltime*2", "walltime": 60}, False),
    "without such a field": ("linux", {"retry": "NODE"}, False),
    "the site says otherwise": ("site", {"retry": "NODE"}, False),
    "the site allows none": ("fixed", {"retry": "NODE"}, False),
}
REQUEUE_SITE = """<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" xmlns:idb="http://gpe.intel.com/idb"
    xmlns:ext="urn:osprofile:extension" name="{name}" extends="slurm">
  <osp:UspaceRoot>/tmp</osp:UspaceRoot><osp:Delimiter>/</osp:Delimiter>
  <idb:Template name=""><idb:Field name="REQUEUE" {field}</idb:Field></idb:Template>
</osp:Profile>"""


@pytest.mark.parametrize("name", REQUEUES)
async def test_the_batch_system_runs_a_job_again_whose_node_fails(tmp_path: Path, name: str) -> None:
    """So nobody has to follow it; and what is recorded of the request is what the user has said."""
    for site, field in (
        (
            "site",
            'ext:pattern="(?:no-)?requeue"><idb:Description>.</idb:Description><idb:Default>no-requeue</idb:Default>',
        ),
        ("fixed", 'isSettable="false"><idb:Value/>'),
    ):
        (tmp_path / f"{site}.xml").write_text(REQUEUE_SITE.format(name=site, field=field))
    profile, values, is_asked = REQUEUES[name]
    async with TargetSystem(Repository([str(tmp_path)]).load(profile), store=Store(":memory:")) as target:
        text = (await target.preview(shell("exit 0", **values))).text
        assert ("#SBATCH --requeue\n" in text or "#$ -r y\n" in text) is is_asked


@pytest.fixture
def site(toy: Toy) -> Profile:
    """Return a profile with limits of memory: 1000, in the queue `small` 300, in `large` 700."""
    profiles = toy.path.parent / "profiles"
    (profiles / "site").mkdir()
    (profiles / "site/profile.xml").write_text(SITE.format(root=toy.path.parent / "work"))
    return Repository([str(profiles)]).load("site")


RULE = "MEMORY: memory*2, at most 5"
LIMITS: dict[str, tuple[dict[str, object], str, str]] = {
    "none in reach": ({"memory": 100, "retry": "MEMORY: memory*2"}, "100 200", ""),
    "the site's": (
        {"memory": 300, "retry": RULE},
        "300 600 1000",
        "attempt 3 gets memory 1000M, the most that the site allows; there is no attempt 4",
    ),
    "the queue's": (
        {"memory": 200, "retry": RULE, "queue": "small"},
        "200 300",
        "attempt 2 gets memory 300M, the most that the site allows; there is no attempt 3",
    ),
    "of the largest queue": (
        {"memory": 200, "retry": RULE, "queue": "auto"},
        "200 400 700",
        "attempt 3 gets memory 700M, the most that the site allows; there is no attempt 4",
    ),
    "reached already": (
        {"memory": 1000, "retry": RULE},
        "1000",
        "the job has memory 1000M, the most that the site allows; there is no attempt 2",
    ),
}


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("array", [None, "7"], ids=["job", "array"])
async def test_what_the_site_allows_is_said_before_and_kept(
    site: Profile, name: str, array: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    values, memories, told = LIMITS[name]
    async with TargetSystem(site, timing=QUICK) as target:
        first = await target.submit(shell(f"echo $GPE_MEMORY; {END.format('OOM')}", array=array, **values))
        assert [r.getMessage() for r in caplog.records] == (
            [f"retry {values['retry']}: {told}"] if told else []
        )
        await target.wait(first)
        runs = list_attempts(target.store, target.name, first)
        ids = [run.status.job_id + ("_7" if array else "") for run in runs]
        outputs = [(await target.read_stdout(job_id)).decode() for job_id in ids]
        assert "".join(outputs).split() == memories.split()


async def test_an_amount_that_is_not_there_is_refused_before(site: Profile) -> None:
    async with TargetSystem(site, timing=QUICK) as target:
        with pytest.raises(ValueRefusedError, match="the job has no memory that can be multiplied"):
            await target.submit(shell("exit 0", retry=RULE))
        assert target.store.list_all_jobs() == []


# Killed at any point


def wait_killed(toy: Toy, store: str, call: int) -> bool:
    """Wait for the job of the key k in a process that is killed before the n-th call that reaches outside of it; False if it ended."""
    pid = os.fork()
    if pid == 0:
        remaining, has_begun = call, False

        def profile(frame: FrameType, event: str, function: object) -> None:
            nonlocal remaining, has_begun
            has_begun = has_begun or frame.f_code.co_name == "_submit_next_attempt"
            if has_begun and event == "c_call" and is_outside(function):
                remaining -= 1
                if remaining <= 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        try:
            sys.setprofile(profile)
            asyncio.run(wait(toy, store))
            sys.setprofile(None)
        finally:
            os._exit(0)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status) == -signal.SIGKILL


async def wait(toy: Toy, path: str) -> str:
    async with TargetSystem(toy.profile, store=Store(path), timing=QUICK) as target:
        record = target.store.find_by_key("toy", "k")
        assert record is not None
        return (await target.wait(record.status.job_id)).job_id


async def submit(toy: Toy, path: str) -> None:
    async with TargetSystem(toy.profile, store=Store(path), timing=QUICK) as target:
        await target.submit(shell(END.format("DEAD"), retry="NODE, at most 2"), key="k")


EACH = 2


@pytest.mark.race
@pytest.mark.hunt(EACH)
@pytest.mark.parametrize("first", range(1, EACH + 1))
def test_killed_between_every_two_steps(toy: Toy, tmp_path: Path, first: int) -> None:
    """Whoever waits next goes on where the killed process was: each attempt is submitted once."""
    call, points = first, 0
    asyncio.run(submit(toy, str(tmp_path / "warm.db")))
    asyncio.run(wait(toy, str(tmp_path / "warm.db")))  # imports count no calls
    while True:
        store, before = str(tmp_path / f"{call}.db"), len(toy.submissions)
        asyncio.run(submit(toy, store))
        was_killed = wait_killed(toy, store, call)
        last = asyncio.run(wait(toy, store))
        runs = [run for n in ("k", "k~2", "k~3") if (run := Store(store).find_by_key("toy", n))]
        assert [run.status.cause for run in runs] == [EndCause.NODE] * 3
        assert runs[-1].status.job_id == last
        assert sorted(toy.submissions[before:]) == sorted(run.directory for run in runs)
        assert len(Store(store).list_all_jobs()) == 3
        if not was_killed:
            break
        points += 1
        call += rounds(EACH, 8 * EACH)
    assert points > rounds(20, 4)
