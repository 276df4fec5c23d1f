"""The other verbs: show, render --deploy, lint; help, version, completion."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from itertools import product
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import completions
from tests.strategies import application, default, document, field, invocation, tag, template, template_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Incarnate


@pytest.mark.parametrize(
    ("words", "right"),
    [
        (("--profiles", "a b", "lint", "slurm"), "lint --profiles 'a b' slurm"),
        (("-p", "slurm", "show"), "show -p slurm"),
        (("--profiles", "d", "job", "list", "--all"), "job list --profiles d --all"),
    ],
)
def test_an_option_before_the_command(incarnate: Incarnate, words: tuple[str, ...], right: str) -> None:
    done = incarnate(*words)
    assert (done.code, done.out) == (2, "")
    assert done.err == f"incarnate: the command comes before its options\n    hint: incarnate {right}\n"


NARROWED = document(
    template("SOLVE", "solve", "\n", field("CPUS", "<idb:Max>10</idb:Max>"))
    + application("Solve", "Solve", "1", runs="SOLVE"),
    name="n",
    extends="linux",
)


def test_the_limits_of_an_application_are_told(incarnate: Incarnate, tmp_path: Path) -> None:
    file = tmp_path / "n.xml"
    file.write_text(NARROWED)
    at, solve = ("-p", str(file)), ("-a", "Solve")
    assert "integer; 1 to 10;" in incarnate("show", "--fields", *at, *solve).out
    assert "1 to 10;" not in incarnate("show", "--fields", *at).out
    parsed = json.loads(incarnate("show", "--fields", *at, *solve, "--json").out)
    assert next(f["maximum"] for f in parsed if f["name"] == "CPUS") == 10
    assert f"field CPUS, at most 10  {file}:5:1" in incarnate("show", "SOLVE", *at).out
    traced = incarnate("render", "--trace", "START", *at, *solve, "-s", "CPUS=9", "-f", "CPUS", "--json").out
    checks = {c["rule"]: c["place"] for c in json.loads(traced)["fields"][0]["checks"]}
    assert checks["Max"] == f"{file}:5:34"
    assert "linux/profile.xml:" in checks["Min"]
    assert incarnate("START", *at, *solve, "-s", "CPUS=11").code == 1


HOSTILE = document(
    template_of(
        "T@",
        invocation("a\tb@<F>", "V@"),
        field("F", "<idb:Description>@</idb:Description>" + tag("@", "@") + default("@")),
    )
    + application("A@", "N@", "1@", runs="EXECUTABLE"),
    name="h",
    extends="linux",
).replace("@", "\x9b31m\u202e")


@pytest.mark.parametrize(
    "words",
    [("show",), ("show", "T{}"), ("show", "--fields", "T{}", "-v", "V{}"), ("T{}", "--trace", "-v", "V{}")],
)
def test_no_name_of_a_profile_is_obeyed_by_a_terminal(
    incarnate: Incarnate, tmp_path: Path, words: tuple[str, ...]
) -> None:
    """XML has the control characters from 80 to 9F, which some terminals act on."""
    (tmp_path / "h.xml").write_text(HOSTILE)
    said = incarnate(*(w.format("\x9b31m\u202e") for w in words), "-p", str(tmp_path / "h.xml"))
    assert (said.code, said.err) == (0, "")
    assert said.out
    assert all(c.isprintable() or c in "\n\t" for c in said.out)


@pytest.mark.parametrize("name", ["linux", "pbs", "torque", "slurm", "sge", "lsf", "{site}"])
def test_a_flattened_profile_loads_again_to_the_same(
    incarnate: Incarnate, site: Path, tmp_path: Path, name: str
) -> None:
    first = incarnate("show", "-p", name.format(site=site), "--xml").out
    flat = tmp_path / "flat.xml"
    flat.write_bytes(first.encode())
    assert incarnate("show", "-p", str(flat), "--xml").out == first
    of = ["--context", "WORKING_DIRECTORY=/w", "--context", "USER_NAME=u"]
    script = incarnate("START", "-p", name.format(site=site), *of).out
    assert script
    assert incarnate("START", "-p", str(flat), *of).out == script


def test_prune_removes_what_nobody_has_read_for_a_week(incarnate: Incarnate, site: Path, home: Path) -> None:
    incarnate("render", "--deploy", "-p", str(site), "--run")
    (ours,) = home.glob(".gpe/bin/*/count.sh")
    top = ours.parent.parent
    old, recent = (top / f"submit.{digit * 16}.sh" for digit in "01")  # of a version without folders
    left = top / f"{'2' * 16}.Ab3dEf9h/submit.sh"  # by a deployment that was killed
    others = top / "backup.sh"
    old_set, recent_set = (top / (digit * 16) for digit in "34")
    ages = {ours: 30, old: 8, recent: 6, left: 8, others: 99, recent_set / "a.sh": 99, recent_set / "b.sh": 6}
    for path, days in {**ages, old_set / "a.sh": 8}.items():
        path.parent.mkdir(exist_ok=True)
        path.touch()
        os.utime(path, (time.time() - days * 86400,) * 2)
    for folder in (left.parent, old_set, recent_set):
        os.utime(folder, (time.time() - 99 * 86400,) * 2)
    assert incarnate("render", "--deploy", "-p", str(site), "--run", "--prune").code == 0
    assert {*top.iterdir()} == {ours.parent, recent, others, recent_set}
    assert ours.read_text()


PROGRAMS = f"prepare.{'a' * 16}.sh", f"{'a' * 16}/prepare.sh"


@pytest.mark.parametrize(("script", "program"), [*product([".gpe/script", ".gpe_job"], PROGRAMS)])
@pytest.mark.parametrize("end", ["", ".gpe_exit_status", ".gpe/removed"])
def test_prune_leaves_what_a_job_uses_until_it_has_ended(
    incarnate: Incarnate, site: Path, program: str, script: str, end: str
) -> None:
    """Whatever the age of the program: the job may wait for weeks before it runs it."""
    incarnate("render", "--deploy", "-p", str(site), "--run")
    home = site.parent / "home"
    used = home / ".gpe/bin" / program
    used.parent.mkdir(exist_ok=True)
    used.touch()
    for path in {used, used.parent} - {home / ".gpe/bin"}:
        os.utime(path, (time.time() - 30 * 86400,) * 2)
    directory = home / "the job's"
    (directory / ".gpe").mkdir(parents=True)
    (directory / script).write_text(f'#!/bin/sh\nsh "$HOME"/.gpe/bin/{program} x\n')
    (home / ".gpe/jobs/slurm").mkdir(parents=True)
    (home / ".gpe/jobs/slurm/4711").symlink_to(directory)
    (home / ".gpe/jobs/slurm/4710").symlink_to(home / "away")
    if end:
        (directory / end).write_text("0\n")
    assert incarnate("render", "--deploy", "-p", str(site), "--run", "--prune").code == 0
    assert used.exists() == (not end)


def test_deploy(incarnate: Incarnate, site: Path, home: Path) -> None:
    printed = incarnate("render", "--deploy", "-p", str(site))
    assert printed.code == 0
    subprocess.run(["sh", "-n"], input=printed.out, text=True, check=True)
    assert not (home / ".gpe").exists()
    ended = incarnate("render", "--deploy", "-p", str(site), "--run")
    assert (ended.code, ended.out, ended.err) == (0, "", "19 static scripts in place\n")
    (script,) = home.glob(".gpe/bin/*/count.sh")
    assert script.read_text().startswith("#!/bin/sh\nprintf")
    shutil.rmtree(home / ".gpe/bin")
    (home / ".gpe/bin").touch()
    ended = incarnate("render", "--deploy", "-p", str(site), "--run")
    assert ended.code != 0
    assert "bin" in ended.err


@pytest.mark.parametrize(
    ("line", "offers"),
    [
        ("incarnate ren", {"render"}),
        ("incarnate STA", {"START"}),
        ("incarnate START --profile to", {"torque"}),
        ("incarnate START --profile torque --set WALL", {"WALLTIME="}),
        ("incarnate render START -p pbs --set QU", {"QUEUE="}),
        ("incarnate LIST --profile linux --variation D", {"DIR"}),
        ("incarnate START --profile linux --application Exe", {"Executable", "Executable/1.0"}),
        ("incarnate START --profile nope --set W", set()),
        ("incarnate show --fields GET", {"GET_JOB_STATUS"}),
        ("incarnate render --trace STA", {"START"}),
        ("incarnate START --trace --profile to", {"torque"}),
        ("incarnate START --trace -p pbs --set WALL", {"WALLTIME="}),
        ("incarnate START --trace -p pbs --field WORK", {"WORKING_DIRECTORY"}),
        ("incarnate LIST --trace --profile linux --variation D", {"DIR"}),
        ("incarnate diff to", {"torque"}),
        ("incarnate diff torque sl", {"slurm", "slurmrest"}),
        ("incarnate diff torque slurm STA", {"START"}),
        ("incarnate diff torque slurm START --set WALL", {"WALLTIME="}),
        ("incarnate diff torque slurm GET_JOB_STATUS --variation A", {"ALL"}),
        ("incarnate diff nope slurm STA", set()),
        ("incarnate lint x --format g", {"github"}),
        ("incarnate lint x --select OSP62", {f"OSP62{n}" for n in range(1, 10)}),
        ("incarnate lint --explain OSP70", {"OSP701", "OSP702"}),
        ("incarnate new x --extends tor", {"torque"}),
        ("incarnate jo", {"job"}),
        ("incarnate job su", {"submit"}),
        ("incarnate job submit -p to", {"torque"}),
        ("incarnate job submit -p torque --set WALL", {"WALLTIME="}),
        ("incarnate job submit -p torque -a Exe", {"Executable", "Executable/1.0"}),
    ],
)
def test_completion(line: str, offers: set[str], tmp_path: Path) -> None:
    assert completions(line, tmp_path) == offers
