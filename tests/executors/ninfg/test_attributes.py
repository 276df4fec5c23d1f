"""The table of attributes: docs/protocols/ninfg.md, 3."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osprofile.executors.errors import AttributeRefusedError
from osprofile.executors.ninfg.attributes import (
    ATTRIBUTES,
    MANDATORY_ATTRIBUTES,
    Destination,
    JobRequest,
    attributes_for_field,
    parse_job_request,
)
from osprofile.jobs.fields import FIELD_BY_ATTRIBUTE, JobDescription
from tests.executors.ninfg.client import PLAIN, attributes


def order(*more: tuple[str, str], **changed: str | list[str] | None) -> JobRequest:
    return parse_job_request(attributes(*more, **changed))


def test_the_plain_job() -> None:
    assert order() == JobRequest(
        destination=Destination("linux", "localhost"),
        executable="/bin/true",
        is_staged=False,
        run_directory="/",
        stdout=None,
        stderr=None,
        base_description=JobDescription(arguments=(PLAIN["argument"],), environment={}),
    )


# Attribute, value, attribute of JobDescription, its value.
MEANINGS = [
    ("argument", "", "arguments", ("--client=client.example.org:4000", "")),
    ("environment", "A", "environment", {"A": ""}),
    ("environment", "A=b=c d", "environment", {"A": "b=c d"}),
    ("tmp_dir", "/scratch", "environment", {"TMPDIR": "/scratch"}),
    ("max_time", "3", "walltime", 180),
    ("max_wall_time", "1", "walltime", 60),
    ("max_cpu_time", "2", "cputime", 120),
    ("max_cpu_time", "0", "cputime", None),
    ("min_memory", "100", "memory", 100),
    ("max_memory", "200", "memory", 200),
    ("host_count", "2", "nodes", 2),
    ("queue_name", "long", "queue", "long"),
    ("project", "p", "project", "p"),
]


@pytest.mark.parametrize(("name", "value", "attribute", "wanted"), MEANINGS)
def test_meanings(name: str, value: str, attribute: str, wanted: object) -> None:
    pairs = [*attributes(), (name, value)]
    assert getattr(parse_job_request(pairs).base_description, attribute) == wanted
    assert ATTRIBUTES[name].description_field == attribute
    assert name in attributes_for_field(FIELD_BY_ATTRIBUTE[attribute])


@pytest.mark.parametrize(
    ("backend", "count", "application", "processes"),
    [("NORMAL", "1", None, None), ("NORMAL", "3", "Processes", 3), ("MPI", "1", "MPI", 1),
     ("MPI", "4", "MPI", 4), ("BLACS", "2", "BLACS", 2), ("mpi", "2", "MPI", 2)],
)  # fmt: skip
def test_backends(backend: str, count: str, application: str | None, processes: int | None) -> None:
    job = order(backend=backend, count=count).base_description
    assert (job.application, job.processes) == (application, processes)


def test_of_two_times_the_wall_time_counts_and_of_two_memories_the_larger() -> None:
    job = order(max_time="5", max_wall_time="2", min_memory="10", max_memory="20").base_description
    assert (job.walltime, job.memory) == (120, 20)
    assert order(min_memory="30", max_memory="20").base_description.memory == 30


def test_a_variable_goes_before_tmp_dir() -> None:
    assert order(environment="TMPDIR=/x", tmp_dir="/y").base_description.environment == {"TMPDIR": "/x"}


def test_variables_that_no_shell_can_export_are_left_out() -> None:
    """A client sends its environment as it is, with functions of bash."""
    found = order(environment=["A.B=1", "C=2", "BASH_FUNC_x%%=() {  true\n}", "=3"])
    assert found.base_description.environment == {"C": "2"}
    assert found.warnings[0] == "environment: no shell can export a variable 'A.B'; it is left out"
    assert len(found.warnings) == 3


@pytest.mark.parametrize(
    ("more", "changed", "profile"),
    [
        ([], {}, "linux"),
        ([], {"jobmanager": "slurm"}, "slurm"),
        ([("profile", "slurm")], {}, "slurm"),  # an option is sent verbatim
        ([("option", "profile slurm")], {}, "slurm"),
        ([("invoke_server_option", " profile  slurm ")], {}, "slurm"),
        ([("option", "profile pbs"), ("invoke_server_option", "profile slurm")], {}, "slurm"),
        ([("option", "profile slurm")], {"jobmanager": "pbs"}, "pbs"),
        ([("option", "profile slurm")], {"jobmanager": ""}, "slurm"),
        ([("option", "colour red"), ("option", "")], {}, "linux"),
        ([], {"jobmanager": "jobmanager-pbs"}, "pbs"),  # as Globus writes it
        ([("option", "profile jobmanager-pbs")], {}, "jobmanager-pbs"),
    ],
)
def test_profiles(more: list[tuple[str, str]], changed: dict[str, str], profile: str) -> None:
    """docs/ninfg.md, Setting it up: jobmanager, else an option, else linux."""
    assert order(*more, **changed).destination.profile == profile


def test_places() -> None:
    place = order(hostname="h", port="2222", subject="/CN=x", status_polling="7").destination
    assert place == Destination("linux", "h", 2222, "/CN=x", 7)


def test_an_auth_number_is_a_file_and_no_argument() -> None:
    """The executable takes --authNumberFile, and reads one line of that file."""
    found = order(auth_number="2147483647")
    assert found.auth_number == "2147483647"
    assert found.build_description("/d").arguments == (PLAIN["argument"], "--authNumberFile=/d/auth_number")
    assert order().auth_number == ""


def test_where_it_runs() -> None:
    """docs/protocols/ninfg.md, 3: the executable's directory, when staging is false."""
    assert order(work_directory=None).run_directory == "/bin"
    assert order(work_directory="").run_directory == "/bin"
    assert order(work_directory=None, staging="true").run_directory is None
    assert order(work_directory="d", staging="true").run_directory == "d"


