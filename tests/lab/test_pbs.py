"""What only a real OpenPBS can show: `make lab PBS=1` builds and starts it."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.lab.conftest import is_pbs_up
from tests.profiles.conftest import quoted
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.lab.conftest import Job, Lab

pytestmark = [
    pytest.mark.skipif(not is_pbs_up(), reason="make lab PBS=1 builds and starts OpenPBS"),
    pytest.mark.alone,
]
LATER = "2037-01-31T08:00"


@pytest.fixture
def pbs(lab_of: Callable[[str], Lab]) -> Lab:
    return lab_of("pbs")


def set_history(value: str) -> None:
    command = ["/opt/pbs/bin/qmgr", "-c", f"set server job_history_enable = {value}"]
    subprocess.run(command, check=True, env={"PBS_CONF_FILE": "/opt/pbs/pbs.conf"})


@pytest.fixture(params=["True", "False"], ids=["history", "no history"])
def has_history(request: pytest.FixtureRequest) -> Iterator[bool]:
    set_history(request.param)
    yield request.param == "True"
    set_history("True")


def start(pbs: Lab, text: str, **fields: str) -> Job:
    return pbs.start(EXECUTABLE="/bin/sh", ARGUMENTS=quoted("-c", text), **fields)


def get_state(job: Job) -> str:
    done = job.lab.incarnate("GET_JOB_STATUS", JOB_ID=job.id)
    return job.lab.status(done.stdout.strip()).state if done.returncode == 0 else "unknown"


@pytest.mark.usefixtures("has_history")
@pytest.mark.parametrize(
    ("condition", "state"), [("afterok", "REMOVED/DEPENDENCY"), ("afternotok", "DONE"), ("afterany", "DONE")]
)
def test_a_job_that_waits_for_one_that_was_removed_before_it_ran(
    pbs: Lab, condition: str, state: str
) -> None:
    """PBS itself would let it wait for ever: GET_JOB_STATUS has it look again."""
    other = start(pbs, "true", START_TIME=LATER)
    job = start(pbs, "true", DEPENDENCY=f"{condition}:{other.id}")
    assert get_state(job) == "QUEUED"
    pbs.ok("ABORT", JOB_ID=other.id)
    wait_until(lambda: get_state(job) == state)
    assert get_state(other) == "REMOVED"


def test_the_ends_of_tasks(pbs: Lab, has_history: bool) -> None:
    text = """case $GPE_ARRAY_INDEX in
    2) kill -s KILL $$ ;;
    4) exec sleep 600 ;;
    5) exit 3 ;;
    esac"""
    array = start(pbs, text, ARRAY="1-5")
    task = type(array)(pbs, array.id.replace("[]", "[4]"))
    wait_until(lambda: get_state(task) == "RUNNING")
    pbs.ok("ABORT", JOB_ID=task.id)

    def tell() -> dict[str, str]:
        return {name: status.state for name, status in pbs.statuses("", JOB_ID=array.id).items()}

    expected = ["DONE", "FAILED", "DONE", "REMOVED", "DONE"]
    wait_until(lambda: [*tell().values()] == expected)
    assert [*tell()] == [array.id.replace("[]", f"[{index}]") for index in range(1, 6)]
    number = array.id.partition(".")[0]
    assert [status.state for status in pbs.statuses("", JOB_ID=number).values()] == expected
    if has_history:
        assert " exit=3 host=pbs0 queue=workq elapsed=" in pbs.ok(
            "GET_JOB_STATUS", JOB_ID=number.replace("[]", "[5]")
        )


def test_a_removal_by_an_operator(pbs: Lab) -> None:
    waiting, running = start(pbs, "true", START_TIME=LATER), start(pbs, "exec sleep 600")
    wait_until(lambda: get_state(running) == "RUNNING")
    for job in (waiting, running):
        subprocess.run(["/opt/pbs/bin/qdel", job.id], check=True, env={"PBS_CONF_FILE": "/opt/pbs/pbs.conf"})
        wait_until(lambda job=job: get_state(job) == "REMOVED")  # type: ignore[misc]
