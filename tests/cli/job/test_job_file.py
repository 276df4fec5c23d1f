"""The files of `incarnate job submit --from`: what a line means, and what is said of a bad one."""

from __future__ import annotations

import csv
import io
import json
import shlex
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from osprofile.cli.common import UsageError
from osprofile.cli.job.job_file import JobFileError, parse_jobs, read_job_file
from osprofile.jobs.fields import FIELD_BY_ATTRIBUTE, JobDescription
from osprofile.jobs.request import build_request
from tests.hunting import rounds
from tests.profiles.test_hostile_values import CARRIED

BASE = JobDescription(
    executable="sh",
    arguments=["-c", "x"],
    environment={"A": "1", "B": "2"},
    walltime=60,
    after_ok=["7"],
    fields={"LICENSES": "a", "NODES": "2"},
)


def changes(text: str, base: JobDescription = BASE) -> list[dict[str, Any]]:
    """Return what each line changes in the description of all jobs."""
    found = []
    for line in parse_jobs(text.encode()):
        job = line.apply_to(base)
        names = [name for name in job.__slots__ if getattr(job, name) != getattr(base, name)]
        found.append({name: getattr(job, name) for name in names})
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name\nx\n", {"name": "x"}),
        ("\ufeffname,queue\r\nx,\r\n", {"name": "x"}),
        ("\n\n name , queue \n\nx,y", {"name": "x", "queue": "y"}),
        ("gpu-type,start_time\nv,2030-01-01T00:00", {"gpu_type": "v", "start_time": "2030-01-01T00:00"}),
        ("arguments\n\"'a b' c\"", {"arguments": ["-c", "x", "a b", "c"]}),
        ("executable\nls", {"executable": "ls"}),
        ("walltime,memory,cpus\n90m,4G,3", {"walltime": 5400, "memory": 4096, "cpus": 3}),
        ("exclusive,requeue,priority\ntrue,FALSE,-4", {"exclusive": True, "requeue": False, "priority": -4}),
        ("after_ok,after-any\n1 2,", {"after_ok": ["1", "2"]}),
        ("env:B,env:C\n3,it's", {"environment": {"A": "1", "B": "3", "C": "it's"}}),
        ("LICENSES,X:Y\nb,1", {"fields": {"LICENSES": "b", "NODES": "2", "X:Y": "1"}}),
        ("WALLTIME\n5", {"walltime": None, "fields": {**BASE.fields, "WALLTIME": "5"}}),
        ("nodes\n5", {"nodes": 5, "fields": {"LICENSES": "a"}}),
        ("DEPENDENCY\nafterok:1", {"after_ok": (), "fields": {**BASE.fields, "DEPENDENCY": "afterok:1"}}),
        ('ARGUMENTS\n"\'-n\'"', {"arguments": (), "fields": {**BASE.fields, "ARGUMENTS": "'-n'"}}),
        ('name\n"a\nb"', {"name": "a\nb"}),
        ('{"name": "x", "queue": null}', {"name": "x"}),
        ('\n \t{"arguments": ["a b", "c"], "gpus": 2}\r\n', {"arguments": ["-c", "x", "a b", "c"], "gpus": 2}),
        ('{"arguments": "\'a b\' c", "gpus": "2"}', {"arguments": ["-c", "x", "a b", "c"], "gpus": 2}),
        ('{"walltime": 90, "memory": "4G", "exclusive": true}', {"walltime": 90, "memory": 4096, "exclusive": True}),
        ('{"environment": {"B": 1.50, "D": null}, "env:C": "x"}', {"environment": {"A": "1", "B": "1.50", "C": "x"}}),
        ('{"after_ok": [], "RATE": 1.50}', {"after_ok": [], "fields": {**BASE.fields, "RATE": "1.50"}}),
        ('{"name": "\\ud83d\\ude00\u2028\x85"}', {"name": "\U0001f600\u2028\x85"}),
    ],
)  # fmt: skip
def test_a_line(text: str, expected: dict[str, Any]) -> None:
    assert changes(text) == [expected]


def test_every_attribute_is_a_column() -> None:
    others = {"after_ok", "after_not_ok", "after_any", "application", "passed_options", "working_directory"}
    others |= {"inputs", "fetch", "fetch_to", "retry"}
    known = {*FIELD_BY_ATTRIBUTE, *others}
    assert known == {name for name in JobDescription.__slots__ if name != "fields"}
    for name in known - {"environment"}:
        for column in {name, name.replace("_", "-")}:
            text = "true" if name in {"exclusive", "requeue"} else "2"
            (line,) = parse_jobs(f"{column}\n{text}".encode())
            assert getattr(line.apply_to(BASE), name) != getattr(BASE, name)


