"""Status ads: each state of a job, to the byte (docs/protocols/blah.md, 2.4 and 5)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osprofile.executors.blah.classad import Evaluator, parse_ad
from osprofile.executors.blah.job_status import (
    format_status_ad,
    get_status_number,
    make_status_result,
    select_status_ads,
)
from osprofile.executors.blah.messages import Result
from osprofile.executors.errors import ClassAdError
from osprofile.jobs.state import EndCause, JobState, JobStatus

TOLD: dict[str, tuple[JobStatus, str]] = {
    "2.4: 1 idle": (
        JobStatus("778241608", JobState.QUEUED),
        '[ JobStatus = 1; BatchJobId = "778241608" ]',
    ),
    "2.4: 2 running": (JobStatus("1406", JobState.RUNNING), '[ JobStatus = 2; BatchJobId = "1406" ]'),
    "5: WorkerNode": (
        JobStatus("1", JobState.RUNNING, hosts=("n1", "n2"), started=5.0),
        '[ JobStatus = 2; BatchJobId = "1"; WorkerNode = "n1,n2" ]',
    ),
    "2.4: 3 removed": (
        JobStatus("1", JobState.REMOVED),
        '[ JobStatus = 3; BatchJobId = "1"; ExitReason = "it was removed" ]',
    ),
    "2.4: finished": (
        JobStatus("1078850800", JobState.DONE, exit_code=0),
        '[ ExitCode = 0; JobStatus = 4; BatchJobId = "1078850800" ]',
    ),
    "finished, no code known: no success": (
        JobStatus("1", JobState.DONE),
        '[ ExitBySignal = true; ExitSignal = 9; JobStatus = 4; BatchJobId = "1"; ExitReason = "it ended, but its exit code is not known" ]',
    ),
    "finished with another code": (
        JobStatus("1", JobState.DONE, exit_code=7, started=2.2, ended=9.9),
        '[ ExitCode = 7; JobStatus = 4; BatchJobId = "1" ]',
    ),
    "finished, with the batch system's words": (
        JobStatus("1", JobState.DONE, exit_code=7, reason="by itself"),
        '[ ExitCode = 7; JobStatus = 4; BatchJobId = "1"; ExitReason = "by itself" ]',
    ),
    "its program was not run": (
        JobStatus("1", JobState.FAILED, signal=9, cause=EndCause.FILES, reason="STDIN x cannot be read"),
        '[ ExitBySignal = true; ExitSignal = 9; JobStatus = 4; BatchJobId = "1"; ExitReason = "STDIN x cannot be read" ]',
    ),
    "its program was not run, and why is not known": (
        JobStatus("1", JobState.FAILED, signal=9, cause=EndCause.FILES),
        '[ ExitBySignal = true; ExitSignal = 9; JobStatus = 4; BatchJobId = "1"; ExitReason = "a file, directory, module or container that it names cannot be used" ]',  # noqa: E501
    ),
    "a code that env has, too": (
        JobStatus("1", JobState.DONE, exit_code=125, reason="NonZeroExitCode"),
        '[ ExitCode = 125; JobStatus = 4; BatchJobId = "1"; ExitReason = "NonZeroExitCode" ]',
    ),
    "a code that a shell script may have": (
        JobStatus("1", JobState.DONE, exit_code=127),
        '[ ExitCode = 127; JobStatus = 4; BatchJobId = "1" ]',
    ),
    "5: ended by a signal": (
        JobStatus("1", JobState.FAILED, signal=15),
        '[ ExitBySignal = true; ExitSignal = 15; JobStatus = 4; BatchJobId = "1"; ExitReason = "signal 15 killed it" ]',
    ),
    "5: ended by a limit is no success": (
        JobStatus("1", JobState.FAILED, cause=EndCause.LIMIT, reason="TIMEOUT"),
        '[ ExitBySignal = true; ExitSignal = 9; JobStatus = 4; BatchJobId = "1"; ExitReason = "TIMEOUT" ]',
    ),
    "what it used": (
        JobStatus("1", JobState.DONE, exit_code=0, elapsed=9.0, cpu_time=5.6, max_memory=1025),
        '[ ExitCode = 0; JobStatus = 4; BatchJobId = "1"; RemoteUserCpu = 6; ImageSize = 2 ]',
    ),
    "what it was given, also while it runs": (
        JobStatus("1", JobState.RUNNING, allocated_cpus=4, allocated_memory=3 << 30),
        '[ JobStatus = 2; BatchJobId = "1"; CpusProvisioned = 4; MemoryProvisioned = 3072 ]',
    ),
    "suspended: it has begun, and HTCondor would cancel a held job": (
        JobStatus("1", JobState.HELD, started=3.0, reason="gang"),
        '[ JobStatus = 2; BatchJobId = "1" ]',
    ),
    "2.4: 5 held": (
        JobStatus("1", JobState.HELD, reason='by "root"\nfor a\\b'),
        '[ JobStatus = 5; BatchJobId = "1"; HoldReason = "by \\"root\\"; for a\\\\b" ]',
    ),
    "held without a reason": (
        JobStatus("1", JobState.HELD),
        '[ JobStatus = 5; BatchJobId = "1"; HoldReason = "held in the batch system" ]',
    ),
    "submitted, nothing heard": (
        JobStatus("1", JobState.UNKNOWN, submitted=1.0),
        '[ JobStatus = 1; BatchJobId = "1" ]',
    ),
    "a word that no profile knows": (
        JobStatus("1", JobState.UNKNOWN, native_state="REVOKED", submitted=1.0, started=2.0),
        '[ JobStatus = 2; BatchJobId = "1" ]',
    ),
}


@pytest.mark.parametrize("name", TOLD)
def test_told(name: str) -> None:
    status, ad = TOLD[name]
    number = ad.partition("JobStatus = ")[2][0]
    assert make_status_result(status, get_status_number(status)) == Result(0, "No Error", (number, ad))


def test_a_lost_job_is_an_error() -> None:
    said = "Job 1 vanished without a trace"
    assert make_status_result(JobStatus("1", JobState.LOST), 0) == Result(1, said)
    lost = JobStatus("1", JobState.LOST, reason="no word of it\nsince 5 minutes")
    assert make_status_result(lost, 0) == Result(1, f"{said}: no word of it; since 5 minutes")


def test_an_outside_hold_as_idle() -> None:
    # docs/protocols/blah.md, 6.4: 5 makes HTCondor cancel the job, so let a site choose to report it as 1
    status = JobStatus("1", JobState.HELD, reason="operator")
    assert make_status_result(status, get_status_number(status, held_as_idle=True)) == Result(
        0, "No Error", ("1", '[ JobStatus = 1; BatchJobId = "1" ]')
    )
    assert get_status_number(JobStatus("1", JobState.LOST), held_as_idle=True) == 0
    assert get_status_number(JobStatus("1", JobState.RUNNING), held_as_idle=True) == 2


def test_a_running_job_that_the_client_holds() -> None:
    status = JobStatus("1", JobState.HELD, started=3.0)
    assert get_status_number(status, is_clients_hold=True) == 5
    assert get_status_number(status) == 2
    assert get_status_number(JobStatus("1", JobState.RUNNING), is_clients_hold=True) == 2


def test_every_state_is_told() -> None:
    for state in JobState:
        number = get_status_number(JobStatus("1", state))
        assert (number == 0) == (state is JobState.LOST)


@given(
    st.builds(
        JobStatus,
        st.text("1[].a", min_size=1),
        st.sampled_from(JobState),
        exit_code=st.none() | st.integers(0, 255),
        signal=st.none() | st.integers(1, 64),
        hosts=st.lists(st.text(), max_size=2).map(tuple),
        reason=st.text(),
        started=st.none() | st.floats(0, 1e10),
        ended=st.none() | st.floats(0, 1e10),
    )
)
def test_an_ad_can_always_be_read(status: JobStatus) -> None:
    evaluator = Evaluator(parse_ad(format_status_ad(status, get_status_number(status))))
    assert evaluator.evaluate_attribute("JobStatus") == get_status_number(status)
    assert evaluator.evaluate_attribute("BatchJobId") == status.job_id
    success = evaluator.evaluate_attribute("ExitCode") == 0
    assert not success or (status.state is JobState.DONE and status.exit_code == 0)


ADS = [
    '[ JobStatus = 1; BatchJobId = "1" ]',
    '[ JobStatus = 2; BatchJobId = "2"; WorkerNode = "n1" ]',
    '[ ExitCode = 3; JobStatus = 4; BatchJobId = "3" ]',
]
SELECTED = {
    "JobStatus == 2": [1],
    "jobstatus < 3": [0, 1],
    'WorkerNode == "N1"': [1],
    "WorkerNode =?= undefined": [0, 2],
    "ExitCode": [],
    "true": [0, 1, 2],
    "nowhere": [],
    "NoSuch == 1": [],
    "undefined": [],
    '"JobStatus"': [],
    "1": [],
    "error": [],
    'JobStatus == "x"': [],
}


@pytest.mark.parametrize("expression", SELECTED)
def test_selected(expression: str) -> None:
    assert select_status_ads(ADS, expression) == [ADS[at] for at in SELECTED[expression]]


@pytest.mark.parametrize("expression", ["JobStatus ==", "(", "= 1", "JobStatus == 1 extra", '"x'])
def test_a_bad_expression_selects_nothing(expression: str) -> None:
    # docs/protocols/blah.md, 7.2: the real daemon returns everything
    with pytest.raises(ClassAdError, match="column"):
        select_status_ads(ADS, expression)
