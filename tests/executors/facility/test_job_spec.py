"""JobSpec -> JobDescription, or what is refused, by name; and back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osprofile.executors.facility.job_spec import (
    ATTRIBUTE_BY_MEMBER,
    MEMBER_BY_FIELD,
    build_description,
    format_spec,
)
from osprofile.executors.facility.problems import ProblemError
from osprofile.jobs.fields import FIELD_BY_ATTRIBUTE, JobDescription
from osprofile.jobs.profiles import list_settable_fields, load_profile
from osprofile.jobs.request import build_request

SLURM = list_settable_fields(load_profile("slurm"))
GIB = 1 << 30

ACCEPTED: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {}),
    ({"arguments": ["-n", ""], "name": "n"}, {"arguments": ["-n", ""], "name": "n"}),
    ({"name": "my job"}, {"name": "my_job"}),
    ({"name": "1 \u65e5"}, {"name": "job.1__"}),
    ({"name": "a:b@c"}, {"name": "a:b@c"}),
    ({"environment": {"A": "1"}, "arguments": []}, {"environment": {"A": "1"}}),
    ({"directory": "/d", "stdin_path": "in"}, {"directory": "/d", "stdin": "/d/in"}),
    ({"stdout_path": "o", "stderr_path": "/e"}, {"stdout": "o", "stderr": "/e"}),
    ({"directory": "/d", "stdout_path": "/o"}, {"directory": "/d", "stdout": "/o"}),
    ({"attributes": {"duration": 60, "queue_name": "q"}}, {"walltime": 60, "queue": "q"}),
    ({"attributes": {"account": "a", "reservation_id": "r"}}, {"project": "a", "reservation": "r"}),
    ({"attributes": {"custom_attributes": {"constraint": "gpu"}}}, {"fields": {"CONSTRAINT": "gpu"}}),
    ({"attributes": {"custom_attributes": {"gpu-type": "a"}}}, {"fields": {"GPU_TYPE": "a"}}),
    # exclusive_node_use is true unless it is said otherwise
    ({"resources": {}}, {"exclusive": True}),
    ({"resources": {"exclusive_node_use": None}}, {"exclusive": True}),
    ({"resources": {"exclusive_node_use": False}}, {"exclusive": False}),
    ({"resources": None}, {}),
    # the counts
    ({"resources": {"node_count": 2}}, {"nodes": 2, "exclusive": True}),
    ({"resources": {"process_count": 4}}, {"processes": 4, "exclusive": True}),
    ({"resources": {"node_count": 2, "processes_per_node": 3}}, {"nodes": 2, "processes": 6, "exclusive": True}),
    ({"resources": {"process_count": 6, "processes_per_node": 3}}, {"nodes": 2, "processes": 6, "exclusive": True}),
    ({"resources": {"processes_per_node": 3}}, {"processes": 3, "exclusive": True}),
    ({"resources": {"cpu_cores_per_process": 8}}, {"cpus": 8, "exclusive": True}),
    ({"resources": {"gpu_cores_per_process": 2}}, {"gpus": 2, "exclusive": True}),
    (
        {"resources": {"node_count": 2, "process_count": 8, "gpu_cores_per_process": 1}},
        {"nodes": 2, "processes": 8, "gpus": 4, "exclusive": True},
    ),
    # bytes of the job, MiB of a node
    ({"resources": {"memory": GIB}}, {"memory": 1024, "exclusive": True}),
    ({"resources": {"memory": GIB << 999}}, {"memory": 1024 << 999, "exclusive": True}),
    ({"resources": {"memory": 1}}, {"memory": 1, "exclusive": True}),
    ({"resources": {"memory": GIB, "node_count": 3}}, {"memory": 342, "nodes": 3, "exclusive": True}),
    # containers
    ({"container": {"image": "debian:12"}}, {"container": "docker://debian:12"}),
    ({"container": {"image": "docker://a/b"}}, {"container": "docker://a/b"}),
    ({"container": {"image": "/i/a.img", "volume_mounts": []}}, {"container": "/i/a.img"}),
    ({"container": {"image": "a.sif"}}, {"container": "a.sif"}),
    # launchers
    ({"launcher": "single"}, {}),
    ({"launcher": "mpirun"}, {"application": "MPI"}),
    ({"launcher": "multiple"}, {"application": "Processes"}),
    (
        {"inherit_environment": False, "environment": {"A": "1"}, "arguments": ["x"]},
        {
            "executable": "env",
            "arguments": ["-i", "A=1", "sh", "-c", 'exec "$@"', "sh", "a", "x"],
            "environment": {"A": "1"},
        },
    ),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "description"), ACCEPTED, ids=[str(spec)[:80] for spec, _ in ACCEPTED])
def test_what_a_spec_becomes(spec: dict[str, Any], description: dict[str, Any]) -> None:
    found = build_description({"executable": "a", **spec}, SLURM)
    expected = JobDescription(**{"executable": "a", **description})
    assert found == expected
    if "exclusive" in description:  # a profile without the field shares its nodes
        assert build_description({"executable": "a", **spec}, SLURM - {"EXCLUSIVE"}).exclusive is None


REFUSED: list[tuple[dict[str, Any], list[str]]] = [
    ({"executable": None}, ["executable"]),
    ({"executable": ""}, ["executable"]),
    ({"pre_launch": "x", "post_launch": "y"}, ["pre_launch", "post_launch"]),
    ({"launcher": "srun"}, ["launcher"]),
    ({"launcher": "mpirun", "inherit_environment": False}, ["inherit_environment"]),
    ({"container": {"image": "a", "volume_mounts": [{"source": "/", "target": "/"}]}}, ["container.volume_mounts"]),
    ({"resources": {"attributes": {"a": 1}}}, ["resources.attributes"]),
    ({"attributes": {"attributes": {"a": 1}}}, ["attributes.attributes"]),
    ({"resources": {"node_count": 2, "process_count": 3, "processes_per_node": 2}}, ["resources.process_count"]),
    ({"resources": {"process_count": 3, "processes_per_node": 2}}, ["resources.process_count"]),
    ({"resources": {"node_count": 2, "process_count": 3, "gpu_cores_per_process": 1}}, ["resources.gpu_cores_per_process"]),
    ({"attributes": {"custom_attributes": {"nosuch": "1"}}}, ["attributes.custom_attributes.nosuch"]),
    ({"attributes": {"custom_attributes": {"ARGUMENTS": "'a'"}}}, ["attributes.custom_attributes.ARGUMENTS"]),
    ({"attributes": {"custom_attributes": {"SETUP": "id"}}}, ["attributes.custom_attributes.SETUP"]),
    ({"attributes": {"custom_attributes": {"SITE_SETUP": "id"}}}, ["attributes.custom_attributes.SITE_SETUP"]),
    ({"attributes": {"custom_attributes": {"qos": "a", "QOS": "b"}}}, ["attributes.custom_attributes.QOS"]),
    ({"arguments": ["\udc00"]}, ["arguments"]),
    ({"environment": {"\ud800": "x"}}, ["environment"]),
    ({"attributes": {"custom_attributes": {"qos": "\ud800"}}}, ["attributes.custom_attributes.qos"]),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "names"), REFUSED, ids=[ascii(spec) for spec, _ in REFUSED])
def test_what_is_refused_by_its_name(spec: dict[str, Any], names: list[str]) -> None:
    with pytest.raises(ProblemError) as error:
        build_description({"executable": "a", **spec}, SLURM)
    assert error.value.status == 400
    assert [param.name for param in error.value.invalid_params] == names
    assert all(param.reason for param in error.value.invalid_params)


def test_a_site_that_allows_it_has_pre_launch() -> None:
    found = build_description({"executable": "a", "pre_launch": "module load x"}, {*SLURM, "SETUP"})
    assert found.fields == {"SETUP": "module load x"}


def test_each_member_sets_one_field() -> None:
    assert {FIELD_BY_ATTRIBUTE[a] for a in ATTRIBUTE_BY_MEMBER.values()} | {"SETUP"} == MEMBER_BY_FIELD.keys()


BACK: list[dict[str, Any]] = [
    {"executable": "a"},
    {"executable": "a", "arguments": ["-x", "a b", "it's", "", "\n#SBATCH x"], "name": "n"},
    {"executable": "a", "environment": {"A": "it's\n b", "B": ""}},
    {"executable": "a=b", "arguments": ["-i"], "inherit_environment": False, "environment": {"A": "1"}},
    {"executable": "a", "directory": "/d", "stdin_path": "/i", "stdout_path": "/o", "stderr_path": "/e"},
    {
        "executable": "a",
        "resources": {
            "node_count": 2,
            "process_count": 2,
            "cpu_cores_per_process": 3,
            "gpu_cores_per_process": 1,
            "memory": 2 * GIB,
            "exclusive_node_use": True,
        },
    },
    {
        "executable": "a",
        "attributes": {
            "duration": 60,
            "queue_name": "q",
            "account": "a",
            "reservation_id": "r",
            "custom_attributes": {"QOS": "x"},
        },
    },
    {"executable": "a", "launcher": "multiple", "container": {"image": "docker://a"}},
    {"executable": "a", "launcher": "mpirun", "resources": {"process_count": 2, "exclusive_node_use": False}},
]


@pytest.mark.parametrize("spec", BACK, ids=str)
def test_the_record_gives_the_spec_back(spec: dict[str, Any]) -> None:
    description = build_description(spec, SLURM)
    assert format_spec(build_request(description), description.application) == spec


def test_requests_that_others_recorded() -> None:
    request = {"EXECUTABLE": "a", "ARGUMENTS": "'", "NODES": "x", "GPUS": "4", "PROCESSES": "8", "ODD": "1"}
    assert format_spec(request, "Gromacs") == {
        "executable": "a",
        "resources": {"process_count": 8, "exclusive_node_use": False},
        "launcher": "Gromacs",
        "attributes": {"custom_attributes": {"ARGUMENTS": "'", "NODES": "x", "GPUS": "4", "ODD": "1"}},
    }


@given(st.lists(st.text()), st.dictionaries(st.from_regex("[A-Z_][A-Z_0-9]*", fullmatch=True), st.text()))
def test_any_words_come_back(words: list[str], environment: dict[str, str]) -> None:
    spec: dict[str, Any] = {"executable": "a", "arguments": words, "environment": environment}
    try:
        request = build_request(build_description(spec, SLURM))
    except ProblemError:
        return
    assert format_spec(request, None) == {name: value for name, value in spec.items() if value}