def test_lines_and_keys() -> None:
    text = 'key,name\nk,"a\n\nb"\n\n,c\r\nl,d\n'
    assert [(line.number, line.key) for line in parse_jobs(text.encode())] == [(2, "k"), (6, None), (7, "l")]
    text = '\n{"key": "k"}\n\n{"key": ""}\n{}'
    assert [(line.number, line.key) for line in parse_jobs(text.encode())] == [(2, "k"), (4, None), (5, None)]


BAD = [
    # the text, what is wrong and in which lines, a piece of the hint of the first
    ("", ["1: there is no job"], "name,arguments"),
    ("\n\n", ["3: there is no job"], "names of the columns"),
    ("name\n\n", ["3: there is no job"], "a row for each job"),
    ("nam\nx", ["1: column nam is not known"], "did you mean name?"),
    ("Name\nx", ["1: column Name is not known"], "did you mean name?"),
    ("name;queue\nx;y", ["1: column name;queue is not known"], "commas separate"),
    ("a b,c\n1,2", ["1: column 'a b' is not known", "1: column c is not known"], "in capitals"),
    ("environment\nA=1", ["1: column environment is not known"], "env:LANG"),
    ("fields\nA=1", ["1: column fields is not known"], "in capitals"),
    ("name,name\nx,y", ["1: name is given twice"], "leave one"),
    ("gpus,GPUS\n1,2", ["1: GPUS is given twice, also as gpus"], ""),
    ("gpu_type,gpu-type\n1,2", ["1: gpu-type is given twice, also as gpu_type"], ""),
    ("env:A,env:A\n1,2", ["1: env:A is given twice"], ""),
    ("name,\nx,", ["1: column 2 has no name"], "delete the comma"),
    ("name\nx\ny,z\nx,\n", ["3: 2 cells, but the first row names 1 columns", "4: 2 cells"], '"a,b"'),
    ("name,queue\nx,y\nx", ["3: 1 cells, but the first row names 2 columns"], "not complete"),
    ('name\n"x\ny', ["2: malformed CSV: unexpected end of data"], "doubled"),
    ('name\n"x"y\n', ["2: malformed CSV"], "doubled"),
    ("walltime\n10:00\n5\nsoon", ["2: walltime '10:00' is not a time", "4: walltime 'soon'"], "use seconds"),
    ("memory\nlots", ["2: memory 'lots' is not an amount"], "4G"),
    ("cpus,gpus\n-1,x", ["2: cpus '-1' is not a whole number", "2: gpus 'x'"], "as in 4"),
    ("priority\n1.5", ["2: priority '1.5' is not a whole number"], "-4"),
    ("exclusive\nyes", ["2: exclusive: 'yes' is neither true nor false"], ""),
    ("arguments\n'x", ['2: arguments: "\'x": no closing quotation'], "as for a shell"),
    ("name\na\0b", ["2: name: 'a\\x00b' has a NUL character"], ""),
    ("name\0\nx", ["1: 'a name': 'name\\x00' has a NUL character"], ""),
    ("key\nk\nl\nk", ["4: key 'k' is also that of line 2"], "its own"),
    ("working_directory\n/d\n/d", ["3: working_directory '/d' is also that of line 2"], "its own"),
    ('{"name": "x"', ["1: invalid JSON in column 13: Expecting ',' delimiter"], "one object"),
    (
        '{"name": "x"}\n[1]\n7\n',
        ["2: this is not a JSON object", "3: this is not a JSON object"],
        "one object",
    ),
    ('{"name": "x"} {}', ["1: invalid JSON in column 15: Extra data"], ""),
    ('{"nme": "x"}\n{}', ["1: name nme is not known"], "did you mean name?"),
    ('{"name": "x", "name": "y"}', ["1: name is given twice"], ""),
    ('{"gpus": 1, "GPUS": 2}', ["1: GPUS is given twice, also as gpus"], ""),
    ('{"environment": {"A": "1"}, "env:A": "2"}', ["1: env:A is given twice, also as 'environment A'"], ""),
    ('{"environment": {"A": "1", "A": "2"}}', ["1: A is given twice"], ""),
    ('{"environment": ["A"]}', ["1: environment: a list is not an object"], '{"LANG": "C"}'),
    ('{"environment": {"A": [1]}}', ["1: 'environment A': a list is neither a string nor a number"], ""),
    (
        '{"name": 7}\n{"name": true}',
        ["1: name: the number '7' is not a string", "2: name: true is not"],
        "...",
    ),
    ('{"arguments": [1]}', ["1: arguments: the number '1' is not a string"], ""),
    ('{"arguments": {"a": 1}}', ["1: arguments: an object is neither a list of strings"], '["-n", "3"]'),
    ('{"arguments": 7}', ["1: arguments: the number '7' is neither a list of strings"], ""),
    ('{"gpus": 1.5}\n{"gpus": true}', ["1: gpus '1.5' is not a whole number", "2: gpus: true is"], ""),
    ('{"GPUS": [1]}', ["1: GPUS: a list is neither a string nor a number"], ""),
    ('{"gpus": NaN}', ["1: invalid JSON: NaN is not a number"], "null"),
    ('{"name": "a\\u0000"}', ["1: name: 'a\\x00' has a NUL character"], ""),
    ('{"name": "\\ud800"}', ["1: name: '\\ud800' has half a surrogate pair"], ""),
    ('{"\\ud800": "x"}', ["1: 'a name': '\\ud800' has half a surrogate pair"], ""),
    ('{"a":' * 100_000, ["1: invalid JSON: too deeply nested"], ""),
    ('{"gpus": ' + "1" * 5000 + "}", ["1: gpus '111"], ""),
    ('[{"name": "x"}]', ['1: column \'[{"name": "x"}]\' is not known'], ".jsonl"),
]


