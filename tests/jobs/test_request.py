"""What a job's description asks of START."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osprofile.errors import ValueRefusedError
from osprofile.incarnation.evaluate import MAX_ARGUMENT_SIZE
from osprofile.jobs.fields import JobDescription
from osprofile.jobs.request import build_request, format_exports, quote_shell_words

REQUESTS: list[tuple[dict[str, Any], dict[str, str]]] = [
    ({}, {}),
    ({"executable": "/bin/date"}, {"EXECUTABLE": "/bin/date"}),
    ({"executable": ""}, {"EXECUTABLE": ""}),
    ({"arguments": ("a b", "", "it's")}, {"ARGUMENTS": r"'a b' '' 'it'\''s'"}),
    ({"arguments": ["-n", "3"]}, {"ARGUMENTS": "'-n' '3'"}),
    ({"environment": {"A": "1 2", "B": ""}}, {"ENVIRONMENT": "export A='1 2'\nexport B=''\n"}),
    ({"stdin": "i", "stdout": "o", "stderr": "e"}, {"STDIN": "i", "STDOUT": "o", "STDERR": "e"}),
    ({"name": "n", "queue": "q", "project": "p"}, {"JOB_NAME": "n", "QUEUE": "q", "PROJECT": "p"}),
    ({"nodes": 2, "processes": 4, "cpus": 8}, {"NODES": "2", "PROCESSES": "4", "CPUS": "8"}),
    (
        {"memory": 1, "walltime": 0, "cputime": 2**63 - 1},
        {"MEMORY": "1", "WALLTIME": "0", "CPUTIME": str(2**63 - 1)},
    ),
    ({"directory": "/w"}, {"DIRECTORY": "/w"}),
    ({"signal": "SIGusr2@5m", "walltime": "301"}, {"LIMIT_SIGNAL": "USR2@300", "WALLTIME": "301"}),
    ({"signal": "90"}, {"LIMIT_SIGNAL": "USR1@90"}),
    ({"working_directory": "/w", "application": "MPI/1"}, {}),  # context, and a choice
    ({"arguments": [], "environment": {}}, {}),  # an application may have no field ARGUMENTS
    ({"fields": {"GPUS": "2"}}, {"GPUS": "2"}),
    ({"nodes": 1, "fields": {"GPUS": "2"}}, {"NODES": "1", "GPUS": "2"}),
]

REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"executable": b"/bin/date"}, "EXECUTABLE", "is not a string"),
    ({"nodes": True}, "NODES", "True is not a string"),
    ({"nodes": 1.5}, "NODES", "1.5 is not a string"),
    ({"walltime": 2**63}, "WALLTIME", "a number of 64 bits is too large"),
    ({"walltime": 10**5000}, "WALLTIME", "is too large"),
    ({"arguments": "one"}, "ARGUMENTS", "is not a sequence of arguments"),
    ({"arguments": (1,)}, "ARGUMENTS", "1 is not a string"),
    ({"arguments": ("a", "x" * (MAX_ARGUMENT_SIZE + 1))}, "ARGUMENTS", "argument 2 is too long"),
    ({"environment": "A=1"}, "ENVIRONMENT", "is not a mapping"),
    ({"environment": {"A B": "1"}}, "ENVIRONMENT", "'A B' is not a name of an environment variable"),
    ({"environment": {"": "1"}}, "ENVIRONMENT", "is not a name of an environment variable"),
    ({"environment": {"A\n": "1"}}, "ENVIRONMENT", "is not a name of an environment variable"),
    ({"environment": {"É": "1"}}, "ENVIRONMENT", "is not a name of an environment variable"),
    ({"environment": {1: "1"}}, "ENVIRONMENT", "1 is not a string"),
    ({"environment": {"A": 1}}, "ENVIRONMENT", "1 is not a string"),
    ({"environment": {"A": "x" * MAX_ARGUMENT_SIZE}}, "ENVIRONMENT", "variable A is too long"),
    ({"name": "é" * (MAX_ARGUMENT_SIZE // 2)}, "JOB_NAME", "is too long for a program"),
    ({"signal": 300}, "LIMIT_SIGNAL", "300 is not a string"),
    ({"signal": "USR1"}, "LIMIT_SIGNAL", "is not a signal and a time"),
    ({"signal": "@5m"}, "LIMIT_SIGNAL", "is not a signal and a time"),
    ({"signal": "USR1@0"}, "LIMIT_SIGNAL", "is not a signal and a time"),
    ({"signal": "5m", "walltime": "5m"}, "LIMIT_SIGNAL", "300 s is not before a time limit of 300 s"),
    ({"application": 3}, "application", "3 is not a string"),
    ({"fields": [("A", "1")]}, "fields", "is not a mapping"),
    ({"fields": {3: "1"}}, "fields", "3 is not a string"),
    ({"nodes": 1, "fields": {"NODES": "2"}}, "NODES", "is given twice: by nodes and by fields"),
    ({"after_ok": "12"}, "DEPENDENCY", "after_ok: '12' is not a sequence of jobs"),
    ({"after_any": [12]}, "DEPENDENCY", "12 is not a string"),
    (
        {"after_ok": ["1"], "fields": {"DEPENDENCY": "afterok:2"}},
        "DEPENDENCY",
        "is given twice: by after_ok, after_not_ok, after_any and by fields",
    ),
]


@pytest.mark.parametrize(("given_", "request_"), REQUESTS)
def test_what_is_asked_of_start(given_: dict[str, Any], request_: dict[str, str]) -> None:
    assert build_request(JobDescription(**given_)) == request_


@pytest.mark.parametrize(("given_", "field", "words"), REFUSED)
def test_what_no_job_can_have_is_refused(given_: dict[str, Any], field: str, words: str) -> None:
    with pytest.raises(ValueRefusedError) as raised:
        build_request(JobDescription(**given_))
    assert raised.value.field == field
    assert words in raised.value.message.replace('"', "'")
    assert raised.value.hint
    assert len(str(raised.value)) < 3 * MAX_ARGUMENT_SIZE  # the value itself is not repeated many times


TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=20)


@given(
    words=st.lists(TEXTS, max_size=5),
    values=st.dictionaries(st.from_regex(r"\AV[A-Z]*\Z"), TEXTS, max_size=3),
)
def test_a_shell_gives_back_what_was_quoted(words: list[str], values: dict[str, str]) -> None:
    script = f"{format_exports(values)}set -- {quote_shell_words(words)}\n"
    script += "for word do printf '%s\\0' \"$word\"; done\n"
    script += "".join(f"printf '%s\\0' \"${name}\"\n" for name in values)
    done = subprocess.run(["sh"], input=script.encode(), capture_output=True, check=True)
    assert done.stdout == b"".join(t.encode() + b"\0" for t in (*words, *values.values()))


@pytest.mark.parametrize(
    ("attribute", "value", "expected"),
    [
        ("walltime", "2m", "120"), ("walltime", "01:30:00", "5400"), ("walltime", 600, "600"), ("walltime", "600", "600"),
        ("cputime", "1h", "3600"), ("memory", "2G", "2048"), ("memory", "512", "512"), ("memory", "large", "large"),
        ("walltime", "10:00", "10:00"),
    ],
)  # fmt: skip
def test_times_and_amounts_with_units(attribute: str, value: object, expected: str) -> None:
    """What is neither is left to the profile, which may have a tag for it."""
    assert list(build_request(JobDescription(**{attribute: value})).values()) == [expected]  # type: ignore[arg-type]
