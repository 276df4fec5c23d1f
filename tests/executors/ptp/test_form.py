"""A profile's fields as attribute definitions, and SUBMIT_JOB's attributes as a job."""

from __future__ import annotations

import functools
import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

import osprofile
from osprofile.errors import OSProfileError, ValueRefusedError
from osprofile.executors.failures import RUN_IN_DIRECTORY
from osprofile.executors.ptp.form import PROTOCOL_ATTRIBUTES, SubmissionForm
from osprofile.jobs.fields import JobDescription
from osprofile.jobs.request import build_request
from osprofile.profile.repository import Repository
from tests.strategies import field, invocation, profile, template

if TYPE_CHECKING:
    from pathlib import Path

QUEUES = {"16777218": "batch", "16777219": ""}


@functools.cache
def load_form(name: str) -> SubmissionForm:
    return SubmissionForm(osprofile.load(name))


def describe(form: SubmissionForm, *arguments: str) -> JobDescription:
    return form.parse_submission(arguments, QUEUES.get).description


# Definitions


def describes(content: str, attributes: str = "", name: str = "X") -> list[str]:
    """Give what ATTR_DEF says of the one field of a profile's START."""
    text = f"<idb:Description>What it is.</idb:Description>{content}"
    start = template("START", invocation(f"<{name}>"), field(name, text, attributes))
    (definition,) = SubmissionForm(profile(start)).definitions
    return definition.format_arguments()


INTEGER = 'ext:type="integer"'
EMPTY = "<idb:Default></idb:Default>"


def default(value: str) -> str:
    return f"<idb:Default>{value}</idb:Default>"


def limits(low: float, high: float) -> str:
    return f"<idb:Min>{low}</idb:Min><idb:Max>{high}</idb:Max>"


def tags(**values: str) -> str:
    return "".join(f'<idb:Tag name="{name}">{value}</idb:Tag>' for name, value in values.items())


TAGS = tags(a="1", b="2")