def test_descriptions() -> None:
    asked = order(
        staging="true",
        work_directory=None,
        redirect_enable="true",
        stdout_file="/here/o",
        stderr_file="/here/e",
        argument=["a", "b c"],
    )
    made = asked.build_description("/there/1")
    assert (made.executable, made.arguments) == ("/there/1/bin/true", ("a", "b c"))
    assert (made.working_directory, made.stdout, made.stderr) == ("/there/1", "stdout", "stderr")
    one = order(redirect_enable="true", stdout_file="/o", stderr_file="/o").build_description("/d")
    assert (one.stdout, one.stderr) == ("stdout", "stdout")
    none = order(redirect_enable="false", stdout_file="/o", stderr_file="/o").build_description("/d")
    assert (none.stdout, none.stderr) == ("/dev/null", "/dev/null")
    only = order(redirect_enable="true", stderr_file="/o").build_description("/d")
    assert (only.stdout, only.stderr) == ("/dev/null", "stderr")
    assert (only.executable, only.directory) == ("/bin/true", "/")
    home = order(work_directory="a b").build_description("/d")
    assert (home.executable, home.fields) == ("/bin/sh", {})
    assert home.arguments[2:] == ("sh", "a b", "/bin/true", PLAIN["argument"])


BAD = [
    ("hostname", "", "it has no value"),
    ("port", "x", "'x' is not a number from 0 to 65535"),
    ("port", "65536", "'65536' is not a number from 0 to 65535"),
    ("executable_path", "true", "'true' is not an absolute path of a file"),
    ("executable_path", "/bin/", "'/bin/' is not an absolute path of a file"),
    ("backend", "GPU", "'GPU' is not one of NORMAL, MPI, BLACS"),
    ("count", "0", "'0' is not a number from 1 to 999999999"),
    ("count", "-1", "'-1' is not a number from 1 to 999999999"),
    ("count", "\u0661", "'\u0661' is not a number from 1 to 999999999"),
    ("count", "1" * 5000, "'{}'... (5000 characters) is not a number from 1 to 999999999".format("1" * 80)),
    ("staging", "yes", "'yes' is neither true nor false"),
    ("redirect_enable", "", "'' is neither true nor false"),
    ("status_polling", "1.5", "'1.5' is not a number from 0 to 999999999"),
    ("max_time", "one", "'one' is not a number from 0 to 999999999"),
    ("auth_number", "-1", "it is not a number from 0 to 2147483647"),
    ("auth_number", "2147483648", "it is not a number from 0 to 2147483647"),
    ("option", "profile", "it does not name a profile"),
    ("argument", "a\0b", "it contains a NUL byte"),
    ("argument", "\udcff", "'\\xff' is not valid UTF-8"),
]


@pytest.mark.parametrize(("name", "value", "message"), BAD)
def test_bad_values(name: str, value: str, message: str) -> None:
    with pytest.raises(AttributeRefusedError) as caught:
        parse_job_request([*attributes(), (name, value)])
    assert caught.value.message == f"attribute {name}: {message}"
    assert caught.value.attribute == name


MANDATORY = [
    "hostname", "port", "client_name", "executable_path", "backend", "count", "staging",
    "argument", "redirect_enable", "status_polling", "refresh_credential",
]  # fmt: skip


@pytest.mark.parametrize("name", MANDATORY)
def test_a_mandatory_attribute_is_missing(name: str) -> None:
    """docs/protocols/ninfg.md, 2.2 and 3; no `argument` at all is an error too."""
    with pytest.raises(AttributeRefusedError) as caught:
        order(**{name: None})
    assert caught.value.message == f"attribute {name}: mandatory, and missing"


def test_unknown_attributes_are_ignored() -> None:
    """docs/protocols/ninfg.md, 2.2 and 3; rsl_extensions and the proxy's among them."""
    more = [("rsl_extensions", "<x/>"), ("communication_proxy_staging", "true"), ("gass_url", "")]
    assert order(*more, ("", ""), ("what", "\u00e9")) == order()
    assert {*MANDATORY_ATTRIBUTES} == {*MANDATORY}


def test_fields_of_a_target_that_are_no_part_of_a_job() -> None:
    assert attributes_for_field("SSH:HOST") == ("hostname",)
    assert attributes_for_field("SSH:PORT") == ("port",)
    assert attributes_for_field("DIRECTORY") == ("work_directory",)
    assert attributes_for_field("UNHEARD_OF") == ()


@given(st.lists(st.tuples(st.sampled_from([*ATTRIBUTES, "other"]), st.text())))
def test_any_values(pairs: list[tuple[str, str]]) -> None:
    """A job, or an error that names an attribute."""
    refused = None
    try:
        assert parse_job_request([*attributes(), *pairs]).build_description("/d").arguments
    except AttributeRefusedError as error:
        refused = error
    if refused is not None:
        assert refused.attribute in ATTRIBUTES
        assert refused.attribute in refused.message
