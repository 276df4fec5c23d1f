"""Fields of a request, through the profiles slurm and torque: what Slurm itself says about the job.

The jobs wait for a time that is years away, so nothing runs. Without accounting, Slurm takes a
QOS and forgets it: its directive has a golden file.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from osprofile.errors import IncarnationError
from osprofile.incarnation.incarnate import incarnate
from tests.lab.conftest import USER
from tests.profiles.conftest import quoted
from tests.profiles.test_hostile_values import VALUES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.lab.conftest import Job, Lab

FAR = "2036-01-01T10:00:30"
Case = tuple[dict[str, str], dict[str, str]]
BOTH: list[Case] = [
    ({"GPUS": "2"}, {"TresPerNode": "gres:gpu:2"}),
    (
        {"GPUS": "1", "NODES": "2", "CPUS": "2"},
        {"TresPerNode": "gres:gpu:1", "NumNodes": "2-2", "NumCPUs": "4"},
    ),
    ({"CONSTRAINT": "fast"}, {"Features": "fast"}),
    ({"EXCLUSIVE": "true"}, {"OverSubscribe": "NO"}),
    ({"EXCLUSIVE": "false"}, {"OverSubscribe": "OK"}),
    ({"PRIORITY": "-5"}, {"Nice": "5"}),
    ({"PRIORITY": "-1024"}, {"Nice": "1024"}),
    ({"PRIORITY": "0"}, {"Nice": "0"}),
    ({"START_TIME": "2035-12-31T23:59"}, {"EligibleTime": "2035-12-31T23:59:00"}),
    ({}, {"EligibleTime": FAR}),
    ({"NOTIFY": "a.b+c@d-e.org"}, {"MailUser": "a.b+c@d-e.org", "MailType": "END,FAIL"}),
    ({"NOTIFY": "a@b.c,d", "NOTIFY_EVENTS": "fail,begin"}, {"MailUser": "a@b.c,d", "MailType": "BEGIN,FAIL"}),
    ({"NOTIFY": "a", "NOTIFY_EVENTS": "end"}, {"MailUser": "a", "MailType": "END"}),
    ({"REQUEUE": "true"}, {"Requeue": "1"}),
    ({"REQUEUE": "false"}, {"Requeue": "0"}),
]
SLURM: list[Case] = [
    ({"GPUS": "2", "GPU_TYPE": "fake"}, {"TresPerNode": "gres:gpu:fake:2"}),
    ({"CONSTRAINT": "fast&avx"}, {"Features": "fast&avx"}),
    ({"CONSTRAINT": "[fast|avx]"}, {"Features": "[fast|avx]"}),
    ({"RESERVATION": "far", "START_TIME": "2036-01-01T00:30"}, {"Reservation": "far"}),
    ({"ARRAY": "1-10:2,15%3"}, {"ArrayTaskId": "1,3,5,7,9,15%3", "ArrayTaskThrottle": "3"}),
    ({"ARRAY": "0"}, {"ArrayTaskId": "0"}),
]
TORQUE: list[Case] = [({"CONSTRAINT": "fast:avx"}, {"Features": "fast&avx"})]
CASES = [
    pytest.param(profile, *case, id=f"{profile}-{'-'.join(f'{k}={v}' for k, v in case[0].items())}")
    for profile, more in (("slurm", SLURM), ("torque", TORQUE))
    for case in BOTH + more
]
NEAR = {
    "GPUS": ["0", "+1", "1:2", "2 --uid=0", "9999"],
    "GPU_TYPE": ["fake:9", "fake,x", "fake"],
    "QOS": ["a b", "-x", "a,b", "normal"],
    "CONSTRAINT": ["fast avx", "fast#", "fast;id", "fast*2", "-x", "avx"],
    "RESERVATION": ["a b", "far,x", "-far", "far"],
    "EXCLUSIVE": ["user", "TRUE", "true "],
    "PRIORITY": ["+1", "-1025", "1024", "--5", "-0", "1e3", "-7"],
    "START_TIME": ["now", "2036-13-01T00:00", "2036-01-01", "tomorrow", "2036-01-01T24:00", "2036-01-01T00:00:00Z"],
    "NOTIFY": ["a b", "a@b@c", "-x", "a;id", "a@b,", "x.y@z"],
    "NOTIFY_EVENTS": ["ALL", "begin end", "end,", "none", "begin"],
    "DEPENDENCY": ["afterok", "afterok:", "after:1", "singleton", "afterok:1?afterok:2", "afterok:1+5", "expand:1"],
    "ARRAY": ["1-", "-1", "1-5%0", "1-5%", "a", "1..5", "1 2", "1-3%2%2", "5-1"],
    "REQUEUE": ["yes", "True", "1"],
}  # fmt: skip
"""For each field, values that are almost right, and one that is."""
NEEDED = {"GPU_TYPE": {"GPUS": "1"}, "NOTIFY_EVENTS": {"NOTIFY": "me"}}


@pytest.fixture
def start(lab_of: Callable[[str], Lab]) -> Iterator[Callable[..., Job]]:
    """Give a function that starts a job which does not begin."""
    jobs: list[Job] = []

    def start_job(profile: str, **fields: str) -> Job:
        jobs.append(lab_of(profile).start(**{"START_TIME": FAR, **fields}))
        return jobs[-1]

    yield start_job
    for job in reversed(jobs):  # those that others depend on come last
        job.lab.ok("ABORT", JOB_ID=job.id)
        assert {status.state for status in job.statuses()} == {"REMOVED"}


@pytest.mark.parametrize(("profile", "fields", "told"), CASES)
def test_slurm_has_what_the_request_asks_for(
    start: Callable[..., Job], profile: str, fields: dict[str, str], told: dict[str, str]
) -> None:
    job = start(profile, **fields)
    assert {name: job.slurm(name) for name in told} == told


@pytest.mark.parametrize("profile", ["slurm", "torque"])
def test_a_dependency_on_several_jobs(start: Callable[..., Job], profile: str) -> None:
    a, b, c = (start(profile).id for _ in range(3))
    job = start(profile, DEPENDENCY=f"afterok:{a}:{b},afterany:{c}")
    words = [f"afterok:{a}", f"afterok:{b}", f"afterany:{c}"]
    assert job.slurm("Dependency") == ",".join(f"{word}(unfulfilled)" for word in words)
    assert job.slurm("KillOInInvalidDependent") == "Yes"


def test_what_slurm_refuses_is_told(lab_of: Callable[[str], Lab]) -> None:
    lab = lab_of("slurm")
    for fields, words in (
        ({"PRIORITY": "5"}, "Invalid --nice value"),
        ({"CONSTRAINT": "none"}, "Invalid feature specification"),
        ({"RESERVATION": "none"}, "Requested reservation is invalid"),
        ({"ARRAY": "5-1"}, "Invalid job array specification"),
    ):
        assert words in lab.fails("START", **fields)


def test_what_a_profile_cannot_do_is_refused_by_name(lab_of: Callable[[str], Lab]) -> None:
    torque, value = lab_of("torque"), {"CLUSTER": "c"}
    for name in ("GPU_TYPE", "QOS", "RESERVATION"):
        assert f"field {name} " in torque.fails("START", GPUS="1", **{name: "x"})
    assert "use the profile slurm" in torque.fails("START", ARRAY="1-3")
    assert "field CLUSTER " in lab_of("slurm").fails("START", **value)
    assert "field NOTIFY_EVENTS needs field NOTIFY" in torque.fails("START", NOTIFY_EVENTS="end")


def find_accepted(lab: Lab, name: str) -> list[str]:
    """Return the hostile and the near values that START takes; the others are refused, by name."""
    context = {"USER_NAME": USER, "WORKING_DIRECTORY": "/var/tmp/x"}
    accepted = []
    for value in [*VALUES, *NEAR[name]]:
        fields = {**NEEDED.get(name, {}), name: value}
        try:
            incarnate(lab.resolved, "START", fields=fields, context=context, strict=True)
            accepted.append(value)
        except IncarnationError as error:
            assert error.field == name  # noqa: PT017
    return accepted


@pytest.mark.parametrize("name", NEAR)
@pytest.mark.parametrize("profile", ["slurm", "torque"])
def test_hostile_values_are_refused_by_name(lab_of: Callable[[str], Lab], profile: str, name: str) -> None:
    accepted = find_accepted(lab_of(profile), name)
    if profile == "torque" and name in {"GPU_TYPE", "QOS", "RESERVATION"}:
        assert accepted == []
    plain = {"normal", "far", "-7", "x.y@z", "5-1"}
    assert all(value.isalnum() or value in plain or name == "CONSTRAINT" for value in accepted)


def test_an_expression_of_features_is_slurms_to_judge(lab_of: Callable[[str], Lab]) -> None:
    lab = lab_of("slurm")
    accepted = find_accepted(lab, "CONSTRAINT")
    assert {"a|b", "a&b", "(a)"} <= set(accepted) <= {"a|b", "a&b", "(a)", "!", "a=b", "EOF", "fast*2", "avx"}
    for value in accepted:
        done = lab.incarnate("START", CONSTRAINT=value, START_TIME=FAR, NODES="1")
        if value == "avx":
            lab.ok("ABORT", JOB_ID=done.stdout.strip())
        else:
            assert "Batch job submission failed" in done.stderr


@pytest.mark.parametrize(
    ("fields", "lines"), [({"PROCESSES": "3"}, 3), ({"PROCESSES": "2", "CPUS": "2"}, 2), ({}, 1)]
)
def test_the_file_of_nodes_has_a_line_for_each_process(lab: Lab, fields: dict[str, str], lines: int) -> None:
    job = lab.start(
        EXECUTABLE="/bin/sh", ARGUMENTS=quoted("-c", 'cat "$GPE_NODE_FILE"'), NODE_FILE="a b", **fields
    )
    job.wait("DONE")
    host = job.slurm("BatchHost") if lab.profile == "slurm" else job.slurm("NodeList")
    assert job.read("stdout").split() == [host] * lines


def test_a_temporary_directory_ends_with_its_job(lab: Lab) -> None:
    text = 'echo "$TMPDIR"; stat -c %a "$TMPDIR"; touch "$TMPDIR/x"'
    job = lab.start(EXECUTABLE="/bin/sh", ARGUMENTS=quoted("-c", text), TMP_DIR="/var/tmp")
    job.wait("DONE")
    path, mode = job.read("stdout").split()
    assert path.startswith("/var/tmp/gpe.")
    assert mode == "700"
    assert not Path(path).exists()
