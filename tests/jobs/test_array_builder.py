"""Many jobs as one array: what its tasks run, and what cannot be one."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys

import pytest

from osprofile import JobDescription, ValueRefusedError
from osprofile.incarnation.lengths import MAX_WORDS_SIZE
from osprofile.jobs.arrays import combine_into_array
from osprofile.jobs.target_system import TargetSystem
from osprofile.profile.repository import Repository
from tests.profiles.test_hostile_values import CARRIED

PRINT = (
    sys.executable,
    "-ISc",
    "import json, os, sys; print(json.dumps([sys.argv[1:], os.environ.get('V')]))",
)


def job(*arguments: str, **more: object) -> JobDescription:
    return JobDescription(executable=PRINT[0], arguments=[*PRINT[1:], *arguments], **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("shell", ["dash", "bash"])
def test_each_task_runs_its_own_program_with_hostile_values(shell: str) -> None:
    jobs = [job(value, "", environment={"V": value}) for value in CARRIED]
    array = combine_into_array([*jobs, JobDescription(executable="env", arguments=["a=b", "printenv", "a"])])
    assert (array.array, array.executable) == (f"1-{len(jobs) + 1}", "sh")
    outputs = []
    for index in range(1, len(jobs) + 2):
        environment = {**os.environ, "GPE_ARRAY_INDEX": str(index)}
        done = subprocess.run(
            [shell, *array.arguments], env=environment, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        outputs.append(done.stdout)
    assert [json.loads(text) for text in outputs[:-1]] == [[[value, ""], value] for value in CARRIED]
    assert outputs[-1] == "b\n"


@pytest.mark.parametrize(
    "values",
    [
        ["it's", "it'"],
        ["a b", "a  b"],
        ["\\", "\\\\"],
        ["x\n", "x\n\n"],
        ["é", "è"],
        ["same"] * 2,
        ["only"],
        ["", "a", ""],
        [",:;%@+=~^!|/#", ""],
        ["*", "/*", "?"],
        ["", "", "x", "", ""],
    ],
)
def test_what_the_commands_have_in_common_may_end_anywhere(values: list[str]) -> None:
    for environment in ({}, {"V": "v"}, None):
        jobs = [
            job(value, "z", environment={"V": value} if environment is None else environment)
            for value in values
        ]
        array = combine_into_array(jobs)
        for index, value in enumerate(values, 1):
            variables = {"PATH": os.environ["PATH"], "GPE_ARRAY_INDEX": str(index)}
            done = subprocess.run(["sh", *array.arguments], env=variables, capture_output=True, check=True)
            assert json.loads(done.stdout) == [
                [value, "z"],
                value if environment is None else environment.get("V"),
            ]


def test_a_sweep_of_a_hundred_thousand() -> None:
    """A profile takes it, and Linux starts its tasks, in every shell."""
    count = 100_000
    sweep = [JobDescription(executable="echo", arguments=["-n", f"{n}"]) for n in range(count)]
    array = combine_into_array(sweep)
    assert array.array == "1-100000"
    assert str(count - 1) in asyncio.run(TargetSystem(Repository().load("linux")).render_start_script(array))
    per_block = int(array.arguments[5])
    names = ("dash", "bash", "busybox", "ksh", "mksh", "yash")
    shells = [[name, *["sh"][: name == "busybox"]] for name in names if shutil.which(name)]
    for number in (0, 9, 10, per_block - 1, per_block, 3 * per_block - 1, 3 * per_block, count - 1):
        environment = {"GPE_ARRAY_INDEX": str(number + 1), "PATH": os.environ["PATH"], "X": "x" * 100_000}
        for shell in shells:
            done = subprocess.run(
                [*shell, *array.arguments], env=environment, capture_output=True, check=True
            )
            assert done.stdout == str(number).encode()


def test_what_the_jobs_have_in_common_is_the_array_s() -> None:
    array = combine_into_array([job("1", walltime="2h", fields={"X": "1"})] * 2)
    assert (array.walltime, array.fields, array.environment) == ("2h", {"X": "1"}, {})
    assert array.array == "1-2"
    assert combine_into_array([job("1")] * 3, at_once=2).array == "1-3%2"


@pytest.mark.parametrize(
    ("jobs", "said"),
    [
        ([job(name="a"), job(name="b")], "the jobs differ in more than an array's tasks can"),
        ([job(application="App")], "a job with an application cannot be a task"),
        ([job(array="1-2")], "a job with an array of its own cannot be a task"),
        ([job(fields={"ARRAY": "1-2"})], "a job with an array of its own cannot be a task"),
        ([JobDescription()], "'' is no program of a task"),
        ([JobDescription(executable="-x")], "'-x' is no program of a task"),
        (
            [job(f"{n}{'x' * 990}{n}") for n in range(MAX_WORDS_SIZE // 990)],
            "what the tasks do not have in common is too long for a program: ",
        ),
        ([job(environment={"1": "x"})], "1 is not a name of an environment variable"),
        ([job(3)], "3 is not a string"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_an_array(jobs: list[JobDescription], said: str) -> None:
    with pytest.raises(ValueRefusedError) as caught:
        combine_into_array(jobs)
    assert said in str(caught.value)
    assert caught.value.hint