@pytest.mark.parametrize(("text", "errors", "hint"), BAD, ids=[repr(text[:40]) for text, _, _ in BAD])
def test_a_bad_file(text: str, errors: list[str], hint: str) -> None:
    with pytest.raises(JobFileError) as caught:
        parse_jobs(text.encode())
    told = [f"{error.line}: {error.message}" for error in caught.value.errors]
    assert len(told) == len(errors), told
    assert all(t.startswith(e) for t, e in zip(told, errors, strict=True)), told
    assert hint in caught.value.errors[0].hint
    assert all(error.hint for error in caught.value.errors)


def test_not_utf_8() -> None:
    for data, line in ((b"name\nx\n\xe9\n", 3), ("name\n".encode("utf-16"), 1)):
        with pytest.raises(JobFileError) as caught:
            parse_jobs(data)
        assert caught.value.errors[0][:2] == (line, "this is not UTF-8")


@pytest.mark.parametrize("path", ["x.txt", "x", ".", "nowhere.csv", "a\0b.csv", "/proc/self/mem.jsonl"])
def test_a_file_that_cannot_be_read(path: str) -> None:
    with pytest.raises(UsageError, match="--from") as caught:
        read_job_file(path)
    assert caught.value.hint


def check_arrival(values: list[str]) -> None:
    """Check that values arrive in the request as if they had been given to Python."""
    table = io.StringIO(newline="")
    writer = csv.writer(table)
    writer.writerow(["arguments", "env:V", "stdin"])
    objects = []
    for value in values:
        # An empty cell is no value.
        writer.writerow([shlex.join([value, "last"]), value or "-", value or "-"])
        objects.append(
            {"arguments": [value, "last"], "environment": {"V": value or "-"}, "stdin": value or "-"}
        )
    texts = [
        table.getvalue(),
        *("\n".join(json.dumps(o, ensure_ascii=a) for o in objects) for a in (True, False)),
    ]
    for text in texts:
        for value, line in zip(values, parse_jobs(text.encode()), strict=True):
            expected = JobDescription(
                arguments=[value, "last"], environment={"V": value or "-"}, stdin=value or "-"
            )
            assert build_request(line.apply_to(JobDescription())) == build_request(expected)


@settings(max_examples=rounds(200, 20), deadline=None)
@given(
    st.lists(
        st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), min_size=1, max_size=4
    )
)
@example(CARRIED)
def test_hostile_values_arrive(values: list[str]) -> None:
    check_arrival(values)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
names = st.sampled_from(
    ["name", "arguments", "gpus", "walltime", "exclusive", "key", "env:A", "environment", "GPUS", "after_ok", "x", ""]
) | st.text(max_size=4)  # fmt: skip
json_lines = st.lists(st.dictionaries(names, json_values, max_size=4), max_size=4).map(
    lambda objects: "\n".join(map(json.dumps, objects)).encode()
)
csv_cells = st.sampled_from(["", "1", "x", "'", '"', "true", "90m", "4G", "\n", "\0", "a b"]) | st.text(
    max_size=4
)
csv_rows = st.lists(st.lists(csv_cells, max_size=4).map(",".join), max_size=4)
csv_texts = st.builds(
    lambda head, rows: "\n".join([",".join(head), *rows]).encode("utf-8", "surrogatepass"),
    st.lists(names, max_size=4),
    csv_rows,
)


@settings(max_examples=rounds(500, 100), deadline=None)
@given(st.binary() | json_lines | csv_texts, st.sampled_from([None, True, False]))
def test_any_file_is_read_or_has_errors(data: bytes, is_json: bool | None) -> None:
    errors = []
    try:
        lines = parse_jobs(data, is_json=is_json)
        assert lines
        assert [line.apply_to(BASE) for line in lines]
    except JobFileError as error:
        errors = error.errors
    assert errors == sorted(errors)
    assert all(e.line >= 1 and e.message and e.hint for e in errors)
