"""From submit ads to jobs. Sections are those of docs/protocols/blah.md."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import osprofile
from osprofile.errors import OSProfileError
from osprofile.executors.blah.attributes import (
    ATTRIBUTE_RULES,
    NON_IGNORABLE_ATTRIBUTES,
    RESOURCE_RULES,
    Proxy,
    Submission,
    submission_from_ad,
)
from osprofile.executors.blah.classad import write_ad
from osprofile.executors.blah.messages import split_line
from osprofile.executors.blah.submit_ad import MAX_AD_LENGTH, SubmitAd
from osprofile.executors.errors import AttributeRefusedError, ClassAdError
from osprofile.jobs.fields import FIELD_BY_ATTRIBUTE, JobDescription
from osprofile.jobs.profiles import list_settable_fields
from osprofile.jobs.request import build_request
from tests.executors.blah.gridmanager import quoted

SETTABLE = frozenset(FIELD_BY_ATTRIBUTE.values()) - {"GPUS", "GPU_TYPE", "EXCLUSIVE"} | {
    "GPUNUMBER",
    "FOO",
    "FOO_MIN",
    "FOO_MAX",
    "CEID",
}


def submission(text: str, settable: frozenset[str] = SETTABLE) -> Submission:
    return submission_from_ad(SubmitAd.parse(text), settable)


def ad(attributes: str) -> str:
    return f'[ Cmd = "/c"; GridType = "pbs"; {attributes} ]'


# docs/protocols/blah.md, 6.3: byte for byte.
SUBMIT = rb"""BLAH_JOB_SUBMIT 3 [\ In\ =\ "stdin.txt";\ Cmd\ =\ "/home/u/job.sh";\ Err\ =\ "job.err";\ Iwd\ =\ "/home/u";\ Out\ =\ "job.out";\ Args\ =\ "a\ b\ c";\ gridtype\ =\ "slurm";\ Environment\ =\ "X=1";\ GridResource\ =\ "batch\ slurm";\ JobDirectory\ =\ "home_bl_...";\ TransferInput\ =\ "in1.txt";\ TransferOutput\ =\ "out1.txt,out2.txt"\ ]"""  # noqa: E501
SUBMIT_AD = """[ In = "stdin.txt"; Cmd = "/home/u/job.sh"; Err = "job.err"; Iwd = "/home/u"; Out = "job.out"; Args = "a b c"; gridtype = "slurm"; Environment = "X=1"; GridResource = "batch slurm"; JobDirectory = "home_bl_..."; TransferInput = "in1.txt"; TransferOutput = "out1.txt,out2.txt" ]"""  # noqa: E501


def test_the_pages_submission() -> None:
    text = split_line(SUBMIT)[2]
    assert text == SUBMIT_AD
    assert submission(text) == Submission(
        grid_type="slurm",
        description=JobDescription(
            executable="/home/u/job.sh",
            arguments=("a", "b", "c"),
            environment={"X": "1"},
            stdin="/home/u/stdin.txt",
            stdout="/home/u/job.out",
            stderr="/home/u/job.err",
            fields={},
        ),
        iwd="/home/u",
        inputs=("/home/u/in1.txt",),
        outputs=(("out1.txt", "/home/u/out1.txt"), ("out2.txt", "/home/u/out2.txt")),
        key="JobDirectory=home_bl_...",
    )


WIRE_ARGUMENTS = rb"""[\ Cmd\ =\ "/c";\ gridtype\ =\ "slurm";\ Arguments\ =\ "one\ two'\ 'words\ it''''s\ \\"dq\\"\ back\\\\slash\ $HOME\ *\ ;\ a&b\ semi;colon\ ''\ end";\ Environment\ =\ "E1=sp'\ 'ace\ E2=q''''uo\\"te\ E3=a;b=c&d$HOME\ E4=back\\\\slash'\ '*"\ ]"""  # noqa: E501


def test_the_pages_arguments_and_environment() -> None:
    """ClassAd escapes lie inside line escapes."""
    (text,) = split_line(WIRE_ARGUMENTS)
    found = submission(text).description
    assert found.arguments == (
        "one", "two words", "it's", '"dq"', "back\\slash", "$HOME", "*", ";", "a&b",
        "semi;colon", "", "end",
    )  # fmt: skip
    assert found.environment == {
        "E1": "sp ace",
        "E2": "q'uo\"te",
        "E3": "a;b=c&d$HOME",
        "E4": "back\\slash *",
    }


# The draft's example of BLAH_JOB_SUBMIT (docs/protocols/blah.md, 2.3), as it stands there: folded, and with a quote behind it.
SEED = r"""[\ Cmd\ =\ "/usr/bin/test.sh";\ Args\ =\ "'X=3:Y=2'";\ Env\ =\ "VAR1=56568";\ In\ =\ "/dev/null";\ Out\ =\ "/home/StdOutput";\ Err\ =\ "/home/error";\ x509userproxy\ =\ "/home/123.proxy";\ Stagecmd\ =\ TRUE;\ Queue\ =\ "short";\ GridType\ =\ "pbs";\ ]'"""  # noqa: E501


def test_the_seeds_submission() -> None:
    (text,) = split_line(SEED.encode())
    assert submission(text) == Submission(
        grid_type="pbs",
        description=JobDescription(
            executable="/usr/bin/test.sh",
            arguments=("X=3:Y=2",),
            environment={"VAR1": "56568"},
            stdin="/dev/null",
            stdout="/home/StdOutput",
            stderr="/home/error",
            queue="short",
            fields={},
        ),
        proxy=Proxy("/home/123.proxy"),
        warnings=('text after the ad is ignored: "\'"',),
    )


JOBS: dict[str, dict[str, Any]] = {
    # docs/protocols/blah.md, 4.2
    'Arguments = "a\' \'b"; Args = "c d"': {"arguments": ("a b",)},
    'Arguments = ""; Args = "c d"': {"arguments": ()},
    'Args = "a  \'b c\' $HOME *"': {"arguments": ("a", "b", "c", "$HOME", "*")},
    'ARGS = "x"': {"arguments": ("x",)},
    'Environment = "A=1"; Env = "B=2"': {"environment": {"A": "1"}},
    'Env = "a=1;b=2"': {"environment": {"a": "1", "b": "2"}},
    'Environment = "A=1 BASH_FUNC_m%%=x"': {"environment": {"A": "1"}},
    'Queue = "long"': {"queue": "long"},
    'Queue = ""': {},
    "Queue = 5": {"queue": "5"},
    'BatchProject = "p"': {"project": "p"},
    "BatchRuntime = 540": {"walltime": 540},
    'BatchRuntime = "540"': {"walltime": 540},
    "BatchRuntime = 60 * 9.01": {"walltime": 541},
    "BatchRuntime = 0": {},
    "BatchRuntime = undefined": {},
    "RequestMemory = 2048": {"memory": 2048},
    "RequestMemory = 2.5K": {"memory": 2560},
    "NodeNumber = 4": {"processes": 4},
    "NodeNumber = 0": {},
    "HostNumber = 2; NodeNumber = 5": {"nodes": 2, "processes": 5},
    "NodeNumber = 10; SMPGranularity = 4": {"nodes": 3, "processes": 10},
    "NodeNumber = 8; SMPGranularity = 8": {"nodes": 1, "processes": 8},
    "HostNumber = 2; SMPGranularity = 4": {"nodes": 2, "processes": 8},
    "SMPGranularity = 4": {"nodes": 1, "processes": 4},
    "HostSMPSize = 4": {},
    "WholeNodes = false": {},
    "GPUNumber = 2": {"fields": {"GPUNUMBER": "2"}},
    "GPUNumber = 0": {},
    'In = "i"; Out = "o"; Err = "o"': {"stdin": "i", "stdout": "o", "stderr": "o"},
    'Iwd = "/w"; In = "i"; Out = "/o"; Err = "/dev/null"': {
        "stdin": "/w/i", "stdout": "/o", "stderr": "/dev/null",
    },
    'Iwd = "/w x"; Out = "a b"': {"stdout": "/w x/a b"},
    'In = ""': {},
    # Expressions are evaluated first
    'n = 2; Queue = strcat("q", n)': {"queue": "q2"},
    'Queue = ifThenElse(Member("x", { "X" }), "a", "b")': {"queue": "a"},
    "Queue = TARGET.queue": {},
    "MemoryBase = 100; RequestMemory = MY.MemoryBase * 2": {"memory": 200},
    # Any further attribute that is a settable field
    'foo = "a b"': {"fields": {"FOO": "a b"}},
    "Foo = 1.5": {"fields": {"FOO": "1.5"}},
    "Foo = true": {"fields": {"FOO": "true"}},
    "Walltime = 60": {"fields": {"WALLTIME": "60"}},
    "Walltime = 60; BatchRuntime = 70": {"walltime": 70},
    'CeID = "ce"; VirtualOrganisation = "$(touch /tmp/x)"': {"fields": {"CEID": "ce"}},
    "Foo = undefined": {},
    # CERequirements
    'CERequirements = Foo == "bar baz" && Walltime == 540': {
        "fields": {"FOO": "bar baz", "WALLTIME": "540"},
    },
    "CERequirements = Foo >= 2 && (Foo <= 4 && foo == 3)": {
        "fields": {"FOO": "3", "FOO_MIN": "2", "FOO_MAX": "4"},
    },
    "CERequirements = other.Foo > 2 && 4 > Foo": {"fields": {"FOO_MIN": "3", "FOO_MAX": "3"}},
    'CERequirements = "Foo =?= 7"': {"fields": {"FOO": "7"}},
    "CERequirements = 2 + 3 <= Foo": {"fields": {"FOO_MIN": "5"}},
    'n = 1; CERequirements = Foo == strcat("a", n)': {"fields": {"FOO": "a1"}},
    "CERequirements = Foo == 1 && Walltime == 9; Foo = 2; BatchRuntime = 3": {
        "walltime": 3, "fields": {"FOO": "2"},
    },
    "CERequirements = true": {},
    'CERequirements = ""': {},
    "CERequirements = undefined": {},
    'CERequirements = Member("x", Other.Tags) && Foo == 1 && (A || B) && !C && Foo != 4 && Foo > 1.5': {
        "fields": {"FOO": "1"},
    },
}  # fmt: skip


@pytest.mark.parametrize("attributes", JOBS)
def test_jobs(attributes: str) -> None:
    expected = {"executable": "/c", "fields": {}, **JOBS[attributes]}
    assert submission(ad(attributes)).description == JobDescription(**expected)


WARNED = {
    "Unheard = 1": "attribute Unheard is left out: the profile has no settable UNHEARD",
    'uniquejobid = "x"; GridResource = "batch pbs"': None,
    "CERequirements = true": None,
    "JobUniverse = 5; CondorCE = 1; CERequirements = CondorCE == 1 && JobUniverse == 5": None,
    "Walltime = 60; BatchRuntime = 70": "attribute Walltime is left out: another attribute gives WALLTIME",
    'Executable = "/x"': "attribute Executable is left out: another attribute gives EXECUTABLE",
    'Environment = "f%%=x"': "Environment: no shell can export a variable 'f%%'; it is left out",
    "CERequirements = A || B": "CERequirements: 'A || B' cannot be translated",
    "CERequirements = Bar == 1": "CERequirements: the profile has no settable BAR; it is left out",
    "CERequirements = Foo == 1 && Foo == 2": "CERequirements: 'Foo == 2' contradicts what is before it",
    "CERequirements = undefined": "CERequirements: 'undefined' cannot be translated",
}  # fmt: skip


@pytest.mark.parametrize("attributes", WARNED)
def test_what_is_left_out_is_told(attributes: str) -> None:
    found = submission(ad(attributes))
    expected = WARNED[attributes]
    assert found.warnings == (() if expected is None else (expected,))


# What is wrong with an ad, and what the user is told.
REFUSED_ADS = {
    'GridType = "pbs"': "attribute Cmd is missing: there is nothing to run",
    'GridType = "pbs"; Cmd = ""': "attribute Cmd is missing: there is nothing to run",
    'Cmd = "/c"': "attribute GridType is missing: it names the batch system",
    'Cmd = "/c"; GridType = { 1 }': "attribute GridType: its value is a list, not a text",
    'GridType = "pbs"; StageCmd = false; Cmd = "-x"': "attribute Cmd: '-x' begins with a -",
    'GridType = "pbs"; Cmd = [ a = 1 ]': "attribute Cmd: its value is an ad, not a text",
}
REFUSED_ATTRIBUTES = {
    'Iwd = "w"': "attribute Iwd: 'w' is not an absolute path",
    'BatchRuntime = "soon"': "attribute BatchRuntime: 'soon' is not a number",
    "BatchRuntime = -1": f"attribute BatchRuntime: -1 is not a number from 0 to {2**63 - 1}",
    'BatchRuntime = "nan"': f"attribute BatchRuntime: nan is not a number from 0 to {2**63 - 1}",
    'BatchRuntime = real("INF")': f"attribute BatchRuntime: inf is not a number from 0 to {2**63 - 1}",
    "BatchRuntime = true": "attribute BatchRuntime: true is not a number",
    "RequestMemory = {1}": "attribute RequestMemory: a list is not a number",
    "NodeNumber = 1.5": "attribute NodeNumber: 1.5 is not an integer",
    "RequestMemory = 1 / 0": "attribute RequestMemory: division by zero",
    "Queue = strcatt(1)": "attribute Queue: there is no function strcatt (did you mean strcat or strcmp?)",
    "Queue = Queue": "attribute Queue: attribute Queue is defined by itself",
    "Queue = error": "attribute Queue: error",
    "Arguments = \"a 'b\"": "attribute Arguments: the quote at character 3 is not closed: \"'b\"",
    'Environment = "A"': "attribute Environment: 'A' is not NAME=value",
    'StageCmd = "perhaps"': "attribute StageCmd: 'perhaps' is neither true nor false",
    "WholeNodes = true": "attribute WholeNodes: this batch system's profile cannot pass it on",
    'BatchExtraSubmitArgs = "-x"': "attribute BatchExtraSubmitArgs: the option -x is not accepted here",
    'JobDirectory = "\\377"': r"attribute JobDirectory: '\xff' is not valid UTF-8",
    'TransferInput = {"a", "\\377"}': r"attribute TransferInput: '\xff' is not valid UTF-8",
    f'Iwd = "/{"x" * 4000}"; In = "{"y" * 100}"': "attribute In: a path of 4102 characters is too long",
    "Foo = { 1 }": "attribute Foo: its value is a list, not a text",
    "TransferInput = { 1 }": "attribute TransferInput: its list has other elements than strings",
    'TransferInput = "https://h/f"':
        "attribute TransferInput: 'https://h/f' is a URL: only files can be staged",
    'TransferInput = "d/.gpe_exit_status"':
        "attribute TransferInput: 'd/.gpe_exit_status' has a name of osprofile's own",
    'TransferOutput = "a/.."': "attribute TransferOutput: 'a/..' names no file",
    'TransferOutput = "a"; TransferOutputRemaps = "a"':
        "attribute TransferOutputRemaps: 'a' is not NAME = NEW NAME",
    'TransferOutput = "a"; TransferOutputRemaps = "a=osdf:///x"':
        "attribute TransferOutputRemaps: 'osdf:///x' is a URL: only files can be staged",
    'CERequirements = "Foo =="':
        "attribute CERequirements: line 1, column 7: the text ends, but an expression was expected",
}  # fmt: skip
REFUSED = REFUSED_ADS | {f'Cmd = "/c"; GridType = "pbs"; {a}': said for a, said in REFUSED_ATTRIBUTES.items()}


@pytest.mark.parametrize("attributes", REFUSED)
def test_what_cannot_be_honoured_is_an_error_that_names_the_attribute(attributes: str) -> None:
    with pytest.raises(AttributeRefusedError) as caught:
        submission(f"[ {attributes} ]")
    assert caught.value.message == REFUSED[attributes]
    assert caught.value.attribute == REFUSED[attributes].split()[1].removesuffix(":")


SITES_OPTIONS = {"--foo": "FOO", "-f": "FOO", "--gpu": "GPUNUMBER", "--one": "GPUNUMBER=1", "--no": "NONE"}


def with_options(options: str, settable: frozenset[str] = SETTABLE) -> Submission:
    text = ad(f'BatchExtraSubmitArgs = "{options}"')
    return submission_from_ad(SubmitAd.parse(text), settable, accepted_options=SITES_OPTIONS)


def test_options_that_the_site_takes_are_fields() -> None:
    found = with_options("--foo='a b' --one")
    assert found.description.fields == {"FOO": "a b", "GPUNUMBER": "1"}
    assert found.attribute_by_field["FOO"] == "BatchExtraSubmitArgs, option --foo"


def test_a_profile_that_takes_all_options_gets_them_as_they_are() -> None:
    found = with_options("--foo 'a", SETTABLE | {"BATCHEXTRASUBMITARGS"})
    assert found.description.fields == {"BATCHEXTRASUBMITARGS": "--foo 'a"}


@pytest.mark.parametrize(
    ("given", "why", "hint"),
    [
        (
            "--bar=1",
            "the option --bar is not accepted here",
            "this site accepts --foo, -f, --gpu, --one, --no",
        ),
        ("--no=1", "the option --no is not accepted by this batch system", "its profile has no field NONE"),
    ],
)
def test_the_error_names_the_option(given: str, why: str, hint: str) -> None:
    with pytest.raises(AttributeRefusedError) as caught:
        with_options(given)
    assert caught.value.message == f"attribute BatchExtraSubmitArgs: {why}"
    assert caught.value.hint == hint


def test_a_proxy_is_optional() -> None:
    # docs/protocols/blah.md, 4.2: optional in the real daemon, mandatory in the draft
    assert submission(ad("x509UserProxy = undefined")).proxy is None
    more = 'x509UserProxy = "p"; Iwd = "/w"; x509UserProxySubject = "/DC=x"; X509USERPROXYFQAN = "/vo"'
    assert submission(ad(more)).proxy == Proxy("/w/p", "/DC=x", "/vo")


def test_which_attributes_must_be_kept() -> None:
    for name in set(NON_IGNORABLE_ATTRIBUTES) - {"BatchExtraSubmitArgs"}:
        text = ad(f"{name} = true")
        with pytest.raises(AttributeRefusedError, match=name) as caught:
            submission(text, frozenset())
        rule = RESOURCE_RULES.get(name)
        field = FIELD_BY_ATTRIBUTE[rule.job_attribute] if rule is not None else name.upper()
        assert caught.value.hint == f"the profile needs a settable field {field}"
        found = submission(text, frozenset({name.upper()})).description
        assert found.fields == {name.upper(): "true"}


WHOLE = {
    "": {"nodes": 1},
    "HostNumber = 3": {"nodes": 3},
    "HostNumber = 3; HostSMPSize = 4": {"nodes": 3, "processes": 12},
    "HostNumber = 3; HostSMPSize = 4; SMPGranularity = 2": {"nodes": 3, "processes": 6},
    "NodeNumber = 9; HostSMPSize = 4": {"nodes": 3, "processes": 9},
    "HostNumber = 2; NodeNumber = 9": {"nodes": 2, "processes": 9},
}


@pytest.mark.parametrize("attributes", WHOLE)
def test_whole_nodes(attributes: str) -> None:
    found = submission(ad(f"WholeNodes = true; {attributes}"), SETTABLE | {"WHOLENODES"}).description
    expected = JobDescription(executable="/c", fields={"WHOLENODES": "true"}, **WHOLE[attributes])  # type: ignore[arg-type]
    assert found == expected


RESOURCES = {
    "GPUNumber = 2": {"gpus": 2},
    "GPUNumber = 0": {},
    'GPUNumber = 2; GPUModel = "a100"': {"gpus": 2, "gpu_type": "a100"},
    "WholeNodes = true; HostNumber = 2": {"exclusive": True, "nodes": 2},
    "WholeNodes = false": {},
}
ALL_FIELDS = frozenset(FIELD_BY_ATTRIBUTE.values())


@pytest.mark.parametrize("attributes", RESOURCES)
def test_resources_have_the_fields_of_every_profile(attributes: str) -> None:
    found = submission(ad(attributes), ALL_FIELDS)
    assert found.description == JobDescription(executable="/c", **RESOURCES[attributes])  # type: ignore[arg-type]
    assert found.warnings == ()
    sources = {"GPUS": "GPUNumber", "GPU_TYPE": "GPUModel", "EXCLUSIVE": "WholeNodes"}
    assert {f: a for f, a in found.attribute_by_field.items() if f in sources}.items() <= sources.items()


def test_an_option_comes_before_a_resource() -> None:
    text = ad('GPUNumber = 2; BatchExtraSubmitArgs = "--gpu 3"')
    found = submission_from_ad(SubmitAd.parse(text), ALL_FIELDS, accepted_options={"--gpu": "GPUS"})
    assert found.description == JobDescription(executable="/c", fields={"GPUS": "3"})
    assert found.warnings == ("attribute GPUNumber is left out: another attribute gives GPUS",)


@pytest.mark.parametrize(
    ("attribute", "field"),
    [("GPUNumber = 1", "GPUS"), ('GPUModel = "x"', "GPU_TYPE"), ("WholeNodes = true", "EXCLUSIVE"),
     ("MICNumber = 1", "MICNUMBER"), ("GPUMode = 1", "GPUMODE")],
)  # fmt: skip
def test_resources_that_a_profile_does_not_have(attribute: str, field: str) -> None:
    with pytest.raises(AttributeRefusedError) as caught:
        submission(ad(attribute), list_settable_fields(osprofile.load("linux")))
    assert caught.value.attribute == attribute.partition(" ")[0]
    assert caught.value.hint == f"the profile needs a settable field {field}"


COMMANDS = {
    'Cmd = "c"': ("c", True),
    'Cmd = "c"; Iwd = "/w"': ("/w/c", True),
    'Cmd = "b/c"; Iwd = "/w"; StageCmd = false': ("/w/b/c", False),
    'Cmd = "c"; Iwd = "/w"; StageCmd = "FALSE"': ("c", False),
    'Cmd = "/c"; Iwd = "/w"; Stagecmd = TRUE': ("/c", True),
    'Cmd = "/a b/`c` $d\'e"; Iwd = "/w"': ("/a b/`c` $d'e", True),
}


@pytest.mark.parametrize("attributes", COMMANDS)
def test_commands(attributes: str) -> None:
    found = submission(f'[ {attributes}; GridType = "pbs" ]')
    assert (found.description.executable, found.stages_executable) == COMMANDS[attributes]


FILES: dict[str, tuple[tuple[str, ...], tuple[tuple[str, str], ...]]] = {
    'TransferInput = "a, /b/c,,d e"': (("/w/a", "/b/c", "/w/d e"), ()),
    'TransferInput = { "a", "b,c" }': (("/w/a", "/w/b,c"), ()),
    'TransferInput = ""': ((), ()),
    'TransferOutput = "a,d/b,e/"': ((), (("a", "/w/a"), ("d/b", "/w/b"), ("e/", "/w/e"))),
    # docs/protocols/blah.md, 4.4: TransferOutputRemaps can be an unquoted undefined
    'TransferOutput = "a"; TransferOutputRemaps = undefined': ((), (("a", "/w/a"),)),
    'TransferOutput = "a,b"; TransferOutputRemaps = "a=x/y;b=/z"': (
        (), (("a", "/w/x/y"), ("b", "/z")),
    ),
    'TransferOutput = "d/a"; TransferOutputRemaps = "a = x"': ((), (("d/a", "/w/x"),)),
}  # fmt: skip


@pytest.mark.parametrize("attributes", FILES)
def test_files(attributes: str) -> None:
    found = submission(ad(f'Iwd = "/w"; {attributes}'))
    assert (found.inputs, found.outputs) == FILES[attributes]


def test_the_key_is_what_the_client_calls_the_job() -> None:
    # docs/protocols/blah.md, 6.3: a submission with the same JobDirectory is recognised
    assert submission(ad('ClientJobId = 7; JobDirectory = "d"')).key == "JobDirectory=d; ClientJobId=7"
    assert submission(ad('X = 7; Y = "d"')).key is None


def test_what_is_no_ad() -> None:
    with pytest.raises(ClassAdError, match="the old syntax is not supported"):
        SubmitAd.parse('Cmd = "/c"')
    with pytest.raises(ClassAdError, match=f"longer than {MAX_AD_LENGTH} characters"):
        SubmitAd.parse(f'[ Cmd = "{"x" * MAX_AD_LENGTH}" ]')


def test_the_table_gives_attributes_of_a_job() -> None:
    known = set(JobDescription.__dataclass_fields__)
    assert {rule.job_attribute for rule in ATTRIBUTE_RULES} <= known
    names = [rule.attribute.lower() for rule in ATTRIBUTE_RULES]
    assert len(set(names)) == len(names)


# docs/protocols/blah.md, 7.2 and 7.3: nothing of an ad is run or expanded by a shell of the submit host.
HOSTILE = [
    "a'b", 'a"b', "`touch x`", "$(touch x)", "$HOME", "*", "a\nb", "a\\b", "; touch x", "a b", "",
    "&", "|", "#", "~", "{a,b}", "\t", "'; touch x; '", "%s", "!", "\x01", "\x7f", "é", "-rf",
]  # fmt: skip


def test_hostile_values_reach_the_program_unchanged() -> None:
    arguments = " ".join(map(quoted, HOSTILE))
    environment = " ".join(f"V{n}={quoted(word)}" for n, word in enumerate(HOSTILE))
    text = write_ad({"Cmd": "/c", "GridType": "pbs", "Arguments": arguments, "Environment": environment})
    found = submission(text).description
    assert found.arguments == tuple(HOSTILE)
    assert found.environment == {f"V{n}": word for n, word in enumerate(HOSTILE)}
    request = build_request(found)
    script = f"{request['ENVIRONMENT']}\nprintf '%s\\0' {request['ARGUMENTS']}\nprintenv -0 V0 V6"
    done = subprocess.run(["sh", "-c", script], capture_output=True, check=True)
    shown = done.stdout.decode().split("\0")
    assert shown == [*HOSTILE, HOSTILE[0], HOSTILE[6], ""]


@pytest.mark.parametrize("name", ["linux", "slurm", "pbs", "torque", "sge", "lsf", "flux", "htcondor"])
def test_a_job_of_the_gridmanagers_fits_each_profile(name: str) -> None:
    profile = osprofile.load(name)
    found = submission(SUBMIT_AD)
    context = osprofile.new_context(profile)
    start = osprofile.incarnate(profile, "START", fields=build_request(found.description), context=context)
    assert "/home/u/job.sh" in start.text


VALUES = st.one_of(
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
    st.integers(-5, 2**62),
    st.floats(),
    st.booleans(),
)
NAMES = st.sampled_from(
    [rule.attribute for rule in ATTRIBUTE_RULES]
    + ["Iwd", "StageCmd", "TransferInput", "TransferOutput", "TransferOutputRemaps", "Foo",
       "CERequirements", "SMPGranularity", "HostSMPSize", "WholeNodes", "JobDirectory", "Other"]
)  # fmt: skip


@given(st.dictionaries(NAMES, VALUES))
def test_any_ad_is_a_job_or_an_error_of_ours(attributes: dict[str, Any]) -> None:
    text = write_ad({"GridType": "pbs", "Cmd": "/c", **attributes})
    try:
        build_request(submission(text).description)
    except OSProfileError as error:
        assert error.message  # noqa: PT017  # many are refused


JOB_NAMES = {
    'JobDirectory = "home_bl_NoPool_ce.example.org_1234.0_1795646763"': "ce_1234.0",
    'JobDirectory = "home_bl_cm.x.org_9618_some_user_ce-2_7.12_1"': "ce-2_7.12",
    'JobDirectory = "home_bl_p_ce.x_1.0_9"; Owner = "alice"': "ce_1.0_alice",
    'JobDirectory = "home_bl_p_ce.x_1.0_9"; CERequirements = Owner == "bob" && CondorCE == 1': "ce_1.0_bob",
    'JobDirectory = "home_bl_1"; Owner = "alice"': "",
    'JobDirectory = "home_bl_p_ce.x_1.0_9_more"': "",
    'Cmd = "/bin/x"': "",
}


@pytest.mark.parametrize("text", JOB_NAMES)
def test_the_name_is_the_id_in_htcondor(text: str) -> None:
    found = submission(ad(text))
    assert (found.name, found.warnings) == (JOB_NAMES[text], ())
