"""Placeholders in the arguments of `incarnate job submit --from FILE`."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osprofile.cli.common import UsageError
from osprofile.cli.job.job_file import JobFileError, parse_jobs
from osprofile.cli.job.placeholders import fill_arguments, list_placeholders
from osprofile.jobs.fields import JobDescription
from tests.cli.job.test_job_many import count_jobs, submit
from tests.profiles.test_hostile_values import CARRIED

if TYPE_CHECKING:
    from tests.cli.job.conftest import Machine

PRINT = "import json, sys; print(json.dumps(sys.argv[1:]))"
FILLED = {
    "{rate}": "0.1 $(id)",
    "--rate={rate}": "--rate=0.1 $(id)",
    "{rate}{n}": "0.1 $(id){rate}",
    "{n}": "{rate}",
    "{two words}": "{{",
    "{{rate}}": "{rate}",
    "{{{rate}}}": "{0.1 $(id)}",
    "{{}}": "{}",
    "plain": "plain",
    "": "",
}
VALUES = {"rate": "0.1 $(id)", "n": "{rate}", "two words": "{{"}


@pytest.mark.parametrize("argument", FILLED)
def test_an_argument(argument: str) -> None:
    assert fill_arguments([argument], VALUES) == [FILLED[argument]]


@given(st.text())
def test_doubled_braces_are_braces(text: str) -> None:
    doubled = text.replace("{", "{{").replace("}", "}}")
    assert list_placeholders([doubled]) == {}
    assert fill_arguments([doubled], {}) == [text]


@given(st.text())
def test_a_value_is_one_argument(value: str) -> None:
    assert fill_arguments(["{a}", "x{a}{{"], {"a": value}) == [value, f"x{value}{{"]


@pytest.mark.parametrize("argument", ["{", "}", "a {print $1", "{{}", "{a}}"])
def test_a_single_brace(argument: str) -> None:
    with pytest.raises(UsageError, match=r"has a single [{}]") as caught:
        list_placeholders([argument])
    assert "{{ and }}" in caught.value.hint


BAD: list[tuple[str, str, list[str], str]] = [
    ("{rat}", "rate\n1\n", ["1: there is no column rat, which the argument '{rat}' names"], "did you mean rate?"),
    ("-r{}", "rate\n1\n", ["1: there is no column '', which the argument '-r{}' names"], "known: rate"),
    ("{rate}", "rate,nme\n1,2\n", ["1: column nme is not known"], "did you mean name?"),
    ("{rate}", "rate,name\n1,a\n,b\n", ["3: rate has no value, and the argument '{rate}' needs one"], "a value"),
    ("{rate}", '{"rate": 1}\n{"rte": 2}\n', ["2: there is no name rate"], "did you mean rte?"),
    ("{rate}", '{"rate": null}\n', ["1: rate has no value"], "give a value"),
    ("{rate}", '{"rate": [1]}\n', ["1: rate: a list is neither a string nor a number"], "as a string"),
    ("{rate}", "rate,rate\n1,2\n", ["1: rate is given twice"], "leave one"),
    ("{rate}", "rate\na\0b\n", ["2: rate: 'a\\x00b' has a NUL character"], "leave it out"),
]  # fmt: skip


@pytest.mark.parametrize(("argument", "text", "errors", "hint"), BAD)
def test_a_bad_file(argument: str, text: str, errors: list[str], hint: str) -> None:
    with pytest.raises(JobFileError) as caught:
        parse_jobs(text.encode(), placeholders=list_placeholders([argument]))
    told = [f"{error.line}: {error.message}" for error in caught.value.errors]
    assert len(told) == len(errors), told
    assert all(t.startswith(e) for t, e in zip(told, errors, strict=True)), told
    assert hint in caught.value.errors[0].hint


def test_any_column_can_be_named() -> None:
    arguments = ["{name}:{env:V}:{key}:{walltime}", "{x y}"]
    text = "name,env:V,key,walltime,x y,arguments\na,b,c,10m,d e,f g\n"
    (line,) = parse_jobs(text.encode(), placeholders=list_placeholders(arguments))
    job = line.apply_to(JobDescription(arguments=arguments))
    assert job.arguments == ["a:b:c:10m", "d e", "f", "g"]
    assert (job.name, job.walltime, line.key) == ("a", 600, "c")


def test_a_number_is_as_it_is_written() -> None:
    (line,) = parse_jobs(b'{"rate": 1.50}', placeholders=list_placeholders(["{rate}"]))
    assert line.apply_to(JobDescription(arguments=["{rate}"])).arguments == ["1.50"]


@pytest.mark.parametrize("form", [(), ("--as-array",)])
def test_hostile_values_reach_the_program(machine: Machine, form: tuple[str, ...]) -> None:
    values = [*CARRIED[:: 1 if form else 3], "日本", "it's", "{v}", ""]
    text = "\n".join(json.dumps({"v": value}) for value in values)
    words = (*form, "--key", "k", "--wait", "--", sys.executable, "-ISc", PRINT, "{v}", "--v={v}", "{{v}}")
    ended = submit(machine, text, *words, name="jobs.jsonl")
    assert (ended.code, ended.err) == (0, "")
    jobs = ["k"] if form else [f"k-{n}" for n in range(1, len(values) + 1)]
    output = machine.run("job", "output", *jobs).out.splitlines()
    printed = [json.loads(line) for line in output if line.startswith("[")]
    assert printed == [[value, f"--v={value}", "{v}"] for value in values]


@pytest.mark.parametrize("form", [(), ("--as-array",)])
def test_an_unknown_placeholder_submits_nothing(machine: Machine, form: tuple[str, ...]) -> None:
    ended = submit(machine, "rate\n1\n", *form, "echo", "{rat}")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == (
        "jobs.csv:1: there is no column rat, which the argument '{rat}' names\n"
        "    hint: did you mean rate? {{ and }} are braces, {NAME} is the value of a column\n"
        "incarnate: 1 error: nothing was submitted\n"
    )
    assert count_jobs(machine) == 0
