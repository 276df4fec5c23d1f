"""Jobs that depend on others: keys become ids, and what nobody knows is refused before anything is done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from osprofile.errors import JobNotFoundError, OSProfileError, ScriptFailedError, ValueRefusedError
from osprofile.jobs.record.store import Store
from osprofile.jobs.request import build_request
from osprofile.jobs.state import JobState
from osprofile.jobs.target_system import TargetSystem
from tests.jobs.conftest import QUICK, shell
from tests.records import begin_submission

if TYPE_CHECKING:
    from collections.abc import Callable

    from osprofile.profile.model import Profile
    from tests.jobs.conftest import Toy


@pytest.mark.parametrize(
    ("attributes", "value"),
    [
        ({"after_ok": ["1"]}, "afterok:1"),
        ({"after_not_ok": ("1", "2.server")}, "afternotok:1:2.server"),
        (
            {"after_any": ["4"], "after_ok": ["1", "2"], "after_not_ok": ["3"]},
            "afterok:1:2,afternotok:3,afterany:4",
        ),
        ({"fields": {"DEPENDENCY": "afterok:9"}}, "afterok:9"),
    ],
)
def test_the_field(attributes: dict[str, Any], value: str) -> None:
    assert build_request(shell("true", **attributes))["DEPENDENCY"] == value


@pytest.fixture
def toy(toy: Toy) -> Toy:
    """Return the batch system, whose jobs wait until the test sets their states."""
    (toy.path / "stopped").touch()
    return toy


async def test_ids_keys_and_tasks(toy: Toy) -> None:
    store = Store()
    async with TargetSystem(toy.profile, store=Store(), timing=QUICK) as target:
        unrecorded = await target.submit(shell("true"))
    async with TargetSystem(toy.profile, store=store, timing=QUICK) as target:
        first = await target.submit(shell("true"), key="first")
        array = await target.submit(shell("true", array="1-3"), key="all of it")
        job = await target.submit(
            shell(
                "true",
                after_ok=["first", f"{array}_2"],
                after_not_ok=["all of it"],
                after_any=[unrecorded, first],
            ),
        )
        expected = f"afterok:{first}:{array}_2,afternotok:{array},afterany:{unrecorded}:{first}\n"
        assert (toy.path / "jobs" / job / "after").read_text() == expected
        assert toy.queried_ids == [unrecorded]
        # of a field, too
        last = await target.submit(shell("true", fields={"DEPENDENCY": f"afterok:{first}:{array}"}))
        assert (toy.path / "jobs" / last / "after").read_text() == f"afterok:{first}:{array}\n"


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ({"after_ok": ["99"]}, "cannot depend on 99: no such job is known"),
        ({"after_any": ["1", "nothing"]}, "cannot depend on nothing: no such job"),
        ({"after_any": [""]}, "cannot depend on '': no such job"),
        ({"after_not_ok": ["x;y"]}, "cannot depend on x;y: no such job"),
        ({"fields": {"DEPENDENCY": "afterok:1,afterany:1:98"}}, "cannot depend on 98"),
    ],
)
async def test_what_nobody_knows(
    toy: Toy, target: TargetSystem, attributes: dict[str, Any], words: str
) -> None:
    assert await target.submit(shell("true")) == "1"
    with pytest.raises(JobNotFoundError, match=words):
        await target.submit(shell("true", **attributes), key="k")
    assert target.store.find_by_key("toy", "k") is None
    assert len(target.store.list_all_jobs()) == len(toy.submissions) == 1


@pytest.mark.parametrize(
    ("attributes", "error"),
    [
        ({"after_ok": "1"}, ValueRefusedError),
        ({"fields": {"DEPENDENCY": "1"}}, ValueRefusedError),
        ({"fields": {"DEPENDENCY": "afterok"}}, ValueRefusedError),
        ({"fields": {"DEPENDENCY": "after:1"}}, ValueRefusedError),
        ({"after_ok": ["1"], "fields": {"DEPENDENCY": "afterok:1"}}, ValueRefusedError),
    ],
)
async def test_malformed_dependencies(
    toy: Toy, target: TargetSystem, attributes: dict[str, Any], error: type[OSProfileError]
) -> None:
    await target.submit(shell("true"))
    with pytest.raises(error):
        await target.submit(shell("true", **attributes))
    assert len(target.store.list_all_jobs()) == len(toy.submissions) == 1


async def test_a_key_whose_submission_is_not_complete(toy: Toy) -> None:
    store = Store()
    begin_submission(store, "toy", "/d", script="true", key="k")
    async with TargetSystem(toy.profile, store=store, timing=QUICK) as target:
        with pytest.raises(JobNotFoundError, match="the job with the key k has no id yet"):
            await target.submit(shell("true", after_any=["k"]))
    assert toy.submissions == []


async def test_a_batch_system_that_does_not_answer(toy: Toy) -> None:
    (toy.path / "refused.7").write_text("toy: the server is down\n")
    async with TargetSystem(toy.profile, timing=QUICK) as target:
        with pytest.raises(ScriptFailedError, match="the server is down"):
            await target.submit(shell("true", after_any=["7"]))
    assert toy.submissions == []


async def test_a_job_of_a_key_is_not_checked_again(target: TargetSystem) -> None:
    """Repeating a submission finds the job, whatever has become of those that it depended on."""
    first = await target.submit(shell("true"), key="first")
    job = await target.submit(shell("true", after_ok=["first"]), key="second")
    (record,) = [r for r in target.store.list_all_jobs() if r.status.job_id == first]
    target.store.delete_record(record.number)
    assert await target.submit(shell("true", after_ok=["first"]), key="second") == job


@pytest.mark.parametrize(
    ("end", "attribute", "runs"),
    [
        ("exit 0", "after_ok", True),
        ("exit 3", "after_ok", False),
        ("exit 3", "after_not_ok", True),
        ("exit 0", "after_not_ok", False),
        ("kill -s KILL $$", "after_any", True),
    ],
)
async def test_on_this_machine(
    load: Callable[[str], Profile], end: str, attribute: str, *, runs: bool
) -> None:
    async with TargetSystem(load(""), timing=QUICK) as target:
        first = await target.submit(shell(f"sleep 1; {end}"), key="first")
        status = await target.wait(await target.submit(shell("exit 7", **{attribute: ["first"]})))
        assert (await target.status(first)).state.is_terminal
        if runs:
            assert (status.state, status.exit_code) == (JobState.DONE, 7)
        else:
            assert (status.state, status.reason) == (JobState.REMOVED, "DEPENDENCY")


async def test_a_dependency_on_an_array_on_this_machine(load: Callable[[str], Profile]) -> None:
    async with TargetSystem(load(""), timing=QUICK) as target:
        array = await target.submit(shell("exit $((GPE_ARRAY_INDEX == 2))", array="1-3"))
        ok, not_ok, task = [
            await target.submit(shell("true", **{attribute: [job_id]}))
            for attribute, job_id in [
                ("after_ok", array),
                ("after_not_ok", array),
                ("after_ok", f"{array}_3"),
            ]
        ]
        assert (await target.wait(ok)).reason == "DEPENDENCY"
        assert (await target.wait(not_ok)).exit_code == 0
        assert (await target.wait(task)).exit_code == 0


@pytest.mark.parametrize(
    ("word", "kept"),
    [
        ("END 0", "afternotok:1"),
        ("END 3", "afterok:1"),
        ("GONE", "afterok:1"),
        ("GO", "afterok:1,afternotok:1,afterany:1"),
    ],
)
async def test_what_the_record_shows_to_be_met(toy: Toy, target: TargetSystem, word: str, kept: str) -> None:
    """The batch system may have forgotten a job whose end is recorded, and would refuse its id."""
    assert await target.submit(shell("true")) == "1"
    toy.state("1", word)
    await target.status("1")
    job = await target.submit(shell("true", after_ok=["1"], after_not_ok=["1"], after_any=["1"]))
    assert (toy.path / "jobs" / job / "after").read_text() == f"{kept}\n"


async def test_the_end_of_a_job_that_nobody_asked_for_yet(toy: Toy) -> None:
    """It is looked for before it is decided which conditions are met."""
    store = Store()
    async with TargetSystem(toy.profile, store=store, timing=QUICK) as target:
        await target.submit(shell("true"), key="first")
        array = await target.submit(shell("true", array="1-2"), key="array")
    for job_id in ("1", f"{array}_1", f"{array}_2"):
        toy.state(job_id, "END 0")
    async with TargetSystem(toy.profile, store=store, timing=QUICK) as target:
        job = await target.submit(shell("true", after_ok=["first", "array"]))
        assert (toy.path / "jobs" / job / "after").read_text() == "\n"


@pytest.mark.parametrize("array", [None, "1-2"])
@pytest.mark.parametrize("word", ["END", "GONE"])
async def test_a_condition_on_an_unknown_exit_code_is_left_to_the_batch_system(
    toy: Toy, target: TargetSystem, array: str | None, word: str
) -> None:
    first = await target.submit(shell("true", array=array))
    for job_id in [f"{first}_1", f"{first}_2"] if array else [first]:
        toy.state(job_id, word)
    await target.wait(first)
    job = await target.submit(shell("true", after_not_ok=[first]))
    expected = f"afternotok:{first}\n" if word == "END" else "\n"
    assert (toy.path / "jobs" / job / "after").read_text() == expected
