"""How much an engineer of a batch system has to read: `pytest -rP tests/profiles/test_sizes.py` prints it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from osprofile.incarnation.incarnate import incarnate
from tests.profiles.conftest import PROFILES

if TYPE_CHECKING:
    from collections.abc import Callable

    from osprofile.profile.repository import Repository

NAMES = sorted(path.parent.name for path in PROFILES.glob("*/profile.xml"))
CONTEXT = {"USER_NAME": "alice", "WORKING_DIRECTORY": "/var/tmp/alice/20261127-115935-9cb436d0f198a21b"}
XML_LIMITS = {"linux": 640, "pbs": 300, "slurm": 270}
TEXT = re.compile(r"<idb:(?:Body|Value|StaticScript)[^>]*>\s*<!\[CDATA\[(.*?)\]\]>", re.DOTALL)


def read_job_script(start: str) -> str:
    """Return the job script that stands in a rendered START, in a here-document."""
    delimiter = start.splitlines()[-1]
    return start.partition(f"<<'{delimiter}'\n")[2].removesuffix(f"{delimiter}\n")


@pytest.mark.parametrize("name", NAMES)
def test_start(repository: Repository, record_property: Callable[[str, object], None], name: str) -> None:
    start = incarnate(repository.load(name), "START", context=CONTEXT).text
    script = read_job_script(start)
    assert script.startswith("#!/bin/sh\n")
    assert script.endswith("\ngpe_end_job\n")
    lines, script_lines = len(start.splitlines()), len(script.splitlines())
    record_property("lines of START", lines)
    record_property("lines of the job script", script_lines)
    print(f"{name}: START has {lines} lines, {script_lines} of them the job script")  # noqa: T201
    assert lines - script_lines <= 6
    assert lines <= 17


OTHER_CONTEXT = {"USER_NAME": "you", "WORKING_DIRECTORY": "/scratch/you/22"}
OTHER_FIELDS = {"JOB_NAME": "other", "EXECUTABLE": "/bin/date", "STDOUT": "out", "CPUS": "2"}


@pytest.mark.parametrize("name", NAMES)
def test_what_does_not_depend_on_the_request(
    repository: Repository, record_property: Callable[[str, object], None], name: str
) -> None:
    """Neither a directive nor a comment, and the same in START of another request."""
    profile = repository.load(name)
    start = incarnate(profile, "START", context=CONTEXT).text
    other = incarnate(profile, "START", fields=OTHER_FIELDS, context=OTHER_CONTEXT).text.splitlines()
    fixed = [line for line in start.splitlines() if line in other and not line.startswith("#")]
    record_property("bytes of START", len(start))
    print(f"{name}: START has {len(start)} bytes, and {len(fixed)} fixed lines")  # noqa: T201
    assert len(fixed) <= 5
    assert len(start) < 900
    assert max(map(len, start.splitlines())) <= 120


@pytest.mark.parametrize(
    ("name", "command", "prefix"), [("pbs", "qsub", "#PBS"), ("slurm", "sbatch", "#SBATCH")]
)
def test_start_begins_with_what_matters(repository: Repository, name: str, command: str, prefix: str) -> None:
    """A submission and its directives are on the first screen."""
    lines = incarnate(repository.load(name), "START", context=CONTEXT).text.splitlines()
    assert f" with {command}," in lines[0]
    directives = [number for number, line in enumerate(lines, 1) if line.startswith(prefix)]
    assert directives
    assert max(directives) <= 8


@pytest.mark.parametrize("name", NAMES)
def test_profile(record_property: Callable[[str, object], None], name: str) -> None:
    xml = (PROFILES / name / "profile.xml").read_text()
    lines = len(xml.splitlines())
    shell = sum(not line.startswith("sh <BIN:") for text in TEXT.findall(xml) for line in text.splitlines())
    record_property("lines of profile.xml", lines)
    record_property("lines of shell in profile.xml", shell)
    print(f"{name}: profile.xml has {lines} lines, {shell} of them ({shell / lines:.0%}) shell")  # noqa: T201
    assert lines < XML_LIMITS.get(name, 450)
    assert shell / lines < (0.2 if name in XML_LIMITS else 0.5)
