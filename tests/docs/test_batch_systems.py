"""The page of all batch systems, and what it is drawn from: no bundled profile ignores a field in silence."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

import pytest

from manual import batch_systems as systems
from manual.profiles import load_profile
from osprofile.incarnation.plan import get_plan
from osprofile.profile.model import EXPERIMENTAL
from osprofile.profile.repository import Repository
from tests.docs.pages import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from osprofile import Profile

PROFILES = systems.list_batch_systems()
FIELDS = systems.list_job_fields()

# WALLTIME in seconds, and how each batch system wants it. Those with minutes get the next whole one.
WALL_TIMES = {
    59: ("1", "00:00:59", "59", "1"),
    60: ("1", "00:01:00", "60", "1"),
    90: ("2", "00:01:30", "90", "2"),
    3600: ("60", "01:00:00", "3600", "60"),
    3661: ("62", "01:01:01", "3661", "62"),
    86399: ("1440", "23:59:59", "86399", "1440"),
    86400: ("1440", "24:00:00", "86400", "1440"),
    360000: ("6000", "100:00:00", "360000", "6000"),
    3600000: ("60000", "1000:00:00", "3600000", "60000"),
}

TOLD = {
    ("linux", "JOB_NAME"), ("linux", "MEMORY"), ("linux", "NODES"), ("linux", "PROCESSES"),
    ("at", "JOB_NAME"), ("at", "PROCESSES"), ("tsp", "PROCESSES"),
}  # fmt: skip
"""What a profile can do nothing with, but tells the program: a machine is one node, and has no names for jobs."""


def test_experimental_profiles() -> None:
    """The readers of README, of the profile's page and of the table are told, in the words of the profile."""
    found = {name: load_profile(name).get_value("START", EXPERIMENTAL) for name in PROFILES}
    assert [name for name in found if found[name]] == ["cobalt", "loadleveler", "moab", "nqsv", "tcs"]
    overview = (ROOT / "README.md").read_text()
    page = systems.format_batch_systems_page()
    for name, words in found.items():
        readme = (ROOT / "profiles" / name / "README.md").read_text()
        assert ("xperimental" in readme) == bool(words)
        if words:
            assert f"Experimental, {words}." in readme
            assert f"<code>{name}</code> ({words})" in page
            year = words.partition(" manual of ")[2].partition(",")[0]
            spelled = load_profile(name).get_value("START", "BATCH_SYSTEM")
            assert re.search(rf"{spelled} \((by its manual of )?{year}\)", overview)


@pytest.mark.parametrize(("seconds", "spelled"), WALL_TIMES.items())
def test_spellings_of_wall_times(seconds: int, spelled: tuple[str, ...]) -> None:
    slurm, pbs, sge, lsf = spelled
    expected = {
        "slurm": [f"--time={slurm}"],
        "pbs": [f"-l walltime={pbs}"],
        "torque": [f"qsub -l walltime={pbs}"],
        "sge": [f"-l h_rt={sge}"],
        "lsf": [f"-W {lsf}"],
        "oar": [f"WALLTIME={pbs}"],
        "flux": [f"--time-limit={seconds}s"],
        "tcs": [f"-L elapse={pbs}"],
        "cobalt": [f"-n 1 -t {slurm}"],
        "moab": [f"-l walltime={pbs}"],
        "loadleveler": [f"wall_clock_limit = {pbs}"],
        "nqsv": [f"-l elapstim_req={pbs}"],
        "slurmrest": [f"time_limit:={slurm}"],
        "kubernetes": [f"seconds:={seconds}"],
        "hyperqueue": [f"time-limit={seconds}s"],
        "htcondor": [f"periodic_remove=JobStatus==2&&time()-EnteredCurrentStatus>{seconds}"],
        "linux": [f"WALLTIME={seconds}"],  # the job script waits so long
    }
    found = {}
    for name in PROFILES:
        effect = systems.find_effect(load_profile(name), "WALLTIME", str(seconds))
        assert effect is not None
        if not effect.sample:
            continue
        options = [" ".join(effect.options)] if effect.options else []
        found[name] = [*effect.directives, *options, *effect.variables]
    assert found == expected


def find_ignored(profile: Profile, field: str) -> str:
    """Return how a profile ignores a field in silence, or the empty string."""
    effect, on_linux = (systems.find_effect(p, field) for p in (profile, load_profile("linux")))
    if effect is None:
        return ""  # refused by name
    if not effect.sample:
        pattern = get_plan(profile, "START", "", None).declarations[field].pattern_text
        return "" if pattern == "(?!)" else "no sample fits: add one"
    if not effect.is_something:
        return "nothing changes"
    if effect.directives or effect.options or on_linux is None:
        return ""
    # A part of what linux does itself is no feature of the batch system.
    missing = set(on_linux.pieces) - set(effect.pieces)
    return f"without {sorted(missing)}" if missing else ""