# (what, the field's content, its attributes, type, description after "What it is.", default and limits or values)
FIELDS: list[tuple[str, str, str, str, str, list[str]]] = [
    ("text", default("d"), "", "STRING", "", ["d"]),
    ("text, empty", EMPTY, 'ext:type="text"', "STRING", "", [""]),
    ("text, required", "", "", "STRING", "", [""]),
    ("integer with limits", limits(1, 64) + default("2"), INTEGER, "INTEGER", "", ["2", "1", "64"]),
    ("integer that may be empty: 0 says so", limits(1, 64) + EMPTY, INTEGER, "INTEGER", " 1 to 64; 0: not given.", ["0", "0", "64"]),
    ("integer that must be given: 0 does not", limits(1, 64), INTEGER, "INTEGER", " 1 to 64; 0: not given.", ["0", "0", "64"]),
    ("integer without limits", default("2"), INTEGER, "BIGINTEGER", "", ["2"]),
    ("integer with one limit, of which ATTR_DEF has no form", "<idb:Max>9</idb:Max>" + default("2"), INTEGER, "INTEGER", "", ["2"]),
    ("integer beyond 32 bits", limits(0, 2**40) + default("2"), INTEGER, "BIGINTEGER", "", ["2", "0", str(2**40)]),
    ("integer that may be empty and may be 0: no number says so", limits(0, 9) + EMPTY, INTEGER, "STRING", " 0 to 9.", [""]),
    ("integer whose default is none", limits(1, 64) + default("many"), INTEGER, "STRING", " 1 to 64.", ["many"]),
    ("integer whose default is outside", limits(1, 64) + default("65"), INTEGER, "STRING", " 1 to 64.", ["65"]),
    ("number by its limits", limits(0.5, 2) + default("1e0"), "", "DOUBLE", "", ["1e0", "0.5", "2.0"]),
    ("number by its type", default("1.5"), 'ext:type="number"', "DOUBLE", "", ["1.5"]),
    ("tags", TAGS + default("a"), "", "ENUMERATED", "", ["a", "a", "b"]),
    ("tags, and a default that is none of them", TAGS + default("c"), "", "ENUMERATED", "", ["c", "a", "b", "c"]),
    ("tags, and no default", TAGS + EMPTY, "", "STRING", " Known: a, b.", [""]),
    ("tags beside numbers", limits(1, 64) + TAGS + default("7"), INTEGER, "STRING", " 1 to 64. Known: a, b.", ["7"]),
    ("true or nothing", EMPTY, 'ext:pattern="true"', "BOOLEAN", "", ["false"]),
    ("true or nothing, and a word for that", tags(false="") + EMPTY, 'ext:pattern="true"', "BOOLEAN", "", ["false"]),
    ("true and false", tags(true="-v", false="") + default("true"), "", "BOOLEAN", "", ["true"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "attributes", "type_", "more", "values"),
    [row[1:] for row in FIELDS],
    ids=[row[0] for row in FIELDS],
)
def test_a_field_is_told(content: str, attributes: str, type_: str, more: str, values: list[str]) -> None:
    """docs/protocols/ptp.md, 4.2: ATTR_DEF;: type, limits, default and description."""
    texts = ["X", type_, "X", f"What it is.{more}", "true", *values]
    assert describes(content, attributes) == [str(len(texts)), *texts]


def test_the_name_is_for_people() -> None:
    assert describes(EMPTY, name="JOB_NAME")[3] == "Job name"


@pytest.mark.parametrize("name", ["name", "jobId", "execName", "queueId"])
def test_a_field_whose_name_the_protocol_has(name: str) -> None:
    """docs/protocols/ptp.md, 4.2: redefining a predefined id has no effect."""
    assert describes(EMPTY, name=name)[1] == f"profile_{name}"
    start = template("START", invocation(f"<{name}>"), field(name, EMPTY))
    found = describe(SubmissionForm(profile(start)), f"profile_{name}=v")
    assert found.fields == {name: "v"}


@pytest.mark.parametrize("name", ["linux", "pbs", "torque", "slurm", "sge", "lsf"])
def test_every_settable_field_of_the_bundled_profiles(name: str) -> None:
    form = load_form(name)
    ids = [definition.id for definition in form.definitions]
    assert ids == sorted(ids)
    assert {"EXECUTABLE", "NODES", "WALLTIME"} <= set(ids)
    assert ("QUEUE" in ids) == (name != "linux")
    assert not {"JOB_ID", "JOB_SCRIPT", "JOB_ID_PATTERN", "WORKING_DIRECTORY"} & set(ids)
    for definition in form.definitions:
        texts = definition.format_arguments()
        assert int(texts[0]) == len(texts) - 1
        assert all(text.isascii() for text in texts)


@pytest.mark.parametrize("name", ["linux", "pbs", "torque", "slurm", "sge", "lsf"])
def test_a_form_left_as_it_was_is_an_ordinary_job(name: str) -> None:
    """A client may send each default back: that must be the same as to send nothing."""
    loaded = osprofile.load(name)
    form = SubmissionForm(loaded)
    sent = [f"{definition.id}={definition.default}" for definition in form.definitions]
    context = osprofile.new_context(loaded)
    texts = [
        osprofile.incarnate(
            loaded, "START", fields=build_request(describe(form, *arguments)), context=context
        ).text
        for arguments in (sent, ["execName=/bin/date"], [*sent, "execName=/bin/date"], [])
    ]
    assert texts[0] == texts[3]
    assert texts[1] == texts[2]
    assert texts[0] != texts[1]


# Submissions

# (section, arguments, attributes of the description)
JOBS: list[tuple[str, list[str], dict[str, object]]] = [
    ("3.2: execName", ["execName=a.out"], {"executable": "a.out"}),
    ("3.2: execPath is a directory", ["execPath=/home/u/", "execName=a.out"], {"executable": "/home/u/a.out"}),
    ("execName with a path", ["execName=/b/a", "execPath=/home/u"], {"executable": "/b/a"}),
    ("execPath alone", ["execPath=/home/u"], {}),
    (
        "3.2: progArgs, one per argument",
        ["progArgs=-a 2 -b 4", "execName=a", "progArgs=", "progArgs=x=y"],
        {"executable": "a", "arguments": ("-a 2 -b 4", "", "x=y")},
    ),
    ("3.2: env=NAME=value, one per variable", ["env=A=b=c d", "env=B="], {"environment": {"A": "b=c d", "B": ""}}),
    ("3.2: queueId is an element id", ["queueId=16777218"], {"queue": "batch"}),
    ("the default queue", ["queueId=16777219"], {}),
    ("a queue that is gone", ["queueId=99"], {}),
    ("3.2: jobPartition", ["jobPartition=long", "queueId=16777218"], {"queue": "long"}),
    ("3.2: jobPartition", ["queueId=16777218", "jobPartition=long"], {"queue": "long"}),
    ("3.2: jobNumProcs", ["jobNumProcs=8"], {"processes": 8, "application": "Processes"}),
    ("one process", ["jobNumProcs=1"], {"processes": 1}),
    ("3.2: jobNumNodes", ["jobNumNodes=2"], {"nodes": 2}),
    ("3.2: jobTimeLimit, in minutes", ["jobTimeLimit=5"], {"walltime": 300}),
    ("a number that was not filled in", ["jobNumProcs=0", "jobNumNodes="], {}),
    ("a field of the form", ["MEMORY=100"], {"fields": {"MEMORY": "100"}}),
    ("an empty field of the form", ["MEMORY=", "NODES=0"], {}),
    (
        "the form goes before what a client sends anyhow",
        ["queueId=16777218", "QUEUE=long", "jobNumProcs=1", "PROCESSES=4", "jobTimeLimit=1",
         "WALLTIME=90", "NODES=3"],
        {"fields": {"QUEUE": "long", "PROCESSES": "4", "WALLTIME": "90", "NODES": "3"},
         "application": "Processes"},
    ),
    (
        "a form's default does not",
        ["queueId=16777218", "QUEUE=", "jobNumProcs=2", "PROCESSES=0"],
        {"queue": "batch", "processes": 2, "application": "Processes"},
    ),
    ("a form's default", ["EXECUTABLE=hostname"], {"fields": {"EXECUTABLE": "hostname"}}),
    ("beside execName", ["EXECUTABLE=hostname", "execName=a"], {"executable": "a"}),
    (
        "3.2: workingDir",
        ["workingDir=/home/u/w", "execName=a.out", "execPath=/b", "progArgs=x"],
        {"executable": "/b/a.out", "arguments": ("x",), "fields": {"DIRECTORY": "/home/u/w"}},
    ),
    ("workingDir of the default program", ["workingDir=/home/u/w"], {"fields": {"DIRECTORY": "/home/u/w"}}),
    ("the form goes before workingDir", ["DIRECTORY=/form", "workingDir=/home/u/w"], {"fields": {"DIRECTORY": "/form"}}),
    ("an empty one of the form does not", ["DIRECTORY=", "workingDir=/home/u/w"], {"fields": {"DIRECTORY": "/home/u/w"}}),
    (
        "workingDir below the job's own directory, which no field can say",
        ["workingDir=w", "execName=a.out", "progArgs=x"],
        {"executable": "sh", "arguments": ("-c", RUN_IN_DIRECTORY, "sh", "w", "a.out", "x")},
    ),
    ("what looks like an option", ["workingDir=w", "execName=-x"], {"executable": "-x"}),
    ("what is for others", ["launchedByPTP=true", "debugStopInMain=true"], {}),
]  # fmt: skip


@pytest.mark.parametrize(("section", "arguments", "attributes"), JOBS)
def test_a_job(section: str, arguments: list[str], attributes: dict[str, object]) -> None:
    expected = JobDescription(**attributes)  # type: ignore[arg-type]
    assert describe(load_form("slurm"), *arguments) == expected, section


@pytest.mark.parametrize(
    ("application", "arguments", "chosen", "count"),
    [
        (None, [], None, 1),
        (None, ["jobNumNodes=4"], None, 1),
        (None, ["jobNumProcs=3"], "Processes", 3),
        ("Executable", ["jobNumProcs=3"], "Executable", 1),
        ("Executable/1.0", ["jobNumProcs=3"], "Executable/1.0", 1),
        ("MPI", ["jobNumProcs=3"], "MPI", 3),
        ("MPI", [], "MPI", 1),
        ("Processes", ["PROCESSES=2"], "Processes", 2),
    ],
)
def test_as_many_processes_are_told_as_are_started(
    application: str | None, arguments: list[str], chosen: str | None, count: int
) -> None:
    form = SubmissionForm(osprofile.load("linux"), application)
    description = describe(form, *arguments)
    assert description.application == chosen
    assert form.count_processes(description) == count


SITE = """<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile"
  xmlns:idb="http://gpe.intel.com/idb" name="site" extends="linux">
  <osp:UspaceRoot>/var/tmp</osp:UspaceRoot><osp:Delimiter>/</osp:Delimiter>
  <idb:Template name="EXECUTABLE"><idb:Invocation name=""><idb:Body><![CDATA[
exec srun -n '<PROCESSES>' '<EXECUTABLE/'/'\\''>' <ARGUMENTS>]]></idb:Body></idb:Invocation></idb:Template>
</osp:Profile>
"""


def test_a_site_whose_default_application_starts_several(tmp_path: Path) -> None:
    path = tmp_path / "site.xml"
    path.write_text(SITE)
    form = SubmissionForm(Repository().load_file(str(path)))
    description = describe(form, "jobNumProcs=3")
    assert (description.application, form.count_processes(description)) == (None, 3)


def test_a_profile_without_applications() -> None:
    fields = field("PROCESSES", EMPTY)
    form = SubmissionForm(profile(template("START", invocation("<PROCESSES>"), fields)))
    description = describe(form, "jobNumProcs=3")
    assert (description.application, form.count_processes(description)) == (None, 1)


@pytest.mark.parametrize("name", ["linux", "pbs", "torque", "slurm", "sge", "lsf"])
def test_the_clients_directory_is_a_field_of_the_bundled_profiles(name: str) -> None:
    """No shell around the program: what the engine refuses of it is about the program itself."""
    found = describe(load_form(name), "workingDir=/w", "execName=a")
    assert (found.executable, found.arguments) == ("a", ())
    assert found.fields == {"DIRECTORY": "/w"}


@pytest.mark.parametrize("settable", [None, "false"])
def test_the_clients_directory_with_older_templates(settable: str | None) -> None:
    """A site's profile whose START has no such field, or sets it itself: the wrapper."""
    fields = "".join(field(name, EMPTY) for name in ("EXECUTABLE", "ARGUMENTS"))
    body = "<EXECUTABLE> <ARGUMENTS>"
    if settable is not None:
        fields += field("DIRECTORY", "<idb:Value>/site</idb:Value>", f'isSettable="{settable}"')
        body += " <DIRECTORY>"
    form = SubmissionForm(profile(template("START", invocation(body), fields)))
    found = describe(form, "workingDir=/w", "execName=a", "progArgs=x")
    assert (found.executable, found.arguments) == ("sh", ("-c", RUN_IN_DIRECTORY, "sh", "/w", "a", "x"))
    assert "DIRECTORY" not in found.fields


def test_what_is_not_about_the_job() -> None:
    arguments = ["jobSubId=JOB_17952490019820", "debug=true", "foo=1", "no attribute", "foo=2"]
    found = load_form("linux").parse_submission(arguments, QUEUES.get)
    assert found.sub_id == "JOB_17952490019820"
    assert found.debug
    assert found.ignored == ("foo",)
    assert found.description == JobDescription()


def test_a_switch_that_is_off_is_not_given() -> None:
    """The client sends each attribute of its form, also those that the user left alone."""
    assert describe(load_form("linux"), "EXCLUSIVE=false", "APPEND_OUTPUT=false") == JobDescription()
    assert describe(load_form("linux"), "APPEND_OUTPUT=true").fields == {"APPEND_OUTPUT": "true"}


def test_variables_that_no_shell_can_export_are_left_out() -> None:
    found = load_form("linux").parse_submission(
        ["env=A-B=c", "env=C=d", "env=BASH_FUNC_x%%=() { true\n}"], QUEUES.get
    )
    assert found.description.environment == {"C": "d"}
    assert found.warnings[0] == "env: no shell can export a variable 'A-B'; it is left out"
    assert len(found.warnings) == 2


@pytest.mark.parametrize(
    ("arguments", "name", "text"),
    [
        (["jobNumProcs=many"], "PROCESSES", "attribute jobNumProcs: 'many' is not a number"),
        (["jobNumNodes=-1"], "NODES", "attribute jobNumNodes: '-1' is not a number"),
        (["jobTimeLimit=" + "9" * 19], "WALLTIME", "is not a number"),
        (["env=A"], "ENVIRONMENT", "attribute env: 'A' is not an environment variable"),
        (["execName=a", "EXECUTABLE=b"], "EXECUTABLE", "field EXECUTABLE is given twice"),
        (["progArgs=a", "ARGUMENTS=b"], "ARGUMENTS", "field ARGUMENTS is given twice"),
    ],
)
def test_what_is_refused(arguments: list[str], name: str, text: str) -> None:
    with pytest.raises(ValueRefusedError, match=text) as caught:
        build_request(describe(load_form("linux"), *arguments))
    assert caught.value.field == name


def test_what_the_engine_refuses() -> None:
    """Values that arrive are checked by the engine."""
    linux = osprofile.load("linux")
    request = build_request(describe(SubmissionForm(linux), "NODES=x; rm -rf /"))
    with pytest.raises(ValueRefusedError, match="field NODES"):
        osprofile.incarnate(linux, "START", fields=request, context=osprofile.new_context(linux))


def test_a_program_runs_in_the_clients_directory(tmp_path: Path) -> None:
    """The directory, the program and the arguments reach a real shell as they are."""
    directory = tmp_path / "it's $HOME -n"
    directory.mkdir()
    program = directory / "my program"
    program.write_text('#!/bin/sh\npwd\nprintf "[%s]" "$@"\n')
    program.chmod(0o700)
    for path in (str(program), "./my program"):
        words = ["sh", "-c", RUN_IN_DIRECTORY, "sh", str(directory), path, "a b", "", "$(id)"]
        found = subprocess.run(words, capture_output=True, text=True, check=True)
        assert found.stdout == f"{directory}\n[a b][][$(id)]"
    words = ["sh", "-c", RUN_IN_DIRECTORY, "sh", str(tmp_path / "none"), str(program)]
    assert subprocess.run(words, capture_output=True, check=False).returncode != 0


@given(
    st.lists(
        st.tuples(
            st.sampled_from([*sorted(PROTOCOL_ATTRIBUTES), "NODES", "EXECUTABLE", "x", "="]),
            st.text(st.characters(max_codepoint=127), max_size=10)
            | st.sampled_from(["0", "1", "", "16777218", "A=b", "/d"]),
        ).map("=".join),
        max_size=8,
    )
)
def test_any_submission_is_a_job_or_is_refused(arguments: list[str]) -> None:
    linux = osprofile.load("linux")
    try:
        request = build_request(describe(load_form("linux"), *arguments))
        osprofile.incarnate(linux, "START", fields=request, context=osprofile.new_context(linux))
    except OSProfileError as error:
        assert str(error)  # noqa: PT017