@pytest.mark.parametrize("name", PROFILES)
def test_no_field_is_ignored_in_silence(name: str) -> None:
    profile = load_profile(name)
    assert {field: how for field in FIELDS if (how := find_ignored(profile, field))} == {}
    effects = {field: systems.find_effect(profile, field) for field in FIELDS}
    told = {(name, field) for field, effect in effects.items() if effect is not None and effect.is_only_told}
    assert told == {pair for pair in TOLD if pair[0] == name}
    for _, field in told:
        description = get_plan(profile, "START", "", None).declarations[field].description
        assert re.search(rf"(told|passed to the program).*, (in|as) GPE_{field}\b", description), field


def load_child(directory: Path, content: str, extends: str) -> Profile:
    path = directory / "p.xml"
    path.write_text(
        '<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" xmlns:idb="http://gpe.intel.com/idb"'
        ' xmlns:ext="urn:osprofile:extension" name="p"'
        f' extends="{extends}"><osp:UspaceRoot>/w</osp:UspaceRoot><osp:Delimiter>/</osp:Delimiter>{content}</osp:Profile>'
    )
    return Repository([directory, ROOT / "profiles"]).load("p")


def test_the_test_finds_what_is_ignored(tmp_path: Path) -> None:
    directives = """<idb:Template name="JOB_DIRECTIVES"><idb:Invocation><idb:Body><![CDATA[#!/bin/sh
<QUEUE/(?s)^(.+)\\z/#X -q $1>
gpe_id=1 gpe_unused='<MEMORY/'/'\\''>'
]]></idb:Body></idb:Invocation>
<idb:Field name="DIRECTIVE_PREFIX" isSettable="false"><idb:Value>#X</idb:Value></idb:Field></idb:Template>"""
    made = load_child(tmp_path, directives, "slurm")
    assert find_ignored(made, "QUEUE") == ""
    assert find_ignored(made, "CPUS") == ""  # OMP_NUM_THREADS
    for field in ("MEMORY", "PROCESSES", "WALLTIME"):
        effect = systems.find_effect(made, field)
        assert effect is not None
        assert effect.is_only_told, field
        assert (effect.directives, effect.options, effect.variables) == ((), (), ())


def test_directives_options_and_refusals() -> None:
    def find(profile: str, field: str) -> tuple[object, ...] | None:
        effect = systems.find_effect(load_profile(profile), field)
        return effect and (effect.sample, effect.directives, effect.options)

    assert find("slurm", "QUEUE") == ("long", ("--partition=long",), ())
    assert find("pbs", "PROJECT") == ("physics", ("-A physics",), ())
    assert find("torque", "NODES") == ("2", (), ("qsub", "-l", "nodes=2:ppn=1"))
    assert find("sge", "NODES") == ("2", (), ("qsub", "-pe", "mpi", "2"))
    assert find("lsf", "PROCESSES") == ("4", (), ("bsub", "-n", "4", "-R", "span[ptile=4]"))
    assert find("slurm", "PE") is None
    assert find("slurm", "OPTIONS") == ("", (), ())
    linux = systems.find_effect(load_profile("linux"), "STDOUT")
    assert linux is not None
    assert linux.variables == ("STDOUT='output'",)


def test_a_field_whose_values_are_unknown(tmp_path: Path) -> None:
    directives = """<idb:Template><idb:Field name="ODD" ext:pattern="odd+" ext:directive="#SBATCH --odd=$1">
      <idb:Description>Odd.</idb:Description><idb:Default/></idb:Field></idb:Template>"""
    made = load_child(tmp_path, directives, "slurm")
    assert find_ignored(made, "ODD") == "no sample fits: add one"
    assert find_ignored(made, "OPTIONS") == ""
    effect = systems.find_effect(made, "ODD", "oddd")
    assert effect is not None
    assert effect.directives == ("--odd=oddd",)


def test_who_has_a_template() -> None:
    assert systems.find_owner(load_profile("linux"), "START") == "own"
    assert systems.find_owner(load_profile("slurm"), "JOB_PROLOGUE") == "linux"
    assert systems.find_owner(load_profile("torque"), "TASK_ID") == "pbs"
    assert systems.find_owner(load_profile("torque"), "EVENTS") == "none"


def test_the_page() -> None:
    page = systems.format_batch_systems_page()
    rows = [
        [re.sub("<[^>]*>", " ", html.unescape(cell)).split() for cell in line.split(" | ")]
        for line in page.splitlines()
        if line.startswith("| ")
    ]
    assert {len(row) for row in rows} == {len(PROFILES) + 1}
    names = [row[0][1] for row in rows if len(row[0]) > 1]
    for field in FIELDS:
        assert field in names
    for name in PROFILES:
        assert set(load_profile(name).templates) <= set(names)
        assert f"(profiles/{name}.md)" in page
    assert "<code>&#45;&#45;partition&#61;long</code>" in page


def test_a_profile_without_arrays_refuses_them(tmp_path: Path) -> None:
    directives = '<idb:Template name="JOB_DIRECTIVES"><idb:Invocation><idb:Body>gpe_id=7\n</idb:Body></idb:Invocation></idb:Template>'
    made = load_child(tmp_path, directives, "linux")
    for field in ("ARRAY", "DEPENDENCY", "START_TIME", "QUEUE", "GPUS"):
        assert systems.find_effect(made, field) is None, field
